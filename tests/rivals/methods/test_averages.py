"""Means of y·x: deleting along the top eigenvector sees large variance, one-bit sensing none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rivals.methods.measured import by_name, error_of
from thresher.learning import Task
from thresher.rivals.methods.averages import METHODS, learn_one_bit, weights_without_outliers
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
METHOD, BOOSTED = NAMED["klivans-long-servedio"], NAMED["klivans-long-servedio-boosted"]
ONE_BIT = NAMED["plan-vershynin"]


def test_planted_rows_of_large_variance_are_deleted() -> None:
    assert error_of(METHOD, LinfHijack(), n_labels=1500) < 0.03


def test_many_rows_with_a_faint_tilt_pass() -> None:
    assert error_of(METHOD, OnSupportTilt(2.0), noise_rate=0.15, n_labels=1500) > 0.07


def test_a_sparse_spike_below_the_dense_limit_passes() -> None:
    spike = SparseSpike(1.0, n_rows=300)
    assert error_of(METHOD, spike, noise_rate=0.1, n_features=300, n_labels=300) > 0.15


def test_boosting_makes_an_average_more_exact() -> None:
    once, boosted = (
        np.mean([error_of(method, n_labels=3000, seed=seed) for seed in range(3)])
        for method in (METHOD, BOOSTED)
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
