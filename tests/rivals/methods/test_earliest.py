"""The earliest methods: where batches, averages and regression hold, and what breaks them.

Consistent halfspaces are good without noise, and poor as soon as batches must be small. Averaging
deletes planted rows that are alike; L1 regression tolerates wrong labels only. Deleting along the
top eigenvector sees large variance, one-bit sensing none.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rivals.methods.measured import by_name, error_of
from thresher.errors import LearningStopped
from thresher.learning import Task
from thresher.oracles import Draw, DrawRequest
from thresher.rivals.methods.earliest import (
    CORRELATION_FACTOR,
    METHODS,
    batch_size,
    consistent_halfspace,
    learn_one_bit,
    least_absolute_errors,
    monomials,
    rows_unlike_others,
    weights_without_outliers,
)
from thresher.simulate import (
    Gaussian,
    LabelFlip,
    LinfHijack,
    MaliciousOracle,
    OnSupportTilt,
    SparseSpike,
    random_target,
)

NAMED = by_name(METHODS)
BATCHES = NAMED["kearns-li-consistent"]
ALL_ROWS = NAMED["averaging-of-all-rows"]
DELETION, BOOSTED = NAMED["klivans-long-servedio"], NAMED["klivans-long-servedio-boosted"]
ONE_BIT = NAMED["plan-vershynin"]
POLYNOMIALS = ["kalai-polynomial", "kalai-polynomial-quadratic"]


@pytest.mark.slow  # test_worlds.py has a world for it
def test_clean_rows_are_learned_from_batches() -> None:
    assert error_of(BATCHES, n_labels=1500) < 0.06


@pytest.mark.slow
def test_a_tiny_fraction_of_planted_rows_is_tolerated() -> None:
    assert error_of(BATCHES, LinfHijack(), noise_rate=0.005, n_features=40, n_labels=800) < 0.12


@pytest.mark.slow
def test_more_noise_leaves_only_uninformative_batches() -> None:
    assert error_of(BATCHES, LinfHijack(), noise_rate=0.05, n_labels=1500) > 0.12


def test_a_batch_shrinks_with_noise() -> None:
    sizes = [
        batch_size(Task(n_features=100, sparsity=5, noise_rate=noise_rate))
        for noise_rate in (0.0, 0.01, 0.1)
    ]
    assert sizes == sorted(sizes, reverse=True)


def test_a_consistent_halfspace_has_the_margin_it_promises() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 20))
    Z = np.sign(X[:, :1]) * X
    w = consistent_halfspace(Z)
    assert w is not None
    assert (Z @ w).min() >= 1 - 1e-6
    assert np.abs(w).sum() <= 1 / np.abs(X[:, 0]).min() + 1e-6  # what the first feature alone needs


def test_without_a_consistent_batch_the_average_is_the_answer() -> None:
    class Zeros:
        def draw(self, request: DrawRequest) -> Draw:
            return Draw(ids=np.arange(20), X=np.zeros((20, request.n_features)), n_drawn=20)

        def reveal(self, ids: np.ndarray) -> np.ndarray:
            return np.ones(len(ids))

    task = Task(n_features=3, sparsity=1, noise_rate=0.1, label_budget=20)
    halfspace = BATCHES.learn(Zeros(), task, np.random.default_rng(0))
    np.testing.assert_array_equal(halfspace, [1.0, 0.0, 0.0])  # what has no direction


def test_averaging_tolerates_wrong_labels() -> None:
    assert error_of(NAMED["averaging"], LabelFlip(), n_labels=1500) < 0.03


def test_planted_rows_that_are_alike_are_deleted() -> None:
    assert error_of(NAMED["averaging"], LinfHijack(), n_labels=1500) < 0.03


def test_without_deletion_planted_rows_break_averaging() -> None:
    assert error_of(ALL_ROWS, LinfHijack(), n_labels=1500) > 0.4


def test_planted_rows_that_are_alike_in_few_features_tilt_the_average() -> None:
    assert error_of(NAMED["averaging"], OnSupportTilt(4.0), noise_rate=0.1, n_labels=1500) > 0.12


def test_a_dense_average_pays_for_every_feature() -> None:
    dense, sparse = (error_of(NAMED[name]) for name in ("averaging-dense", "averaging"))
    assert dense > 2 * sparse


def test_nearly_all_clean_rows_stay() -> None:
    X = np.random.default_rng(0).standard_normal((1000, 50))
    limit = CORRELATION_FACTOR * np.sqrt(np.log(1000) / 50)
    assert rows_unlike_others(X, float(limit)).size >= 990


def test_no_two_rows_that_stay_are_alike() -> None:
    X = np.random.default_rng(0).standard_normal((1500, 8))
    stay = X[rows_unlike_others(X, 0.8)]
    directions = stay / np.linalg.norm(stay, axis=1, keepdims=True)
    cosines = np.abs(directions @ directions.T) - np.eye(len(stay))
    assert 0 < len(stay) < 1500
    assert cosines.max() <= 0.8 + 1e-6


def test_a_planted_row_removes_one_clean_row() -> None:
    clean = np.eye(5)
    planted = np.ones((1, 5))
    assert rows_unlike_others(np.vstack([clean, planted]), 0.4).size == 4


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_regression_tolerates_wrong_labels(name: str) -> None:
    assert error_of(NAMED[name], LabelFlip(), noise_rate=0.1) < 0.06


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_planted_rows_of_great_leverage_break_regression(name: str) -> None:
    assert error_of(NAMED[name], LinfHijack()) > 0.15


def test_no_other_coefficients_have_a_smaller_error() -> None:
    rng = np.random.default_rng(0)
    A, y = rng.standard_normal((60, 4)), rng.choice([-1.0, 1.0], size=60)
    found = least_absolute_errors(A, y)
    others = found + rng.standard_normal((500, 4)) * 10.0 ** rng.uniform(-4, 1, size=(500, 1))
    assert np.abs(y - others @ A.T).sum(axis=1).min() >= np.abs(y - A @ found).sum() - 1e-9


def test_coefficients_that_fit_exactly_are_found() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 3))
    truth = rng.standard_normal(10)
    y = monomials(X, 2) @ truth
    y[:20] += 5.0  # a fifth of the labels is wrong
    np.testing.assert_allclose(least_absolute_errors(monomials(X, 2), y), truth, atol=1e-8)


def test_a_program_that_is_not_solved_stops_the_method() -> None:
    with pytest.raises(LearningStopped, match="linear program"):
        least_absolute_errors(np.full((3, 1), 1e100), np.ones(3))


def test_planted_rows_of_large_variance_are_deleted() -> None:
    assert error_of(DELETION, LinfHijack(), n_labels=1500) < 0.03


def test_many_rows_with_a_faint_tilt_pass() -> None:
    assert error_of(DELETION, OnSupportTilt(2.0), noise_rate=0.15, n_labels=1500) > 0.07


def test_a_sparse_spike_below_the_dense_limit_passes() -> None:
    spike = SparseSpike(1.0, n_rows=300)
    assert error_of(DELETION, spike, noise_rate=0.1, n_features=300, n_labels=300) > 0.15


def test_boosting_makes_an_average_more_exact() -> None:
    once, boosted = (
        np.mean([error_of(method, n_labels=3000, seed=seed) for seed in range(3)])
        for method in (DELETION, BOOSTED)
    )
    assert boosted < 0.9 * once


def test_boosting_tolerates_planted_rows_of_large_variance() -> None:
    assert error_of(BOOSTED, LinfHijack(), n_labels=1500) < 0.03


def test_a_sparse_spike_below_the_dense_limit_passes_the_boosted_version() -> None:
    spike = SparseSpike(1.0, n_rows=300)
    assert error_of(BOOSTED, spike, noise_rate=0.1, n_features=300, n_labels=300) > 0.15


def test_clean_rows_stay() -> None:
    X = np.random.default_rng(0).standard_normal((1000, 50))
    assert weights_without_outliers(X, np.ones(1000)).all()


def test_what_stays_is_below_one_of_the_thresholds() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 20))
    X[:60] += rng.choice([0.0, 4.0, 9.0], size=(60, 20))
    stay = X[weights_without_outliers(X, np.ones(600)) > 0]
    values, vectors = np.linalg.eigh(stay.T @ stay / len(stay))
    edge = 1.25 * (1 + np.sqrt(20 / len(stay))) ** 2
    assert values[-1] <= edge or np.square(stay @ vectors[:, -1]).max() <= 2 * np.log(600)


def test_one_bit_sensing_tolerates_wrong_labels() -> None:
    assert error_of(ONE_BIT, LabelFlip(), n_labels=1500) < 0.05


def test_planted_rows_break_one_bit_sensing() -> None:
    assert error_of(ONE_BIT, LinfHijack(), n_labels=1500) > 0.4


def test_the_one_bit_answer_is_more_exact_when_it_is_cut() -> None:
    whole = replace(ONE_BIT, learn=learn_one_bit)
    errors = [[error_of(m, n_labels=1500, seed=s) for s in range(3)] for m in (ONE_BIT, whole)]
    assert np.mean(errors[0]) < 0.9 * np.mean(errors[1])


def test_the_one_bit_answer_is_as_flat_as_its_sparsity_allows() -> None:
    source = MaliciousOracle(
        distribution=Gaussian(100),
        target=random_target(100, 5, 0),
        noise_rate=0.0,
        adversary=None,
        random_state=0,
    )
    task = Task(n_features=100, sparsity=5, noise_rate=0.0, label_budget=200)
    w = learn_one_bit(source, task, np.random.default_rng(0))
    np.testing.assert_allclose(np.abs(w).sum(), np.sqrt(5), rtol=1e-9)
