"""Algorithm 1 as one generator, and the loop that answers it.

`learn` yields what it needs and is sent the answer. `with_rows` answers its requests for rows and
leaves those for labels; `complete` answers both.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Protocol, Self, TypeAlias

import numpy as np

from thresher.geometry import Band
from thresher.learning.history import History, PhaseOutcome, least_trust, summarize
from thresher.learning.questions import Beliefs
from thresher.learning.samples import ExampleStore, prune
from thresher.learning.steps import (
    draw_request,
    fit,
    label_then_weigh,
    sparse_unit,
    weigh_then_label,
)
from thresher.learning.task import Phase, Task
from thresher.oracles import Draw, DrawRequest, IdArray, LabelRequest
from thresher.validation import FloatArray

Request: TypeAlias = DrawRequest | LabelRequest


class Schedule(Protocol):
    """Decides, from the task and what has happened so far, what the next phase is asked."""

    @property
    def reuse_labels(self) -> bool:
        """Whether labels of earlier phases that lie in the current band count again."""

    def next_phase(self, task: Task, history: History) -> Phase | None:
        """The next phase, or None when learning is over."""

    def after_draw(self, phase: Phase, drawn: Draw) -> Phase | None:
        """The phase, adjusted to what the draw has shown, or None to end learning."""


def check_schedule(schedule: Schedule) -> Schedule:
    """The schedule, or an error that says what it lacks."""
    needed = ("next_phase", "after_draw", "reuse_labels")
    if isinstance(schedule, type) or not all(hasattr(schedule, name) for name in needed):
        raise TypeError(
            "schedule must be an object with next_phase, after_draw and reuse_labels, such as "
            f"PracticalSchedule(), got {schedule!r}"
        )
    return schedule


class Known(NamedTuple):
    """What a run has learned from labels, to be used in later phases."""

    examples: ExampleStore
    beliefs: Beliefs

    @classmethod
    def nothing(cls, task: Task, schedule: Schedule) -> Self:
        """What is known before the first phase."""
        reuse = schedule.reuse_labels
        return cls(ExampleStore(reuse), Beliefs(task.n_features, task.sparsity, reuse))


def learn(
    task: Task,
    schedule: Schedule,
    rng: np.random.Generator,
    observe: Callable[[PhaseOutcome], object] | None = None,
    history: History = (),
    known: Known | None = None,
) -> Generator[Request, Any, History]:
    """The history of a run of Algorithm 1; its last halfspace is the answer.

    The comments are the paper's line numbers. Drawing and labeling are the driver's work: the
    generator yields a `DrawRequest` and is sent a `Draw`, yields a `LabelRequest` and is sent one
    label for each of its ids. A draw without a usable row ends the run with what was learned.

    Parameters
    ----------
    task : what is to be learned
    schedule : what each phase is asked
    rng : draws the sample of line 8
    observe : called with the outcome of each phase; learning ends when it returns a true value
    history : phases that are over already, perhaps by another method; the run continues from there
    known : what these phases have learned from labels, if that may be used again

    Examples
    --------
    >>> from thresher.learning import PracticalSchedule
    >>> task = Task(n_features=3, sparsity=1, noise_rate=0.0)
    >>> first = next(learn(task, PracticalSchedule(), np.random.default_rng(0)))
    >>> first.phase, first.band.normal
    (1, array([0., 0., 0.]))
    """
    examples, beliefs = Known.nothing(task, schedule) if known is None else known
    halfspace = history[-1].halfspace if history else np.zeros(task.n_features)  # 2
    while (phase := schedule.next_phase(task, history)) is not None:  # 1, 3
        band = Band(halfspace, phase.band_width if history else np.inf)  # 4
        drawn: Draw = yield draw_request(phase, band)  # 5
        if (phase := schedule.after_draw(phase, drawn)) is None:
            break
        pool = prune(drawn, phase.max_abs_entry)  # 6
        if phase.label_aware:  # labels cost nothing and help to weigh
            judged = yield from label_then_weigh(pool, phase, least_trust(history, pool.ids))
        else:
            judged = yield from weigh_then_label(pool, phase, rng, beliefs)  # 7, 8
        if judged is None:
            break
        labeled = examples.add(judged.sample, judged.labels, band)
        minimum, labeled = fit(labeled, phase, center=halfspace)  # 9
        point = beliefs.refine(minimum.point, judged.sample, judged.labels, phase)
        candidate = sparse_unit(point, task.sparsity, fallback=labeled.mean_direction)  # 10
        outcome = summarize(phase, candidate, drawn, judged, labeled, minimum, halfspace)
        history, halfspace = (*history, outcome), candidate
        del drawn, pool, judged, labeled  # their rows would be kept through the next draw
        if observe is not None and observe(outcome):
            break
    return history  # 11


def learn_in_turn(
    tasks: Sequence[Task],
    schedule: Schedule,
    rng: np.random.Generator,
    observe: Callable[[PhaseOutcome], object] | None = None,
) -> Generator[Request, Any, History]:
    """Several runs, each starting where the one before it ended.

    For a budget that was raised: the phases of the smaller one stay as they were.
    """
    history: History = ()
    known = Known.nothing(tasks[0], schedule)
    for task in tasks:
        continued = replace(task, n_phases_before=len(history))
        history = yield from learn(continued, schedule, rng, observe, history, known)
    return history


def with_rows(
    run: Generator[Request, Any, History], draw: Callable[[DrawRequest], Draw]
) -> Generator[LabelRequest, FloatArray, History]:
    """The same run with its rows drawn: only its requests for labels are left.

    Examples
    --------
    >>> from thresher.learning import PracticalSchedule
    >>> from thresher.oracles import ArrayPool
    >>> task = Task(n_features=2, sparsity=1, noise_rate=0.0, label_budget=5)
    >>> run = learn(task, PracticalSchedule(), np.random.default_rng(0))
    >>> next(with_rows(run, ArrayPool(np.eye(2), random_state=0).draw)).ids
    array([0, 1])
    """
    answer: Any = None
    while True:
        try:
            request = run.send(answer)
        except StopIteration as end:
            return end.value
        answer = (yield request) if isinstance(request, LabelRequest) else draw(request)


def complete(
    run: Generator[Request, Any, History],
    draw: Callable[[DrawRequest], Draw],
    reveal: Callable[[IdArray], FloatArray],
) -> History:
    """The history of a run that gets every row from `draw` and every label from `reveal`.

    Examples
    --------
    >>> from thresher.learning import PracticalSchedule
    >>> from thresher.simulate import Gaussian, MaliciousOracle, random_target
    >>> source = MaliciousOracle(distribution=Gaussian(9), target=random_target(9, 2, 0),
    ...                          noise_rate=0.0, adversary=None, random_state=0)
    >>> task = Task(n_features=9, sparsity=2, noise_rate=0.0, label_budget=100)
    >>> run = learn(task, PracticalSchedule(), np.random.default_rng(0))
    >>> sum(outcome.n_labels for outcome in complete(run, source.draw, source.reveal))
    100
    """
    questions, answer = with_rows(run, draw), None
    while True:
        try:
            request = questions.send(answer)  # type: ignore[arg-type] # None starts it
        except StopIteration as end:
            return end.value
        answer = reveal(request.ids)
