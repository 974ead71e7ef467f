"""Algorithm 1 driven by hand: its order, its invariants, and the limits in which it is known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from runs import RecordingPool, Table, drive, oracle
from thresher.geometry import SearchRegion
from thresher.learning import (
    Phase,
    PhaseOutcome,
    PracticalSchedule,
    Task,
    learn,
)
from thresher.learning.algorithm import Schedule
from thresher.learning.samples import LabeledRows, Pool, prune, sample_by_weight
from thresher.learning.steps import fit, sparse_unit
from thresher.oracles import ArrayPool, Draw, DrawRequest, LabelRequest
from thresher.simulate import Adversary, FarClump, InBandMass, LinfHijack, MovedIntoBand

SCHEDULE = PracticalSchedule(min_unlabeled=800, max_unlabeled=800)
D, S = 50, 3


def task(**changes: Any) -> Task:
    """A small problem without noise."""
    options = {"n_features": D, "sparsity": S, "noise_rate": 0.0, "label_budget": 240}
    return Task(**{**options, **changes})


@dataclass(frozen=True, eq=False)
class Run:
    """A finished run: what was asked for, what was drawn, what came out, and the truth."""

    requests: list[Any]
    draws: list[Draw]
    history: tuple[PhaseOutcome, ...]
    source: Any

    @property
    def centers(self) -> list[np.ndarray]:
        """The halfspace that each phase started from."""
        return [np.zeros(D), *(outcome.halfspace for outcome in self.history[:-1])]

    @property
    def draw_requests(self) -> list[DrawRequest]:
        """What was asked of the source, one for each phase."""
        return [request for request in self.requests if isinstance(request, DrawRequest)]

    @property
    def questions(self) -> list[list[LabelRequest]]:
        """The requests for labels of each phase."""
        labels = [request for request in self.requests if isinstance(request, LabelRequest)]
        return [[r for r in labels if r.phase == o.phase.index] for o in self.history]


def run(
    schedule: Schedule = SCHEDULE,
    *,
    seed: int = 0,
    adversary: Adversary | None = None,
    **changes: Any,
) -> Run:
    """A run against an oracle."""
    problem = task(**changes)
    source = oracle(D, S, noise_rate=problem.noise_rate, adversary=adversary, seed=seed)
    pool = RecordingPool(source)
    engine = learn(problem, schedule, np.random.default_rng(seed))
    requests, history = drive(engine, pool, source.reveal)
    return Run(requests, pool.draws, history, source)


@pytest.fixture(scope="module", params=range(3))
def clean(request: pytest.FixtureRequest) -> Run:
    """A run without noise. Its seed is fixed, so that what holds once holds always."""
    return run(seed=request.param)


# The order of the lines


def test_every_phase_asks_for_rows_and_then_for_labels(clean: Run) -> None:
    kinds = [type(request) for request in clean.requests]
    rounds = [len(questions) for questions in clean.questions]
    assert rounds[0] == 1 and min(rounds[1:]) > 1
    assert kinds == [kind for n in rounds for kind in [DrawRequest] + n * [LabelRequest]]


def test_without_a_posterior_every_phase_asks_once() -> None:
    by_weight = run(replace(SCHEDULE, use_posterior=False))
    kinds = [type(request) for request in by_weight.requests]
    assert kinds == [DrawRequest, LabelRequest] * len(by_weight.history)


def test_the_first_phase_looks_everywhere(clean: Run) -> None:
    first = clean.requests[0]
    assert not first.band.normal.any() and first.band.width == np.inf


def test_later_phases_look_in_the_band_around_the_last_halfspace(clean: Run) -> None:
    draws = clean.draw_requests[1:]
    assert len(draws) >= 3
    for request, (before, now) in zip(draws, pairwise(clean.history)):
        assert np.array_equal(request.band.normal, before.halfspace)
        assert request.band.width == now.phase.band_width


def test_a_draw_request_tells_an_adversary_the_whole_phase(clean: Run) -> None:
    for request, outcome in zip(clean.draw_requests, clean.history):
        assert request.phase == outcome.phase.index
        assert request.max_abs_entry == outcome.phase.max_abs_entry
        assert (request.n_rows, request.max_draws) == (
            outcome.phase.n_unlabeled,
            outcome.phase.max_draws,
        )


def test_labels_are_asked_for_rows_of_the_phases_own_draw(clean: Run) -> None:
    for draw, questions in zip(clean.draws, clean.questions):
        place = {int(i): row for i, row in zip(draw.ids, draw.X)}
        for request in questions:
            assert all(np.array_equal(place[int(i)], row) for i, row in zip(request.ids, request.X))


def test_an_id_stands_once_in_a_label_request(clean: Run) -> None:
    for questions in clean.questions:
        ids = np.concatenate([request.ids for request in questions])
        assert np.unique(ids).size == ids.size


def test_the_phases_are_numbered_from_one(clean: Run) -> None:
    indices = [outcome.phase.index for outcome in clean.history]
    assert indices == list(range(1, len(indices) + 1))


def test_an_observer_sees_every_outcome_of_the_history() -> None:
    seen: list[PhaseOutcome] = []
    source = oracle(D, S)
    engine = learn(task(), SCHEDULE, np.random.default_rng(0), observe=seen.append)
    _, history = drive(engine, source, source.reveal)
    assert tuple(seen) == history


def test_nothing_is_done_before_the_first_step() -> None:
    calls: list[str] = []

    class Watched(PracticalSchedule):
        def next_phase(self, *args: Any) -> Any:
            calls.append("asked")
            return super().next_phase(*args)

    learn(task(), Watched(), np.random.default_rng(0))
    assert calls == []


# The end


def _empty() -> Draw:
    return Draw(ids=np.zeros(0, dtype=np.int64), X=np.zeros((0, D)), n_drawn=7)


def test_an_empty_first_draw_ends_the_run_with_an_empty_history() -> None:
    engine = learn(task(), SCHEDULE, np.random.default_rng(0))
    next(engine)
    with pytest.raises(StopIteration) as end:
        engine.send(_empty())
    assert end.value.value == ()


def test_an_empty_later_draw_ends_the_run_with_what_was_learned() -> None:
    source, engine = oracle(D, S), learn(task(), SCHEDULE, np.random.default_rng(0))
    labels = engine.send(source.draw(next(engine)))
    engine.send(source.reveal(labels.ids))
    with pytest.raises(StopIteration) as end:
        engine.send(_empty())
    assert len(end.value.value) == 1


def test_rows_that_are_all_pruned_end_the_run_like_an_empty_draw() -> None:
    engine = learn(task(), SCHEDULE, np.random.default_rng(0))
    request = next(engine)
    far = np.full((5, D), 1.01 * request.max_abs_entry)
    with pytest.raises(StopIteration):
        engine.send(Draw(ids=np.arange(5), X=far, n_drawn=5))


# Invariants of every phase. The runs are free of noise and their seeds fixed; on 12 other seeds the
# target was at most .84 of the radius away, so that a miss means a change and not bad luck.


def test_the_target_stays_in_every_search_region(clean: Run) -> None:
    for center, outcome in zip(clean.centers, clean.history):
        phase = outcome.phase
        region = SearchRegion(center, phase.l2_radius, phase.l1_radius)
        assert region.contains(clean.source.target)


def test_every_halfspace_has_unit_norm(clean: Run) -> None:
    norms = [np.linalg.norm(outcome.halfspace) for outcome in clean.history]
    assert norms == pytest.approx([1.0] * len(norms), rel=1e-12)


def test_no_halfspace_has_more_entries_than_the_sparsity(clean: Run) -> None:
    assert all(np.count_nonzero(outcome.halfspace) <= S for outcome in clean.history)


def test_every_phase_has_its_certificates(clean: Run) -> None:
    assert all(outcome.is_certified for outcome in clean.history)


def test_the_variance_bounds_of_a_phase_are_in_order(clean: Run) -> None:
    for outcome in clean.history:
        assert outcome.variance_lower <= outcome.variance_upper
        assert outcome.optimum_lower <= outcome.variance_upper


def test_the_proven_loss_gap_is_within_the_tolerance(clean: Run) -> None:
    for outcome in clean.history:
        assert 0 <= outcome.loss_gap <= outcome.phase.loss_tolerance


def test_the_target_is_found(clean: Run) -> None:
    assert clean.source.error_rate(clean.history[-1].halfspace) < 0.05


def test_the_labels_that_are_used_are_the_fresh_ones_and_earlier_ones_in_the_band(
    clean: Run,
) -> None:
    earlier = np.zeros((0, D))
    for draw, questions, outcome in zip(clean.draw_requests, clean.questions, clean.history):
        n_reused = np.count_nonzero(draw.band.admits(earlier)) if earlier.size else 0
        assert outcome.n_labels_used == outcome.n_labels + n_reused
        earlier = np.concatenate([earlier, *(request.X for request in questions)])


def test_the_fresh_error_of_the_first_phase_is_unknown(clean: Run) -> None:
    assert np.isnan(clean.history[0].fresh_error)


def test_later_fresh_errors_are_shares(clean: Run) -> None:
    assert all(0 <= outcome.fresh_error <= 1 for outcome in clean.history[1:])


def test_a_record_holds_plain_values_only(clean: Run) -> None:
    for outcome in clean.history:
        record = outcome.as_record()
        assert {type(value) for value in record.values()} <= {
            int,
            float,
            bool,
            str,
            dict,
            type(None),
        }
        values = dict(zip(*record["halfspace"].values(), strict=True))
        assert all(outcome.halfspace[i] == value for i, value in values.items())


# Dirty rows lose weight


def dirty_shares(outcome: Run) -> Iterator[tuple[float, float]]:
    """The dirty share of the rows and of their weights, for every phase."""
    for phase_outcome in outcome.history:
        weights = phase_outcome.row_weights
        is_dirty = ~outcome.source.is_clean(phase_outcome.row_ids)
        yield float(is_dirty.mean()), float(weights[is_dirty].sum() / weights.sum())


ATTACKS = {"in-band mass": InBandMass(3.0), "hijack": MovedIntoBand(LinfHijack())}


@pytest.mark.parametrize("name", ATTACKS)
def test_dirty_rows_have_a_smaller_share_of_the_weight_than_of_the_rows(name: str) -> None:
    poisoned = run(seed=1, adversary=ATTACKS[name], noise_rate=0.1)
    shares = list(dirty_shares(poisoned))
    assert len(shares) >= 3
    assert all(of_rows > 0 and of_weight < of_rows for of_rows, of_weight in shares)


def clump_shares(seed: int, schedule: PracticalSchedule = SCHEDULE) -> list[tuple[float, float]]:
    """The dirty shares of the phases in which a clump is as far out as in-band mass of strength 3.

    Moved into the band of a good halfspace, a clump at −4·w* loses nearly all of its length. Rows
    as short as that add no variance, and no method that looks at variance could tell them.
    """
    poisoned = run(schedule, seed=seed, adversary=MovedIntoBand(FarClump()), noise_rate=0.1)
    centers = [draw.X[~poisoned.source.is_clean(draw.ids)].mean(axis=0) for draw in poisoned.draws]
    is_far = [np.linalg.norm(center) >= 3 for center in centers]
    return [share for share, far in zip(dirty_shares(poisoned), is_far) if far]


def test_a_clump_loses_weight_wherever_it_is_still_far_out() -> None:
    shares = clump_shares(2)
    assert len(shares) >= 1
    assert all(of_weight <= of_rows / 2 for of_rows, of_weight in shares)


@pytest.mark.slow
def test_in_most_phases_a_clump_that_is_far_out_loses_half_of_its_share() -> None:
    shares = [share for seed in range(20) for share in clump_shares(seed, PracticalSchedule())]
    halved = [of_weight <= of_rows / 2 for of_rows, of_weight in shares]
    assert len(shares) >= 20 and np.mean(halved) >= 0.95


@pytest.mark.slow
@pytest.mark.parametrize("name", ATTACKS)
@pytest.mark.parametrize("noise_rate", [0.05, 0.1])
def test_in_most_phases_dirty_rows_lose_half_of_their_share(name: str, noise_rate: float) -> None:
    shares = [
        share
        for seed in range(20)
        for share in dirty_shares(
            run(PracticalSchedule(), seed=seed, adversary=ATTACKS[name], noise_rate=noise_rate)
        )
    ]
    halved = [of_weight <= of_rows / 2 for of_rows, of_weight in shares]
    assert np.mean(halved) >= 0.95


# Limits


def test_without_noise_every_row_keeps_its_weight(clean: Run) -> None:
    assert [outcome.weight_removed for outcome in clean.history] == [0.0] * len(clean.history)


def test_with_noise_no_more_weight_is_removed_than_the_outlier_fraction() -> None:
    for outcome in run(noise_rate=0.1, adversary=InBandMass()).history:
        assert outcome.weight_removed <= outcome.phase.outlier_fraction + 1e-9


class Dense(PracticalSchedule):
    """The schedule with l1 radii at which the l1 ball contains the l2 ball."""

    def next_phase(self, problem: Task, history: Any) -> Any:
        """A phase whose l1 radius never binds."""
        phase = super().next_phase(problem, history)
        return phase and replace(phase, l1_radius=3 * np.sqrt(D) * phase.l2_radius)


def test_with_all_features_the_l1_ball_contains_the_l2_ball() -> None:
    for outcome in run(sparsity=D).history:
        phase = outcome.phase
        assert phase.l1_radius >= np.sqrt(D) * phase.l2_radius * (1 - 1e-12)


def least_loss(rows: LabeledRows, phase: Phase) -> float:
    """The least hinge loss of a phase that starts anywhere."""
    return fit(rows, replace(phase, loss_tolerance=1e-6), np.zeros(D))[0].loss


def test_with_all_features_a_larger_l1_radius_changes_nothing() -> None:
    # Both phases solve the same convex problem to a proven gap, so their losses agree within it.
    rows, problem = _labeled(Table(400, D, S).X, Table(400, D, S).y), task(sparsity=D)
    plain, dense = SCHEDULE.next_phase(problem, ()), Dense().next_phase(problem, ())
    losses = [
        fit(rows, replace(p, loss_tolerance=1e-6), np.zeros(D))[0].loss for p in (plain, dense)
    ]
    assert losses[0] == pytest.approx(losses[1], abs=2e-6)


def test_with_few_features_a_larger_l1_radius_changes_the_loss() -> None:
    rows, problem = _labeled(Table(400, D, S).X, Table(400, D, S).y), task()
    plain, dense = SCHEDULE.next_phase(problem, ()), Dense().next_phase(problem, ())
    losses = [
        fit(rows, replace(p, loss_tolerance=1e-6), np.zeros(D))[0].loss for p in (plain, dense)
    ]
    assert losses[0] > losses[1] + 1e-3


def _labeled(X: np.ndarray, y: np.ndarray) -> LabeledRows:
    return LabeledRows(X, y, np.ones(y.size), n_fresh=y.size)


def test_with_all_features_no_entry_is_cut() -> None:
    assert all(np.count_nonzero(outcome.halfspace) == D for outcome in run(sparsity=D).history)


def test_using_every_row_asks_for_every_row_that_kept_weight() -> None:
    outcome = run(replace(SCHEDULE, use_every_row=True), label_budget=None)
    for draw, request in zip(outcome.draws, outcome.requests[1::2]):
        assert np.array_equal(np.sort(request.ids), np.sort(draw.ids))


def test_using_every_row_counts_each_by_its_weight() -> None:
    weights = np.array([0.0, 0.25, 1.0])
    pool = Pool(np.array([5, 6, 7]), np.eye(3))
    sample = sample_by_weight(pool, weights, None, np.random.default_rng(0))
    assert sample.ids.tolist() == [6, 7] and sample.counts.tolist() == [0.25, 1.0]


def test_labels_that_contradict_each_other_still_give_a_unit_halfspace() -> None:
    # Every row comes twice, with both labels: the hinge loss is least at zero.
    X = np.repeat(Table(60, 4, 1).X, 2, axis=0)
    y = np.tile([1.0, -1.0], 60)
    problem = Task(n_features=4, sparsity=2, noise_rate=0.0)
    schedule = replace(SCHEDULE, use_every_row=True)
    pool = ArrayPool(X, random_state=0)
    engine = learn(problem, schedule, np.random.default_rng(0))
    _, history = drive(engine, pool, lambda ids: y[ids])
    assert len(history) >= 1
    assert all(np.linalg.norm(outcome.halfspace) == pytest.approx(1) for outcome in history)


# The steps


def test_a_row_that_was_drawn_twice_costs_twice() -> None:
    table, counts = Table(60, D, S), np.arange(60) % 3 + 1.0
    again = np.repeat(np.arange(60), counts.astype(int))
    phase = replace(SCHEDULE.next_phase(task(), ()), loss_tolerance=1e-7)
    counted, _ = fit(LabeledRows(table.X, table.y, counts, n_fresh=60), phase, np.zeros(D))
    repeated, _ = fit(_labeled(table.X[again], table.y[again]), phase, np.zeros(D))
    plain, _ = fit(_labeled(table.X, table.y), phase, np.zeros(D))
    assert counted.loss == pytest.approx(repeated.loss, abs=2e-7)
    assert counted.loss != pytest.approx(plain.loss, abs=1e-5)


def test_a_vanishing_point_gives_way_to_the_fallback() -> None:
    unit = sparse_unit(np.zeros(3), 1, fallback=np.array([0.0, -4.0, 1.0]))
    assert unit.tolist() == [0.0, -1.0, 0.0]


def test_where_the_fallback_vanishes_too_the_first_feature_stands_in() -> None:
    assert sparse_unit(np.zeros(3), 2, fallback=np.zeros(3)).tolist() == [1.0, 0.0, 0.0]


def test_a_point_is_cut_to_its_largest_entries_and_scaled() -> None:
    unit = sparse_unit(np.array([3.0, 0.1, -4.0]), 2, fallback=np.zeros(3))
    assert unit == pytest.approx([0.6, 0.0, -0.8], rel=1e-15)


def test_pruning_keeps_entries_at_the_radius_and_drops_larger_ones() -> None:
    draw = Draw(ids=[1, 2, 3], X=[[2.0, 0.0], [0.0, -2.0], [0.0, -2.000001]], n_drawn=3)
    assert prune(draw, 2.0).ids.tolist() == [1, 2]


def test_pruning_sparse_rows_is_pruning_dense_ones() -> None:
    table = Table(50, 6, 1)
    dense, sparse = (Draw(ids=np.arange(50), X=X, n_drawn=50) for X in (table.X, table.csr))
    assert np.array_equal(prune(dense, 1.5).ids, prune(sparse, 1.5).ids)


def test_a_row_without_weight_is_never_sampled() -> None:
    pool = Pool(np.arange(4), np.eye(4))
    sample = sample_by_weight(pool, np.array([1, 0, 1, 0.0]), 1000, np.random.default_rng(0))
    assert sample.ids.tolist() == [0, 2] and sample.counts.sum() == 1000


def test_rows_are_sampled_in_proportion_to_their_weights() -> None:
    # χ² with 3 degrees of freedom exceeds 21.1 with probability 1e-4.
    weights = np.array([1.0, 2.0, 3.0, 4.0])
    pool = Pool(np.arange(4), np.eye(4))
    counts = sample_by_weight(pool, weights, 10_000, np.random.default_rng(0)).counts
    expected = 1000 * weights
    assert ((counts - expected) ** 2 / expected).sum() < 21.1


def test_more_queries_than_can_be_counted_are_refused() -> None:
    pool = Pool(np.arange(1), np.eye(1))
    with pytest.raises(ValueError, match=r"n_queries must be below 2\*\*62"):
        sample_by_weight(pool, np.ones(1), 2**62, np.random.default_rng(0))
