"""Ask and tell: what is asked, what is kept, what is refused, and that no label is paid twice."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from runs import SMALL, RecordingPool, Table, active, finish, oracle
from thresher.errors import BudgetExceeded, LearningStopped, UncertifiedPhase
from thresher.learning import ActiveLearner, Phase, PracticalSchedule, TheorySchedule
from thresher.learning import steps as steps_module
from thresher.learning.actively import learn_actively
from thresher.oracles import ArrayPool, Draw, StreamPool, pools, reveal_labels
from thresher.simulate import LabelFlip

TABLE = Table()


@cache
def undisturbed() -> ActiveLearner:
    """The run that others are compared with."""
    return finish(active(TABLE.X), TABLE.reveal)


def same_run(learner: ActiveLearner, other: ActiveLearner | None = None) -> bool:
    """Whether two finished runs agree in every bit of their halfspaces and in every count."""
    other = other or undisturbed()
    return (
        learner.halfspace_.tobytes() == other.halfspace_.tobytes()
        and [outcome.halfspace.tobytes() for outcome in learner.phases_]
        == [outcome.halfspace.tobytes() for outcome in other.phases_]
        and (learner.n_labels_, learner.n_draws_, learner.n_queries_)
        == (other.n_labels_, other.n_draws_, other.n_queries_)
    )


def test_same_run_tells_a_run_from_one_with_another_seed() -> None:
    assert not same_run(finish(active(TABLE.X, random_state=6), TABLE.reveal))


# Asking


def test_asking_twice_gives_the_same_question() -> None:
    learner = active(TABLE.X)
    first, second = learner.ask(), learner.ask()
    assert np.array_equal(first.ids, second.ids) and np.array_equal(first.X, second.X)


def test_a_question_holds_the_rows_of_its_ids() -> None:
    question = active(TABLE.X).ask()
    assert np.array_equal(question.X, TABLE.X[question.ids])


def test_the_first_question_belongs_to_the_first_phase() -> None:
    assert active(TABLE.X).ask().phase == 1


def test_after_the_end_every_ask_gives_none() -> None:
    learner = finish(active(TABLE.X), TABLE.reveal)
    assert learner.ask() is None and learner.ask() is None


def test_before_the_first_phase_is_over_the_halfspace_is_zero() -> None:
    learner = active(TABLE.X)
    learner.ask()
    assert not learner.halfspace_.any() and learner.phases_ == ()


def test_a_clean_table_is_learned() -> None:
    # Angle below .2 rad: the target radius of the last phase is .33.
    assert math.acos(min(1.0, undisturbed().halfspace_ @ TABLE.target)) < 0.2


def test_changing_the_returned_halfspace_changes_nothing() -> None:
    learner = active(TABLE.X)
    learner.tell(TABLE.reveal(learner.ask().ids))
    learner.ask()
    learner.halfspace_[:] = np.nan
    assert same_run(finish(learner, TABLE.reveal))


# Telling


@pytest.mark.parametrize("n_parts", [2, 3, 7])
def test_labels_may_be_told_in_parts_and_in_any_order(n_parts: int) -> None:
    learner, rng = active(TABLE.X), np.random.default_rng(n_parts)
    while (question := learner.ask()) is not None:
        for part in np.array_split(rng.permutation(question.ids), n_parts):
            learner.tell(TABLE.y[part], ids=part)
    assert same_run(learner)


def test_after_a_part_was_told_the_question_is_about_the_rest() -> None:
    learner = active(TABLE.X)
    ids = learner.ask().ids
    learner.tell(TABLE.y[ids[3:7]], ids=ids[3:7])
    assert np.array_equal(learner.ask().ids, np.delete(ids, range(3, 7)))


def test_labels_without_ids_belong_to_the_rows_not_yet_told() -> None:
    learner = active(TABLE.X)
    ids = learner.ask().ids
    learner.tell(TABLE.y[ids[:4]], ids=ids[:4])
    learner.tell(TABLE.y[ids[4:]])
    assert same_run(finish(learner, TABLE.reveal))


def test_telling_the_same_label_again_changes_nothing() -> None:
    learner = active(TABLE.X)
    ids = learner.ask().ids
    learner.tell(TABLE.y[ids])
    learner.tell(TABLE.y[ids[:5]], ids=ids[:5])
    assert learner.n_labels_ == ids.size


def test_telling_nothing_is_allowed() -> None:
    learner = active(TABLE.X)
    learner.ask()
    learner.tell([], ids=[])
    assert learner.n_labels_ == 0


def test_labels_may_be_integers_or_a_list() -> None:
    learner = active(TABLE.X)
    assert same_run(finish(learner, lambda ids: [int(label) for label in TABLE.y[ids]]))


def test_telling_before_asking_is_refused() -> None:
    with pytest.raises(LearningStopped, match="call ask first"):
        active(TABLE.X).tell([1.0])


def test_telling_after_the_end_is_refused() -> None:
    learner = finish(active(TABLE.X), TABLE.reveal)
    with pytest.raises(LearningStopped, match="learning is over"):
        learner.tell([1.0])


def _partly_told() -> tuple[ActiveLearner, np.ndarray]:
    learner = active(TABLE.X)
    ids = learner.ask().ids
    learner.tell(TABLE.y[ids[:5]], ids=ids[:5])
    return learner, ids


def test_an_unknown_id_is_named() -> None:
    learner, ids = _partly_told()
    unknown = int(np.setdiff1d(np.arange(TABLE.X.shape[0]), ids)[0])
    with pytest.raises(ValueError, match=rf"ids\[1\] = {unknown} was not asked for"):
        learner.tell([1.0, 1.0], ids=[ids[7], unknown])


def test_a_conflicting_label_is_named_by_its_id() -> None:
    learner, ids = _partly_told()
    with pytest.raises(ValueError, match=f"id {ids[2]} was labeled"):
        learner.tell([-TABLE.y[ids[2]]], ids=[ids[2]])


def test_two_labels_for_one_id_in_one_call_must_agree() -> None:
    learner, ids = _partly_told()
    with pytest.raises(ValueError, match=f"id {ids[9]} was labeled"):
        learner.tell([1.0, -1.0], ids=[ids[9], ids[9]])


def test_a_label_that_is_not_a_sign_is_named_by_its_id() -> None:
    learner, ids = _partly_told()
    with pytest.raises(ValueError, match=rf"labels\[1\] is 0\.0 \(id {ids[9]} was labeled 0\)"):
        learner.tell([1, 0], ids=ids[8:10])


@pytest.mark.parametrize("n_labels", [0, 1, 200])
def test_a_wrong_number_of_labels_says_how_many_are_wanted(n_labels: int) -> None:
    learner, ids = _partly_told()
    with pytest.raises(ValueError, match=f"asked for {ids.size - 5} labels"):
        learner.tell(np.ones(n_labels))


def test_labels_beyond_a_question_that_is_answered_are_refused() -> None:
    learner, ids = _partly_told()
    learner.tell(TABLE.y[ids[5:]])
    with pytest.raises(ValueError, match="labels"):
        learner.tell([1.0])


@pytest.mark.parametrize("labels", [[0, 1], [1.0], [1.0, 2.0], ["1", "1"], [True, True], None])
def test_a_refused_call_keeps_what_was_told_and_takes_nothing(labels: Any) -> None:
    learner, ids = _partly_told()
    with pytest.raises((TypeError, ValueError), match="all 5 earlier labels are kept"):
        learner.tell(labels, ids=ids[8:10])
    assert learner.n_labels_ == 5
    assert same_run(finish(learner, TABLE.reveal))


def test_ids_must_be_integers() -> None:
    learner, _ = _partly_told()
    with pytest.raises(TypeError, match="ids must be integers"):
        learner.tell([1.0], ids=[0.5])


# Counts


def test_draws_are_counted_as_the_pool_counts_them() -> None:
    pool = RecordingPool(ArrayPool(TABLE.X, random_state=5))
    learner = finish(active(pool), TABLE.reveal)
    assert learner.n_draws_ == sum(draw.n_drawn for draw in pool.draws)


def test_paid_labels_are_the_distinct_ids_asked_for() -> None:
    table = Table()
    learner = finish(active(table.X), table.reveal)
    assert learner.n_labels_ == len(table.asked) == len(set(table.asked))


def test_queries_are_the_draws_by_weight_of_all_phases() -> None:
    wanted = sum(outcome.phase.n_queries for outcome in undisturbed().phases_)
    assert undisturbed().n_queries_ == wanted >= undisturbed().n_labels_


def test_an_oracle_counts_the_same_labels_and_draws() -> None:
    source = oracle()
    learner = finish(active(source), source.reveal)
    assert (learner.n_labels_, learner.n_draws_) == (source.n_labels, source.n_draws)


# Budgets


@dataclass(frozen=True)
class Configuration:
    """One random small run."""

    seed: int

    def run(self) -> tuple[ActiveLearner, list[int], int]:
        """The finished learner, the ids that were asked for, and the budget."""
        rng = np.random.default_rng([self.seed, 11])
        n, d = int(rng.choice([1, 2, 5, 40, 400])), int(rng.choice([1, 2, 12, 25]))
        budget = int(rng.integers(1, 301))
        table = Table(n, d, sparsity=int(rng.integers(1, min(d, 5) + 1)), seed=self.seed)
        source = oracle(d, 1, noise_rate=0.1, adversary=LabelFlip(), seed=self.seed)
        kind = self.seed % 4
        pool = (table.X, table.csr, (row for row in table.X), source)[kind]
        asked: list[int] = []

        def reveal(ids: np.ndarray) -> np.ndarray:
            asked.extend(ids.tolist())
            return source.reveal(ids) if kind == 3 else table.y[ids]

        learner = active(
            pool,
            sparsity=int(rng.integers(1, 8)),
            noise_rate=float(rng.choice([0.0, 0.01, 0.1, 0.3])),
            label_budget=budget,
            random_state=self.seed,
        )
        return finish(learner, reveal), asked, budget


NOT_SCALED = pytest.mark.filterwarnings("ignore::thresher.errors.UnsuitablePool")  # some are not
MORE_SEEDS = [pytest.param(k, marks=(pytest.mark.slow, NOT_SCALED)) for k in range(16, 200)]


@pytest.mark.parametrize("seed", [*range(16), *MORE_SEEDS])
def test_labels_stay_within_any_budget_and_no_id_is_asked_twice(seed: int) -> None:
    learner, asked, budget = Configuration(seed).run()
    assert learner.n_labels_ == len(asked) <= budget
    assert len(set(asked)) == len(asked)
    assert np.linalg.norm(learner.halfspace_) == pytest.approx(1.0)


@pytest.mark.parametrize("n_rows", [1, 2, 5])
@pytest.mark.parametrize("n_features", [1, 3])
def test_a_tiny_table_is_learned_without_a_crash(n_rows: int, n_features: int) -> None:
    table = Table(n_rows, n_features, sparsity=1)
    learner = finish(active(table.X, label_budget=None, schedule=None), table.reveal)
    assert learner.n_labels_ <= n_rows
    assert np.linalg.norm(learner.halfspace_) == pytest.approx(1.0)


@dataclass(frozen=True)
class Repeating:
    """A schedule of the caller's own: the same wide phase again and again."""

    n_phases: int = 3
    n_queries: int = 20
    reuse_labels: bool = False

    def next_phase(self, task: Any, history: Any) -> Phase | None:
        """The phase, so many times."""
        if len(history) == self.n_phases:
            return None
        phase = SMALL.next_phase(task, ())
        return replace(phase, index=len(history) + 1, n_queries=self.n_queries)

    def after_draw(self, phase: Phase, drawn: Draw) -> Phase:  # noqa: ARG002
        """The phase as it was."""
        return phase


def test_a_schedule_of_your_own_decides_the_phases() -> None:
    learner = finish(active(TABLE.X, schedule=Repeating(n_phases=4)), TABLE.reveal)
    assert [outcome.phase.index for outcome in learner.phases_] == [1, 2, 3, 4]
    assert learner.n_queries_ == 80


def test_a_schedule_that_wants_more_than_the_budget_is_stopped_before_it_is_paid() -> None:
    learner = active(TABLE.X, schedule=Repeating(), label_budget=30)
    learner.tell(TABLE.reveal(learner.ask().ids))
    with pytest.raises(BudgetExceeded) as caught:
        learner.ask()
    assert caught.value.n_asked > caught.value.n_left == 30 - learner.n_labels_


def test_a_budget_is_used_up_to_its_last_label_and_not_beyond() -> None:
    wanted = active(TABLE.X, schedule=Repeating(), label_budget=None).ask().ids.size
    assert active(TABLE.X, schedule=Repeating(), label_budget=wanted).ask().ids.size == wanted
    with pytest.raises(BudgetExceeded, match=f"the budget has only {wanted - 1} left"):
        active(TABLE.X, schedule=Repeating(), label_budget=wanted - 1).ask()


def test_known_rows_in_a_request_do_not_excuse_the_others_from_the_budget() -> None:
    # Of 30 rows, about 15 are asked for in each phase, and some are known from earlier ones.
    table = Table(n_rows=30)
    learner = active(table.X, schedule=Repeating(n_phases=20), label_budget=25, noise_rate=0.0)
    with pytest.raises(BudgetExceeded):
        finish(learner, table.reveal)
    assert 0 < learner.n_labels_ == len(table.asked) <= 25


def test_after_a_refusal_the_labels_and_phases_stay_and_ask_repeats_it() -> None:
    learner = active(TABLE.X, schedule=Repeating(), label_budget=30)
    n_told = learner.ask().ids.size
    learner.tell(TABLE.reveal(learner.ask().ids))
    for _ in range(2):
        with pytest.raises(BudgetExceeded, match=f"{n_told} labels and 1 phases are kept"):
            learner.ask()
    assert learner.n_labels_ == n_told and len(learner.phases_) == 1


@dataclass(frozen=True)
class Affordable:
    """The paper's schedule with counts that can be drawn, for its other numbers."""

    theory: TheorySchedule
    reuse_labels: bool = False

    def next_phase(self, task: Any, history: Any) -> Phase | None:
        """The paper's phase with 40 queries of 300 rows and radii a solver can resolve."""
        phase = self.theory.next_phase(task, history)
        if phase is None:
            return None
        return replace(
            phase,
            n_unlabeled=300,
            max_draws=10**6,
            n_queries=40,
            hinge_scale=0.25,
            loss_tolerance=1e-3,
        )

    def after_draw(self, phase: Phase, drawn: Draw) -> Phase:
        """The phase as it was."""
        return self.theory.after_draw(phase, drawn)


def test_the_papers_phases_run_with_counts_that_can_be_drawn() -> None:
    source = oracle()
    theory = TheorySchedule(n_features=40, sparsity=3, target_error=0.01)
    learner = finish(
        active(source, noise_rate=0.0, label_budget=None, schedule=Affordable(theory)),
        source.reveal,
    )
    assert len(learner.phases_) == theory.n_phases
    assert {outcome.removal_status for outcome in learner.phases_} == {"feasible"}


def test_the_papers_own_counts_exceed_any_budget_before_a_label_is_paid() -> None:
    theory = TheorySchedule(n_features=20, sparsity=3, target_error=0.1)
    learner = active(TABLE.X, schedule=theory, label_budget=500)
    with pytest.raises(BudgetExceeded, match="the budget has only 500 left"):
        learner.ask()
    assert learner.n_labels_ == 0


def test_a_schedule_for_another_table_is_refused_at_every_ask() -> None:
    learner = active(TABLE.X, schedule=TheorySchedule(n_features=9, sparsity=3, target_error=0.1))
    for _ in range(2):
        with pytest.raises(ValueError, match="n_features = 9"):
            learner.ask()


# Faults of the label source


class Fault(Exception):
    """What a broken label source raises."""


def _raise(error: Exception) -> Any:
    raise error


def _with_first(value: Any) -> Callable[[np.ndarray], Any]:
    return lambda labels: [value, *labels.tolist()[1:]]


FAULTS: dict[str, Callable[[np.ndarray], Any]] = {
    "raises": lambda _: _raise(Fault("broken")),
    "times out": lambda _: _raise(TimeoutError("no answer")),
    "none": _with_first(None),
    "zero": _with_first(0),
    "two": _with_first(2),
    "text": _with_first("1"),
    "nan": _with_first(math.nan),
    "short": lambda labels: labels[1:],
    "long": lambda labels: [*labels, 1.0],
    "nested": lambda labels: [labels.tolist()],
    "objects": lambda labels: np.array([str(int(x)) for x in labels], dtype=object),
    "infinite": _with_first(-math.inf),
}
ONE_BY_ONE = 4  # labels are asked for in parts of this size, so that a run has 20 positions


class Faulty:
    """A label source that fails at one of its calls, and only then."""

    def __init__(self, fault: Callable[[np.ndarray], Any], position: int) -> None:
        self.fault, self.position = fault, position
        self.n_calls, self.n_given = 0, 0

    def __call__(self, ids: np.ndarray, _rows: Any) -> Any:
        self.n_calls += 1
        if self.n_calls == self.position + 1:
            return self.fault(TABLE.y[ids])
        self.n_given += len(ids)
        return TABLE.y[ids]


def _step(learner: ActiveLearner, source: Faulty) -> bool:
    """Ask for a few labels and tell them; whether there is more to come."""
    question = learner.ask()
    if question is None:
        return False
    ids, rows = question.ids[:ONE_BY_ONE], question.X[:ONE_BY_ONE]
    learner.tell(reveal_labels(source, ids, rows), ids=ids)
    return True


def _faults_and_positions() -> list[Any]:
    """Each fault in the middle of a run, and one also at its ends."""
    fast = {("raises", 0), ("raises", 19), *((name, 7) for name in FAULTS)}
    return [
        pytest.param(name, k, marks=[] if (name, k) in fast else pytest.mark.slow)
        for name in FAULTS
        for k in range(20)
    ]


@pytest.mark.parametrize(("name", "position"), _faults_and_positions())
def test_a_fault_of_the_label_source_costs_nothing_and_the_run_goes_on(
    name: str, position: int
) -> None:
    learner, source = active(TABLE.X), Faulty(FAULTS[name], position)
    for _ in range(position):
        _step(learner, source)
    next_id = int(learner.ask().ids[0])
    expected = Fault if name == "raises" else (TypeError, ValueError, TimeoutError)
    with pytest.raises(expected) as caught:
        _step(learner, source)
    assert name in ("raises", "times out") or f"id {next_id}" in str(caught.value)
    assert learner.n_labels_ == source.n_given
    while _step(learner, source):
        pass
    assert learner.n_labels_ == source.n_given
    assert same_run(learner)


@pytest.mark.parametrize("name", [name for name in FAULTS if name not in ("raises", "times out")])
def test_learn_actively_names_the_id_of_a_bad_answer(name: str) -> None:
    first = active(TABLE.X).ask().ids[0]
    options = {"sparsity": 3, "noise_rate": 0.02, "label_budget": 90, "schedule": SMALL}
    with pytest.raises((TypeError, ValueError), match=f"id {first}"):
        learn_actively(TABLE.X, Faulty(FAULTS[name], 0), **options, random_state=5)


def test_learn_actively_is_ask_and_tell() -> None:
    options = {"sparsity": 3, "noise_rate": 0.02, "label_budget": 90, "schedule": SMALL}
    learner = learn_actively(TABLE.X, TABLE, **options, random_state=5)
    assert same_run(learner)


# Faults of the pool and of the machine


class Stumbling:
    """A pool that fails once at one of its draws, before or after the rows are drawn."""

    def __init__(self, source: Any, at: int, error: BaseException) -> None:
        self.source, self.n_features = source, source.n_features
        self.at, self.error, self.n_calls = at, error, 0
        self.is_replayable = False

    def draw(self, request: Any) -> Draw:
        """A draw, or the error."""
        self.n_calls += 1
        if self.n_calls == self.at:
            raise self.error
        return self.source.draw(request)


@pytest.mark.parametrize("error", [OSError("gone"), KeyboardInterrupt(), TimeoutError("late")])
@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_pool_that_fails_once_loses_nothing(error: BaseException, at: int) -> None:
    learner = active(Stumbling(ArrayPool(TABLE.X, random_state=5), at, error))
    with pytest.raises(type(error)):
        finish(learner, TABLE.reveal)
    assert same_run(finish(learner, TABLE.reveal))


@cache
def undisturbed_sparse() -> ActiveLearner:
    """The run of the sparse table that nothing disturbed."""
    return finish(active(TABLE.csr), TABLE.reveal)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), MemoryError(), RuntimeError("bad luck")])
@pytest.mark.parametrize("step", ["remove_outliers", "minimize_hinge"])
@pytest.mark.parametrize("pool", [TABLE.X, TABLE.csr], ids=["dense", "csr"])
def test_an_error_inside_a_phase_loses_nothing(
    step: str, pool: Any, error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected, table = undisturbed() if pool is TABLE.X else undisturbed_sparse(), Table()
    solver, n_calls = getattr(steps_module, step), 0

    def failing(*args: Any, **options: Any) -> Any:
        nonlocal n_calls
        n_calls += 1
        if n_calls == 3:
            raise error
        return solver(*args, **options)

    monkeypatch.setattr(steps_module, step, failing)
    learner = active(pool)
    with pytest.raises(type(error)):
        finish(learner, table.reveal)
    assert len(learner.phases_) == 2
    assert same_run(finish(learner, table.reveal), expected)
    assert len(table.asked) == len(set(table.asked))


def test_an_interrupt_within_a_draw_of_a_table_does_not_change_its_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    is_inside, n_calls = pools._is_inside, 0

    def interrupted(rows: Any, band: Any) -> Any:
        nonlocal n_calls
        n_calls += 1
        if n_calls == 2:
            raise KeyboardInterrupt
        return is_inside(rows, band)

    monkeypatch.setattr(pools, "_is_inside", interrupted)
    learner = active(TABLE.X)
    with pytest.raises(KeyboardInterrupt):
        finish(learner, TABLE.reveal)
    assert same_run(finish(learner, TABLE.reveal))


def test_rows_that_are_all_pruned_stop_the_run_at_every_ask() -> None:
    learner = active(1e6 * TABLE.X)
    for _ in range(2):
        with pytest.raises(LearningStopped, match="no usable row"):
            learner.ask()


def test_an_empty_stream_stops_the_run() -> None:
    learner = active(StreamPool([], n_features=4))
    with pytest.raises(LearningStopped, match="no usable row"):
        learner.ask()


def test_a_stream_that_ends_early_leaves_what_was_learned() -> None:
    learner = finish(active(row for row in TABLE.X[: SMALL.max_unlabeled]), TABLE.reveal)
    assert len(learner.phases_) == 1 and learner.halfspace_.any()


def test_a_pool_that_gives_an_id_to_another_row_is_stopped() -> None:
    class Forgetful(RecordingPool):
        def draw(self, request: Any) -> Draw:
            draw = super().draw(request)
            return Draw(ids=np.arange(draw.n_rows), X=draw.X, n_drawn=draw.n_drawn)

    learner = active(Forgetful(ArrayPool(TABLE.X, random_state=0)))
    learner.tell(TABLE.reveal(learner.ask().ids))
    with pytest.raises(LearningStopped, match="id of an earlier row"):
        learner.ask()


# Certificates


def test_a_phase_without_its_certificate_is_announced() -> None:
    learner = active(TABLE.X, schedule=replace(SMALL, variance_factor=1e-6))
    learner.tell(TABLE.reveal(learner.ask().ids))
    with pytest.warns(
        UncertifiedPhase, match="phase 1: uncertified; outlier removal is infeasible"
    ):
        learner.ask()
    assert not learner.phases_[0].is_certified


def test_every_uncertified_phase_is_announced_once() -> None:
    learner = active(TABLE.X, schedule=replace(SMALL, variance_factor=1e-6))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        finish(learner, TABLE.reveal)
    messages = [str(warning.message).split(":")[0] for warning in caught]
    assert messages == [f"phase {k + 1}" for k in range(len(learner.phases_))]


def test_the_announcement_points_at_the_line_that_asked() -> None:
    learner = active(TABLE.X, schedule=replace(SMALL, variance_factor=1e-6))
    learner.tell(TABLE.reveal(learner.ask().ids))
    with pytest.warns(UncertifiedPhase) as caught:
        learner.ask()
    assert caught[0].filename == __file__


def test_an_announcement_that_is_made_an_error_does_not_end_the_run() -> None:
    learner = active(TABLE.X, schedule=replace(SMALL, variance_factor=1e-6))
    n_errors = 0
    for _ in range(40):
        try:
            finish(learner, TABLE.reveal)
            break
        except UncertifiedPhase:
            n_errors += 1
    assert n_errors == len(learner.phases_) == len(undisturbed().phases_)


# Parameters


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sparsity", 0),
        ("noise_rate", 0.5),
        ("noise_rate", -0.1),
        ("noise_rate", math.nan),
        ("target_error", 0.0),
        ("target_error", 1.0),
        ("label_budget", 0),
        ("random_state", -1),
    ],
)
def test_a_value_outside_its_range_is_refused_by_name(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=name):
        active(TABLE.X, **{name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sparsity", "all"),
        ("sparsity", 2.5),
        ("noise_rate", None),
        ("target_error", "small"),
        ("label_budget", 10.5),
        ("random_state", "seed"),
        ("random_state", True),
    ],
)
def test_a_value_of_the_wrong_type_is_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(TypeError, match=name):
        active(TABLE.X, **{name: value})


def test_a_generator_seeds_a_run_like_its_equal() -> None:
    runs = [
        finish(active(TABLE.X, random_state=np.random.default_rng(3)), TABLE.reveal)
        for _ in range(2)
    ]
    assert same_run(*runs)


def test_without_a_schedule_the_practical_one_is_used() -> None:
    question = active(TABLE.X, schedule=None).ask()
    explicit = active(TABLE.X, schedule=PracticalSchedule()).ask()
    assert np.array_equal(question.ids, explicit.ids)


def test_a_failing_label_source_hands_back_the_learner_that_can_go_on():
    rows = np.random.default_rng(0).standard_normal((1500, 20))
    options = {"sparsity": 2, "noise_rate": 0.0, "label_budget": 60, "random_state": 0}

    def truth(_, X):
        return np.where(X[:, 1] - X[:, 4] > 0, 1.0, -1.0)

    calls = []

    def flaky(ids, X):
        calls.append(len(ids))
        if len(calls) == 2:
            raise OSError("the laboratory is closed")
        return truth(ids, X)

    with pytest.raises(OSError, match="closed") as caught:
        learn_actively(rows, flaky, **options)
    learner = caught.value.learner
    assert learner.n_labels_ == calls[0]
    undisturbed = learn_actively(rows, truth, **options)
    assert np.array_equal(learner.learn_from(truth).halfspace_, undisturbed.halfspace_)


class FrozenError(Exception):
    def __setattr__(self, name, value):
        raise AttributeError("frozen")


class FrozenInterrupt(KeyboardInterrupt):
    __setattr__ = FrozenError.__setattr__


class DeafError(Exception):
    learner = property(lambda _: None, lambda *_: None)


@pytest.mark.parametrize(
    ("kind", "raised"),
    [
        (FrozenError, LearningStopped),
        (DeafError, LearningStopped),
        (FrozenInterrupt, KeyboardInterrupt),
    ],
)
def test_paid_labels_stay_reachable_when_an_error_takes_no_attribute(kind, raised):
    rows = np.random.default_rng(0).standard_normal((1500, 20))
    calls = []

    def flaky(ids, X):
        calls.append(len(ids))
        if len(calls) == 2:
            raise kind("the laboratory is closed")
        return np.where(X[:, 1] - X[:, 4] > 0, 1.0, -1.0)

    with pytest.raises(raised) as caught:
        learn_actively(rows, flaky, sparsity=2, noise_rate=0.0, label_budget=60, random_state=0)
    assert type(caught.value) is raised
    assert type(caught.value.__cause__) is kind
    assert caught.value.learner.n_labels_ == calls[0] > 0
    assert caught.value.learner.learn_from(flaky).halfspace_.any()


def test_with_a_target_error_a_large_budget_is_not_spent():
    rows = np.random.default_rng(1).standard_normal((4000, 30))

    def truth(_, X):
        return np.where(X[:, 2] + X[:, 7] > 0, 1.0, -1.0)

    options = {"sparsity": 2, "noise_rate": 0.0, "target_error": 0.1, "random_state": 0}
    frugal = learn_actively(rows, truth, **options)
    rich = learn_actively(rows, truth, label_budget=3000, **options)
    assert rich.n_labels_ == frugal.n_labels_ < 300


def test_a_source_that_returns_other_rows_is_refused_before_a_label_is_paid():
    class Narrow:
        n_features = 20

        def draw(self, _):
            return Draw(ids=np.arange(5), X=np.zeros((5, 7)), n_drawn=5)

    with pytest.raises(ValueError, match="20 features, got 7") as caught:
        learn_actively(Narrow(), lambda ids, _: np.ones(len(ids)), sparsity=2, noise_rate=0.0)
    assert caught.value.learner.n_labels_ == 0


@pytest.mark.parametrize("schedule", ["theory", PracticalSchedule])
def test_something_that_is_no_schedule_is_refused(schedule):
    with pytest.raises(TypeError, match="schedule"):
        ActiveLearner(np.eye(3), sparsity=1, noise_rate=0.0, schedule=schedule)
