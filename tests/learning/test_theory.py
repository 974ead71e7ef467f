"""The paper's schedule against values worked out by hand and against its own lemmas.

The worked example has c0 = .36, c1 = π/64, c2 = π, c3 = 1, c4 = 8, C2 = 4, c̄ = 16, s = 8, ε = .1,
δ = .05. By hand: π/(16·c1·ε) = 64/1.6 = 40, so k0 = ⌈log2 40⌉ = 6 (32 < 40 ≤ 64). κ = e⁻¹⁶ =
1.1253517e-7. C1 = 16/16 = 1, so c8 = min{.72, .72/9, 1} = .08. τ = .36·κ/9 = κ/25 = 4.5014070e-9
while b > 1/9. With √C2 = 2, ξ = κ²/16·(1 + 8z/τ)⁻².
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from thresher.learning.constants import PaperConstants
from thresher.learning.theory import TheorySchedule

WORKED = PaperConstants(
    density_floor=0.36,
    least_angle_per_error=math.pi / 64,
    most_angle_per_error=math.pi,
    outside_factor=1.0,
    outside_decay=8.0,
    band_factor=16.0,
    variance_factor=4.0,
)
SCHEDULE = TheorySchedule(sparsity=8, n_features=100, target_error=0.1, constants=WORKED)
KAPPA = 1.1253517471925912e-07  # e⁻¹⁶
PHASES = [1, 2, 3, 4, 5, 6]
GAUSSIAN = PaperConstants.gaussian()


# The phases of the worked example


def test_the_number_of_phases_is_the_rounded_up_binary_logarithm() -> None:
    assert SCHEDULE.n_phases == 6


@pytest.mark.parametrize(("target_error", "n_phases"), [(0.9, 1), (1 / 16, 1), (1 / 64, 2)])
def test_at_least_one_phase_is_left_where_the_logarithm_vanishes(
    target_error: float, n_phases: int
) -> None:
    # Gaussian: log2(1/(16ε)) is negative, 0 and 2.
    assert TheorySchedule(sparsity=1, n_features=9, target_error=target_error).n_phases == n_phases


def test_the_last_search_region_certifies_the_target_error() -> None:
    for target_error in (0.3, 0.1, 0.01, 1e-6):
        schedule = replace(SCHEDULE, target_error=target_error)
        reached = math.pi / WORKED.least_angle_per_error * 2.0 ** (-schedule.n_phases - 4)
        assert target_error / 2 < reached <= target_error


def test_band_widths_halve_from_the_widest() -> None:
    widths = [SCHEDULE.phase(k).band_width for k in PHASES]
    assert widths == [1.0, 0.5, 0.25, 0.125, 0.0625, 0.03125]
    assert widths[0] == WORKED.max_band_width


def test_l2_radii_start_at_one_and_then_halve_from_a_thirty_second() -> None:
    assert [SCHEDULE.phase(k).l2_radius for k in PHASES[:3]] == [1.0, 1 / 32, 1 / 64]


def test_l1_radii_have_room_for_the_difference_of_two_sparse_vectors() -> None:
    # √8, then √16/32 and √16/64.
    radii = [SCHEDULE.phase(k).l1_radius for k in PHASES[:3]]
    assert radii == pytest.approx([2.8284271247, 0.125, 0.0625], rel=1e-10)


def test_the_hinge_scale_follows_the_band_once_it_is_narrow() -> None:
    # .36·κ/9 four times (b = 1, …, .125 > 1/9), then .36·κ·b.
    expected = [KAPPA / 25] * 4 + [0.36 * KAPPA / 16, 0.36 * KAPPA / 32]
    assert [SCHEDULE.phase(k).hinge_scale for k in PHASES] == pytest.approx(expected, rel=1e-12)


def test_failure_probabilities_are_the_hand_computed_ones() -> None:
    probabilities = [SCHEDULE.phase(k).failure_probability for k in PHASES[:3]]
    assert probabilities == pytest.approx([1 / 120, 1 / 240, 1 / 400], rel=1e-12)


def test_failure_probabilities_add_up_to_less_than_allowed() -> None:
    schedule = replace(SCHEDULE, target_error=1e-9)
    spent = sum(schedule.phase(k).failure_probability for k in range(1, schedule.n_phases + 1))
    assert spent < schedule.failure_probability


def test_every_phase_has_the_same_loss_tolerance() -> None:
    assert {SCHEDULE.phase(k).loss_tolerance for k in PHASES} == {WORKED.loss_tolerance}


def test_outlier_fractions_are_the_hand_computed_ones() -> None:
    # z = √2, √257/32, √257/64, with z/τ so large that ξ = κ²/16·(τ/(8z))² to eight digits.
    rough = [KAPPA**2 / 16 * (KAPPA / 25 / 8) ** 2 / z2 for z2 in (2, 257 / 1024, 257 / 4096)]
    fractions = [SCHEDULE.phase(k).outlier_fraction for k in PHASES[:3]]
    assert fractions == pytest.approx(rough, rel=1e-8)
    assert fractions == pytest.approx([1.252977e-34, 9.984815e-34, 3.993926e-33], rel=1e-6)


def test_outlier_fractions_stay_below_c6_while_the_band_is_wide() -> None:
    c6 = WORKED.nominal_outlier_fraction
    for k in PHASES:
        phase = SCHEDULE.phase(k)
        if phase.band_width > 1 / 9:
            assert phase.outlier_fraction < c6
        else:
            assert phase.outlier_fraction == pytest.approx(c6, rel=1e-12)


@pytest.mark.parametrize("k", PHASES)
def test_the_outlier_fraction_keeps_the_reweighted_loss_within_its_tolerance(k: int) -> None:
    """The three constraints at the end of the proof of Proposition 31."""
    phase, c2 = SCHEDULE.phase(k), WORKED.variance_factor
    xi = phase.outlier_fraction
    ratio = math.sqrt(phase.band_width**2 + phase.l2_radius**2) / phase.hinge_scale
    clean_by_weighted = 2 * xi * (1 + math.sqrt(10 * c2) * ratio) + math.sqrt(10 * c2 * xi) * ratio
    weighted_by_clean = 2 * xi + math.sqrt(20 * c2 * xi) * ratio
    assert max(clean_by_weighted, weighted_by_clean) <= phase.loss_tolerance
    assert xi <= 0.5


def test_the_variance_bound_is_twice_that_of_clean_rows() -> None:
    # 2·4·(b² + r²) = 8·(1 + 1), then 8·(1/4 + 1/1024).
    assert SCHEDULE.phase(1).max_variance == pytest.approx(16.0, rel=1e-12)
    assert SCHEDULE.phase(2).max_variance == pytest.approx(2.0078125, rel=1e-12)


# Counts


@pytest.mark.parametrize("k", PHASES)
def test_the_number_of_queries_is_its_soft_order(k: int) -> None:
    b, delta = 2.0 ** (1 - k), 0.05 / (k + 1) / (k + 2)
    f = 8 * math.log(100 / b / delta) ** 2 * math.log(100 / delta)
    assert SCHEDULE.phase(k).n_queries == pytest.approx(f * math.log(f), abs=1)


@pytest.mark.parametrize("k", PHASES)
def test_the_number_of_unlabeled_rows_is_its_soft_order_when_its_factor_rules(k: int) -> None:
    schedule = replace(SCHEDULE, constants=replace(WORKED, unlabeled_factor=1e40))
    b, delta = 2.0 ** (1 - k), 0.05 / (k + 1) / (k + 2)
    f = 64 * math.log(100 / b) ** 4 * (math.log(100) + math.log(1 / delta) ** 3)
    assert schedule.phase(k).n_unlabeled == pytest.approx(1e40 * f * math.log(f), rel=1e-12)


@pytest.mark.parametrize("k", PHASES)
def test_unlabeled_rows_suffice_for_pruning(k: int) -> None:
    phase = SCHEDULE.phase(k)
    needed = 6 / phase.outlier_fraction * math.log(48 / phase.failure_probability)
    assert phase.n_unlabeled == pytest.approx(needed, rel=1e-12)


def test_there_are_never_fewer_unlabeled_rows_than_queries() -> None:
    schedule = replace(SCHEDULE, constants=replace(WORKED, queries_factor=1e60))
    phase = schedule.phase(1)
    assert phase.n_unlabeled == phase.n_queries > 10**60


@pytest.mark.parametrize("k", PHASES)
def test_draws_are_the_explicit_form_of_lemma_26(k: int) -> None:
    schedule = replace(SCHEDULE, noise_rate=0.25)
    phase = schedule.phase(k)
    wanted = phase.n_unlabeled + math.log(4 / phase.failure_probability)
    expected = 8 / (0.08 * phase.band_width * 0.75) * wanted
    assert schedule.phase(k).max_draws == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("k", PHASES)
def test_draws_fill_the_band_but_for_a_quarter_of_the_failure_probability(k: int) -> None:
    """The two things that the Chernoff bound in the proof of Lemma 26 is used for."""
    phase = SCHEDULE.phase(k)
    clean = Fraction(WORKED.band_mass_factor) * Fraction(phase.band_width) * phase.max_draws
    assert clean / 2 >= phase.n_unlabeled
    surplus = clean / 8 - phase.n_unlabeled
    assert surplus >= math.log(4 / phase.failure_probability)


def test_the_pruning_radius_is_a_logarithm_of_the_number_of_entries() -> None:
    phase = SCHEDULE.phase(2)
    expected = math.log(48 * phase.n_unlabeled * 100 / (0.5 / 240))
    assert phase.max_abs_entry == pytest.approx(expected, rel=1e-12)


def test_the_pruning_radius_keeps_all_clean_gaussian_rows() -> None:
    schedule = TheorySchedule(sparsity=5, n_features=1000, target_error=0.001)
    for k in range(1, schedule.n_phases + 1):
        phase = schedule.phase(k)
        # Logarithms: the number of entries is near 1e130, the tail near exp(−4e4).
        entries = math.log(phase.n_unlabeled * schedule.n_features)
        tail = math.log(2) + stats.norm.logsf(phase.max_abs_entry)
        band_mass = math.log(GAUSSIAN.band_mass_factor * phase.band_width)
        assert entries + tail - band_mass <= math.log(phase.failure_probability / 48)


def test_counts_stay_exact_integers_beyond_the_range_of_floats() -> None:
    constants = replace(WORKED, unlabeled_factor=1e100, band_factor=150.0, queries_factor=1e100)
    schedule = TheorySchedule(
        sparsity=10**9, n_features=10**15, target_error=1e-90, constants=constants
    )
    draws = schedule.cost().draws
    assert isinstance(draws, int)
    assert draws > 10**309


def test_the_cost_adds_up_the_phases() -> None:
    cost = SCHEDULE.cost()
    assert cost.phases == 6
    assert cost.draws == sum(SCHEDULE.phase(k).max_draws for k in PHASES)
    assert cost.labels == sum(SCHEDULE.phase(k).n_queries for k in PHASES)


# Noise


def test_the_stated_noise_rate_is_proportional_to_the_target_error() -> None:
    expected = 0.01 * WORKED.nominal_outlier_fraction
    assert WORKED.noise_per_error == pytest.approx(expected, rel=1e-12, abs=0)


def test_the_stated_noise_rate_is_too_large_where_phases_are_rounded_up() -> None:
    # In the last phase c6 is reached, so what remains is the ceiling: 2⁶ in the place of 40.
    last = SCHEDULE.phase(6)
    in_band = 2 * WORKED.noise_per_error * SCHEDULE.target_error / (0.08 * last.band_width)
    assert in_band / (last.outlier_fraction / 2) == pytest.approx(64 / 40, rel=1e-9)


# Monotonicity and limits


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("sparsity", [1, 2, 8, 64]),
        ("n_features", [8, 100, 10**6, 10**12]),
        ("failure_probability", [0.5, 0.1, 1e-3, 1e-12]),
        ("target_error", [0.5, 0.1, 1e-3, 1e-12]),
    ],
)
def test_a_harder_question_costs_more(name: str, values: list[float]) -> None:
    # The factor makes the soft order of n_k rule, which alone depends on s and d.
    base = replace(SCHEDULE, constants=replace(WORKED, unlabeled_factor=1e40))
    costs = [replace(base, **{name: value}).cost() for value in values]
    assert all(a.labels < b.labels for a, b in pairwise(costs))
    assert all(a.draws < b.draws for a, b in pairwise(costs))


def test_noise_costs_draws_and_no_labels() -> None:
    clean, noisy = SCHEDULE.cost(), replace(SCHEDULE, noise_rate=0.25).cost()
    assert noisy.draws / clean.draws == pytest.approx(1 / 0.75)
    assert noisy.labels == clean.labels


def test_a_logarithm_below_one_is_raised_to_one_in_the_number_of_queries() -> None:
    # d/(b·δ) = 6/(10·.9) has a negative logarithm; f = 1²·ln(6/.9) = 1.897 and ln f < 1: m = ⌈f⌉.
    schedule = TheorySchedule(
        sparsity=1,
        n_features=1,
        target_error=0.9,
        failure_probability=0.9,
        constants=replace(WORKED, band_factor=160.0),
    )
    assert schedule.phase(1).n_queries == 2


def test_a_logarithm_below_one_is_raised_to_one_in_the_number_of_unlabeled_rows() -> None:
    # d = 1 and b = 1: both log d and log(d/b) vanish.
    constants = replace(WORKED, unlabeled_factor=1e60)
    schedule = replace(SCHEDULE, sparsity=1, n_features=1, constants=constants)
    f = 1 + math.log(120) ** 3
    assert schedule.phase(1).n_unlabeled == pytest.approx(1e60 * f * math.log(f), rel=1e-12)


@settings(max_examples=60, deadline=None)
def numbers_of(phase: dict[str, Any]) -> list[float]:
    """What the paper fixes: it uses no posterior, all rows, and never looks at labels first."""
    rest = {**phase}
    assert (rest.pop("label_aware"), rest.pop("trimmed_share")) == (False, 0.0)
    assert (rest.pop("n_candidates"), rest.pop("dirty_share")) == (0, 0.0)
    return list(rest.values())


@given(
    n_features=st.integers(1, 2**63 - 1),
    share=st.floats(0, 1),
    target_error=st.floats(1e-60, 0.999),
    failure_probability=st.floats(1e-300, 0.999),
    noise_rate=st.floats(0, 0.499),
    band_factor=st.floats(16, 150),
)
def test_every_phase_of_a_sane_schedule_is_finite_and_positive(
    n_features: int,
    share: float,
    target_error: float,
    failure_probability: float,
    noise_rate: float,
    band_factor: float,
) -> None:
    schedule = TheorySchedule(
        sparsity=min(n_features, max(1, int(share * n_features))),
        n_features=n_features,
        target_error=target_error,
        failure_probability=failure_probability,
        noise_rate=noise_rate,
        constants=replace(WORKED, band_factor=band_factor),
    )
    for k in (1, schedule.n_phases):
        phase = vars(schedule.phase(k))
        assert all(value > 0 and value < math.inf for value in numbers_of(phase))
        assert schedule.phase(k).max_draws >= phase["n_unlabeled"] >= phase["n_queries"] >= 1


@settings(deadline=None)
@given(
    sparsity=st.integers(),
    n_features=st.integers(),
    target_error=st.floats() | st.floats(0, 1),
    failure_probability=st.floats() | st.floats(0, 1),
    noise_rate=st.floats() | st.floats(0, 0.5),
)
def test_any_numbers_give_a_finite_schedule_or_a_value_error(**question: float) -> None:
    try:
        schedule = TheorySchedule(**question)
    except ValueError:
        return
    phase = vars(schedule.phase(schedule.n_phases))
    assert all(value > 0 and value < math.inf for value in numbers_of(phase))


# Misuse


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sparsity", 0),
        ("sparsity", 101),
        ("n_features", -1),
        ("n_features", 2**63),
        ("target_error", 0.0),
        ("target_error", 1.0),
        ("target_error", math.nan),
        ("target_error", 1e-200),
        ("failure_probability", 0.0),
        ("failure_probability", 1.0),
        ("failure_probability", 5e-324),
        ("noise_rate", -0.1),
        ("noise_rate", 0.5),
        ("noise_rate", math.inf),
    ],
)
def test_a_value_outside_its_range_is_refused_by_name(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=name):
        replace(SCHEDULE, **{name: value})


@pytest.mark.parametrize(
    "name", ["sparsity", "n_features", "target_error", "failure_probability", "noise_rate"]
)
@pytest.mark.parametrize("value", [None, "1", True, 1j, [1]])
def test_a_value_of_the_wrong_type_is_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(TypeError, match=name):
        replace(SCHEDULE, **{name: value})


def test_constants_of_the_wrong_type_are_refused_by_name() -> None:
    with pytest.raises(TypeError, match="constants"):
        replace(SCHEDULE, constants=None)


@pytest.mark.parametrize("index", [0, -1, 7])
def test_a_phase_outside_the_schedule_is_refused(index: int) -> None:
    with pytest.raises(ValueError, match="index"):
        SCHEDULE.phase(index)


def test_numpy_numbers_give_the_same_phase_as_python_numbers() -> None:
    schedule = TheorySchedule(
        sparsity=np.int32(8),
        n_features=np.int64(100),
        target_error=np.float64(0.1),
        noise_rate=np.float32(0.25),
        constants=WORKED,
    )
    assert schedule.phase(3) == replace(SCHEDULE, noise_rate=0.25).phase(3)
