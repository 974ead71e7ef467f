"""Deleting along the top eigenvector: it sees large variance, and not what stays below the edge."""

from __future__ import annotations

import numpy as np

from rivals.methods.measured import by_name, error_of
from thresher.rivals.methods.klivans_long_servedio import METHODS, KlivansLongServedio
from thresher.simulate import LinfHijack, OnSupportTilt, SparseSpike

NAMED = by_name(METHODS)
METHOD, BOOSTED = NAMED["klivans-long-servedio"], NAMED["klivans-long-servedio-boosted"]


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


def test_boosting_bears_planted_rows_of_large_variance() -> None:
    assert error_of(BOOSTED, LinfHijack(), n_labels=1500) < 0.03


def test_a_sparse_spike_below_the_dense_limit_passes_the_boosted_version_too() -> None:
    spike = SparseSpike(1.0, n_rows=300)
    assert error_of(BOOSTED, spike, noise_rate=0.1, n_features=300, n_labels=300) > 0.15


def test_clean_rows_stay() -> None:
    X = np.random.default_rng(0).standard_normal((1000, 50))
    assert KlivansLongServedio().rows_without_outliers(X).size == 1000


def test_what_stays_is_below_one_of_the_thresholds() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 20))
    X[:60] += rng.choice([0.0, 4.0, 9.0], size=(60, 20))
    stay = X[KlivansLongServedio().rows_without_outliers(X)]
    values, vectors = np.linalg.eigh(stay.T @ stay / len(stay))
    edge = 1.25 * (1 + np.sqrt(20 / len(stay))) ** 2
    assert values[-1] <= edge or np.square(stay @ vectors[:, -1]).max() <= 2 * np.log(600)
