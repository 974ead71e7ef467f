"""Algorithm 1 on a labeled table that is at hand: every row of the band is drawn, and once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from thresher.errors import LearningStopped
from thresher.geometry import Band
from thresher.learning.algorithm import LabelRequest, Schedule, learn
from thresher.learning.history import History, PhaseOutcome
from thresher.learning.notices import warn_if_uncertified
from thresher.learning.task import Task
from thresher.oracles import Draw, DrawRequest
from thresher.validation import FloatArray, Rows

BLOCK_ENTRIES = 2**22


class Table(Protocol):
    """Rows by their places: an array, a CSR matrix, or what makes such rows when asked."""

    @property
    def shape(self) -> tuple[int, int]:
        """How many rows and features there are."""

    def __getitem__(self, places: Any, /) -> Rows:
        """The rows in these places, an array of indices or a slice."""


def learn_from_table(
    rows: Table,
    labels: FloatArray,
    task: Task,
    schedule: Schedule,
    *,
    seed: int = 0,
    observe: Callable[[PhaseOutcome], object] | None = None,
) -> History:
    """The history of a run that sees every row of the band, and knows every label.

    Parameters
    ----------
    rows : (n, d) array or CSR matrix, checked, or what makes parts of one when they are needed
    labels : (n,) of -1 and +1
    task, schedule : as in `learn`; a phase that asks for fewer rows than there are gets the first
    seed : of what the schedule leaves to chance
    observe : shown the outcome of each phase; learning ends when it returns something true

    Raises
    ------
    LearningStopped : the table gave no usable row

    Examples
    --------
    >>> from thresher.learning import PracticalSchedule
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.standard_normal((2000, 30))
    >>> labels = np.where(rows[:, 3] - rows[:, 5] > 0, 1.0, -1.0)
    >>> task = Task(n_features=30, sparsity=2, noise_rate=0.02)
    >>> schedule = PracticalSchedule().for_table(2000, label_aware=True)
    >>> np.flatnonzero(learn_from_table(rows, labels, task, schedule)[-1].halfspace)
    array([3, 5])
    """
    history: History = ()
    is_ended = False

    def note(outcome: PhaseOutcome) -> None:
        nonlocal history, is_ended
        history = (*history, outcome)
        is_ended = observe is not None and bool(observe(outcome))

    run = learn(task, schedule, np.random.default_rng(seed), observe=note)
    answer: Draw | FloatArray | None = None
    try:
        while not is_ended:
            request = run.send(answer)
            if isinstance(request, LabelRequest):
                answer = labels[request.ids]
            else:
                answer = _draw(rows, request)
    except StopIteration:
        pass
    if not history:
        raise LearningStopped(
            "every row of the table has an entry beyond the pruning radius: scale its columns to "
            "mean 0 and variance 1"
        )
    for outcome in history:
        warn_if_uncertified(outcome)
    return history


def _draw(rows: Table, request: DrawRequest) -> Draw:
    """The rows of the table that lie in the band; the table itself if all of them do."""
    n_rows = rows.shape[0]
    ids = np.arange(n_rows)
    if request.band.normal.any():
        ids = np.flatnonzero(_is_inside(rows, request.band))
    ids = ids[: request.n_rows]
    return Draw(ids=ids, X=rows[:] if ids.size == n_rows else rows[ids], n_drawn=n_rows)


def _is_inside(rows: Table, band: Band) -> NDArray[np.bool_]:
    """Which rows lie in the band, looking at no more than a block of a large table at a time."""
    n_rows, n_features = rows.shape
    step = max(1, BLOCK_ENTRIES // n_features)
    return np.concatenate(
        [band.admits(rows[start : start + step]) for start in range(0, n_rows, step)]
    )
