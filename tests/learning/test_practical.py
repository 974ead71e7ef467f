"""The practical schedule: its rules, its switches, and that its plan is what a run then does."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from runs import SMALL, Table, active, finish, oracle
from thresher.learning import Phase, PhaseOutcome, PracticalSchedule, Task
from thresher.oracles import Draw

# The rules are tested with constants of their own, whatever the defaults are tuned to.
SCHEDULE = PracticalSchedule(
    first_radius=0.5,
    shrink=0.6,
    band_factor=2.0,
    hinge_factor=0.5,
    first_hinge_scale=0.25,
    radius_per_angle=3.5,
    max_dirty_share=0.3,
    outlier_margin=1.5,
    max_outlier_fraction=0.35,
    first_label_share=0.3,
    labels_per_floor=10.0,
    min_labels_per_phase=6.0,
    unlabeled_factor=13.0,
    min_unlabeled=4000,
    max_unlabeled=20_000,
)
BY_WEIGHT = replace(SCHEDULE, use_posterior=False)  # questions from the whole band
SWITCHES = [item.name for item in fields(SCHEDULE) if isinstance(item.default, bool)]
NUMBERS = [item.name for item in fields(SCHEDULE) if item.name not in SWITCHES]


def task(**changes: Any) -> Task:
    """A problem with a budget."""
    options = {"n_features": 200, "sparsity": 5, "noise_rate": 0.0, "label_budget": 600}
    return Task(**{**options, **changes})


def outcome(phase: Phase, **changes: Any) -> PhaseOutcome:
    """A fabricated outcome of a phase that went as planned."""
    values = {
        "phase": phase,
        "halfspace": np.eye(1, 200)[0],
        "n_draws": phase.n_unlabeled,
        "n_kept": phase.n_unlabeled,
        "n_queries": phase.n_queries or 0,
        "n_labels": phase.n_queries or 0,
        "n_labels_used": phase.n_queries or 0,
        "removal_status": "tightest",
        "variance_lower": 1.0,
        "variance_upper": 1.0,
        "optimum_lower": 1.0,
        "loss": 0.0,
        "loss_gap": 0.0,
        "loss_status": "converged",
        "fresh_error": 0.0,
        "row_ids": np.arange(phase.n_unlabeled),
        "row_weights": np.ones(phase.n_unlabeled),
        "is_left_out": np.zeros(phase.n_unlabeled, dtype=bool),
    }
    return PhaseOutcome(**{**values, **changes})


def phases(schedule: PracticalSchedule, problem: Task, **changes: Any) -> list[Phase]:
    """The phases of a run in which every phase has the same kind of outcome."""
    history: tuple[PhaseOutcome, ...] = ()
    while (phase := schedule.next_phase(problem, history)) is not None:
        history = (*history, outcome(phase, **changes))
        assert len(history) < 100
    return [outcome.phase for outcome in history]


# Radii, bands and scales


def test_the_first_phase_has_radii_one_and_the_root_of_the_sparsity() -> None:
    first = phases(SCHEDULE, task())[0]
    assert (first.l2_radius, first.l1_radius) == (1.0, math.sqrt(5))


def test_later_l1_radii_have_room_for_the_difference_of_two_sparse_vectors() -> None:
    for phase in phases(SCHEDULE, task())[1:]:
        assert phase.l1_radius == pytest.approx(math.sqrt(10) * phase.l2_radius, rel=1e-15)


def test_with_progress_radii_shrink_by_one_factor() -> None:
    radii = [phase.l2_radius for phase in phases(SCHEDULE, task())[1:]]
    assert radii == pytest.approx([0.5 * 0.6**k for k in range(len(radii))], rel=1e-12)
    assert len(radii) >= 3


def test_bands_are_proportional_to_radii() -> None:
    for phase in phases(replace(SCHEDULE, band_factor=3.0), task()):
        assert phase.band_width == pytest.approx(3 * phase.l2_radius)


def test_hinge_scales_are_proportional_to_bands_after_the_first_phase() -> None:
    first, *later = phases(replace(SCHEDULE, hinge_factor=0.25, first_hinge_scale=0.7), task())
    assert first.hinge_scale == 0.7
    assert all(phase.hinge_scale == pytest.approx(phase.band_width / 4) for phase in later)


def test_the_last_radius_belongs_to_the_target_error() -> None:
    # The number of phases is rounded, so the last radius is off by at most a root of `shrink`.
    for target_error in (0.002, 0.005, 0.01, 0.02):
        problem = task(target_error=target_error, label_budget=None)
        wanted = 3.5 * math.pi * target_error
        last = phases(BY_WEIGHT, problem)[-1].l2_radius
        assert math.sqrt(0.6) <= last / wanted <= 1 / math.sqrt(0.6)


def test_a_smaller_target_error_never_means_fewer_phases() -> None:
    counts = [
        SCHEDULE.n_phases(task(target_error=error, label_budget=None))
        for error in (0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
    ]
    assert counts == sorted(counts) and counts[0] < counts[-1]


def test_a_coarse_target_still_gets_a_phase() -> None:
    assert SCHEDULE.n_phases(task(target_error=0.9)) >= 1


# Noise


def test_noise_stops_the_narrowing() -> None:
    counts = [SCHEDULE.n_phases(task(noise_rate=eta)) for eta in (0.0, 0.03, 0.1, 0.3)]
    assert counts == sorted(counts, reverse=True) and counts[0] > counts[-1]


@pytest.mark.parametrize("noise_rate", [0.02, 0.05, 0.1])
def test_in_the_narrowest_band_an_adversary_owns_about_the_largest_share(
    noise_rate: float,
) -> None:
    # Rounding the number of phases moves the band by a root of `shrink` at most: η over
    # η + (1 − η)·mass lies between the shares of those two bands.
    problem = task(noise_rate=noise_rate, target_error=1e-4, label_budget=10**6)
    b = phases(SCHEDULE, problem)[-1].band_width

    def share(width: float) -> float:
        return noise_rate / (noise_rate + (1 - noise_rate) * 0.8 * width)

    assert share(b / math.sqrt(0.6)) <= 0.3 * 1.001 and share(b * math.sqrt(0.6)) >= 0.3 * 0.999


def test_the_outlier_fraction_is_a_margin_over_the_noise_rate() -> None:
    assert phases(SCHEDULE, task(noise_rate=0.05))[0].outlier_fraction == pytest.approx(0.075)


def test_the_measured_mass_of_the_band_sets_the_outlier_fraction() -> None:
    phase = phases(SCHEDULE, task(noise_rate=0.05))[1]
    drawn = Draw(ids=np.arange(50), X=np.zeros((50, 200)), n_drawn=100)
    assert SCHEDULE.after_draw(phase, drawn).outlier_fraction == pytest.approx(0.15)


def test_the_outlier_fraction_is_capped() -> None:
    phase = phases(SCHEDULE, task(noise_rate=0.05))[1]
    drawn = Draw(ids=np.arange(1), X=np.zeros((1, 200)), n_drawn=1000)
    assert SCHEDULE.after_draw(phase, drawn).outlier_fraction == 0.35


def test_an_empty_draw_does_not_divide_by_zero() -> None:
    phase = phases(SCHEDULE, task(noise_rate=0.05))[1]
    nothing = Draw(ids=np.zeros(0, dtype=np.int64), X=np.zeros((0, 200)), n_drawn=0)
    assert SCHEDULE.after_draw(phase, nothing).outlier_fraction == 0.35


def test_without_noise_no_weight_may_be_removed() -> None:
    phase = phases(SCHEDULE, task())[1]
    drawn = Draw(ids=np.arange(1), X=np.zeros((1, 200)), n_drawn=1000)
    assert SCHEDULE.after_draw(phase, drawn).outlier_fraction == 0.0


def test_only_shares_change_after_a_draw() -> None:
    phase = phases(SCHEDULE, task(noise_rate=0.01))[1]
    drawn = Draw(ids=np.arange(50), X=np.zeros((50, 200)), n_drawn=100)
    after = SCHEDULE.after_draw(phase, drawn)
    names = ("outlier_fraction", "dirty_share", "question_share")
    for name in names:
        assert getattr(after, name) == 2 * getattr(phase, name) > 0
    assert replace(after, **{name: getattr(phase, name) for name in names}) == phase


# Questions


def test_an_adversary_who_follows_the_questions_owns_a_limited_share_of_them() -> None:
    eta = 0.01
    phase = phases(SCHEDULE, task(noise_rate=eta))[1]
    clean = (1 - eta) * phase.question_share
    assert eta / (eta + clean) == pytest.approx(SCHEDULE.max_followed_share)


def test_the_first_questions_are_drawn_from_everywhere() -> None:
    assert phases(SCHEDULE, task())[0].question_share == 1


def test_questions_about_most_of_the_pool_are_drawn_from_all_of_it() -> None:
    phase = phases(SCHEDULE, task(noise_rate=0.05))[1]
    drawn = Draw(ids=np.arange(50), X=np.zeros((50, 200)), n_drawn=100)
    assert SCHEDULE.after_draw(phase, drawn).question_share == 1


@pytest.mark.parametrize("changes", [{"use_posterior": False}, {"use_every_row": True}])
def test_the_switch_and_free_labels_leave_no_posterior(changes: dict[str, bool]) -> None:
    for phase in phases(replace(SCHEDULE, **changes), task()):
        assert (phase.n_candidates, phase.question_share) == (0, 1)


def test_a_dense_halfspace_has_no_posterior() -> None:
    assert phases(SCHEDULE, task(sparsity=101, n_features=200))[0].n_candidates == 0
    assert phases(SCHEDULE, task(sparsity=100, n_features=200))[0].n_candidates == 300


# Labels


@pytest.mark.parametrize("budget", [30, 31, 97, 150, 600, 1501])
@pytest.mark.parametrize("noise_rate", [0.0, 0.05])
def test_the_labels_of_all_phases_add_up_to_the_budget(budget: int, noise_rate: float) -> None:
    problem = task(label_budget=budget, noise_rate=noise_rate)
    assert sum(phase.n_queries for phase in phases(SCHEDULE, problem)) == budget


@pytest.mark.parametrize("budget", range(1, 30))
def test_a_budget_too_small_for_two_phases_means_one(budget: int) -> None:
    only = phases(SCHEDULE, task(label_budget=budget))
    assert [phase.n_queries for phase in only] == [budget]


def test_a_smaller_budget_never_means_more_phases() -> None:
    counts = [SCHEDULE.n_phases(task(label_budget=budget)) for budget in range(1, 400)]
    assert counts == sorted(counts) and counts[0] == 1


def test_labels_that_were_not_needed_are_left_to_later_phases() -> None:
    # Every phase finds that half of its queries were repetitions.
    history: tuple[PhaseOutcome, ...] = ()
    problem = task(label_budget=600)
    while (phase := SCHEDULE.next_phase(problem, history)) is not None:
        last = phase
        history = (*history, outcome(phase, n_labels=phase.n_queries // 2))
    paid_before = sum(o.n_labels for o in history[:-1])
    assert last.n_queries == 600 - paid_before


def test_when_the_budget_is_used_up_learning_is_over() -> None:
    first = SCHEDULE.next_phase(task(), ())
    assert SCHEDULE.next_phase(task(), (outcome(first, n_labels=600),)) is None


def test_the_first_phase_gets_its_share() -> None:
    schedule = replace(SCHEDULE, first_label_share=0.5)
    assert phases(schedule, task(label_budget=600))[0].n_queries == 300


def test_without_a_budget_labels_are_a_multiple_of_what_any_method_needs() -> None:
    # 5·(log2 100 + log2 40) = 59.829
    problem = task(target_error=0.01, label_budget=None)
    assert BY_WEIGHT.n_labels(problem) == math.ceil(10 * 59.829)
    for noise_rate, multiple in ((0.0, 3.0), (0.0025, 6.5), (0.005, 10.0), (0.1, 10.0)):
        noisy = replace(problem, noise_rate=noise_rate)
        assert SCHEDULE.n_labels(noisy) == math.ceil(multiple * 59.829)


# Rows


def test_rows_a_phase_grow_with_the_square_of_the_sparsity_between_bounds() -> None:
    sizes = [phases(SCHEDULE, task(sparsity=s))[0].n_unlabeled for s in (1, 10, 100)]
    assert sizes == [4000, int(1300 * math.log(200)), 20_000]


def test_the_pruning_radius_grows_with_the_logarithm_of_the_entries() -> None:
    assert phases(SCHEDULE, task())[0].max_abs_entry == pytest.approx(2 + math.log(4000 * 200))


def test_a_narrow_band_may_take_more_draws() -> None:
    limits = [phase.max_draws for phase in phases(SCHEDULE, task())]
    assert limits == sorted(limits) and limits[-1] > limits[0] >= 40 * 4000


# Progress


def test_fresh_labels_that_put_the_target_outside_keep_the_radius() -> None:
    radii = [phase.l2_radius for phase in phases(BY_WEIGHT, task(), fresh_error=0.5)]
    assert set(radii[1:]) == {0.5}


def test_fresh_labels_near_the_boundary_do_not_keep_the_radius() -> None:
    radii = [phase.l2_radius for phase in phases(SCHEDULE, task(), fresh_error=0.5)]
    assert radii == [phase.l2_radius for phase in phases(SCHEDULE, task())]


def test_the_radius_is_kept_just_when_the_estimated_angle_exceeds_it() -> None:
    # A share e of wrong fresh labels means an angle of e·b/.4 = 5·e·r, beyond r from e = .2 on.
    first, second, *_ = phases(BY_WEIGHT, task())
    for share, radius in ((0.201, 0.5), (0.199, 0.3)):
        history = (outcome(first), outcome(second, fresh_error=share))
        assert BY_WEIGHT.next_phase(task(), history).l2_radius == pytest.approx(radius)


def test_half_of_the_dirty_share_in_wrong_labels_is_put_down_to_noise() -> None:
    problem = task(noise_rate=0.1)
    first, second, *_ = phases(SCHEDULE, problem)
    for share, radius in ((0.255, 0.5), (0.245, 0.3)):
        history = (outcome(first), outcome(second, fresh_error=share))
        assert SCHEDULE.next_phase(problem, history).l2_radius == pytest.approx(radius)


def test_without_progress_there_are_no_more_phases_than_with_it() -> None:
    assert len(phases(BY_WEIGHT, task(), fresh_error=0.5)) == len(phases(BY_WEIGHT, task()))


def test_the_switch_of_kept_radii_lets_them_always_shrink() -> None:
    schedule = replace(BY_WEIGHT, keep_radius_without_progress=False)
    stuck = [phase.l2_radius for phase in phases(schedule, task(), fresh_error=0.5)]
    assert stuck == [phase.l2_radius for phase in phases(SCHEDULE, task())]


# The other switches


def test_without_reuse_only_fresh_labels_are_used() -> None:
    source = oracle(20, 3)
    learner = finish(active(source, schedule=replace(SMALL, reuse_labels=False)), source.reveal)
    assert all(outcome.n_labels_used == outcome.n_labels for outcome in learner.phases_)


def test_with_reuse_later_phases_use_earlier_labels() -> None:
    source = oracle(20, 3)
    learner = finish(active(source), source.reveal)
    assert any(outcome.n_labels_used > outcome.n_labels for outcome in learner.phases_)


def test_a_variance_factor_asks_for_the_papers_form() -> None:
    for phase in phases(replace(SCHEDULE, variance_factor=8.0), task()):
        wanted = 8 * (phase.band_width**2 + phase.l2_radius**2)
        assert phase.max_variance == pytest.approx(wanted, rel=1e-15)


def test_a_run_in_the_papers_form_is_feasible() -> None:
    source = oracle(20, 3)
    learner = finish(active(source, schedule=replace(SMALL, variance_factor=8.0)), source.reveal)
    assert {outcome.removal_status for outcome in learner.phases_} == {"feasible"}


def test_without_a_variance_factor_the_least_variance_is_sought() -> None:
    assert {phase.max_variance for phase in phases(SCHEDULE, task())} == {None}


def test_using_every_row_asks_for_no_number_of_queries() -> None:
    schedule = replace(SCHEDULE, use_every_row=True)
    assert {phase.n_queries for phase in phases(schedule, task())} == {None}


def test_using_every_row_a_small_budget_does_not_mean_fewer_phases() -> None:
    schedule = replace(SCHEDULE, use_every_row=True)
    assert schedule.n_phases(task(label_budget=1)) == schedule.n_phases(task(label_budget=9999))


def test_with_removal_some_row_loses_weight() -> None:
    source = oracle(20, 3)
    learner = finish(active(source, noise_rate=0.1), source.reveal)
    assert all(outcome.weight_removed > 0 for outcome in learner.phases_)


# Parameters


@pytest.mark.parametrize("name", [name for name in NUMBERS if name != "variance_factor"])
@pytest.mark.parametrize("value", [None, "many", True])
def test_a_number_of_the_wrong_type_is_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(TypeError, match=name):
        PracticalSchedule(**{name: value})


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("value", [0, -1])
def test_a_number_that_is_not_positive_is_refused_by_name(name: str, value: int) -> None:
    with pytest.raises(ValueError, match=name):
        PracticalSchedule(**{name: value})


@pytest.mark.parametrize(
    "name", ["shrink", "max_outlier_fraction", "max_dirty_share", "first_label_share"]
)
def test_a_share_of_one_or_more_is_refused_by_name(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} must be below 1"):
        PracticalSchedule(**{name: 1.0})


@pytest.mark.parametrize("name", SWITCHES)
@pytest.mark.parametrize("value", [None, 2, "no"])
def test_a_switch_is_true_or_false(name: str, value: Any) -> None:
    with pytest.raises(TypeError, match=f"{name} must be True or False"):
        PracticalSchedule(**{name: value})


def test_bounds_of_rows_in_the_wrong_order_are_refused() -> None:
    with pytest.raises(ValueError, match="min_unlabeled must be at most max_unlabeled = 10"):
        PracticalSchedule(min_unlabeled=11, max_unlabeled=10)


# The plan


@pytest.mark.parametrize("noise_rate", [0.0, 0.02])
@pytest.mark.parametrize("target_error", [0.02, 0.1])
def test_a_run_stays_within_its_planned_cost(noise_rate: float, target_error: float) -> None:
    # Draws: the plan takes Gaussian masses as they are; four standard deviations of the number of
    # draws a phase are 4·√n/mass, below a tenth of it for 2,000 rows.
    question = {"sparsity": 3, "target_error": target_error, "noise_rate": noise_rate}
    schedule = replace(SCHEDULE, min_unlabeled=2000, max_unlabeled=2000)
    cost = schedule.cost(Task(n_features=30, **question))
    source = oracle(30, 3)
    learner = finish(
        active(source, schedule=schedule, label_budget=None, **question), source.reveal
    )
    assert len(learner.phases_) <= cost.phases
    assert learner.n_labels_ <= cost.labels
    assert learner.n_draws_ <= 1.1 * cost.draws


def test_the_planned_labels_are_the_ones_the_phases_get() -> None:
    problem = task(target_error=0.01, label_budget=None)
    cost = SCHEDULE.cost(problem)
    assert cost.labels == sum(phase.n_queries for phase in phases(SCHEDULE, problem))
    assert cost.phases == len(phases(SCHEDULE, problem))


def test_a_table_smaller_than_a_phase_wants_is_enough() -> None:
    table = Table(50)
    learner = finish(active(table.X, schedule=None), table.reveal)
    assert learner.phases_[0].n_kept == 50
