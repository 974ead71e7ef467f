"""Algorithm 1 as one generator: it yields what it needs and is sent the answer."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from thresher.geometry import Band
from thresher.learning.examples import ExampleStore
from thresher.learning.history import History, PhaseOutcome, least_trust, summarize
from thresher.learning.phase import Phase
from thresher.learning.sampling import Sample, prune, sample_by_weight
from thresher.learning.steps import draw_request, fit, remove, remove_by_class, sparse_unit
from thresher.learning.task import Task
from thresher.oracles import Draw, DrawRequest, IdArray
from thresher.validation import FloatArray, Rows


@dataclass(frozen=True, eq=False)
class LabelRequest:
    """The distinct rows whose labels are wanted (line 8); the answer has one label for each id.

    Examples
    --------
    >>> LabelRequest(np.array([3, 8]), np.eye(2), phase=1).ids
    array([3, 8])
    """

    ids: IdArray
    X: Rows
    phase: int


Request: TypeAlias = DrawRequest | LabelRequest


class Schedule(Protocol):
    """Decides, from the task and what has happened so far, what the next phase is asked."""

    @property
    def reuse_labels(self) -> bool:
        """Whether labels of earlier phases that lie in the current band count again."""
        ...  # pragma: no cover

    def next_phase(self, task: Task, history: History) -> Phase | None:
        """The next phase, or None when learning is over."""
        ...  # pragma: no cover

    def after_draw(self, phase: Phase, drawn: Draw) -> Phase | None:
        """The phase, with what only the draw could tell, or None when that ends learning."""
        ...  # pragma: no cover


def learn(
    task: Task,
    schedule: Schedule,
    rng: np.random.Generator,
    observe: Callable[[PhaseOutcome], object] | None = None,
    history: History = (),
) -> Generator[Request, Any, History]:
    """The history of a run of Algorithm 1; its last halfspace is the answer.

    The comments are the paper's line numbers. Drawing and labeling are the driver's work: the
    generator yields a `DrawRequest` and is sent a `Draw`, yields a `LabelRequest` and is sent one
    label for each of its ids. A draw without a usable row ends the run with what was learned.
    `observe` is shown the outcome of each phase. With a `history`, the run goes on from there: a
    method of another kind may have had the first phase.

    Examples
    --------
    >>> from thresher.learning import PracticalSchedule
    >>> task = Task(n_features=3, sparsity=1, noise_rate=0.0)
    >>> first = next(learn(task, PracticalSchedule(), np.random.default_rng(0)))
    >>> first.phase, first.band.normal
    (1, array([0., 0., 0.]))
    """
    halfspace, examples = np.zeros(task.n_features), ExampleStore(schedule.reuse_labels)  # 2
    if history:
        halfspace = history[-1].halfspace
    while (phase := schedule.next_phase(task, history)) is not None:  # 1, 3
        band = Band(halfspace, phase.band_width if history else np.inf)
        drawn: Draw = yield draw_request(phase, band)  # 4, 5
        if (phase := schedule.after_draw(phase, drawn)) is None:
            break
        pool = prune(drawn, phase.max_abs_entry)  # 6
        if pool.n_rows == 0:
            break
        labels: FloatArray
        if phase.label_aware:
            labels = yield LabelRequest(pool.ids, pool.X, phase.index)  # 8
            removal = remove_by_class(pool, labels, phase, least_trust(history, pool.ids))  # 7
            if not removal.weights.any():
                break
            sample = Sample(pool.ids, pool.X, removal.weights)
        else:
            removal = remove(pool, phase)  # 7
            sample = sample_by_weight(pool, removal.weights, phase.n_queries, rng)  # 8
            labels = yield LabelRequest(sample.ids, sample.X, phase.index)
        labeled = examples.add(sample, labels, band)
        minimum, labeled = fit(labeled, phase, center=halfspace)  # 9
        candidate = sparse_unit(minimum.point, task.sparsity, fallback=labeled.mean_direction)  # 10
        outcome = summarize(
            phase, candidate, drawn, pool, removal, labeled, minimum, previous=halfspace
        )
        history, halfspace = (*history, outcome), candidate
        del drawn, pool, sample, labeled  # their rows would be kept through the next draw
        if observe is not None:
            observe(outcome)
    return history  # 11
