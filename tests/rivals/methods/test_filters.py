"""Filters of y·x: dense and sparse ones see a hijack; only the sparse one sees a sparse spike."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from rivals.methods.measured import by_name, error_of
from thresher.rivals.methods.filters import METHODS, filtered_mean, learn_localized
from thresher.rivals.methods.method import Method, keep_largest
from thresher.simulate import Adversary, LinfHijack, OnSupportTilt, SparseSpike

NAMED = by_name(METHODS)
DENSE_FILTER, SPARSE_FILTER = NAMED["diakonikolas-kane-stewart"], NAMED["balakrishnan"]


@pytest.mark.parametrize("name", ["diakonikolas-kane-stewart", "balakrishnan"])
@pytest.mark.parametrize("adversary", [LinfHijack(), OnSupportTilt(8.0)])
def test_planted_rows_that_show_in_the_variance_are_tolerated(
    name: str, adversary: Adversary
) -> None:
    assert error_of(NAMED[name], adversary) < 0.04


@pytest.mark.parametrize("name", ["diakonikolas-kane-stewart", "balakrishnan"])
def test_many_rows_with_a_faint_tilt_pass(name: str) -> None:
    assert error_of(NAMED[name], OnSupportTilt(2.0), noise_rate=0.15) > 0.04


def test_a_sparse_spike_below_the_dense_limit_passes_the_dense_filter() -> None:
    spike = SparseSpike(1.0, n_rows=300)
    assert error_of(DENSE_FILTER, spike, noise_rate=0.1, n_features=300, n_labels=300) > 0.15


@pytest.mark.slow
def test_a_sparse_spike_below_the_dense_limit_is_seen_by_the_sparse_filter() -> None:
    spike = SparseSpike(1.0, n_rows=800)
    world = {"noise_rate": 0.1, "n_features": 800, "n_labels": 800}
    errors = [
        [error_of(m, spike, seed=s, **world) for s in range(3)]
        for m in (SPARSE_FILTER, DENSE_FILTER)
    ]
    assert 2 * np.median(errors[0]) < np.median(errors[1])


def test_localized_repeats_make_a_mean_more_exact() -> None:
    errors = []
    for n_repeats in (0, 3):
        learn = keep_largest(partial(learn_localized, n_repeats))
        method = Method("", "", learn, claim="")
        errors.append(np.mean([error_of(method, n_labels=4000, seed=seed) for seed in range(3)]))
    assert errors[1] < 0.7 * errors[0]


def test_clean_rows_keep_their_weight() -> None:
    Z = np.random.default_rng(0).standard_normal((2000, 30)) + 0.5
    np.testing.assert_allclose(filtered_mean(Z, 0.05), Z.mean(axis=0))


def test_a_filtered_mean_moves_with_its_rows() -> None:
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((500, 10))
    Z[:25] += 5.0
    shift = rng.standard_normal(10)
    moved = filtered_mean(Z + shift, 0.05)
    np.testing.assert_allclose(moved, filtered_mean(Z, 0.05) + shift, atol=1e-9)
