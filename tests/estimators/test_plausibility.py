"""How probable labels are to learners with curved boundaries that have not seen the row."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import QuantileTransformer

from thresher.estimators import plausibility as module
from thresher.estimators.plausibility import plausibility

RNG = np.random.default_rng(0)
N = 400
X = RNG.standard_normal((N, 3))
INSIDE = np.where(np.linalg.norm(X, axis=1) < 1.5, 1.0, -1.0)  # no linear model can tell
IS_FLIPPED = np.arange(N) < N // 10
SIGNS = np.where(IS_FLIPPED, -INSIDE, INSIDE)
ONES = np.ones(N)


def test_flipped_labels_of_a_curved_boundary_are_improbable() -> None:
    found = plausibility(X, SIGNS, ONES)
    assert found.min() > 0 and found.max() < 1
    assert roc_auc_score(IS_FLIPPED, -found) > 0.95


def test_the_answer_does_not_depend_on_the_name_of_the_class() -> None:
    assert plausibility(X, -SIGNS, ONES) == pytest.approx(plausibility(X, SIGNS, ONES), abs=0.02)


def test_labels_without_a_pattern_are_neither_probable_nor_improbable() -> None:
    coins = np.random.default_rng(1).choice([-1.0, 1.0], N)
    found = plausibility(X, coins, ONES)
    assert (found < 0.3).mean() < 0.02


def test_sparse_rows_give_what_dense_ones_give() -> None:
    rows = np.where(np.abs(X) < 0.7, 0.0, X)
    sparse = plausibility(sp.csr_array(rows), SIGNS, ONES)
    assert sparse == pytest.approx(plausibility(rows, SIGNS, ONES), abs=1e-9)


def test_weights_count_by_their_ratios() -> None:
    weights = RNG.uniform(0.5, 2.0, N)
    once, twice = (plausibility(X, SIGNS, factor * weights) for factor in (1.0, 1e6))
    assert twice == pytest.approx(once, abs=1e-6)


def test_rows_of_large_weight_are_judged_like_others() -> None:
    weights = np.where(np.arange(N) % 10 == 0, 20.0, 1.0)  # in every bootstrap that heeds them
    found = plausibility(X, INSIDE, weights)
    for sign in (-1.0, 1.0):
        own = (sign == INSIDE) & (weights > 1)
        assert (found[own] > 0.5).mean() > 0.8


def test_a_rare_label_is_not_improbable_because_it_is_rare() -> None:
    rng = np.random.default_rng(0)
    is_rare = np.arange(2000) < 100
    rows = rng.standard_normal((2000, 6)) + 1.4 * np.outer(is_rare, [1, 1, 0, 0, 0, 0])
    found = plausibility(rows, np.where(is_rare, 1.0, -1.0), np.ones(2000))
    assert (found[is_rare] < 0.3).mean() < 0.15  # .25 by the probability itself
    assert (found[~is_rare] < 0.3).mean() < 0.01


@pytest.mark.parametrize("value", [1e39, 1e300, 1.5e308])
def test_values_beyond_single_precision_are_taken(value: float) -> None:
    rows = X.copy()
    rows[:3, 2], rows[3:5, 2] = value, -value
    found = plausibility(rows, SIGNS, ONES)
    assert np.isfinite(found).all()
    assert found == pytest.approx(plausibility(sp.csr_array(rows), SIGNS, ONES), abs=1e-9)


def test_rows_of_little_weight_hardly_count() -> None:
    weights = np.where(IS_FLIPPED, 1e-9, 1.0)
    trusting, careful = (plausibility(X, SIGNS, w)[~IS_FLIPPED] for w in (ONES, weights))
    assert careful.mean() > trusting.mean()


@pytest.mark.parametrize("block", [64, 4096])
def test_the_kernel_fit_without_a_row_is_that_to_the_other_rows(
    block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BLOCK", block)
    weights = RNG.uniform(0.5, 2.0, N)
    found = module._kernel_scores(X, SIGNS, weights)
    ranks = QuantileTransformer(n_quantiles=N).fit_transform(X)
    gamma = 1 / ranks.var(axis=0).sum()
    kernel = rbf_kernel(ranks, gamma=gamma)  # every row is a landmark here
    for left_out in (0, N // 2, N - 1):
        others = np.arange(N) != left_out
        weighted = weights[others, np.newaxis] * kernel[others]
        moment = kernel[others].T @ weighted + kernel + 1e-8 * N * np.eye(N)
        slopes = np.linalg.solve(moment, weighted.T @ SIGNS[others])
        assert found[left_out] == pytest.approx(kernel[left_out] @ slopes, rel=1e-4)


def test_equal_rows_and_constant_columns_give_probabilities() -> None:
    found = plausibility(np.ones((N, 2)), SIGNS, ONES)
    assert np.isfinite(found).all()
