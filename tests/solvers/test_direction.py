"""The worst direction: proofs first, then limits, invariances, references and hostile input."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from threadpoolctl import threadpool_limits

from problems import (
    hostile_gram,
    planted_rows,
    proves_direction,
    random_gram,
    random_rows,
    second_moment,
)
from thresher.errors import NotEnoughMemory
from thresher.geometry import LiftedRegion
from thresher.solvers import WorstDirection, worst_direction, worst_direction_of_rows

UNIT = {"l2_radius": 1.0, "l1_radius": 2.0}


def noise_gram(d: int = 30, n: int = 90, seed: int = 0) -> np.ndarray:
    """The second moment of Gaussian rows: nothing stands out, so the cheap bounds stay apart."""
    return second_moment(np.random.default_rng(seed).standard_normal((n, d)))


@cache
def answer_to_noise() -> WorstDirection:
    """What many tests compare with."""
    return worst_direction(noise_gram(), **UNIT)


# -- every answer is proven ------------------------------------------------------------------


def check_random_gram(seed: int) -> None:
    gram, radii = random_gram(seed)
    answer = worst_direction(gram, **radii)
    assert answer.status == "converged"
    assert proves_direction(gram, answer, **radii)
    assert LiftedRegion(**radii).contains(answer.lifted)


@pytest.mark.parametrize("seed", range(20))
def test_every_answer_on_a_random_matrix_is_proven(seed: int) -> None:
    check_random_gram(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20, 340))
def test_every_answer_on_three_hundred_random_matrices_is_proven(seed: int) -> None:
    check_random_gram(seed)


def test_a_proof_is_not_accepted_for_another_matrix() -> None:
    gram = noise_gram()
    answer = worst_direction(gram, **UNIT)
    assert proves_direction(gram, answer, **UNIT)
    assert not proves_direction(1.01 * gram, answer, **UNIT)
    assert not proves_direction(0.99 * gram, answer, **UNIT)


@pytest.mark.parametrize("tolerance", [0.5, 0.05, 1e-3, 1e-4])
def test_the_gap_meets_the_tolerance(tolerance: float) -> None:
    gram = noise_gram()
    answer = worst_direction(gram, tolerance=tolerance, **UNIT)
    assert answer.status == "converged"
    assert answer.gap <= tolerance
    assert proves_direction(gram, answer, tolerance=tolerance, **UNIT)


@pytest.mark.parametrize("phase", range(1, 16))
def test_the_radii_of_every_phase_are_solved_to_the_same_gap(phase: int) -> None:
    sparsity = 4
    r = 1.0 if phase == 1 else 2.0 ** -(phase + 3)
    rho = np.sqrt(sparsity) * r * (1.0 if phase == 1 else np.sqrt(2))
    gram = second_moment(planted_rows(n=120, d=20, n_planted=3, size=2.0))
    answer = worst_direction(gram, l2_radius=r, l1_radius=rho, tolerance=1e-4)
    assert answer.gap <= 1e-4
    assert proves_direction(gram, answer, l2_radius=r, l1_radius=rho, tolerance=1e-4)


# -- limits where the answer is known --------------------------------------------------------


@pytest.mark.parametrize("stretch", [1.0, 1.5, 100.0])
def test_a_wide_l1_ball_leaves_the_largest_eigenvalue(stretch: float) -> None:
    gram, r = noise_gram(d=20), 0.3
    answer = worst_direction(gram, l2_radius=r, l1_radius=stretch * np.sqrt(20) * r)
    expected = r**2 * np.linalg.eigvalsh(gram)[-1]
    assert answer.lower <= expected * (1 + 1e-12)
    assert answer.upper >= expected * (1 - 1e-12)
    assert answer.gap <= 1e-3


@pytest.mark.parametrize("ratio", [1.0, 0.5, 0.1])
def test_a_narrow_l1_ball_leaves_the_largest_diagonal_entry(ratio: float) -> None:
    gram = noise_gram(d=20)
    answer = worst_direction(gram, l2_radius=1.0, l1_radius=ratio)
    expected = ratio**2 * np.diag(gram).max()
    assert answer.status == "converged"
    assert answer.lower <= expected * (1 + 1e-12)
    assert answer.upper >= expected * (1 - 1e-12)


def test_a_planted_sparse_direction_is_found() -> None:
    v = np.zeros(50)
    v[[3, 7, 20]] = [0.6, -0.5, np.sqrt(1 - 0.61)]
    answer = worst_direction(np.eye(50) + 10 * np.outer(v, v), **UNIT)
    assert answer.status == "converged"
    assert answer.direction is not None
    assert abs(answer.direction @ v) > 0.999


@pytest.mark.parametrize("d", [1, 2, 7])
def test_a_matrix_of_zeros_has_bounds_of_zero(d: int) -> None:
    answer = worst_direction(np.zeros((d, d)), **UNIT)
    assert (answer.lower, answer.upper, answer.gap, answer.status) == (0.0, 0.0, 0.0, "converged")
    assert proves_direction(np.zeros((d, d)), answer, **UNIT)


def test_a_negative_definite_matrix_has_bounds_of_zero() -> None:
    gram = -noise_gram(d=6)
    answer = worst_direction(gram, **UNIT)
    assert (answer.lower, answer.upper, answer.status) == (0.0, 0.0, "converged")
    assert proves_direction(gram, answer, **UNIT)


def test_a_single_feature_is_its_own_direction() -> None:
    answer = worst_direction([[9.0]], l2_radius=2.0, l1_radius=1.0)
    assert answer.lower == pytest.approx(9.0, rel=1e-6)
    assert answer.upper == pytest.approx(9.0, rel=1e-6)


# -- invariances -----------------------------------------------------------------------------


def assert_bounds_meet(one: WorstDirection, other: WorstDirection, factor: float = 1.0) -> None:
    """Both intervals hold the same number, up to a known factor."""
    assert one.lower <= other.upper * factor
    assert other.lower * factor <= one.upper


def test_comparing_bounds_fails_on_bounds_that_do_not_meet() -> None:
    answer = worst_direction(noise_gram(), **UNIT)
    for factor in (0.99, 1.01):
        with pytest.raises(AssertionError):
            assert_bounds_meet(answer, answer, factor)


@pytest.mark.parametrize("seed", range(5))
def test_permuting_features_changes_no_bound(seed: int) -> None:
    gram, radii = random_gram(seed)
    order = np.random.default_rng(seed).permutation(len(gram))
    permuted = worst_direction(gram[np.ix_(order, order)], **radii)
    assert_bounds_meet(worst_direction(gram, **radii), permuted)


@pytest.mark.parametrize("seed", range(5))
def test_flipping_signs_of_features_changes_no_bound(seed: int) -> None:
    gram, radii = random_gram(seed)
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], len(gram))
    flipped = worst_direction(gram * np.outer(signs, signs), **radii)
    assert_bounds_meet(worst_direction(gram, **radii), flipped)


@pytest.mark.parametrize("power", [-300, -20, -1, 1, 20, 300])
def test_scaling_the_matrix_scales_the_bounds(power: int) -> None:
    gram, factor = noise_gram(), 2.0**power
    scaled = worst_direction(factor * gram, **UNIT)
    assert scaled.status == "converged"
    assert_bounds_meet(scaled, answer_to_noise(), factor)


@pytest.mark.parametrize("power", [-60, -8, 8, 60])
def test_scaling_both_radii_scales_the_bounds_by_the_square(power: int) -> None:
    gram, factor = noise_gram(), 2.0**power
    scaled = worst_direction(gram, l2_radius=factor, l1_radius=2 * factor)
    assert scaled.lower == answer_to_noise().lower * factor**2
    assert scaled.upper == answer_to_noise().upper * factor**2


def test_appending_features_of_zeros_changes_no_bound() -> None:
    gram = noise_gram()
    padded = np.zeros((40, 40))
    padded[:30, :30] = gram
    assert_bounds_meet(answer_to_noise(), worst_direction(padded, **UNIT))


def test_larger_radii_never_lower_the_answer() -> None:
    gram = noise_gram()
    answers = [worst_direction(gram, l2_radius=1.0, l1_radius=rho) for rho in (1, 1.5, 2, 3, 6)]
    for smaller, larger in pairwise(answers):
        assert smaller.lower <= larger.upper


def test_the_same_matrix_gives_the_same_bits() -> None:
    first, second = worst_direction(noise_gram(), **UNIT), worst_direction(noise_gram(), **UNIT)
    assert (first.lower, first.upper) == (second.lower, second.upper)
    np.testing.assert_array_equal(first.multiplier, second.multiplier)


def test_the_matrix_is_left_as_it_was() -> None:
    gram = noise_gram()
    before = gram.copy()
    worst_direction(gram, **UNIT)
    np.testing.assert_array_equal(gram, before)


# -- independent references ------------------------------------------------------------------


def reference_maximum(gram: np.ndarray, radii: dict[str, float], solver: str) -> float:
    """The maximum by a generic cone solver, on the matrix and the radii brought to one."""
    size = float(np.abs(gram).max())
    lifted = cp.Variable(gram.shape, symmetric=True)
    ratio = radii["l1_radius"] / radii["l2_radius"]
    constraints = [lifted >> 0, cp.trace(lifted) <= 1, cp.sum(cp.abs(lifted)) <= ratio**2]
    problem = cp.Problem(cp.Maximize(cp.trace((gram / size) @ lifted)), constraints)
    options = {"eps": 1e-7, "max_iters": 20_000} if solver == "SCS" else {}
    problem.solve(solver=solver, **options)
    return float(problem.value) * size * radii["l2_radius"] ** 2  # type: ignore[arg-type]


def check_against_cone_solvers(seed: int) -> None:
    gram, radii = random_gram(5000 + seed, max_features=20)
    if not gram.any():
        gram = np.eye(len(gram))
    answer = worst_direction(gram, **radii)
    for solver, accuracy in (("CLARABEL", 1e-6), ("SCS", 1e-4)):
        maximum = reference_maximum(gram, radii, solver)
        assert answer.lower <= maximum * (1 + accuracy)
        assert maximum * (1 - accuracy) <= answer.upper


@pytest.mark.parametrize("seed", range(6))
def test_two_cone_solvers_end_inside_the_proven_interval(seed: int) -> None:
    check_against_cone_solvers(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6, 112))
def test_two_cone_solvers_end_inside_a_hundred_proven_intervals(seed: int) -> None:
    check_against_cone_solvers(seed)


# -- from rows -------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [5, 20, 60])
def test_rows_and_their_matrix_have_the_same_bounds(n: int) -> None:
    X = np.random.default_rng(n).standard_normal((n, 20))
    from_rows = worst_direction_of_rows(X, **UNIT)
    assert from_rows.status == "converged"
    assert_bounds_meet(from_rows, worst_direction(second_moment(X), **UNIT))


@pytest.mark.parametrize("n", [5, 60])
def test_sparse_rows_have_the_bounds_of_dense_ones(n: int) -> None:
    rng = np.random.default_rng(n)
    X = random_rows(rng, n, 20, kind=2)
    assert_bounds_meet(
        worst_direction_of_rows(sp.csr_array(X), **UNIT), worst_direction_of_rows(X, **UNIT)
    )


@pytest.mark.parametrize("n", [8, 60])
def test_weights_mean_the_same_as_repeated_rows(n: int) -> None:
    rng = np.random.default_rng(n)
    X, counts = rng.standard_normal((n, 20)), rng.integers(0, 4, n)
    weighted = worst_direction_of_rows(X, counts, **UNIT)
    repeated = worst_direction_of_rows(X.repeat(counts, axis=0), **UNIT)
    assert_bounds_meet(weighted, repeated, counts.sum() / n)


def test_few_rows_under_a_wide_l1_ball_need_no_large_matrix() -> None:
    X = np.random.default_rng(0).standard_normal((10, 8_000))
    answer = worst_direction_of_rows(X, l2_radius=1.0, l1_radius=100.0)
    expected = np.linalg.eigvalsh(X @ X.T / 10)[-1]
    assert answer.status == "converged"
    assert answer.lower <= expected * (1 + 1e-12)
    assert answer.upper >= expected * (1 - 1e-12)
    assert not answer.multiplier.any()


def test_an_answer_from_few_rows_is_accepted_on_the_matrix_too() -> None:
    X = np.random.default_rng(0).standard_normal((5, 40))
    radii = {"l2_radius": 1.0, "l1_radius": 7.0}
    answer = worst_direction_of_rows(X, **radii)
    assert answer.status == "converged"
    assert proves_direction(second_moment(X), answer, **radii)


def test_a_size_bomb_is_refused_before_its_memory_is_taken() -> None:
    X = sp.csr_array((np.ones(20), (np.arange(20) % 10, np.arange(20) * 10_000)), (10, 200_000))
    with pytest.raises(NotEnoughMemory, match="200000 features"):
        worst_direction_of_rows(X, l2_radius=1.0, l1_radius=1.0, tolerance=1e-6)


def test_a_tall_size_bomb_is_refused_before_its_memory_is_taken() -> None:
    X = sp.csr_array((10**6, 2 * 10**6), dtype=np.float64)
    with pytest.raises(NotEnoughMemory, match="1000000 rows"):
        worst_direction_of_rows(X, **UNIT)


# -- statuses and warm starts ----------------------------------------------------------------


def test_without_iterations_a_hard_matrix_stays_undecided_and_proven() -> None:
    gram = noise_gram(d=40)
    answer = worst_direction(gram, tolerance=1e-6, max_iterations=0, **UNIT)
    assert answer.status == "undecided"
    assert 0 < answer.lower < answer.upper
    assert proves_direction(gram, answer, tolerance=1e-6, **UNIT)


def test_a_tolerance_below_rounding_ends_undecided() -> None:
    gram = noise_gram(d=8)
    answer = worst_direction(gram, tolerance=1e-15, **UNIT)
    assert answer.status == "undecided"
    assert answer.gap < 1e-4
    assert proves_direction(gram, answer, tolerance=1e-15, **UNIT)


def test_more_iterations_never_loosen_the_bounds() -> None:
    gram = noise_gram(d=40)
    gaps = [
        worst_direction(gram, tolerance=1e-9, max_iterations=n, **UNIT).gap for n in (0, 10, 100)
    ]
    assert gaps[0] >= gaps[1] >= gaps[2]


def test_an_answer_of_higher_rank_is_a_member_of_the_region() -> None:
    gram, radii = random_gram(110)  # no single direction comes within the tolerance
    answer = worst_direction(gram, tolerance=1e-4, **radii)
    assert answer.direction is None
    assert LiftedRegion(**radii).contains(answer.lifted)
    assert np.vdot(gram, answer.lifted) >= answer.lower


def test_starting_from_the_answer_needs_no_iteration() -> None:
    gram = noise_gram(d=40)
    first = worst_direction(gram, tolerance=1e-4, **UNIT)
    again = worst_direction(gram, tolerance=2e-4, warm_start=first, max_iterations=0, **UNIT)
    assert again.status == "converged"
    assert proves_direction(gram, again, **UNIT)


def test_a_warm_start_from_another_matrix_is_proven_as_well() -> None:
    gram, other = noise_gram(seed=1), 1e6 * noise_gram(seed=2)
    warm = worst_direction(other, l2_radius=3.0, l1_radius=4.0)
    answer = worst_direction(gram, warm_start=warm, **UNIT)
    assert answer.status == "converged"
    assert proves_direction(gram, answer, **UNIT)


def test_a_forged_warm_start_does_no_harm() -> None:
    gram = noise_gram()
    warm = worst_direction(gram, **UNIT)
    forged = replace(warm, lower=1e9, upper=1e-9)
    answer = worst_direction(gram, warm_start=forged, **UNIT)
    assert answer.status == "converged"
    assert proves_direction(gram, answer, **UNIT)


def test_a_warm_start_must_have_as_many_features() -> None:
    warm = worst_direction(noise_gram(d=5), **UNIT)
    with pytest.raises(ValueError, match="warm_start must be for a matrix of shape"):
        worst_direction(noise_gram(d=6), warm_start=warm, **UNIT)


# -- hostile input ---------------------------------------------------------------------------


def test_entries_that_underflow_when_the_matrix_is_scaled_still_count() -> None:
    gram = np.array([[-3.18e15, 1.1e-308], [1.1e-308, 1.1e-308]])
    answer = worst_direction(gram, l2_radius=1.0, l1_radius=1.0)
    assert answer.upper > 0
    assert proves_direction(gram, answer, l2_radius=1.0, l1_radius=1.0)


def check_hostile_gram(seed: int) -> None:
    gram, radii = hostile_gram(seed)
    answer = worst_direction(gram, **radii)
    assert proves_direction(gram, answer, **radii)
    assert answer.lower <= answer.upper


@pytest.mark.parametrize("seed", range(40))
def test_a_hostile_matrix_gets_proven_bounds(seed: int) -> None:
    check_hostile_gram(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40, 240))
def test_two_hundred_hostile_matrices_get_proven_bounds(seed: int) -> None:
    check_hostile_gram(seed)


@pytest.mark.slow
def test_no_hostile_matrix_takes_sixty_times_the_median() -> None:
    def seconds(seed: int) -> float:
        gram, radii = hostile_gram(seed, n_features=30)  # of one size: the question is the kind
        started = time.process_time()
        worst_direction(gram, **radii)
        return time.process_time() - started

    # Processor time of one thread, the best of three: the machine may be busy otherwise.
    with threadpool_limits(1):
        times = np.min([[seconds(seed) for seed in range(200)] for _ in range(3)], axis=0)
    assert times.max() <= 60 * np.median(times)


@pytest.mark.parametrize(
    ("name", "value", "error", "message"),
    [
        ("gram", [[1.0, np.nan], [np.nan, 1.0]], ValueError, r"gram\[0, 1\] is nan"),
        ("gram", [[np.inf, 0.0], [0.0, 1.0]], ValueError, r"gram\[0, 0\] is inf"),
        ("gram", [[1.0, 2.0], [0.0, 1.0]], ValueError, "gram must be symmetric"),
        ("gram", np.ones((2, 3)), ValueError, "gram must be a square matrix"),
        ("gram", [1.0, 2.0], ValueError, "gram must be a square matrix"),
        ("gram", np.zeros((0, 0)), ValueError, "gram is empty"),
        ("gram", [["a"]], TypeError, "gram must hold real numbers"),
        ("gram", [[1j]], TypeError, "gram must hold real numbers"),
        ("gram", [[1e300]], ValueError, r"gram\[0, 0\] has magnitude 1e\+300"),
        ("gram", [[1e-300]], ValueError, r"gram\[0, 0\] has magnitude 1e-300"),
        ("l2_radius", 0.0, ValueError, "l2_radius must be greater than 0"),
        ("l2_radius", 1e-99, ValueError, "l1_radius must lie between 1e-8 and 1e8 times"),
        ("l1_radius", -1.0, ValueError, "l1_radius must be greater than 0"),
        ("l1_radius", np.nan, ValueError, "l1_radius must be finite"),
        ("l1_radius", 1e200, ValueError, "l1_radius must lie between 1e-100 and 1e100"),
        ("l1_radius", "1", TypeError, "l1_radius must be a number"),
        ("tolerance", 0.0, ValueError, "tolerance must be greater than 0"),
        ("tolerance", -1.0, ValueError, "tolerance must be greater than 0"),
        ("tolerance", None, TypeError, "tolerance must be a number"),
        ("max_iterations", -1, ValueError, "max_iterations must be at least 0"),
        ("max_iterations", 1.5, TypeError, "max_iterations must be an integer"),
    ],
)
def test_bad_input_is_named(name: str, value: object, error: type, message: str) -> None:
    arguments: dict[str, Any] = {"gram": np.eye(2), **UNIT}
    with pytest.raises(error, match=message):
        worst_direction(**{**arguments, name: value})


@pytest.mark.parametrize("name", ["l2_radius", "l1_radius", "tolerance"])
def test_bad_numbers_are_named_when_rows_are_given(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} must be greater than 0"):
        worst_direction_of_rows(np.eye(2), **{**UNIT, name: -1.0})


@pytest.mark.parametrize("size", [1e160, 1e-160])
def test_rows_that_cannot_be_squared_are_named(size: float) -> None:
    X = np.zeros((4, 3))
    X[2, 1] = size
    with pytest.raises(ValueError, match=r"X\[2, 1\] has magnitude"):
        worst_direction_of_rows(X, **UNIT)


def test_a_bound_beyond_all_numbers_is_refused() -> None:
    with pytest.raises(ValueError, match="l2_radius squared times"):
        worst_direction(1e-150 * np.eye(2), l2_radius=1e-90, l1_radius=1e-90)


any_floats = st.floats(allow_nan=True, allow_infinity=True, width=64)
numbers = st.one_of(any_floats, st.floats(1e-6, 1e6), st.sampled_from([1.0, 0.25, 2.0**-15]))


@given(data=st.data())
def test_hostile_input_gives_a_typed_error_or_proven_bounds(data: st.DataObject) -> None:
    d = data.draw(st.integers(0, 5))
    shape = data.draw(st.just((d, d)) | array_shapes(min_dims=0, max_dims=3, max_side=4))
    entries = data.draw(
        st.sampled_from([any_floats, st.floats(-1e3, 1e3), st.floats(-1e199, 1e199)])
    )
    gram = data.draw(arrays(np.float64, shape, elements=entries))
    if gram.ndim == 2 and d and data.draw(st.booleans()):
        gram = np.tril(gram) + np.tril(gram, -1).T if gram.shape[0] == gram.shape[1] else gram
    arguments = {
        "l2_radius": data.draw(numbers),
        "l1_radius": data.draw(numbers),
        "tolerance": data.draw(st.just(1e-3) | numbers),
    }
    try:
        answer = worst_direction(gram, max_iterations=100, **arguments)
    except (ValueError, TypeError):
        return
    assert proves_direction(gram, answer, **arguments)


def test_where_nothing_is_positive_the_witness_is_zero() -> None:
    answer = worst_direction(-np.eye(3), l2_radius=1.0, l1_radius=1.5)
    assert answer.lower == 0
    assert not answer.lifted.any()
