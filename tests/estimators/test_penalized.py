"""Penalized fits: their limit, their honesty about held-out rows, and their duality gap."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp

from estimators.small import examples
from thresher.estimators.folds import usual_folds
from thresher.estimators.penalized import (
    FINE,
    INTERCEPT_ENTRY,
    L2_RANGE,
    Examples,
    _Path,
    best_on,
    best_penalized,
    l1_logistic,
    l2_support_vectors,
    slope_at_zero,
    walk_path,
)
from thresher.penalty_checker import relative_gap

EXAMPLES = examples()


# -- the best fit ----------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [1, 2, 5, 11])
@pytest.mark.parametrize("with_intercept", [True, False])
def test_the_limit_of_features_is_kept(limit: int, with_intercept: bool) -> None:
    fit = best_penalized(replace(EXAMPLES, with_intercept=with_intercept), limit)
    assert np.count_nonzero(fit.coef) <= limit
    assert with_intercept or fit.offset == 0


def test_without_a_limit_the_error_is_small_and_the_fit_is_certified() -> None:
    fit = best_penalized(EXAMPLES)
    assert fit.error < 0.2
    assert 0 <= fit.gap < 0.01
    assert fit.is_certified


def test_a_limited_l2_fit_uses_the_columns_of_the_l1_fit() -> None:
    columns = _Path("L1", l1_logistic, EXAMPLES, limit=3).features(10.0)
    fit = _Path("L2", l2_support_vectors, EXAMPLES, columns=columns).best(L2_RANGE).fitted()
    assert np.flatnonzero(fit.coef).tolist() == [0, 1, 2]
    assert fit.penalty == "L2"


def test_columns_that_only_help_together_are_found_within_the_limit() -> None:
    # Five columns carry the signal with a common error, which the sixth measures: an L1 fit with
    # two features takes two of the five.
    rng = np.random.default_rng(0)
    signal, error = rng.standard_normal((2, 300))
    own = 0.5 * rng.standard_normal((300, 5))
    rows, signs = np.column_stack([(signal + error)[:, None] + own, error]), np.sign(signal)
    everyone = np.ones(300)
    paired = Examples(rows, signs, everyone, everyone, usual_folds(signs, 0))
    fit = best_penalized(paired, limit=2)
    assert 5 in np.flatnonzero(fit.coef)
    assert fit.is_certified


def test_columns_are_chosen_without_the_held_out_rows() -> None:
    # Labels by chance: 5 of 300 columns that were chosen on all 60 rows would have an error of
    # about 20 % on the rows held out, and an honest choice has 50 %.
    errors = []
    for seed in range(2):
        rng = np.random.default_rng(seed)
        rows, signs = rng.standard_normal((60, 300)), np.repeat([1.0, -1.0], 30)
        chance = examples(rows=rows, signs=signs, weights=np.ones(60), judge=np.ones(60))
        chance = replace(chance, folds=usual_folds(signs, seed))
        errors.append(best_penalized(chance, limit=5).error)
    assert np.mean(errors) > 0.36


@pytest.mark.parametrize("limit", [None, 1, 5])
def test_a_fit_uses_only_the_columns_that_it_may(limit: int | None) -> None:
    # Columns 0 to 2 tell the labels. The fit to all rows may use the first of them, that to a fold
    # none: it is as good as chance.
    telling, silent = np.array([0, 5, 6, 7, 8, 9]), np.array([5, 6, 7, 8, 9, 10])
    numbers = {fold.number: silent for fold in EXAMPLES.folds}
    fit = best_penalized(replace(EXAMPLES, columns={0: telling, **numbers}), limit)
    assert not fit.coef[np.setdiff1d(np.arange(12), telling)].any()
    assert fit.error > 0.35 > best_penalized(EXAMPLES, limit).error


@pytest.mark.parametrize("limit", [None, 5])
def test_being_allowed_every_column_is_no_limit(limit: int | None) -> None:
    every = dict.fromkeys(range(len(EXAMPLES.folds) + 1), np.arange(12))
    allowed = best_penalized(replace(EXAMPLES, columns=every), limit)
    assert allowed.coef == pytest.approx(best_penalized(EXAMPLES, limit).coef)


def test_a_row_without_weight_has_no_influence() -> None:
    weights = np.where(np.arange(120) < 20, 0.0, 1.0)
    signs = np.where(np.arange(120) < 20, -EXAMPLES.signs, EXAMPLES.signs)
    fits = [
        best_penalized(replace(EXAMPLES, signs=s, weights=weights, judge=weights))
        for s in (EXAMPLES.signs, signs)
    ]
    assert np.allclose(fits[0].coef, fits[1].coef, atol=1e-3)


def test_the_wrong_rows_are_those_of_the_errors() -> None:
    held_out = best_penalized(EXAMPLES).held_out
    assert held_out.wrong.mean() == pytest.approx(held_out.error, abs=0.02)


def test_dense_and_sparse_rows_give_the_same_fit() -> None:
    rows = np.where(np.abs(EXAMPLES.rows) > 0.7, EXAMPLES.rows, 0.0)
    dense, sparse = (
        best_penalized(replace(EXAMPLES, rows=kind(rows))) for kind in (np.asarray, sp.csr_array)
    )
    assert dense.penalty == sparse.penalty
    assert np.allclose(dense.coef, sparse.coef, atol=1e-2 * np.abs(dense.coef).max())


@pytest.mark.parametrize("limit", [None, 2])
def test_where_no_column_says_anything_the_larger_class_is_the_answer(limit: int | None) -> None:
    signs = np.where(np.arange(120) < 90, 1.0, -1.0)
    nothing = replace(EXAMPLES, rows=np.zeros((120, 4)), signs=signs, folds=usual_folds(signs, 0))
    fit = best_penalized(nothing, limit)
    assert not fit.coef.any()
    assert fit.offset > 0
    assert fit.error == pytest.approx(0.25)


def test_a_fold_in_which_no_column_says_anything_is_fitted_all_the_same() -> None:
    rows = np.zeros((120, 4))
    rows[0, 1] = 1.0  # the other folds do not see it
    fit = best_penalized(replace(EXAMPLES, rows=rows), 1)
    assert np.count_nonzero(fit.coef) <= 1


# -- the gap ---------------------------------------------------------------------------------


def least(rows: np.ndarray, signs: np.ndarray, losses: np.ndarray, penalty: str) -> float:
    """The least penalized loss, by an interior-point method."""
    vector = cp.Variable(rows.shape[1])
    margins = cp.multiply(signs, rows @ vector)
    if penalty == "L1":
        problem = cp.norm1(vector) + losses @ cp.logistic(-margins)
    else:
        problem = cp.sum_squares(vector) / 2 + losses @ cp.square(cp.pos(1 - margins))
    return float(cp.Problem(cp.Minimize(problem)).solve(solver="CLARABEL"))


@pytest.mark.parametrize("with_intercept", [True, False])
@pytest.mark.parametrize(
    ("penalty", "model", "C"), [("L1", l1_logistic, 0.4), ("L2", l2_support_vectors, 0.1)]
)
def test_the_gap_agrees_with_an_interior_point_method(
    penalty: str, model: Any, C: float, with_intercept: bool
) -> None:
    entry = INTERCEPT_ENTRY if with_intercept else 0.0
    weights = np.random.default_rng(1).random(60)
    small = examples(60, 4, weights=weights, judge=weights, with_intercept=with_intercept)
    fit = small.fit(model(C, 0, tolerance=FINE, fit_intercept=with_intercept))
    coef, offset = fit.coef_[0], float(np.ravel(fit.intercept_)[0])
    beta = offset / entry if with_intercept else 0.0
    margins = small.signs * (small.rows @ coef + offset)
    wide = np.hstack([small.rows, np.full((60, 1), entry)])
    if penalty == "L1":
        value = np.abs(coef).sum() + abs(beta) + C * weights @ np.logaddexp(0, -margins)
    else:
        value = (coef @ coef + beta**2) / 2 + C * weights @ np.maximum(0, 1 - margins) ** 2
    true_gap = (value - least(wide, small.signs, C * weights, penalty)) / value
    gap = relative_gap(
        small.rows,
        small.signs,
        weights,
        penalty=penalty,
        C=C,
        coef=coef,
        offset=offset,
        intercept_entry=entry,
    )
    assert true_gap - 1e-6 <= gap < 1e-3


# -- the path --------------------------------------------------------------------------------


class Point:
    """A fit whose error is known."""

    def __init__(self, C: float, error: float, is_converged: bool = True) -> None:
        self.C, self.error, self.is_converged = C, error, is_converged


def walk(errors: list[float], **changes: Any) -> list[float]:
    """The values of C that are tried if the fits have these errors."""
    grid = [float(2**i) for i in range(len(errors))]
    tried = dict(zip(grid, errors))
    fit = changes.get("fit", lambda C: Point(C, tried[C], changes.get("stuck") != C))
    return [point.C for point in walk_path(Point(0.5, 1.0), grid, fit)]


def test_the_path_ends_where_it_stops_improving() -> None:
    assert walk([0.3, 0.2, 0.2, 0.3, 0.3, 0.1]) == [0.5, 1, 2, 4, 8, 16]


def test_the_path_goes_on_while_it_improves() -> None:
    assert walk([0.9, 0.8, 0.7, 0.6, 0.5]) == [0.5, 1, 2, 4, 8, 16]


def test_a_fit_that_did_not_converge_ends_the_path() -> None:
    assert walk([0.9, 0.8, 0.7], stuck=2.0) == [0.5, 1, 2]


def test_a_step_that_went_too_far_is_halved() -> None:
    found = walk([0.9, 0.8, 0.7, 0.6], fit=lambda C: None if C > 3.3 else Point(C, 1 / C))
    assert found[:3] == [0.5, 1, 2]
    assert len(found) == 5
    assert all(2 < C <= 3.3 for C in found[3:])


def test_of_equal_errors_the_first_is_the_best() -> None:
    assert best_on([Point(1, 0.3), Point(2, 0.1), Point(3, 0.1)]) == 1


@pytest.mark.parametrize(("factor", "is_zero"), [(0.99, True), (1.01, False)])
def test_below_the_slope_at_zero_no_coefficient_is_used(factor: float, is_zero: bool) -> None:
    # Both classes have the same weight: the intercept stays at zero.
    rows, signs = EXAMPLES.rows[:100], np.where(np.arange(100) % 2, 1.0, -1.0)
    C = factor / slope_at_zero(rows, signs, np.ones(100))
    model = l1_logistic(C, 0, tolerance=FINE, fit_intercept=False).fit(rows, signs)
    assert (not model.coef_.any()) == is_zero
