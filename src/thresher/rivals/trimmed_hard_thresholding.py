"""Trimmed hard thresholding: gradient steps that ignore the extremes of each column."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from thresher.geometry import hard_threshold
from thresher.rivals.linear import LinearRival
from thresher.rivals.trimming import trimmed_column_means, trimmed_mean
from thresher.validation import FloatArray, Rows, check_count, check_positive


class TrimmedHardThresholding(LinearRival):
    """Sparse logistic regression by gradient steps on coordinate-trimmed means of the gradients.

    w ← H_s(w − step·trimmed mean of −yᵢσ(−yᵢ(w·xᵢ + b))xᵢ), and the same for the offset b, which
    is not thresholded (Liu, Li and Caramanis 2019, "High Dimensional Robust M-Estimation",
    trimmed gradients). It tolerates a share of about 1/(√s·log(nd)) planted rows; beyond that,
    rows of moderate size in the same columns steer it.

    The paper's constant step needs the data's largest curvature. Here the step is the one that is
    safe along the direction taken: ‖g‖²/(¼·mean of (x·g)² without its largest values).

    Parameters
    ----------
    sparsity : how many features are kept at each step; more than there are means all
    noise_rate : share of rows that may be planted, at least 0 and below 0.5
    standardize : whether columns are put on one scale first; not needed for isotropic rows
    fit_intercept : whether the halfspace may have an offset
    max_iter : most steps that are taken
    tol : stop when a step turns the halfspace by less than this angle, in radians

    Attributes
    ----------
    n_iter_ : steps taken; `max_iter` means that the halfspace was still turning
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

    n_iter_: int

    def __init__(
        self,
        sparsity: int = 10,
        noise_rate: float = 0.05,
        *,
        standardize: bool = True,
        fit_intercept: bool = True,
        max_iter: int = 100,
        tol: float = 1e-3,
    ) -> None:
        self.sparsity = sparsity
        self.noise_rate = noise_rate
        self.standardize = standardize
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol

    def _learn(self, rows: Rows, signs: FloatArray) -> tuple[FloatArray, float]:
        sparsity = check_count(self.sparsity, "sparsity")
        n_trimmed = self._n_planted(signs.size)
        tol = check_positive(self.tol, "tol")
        weights, offset = np.zeros(rows.shape[1]), 0.0
        for step in range(check_count(self.max_iter, "max_iter")):
            self.n_iter_ = step + 1
            factors = -signs * expit(-signs * (rows @ weights + offset))
            gradient = trimmed_column_means(rows, factors, n_trimmed)
            slope = trimmed_mean(factors, n_trimmed) if self.fit_intercept else 0.0
            length = step_length(rows, on_support(gradient, weights, sparsity), slope, n_trimmed)
            moved = hard_threshold(weights - length * gradient, sparsity)
            moved_offset = offset - length * slope
            turn = angle(np.append(weights, offset), np.append(moved, moved_offset))
            weights, offset = moved, moved_offset
            if turn <= tol:
                break
        return weights, offset


def on_support(gradient: FloatArray, weights: FloatArray, sparsity: int) -> FloatArray:
    """The gradient on the features in use and on as many others as could come into use."""
    largest = hard_threshold(gradient, sparsity)
    return np.where((weights != 0) | (largest != 0), gradient, 0.0)


def step_length(rows: Rows, gradient: FloatArray, slope: float, n_trimmed: int) -> float:
    """How far a step may go: ‖g‖²/(¼·mean of (x·g)² without its `n_trimmed` largest values).

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
    """The angle between two vectors in radians; zero if both are zero, π if one is.

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
