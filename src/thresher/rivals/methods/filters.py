"""Robust means of y·x: a dense spectral filter with localization, and a sparse one.

For isotropic Gaussian rows with the labels of a halfspace, the mean of z = y·x points along its
normal, and no direction of z has a variance above 1. So planted rows that move the mean far also
raise the variance, and a filter takes weight from rows until no excess variance is left.
"""

from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfc

from thresher.geometry import hard_threshold
from thresher.learning import Task
from thresher.outliers import remove_outliers
from thresher.rivals.methods.method import Method, Source, cut_and_dense, draw_signed, unit
from thresher.rivals.worlds import DENSE_TILT, HIJACK
from thresher.solvers.eigen import top_eigenpairs
from thresher.validation import FloatArray

MAX_DIRTY_SHARE = 0.3  # of localized rows that an adversary could own
ROWS_PER_FEATURE = 2.0  # with fewer localized rows, their dense mean would be mostly noise
SPARSITY_FACTOR = 2.0  # two s-sparse halfspaces differ in up to 2s features
N_RECENTERINGS = 2  # the weights are found this often, each time around the last center
_MAX_ROUNDS = 100  # a round settles a direction; usually one or two are planted


def learn_localized(
    n_repeats: int, source: Source, task: Task, rng: np.random.Generator
) -> FloatArray:
    """The filtered mean of y·x, refined near its own boundary.

    Repeat k takes the rows near the boundary (see `near_boundary`) with σ = 2⁻ᵏ. Accepted clean
    rows are standard normal again, with the halfspace of normal (σ·cos θ, sin θ): the same filter
    finds it, and undoing the stretch shrinks its error (Diakonikolas, Kane and Stewart 2018,
    "Learning Geometric Concepts with Nasty Noise"). All repeats use the rows of the first sample;
    none is drawn near the boundary.
    """
    Z = draw_signed(source, task)
    halfspace = unit(filtered_mean(Z, task.noise_rate))
    for width in 0.5 ** np.arange(1, n_repeats + 1):
        share = dirty_share(task.noise_rate, width)
        kept, stretched = near_boundary(Z, halfspace, width, rng)
        if share > MAX_DIRTY_SHARE or kept.size < ROWS_PER_FEATURE * task.n_features:
            break
        halfspace = unit(unstretched(filtered_mean(stretched, share), halfspace, width))
    return halfspace


def dirty_share(noise_rate: float, width: float) -> float:
    """The planted share of the accepted rows if every planted row is accepted.

    Examples
    --------
    >>> dirty_share(0.1, 1.0), round(dirty_share(0.1, 0.25), 3)
    (0.1, 0.308)
    """
    return noise_rate / (noise_rate + (1 - noise_rate) * width)


def near_boundary(
    rows: FloatArray, halfspace: FloatArray, width: float, rng: np.random.Generator
) -> tuple[NDArray[np.intp], FloatArray]:
    """Which rows are accepted near the boundary, and these stretched: clean ones are isotropic.

    A row x is accepted with probability exp(−(t²/2)(1/σ² − 1)), where t = w·x and σ is the width,
    and stretched by 1/σ along w.
    """
    places = rows @ halfspace
    with np.errstate(over="ignore", under="ignore"):
        odds = np.exp(-(places**2) * (width**-2 - 1) / 2)
    kept = np.flatnonzero(rng.random(len(rows)) < odds)
    return kept, rows[kept] + (1 / width - 1) * np.outer(places[kept], halfspace)


def unstretched(mean: FloatArray, halfspace: FloatArray, width: float) -> FloatArray:
    """A normal of stretched rows as one of the rows before `near_boundary`."""
    return mean + (1 / width - 1) * float(mean @ halfspace) * halfspace


def filtered_mean(Z: FloatArray, noise_rate: float) -> FloatArray:
    """The mean of the rows, with less weight on those far out along a direction of large variance.

    While the weighted covariance has an eigenvalue above (1 + √(d/n))² + η·log(1/η), where the
    first term is the largest that n clean rows show by chance, rows lose weight along its
    eigenvector: beyond the distance where their excess over a Gaussian tail is largest, the excess.

    Parameters
    ----------
    Z : (n, d) rows
    noise_rate : η

    Examples
    --------
    >>> Z = np.random.default_rng(0).standard_normal((1000, 5))
    >>> Z[:50] += [4.0, 4.0, 0.0, 0.0, 0.0]
    >>> Z.mean(axis=0)[:2].round(1), abs(filtered_mean(Z, 0.05))[:2].round(1)
    (array([0.2, 0.2]), array([0., 0.]))
    """
    weights = filter_weights(Z, noise_rate)
    mean: FloatArray = weights @ Z / weights.sum()
    return mean


def filter_weights(Z: FloatArray, noise_rate: float) -> FloatArray:
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
        if values[-1] <= edge + excess:
            break
        lighter = without_tails(centered @ vectors[:, -1], edge, weights)
        if lighter is weights:
            break
        weights = lighter
    return weights


def without_tails(places: FloatArray, variance: float, weights: FloatArray) -> FloatArray:
    """The weights, with less on rows further from the median than a Gaussian tail explains."""
    distances = np.abs(places - np.median(places))
    return without_surplus(distances, erfc(distances / np.sqrt(2 * variance)), weights)


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


def learn_sparse_mean(source: Source, task: Task, _rng: np.random.Generator) -> FloatArray:
    """The hard-thresholded mean of y·x under weights that leave no sparse direction suspicious.

    The weights q minimize max⟨Σ q(z−μ)(z−μ)ᵀ/n, H⟩ over {H ⪰ 0, tr H ≤ 1, ‖H‖₁ ≤ 2s} when the
    planted fraction of the weight may go. The minimum is below 1 + C·η·log(1/η) if any such weights
    reach it, so C need not be known. Then μ becomes the mean's largest entries, and both steps are
    repeated (Balakrishnan, Du, Li and Singh 2017, "Computationally Efficient Robust Sparse
    Estimation in High Dimensions"). The first center is the median of each feature; rows further
    from it than clean ones ever are go at once. `remove_outliers` solves the convex program.
    """
    Z = _without_far_rows(draw_signed(source, task))
    center = hard_threshold(np.median(Z, axis=0), task.sparsity)
    for _ in range(N_RECENTERINGS):
        weights = remove_outliers(
            Z - center,
            l2_radius=1.0,
            l1_radius=float(np.sqrt(SPARSITY_FACTOR * task.sparsity)),
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
        Method(
            name="diakonikolas-kane-stewart",
            title="Diakonikolas–Kane–Stewart 2018",
            learn=partial(learn_localized, 3),
            claim="O(η) error, Gaussian, dense",
            world=DENSE_TILT.at_most(0.018, beats="klivans-long-servedio"),
        )
    ),
    Method(
        name="balakrishnan",
        title="Balakrishnan et al. 2017",
        learn=learn_sparse_mean,
        claim="O(η log(1/η)) error, Gaussian, sparse",
        world=HIJACK.at_most(0.057, beats="l1-logistic"),
    ),
)
