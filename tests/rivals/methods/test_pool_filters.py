"""Filters of unlabeled rows see more than those of labeled rows, and sparse ones more than both."""

from __future__ import annotations

import numpy as np
import pytest

from rivals.methods.measured import by_name, error_of
from thresher.learning import Task
from thresher.rivals.methods import METHODS as ALL
from thresher.rivals.methods.filters import dirty_share
from thresher.rivals.methods.pool_filters import (
    METHODS,
    largest_entries,
    plan_repeats,
    weigh_by_sparse_moments,
    weigh_by_variance,
)
from thresher.simulate import Adversary, FarClump, LinfHijack, OnSupportTilt, SparseSpike

NAMED = by_name(METHODS)


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("adversary", [LinfHijack(), FarClump(8.0)])
def test_planted_rows_that_show_in_the_variance_are_tolerated(
    name: str, adversary: Adversary
) -> None:
    assert error_of(NAMED[name], adversary) < 0.04


@pytest.mark.parametrize(
    ("name", "published"),
    [
        ("diakonikolas-kane-stewart-strengthened", "diakonikolas-kane-stewart"),
        ("sparse-filter-localized", "balakrishnan"),
    ],
)
def test_a_tilt_that_passes_the_published_filter_is_seen(name: str, published: str) -> None:
    world = {"adversary": OnSupportTilt(4.0), "n_features": 200, "n_labels": 600}
    strong, weak = (
        np.median([error_of(ALL[each], seed=seed, **world) for seed in range(3)])
        for each in (name, published)
    )
    assert 2 * strong < weak


def test_a_faint_tilt_of_many_rows_passes_deletion() -> None:
    method = NAMED["klivans-long-servedio-strengthened"]
    assert error_of(method, OnSupportTilt(2.0), noise_rate=0.15) > 0.07


def test_the_sparse_filter_takes_more_of_a_spike_that_hardly_shows_in_all_features() -> None:
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((1000, 400))
    # A variance of 2.2 along 5 of the features; by chance, 400 of them show up to 2.7.
    rows[:80, :5] = 1.8 * rng.choice([-1.0, 1.0], size=(80, 1))
    task = Task(n_features=400, sparsity=5, noise_rate=0.08)
    dense, sparse = (w(rows, task, 0.08) for w in (weigh_by_variance, weigh_by_sparse_moments))
    assert sparse[:80].mean() < 0.1 < 0.4 < dense[:80].mean()
    assert sparse[80:].mean() > 0.99


def test_clean_rows_keep_their_weight() -> None:
    rows = np.random.default_rng(0).standard_normal((3000, 60))
    task = Task(n_features=60, sparsity=5, noise_rate=0.05)
    assert weigh_by_sparse_moments(rows, task, 0.05).mean() > 0.999


def test_localized_repeats_make_a_mean_more_exact() -> None:
    once, repeated = (
        np.mean([error_of(NAMED[name], seed=seed) for seed in range(3)])
        for name in ("sparse-filter", "sparse-filter-localized")
    )
    assert 2 * repeated < once


def test_repeats_share_the_labels_and_end_where_too_many_rows_may_be_planted() -> None:
    task = Task(n_features=50, sparsity=5, noise_rate=0.05, label_budget=1000)
    steps = plan_repeats(task, 3)
    assert [n_labels for _, n_labels in steps] == [500, 166, 166, 166]
    widths = [width for width, _ in steps]
    assert widths == sorted(widths, reverse=True)
    assert dirty_share(0.05, widths[-1]) == pytest.approx(0.3)  # MAX_DIRTY_SHARE


def test_the_largest_entries_are_those_of_a_sparse_block() -> None:
    moment = 0.01 * np.random.default_rng(0).standard_normal((30, 30))
    moment = moment + moment.T
    moment[np.ix_([2, 9, 17], [2, 9, 17])] = 1.0
    entries, features = largest_entries(moment, 3)
    assert features.tolist() == [2, 9, 17]
    assert np.count_nonzero(entries) == 9 and entries.max() == entries.sum() / 9 == 1.0


def test_a_spike_costs_the_localized_sparse_filter_less_than_the_dense_filter() -> None:
    spike, world = SparseSpike(1.0, n_rows=4000), {"noise_rate": 0.1, "n_features": 300}
    sparse, dense = (
        np.median([error_of(ALL[name], spike, seed=seed, **world) for seed in range(3)])
        for name in ("sparse-filter-localized", "diakonikolas-kane-stewart")
    )
    assert sparse < dense
