"""What a run is given, as it is recorded: draws that can be replayed, and checked labels."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from thresher.errors import LearningStopped
from thresher.learning.journal import Journal, RecordedDraw
from thresher.oracles import (
    Draw,
    DrawRequest,
    IdArray,
    InstanceSource,
    LabelRequest,
    check_answers,
    check_ids,
)
from thresher.validation import FloatArray, is_sparse


class RecordedSource:
    """Answers requests from a journal as long as it holds draws, then from the pool itself.

    A pool with `is_replayable` draws the same rows again and is asked to; the rows of any other are
    kept in the journal.

    Raises
    ------
    LearningStopped : the pool draws other rows than the journal says

    Examples
    --------
    >>> from thresher.geometry import Band
    >>> from thresher.oracles import ArrayPool
    >>> recorded = RecordedSource(ArrayPool(np.eye(3), random_state=0), Journal(seed=0))
    >>> request = DrawRequest(n_rows=2, band=Band(normal=np.zeros(3), width=np.inf))
    >>> first, second = recorded.draw(request), recorded.draw(request)
    >>> recorded.rewind()
    >>> np.array_equal(recorded.draw(request).X, first.X)
    True
    """

    def __init__(self, source: InstanceSource, journal: Journal) -> None:
        self._source: Any = source
        self._journal = journal
        self._is_replayable = bool(getattr(source, "is_replayable", False))
        self._n_answered = 0
        self._n_from_pool = 0  # draws of the journal that this pool has made itself

    @property
    def n_answered(self) -> int:
        """The number of draws since the beginning."""
        return self._n_answered

    def rewind(self) -> None:
        """Begin again with the first recorded draw."""
        self._n_answered = 0

    def draw(self, request: DrawRequest) -> Draw:
        """The next recorded draw, or a new one that is recorded now."""
        if self._n_answered < len(self._journal.draws):
            draw = self._again(self._journal.draws[self._n_answered], request)
        else:
            draw = _checked(self._source.draw(request), request)
            self._refuse_changed_rows(draw)
            self._journal.draws.append(RecordedDraw.of(draw, keep_rows=not self._is_replayable))
            self._n_from_pool = len(self._journal.draws)
        self._n_answered += 1
        return draw

    def _again(self, recorded: RecordedDraw, request: DrawRequest) -> Draw:
        if recorded.X is not None or self._n_answered < self._n_from_pool:
            X = self._source.take(recorded.ids) if recorded.X is None else recorded.X
            return Draw(ids=recorded.ids, X=X, n_drawn=recorded.n_drawn)
        draw: Draw = self._source.draw(request)  # brings the order of its later draws along
        if not recorded.is_of(draw):
            raise LearningStopped(
                "this is not the pool that the run was saved with: its rows differ. The saved "
                "file is unchanged; restore it with the same table"
            )
        self._n_from_pool = self._n_answered + 1
        return draw

    def _refuse_changed_rows(self, draw: Draw) -> None:
        """Raise if an id of an earlier draw now stands for another row: its label would be wrong.

        A stream or an oracle that is started again counts its ids from 0.
        """
        for earlier in self._journal.draws:
            if earlier.X is None:
                continue
            ids, now, then = np.intersect1d(draw.ids, earlier.ids, return_indices=True)
            if ids.size == 0:
                continue
            differs = draw.X[now] != earlier.X[then]
            if differs.nnz if is_sparse(differs) else differs.any():
                raise LearningStopped(
                    f"the pool reused the id of an earlier row for another row (one of {ids.size} "
                    f"ids, {ids[0]} to {ids[-1]}); all draws and labels so far are kept. An id "
                    "must always mean the same row: give a continued stream a first_id"
                )


def _checked(draw: object, request: DrawRequest) -> Draw:
    """The draw of a source, refused before any label is paid if it is not what was asked for."""
    if not isinstance(draw, Draw):
        raise TypeError(f"the pool's draw must return a Draw, got {type(draw).__name__}")
    if draw.X.shape[1] != request.n_features:
        raise ValueError(
            f"the pool's draw must return rows of {request.n_features} features, "
            f"got {draw.X.shape[1]}"
        )
    if draw.n_rows > request.n_rows:
        raise ValueError(
            f"the pool's draw must return at most {request.n_rows} rows, got {draw.n_rows}"
        )
    return draw


def unanswered(request: LabelRequest, known: Mapping[int, float]) -> IdArray:
    """The positions in a request of the ids that have no label yet."""
    return np.flatnonzero([i not in known for i in request.ids.tolist()])


def check_answer(
    labels: object, ids: object | None, request: LabelRequest, known: Mapping[int, float]
) -> dict[int, float]:
    """The labels by id, or an error that says what is wrong and what is kept.

    Without `ids` they belong to all rows of the request that are still unlabeled, in their order.
    Labels that were known before stay as they are, and must not be contradicted.
    """
    labeled = request.ids[unanswered(request, known)] if ids is None else check_ids(ids)
    kept = f"all {len(known)} earlier labels are kept"
    _check_asked(labeled, request, kept)
    if labeled.size == 0 and np.asarray(labels).size == 0:
        return {}
    try:
        values = check_answers(labels, labeled)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{error}; {kept}") from error
    _check_consistent(labeled, values, known, kept)
    return dict(zip(labeled.tolist(), values.tolist()))


def _check_asked(ids: IdArray, request: LabelRequest, kept: str) -> None:
    unknown = np.flatnonzero(~np.isin(ids, request.ids))
    if unknown.size:
        raise ValueError(f"ids[{unknown[0]}] = {ids[unknown[0]]} was not asked for; {kept}")


def _check_consistent(
    ids: IdArray, values: FloatArray, known: Mapping[int, float], kept: str
) -> None:
    seen = dict(known)
    for i, value in zip(ids.tolist(), values.tolist()):
        if seen.setdefault(i, value) != value:
            raise ValueError(
                f"id {i} was labeled {seen[i]:+g} before and is now {value:+g}; {kept}"
            )


def carrier_of(error: BaseException) -> BaseException:
    """An error that takes attributes, for one that does not; interrupts and exits stay such."""
    if isinstance(error, Exception):
        kind = type(error).__name__
        return LearningStopped(f"the label source or the pool failed with {kind}, see the cause")
    built_in = next(kind for kind in type(error).__mro__ if kind.__module__ == "builtins")
    return built_in(*error.args)
