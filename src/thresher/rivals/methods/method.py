"""What a method is, and what passive methods share: the labeled sample, and the sparse cut."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

import numpy as np

from thresher.errors import LearningStopped
from thresher.geometry import Band, hard_threshold
from thresher.learning import Task
from thresher.oracles import Draw, DrawRequest, IdArray
from thresher.rivals.worlds import World
from thresher.validation import FloatArray, Rows, is_sparse

MIN_LABELS, LABELS_PER_FEATURE = 4000, 10
LARGEST_ENTRY = 1e100  # squares of larger entries overflow, and no clean row has them


class Source(Protocol):
    """Where rows come from, and labels for the rows that were drawn; both are counted."""

    def draw(self, request: DrawRequest, /) -> Draw:
        """Rows in the requested band, with their ids."""

    def reveal(self, ids: IdArray, /) -> FloatArray:
        """The labels of these draws, -1 or +1; each new one is paid."""


Learn: TypeAlias = Callable[[Source, Task, np.random.Generator], FloatArray]


@dataclass(frozen=True)
class Method:
    """A method, and what it needs.

    Parameters
    ----------
    name : in sweeps and on the command line, in lower case with hyphens
    title : in tables and figures, with the year
    learn : from a source, within the label budget of the task, a halfspace of unit length
    claim : what its authors promise, in a few words
    imports : modules it needs that are slow to import; the import is not part of its time
    world : where its claim is tested, and what it must reach there

    Examples
    --------
    >>> method = Method("first-feature", "First feature", lambda *_: np.eye(1, 3)[0], "nothing")
    >>> method.learn(None, None, None)
    array([1., 0., 0.])
    """

    name: str
    title: str
    learn: Learn
    claim: str
    imports: tuple[str, ...] = ()
    world: World | None = None


def unit(vector: FloatArray) -> FloatArray:
    """The vector at length 1; the first unit vector if its length is zero or not finite.

    Examples
    --------
    >>> unit(np.array([3.0, 4.0])), unit(np.zeros(2))
    (array([0.6, 0.8]), array([1., 0.]))
    """
    length = float(np.linalg.norm(vector))
    return vector / length if 0 < length < np.inf else np.eye(1, vector.size)[0]


def draw_labeled(source: Source, task: Task, n_rows: int) -> tuple[Rows, FloatArray]:
    """Rows from everywhere, with their labels.

    Examples
    --------
    >>> from thresher.simulate import Gaussian, MaliciousOracle, random_target
    >>> source = MaliciousOracle(distribution=Gaussian(5), target=random_target(5, 2, 0),
    ...                          noise_rate=0.0, adversary=None, random_state=0)
    >>> X, y = draw_labeled(source, Task(n_features=5, sparsity=2, noise_rate=0.0), n_rows=8)
    >>> X.shape, set(y) <= {-1.0, 1.0}, source.n_labels
    ((8, 5), True, 8)
    """
    anywhere = Band(np.zeros(task.n_features), np.inf)
    drawn = source.draw(DrawRequest(n_rows=n_rows, band=anywhere))
    return drawn.X, source.reveal(drawn.ids)


def label_budget(task: Task) -> int:
    """The number of labels of a passive method; see `draw_sample`."""
    return task.label_budget or max(MIN_LABELS, LABELS_PER_FEATURE * task.n_features)


def draw_sample(source: Source, task: Task) -> tuple[FloatArray, FloatArray]:
    """The labeled sample of a passive method: dense rows that use up its label budget.

    Without a budget, it has 4,000 rows or ten per feature, whichever is more: the average of that
    many rows has an error of about 0.1 in all directions together.

    Raises
    ------
    LearningStopped : the source has no row
    """
    rows, labels = draw_labeled(source, task, label_budget(task))
    if len(labels) == 0:
        raise LearningStopped("the source gave no row to learn from")
    return dense_rows(rows), labels


def draw_signed(source: Source, task: Task) -> FloatArray:
    """The sample of a passive method as rows z = y·x."""
    X, y = draw_sample(source, task)
    return y[:, None] * X


def dense_rows(rows: Rows) -> FloatArray:
    """The rows as a dense array whose squares do not overflow."""
    dense = rows.toarray() if is_sparse(rows) else np.asarray(rows, dtype=np.float64)
    return np.clip(dense, -LARGEST_ENTRY, LARGEST_ENTRY)


def average(signed_rows: FloatArray) -> FloatArray:
    """The mean of the rows; zeros if there are none.

    Examples
    --------
    >>> average(np.array([[1.0, 2.0], [3.0, 2.0]])), average(np.zeros((0, 2)))
    (array([2., 2.]), array([0., 0.]))
    """
    mean: FloatArray = signed_rows.sum(axis=0) / max(len(signed_rows), 1)
    return mean


def keep_largest(learn: Learn) -> Learn:
    """A dense method, cut to the s largest entries of its halfspace.

    Methods older than attribute-efficiency return a dense vector, whose error is that of d
    features even if only s matter. This last step lets them use the sparsity that Thresher knows,
    so that a comparison is about robustness.

    Examples
    --------
    >>> learn = keep_largest(lambda source, task, rng: np.array([0.1, -3.0, 4.0]))
    >>> learn(None, Task(n_features=3, sparsity=2, noise_rate=0.0), None)
    array([ 0. , -0.6,  0.8])
    """

    def learn_and_cut(source: Source, task: Task, rng: np.random.Generator) -> FloatArray:
        return unit(hard_threshold(learn(source, task, rng), task.sparsity))

    return learn_and_cut


def variant(method: Method, suffix: str, note: str, learn: Learn, **changes: Any) -> Method:
    """The method with another way to learn, which its name and title mention."""
    name, title = f"{method.name}-{suffix}", f"{method.title}, {note}"
    return replace(method, name=name, title=title, learn=learn, **changes)


def cut_and_dense(method: Method) -> tuple[Method, Method]:
    """A dense method twice: cut to the sparsity, and dense as published."""
    cut = replace(method, learn=keep_largest(method.learn))
    return cut, variant(method, "dense", "dense as published", method.learn)
