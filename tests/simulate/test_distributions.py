"""Every distribution is isotropic, seeded, and what its name says.

The seeds are fixed. Each statistical test states how often it would fail for a right sampler.
"""

import numpy as np
import pytest
from scipy import stats

from thresher.simulate import (
    Exponential,
    Gaussian,
    Laplace,
    Logistic,
    StudentT,
    Uniform,
    random_target,
)

ROOT3 = np.sqrt(3)
MARGINALS = {
    Gaussian: stats.norm(),
    Laplace: stats.laplace(scale=np.sqrt(0.5)),
    Logistic: stats.logistic(scale=ROOT3 / np.pi),
    Uniform: stats.uniform(loc=-ROOT3, scale=2 * ROOT3),
    Exponential: stats.expon(loc=-1),
    StudentT: stats.t(4, scale=np.sqrt(0.5)),
}
DISTRIBUTIONS = list(MARGINALS)
every_distribution = pytest.mark.parametrize("distribution", DISTRIBUTIONS)
N_ROWS, N_FEATURES = 40_000, 4


def _sample(distribution, seed=11):
    return distribution(N_FEATURES).sample(N_ROWS, np.random.default_rng(seed))


@every_distribution
def test_the_mean_is_zero(distribution):
    # A mean of 40,000 entries of variance 1 has standard error 0.005. Five of them, for 24 means:
    # a false alarm with probability 24 · 5.7e-7 = 1.4e-5.
    assert np.abs(_sample(distribution).mean(axis=0)).max() < 5 / np.sqrt(N_ROWS)


@every_distribution
def test_the_covariance_is_the_identity(distribution):
    # Products of independent entries of variance 1 have variance 1; squares have variance
    # (kurtosis − 1). StudentT with 4 degrees has no kurtosis, so 12 degrees stand in for it.
    # Six standard errors for 60 numbers: a false alarm with probability about 1e-7.
    n_degrees = {"degrees_of_freedom": 12} if distribution is StudentT else {}
    rows = distribution(N_FEATURES, **n_degrees).sample(N_ROWS, np.random.default_rng(12))
    marginal = stats.t(12) if n_degrees else MARGINALS[distribution]
    kurtosis = 3 + float(marginal.stats(moments="k"))
    deviation = np.abs(rows.T @ rows / N_ROWS - np.eye(N_FEATURES))
    allowed = np.where(np.eye(N_FEATURES) == 1, np.sqrt(kurtosis - 1), 1.0)
    assert (deviation < 6 * allowed / np.sqrt(N_ROWS)).all()


@pytest.mark.parametrize("distribution", [d for d in DISTRIBUTIONS if d is not StudentT])
def test_the_variance_is_one_to_a_percent(distribution):
    # A million entries: five standard errors of the mean square, at most 5·√(8/10⁶) = 0.014, alarm
    # falsely with probability 6e-7 each.
    entries = distribution(100).sample(10_000, np.random.default_rng(13))
    kurtosis = 3 + float(MARGINALS[distribution].stats(moments="k"))
    assert abs(np.mean(entries**2) - 1) < 5 * np.sqrt((kurtosis - 1) / 1e6)


@every_distribution
def test_each_feature_has_the_law_its_name_says(distribution):
    # A Kolmogorov-Smirnov test at level 1e-6 for each of 24 features.
    rows = _sample(distribution)
    p_values = [stats.kstest(column, MARGINALS[distribution].cdf).pvalue for column in rows.T]
    assert min(p_values) > 1e-6


@pytest.mark.parametrize(("drawn", "named"), [(Laplace, Logistic), (Logistic, Gaussian)])
def test_the_comparison_of_laws_tells_neighbors_apart(drawn, named):
    assert stats.kstest(_sample(drawn)[:, 0], MARGINALS[named].cdf).pvalue < 1e-6


@every_distribution
def test_one_seed_gives_the_same_bits(distribution):
    assert np.array_equal(_sample(distribution, 3), _sample(distribution, 3))
    assert not np.array_equal(_sample(distribution, 3), _sample(distribution, 4))


@every_distribution
def test_no_rows_can_be_asked_for(distribution):
    assert distribution(5).sample(0, np.random.default_rng(0)).shape == (0, 5)


@every_distribution
def test_the_error_rate_is_what_counting_gives(distribution):
    # Both numbers have a standard error; five of the joint one alarm with probability 6e-7 each.
    target, w = random_target(6, 3, 0), random_target(6, 3, 1)
    rows = distribution(6).sample(100_000, np.random.default_rng(2))
    counted = np.mean((rows @ w >= 0) != (rows @ target >= 0))
    estimate = distribution(6).estimate_error(w, target, n_rows=50_000)
    joint = np.hypot(estimate.standard_error, np.sqrt(counted * (1 - counted) / 100_000))
    assert abs(estimate.value - counted) < 5 * joint


@every_distribution
def test_the_error_rate_is_the_value_of_its_estimate(distribution):
    target, w = random_target(6, 3, 0), random_target(6, 3, 1)
    estimate = distribution(6).estimate_error(w, target, n_rows=1000, random_state=5)
    assert distribution(6).error_rate(w, target, n_rows=1000, random_state=5) == estimate.value


@every_distribution
def test_the_target_makes_no_error_and_its_opposite_only_errors(distribution):
    target = random_target(8, 3, 0)
    assert distribution(8).error_rate(2.5 * target, target, n_rows=1000) == pytest.approx(0)
    assert distribution(8).error_rate(-target, target, n_rows=1000) == pytest.approx(1)


@every_distribution
def test_an_estimate_without_disagreement_still_admits_doubt(distribution):
    estimate = distribution(3).estimate_error([1.0, 0.0, 0.0], [1.0, 0.0, 0.0], n_rows=1000)
    doubt = 0 if distribution is Gaussian else pytest.approx(1e-3, rel=0.01)
    assert estimate.standard_error == doubt


@pytest.mark.parametrize("angle", [1e-10, 1e-4, 0.5, 3.0])
def test_the_gaussian_error_rate_is_the_angle_over_pi(angle):
    w = np.array([np.cos(angle), 0.0, np.sin(angle)])
    rate = Gaussian(3).error_rate(3 * w, [0.5, 0.0, 0.0])
    assert rate == pytest.approx(angle / np.pi, rel=1e-9)


def test_a_zero_halfspace_errs_on_half_of_the_gaussian():
    assert Gaussian(3).error_rate(np.zeros(3), [1.0, 0.0, 0.0]) == 0.5


@every_distribution
@pytest.mark.parametrize(
    ("n_features", "error"), [(0, ValueError), (-3, ValueError), (2.0, TypeError), ("2", TypeError)]
)
def test_a_length_that_is_no_count_is_refused(distribution, n_features, error):
    with pytest.raises(error, match="n_features"):
        distribution(n_features)


@every_distribution
@pytest.mark.parametrize(
    ("w", "target", "named"),
    [
        ([1.0], [1.0, 0.0], "w"),
        ([np.nan, 1.0], [1.0, 0.0], "w"),
        ([1.0, 0.0], [0.0, 0.0], "target"),
        ([1.0, 0.0], [1.0, 0.0, 0.0], "target"),
    ],
)
def test_halfspaces_that_do_not_fit_are_named(distribution, w, target, named):
    with pytest.raises(ValueError, match=named):
        distribution(2).error_rate(w, target)


@pytest.mark.parametrize("degrees", [2, 1.5, -1, np.nan, np.inf])
def test_a_tail_without_variance_is_refused(degrees):
    with pytest.raises(ValueError, match="degrees_of_freedom"):
        StudentT(3, degrees_of_freedom=degrees)


def test_distributions_compare_by_value():
    assert Gaussian(3) == Gaussian(3) != Gaussian(4)
    assert Gaussian(3) != Laplace(3)
    assert repr(StudentT(2)) == "StudentT(n_features=2, degrees_of_freedom=4)"
