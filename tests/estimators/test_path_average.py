"""Averages of fits: which fits have a share, and that few rows of many columns get one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from estimators.small import examples
from thresher import HalfspaceClassifier
from thresher.estimators.examples import Examples, HeldOut
from thresher.estimators.folds import Fold, usual_folds
from thresher.estimators.path_average import (
    CLEARLY,
    FAR,
    Linear,
    are_worse,
    factors_of,
    linear,
    mean_of,
)
from thresher.estimators.penalized import FAR_MORE, _Path, best_penalized, l1_logistic

N_ROWS = 100


@dataclass
class Point:
    C: float
    held_out: HeldOut
    models: dict[int, Linear]

    @property
    def error(self) -> float:
        return self.held_out.error


def point(C: float, error: float, size: float = 1.0, coef: float = 1.0) -> Point:
    scores = np.array([size, -size, np.nan])
    models = {1: (sp.csr_array([[1.0]]), np.zeros(1)), 2: (sp.csr_array([[coef]]), np.zeros(1))}
    return Point(C, HeldOut((error,), np.zeros(2, dtype=bool), scores), models)


FEW = examples(40, 40 * FAR_MORE + 1)
GRID = np.logspace(-1, 1, 5)


# -- shares ----------------------------------------------------------------------------------


def test_equal_fits_have_equal_shares() -> None:
    path = [point(1.0, 0.2), point(2.0, 0.2)]
    assert factors_of(path, path[0], N_ROWS) == pytest.approx({1.0: 0.5, 2.0: 0.5})


def test_a_fit_one_standard_error_worse_has_a_smaller_share_by_e() -> None:
    path = [point(1.0, 0.2), point(2.0, 0.2 + 0.04)]  # sqrt(.2 * .8 / 100) is .04
    factors = factors_of(path, path[0], N_ROWS)
    assert factors[1.0] / factors[2.0] == pytest.approx(np.e)


def test_a_fit_that_is_far_worse_has_no_share() -> None:
    path = [point(1.0, 0.2), point(2.0, 0.2 + 0.041 * FAR)]
    assert list(factors_of(path, path[0], N_ROWS)) == [1.0]
    assert are_worse(path[1:], path, N_ROWS, FAR)
    assert not are_worse(path, path, N_ROWS, FAR)


def test_large_scores_do_not_decide_alone() -> None:
    path = [point(1.0, 0.2, size=1.0), point(2.0, 0.2, size=100.0)]
    factors = factors_of(path, path[0], N_ROWS)
    assert factors[1.0] * 1.0 == pytest.approx(factors[2.0] * 100.0)
    assert factors[1.0] == pytest.approx(0.5)  # as large as those of the best


def test_a_fit_that_is_a_constant_in_some_fold_has_no_share() -> None:
    path = [point(1.0, 0.2, size=1e-6, coef=0.0), point(2.0, 0.2)]
    assert list(factors_of(path, path[0], N_ROWS)) == [2.0]


def test_no_error_at_all_still_leaves_a_share_for_one_error() -> None:
    path = [point(1.0, 0.0), point(2.0, 1 / N_ROWS)]
    factors = factors_of(path, path[0], N_ROWS)
    assert factors[1.0] / factors[2.0] == pytest.approx(np.e, rel=0.01)


# -- the average of a path -------------------------------------------------------------------


def test_few_rows_of_many_columns_get_an_average_of_the_fits_to_all_rows() -> None:
    path = _Path("L1", l1_logistic, FEW)
    chosen = path.best(GRID)
    fit = chosen.fitted()
    assert fit.n_averaged == len(chosen.factors) > 1
    assert fit.C in chosen.factors
    assert not fit.is_certified
    models = {C: linear(path._fit(C)) for C in chosen.factors}
    coef, intercept = mean_of(models, chosen.factors)
    np.testing.assert_allclose(fit.coef, coef[0])
    assert fit.offset == pytest.approx(float(intercept[0]))


def test_the_scores_of_held_out_rows_are_those_of_the_averages_to_the_other_folds() -> None:
    path = _Path("L1", l1_logistic, FEW)
    chosen = path.best(GRID)
    fold = FEW.folds[1]
    fits = {C: path._fit(C, fold.number, fold.train) for C in chosen.factors}
    models = {C: linear(fit) for C, fit in fits.items()}
    coef, intercept = mean_of(models, chosen.factors)
    expected = FEW.rows[fold.test] @ coef[0] + intercept
    np.testing.assert_allclose(chosen.held_out.scores[fold.test], expected)


@pytest.mark.parametrize(
    ("n_columns", "limit"), [(40 * FAR_MORE, None), (40 * FAR_MORE + 1, 5)], ids=["fewer", "limit"]
)
def test_other_fits_are_not_averages(n_columns: int, limit: int | None) -> None:
    fit = best_penalized(examples(40, n_columns), limit)
    assert fit.n_averaged == 1


def test_sparse_rows_get_the_average_of_dense_ones() -> None:
    dense = _Path("L1", l1_logistic, FEW).best(GRID).fitted()
    thin = replace(FEW, rows=sp.csr_array(FEW.rows))
    sparse = _Path("L1", l1_logistic, thin).best(GRID).fitted()
    assert sparse.n_averaged == dense.n_averaged
    np.testing.assert_allclose(sparse.coef, dense.coef, atol=1e-6)


def test_more_rows_get_an_average_with_as_much_of_each_fit() -> None:
    chosen = _Path("L1", l1_logistic, FEW).best(GRID)
    rows, signs = np.vstack([FEW.rows, FEW.rows]), np.tile(FEW.signs, 2)
    twice = replace(FEW, rows=rows, signs=signs, weights=np.ones(80), judge=np.ones(80))
    np.testing.assert_allclose(chosen.fitted_to(twice).coef, chosen.fitted().coef, atol=0.02)


def test_equal_rows_count_as_one() -> None:
    rows, signs, everyone = np.repeat(FEW.rows, 2, axis=0), np.repeat(FEW.signs, 2), np.ones(80)
    folds = [
        Fold(f.number, *(np.sort(np.append(2 * part, 2 * part + 1)) for part in f[1:]))
        for f in FEW.folds
    ]
    groups = np.repeat(np.arange(40), 2)
    twice = Examples(rows, signs, everyone, everyone, folds, groups=groups)
    path = _Path("L1", l1_logistic, twice)
    assert path.best(GRID).factors == pytest.approx(expected_factors(path, n_rows=40))
    assert not _Path("L1", l1_logistic, replace(twice, groups=None)).averages


def test_only_rows_that_are_held_out_count() -> None:
    fewer = [Fold(f.number, f.train, f.test[::2]) for f in FEW.folds]
    path = _Path("L1", l1_logistic, replace(FEW, folds=fewer))
    n_held_out = sum(fold.test.size for fold in fewer)
    assert path.best(GRID).factors == pytest.approx(expected_factors(path, n_held_out))


def expected_factors(path: _Path, n_rows: int) -> dict[float, float]:
    points: list[Any] = [path._point(C) for C in GRID]
    return factors_of(points, min(points, key=lambda point: point.error), n_rows)


def test_fits_that_are_not_averaged_are_not_kept() -> None:
    plain = _Path("L1", l1_logistic, examples(40, 40)).best(np.ones(1))
    assert plain.models == {}
    assert _Path("L1", l1_logistic, FEW).best(np.ones(1)).models == {}


# -- constants -------------------------------------------------------------------------------


def test_a_constant_is_taken_only_if_all_fits_are_clearly_worse() -> None:
    rows = np.random.default_rng(3).standard_normal((60, 60 * FAR_MORE + 1))
    signs = np.where(np.arange(60) < 24, 1.0, -1.0)  # no column tells
    everyone = np.ones(60)
    noise = Examples(rows, signs, everyone, everyone, usual_folds(signs, 0))
    path = _Path("L1", l1_logistic, noise)
    as_good, worse = np.array([1e-3]), np.array([1.0, 100.0])
    clearly = CLEARLY * np.sqrt(0.4 * 0.6 / 60)
    assert path._point(float(as_good[0])).error == path.constant(1.0).error  # type: ignore[union-attr]
    assert not path.best(as_good).is_constant
    assert all(path._point(C).error > 0.4 + clearly for C in worse)  # type: ignore[union-attr]
    assert path.best(worse).is_constant


def test_rows_without_an_entry_and_without_an_intercept_need_no_average() -> None:
    empty = replace(FEW, rows=np.zeros_like(FEW.rows), with_intercept=False)
    assert best_penalized(empty).n_averaged == 1
    assert _Path("L1", l1_logistic, empty).best(np.ones(2)).factors == {}


# -- the classifier --------------------------------------------------------------------------


def test_held_out_errors_of_an_average_are_those_of_unseen_rows() -> None:
    """Labels without a reason: an average that had seen the rows would predict them."""
    rng = np.random.default_rng(0)
    rows, labels = rng.standard_normal((60, 1500)), rng.permutation(np.arange(60) % 2)
    model = HalfspaceClassifier("auto", noise_rate=0.02, final_fit="penalized", random_state=0).fit(
        rows, labels
    )
    assert model.penalized_fit_.n_averaged > 1
    assert model.penalized_fit_.error > 0.3
    assert model.score(rows, labels) > 0.9
