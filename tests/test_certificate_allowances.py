"""Where exactly the checkers draw the line: the last claim accepted, in units of rounding.

A smaller allowance would let false claims in, a larger one refuse true ones. Near one, allowances
are multiples of EPS; near 1e-300, where EPS means nothing, of the smallest normal number.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from thresher import certificates
from thresher.certificates import (
    EPS,
    TINY,
    accepts_hinge,
    accepts_removal,
    accepts_worst_direction,
    largest_in_columns,
    proves_hinge_bound,
    proves_lower_bound,
    proves_optimum,
    proves_upper_bound,
    proves_weights,
    rounding_of_moment,
    weighted_second_moment,
)

ONE, TWO = {"l2_radius": 1.0, "l1_radius": 1.0}, {"l2_radius": 2.0, "l1_radius": 2.0}
SMALL = 1e-300


def last_accepted(accepts: Callable[[float], bool], good: float, bad: float) -> float:
    """The positive float next to the first refused one, between an accepted and a refused one."""
    assert accepts(good)
    assert not accepts(bad)
    low, high = (int(np.float64(x).view(np.int64)) for x in (good, bad))
    while abs(high - low) > 1:
        middle = (low + high) // 2
        is_good = accepts(float(np.int64(middle).view(np.float64)))
        low, high = (middle, high) if is_good else (low, middle)
    return float(np.int64(low).view(np.float64))


def distance(found: float, truth: float, unit: float) -> float:
    """How many units a number lies above the truth."""
    return float((Fraction(found) - Fraction(truth)) / Fraction(unit))


def above(accepts: Callable[[float], bool], truth: float, unit: float) -> float:
    """By how many units the least accepted claim lies above the truth."""
    return distance(last_accepted(accepts, 1.0001 * truth, 0.9999 * truth), truth, unit)


def below(accepts: Callable[[float], bool], truth: float, unit: float) -> float:
    """By how many units the greatest accepted claim lies below the truth."""
    return -distance(last_accepted(accepts, 0.9999 * truth, 1.0001 * truth), truth, unit)


def test_the_last_accepted_number_is_found_from_both_sides() -> None:
    assert last_accepted(lambda x: x >= 0.3, 1.0, 0.1) == 0.3
    assert last_accepted(lambda x: x <= 0.3, 0.1, 1.0) == 0.3
    assert above(lambda x: x >= 1 + 3 * EPS, 1.0, EPS) == 3
    assert below(lambda x: x <= SMALL - 3 * TINY, SMALL, TINY) == pytest.approx(3)


# -- upper bounds -----------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("r", [1.0, 2.0])
def test_an_eigenvalue_is_charged_for_cholesky_and_its_shift(d: int, r: float) -> None:
    """4 roundings of the eigenvalue, d + 4 of Cholesky relative to a trace of d + d."""
    zero, radii = np.zeros((d, d)), {"l2_radius": r, "l1_radius": 10 * r}
    gap = above(lambda c: proves_upper_bound(c, np.eye(d), zero, **radii), r**2, EPS * r**2)
    assert gap == 4 + 2 * d * (d + 4) + 1  # the next float: a pivot has to be positive
    gap = above(
        lambda c: proves_upper_bound(c, SMALL * np.eye(d), zero, **radii), SMALL * r**2, TINY
    )
    assert gap == pytest.approx(r**2 * (8 * (d + 3) ** 2 + 1), rel=1e-6)


def test_the_trace_of_cholesky_counts_the_multiplier_too() -> None:
    gram, multiplier = np.diag([2.0, 2.0]), np.diag([1.0, 1.0])

    def accepts(c: float) -> bool:
        return proves_upper_bound(c, gram, multiplier, **ONE | {"l1_radius": 1.0})

    # Eight of the multiplier, four of the eigenvalue, six times a trace of four; the next float.
    assert above(accepts, 2.0, EPS) == pytest.approx(8 + 4 + 6 * 4 + 2, abs=0.5)


@pytest.mark.parametrize("rho", [1.0, 1.5])
def test_a_multiplier_is_charged_for_eight_roundings(rho: float) -> None:
    gram, radii = np.full((4, 4), 0.5), {"l2_radius": 1.0, "l1_radius": rho}
    truth = 0.5 * rho**2
    gap = above(lambda c: proves_upper_bound(c, gram, gram, **radii), truth, EPS * truth)
    assert 8 <= gap < 9
    gap = above(
        lambda c: proves_upper_bound(c, SMALL * gram, SMALL * gram, **radii), SMALL * truth, TINY
    )
    assert gap == pytest.approx(1, rel=1e-6)


@pytest.mark.parametrize("rest", [0.0, 0.25])
def test_the_l1_radius_counts_up_to_the_root_of_d_unless_entries_lie_outside(rest: float) -> None:
    gram, radii = np.full((4, 4), 0.5), {"l2_radius": 0.5, "l1_radius": 1.5}
    truth = 0.5 * (1.0 if rest == 0 else 1.5**2)
    outside = {"rest": rest} if rest else {}

    def accepts(c: float) -> bool:
        return proves_upper_bound(c, gram, gram, **outside, **radii)

    assert above(accepts, truth, truth) == pytest.approx(0, abs=1e-14)


def test_an_error_of_the_entries_adds_to_the_multiplier() -> None:
    for error, rest, truth in ((0.125, 0.0, 0.625), (0.125, 1.0, 1.0), (0.125, 0.25, 0.625)):
        question = {"gram_error": error, "rest": rest, **ONE}
        half = np.array([[0.5]])
        gap = above(lambda c, q=question, A=half: proves_upper_bound(c, A, A, **q), truth, EPS)
        assert gap == pytest.approx(8 * truth, abs=0.05)


def test_rows_of_zeros_do_not_weaken_an_upper_bound() -> None:
    gram = np.zeros((3, 3))
    gram[1, 1] = 1.0

    def accepts(c: float) -> bool:
        return proves_upper_bound(c, gram, np.zeros((3, 3)), **ONE)

    assert above(accepts, 1.0, EPS) == 4 + 2 * 1 * 5 + 1  # as if it had one row


def test_a_bound_of_zero_leaves_an_eigenvalue_of_zero() -> None:
    def accepts(size: float) -> bool:
        return proves_upper_bound(0.0, np.array([[-size]]), np.zeros((1, 1)), **ONE)

    assert last_accepted(accepts, 1.0, TINY) / TINY == pytest.approx(8 * (1 + 3) ** 2, rel=1e-9)


def test_a_bound_that_the_multiplier_alone_uses_up_is_proven() -> None:
    gram = np.eye(2)
    charged = 1 * (1 + 8 * EPS) + TINY
    assert proves_upper_bound(charged, gram, gram, **ONE)
    assert not proves_upper_bound(np.nextafter(charged, 0), gram, gram, **ONE)


# -- lower bounds -----------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize(("radii", "scaled"), [(ONE, True), (TWO, False)])
def test_a_direction_is_charged_for_its_sums(d: int, radii: dict[str, float], scaled: bool) -> None:
    """2d + 1 + 8 roundings of the value, 8 of the quotient; 2(d + 1 + 4) where norms matter."""
    vector = np.eye(d)[0]
    gap = below(lambda c: proves_lower_bound(c, np.eye(d), vector, **radii), 1.0, EPS)
    assert gap == (2 * d + 1 + 8) + 8 + 2 * (d + 5) * scaled
    gap = below(lambda c: proves_lower_bound(c, SMALL * np.eye(d), vector, **radii), SMALL, TINY)
    assert gap == pytest.approx(2 * d * 2 + 1, rel=1e-6)


def test_the_charge_of_a_direction_grows_with_its_l1_norm_and_the_largest_entry() -> None:
    gram, vector = np.diag([4.0, 1.0]), np.array([0.0, 1.0])
    assert below(lambda c: proves_lower_bound(c, gram, vector, **TWO), 1.0, EPS) == 4 * 13 + 8
    vector = np.array([0.5, 0.5])  # its l1 norm squared is 1, what it proves is a half
    assert below(lambda c: proves_lower_bound(c, np.eye(2), vector, **TWO), 0.5, EPS) == 13 + 4


@pytest.mark.parametrize("d", [1, 2, 4])
def test_a_matrix_is_lifted_so_that_cholesky_does_not_fail(d: int) -> None:
    """4(d + 3) roundings of the trace are added to the diagonal, and count in the norms."""
    lifted, k = np.eye(d) / d, d
    gap = below(lambda c: proves_lower_bound(c, np.eye(d), lifted, **TWO), 1.0, EPS)
    assert gap == pytest.approx(2 * d + k + 8 + 8 - 4 * (d + 3) * d, abs=0.05)
    singular = np.full((d, d), 1 / d)
    assert proves_lower_bound(1 - 100 * d**2 * EPS, np.full((d, d), 1 / d), singular, **TWO)


def test_a_matrix_beyond_the_l1_radius_is_scaled_by_its_l1_norm() -> None:
    radii = {"l2_radius": 10.0, "l1_radius": 0.5}
    gap = below(lambda c: proves_lower_bound(c, np.eye(2), np.eye(2), **radii), 0.25, 0.25 * EPS)
    # Sums: 2·2 + 2 + 8, norms: 2(2 + 2 + 4) and 2 + 1, quotient: 8; lifting cancels.
    assert gap == pytest.approx(14 + 16 + 3 + 8, abs=0.05)


@pytest.mark.parametrize("error", [0.0, 0.125])
def test_an_error_of_the_entries_counts_with_the_l1_norm(error: float) -> None:
    vector = np.array([0.5, 0.5])

    def accepts(c: float) -> bool:
        return proves_lower_bound(c, np.eye(2), vector, gram_error=error, **TWO)

    assert below(accepts, 0.5 - error, 1.0) == pytest.approx(0, abs=1e-14)


def test_a_value_that_overflows_proves_no_lower_bound() -> None:
    huge = np.full((2, 2), 1.7e308)
    assert proves_lower_bound(1e308, huge, np.array([1.0, 0.0]), **TWO)
    assert not proves_lower_bound(1.0, huge, np.array([1.0, 1.0]), **TWO)


# -- the optimum ------------------------------------------------------------------------------


def optimum_gap(
    X: np.ndarray, factor: np.ndarray, truth: float, unit: float, **budget: float
) -> float:
    return below(lambda c: proves_optimum(c, X, factor, **budget), truth, unit)


@pytest.mark.parametrize("n", [1, 4])
@pytest.mark.parametrize("k", [1, 3])
def test_an_optimum_is_charged_for_every_sum(n: int, k: int) -> None:
    """Scores 2(1 + 3), their number 8, their sum n + k + 8, the quotient 8."""
    factor = np.zeros((1, k))
    factor[0, 0] = 0.5
    gap = optimum_gap(np.ones((n, 1)), factor, 0.25, 0.25 * EPS, outlier_fraction=0.0, **ONE)
    assert gap == pytest.approx(8 + 8 + (n + k + 8) + 8, abs=0.05)
    gap = optimum_gap(np.full((n, 1), 2e-150), factor, SMALL, TINY, outlier_fraction=0.0, **ONE)
    assert gap == pytest.approx(k + 2 + 1, rel=1e-3)


def test_an_optimum_of_a_part_of_the_rows_is_charged_alike() -> None:
    X, factor = np.array([[1.0], [1.0], [1.0], [8.0]]), np.array([[0.5]])
    gap = optimum_gap(X, factor, 0.1875, 0.1875 * EPS, outlier_fraction=0.25, **ONE)
    assert gap == pytest.approx(8 + 8 + (4 + 1 + 8) + 8, abs=1.1)
    gap = optimum_gap(X[[3, 0, 1, 2]], factor, 0.15625, 0.15625, outlier_fraction=0.375, **ONE)
    assert gap == pytest.approx(0, abs=1e-14)  # two rows and a half, whatever their order


@pytest.mark.parametrize(
    ("d", "n_used", "n_counted"), [(3, 1, 3), (4, 1, 1), (9, 2, 2), (4, 2, 4), (7, 2, 7)]
)
def test_columns_are_set_aside_where_a_quarter_or_less_is_used(
    d: int, n_used: int, n_counted: int
) -> None:
    factor = 0.5 * np.eye(d)[:, :1]
    factor[1:n_used] = 1e-200
    gap = optimum_gap(np.eye(d)[:1], factor, 0.25, 0.25 * EPS, outlier_fraction=0.0, **ONE)
    assert gap == pytest.approx(2 * (n_counted + 3) + 8 + (1 + 1 + 8) + 8, abs=0.05)


def test_a_factor_of_zeros_and_rows_of_zeros_prove_zero() -> None:
    for claim, accepted in ((0.0, True), (-1.0, True), (5e-324, False)):
        for X, factor in ((np.eye(2), np.zeros((2, 1))), (np.zeros((2, 2)), np.ones((2, 1)))):
            answer = proves_optimum(claim, X, factor, outlier_fraction=0.0, **ONE)
            assert answer is accepted


def test_scores_are_low_by_their_rounding() -> None:
    scores = certificates._least_scores
    score = scores(np.array([[1.0, 0.0]]), np.array([[1.0], [0.0]]))[0]
    assert distance(score, 1.0, EPS) == pytest.approx(-2 * (2 + 3), abs=0.6)
    row = np.array([[3.0, 4.0]])  # of length 5, and a factor of length 1 that it meets at 3
    score = scores(row, np.array([[1.0], [0.0]]))[0]
    assert distance(score, 9.0, EPS) == pytest.approx(-2 * 3 * 5 * 5, abs=8.1)
    score = scores(row, np.array([[3.0], [4.0]]))[0]
    assert distance(score, 625.0, EPS) == pytest.approx(-2 * 25 * 25 * 5, abs=600)


@pytest.mark.parametrize("size", [1e-320, 1e-200, 1e-139, 1e-5, 1e139, 1e148])
def test_rows_of_every_size_have_scores(size: float) -> None:
    scores = certificates._least_scores(np.array([[size, -size]]), np.array([[1 / 4], [1 / 2]]))
    exact = Fraction(size) ** 2 / 16
    assert exact * (1 - Fraction(40 * EPS)) - 2 * Fraction(TINY) <= Fraction(scores[0]) <= exact


@pytest.mark.parametrize(("size", "factor"), [(1e-170, 1e100), (1e-141, 1.0), (1e170, 1e-100)])
def test_rows_whose_squares_are_no_numbers_are_charged_alike(size: float, factor: float) -> None:
    score = certificates._least_scores(np.array([[size]]), np.array([[factor]]))[0]
    exact = (Fraction(size) * Fraction(factor)) ** 2
    assert float((1 - Fraction(score) / exact) / Fraction(EPS)) == pytest.approx(8, abs=1.6)


def test_the_largest_rows_are_divided_and_multiplied_without_overflow() -> None:
    score = certificates._least_scores(np.array([[1e308]]), np.array([[1e-159]]))[0]
    assert score == pytest.approx(1e298, rel=1e-8)
    assert score < 1e298


def test_a_tiny_factor_is_charged_for_what_underflows_in_its_norm() -> None:
    score = certificates._least_scores(np.array([[1e100]]), np.array([[1e-162]]))[0]
    lost = 2 * 4 * EPS * math.sqrt(TINY) / 1e-162
    assert 1 - score / 1e-124 == pytest.approx(lost, rel=1e-3)


def test_a_row_of_zeros_has_no_score_however_large_the_factor() -> None:
    assert certificates._least_scores(np.zeros((1, 4)), np.full((4, 1), 6e153)).tolist() == [0.0]


@np.errstate(over="ignore", invalid="ignore")
def test_a_score_that_is_no_number_is_zero() -> None:
    assert certificates._least_scores(np.array([[1e10]]), np.array([[1e300]])).tolist() == [0.0]


@np.errstate(over="ignore")
def test_scores_that_overflow_stay_summable() -> None:
    scores = certificates._least_scores(np.full((2, 1), 1e300), np.array([[1e10]]))
    assert scores.tolist() == [0.5e300, 0.5e300]


# -- norms ------------------------------------------------------------------------------------


def test_norms_are_high_by_their_rounding() -> None:
    excess, l1_norm, magnitude = certificates._excess(np.array([[0.5], [0.5]]), 1.0, 2.0)
    assert distance(excess, 1.0, EPS) == 8
    assert l1_norm == magnitude
    assert distance(l1_norm, 1.0, EPS) == 2 * (2 + 1 + 4)


def test_norms_of_a_mixture_are_charged_for_its_products() -> None:
    factor = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]) / 2
    _, l1_norm, magnitude = certificates._excess(factor, 1.0, 2.0)
    assert distance(magnitude, 0.5, EPS) == (2 + 3 + 4)
    assert distance(l1_norm, 0.5, EPS) == (2 + 3 + 4) + (3 + 1) * 0.5
    signs = np.array([[1.0, 1.0], [1.0, -1.0]]) / 4  # products cancel, magnitudes do not
    _, l1_norm, magnitude = certificates._excess(signs, 1.0, 2.0)
    assert distance(magnitude, 0.5, EPS) == 8
    assert distance(l1_norm, 0.25, EPS) == 4 + 3 * 0.5


def test_norms_of_zeros_are_what_may_have_underflowed() -> None:
    excess, l1_norm, magnitude = certificates._excess(np.zeros((2, 3)), 1e-100, 1e-100)
    assert magnitude == 12 * TINY
    assert l1_norm == pytest.approx(12 * TINY, rel=1e-12, abs=0)
    assert excess == 1 + 8 * EPS
    assert certificates._excess(np.zeros((2, 3)), 1e-154, 1.0)[0] == pytest.approx(
        12 * TINY / 1e-308
    )


@pytest.mark.parametrize(("r", "rho", "expected"), [(0.5, 8.0, 8.0), (4.0, 0.5, 16.0)])
def test_the_larger_norm_says_by_how_much_a_matrix_is_too_large(
    r: float, rho: float, expected: float
) -> None:
    excess, _, _ = certificates._excess(np.array([[1.0], [1.0]]), r, rho)
    assert distance(excess, expected, expected * EPS) == pytest.approx(2 * 7 + 8, abs=0.05)


@np.errstate(over="ignore")
def test_norms_that_overflow_are_refused() -> None:
    top = math.sqrt(np.finfo(float).max)
    with pytest.raises(ValueError, match="range"):
        certificates._excess(np.array([[top, 0.0], [0.0, top]]), 1.0, 1.0)
    largest = math.sqrt(np.finfo(float).max / 2 / (1 + 17 * EPS))
    with pytest.raises(ValueError, match="range"):  # only the charge for products overflows
        certificates._excess(np.array([[largest, 0.0], [0.0, largest]]), 1.0, 1.0)


# -- the hinge loss ---------------------------------------------------------------------------


def hinge(m: int, d: int, **changes: Any) -> dict[str, Any]:
    """Rows of zeros with the label one: every point has the loss one."""
    given = {"rows": np.zeros((m, d)), "labels": np.ones(m), "dual": np.ones(m)}
    region = {"center": np.zeros(d), "hinge_scale": 1.0, "sample_weight": np.ones(m), **ONE}
    return given | region | changes


def hinge_gap(truth: float, unit: float, **question: Any) -> float:
    return below(lambda c: proves_hinge_bound(c, **question), truth, unit)


@pytest.mark.parametrize("m", [1, 4])
def test_a_hinge_bound_is_charged_for_weights_and_their_sum(m: int) -> None:
    assert hinge_gap(1.0, EPS, **hinge(m, 2)) == pytest.approx((m + 4) + (m + 8), abs=0.05)
    weights = np.full(m, 3.0)
    question = hinge(m, 2, sample_weight=weights)
    assert hinge_gap(1.0, EPS, **question) == pytest.approx((m + 4) + (m + 8), abs=0.05)


@pytest.mark.parametrize(("m", "d"), [(1, 1), (4, 1), (1, 3)])
@pytest.mark.parametrize("radii", [ONE, {"l2_radius": 2.0, "l1_radius": 1.0}])
def test_a_hinge_bound_is_charged_for_its_gradient(m: int, d: int, radii: dict[str, float]) -> None:
    """A gradient of one half: what its support and the error of its entries take away."""
    rows = np.zeros((m, d))
    rows[:, 0] = 0.5
    gap = hinge_gap(0.5, EPS, **hinge(m, d, rows=rows, **radii))
    weights, support, errors = m + 4, 2 * (d + 8) + (d + 8) + 8, m + d + 8
    expected = weights + (m + 8) + 0.5 * (support - weights + errors)
    assert gap == pytest.approx(expected, abs=0.05)


def test_a_hinge_bound_is_charged_for_the_larger_radius() -> None:
    rows = np.array([[0.25, 0.25, 0.25, 0.25]])  # of length one half, and its largest entry counts
    gap = hinge_gap(0.75, EPS, **hinge(1, 4, rows=rows, l2_radius=1.0, l1_radius=1.0))
    assert gap == pytest.approx(14 + 0.25 * (2 * 12 + 12 + 8 - 5 + 13), abs=1.6)


def test_a_hinge_bound_moves_with_the_center_and_is_charged_for_it() -> None:
    rows, center = np.array([[0.5]]), np.array([-1.0])
    radii = {"l2_radius": 1e-9, "l1_radius": 1e-9}
    gap = hinge_gap(1.5, EPS, **hinge(1, 1, rows=rows, center=center, **radii))
    # The weights of 1.5, their sum of 1, the error of the gradient, and 5e-10 of support.
    assert gap - 0.5e-9 / EPS == pytest.approx(5 * 1.5 + 9 + 10 * 0.5, abs=1.6)
    question = hinge(1, 1, rows=rows, center=center, hinge_scale=4.0, **radii)
    assert hinge_gap(1.125, 1.0, **question) == pytest.approx(0.5e-9 / 4, abs=1e-14)


@pytest.mark.parametrize(("m", "d"), [(1, 1), (1, 2), (3, 1)])
@pytest.mark.parametrize("center", [0.0, 1.0])
def test_a_tiny_hinge_bound_is_charged_for_what_underflows(m: int, d: int, center: float) -> None:
    """m + d in the constant, as often in the support, and in each error times the center."""
    rows, scale = np.zeros((m, d)), 1e-100
    rows[:, 0] = 1e-104
    question = hinge(m, d, rows=rows, dual=np.full(m, 1e-200), hinge_scale=scale)
    question |= {"center": np.full(d, -center), "sample_weight": np.ones(m)}
    truth = 1e-200 - 1e-304 / scale * (1 - center)
    expected = (m + d) * (2 + d * center)
    assert hinge_gap(truth, TINY / scale, **question) == pytest.approx(expected, abs=0.01)


def test_duals_that_underflowed_count_as_zero() -> None:
    # The weight of 1 is 1 − 5·EPS here: the second dual becomes 2⁻⁹⁰⁰ itself, which counts.
    for size, accepted in ((1 + 16 * EPS, True), (1 + 5 * EPS, True), (1 - 16 * EPS, False)):
        dual = np.array([2.0**-900 * size])
        radii = {"l2_radius": 1e-100, "l1_radius": 1e-100, "hinge_scale": 1e100}
        assert proves_hinge_bound(2.0**-901, **hinge(1, 1, dual=dual, **radii)) is accepted


def test_labels_between_minus_one_and_one_count_in_proportion() -> None:
    for label, truth in ((0.5, 0.75), (-0.5, 0.75), (-1.0, 0.5), (0.0, 1.0)):
        question = hinge(1, 1, rows=np.array([[0.5]]), labels=np.array([label]))
        assert hinge_gap(truth, 1.0, **question) == pytest.approx(0, abs=1e-14)


def test_duals_are_clipped_to_zero_and_one() -> None:
    assert hinge_gap(1.0, EPS, **hinge(1, 1, dual=np.array([7.0]))) == 14
    question = hinge(2, 1, dual=np.array([1.0, -7.0]))
    assert hinge_gap(0.5, EPS, **question) == pytest.approx(0.5 * (6 + 10), abs=0.05)


def test_a_hinge_bound_that_rounds_to_zero_proves_nothing() -> None:
    def proves(r: float, claim: float = SMALL) -> bool:
        radii = {"l2_radius": r, "l1_radius": r}
        return proves_hinge_bound(claim, **hinge(1, 1, rows=np.ones((1, 1)), **radii))

    r = last_accepted(proves, 0.9999, 1.0001)
    for _ in range(4):
        r = float(np.nextafter(r, 2))
        assert not proves(r, TINY / 2)


def test_a_hinge_bound_that_overflows_proves_nothing() -> None:
    rows, center = np.array([[-1e200]]), np.array([1e107])
    assert proves_hinge_bound(1e306, **hinge(1, 1, rows=rows, center=center))
    assert not proves_hinge_bound(1.0, **hinge(1, 1, rows=rows, center=100 * center))


def test_a_hinge_bound_of_zero_needs_no_proof() -> None:
    rows = np.full((1, 1), 10.0)
    assert proves_hinge_bound(0.0, **hinge(1, 1, rows=rows))
    assert not proves_hinge_bound(5e-324, **hinge(1, 1, rows=rows))


@pytest.mark.parametrize(("m", "d", "tau"), [(1, 1, 1.0), (3, 1, 1.0), (1, 2, 1.0), (1, 1, 0.25)])
def test_the_hinge_loss_is_bounded_by_its_rounding(m: int, d: int, tau: float) -> None:
    rows, point = np.zeros((m, d)), np.zeros(d)
    rows[:, 0], point[0] = tau, -1.0
    ones = np.ones(m)
    loss, upper = certificates.hinge_loss(rows, ones, point, tau, ones)
    assert loss == 2.0
    gap = distance(upper, loss, EPS)
    assert gap == pytest.approx((d + 8) * 2 + 2 * 2 * (m + 4), abs=0.05)


def test_a_hinge_loss_of_zero_is_bounded_by_what_underflows() -> None:
    for m, weight in ((1, 1.0), (3, 1.0), (3, 0.5)):
        rows, ones = np.ones((m, 1)), np.ones(m)
        found = certificates.hinge_loss(rows, ones, np.array([2.0]), 1.0, weight * ones)
        assert found == (0.0, (m + 1) * TINY / (m * weight))
    _, upper = certificates.hinge_loss(
        np.zeros((1, 1)), np.ones(1), np.zeros(1), 1e-300, np.ones(1)
    )
    assert upper - 1 == pytest.approx(9 * TINY / 1e-300, rel=1e-4)


def test_rows_without_weight_have_no_loss() -> None:
    rows, weights = np.array([[0.0], [1e200]]), np.array([1.0, 0.0])
    loss, upper = certificates.hinge_loss(rows, np.ones(2), np.array([-1e200]), 1.0, weights)
    assert loss == 1.0
    assert distance(upper, 1.0, EPS) == pytest.approx(9 + 12, abs=0.05)


# -- second moments ---------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 3])
def test_a_second_moment_is_charged_for_its_sum(n: int) -> None:
    gram, error = weighted_second_moment(np.ones((n, 1)), np.ones(n), n_rows=4)
    assert gram.tolist() == [[n / 4]]
    assert error == pytest.approx((n + 8) * EPS * n / 4, rel=1e-9, abs=0)
    assert rounding_of_moment(np.diag([1.0, 4.0]), n) == (n + 8) * EPS * 4


@pytest.mark.parametrize("sign", [-1, 1])
def test_a_second_moment_that_underflows_is_charged_and_zeros_are_not(sign: int) -> None:
    gram, error = weighted_second_moment(np.full((2, 1), sign * 1e-200), np.ones(2), n_rows=2)
    assert (gram.tolist(), error) == ([[0.0]], 10 * TINY)
    assert weighted_second_moment(np.zeros((2, 1)), np.ones(2), n_rows=2)[1] == 0
    error = weighted_second_moment(np.full((2, 1), sign * 1e-150), np.ones(2), n_rows=2)[1]
    assert error == pytest.approx(10 * TINY, rel=1e-6, abs=0)


def test_a_tiny_share_of_large_rows_is_charged_for_what_underflows_in_them() -> None:
    gram, error = weighted_second_moment(np.full((1, 1), 3.0), np.ones(1), n_rows=10**300)
    assert gram[0, 0] == pytest.approx(9e-300, rel=1e-12, abs=0)
    assert error == pytest.approx(9 * TINY * (1 + 3), rel=1e-6, abs=0)


def test_weights_count_once_in_a_second_moment() -> None:
    X, weights = np.array([[1.0, 2.0], [3.0, -1.0]]), np.array([0.25, 0.5])
    expected = X.T @ (weights[:, None] * X) / 5
    for rows in (X, sp.csr_array(X), sp.csr_array(np.pad(X, ((0, 0), (0, 40))))):
        gram, _ = weighted_second_moment(rows, weights, n_rows=5)
        np.testing.assert_allclose(gram[:2, :2], expected, rtol=1e-14)
        assert np.array_equal(gram, gram.T)


@pytest.mark.parametrize("moment", [weighted_second_moment, largest_in_columns])
def test_moments_need_a_weight_for_every_row_and_no_fewer_rows_than_they_have(moment: Any) -> None:
    moment(np.ones((2, 1)), np.ones(2), n_rows=2)
    for shape, n_weights, n_rows in (((2, 1), 2, 1), ((2, 1), 3, 3), ((3, 1), 2, 3)):
        with pytest.raises(ValueError, match="wrong"):
            moment(np.ones(shape), np.ones(n_weights), n_rows=n_rows)
    for weights in (np.array([-1.0]), np.ones((1, 1)), np.array([np.nan])):
        with pytest.raises(ValueError, match="wrong"):
            moment(np.ones((1, 1)), weights, n_rows=1)


def test_the_bound_of_a_column_is_charged_for_its_sum_and_what_underflows() -> None:
    assert distance(largest_in_columns(np.eye(1), np.ones(1), n_rows=1)[0], 1, EPS) == 9
    assert distance(largest_in_columns(np.ones((4, 1)), np.ones(4), n_rows=4)[0], 1, EPS) == 12
    assert largest_in_columns(np.array([[3.0, 0.0]]), np.zeros(1), n_rows=1).tolist() == [
        36 * TINY,
        0,
    ]
    assert largest_in_columns(np.array([[1e-200]]), np.ones(1), n_rows=1)[0] == 9 * TINY


# -- the support function ---------------------------------------------------------------------


def test_the_support_is_high_by_its_rounding() -> None:
    support = certificates.support_from_above
    assert distance(support(np.array([1.0]), 1.0, 8.0), 1.0, EPS) == 9
    assert distance(support(np.array([0.75, 0.0]), 4.0, 8.0), 3.0, EPS) == pytest.approx(
        30, abs=0.05
    )
    assert support(np.zeros(4), 3.0, 8.0) == pytest.approx(3 * math.sqrt(4 * TINY), rel=1e-9, abs=0)


@pytest.mark.parametrize("size", [1e-200, 1.0, 3e5])
@pytest.mark.parametrize(
    ("r", "rho"), [(1.0, 1.0), (1.0, 1.2), (2.0, 3.0), (1.0, 9.0), (0.1, 0.17)]
)
def test_the_support_is_the_least_of_its_bounds(r: float, rho: float, size: float) -> None:
    gradient = np.array([1.0, -0.8, 0.35, 0.3])
    levels = np.linspace(0, 1, 20001)
    lengths = np.linalg.norm(np.maximum(np.abs(gradient) - levels[:, None], 0), axis=1)
    least = float((r * lengths + rho * levels).min())
    found = certificates.support_from_above(size * gradient, r, rho) / size
    assert least * (1 - 1e-6) <= found <= least * (1 + 1e-13)


# -- weights ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "fraction"), [(1, 0.0), (4, 0.0), (4, 0.25)])
def test_weights_may_fall_short_by_four_roundings(n: int, fraction: float) -> None:
    weights = np.ones(n)
    weights[: n - 1] = 1 - fraction

    def accepts(last: float) -> bool:
        return proves_weights(np.append(weights[: n - 1], last), fraction)

    least = last_accepted(accepts, 1.0, 0.25)
    required = (1 - fraction) * n * (1 - 4 * EPS)
    assert math.fsum([*weights[: n - 1], least]) >= required
    assert math.fsum([*weights[: n - 1], np.nextafter(least, 0)]) < required


# -- whole answers ----------------------------------------------------------------------------


def test_a_worst_direction_is_judged_with_the_tolerance_given() -> None:
    answer = SimpleNamespace(
        direction=np.array([1.0, 0.0]),
        lower=0.5,
        upper=2.0,
        multiplier=np.zeros((2, 2)),
        status="undecided",
    )
    for tolerance, status in ((0.75, "converged"), (0.74, "undecided"), (1e-3, "undecided")):
        for told in ("converged", "undecided"):
            answer.status = told
            accepted = accepts_worst_direction(np.eye(2), answer, tolerance=tolerance, **ONE)
            assert accepted is (told == status)
    answer.status = "undecided"
    assert accepts_worst_direction(np.eye(2), answer, **ONE)  # a thousandth unless said
    answer.lower, answer.upper, answer.status = 1 - 1e-4, 1 + 1e-4, "converged"
    assert accepts_worst_direction(np.eye(2), answer, **ONE)
    answer.lifted, answer.direction = np.diag([1.0, 0.0]), None
    assert accepts_worst_direction(np.eye(2), answer, **ONE)
    answer.lifted = np.diag([0.5, 0.0])
    assert not accepts_worst_direction(np.eye(2), answer, **ONE)


def test_bounds_at_their_tolerance_have_converged() -> None:
    status = certificates.direction_status
    assert status(0.75, 1.0, 0.25) == "converged"
    assert status(np.nextafter(0.75, 0), 1.0, 0.25) == "undecided"
    assert status(1.0, math.inf, 0.25) == "undecided"
    assert status(1.0, 1e308, 1e9) == "undecided"
    assert status(0.0, 0.0, 0.0) == "converged"


def test_removal_has_the_status_that_its_bounds_prove() -> None:
    status = certificates.removal_status
    assert status(1.25, 1.0, None, 0.25) == "tightest"
    assert status(np.nextafter(1.25, 2), 1.0, None, 0.25) == "undecided"
    assert status(math.inf, 1.0, None, 0.25) == "undecided"
    assert status(math.inf, math.inf, None, 0.25) == "undecided"
    assert status(1.0, 0.5, 1.0, 0.25) == "feasible"
    assert status(np.nextafter(1, 2), 1.0, 1.0, 0.25) == "undecided"
    assert status(2.0, np.nextafter(1, 2), 1.0, 0.25) == "infeasible"


def hinge_answer(**changes: Any) -> Any:
    """Two rows that every point meets with the loss one, at the center."""
    fields = {"point": np.zeros(2), "loss": 1.0, "lower_bound": 1 - 30 * EPS, "dual": np.ones(2)}
    return SimpleNamespace(**fields | {"status": "converged"} | changes)


def accepts_minimum(answer: Any, **changes: Any) -> bool:
    question = hinge(2, 2) | changes
    del question["dual"]
    return accepts_hinge(answer=answer, **question)


def test_a_point_may_leave_the_region_by_the_rounding_of_its_norm() -> None:
    for radii, point in (
        (ONE | {"l1_radius": 2.0}, [1.0, 0.0]),
        (TWO | {"l1_radius": 1.0}, [0.5, 0.5]),
    ):

        def accepts(size: float, radii: Any = radii, point: Any = point) -> bool:
            return accepts_minimum(hinge_answer(point=size * np.array(point)), **radii)

        assert distance(last_accepted(accepts, 0.5, 1.5), 1, EPS) == 2 + 8
        moved = {"center": np.array([8.0, 0.0]), **radii}
        assert accepts_minimum(hinge_answer(point=np.array([8.5, 0.0])), **moved)
        assert not accepts_minimum(hinge_answer(point=np.array([-7.5, 0.0])), **moved)


def upper_loss() -> float:
    """A bound on the loss at the center: 2 + 8 roundings of a margin, 2(2 + 4) of the sum."""
    question = hinge(2, 2)
    given = (question["rows"], question["labels"], np.zeros(2), 1.0, np.ones(2))
    loss, upper = certificates.hinge_loss(*given)
    assert (loss, distance(upper, 1.0, EPS)) == (1.0, 10 + 12)
    return upper


def test_a_loss_may_be_off_by_twice_its_rounding() -> None:
    off = 2 * (upper_loss() - 1)
    for told, beyond in ((1 + off, 2.0), (1 - off, 0.0)):
        assert accepts_minimum(hinge_answer(loss=told))
        assert not accepts_minimum(hinge_answer(loss=float(np.nextafter(told, beyond))))


def test_a_minimum_has_converged_up_to_its_tolerance_and_rounding() -> None:
    tolerance = upper_loss() - 0.75
    answer = hinge_answer(lower_bound=0.75)
    assert accepts_minimum(answer, tolerance=tolerance)
    assert not accepts_minimum(answer, tolerance=float(np.nextafter(tolerance, 0)))
    assert accepts_minimum(hinge_answer(lower_bound=0.75, status="undecided"))
    assert accepts_minimum(hinge_answer(lower_bound=1 - 0.9e-3))
    assert accepts_minimum(hinge_answer(lower_bound=1 - 1.1e-3, status="undecided"))
    told = hinge_answer(lower_bound=0.75, loss=1 + 40 * EPS)  # the larger of both counts
    assert not accepts_minimum(told, tolerance=0.25 + 30 * EPS)


def test_a_loss_whose_bound_overflows_is_not_accepted() -> None:
    rows, top = np.zeros((2, 2)), np.finfo(float).max
    told = {"point": np.array([1.0, 0.0]), "lower_bound": 0.0, "status": "undecided"}
    for size, accepted in ((0.5 * top, True), (top, False)):
        rows[:, 0] = -size
        weights = np.array([1.0, 0.0])
        answer = hinge_answer(loss=size, **told)
        assert accepts_minimum(answer, rows=rows, sample_weight=weights) is accepted


def test_hinge_answers_of_other_sizes_are_refused() -> None:
    assert accepts_minimum(hinge_answer())
    assert not accepts_minimum(hinge_answer(point=np.zeros(1)))
    narrow = {"rows": np.zeros((2, 1)), "center": np.zeros(1)}
    assert accepts_minimum(hinge_answer(point=np.zeros(1)), **narrow)
    assert not accepts_minimum(hinge_answer(point=np.zeros((1, 1))), **narrow)
    assert not accepts_minimum(hinge_answer(), labels=np.ones(1))
    assert not accepts_minimum(hinge_answer(), sample_weight=np.ones(1))
    assert not accepts_minimum(hinge_answer(), center=np.zeros(1))


def removal_answer(**changes: Any) -> Any:
    fields: dict[str, Any] = {
        "weights": np.array([1.0, 1.0, 0.0, 1.0]),
        "variance_lower": 0.5,
        "variance_upper": 1.0,
        "optimum_lower": 0.5,
        "direction": np.array([1.0, 0.0, 0.0]),
        "multiplier": np.zeros((3, 3)),
        "factor": np.array([[1.0], [0.0], [0.0]]),
        "status": "undecided",
        "columns": None,
    }
    return SimpleNamespace(**fields | changes)


REMOVAL_ROWS = np.array([[1.0, 0.1, 0.0], [-1.0, 0.1, 0.0], [50.0, 3.0, 9.0], [1.0, -0.1, 0.0]])


def accepts_removed(answer: Any, **changes: Any) -> bool:
    question = {"l2_radius": 1.0, "l1_radius": 1.5, "outlier_fraction": 0.25, **changes}
    return accepts_removal(REMOVAL_ROWS, answer, **question)


def test_a_removal_is_judged_by_its_weights_bounds_and_status() -> None:
    assert accepts_removed(removal_answer())
    assert accepts_removed(removal_answer(variance_lower=0.75 - 1e-12, variance_upper=0.76))
    assert not accepts_removed(removal_answer(variance_lower=0.76))
    assert not accepts_removed(removal_answer(variance_upper=0.74))
    assert accepts_removed(
        removal_answer(optimum_lower=0.75 - 1e-12, status="undecided"), tolerance=0.3
    )
    assert accepts_removed(
        removal_answer(optimum_lower=0.75 - 1e-12, variance_upper=0.97, status="tightest")
    )
    assert accepts_removed(removal_answer(status="feasible"), max_variance=1.0)
    assert accepts_removed(removal_answer(status="infeasible"), max_variance=0.49)
    assert not accepts_removed(removal_answer(optimum_lower=0.76))
    assert not accepts_removed(removal_answer(weights=np.ones(3)))
    assert not accepts_removed(removal_answer(direction=np.ones(2)))


def test_columns_that_are_left_out_are_charged_by_their_largest_entry() -> None:
    """Column 1 has no entry above (3 · 0.1 · 1) / 4 in the second moment."""
    block = removal_answer(columns=np.array([0]), multiplier=np.zeros((1, 1)))
    charged = 0.75 + 0.075 * 1.5**2
    assert accepts_removed(replace_fields(block, variance_upper=charged + 1e-9))
    assert not accepts_removed(replace_fields(block, variance_upper=charged - 1e-9))
    wide = replace_fields(block, variance_upper=0.75 + 0.075 * 3 + 1e-9)
    assert accepts_removed(wide, l1_radius=100.0)  # beyond √3 the l1 radius means nothing
    small = {"l2_radius": 0.5, "l1_radius": 100.0}
    quarter = replace_fields(block, variance_lower=0.1, optimum_lower=0.1)
    limit = 0.25 * (0.75 + 0.075 * 3)
    assert accepts_removed(replace_fields(quarter, variance_upper=limit + 1e-9), **small)
    assert not accepts_removed(replace_fields(quarter, variance_upper=limit - 1e-9), **small)
    both = removal_answer(columns=np.array([0, 2]), multiplier=np.zeros((2, 2)))
    assert accepts_removed(replace_fields(both, variance_upper=charged + 1e-9))
    for columns in ([2, 0], [0, 0], [0, 3], [-1, 0]):
        assert not accepts_removed(
            replace_fields(both, variance_upper=2.0, columns=np.array(columns))
        )


def test_directions_and_columns_of_two_dimensions_are_refused() -> None:
    whole = {"direction": np.array([0.75]), "multiplier": np.zeros((1, 1)), "factor": np.ones(1)}
    answer = removal_answer(**whole, variance_lower=0.4)
    question = {"outlier_fraction": 0.25, **ONE}
    assert accepts_removal(REMOVAL_ROWS[:, :1], answer, **question)
    matrix = replace_fields(answer, direction=np.array([[0.75]]))
    assert not accepts_removal(REMOVAL_ROWS[:, :1], matrix, **question)
    both = removal_answer(columns=np.array([0, 2]), multiplier=np.zeros((2, 2)))
    for rows in (REMOVAL_ROWS, sp.csr_array(REMOVAL_ROWS)):
        assert accepts_removal(rows, both, **question)
        for shape in ((1, 2), (2, 1)):
            forged = replace_fields(both, columns=both.columns.reshape(shape))
            assert accepts_removal(rows, forged, **question) is False


def replace_fields(answer: Any, **changes: Any) -> Any:
    return SimpleNamespace(**vars(answer) | changes)


# -- inputs at their limits -------------------------------------------------------------------


def test_ranges_contain_their_ends() -> None:
    for r in (1e-100, 1e100):
        radii = {"l2_radius": r, "l1_radius": r}
        assert proves_upper_bound(1.1 * r**2, np.eye(1), np.zeros((1, 1)), **radii)
    assert proves_weights(np.array([0.0, 1.0]), 0.5)
    assert proves_weights(np.zeros(3) + EPS, 1 - EPS / 2)
    assert certificates.as_number(0.0, low=0.0, high=0.0) == 0
    for value in (-5e-324, 1 + EPS):
        with pytest.raises(ValueError, match="range"):
            certificates.as_number(value, low=0.0, high=1.0)


def test_whole_numbers_count_where_every_float_is_one() -> None:
    assert certificates.as_floats(np.array([2**53 - 1, 1 - 2**53])).tolist() == [
        2.0**53 - 1,
        1 - 2.0**53,
    ]
    for value in (2**53, -(2**53)):
        with pytest.raises(ValueError, match="wrong"):
            certificates.as_floats(np.array([value]))
    with pytest.raises(ValueError, match="wrong"):
        certificates.as_floats(np.array(1.0))
    huge = np.full(2, 1e308)  # their sum is not finite, and they are
    with np.errstate(over="ignore"):
        assert certificates.as_floats(huge) is huge


def test_arrays_have_the_dimensions_and_the_range_asked_for() -> None:
    as_floats = certificates.as_floats
    assert as_floats(np.ones((2, 2))).shape == (2, 2)
    assert as_floats(np.array([0.0, 1.0]), 1, 0.0, 1.0).tolist() == [0.0, 1.0]
    for values, ndim in ((np.ones(2), 2), (np.array([-1e-9]), 1), (np.array([1 + EPS]), 1)):
        with pytest.raises(ValueError, match="wrong"):
            as_floats(values, ndim, 0.0, 1.0)


def test_sparse_rows_become_floats_and_are_not_copied_if_they_are() -> None:
    rows = sp.csr_array(np.array([[100, -128]], dtype=np.int8))
    assert certificates.as_rows(rows).dtype == np.float64
    assert abs(certificates.as_rows(rows)).max() == 128
    floats = rows.astype(np.float64)
    assert certificates.as_rows(floats) is floats


@pytest.mark.parametrize("dtype", [np.int32, np.float64])
def test_sparse_rows_with_an_entry_twice_are_refused(dtype: Any) -> None:
    data, i = np.ones(3, dtype), np.array([0, 1, 1])
    j = np.array([1, 0, 1])
    rows = certificates.as_rows(sp.coo_array((data, (i, j)), shape=(2, 2)))
    assert rows.toarray().tolist() == [[0, 1], [1, 1]]
    with pytest.raises(ValueError, match="wrong"):
        certificates.as_rows(sp.coo_array((data, (i, np.array([1, 0, 0]))), shape=(2, 2)))


@pytest.mark.parametrize("shape", [(0, 2), (2, 0)])
def test_rows_that_are_empty_are_refused(shape: tuple[int, int]) -> None:
    for rows in (np.zeros(shape), sp.csr_array(shape)):
        with pytest.raises(ValueError, match="wrong"):
            certificates.as_rows(rows)


def test_a_symmetric_matrix_has_entries_and_equals_its_transpose() -> None:
    assert certificates._symmetric([[1.0, 2.0], [2.0, 1.0]]).shape == (2, 2)
    for values in (np.zeros((0, 0)), np.ones(2), np.array([[1.0, 2.0], [2.0 + 4 * EPS, 1.0]])):
        with pytest.raises(ValueError, match="wrong"):
            certificates._symmetric(values)


def test_blocks_hold_as_many_rows_as_fit_and_at_least_one(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.arange(14.0).reshape(7, 2)
    monkeypatch.setattr(certificates, "BLOCK_BYTES", 8 * 2 * 3)
    blocks = list(certificates.blocks_of(rows, 2))
    assert [len(block) for _, block in blocks] == [3, 3, 1]
    assert all(np.array_equal(rows[part], block) for part, block in blocks)
    assert [len(block) for _, block in certificates.blocks_of(rows, 1000)] == [1] * 7


def test_blocks_take_sixteen_mebibytes() -> None:
    for width, n_rows in ((2**22, 1), (2**21, 1), (2**20, 2), (2**20 - 1, 2), (2**19, 3)):
        assert len(next(certificates.blocks_of(np.zeros((3, 1)), width))[1]) == n_rows


def test_rows_in_many_blocks_prove_what_they_prove_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X, labels = rng.standard_normal((9, 3)), rng.choice([-1.0, 1.0], 9)
    factor, weights, point = rng.standard_normal((3, 2)) / 4, rng.random(9), rng.standard_normal(3)

    def answers() -> list[Any]:
        loss = certificates.hinge_loss(X, labels, point, 0.7, weights)
        gram, error = weighted_second_moment(X, weights, n_rows=9)
        question = {
            "labels": labels,
            "dual": weights,
            **{k: v for k, v in hinge(9, 3).items() if k not in ("rows", "labels", "dual")},
        }
        question |= {"hinge_scale": 10.0}
        return [
            *loss,
            *gram.ravel(),
            error,
            last_accepted(lambda c: proves_hinge_bound(c, X, **question), 1e-3, 2.0),
            last_accepted(
                lambda c: proves_optimum(c, X, factor, outlier_fraction=0.3, **ONE), 1e-9, 2.0
            ),
        ]

    whole = answers()
    monkeypatch.setattr(certificates, "BLOCK_BYTES", 8 * 3 * 2)
    np.testing.assert_allclose(answers(), whole, rtol=1e-13)
