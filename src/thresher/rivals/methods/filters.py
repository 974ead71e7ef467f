"""Robust means of y·x: a dense spectral filter with localization, and a sparse one.

For isotropic Gaussian rows with the labels of a halfspace, the mean of z = y·x points along its
normal, and no direction of z has a variance above 1. So planted rows that move the mean far also
raise the variance, and a filter takes weight from rows until no excess variance is left.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import erfc

from thresher.geometry import hard_threshold
from thresher.learning import Task
from thresher.outliers import remove_outliers
from thresher.rivals.methods.method import Method, Source, cut_and_dense, draw_sample, unit
from thresher.rivals.worlds import DENSE_TILT, HIJACK
from thresher.solvers.eigen import top_eigenpairs
from thresher.validation import FloatArray, check_count, check_positive

_MAX_ROUNDS = 100  # a round settles a direction; usually one or two are planted


@dataclass(frozen=True)
class DiakonikolasKaneStewart:
    """The filtered mean of y·x, refined near its own boundary.

    Repeat k accepts a row x with probability exp(−(t²/2)(1/σ² − 1)), where t = w·x and σ = 2⁻ᵏ, and
    stretches it by 1/σ along w. Accepted clean rows are standard normal again, with the halfspace
    of normal (σ·cos θ, sin θ): the same filter finds it, and undoing the stretch shrinks its error
    (Diakonikolas, Kane and Stewart 2018, "Learning Geometric Concepts with Nasty Noise"). All
    repeats use the rows of the first sample; none is drawn near the boundary.

    Parameters
    ----------
    variance_factor : C; variance up to C·η·log(1/η) above that of clean rows is accepted
    n_repeats : number of localized repeats after the first mean
    max_dirty_share : stop where an adversary could own more of the accepted rows
    rows_per_feature : stop where fewer rows are accepted: their dense mean would be mostly noise

    Examples
    --------
    >>> from thresher.experiments import SimulationSpec, run_simulation
    >>> spec = SimulationSpec(n_features=20, sparsity=3, noise_rate=0.05, label_budget=2000,
    ...                       adversary="on-support-tilt", method="diakonikolas-kane-stewart")
    >>> run_simulation(spec, seed=0).error < 0.04
    True
    """

    variance_factor: float = 1.0
    n_repeats: int = 3
    max_dirty_share: float = 0.3
    rows_per_feature: float = 2.0

    def __post_init__(self) -> None:
        for name in ("variance_factor", "max_dirty_share", "rows_per_feature"):
            check_positive(getattr(self, name), name)
        check_count(self.n_repeats, "n_repeats", minimum=0)

    def __call__(self, source: Source, task: Task, rng: np.random.Generator) -> FloatArray:
        """The halfspace, of unit length."""
        X, y = draw_sample(source, task)
        noise_rate = task.noise_rate
        halfspace = unit(filtered_mean(y[:, None] * X, noise_rate, self.variance_factor))
        for width in 0.5 ** np.arange(1, self.n_repeats + 1):
            dirty_share = noise_rate / (noise_rate + (1 - noise_rate) * width)
            places = X @ halfspace
            with np.errstate(over="ignore", under="ignore"):
                odds = np.exp(-(places**2) * (width**-2 - 1) / 2)
            kept = np.flatnonzero(rng.random(len(y)) < odds)
            too_few = kept.size < self.rows_per_feature * task.n_features
            if dirty_share > self.max_dirty_share or too_few:
                break
            stretch = 1 / width - 1
            rows = X[kept] + stretch * np.outer(places[kept], halfspace)
            mean = filtered_mean(y[kept, None] * rows, dirty_share, self.variance_factor)
            halfspace = unit(mean + stretch * float(mean @ halfspace) * halfspace)
        return halfspace


def filtered_mean(Z: FloatArray, noise_rate: float, variance_factor: float = 1.0) -> FloatArray:
    """The mean of the rows, with less weight on those far out along a direction of large variance.

    While the weighted covariance has an eigenvalue above (1 + √(d/n))² + C·η·log(1/η), where the
    first term is the largest that n clean rows show by chance, rows lose weight along its
    eigenvector: beyond the distance where their excess over a Gaussian tail is largest, the excess.

    Parameters
    ----------
    Z : (n, d) rows
    noise_rate : η
    variance_factor : C

    Examples
    --------
    >>> Z = np.random.default_rng(0).standard_normal((1000, 5))
    >>> Z[:50] += [4.0, 4.0, 0.0, 0.0, 0.0]
    >>> Z.mean(axis=0)[:2].round(1), abs(filtered_mean(Z, 0.05))[:2].round(1)
    (array([0.2, 0.2]), array([0., 0.]))
    """
    weights = filter_weights(Z, noise_rate, variance_factor)
    mean: FloatArray = weights @ Z / weights.sum()
    return mean


def filter_weights(Z: FloatArray, noise_rate: float, variance_factor: float = 1.0) -> FloatArray:
    """The weights of the rows under which `filtered_mean` takes their mean.

    Examples
    --------
    >>> Z = np.random.default_rng(0).standard_normal((1000, 5))
    >>> Z[:50] += [4.0, 4.0, 0.0, 0.0, 0.0]
    >>> weights = filter_weights(Z, 0.05)
    >>> bool(weights[:50].mean() < 0.1), bool(weights[50:].mean() > 0.99)
    (True, True)
    """
    n, d = Z.shape
    edge = (1 + np.sqrt(d / n)) ** 2
    excess = -noise_rate * np.log(noise_rate) if noise_rate > 0 else 0.0
    weights = np.ones(n)
    for _ in range(_MAX_ROUNDS):
        total = float(weights.sum())
        centered = Z - weights @ Z / total
        values, vectors = top_eigenpairs((centered.T * weights) @ centered / total, 1)
        if values[-1] <= edge + variance_factor * excess:
            break
        places = centered @ vectors[:, -1]
        distances = np.abs(places - np.median(places))
        lighter = without_surplus(distances, erfc(distances / np.sqrt(2 * edge)), weights)
        if lighter is weights:
            break
        weights = lighter
    return weights


def without_surplus(distances: FloatArray, tail: FloatArray, weights: FloatArray) -> FloatArray:
    """The weights, with less on rows further out than a clean tail explains.

    Beyond the distance where the weight exceeds the tail most, it is scaled down to the tail.

    Parameters
    ----------
    distances : (n,) how far out each row lies
    tail : (n,) the probability that a clean row lies further out
    weights : (n,) weights so far

    Returns
    -------
    The new weights, or the same object if the surplus is within chance, 1/√n.
    """
    outermost = np.argsort(-distances, kind="stable")
    observed = np.cumsum(weights[outermost]) / weights.sum()
    expected = tail[outermost]
    cut = int(np.argmax(observed - expected))
    if observed[cut] - expected[cut] <= 1 / np.sqrt(distances.size):
        return weights
    lighter = weights.copy()
    lighter[outermost[: cut + 1]] *= expected[cut] / observed[cut]
    return lighter


@dataclass(frozen=True)
class Balakrishnan:
    """The hard-thresholded mean of y·x under weights that leave no sparse direction suspicious.

    The weights q minimize max⟨Σ q(z−μ)(z−μ)ᵀ/n, H⟩ over {H ⪰ 0, tr H ≤ 1, ‖H‖₁ ≤ k} when the
    planted fraction of the weight may go. The minimum is below 1 + C·η·log(1/η) if any such weights
    reach it, so C need not be known. Then μ becomes the mean's largest entries, and both steps are
    repeated (Balakrishnan, Du, Li and Singh 2017, "Computationally Efficient Robust Sparse
    Estimation in High Dimensions"). The first center is the median of each feature; rows further
    from it than clean ones ever are go at once. `remove_outliers` solves the convex program.

    Parameters
    ----------
    sparsity_factor : k over the sparsity; two s-sparse halfspaces differ in up to 2s features
    n_repeats : number of times the weights are found, each around the last center

    Examples
    --------
    >>> from thresher.experiments import SimulationSpec, run_simulation
    >>> spec = SimulationSpec(n_features=30, sparsity=3, noise_rate=0.05, adversary="linf-hijack",
    ...                       label_budget=1000, method="balakrishnan")
    >>> run_simulation(spec, seed=0).error < 0.05
    True
    """

    sparsity_factor: float = 2.0
    n_repeats: int = 2

    def __post_init__(self) -> None:
        check_positive(self.sparsity_factor, "sparsity_factor")
        check_count(self.n_repeats, "n_repeats")

    def __call__(self, source: Source, task: Task, _rng: np.random.Generator) -> FloatArray:
        """The halfspace, of unit length."""
        X, y = draw_sample(source, task)
        Z = _without_far_rows(y[:, None] * X)
        center = hard_threshold(np.median(Z, axis=0), task.sparsity)
        for _ in range(self.n_repeats):
            weights = remove_outliers(
                Z - center,
                l2_radius=1.0,
                l1_radius=float(np.sqrt(self.sparsity_factor * task.sparsity)),
                outlier_fraction=_likely_share(task.noise_rate, len(Z)),
            ).weights
            center = hard_threshold(weights @ Z / weights.sum(), task.sparsity)
        return unit(center)


def _without_far_rows(Z: FloatArray) -> FloatArray:
    """The rows without those further from the median in some entry than clean rows ever are.

    An entry of an isotropic log-concave row exceeds t with probability at most exp(1 − t).
    """
    distances = np.abs(Z - np.median(Z, axis=0)).max(axis=1)
    return Z[distances <= max(1 + np.log(Z.size), float(distances.min()))]


def _likely_share(noise_rate: float, n_rows: int) -> float:
    """The planted fraction of the rows at this noise rate, plus two standard deviations."""
    share = noise_rate + 2 * np.sqrt(noise_rate * (1 - noise_rate) / n_rows)
    return float(min(share, 0.5))


METHODS = (
    *cut_and_dense(
        name="diakonikolas-kane-stewart",
        title="Diakonikolas–Kane–Stewart 2018",
        learn=DiakonikolasKaneStewart(),
        claim="O(η) error, Gaussian, dense",
        world=DENSE_TILT.at_most(0.02, beats="klivans-long-servedio"),
    ),
    Method(
        name="balakrishnan",
        title="Balakrishnan et al. 2017",
        learn=Balakrishnan(),
        is_sparse=True,
        claim="O(η log(1/η)) error, Gaussian, sparse",
        world=HIJACK.at_most(0.05, beats="l1-logistic"),
    ),
)
