"""Means that drop the extremes of each column: of y·x, and of gradients."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import expit

from thresher.geometry import hard_threshold
from thresher.rivals.classifiers.linear import LinearRival, n_planted
from thresher.validation import FloatArray, Rows, check_count, check_positive, is_sparse


@dataclass(eq=False, repr=False)
class TrimmedMean(LinearRival):
    """A halfspace from the largest entries of the coordinate-trimmed mean of y·x.

    w = H_s(trimmed mean of cᵢyᵢxᵢ), where cᵢ = n/(2·rows of the class of i), so that both classes
    count the same; the offset is the one with the fewest errors. Each column loses its
    noise_rate·n largest and smallest values. It works when planted rows hold the extreme values of
    the columns they attack; many planted rows of moderate size in the same columns pass.

    Parameters
    ----------
    sparsity : number of features to keep; clipped to the number of features
    noise_rate : upper bound on the fraction of planted rows, at least 0 and below 0.5
    standardize : whether to put the columns on one scale first; not needed for isotropic rows
    fit_intercept : whether to fit an offset

    Attributes
    ----------
    coef_, intercept_, classes_, n_features_in_ : as in scikit-learn's linear classifiers

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((500, 30))
    >>> y = np.where(X[:, 3] > X[:, 7], "yes", "no")
    >>> model = TrimmedMean(sparsity=2, noise_rate=0.05).fit(X, y)
    >>> np.flatnonzero(model.coef_)
    array([3, 7])
    """

    sparsity: int = 10
    noise_rate: float = 0.05
    _: KW_ONLY
    standardize: bool = True
    fit_intercept: bool = True

    def _learn(self, rows: Rows, signs: FloatArray) -> tuple[FloatArray, float]:
        sparsity = check_count(self.sparsity, "sparsity")
        n_trimmed = n_planted(self.noise_rate, signs.size)
        share = np.where(signs > 0, np.mean(signs > 0), np.mean(signs < 0))
        means = trimmed_column_means(rows, signs / (2 * share), n_trimmed)
        coef = hard_threshold(means, sparsity)
        offset = best_offset(rows @ coef, signs) if self.fit_intercept else 0.0
        return coef, offset


def best_offset(scores: FloatArray, signs: FloatArray) -> float:
    """The offset b for which sign(score + b) is wrong on the fewest rows.

    A planted row counts once, however far out it lies. Ties go to the offset closest to zero,
    midway between two scores.

    Examples
    --------
    >>> best_offset(np.array([1.0, 2.0, 4.0, 9.0]), np.array([-1.0, -1.0, 1.0, 1.0]))
    -3.0
    """
    order = np.argsort(scores, kind="stable")
    ordered = scores[order]
    # errors[i]: the i lowest scores are called negative, the others positive.
    errors = np.concatenate([[0], np.cumsum(signs[order])]) + np.sum(signs < 0)
    edges = np.concatenate([[ordered[0] - 1], ordered, [ordered[-1] + 1]])
    cuts = (edges[:-1] + edges[1:]) / 2
    possible = np.concatenate([[True], ordered[1:] > ordered[:-1], [True]])
    best = np.flatnonzero(possible & (errors == errors[possible].min()))
    return -float(cuts[best[np.argmin(np.abs(cuts[best]))]])


@dataclass(eq=False, repr=False)
class TrimmedHardThresholding(LinearRival):
    """Sparse logistic regression by gradient steps on coordinate-trimmed means of the gradients.

    w ← H_s(w − step·trimmed mean of −yᵢσ(−yᵢ(w·xᵢ + b))xᵢ), and the same for the offset b, which
    is not thresholded (Liu, Li and Caramanis 2019, "High Dimensional Robust M-Estimation",
    trimmed gradients). It tolerates a fraction of about 1/(√s·log(nd)) planted rows; beyond that,
    rows of moderate size in the same columns steer it.

    The paper's constant step needs the largest curvature of the data. This step is safe along the
    direction taken: ‖g‖²/(¼·mean of (x·g)² without its largest values).

    Parameters
    ----------
    sparsity : number of features to keep at each step; clipped to the number of features
    noise_rate : upper bound on the fraction of planted rows, at least 0 and below 0.5
    standardize : whether to put the columns on one scale first; not needed for isotropic rows
    fit_intercept : whether to fit an offset
    max_iter : largest number of steps
    tol : stop when a step turns the halfspace by less than this angle, in radians

    Attributes
    ----------
    n_iter_ : number of steps; at `max_iter` the halfspace may still have been turning
    coef_, intercept_, classes_, n_features_in_ : as in scikit-learn's linear classifiers

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((500, 30))
    >>> y = np.where(X[:, 3] > X[:, 7], "yes", "no")
    >>> model = TrimmedHardThresholding(sparsity=2, noise_rate=0.05).fit(X, y)
    >>> np.flatnonzero(model.coef_)
    array([3, 7])
    """

    sparsity: int = 10
    noise_rate: float = 0.05
    _: KW_ONLY
    standardize: bool = True
    fit_intercept: bool = True
    max_iter: int = 100
    tol: float = 1e-3

    def _learn(self, rows: Rows, signs: FloatArray) -> tuple[FloatArray, float]:
        sparsity = check_count(self.sparsity, "sparsity")
        n_trimmed = n_planted(self.noise_rate, signs.size)
        tol = check_positive(self.tol, "tol")
        coef, offset = np.zeros(rows.shape[1]), 0.0
        for step in range(check_count(self.max_iter, "max_iter")):
            self.n_iter_ = step + 1
            factors = -signs * expit(-signs * (rows @ coef + offset))
            gradient = trimmed_column_means(rows, factors, n_trimmed)
            slope = trimmed_mean(factors, n_trimmed) if self.fit_intercept else 0.0
            length = step_length(rows, on_support(gradient, coef, sparsity), slope, n_trimmed)
            moved = hard_threshold(coef - length * gradient, sparsity)
            moved_offset = offset - length * slope
            turn = angle(np.append(coef, offset), np.append(moved, moved_offset))
            coef, offset = moved, moved_offset
            if turn <= tol:
                break
        return coef, offset


def on_support(gradient: FloatArray, coef: FloatArray, sparsity: int) -> FloatArray:
    """The gradient on the features in use and on those that the step may bring into use."""
    largest = hard_threshold(gradient, sparsity)
    return np.where((coef != 0) | (largest != 0), gradient, 0.0)


def step_length(rows: Rows, gradient: FloatArray, slope: float, n_trimmed: int) -> float:
    """The length of a step: ‖g‖²/(¼·mean of (x·g)² without its `n_trimmed` largest values).

    A quarter is the largest curvature of the logistic loss. Zero if the gradient is.

    Examples
    --------
    >>> step_length(np.eye(2) * 2, np.array([1.0, 0.0]), 0.0, 0)
    2.0
    """
    squares = np.sort(np.square(rows @ gradient + slope))
    curvature = float(squares[: squares.size - n_trimmed].mean()) / 4
    squared_norm = float(gradient @ gradient) + slope**2
    return squared_norm / curvature if curvature > 0 else 0.0


def angle(first: FloatArray, second: FloatArray) -> float:
    """The angle between two vectors in radians; 0 if both are zero, π if one is.

    Examples
    --------
    >>> round(angle(np.array([1.0, 0.0]), np.array([0.0, 2.0])), 6)
    1.570796
    """
    lengths = [float(np.linalg.norm(first)), float(np.linalg.norm(second))]
    if min(lengths) == 0:
        return 0.0 if max(lengths) == 0 else float(np.pi)
    apart = float(np.linalg.norm(first / lengths[0] - second / lengths[1]))
    return float(2 * np.arcsin(min(1.0, apart / 2)))


def trimmed_column_means(rows: Rows, factors: FloatArray, n_trimmed: int) -> FloatArray:
    """The mean of factor·x in each column, without its largest and smallest values.

    mean over the n − 2k middle values of {cᵢ·xᵢⱼ}, column by column; sparse rows stay sparse.

    Parameters
    ----------
    rows : (n, d) array or CSR
    factors : (n,) a number c for each row
    n_trimmed : k, number of values to drop at each end; 2k < n

    Examples
    --------
    >>> rows = np.array([[1.0], [2.0], [3.0], [100.0]])
    >>> trimmed_column_means(rows, np.ones(4), 1)
    array([2.5])
    >>> trimmed_column_means(sp.csr_array(rows), np.ones(4), 1)
    array([2.5])
    """
    n_rows = rows.shape[0]
    if is_sparse(rows):
        return _trimmed_sums_of_sparse(rows, factors, n_trimmed) / (n_rows - 2 * n_trimmed)
    # Columns in memory order: a partition across strides is several times slower.
    values = np.ascontiguousarray(rows.T) * factors
    if n_trimmed:
        values.partition((n_trimmed, n_rows - 1 - n_trimmed), axis=1)
    means: FloatArray = values[:, n_trimmed : n_rows - n_trimmed].mean(axis=1)
    return means


def _trimmed_sums_of_sparse(rows: Rows, factors: FloatArray, n_trimmed: int) -> FloatArray:
    """Sums of the middle values: stored ones are sorted, all others are zero."""
    n_rows, n_features = rows.shape
    columns: Any = sp.coo_array(rows)
    values = columns.data * factors[columns.row]
    stored = values != 0
    values, column = values[stored], columns.col[stored]
    order = np.lexsort((values, column))
    sums = np.concatenate([[0.0], np.cumsum(values[order])])
    n_stored = np.bincount(column, minlength=n_features)
    n_negative = np.bincount(column[values < 0], minlength=n_features)
    n_zero = n_rows - n_stored
    first = np.concatenate([[0], np.cumsum(n_stored)[:-1]])
    low = first + _n_dropped(n_trimmed, n_negative, n_zero)
    high = first + n_stored - _n_dropped(n_trimmed, n_stored - n_negative, n_zero)
    middle: FloatArray = sums[high] - sums[low]
    return middle


def _n_dropped(
    n_trimmed: int, n_beyond: NDArray[np.intp], n_zero: NDArray[np.intp]
) -> NDArray[np.intp]:
    """The number of stored values among k dropped: those beyond zero, then zeros, then the rest."""
    return np.minimum(n_trimmed, n_beyond) + np.maximum(0, n_trimmed - n_beyond - n_zero)


def trimmed_mean(values: FloatArray, n_trimmed: int) -> float:
    """The mean of the values without the `n_trimmed` largest and the `n_trimmed` smallest.

    Examples
    --------
    >>> trimmed_mean(np.array([-50.0, 1.0, 2.0, 1000.0]), 1)
    1.5
    """
    ordered = np.sort(values)
    return float(ordered[n_trimmed : values.size - n_trimmed].mean())
