"""Conditional sampling gives exactly what plain rejection would give, only faster."""

import numpy as np
import pytest
from scipy import stats

from thresher.geometry import Band
from thresher.simulate import (
    Exponential,
    Gaussian,
    Laplace,
    Logistic,
    StudentT,
    Uniform,
    conditional,
    random_target,
)
from thresher.simulate.conditional import sample_given, sample_in_band, sample_n_given

N_CANDIDATES, N_FEATURES = 40_000, 6
LEVEL = 1e-6  # of each Kolmogorov-Smirnov test; about 100 of them: a false alarm in 1e-4 of seeds


class Correlated:
    """A distribution of the simplest kind: it can only be sampled, and features depend."""

    n_features = N_FEATURES

    def sample(self, n_rows, rng):
        rows = rng.standard_normal((n_rows, N_FEATURES))
        rows[:, 1:] = 0.6 * rows[:, :-1] + 0.8 * rows[:, 1:]
        return rows


DISTRIBUTIONS = [
    *(D(N_FEATURES) for D in (Gaussian, Laplace, Logistic, Uniform, Exponential, StudentT)),
    Correlated(),
]
BANDS = {
    "sparse": Band(normal=random_target(N_FEATURES, 2, 4), width=0.3),
    "dense": Band(normal=random_target(N_FEATURES, N_FEATURES, 5), width=0.2),
    "long normal": Band(normal=3 * random_target(N_FEATURES, 3, 6), width=0.9),
}
every_distribution = pytest.mark.parametrize(
    "distribution", DISTRIBUTIONS, ids=lambda d: type(d).__name__
)


def assert_same_law(rows, reference, directions):
    """Fail when a projection on one of the directions has another law in the two samples."""
    p_values = [stats.ks_2samp(rows @ u, reference @ u).pvalue for u in directions]
    assert min(p_values) > LEVEL


def _directions(band):
    rng = np.random.default_rng(8)
    off = np.flatnonzero(band.normal == 0)
    single = np.eye(N_FEATURES)[[np.flatnonzero(band.normal)[0], *off[:1]]]
    return [band.normal, *single, rng.standard_normal(N_FEATURES)]


@every_distribution
@pytest.mark.parametrize("name", BANDS)
def test_rows_in_the_band_follow_the_law_of_plain_rejection(distribution, name):
    band = BANDS[name]
    plain = distribution.sample(N_CANDIDATES, np.random.default_rng(1))
    plain = plain[band.admits(plain)]
    rows = sample_in_band(distribution, N_CANDIDATES, band, np.random.default_rng(2))
    assert band.admits(rows).all()
    assert_same_law(rows, plain, _directions(band))
    # Two binomial counts of equal mean: their difference has variance below 2·N·p.
    assert abs(len(rows) - len(plain)) < 5 * np.sqrt(2 * len(plain))


def test_the_comparison_of_laws_notices_a_wrong_width_and_a_wrong_direction():
    band = BANDS["sparse"]
    rows = sample_in_band(Gaussian(N_FEATURES), N_CANDIDATES, band, np.random.default_rng(1))
    wider = Band(normal=band.normal, width=1.3 * band.width)
    other = sample_in_band(Gaussian(N_FEATURES), N_CANDIDATES, wider, np.random.default_rng(2))
    with pytest.raises(AssertionError):
        assert_same_law(rows, other, [band.normal])
    with pytest.raises(AssertionError):
        assert_same_law(rows, -rows + 0.3, [np.eye(N_FEATURES)[0]])


@every_distribution
@pytest.mark.parametrize("width", [0.5, np.inf])
def test_a_zero_normal_keeps_every_candidate(distribution, width):
    band = Band(normal=np.zeros(N_FEATURES), width=width)
    assert sample_in_band(distribution, 100, band, np.random.default_rng(0)).shape == (100, 6)


@every_distribution
def test_no_candidates_give_no_rows(distribution):
    rows = sample_in_band(distribution, 0, BANDS["sparse"], np.random.default_rng(0))
    assert rows.shape == (0, N_FEATURES)


@every_distribution
def test_one_seed_gives_the_same_rows(distribution):
    first, second = (
        sample_in_band(distribution, 5000, BANDS["sparse"], np.random.default_rng(3))
        for _ in range(2)
    )
    assert np.array_equal(first, second)


@every_distribution
def test_a_condition_on_features_holds_and_leaves_the_law_of_the_others(distribution):
    features = np.array([4, 1])
    rows = sample_given(
        distribution, N_CANDIDATES, features, lambda part: part[:, 0] > part[:, 1],
        np.random.default_rng(4),
    )  # fmt: skip
    plain = distribution.sample(N_CANDIDATES, np.random.default_rng(5))
    plain = plain[plain[:, 4] > plain[:, 1]]
    assert (rows[:, 4] > rows[:, 1]).all()
    assert_same_law(rows, plain, np.eye(N_FEATURES)[[0, 1, 4]])


@every_distribution
@pytest.mark.parametrize("n_rows", [0, 1, 777])
def test_exactly_as_many_rows_as_wanted_come_back(distribution, n_rows):
    rows = sample_n_given(
        distribution, n_rows, np.array([2]), lambda part: part[:, 0] > 1, np.random.default_rng(6)
    )
    assert rows.shape == (n_rows, N_FEATURES)
    assert (rows[:, 2] > 1).all()


def test_a_condition_that_never_holds_ends_in_an_error(monkeypatch):
    monkeypatch.setattr(conditional, "_MAX_CANDIDATES_PER_ROW", 1000)
    with pytest.raises(ValueError, match="3 rows needed, but only 0 of"):
        sample_n_given(
            Uniform(2), 3, np.array([0]), lambda part: part[:, 0] > 9, np.random.default_rng(0)
        )


@pytest.mark.parametrize(("n_rows", "n_columns"), [(0, 3), (5, 0), (10, 2**21), (3_000_000, 7)])
def test_chunks_add_up_and_stay_small(n_rows, n_columns):
    sizes = conditional.chunk_sizes(n_rows, n_columns)
    assert sum(sizes) == n_rows
    largest = max(conditional.ENTRIES_PER_CHUNK // max(n_columns, 1), 1)
    assert all(1 <= size <= largest for size in sizes)
