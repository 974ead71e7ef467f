"""A random target is a unit vector with exactly the sparsity asked for."""

import numpy as np
import pytest

from thresher.simulate import random_target


@pytest.mark.parametrize(("n_features", "sparsity"), [(1, 1), (5, 5), (100, 7), (1000, 20)])
@pytest.mark.parametrize("seed", range(5))
def test_a_target_has_unit_norm_and_exactly_the_sparsity(n_features, sparsity, seed):
    target = random_target(n_features, sparsity, seed)
    assert target.shape == (n_features,) and target.dtype == np.float64
    assert np.count_nonzero(target) == sparsity
    assert np.linalg.norm(target) == pytest.approx(1, abs=1e-14)


def test_no_entry_is_more_than_three_times_another():
    magnitudes = [np.abs(t[t != 0]) for t in (random_target(50, 10, seed) for seed in range(200))]
    assert max(m.max() / m.min() for m in magnitudes) <= 3


def test_signs_and_places_are_fair():
    # 10,000 signs and 10,000 places: 5 standard deviations of Binomial(10,000, 1/2) and, for each
    # of 20 places, of Binomial(2,000, 1/4). A false alarm with probability below 2e-5.
    rng = np.random.default_rng(0)
    targets = np.stack([random_target(20, 5, rng) for _ in range(2000)])
    assert abs(np.count_nonzero(targets > 0) - 5000) < 5 * 50
    assert np.abs((targets != 0).sum(axis=0) - 500).max() < 5 * np.sqrt(2000 * 3 / 16)


def test_a_seed_and_a_generator_of_that_seed_agree():
    assert np.array_equal(random_target(30, 4, 9), random_target(30, 4, np.random.default_rng(9)))


@pytest.mark.parametrize(
    ("n_features", "sparsity", "error", "named"),
    [
        (0, 1, ValueError, "n_features"),
        (5, 0, ValueError, "sparsity"),
        (5, 6, ValueError, "sparsity must be at most n_features = 5"),
        (5.0, 1, TypeError, "n_features"),
        (5, "all", TypeError, "sparsity"),
    ],
)
def test_counts_that_make_no_sense_are_named(n_features, sparsity, error, named):
    with pytest.raises(error, match=named):
        random_target(n_features, sparsity, 0)
