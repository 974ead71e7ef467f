"""Forgeries of every checker, judged in exact rationals: none is accepted, and truths still are."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from thresher.certificates import (
    accepts_hinge,
    accepts_removal,
    proves_hinge_bound,
    proves_lower_bound,
    proves_optimum,
    proves_upper_bound,
    proves_weights,
    weighted_second_moment,
)
from thresher.outliers import OutlierRemoval
from thresher.solvers import HingeMinimum

UNIT = {"l2_radius": 1.0, "l1_radius": 1.5}


# -- forgeries that were accepted once --------------------------------------------------------


def removal_answer(rows: Any, **fields: Any) -> OutlierRemoval:
    """An answer that claims nothing and proves nothing, but for these fields."""
    n, d = rows.shape
    answer: dict[str, Any] = {
        "weights": np.ones(n),
        "variance_lower": 0.0,
        "variance_upper": math.inf,
        "optimum_lower": 0.0,
        "status": "undecided",
        "direction": np.zeros(d),
        "multiplier": np.zeros((d, d)),
        "factor": np.zeros((d, 1)),
        "n_rounds": 1,
    }
    return OutlierRemoval(**{**answer, **fields})


def gaussian_rows(n: int = 200, d: int = 4) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((n, d))


def test_weights_with_worthless_bounds_are_not_the_tightest() -> None:
    rows = gaussian_rows()
    rows[:100] *= 1e6
    budget = {"outlier_fraction": 0.5, **UNIT}
    assert accepts_removal(rows, removal_answer(rows), **budget | {"max_variance": 1.0})
    assert not accepts_removal(rows, removal_answer(rows, status="tightest"), **budget)


def test_true_bounds_that_lie_far_apart_are_not_the_tightest() -> None:
    rows = gaussian_rows()
    rows[:100] *= 1e6
    answer = removal_answer(rows, variance_upper=1e15, optimum_lower=1e-9, factor=np.eye(4)[:, :1])
    budget = {"outlier_fraction": 0.5, **UNIT}
    assert accepts_removal(rows, answer, **budget | {"max_variance": 1.0})
    assert not accepts_removal(rows, replace(answer, status="tightest"), **budget)


def test_integer_factors_whose_trace_wraps_to_zero_prove_nothing() -> None:
    rows, factor = gaussian_rows(), 2**32 * np.eye(4, dtype=np.int64)
    budget = {"outlier_fraction": 0.0, **UNIT}
    assert not proves_optimum(3.1, rows, factor, **budget)
    forged = removal_answer(rows, optimum_lower=3.1, factor=factor, status="infeasible")
    assert not accepts_removal(rows, forged, max_variance=3.0, **budget)


@pytest.mark.parametrize(("entry", "dtype"), [(16, np.int8), (2**32, np.int64)])
def test_integer_directions_whose_length_wraps_prove_nothing(entry: int, dtype: type) -> None:
    direction = np.array([entry, 0], dtype=dtype)
    radii = {"l2_radius": 1.0, "l1_radius": 10**0.5}
    assert not proves_lower_bound(9.9, np.eye(2), direction, **radii)
    assert proves_lower_bound(0.99, np.eye(2), direction, **radii)


def test_unsigned_columns_that_repeat_are_refused() -> None:
    rows = gaussian_rows()
    forged = removal_answer(
        rows,
        columns=np.array([1, 0] * 6 + [1], dtype=np.uint64),  # their differences wrap
        direction=np.array([0.0, 1.0, 0.0, 0.0]),
        multiplier=np.zeros((13, 13)),
        variance_lower=3.5,
    )
    radii = {"l2_radius": 1.0, "l1_radius": 4.0}
    assert not accepts_removal(rows, forged, outlier_fraction=0.0, max_variance=1.0, **radii)


def test_columns_set_aside_count_beside_a_multiplier_in_half_precision() -> None:
    rows = 1e-5 * np.ones((50, 2)) * [1e-3, 1.0]
    forged = removal_answer(
        rows,
        columns=np.array([0]),
        multiplier=np.zeros((1, 1), dtype=np.float16),
        variance_upper=1e-12,
        status="feasible",
    )
    assert not accepts_removal(rows, forged, outlier_fraction=0.0, max_variance=1e-11, **UNIT)


def test_a_column_of_the_least_integer_cannot_be_set_aside() -> None:
    rows = np.ones((50, 2), dtype=np.int8) * np.array([1, -128], dtype=np.int8)
    forged = removal_answer(
        rows,
        columns=np.array([0]),
        multiplier=np.zeros((1, 1)),
        variance_upper=1.5,
        status="feasible",
    )
    assert not accepts_removal(rows, forged, outlier_fraction=0.0, max_variance=2.0, **UNIT)


def test_a_multiplier_of_least_integers_counts_at_its_magnitude() -> None:
    gram = np.array([[128.0, -128.0], [-128.0, 128.0]])
    multiplier = np.array([[0, -128], [-128, 0]], dtype=np.int8)
    radii = {"l2_radius": 1.0, "l1_radius": 2.0}
    assert not proves_upper_bound(128.1, gram, multiplier, **radii)


def test_an_asymmetric_matrix_has_no_bounds() -> None:
    gram = np.array([[1.0, 100.0], [0.0, 1.0]])
    radii = {"l2_radius": 1.0, "l1_radius": 2.0}
    assert not proves_upper_bound(1.01, gram, np.zeros((2, 2)), **radii)
    assert not proves_upper_bound(1.01, gram.T, np.zeros((2, 2)), **radii)
    assert not proves_lower_bound(0.5, gram, np.ones(2), **radii)


def test_a_large_hinge_loss_is_not_converged_within_its_relative_rounding() -> None:
    rows, labels, ones = np.array([[1e7], [1.0]]), np.ones(2), np.ones(2)
    question = {"center": np.array([-1.0]), "l2_radius": 0.5, "l1_radius": 0.5}
    question |= {"hinge_scale": 1.0, "sample_weight": ones}
    # The loss falls by 5e6 for each unit that the point moves right, down to 2500001.25 at −1/2.
    lower, point = 2500001.25 - 1e-6, np.array([-0.5 - 4e-10])
    loss = math.fsum(1 - rows[:, 0] * point[0]) / 2
    assert loss - 2500001.25 == pytest.approx(2e-3, rel=1e-3)
    forged = HingeMinimum(point, lower + 9.9e-4, lower, "converged", ones, 1)
    assert not accepts_hinge(rows, labels, forged, **question)
    assert accepts_hinge(rows, labels, replace(forged, loss=loss, status="undecided"), **question)
    assert not accepts_hinge(rows, labels, replace(forged, loss=loss), **question)


def test_float32_matrices_are_judged_as_they_are() -> None:
    """The arithmetic is float64: a matrix in single precision proves no less than it is."""
    accepted = 0
    for seed in range(300):
        X = np.random.default_rng(seed).standard_normal((6, 3)).astype(np.float32)
        gram = X.T @ X
        gram = (gram + gram.T) / np.float32(2)
        top = float(np.linalg.eigvalsh(gram.astype(np.float64))[-1])
        zero = np.zeros((3, 3), dtype=np.float32)
        radii = {"l2_radius": 1.0, "l1_radius": 3.0}
        accepted += proves_upper_bound(top * (1 - 3e-8), gram, zero, **radii)
    assert accepted == 0


def test_bool_weights_of_integer_rows_are_judged_as_they_are() -> None:
    accepted = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        rows = rng.integers(-128, 128, (40, 1)).astype(np.int8)
        weights = rng.random(40) < 0.9
        truth = float((rows[weights, 0].astype(float) ** 2).sum() / 40)
        answer = removal_answer(rows, weights=weights, variance_upper=truth * (1 - 1e-7))
        question = {"max_variance": truth / 2, "outlier_fraction": 0.9, **UNIT}
        accepted += accepts_removal(rows, answer, **question)
        honest = replace(answer, variance_upper=truth * (1 + 1e-9))
        assert accepts_removal(rows, honest, **question)
    assert accepted == 0


def test_float32_hinge_rows_are_judged_as_they_are() -> None:
    accepted = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        rows = rng.standard_normal((5, 1)).astype(np.float32)
        labels, ones = np.sign(rng.standard_normal(5)).astype(np.float32), np.ones(5, np.float32)
        question = {"l2_radius": 1e-3, "l1_radius": 1e-3, "hinge_scale": 10.0}
        question |= {"center": np.zeros(1, np.float32), "sample_weight": ones}
        # Every row stays below its margin, so the least loss is known.
        slope = abs(float((rows[:, 0].astype(float) * labels).sum())) / 5 / 10
        accepted += proves_hinge_bound(
            (1 - 1e-3 * slope) * (1 + 4e-8), rows, labels, ones, **question
        )
        assert proves_hinge_bound((1 - 1e-3 * slope) * (1 - 1e-12), rows, labels, ones, **question)
    assert accepted == 0


def test_radii_whose_squares_underflow_are_refused() -> None:
    gram, zero = np.array([[1e300]]), np.zeros((1, 1))
    radii = {"l2_radius": 2.4e-162, "l1_radius": 2.4e-162}
    assert not proves_upper_bound(5.0e-24, gram, zero, **radii)
    assert not proves_lower_bound(5.0e-24, gram, np.array([2.4e-162]), **radii)


def test_entries_whose_squares_underflow_are_not_zero() -> None:
    rows = np.full((3, 1), 1e-170)
    radii = {"l2_radius": 1e100, "l1_radius": 1e100}
    forged = removal_answer(rows, variance_upper=0.0, status="feasible")
    assert not accepts_removal(rows, forged, outlier_fraction=0.0, max_variance=1e-200, **radii)
    honest = replace(forged, variance_upper=1e-90)
    assert accepts_removal(rows, honest, outlier_fraction=0.0, max_variance=1e-90, **radii)


@pytest.mark.parametrize("container", [sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix])
def test_sparse_rows_with_duplicate_entries_are_refused(container: Any) -> None:
    values, places = np.array([1e16, 1.0, -1e16]), np.zeros(3, dtype=int)  # add up to 1, not to 0
    if container is sp.coo_array:
        rows = container((values, (places, places)), shape=(1, 1))
    else:
        rows = container((values, places, np.array([0, 3])), shape=(1, 1))
    assert rows.nnz == 3
    forged = removal_answer(rows, variance_upper=1e-300, status="feasible")
    question = {"outlier_fraction": 0.0, "max_variance": 1e-300, **UNIT}
    assert not accepts_removal(rows, forged, **question)
    assert not proves_optimum(1e-300, rows, np.ones(1), outlier_fraction=0.0, **UNIT)
    with pytest.raises(ValueError, match="wrong type, shape or range"):
        weighted_second_moment(rows, np.ones(1), n_rows=1)


def test_a_million_weights_are_not_short_by_a_fraction_of_a_row() -> None:
    weights = np.ones(10**6)
    weights[:100_000] = 0.0
    assert proves_weights(weights, 0.1)
    weights[-1] = 1 - 1.9e-4
    assert not proves_weights(weights, 0.1)
    weights[-1] = 1 - 1e-8
    assert not proves_weights(weights, 0.1)
