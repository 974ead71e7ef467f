"""The two one-method seams: where instances come from and where labels come from."""

from collections.abc import Callable
from numbers import Real
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from thresher.oracles.requests import Draw, DrawRequest, IdArray, check_ids
from thresher.oracles.two_labels import Classes, signs_of
from thresher.validation import FloatArray, Rows, check_labels


@runtime_checkable
class InstanceSource(Protocol):
    """Anything that can be asked for unlabeled rows inside a band: the paper's EX^x.

    Your own source takes ten lines. Here, one that measures rows on demand:

    >>> import numpy as np
    >>> from thresher.geometry import Band
    >>> class Sensor:
    ...     n_features = 2
    ...     n_seen = 0
    ...
    ...     def draw(self, request):
    ...         first, rows, ids = self.n_seen, [], []
    ...         while len(ids) < request.n_rows and self.n_seen - first < request.max_draws:
    ...             x = np.random.default_rng(self.n_seen).normal(size=2)
    ...             if request.band.admits(x[None])[0]:
    ...                 rows.append(x), ids.append(self.n_seen)
    ...             self.n_seen += 1
    ...         return Draw(ids=ids, X=np.reshape(rows, (-1, 2)), n_drawn=self.n_seen - first)
    >>> isinstance(Sensor(), InstanceSource)
    True
    >>> band = Band(normal=np.array([1.0, 0.0]), width=0.5)
    >>> Sensor().draw(DrawRequest(n_rows=3, band=band, max_draws=1000)).n_rows
    3

    The promises: an id always means the same row; rows outside the band are left out and counted
    in `n_drawn`; a source that runs dry or reaches `request.max_draws` returns fewer rows.
    """

    @property
    def n_features(self) -> int:
        """The number of features of every row."""

    def draw(self, request: DrawRequest) -> Draw:
        """Up to `request.n_rows` rows inside `request.band`."""


@runtime_checkable
class RevealsLabels(Protocol):
    """Anything that can be asked for the labels of drawn ids: the paper's EX^y.

    Examples
    --------
    >>> class Answers:
    ...     def reveal(self, ids):
    ...         return [1.0 if i % 2 else -1.0 for i in ids]
    >>> isinstance(Answers(), RevealsLabels)
    True
    """

    def reveal(self, ids: IdArray) -> FloatArray:
        """One label of -1 or +1 for each id."""


LabelSource: TypeAlias = RevealsLabels | Callable[[IdArray, Rows], object]


def reveal_labels(
    label_source: LabelSource, ids: IdArray, X: Rows, classes: Classes | None = None
) -> FloatArray:
    """One checked label of -1 or +1 for each id, from either kind of label source.

    Parameters
    ----------
    label_source : an object with `.reveal(ids)`, or a callable of `(ids, X)`
    ids, X : the ids asked for and their rows
    classes : what the source says for -1 and for +1, if not that

    Raises
    ------
    TypeError : the source is neither
    ValueError : an answer is missing, or is not -1 or +1; the message names its id

    Examples
    --------
    >>> reveal_labels(lambda ids, X: [1 if x[0] > 0 else -1 for x in X], [0, 1], [[3.0], [-2.0]])
    array([ 1., -1.])
    """
    if len(ids) == 0:
        return np.zeros(0)
    if isinstance(label_source, RevealsLabels):
        answer: object = label_source.reveal(ids)
    elif callable(label_source):
        answer = label_source(ids, X)
    else:
        raise TypeError(
            "label_source must have a method reveal(ids) or be callable as (ids, X), "
            f"got {type(label_source).__name__}"
        )
    signs = answer if classes is None else signs_of(answer, classes)
    return check_answers(signs, check_ids(ids))


def check_answers(answers: object, ids: IdArray) -> FloatArray:
    """The answers as labels of -1.0 and +1.0, one for each id, or an error that names an id.

    Booleans and strings are refused even where they could be read as numbers: an answer that
    was meant otherwise must not become a label.

    Examples
    --------
    >>> check_answers([1, 0], np.array([17, 40]))
    Traceback (most recent call last):
    ValueError: labels must be -1 or +1, but labels[1] is 0.0 (id 40 was labeled 0)
    """
    items = _listed(answers)
    try:
        if any(isinstance(item, (bool, np.bool_, str, bytes)) for item in items):
            raise TypeError("labels must be numbers, not booleans or strings")
        return check_labels(answers, "labels", length=ids.size)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{error} ({_place(items, ids)})") from error


def _listed(answers: Any) -> list[Any]:
    try:
        return list(answers) if len(answers) else []
    except TypeError:  # a single value, or something that can be read only once
        return []


def _place(answers: list[Any], ids: IdArray) -> str:
    """Which id got the first unusable answer, or which ids were asked for if none is to blame."""
    if len(answers) == ids.size:
        for i, answer in zip(ids.tolist(), answers):
            is_number = isinstance(answer, Real) and not isinstance(answer, (bool, np.bool_))
            if not is_number or abs(answer) != 1:
                return f"id {i} was labeled {answer!s:.40}"
    return f"asked for {ids.size} labels, starting with id {ids[0]}" if ids.size else "none asked"
