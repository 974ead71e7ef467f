"""Which halfspaces the labels so far leave possible: a sparse posterior near its maximum.

Line 9 of Algorithm 1 gives the features to look at. On these, the coefficients have independent
normal priors whose variances are fitted along with them, so that those of needless features go to
zero; a label is right with the probability of logistic regression, unless its row is planted. The
posterior is approximated by a normal distribution at its maximum (Laplace).
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from thresher.oracles import IdArray
from thresher.validation import FloatArray, Rows, is_sparse, stack_rows

UNCERTAIN_FEATURES = 3  # over the sparsity: those whose uncertainty counts for the questions
MANY_UPDATES, FEW_UPDATES = 20, 5  # of the priors, for a new set of features and for a known one
NEWTON_STEPS = 2  # between two updates of the priors
MAX_HALVINGS = 20  # of a Newton step
SETTLED = 1e-4  # a Newton step that promises less is not made
LEAST_SHARE, MAX_PRECISION = 1e-3, 1e6  # keep the priors away from 0 and infinity
TINY_SQUARE = 1e-8  # of a coefficient


@dataclass(frozen=True, eq=False)
class Answers:
    """Every labeled row of a run, once, with the share of planted rows where it was drawn."""

    ids: IdArray
    X: Rows
    y: FloatArray
    dirty_shares: FloatArray

    def with_more(self, ids: IdArray, X: Rows, y: FloatArray, dirty_share: float) -> Self:
        """These answers, and those of the given ones whose ids are new."""
        new = np.flatnonzero(~np.isin(ids, self.ids))
        shares = np.full(new.size, dirty_share)
        return type(self)(
            np.concatenate([self.ids, ids[new]]),
            stack_rows([self.X, X[new]]) if self.ids.size else X[new],
            np.concatenate([self.y, y[new]]),
            np.concatenate([self.dirty_shares, shares]),
        )

    @classmethod
    def none(cls, n_features: int) -> Self:
        """No answers yet."""
        return cls(np.zeros(0, dtype=np.int64), np.zeros((0, n_features)), np.zeros(0), np.zeros(0))


@dataclass(frozen=True, eq=False)
class SparsePosterior:
    """A normal distribution of the coefficients of a few features; all others are zero.

    Parameters
    ----------
    features : which features
    mean, covariance : of their coefficients. The length of the mean is free: the longer it is, the
        fewer labels near the boundary were wrong

    Examples
    --------
    >>> posterior = SparsePosterior(np.array([1]), np.array([4.0]), np.array([[0.25]]))
    >>> posterior.scaled_margins(np.array([[9.0, 0.5], [0.0, 2.0]]))
    array([8., 8.])
    """

    features: NDArray[np.intp]
    mean: FloatArray
    covariance: FloatArray

    def scaled_margins(self, X: Rows) -> FloatArray:
        """How sure the side of each row is: |w·x|/√(xᵀΣx), the score in standard deviations."""
        part = _columns(X, self.features)
        variances = np.einsum("ij,ij->i", part @ self.covariance, part)
        return np.abs(part @ self.mean) / np.sqrt(np.maximum(variances, 1e-300))

    def vector(self, n_features: int) -> FloatArray:
        """The mean with its zeros."""
        vector = np.zeros(n_features)
        vector[self.features] = self.mean
        return vector

    def given(self, answers: Answers) -> Self:
        """The same features after more answers."""
        return self._fitted(answers, self.features, self.mean, FEW_UPDATES)

    def cut(self, answers: Answers, n_features: int) -> Self:
        """The strongest features alone, fitted again without the others."""
        kept = _strongest(self.mean, n_features)
        return self._fitted(answers, self.features[kept], self.mean[kept], FEW_UPDATES)

    @classmethod
    def of(cls, answers: Answers, start: FloatArray, n_candidates: int, n_kept: int) -> Self:
        """The posterior of the strongest features among the strongest of a vector."""
        features = _strongest(start, n_candidates)
        wide = cls._fitted(answers, features, start[features], MANY_UPDATES)
        return wide.cut(answers, n_kept)

    @classmethod
    def _fitted(
        cls, answers: Answers, features: NDArray[np.intp], start: FloatArray, n_updates: int
    ) -> Self:
        X, y = _columns(answers.X, features), answers.y
        mean, precisions = start, np.ones(features.size)
        covariance = np.eye(features.size)
        for _ in range(n_updates):
            trust = _trust(y * (X @ mean), answers.dirty_shares)
            mean, curvatures = _maximize(X, y, trust, precisions, mean)
            covariance = _inverse((X.T * curvatures) @ X + np.diag(precisions))
            determined = np.clip(1 - precisions * np.diag(covariance), LEAST_SHARE, 1.0)
            precisions = np.minimum(determined / (mean**2 + TINY_SQUARE), MAX_PRECISION)
        return cls(features, mean, covariance)


def _trust(margins: FloatArray, dirty_shares: FloatArray) -> FloatArray:
    """The probability that each row is clean, if a planted one contradicts the posterior."""
    clean = (1 - dirty_shares) * expit(margins)
    return np.divide(clean, dirty_shares + clean, out=np.ones(margins.size), where=dirty_shares > 0)


def _maximize(
    X: FloatArray, y: FloatArray, weights: FloatArray, precisions: FloatArray, start: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """A few Newton steps for penalized logistic regression, and the curvature of each row."""
    signed, point = X * y[:, None], start

    def cost(margins: FloatArray, point: FloatArray) -> float:
        return float(weights @ np.logaddexp(0, -margins) + 0.5 * (precisions * point) @ point)

    margins = signed @ point
    lowest = cost(margins, point)
    for _ in range(NEWTON_STEPS):
        wrong = expit(-margins)
        gradient = signed.T @ (weights * wrong) - precisions * point
        hessian = (X.T * (weights * wrong * (1 - wrong))) @ X + np.diag(precisions)
        step = np.linalg.solve(hessian, gradient)
        promised, moved = float(gradient @ step), signed @ step
        if promised < SETTLED:
            break
        for halving in range(MAX_HALVINGS):
            size = 0.5**halving
            reached = cost(margins + size * moved, point + size * step)
            if reached <= lowest - 0.1 * size * promised:
                break
        point, margins, lowest = point + size * step, margins + size * moved, reached
    right = expit(margins)
    return point, weights * right * (1 - right)


def _inverse(matrix: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.inv(matrix), dtype=np.float64)


def _strongest(vector: FloatArray, n_kept: int) -> NDArray[np.intp]:
    """The positions of the largest entries, in order; ties to the lower index."""
    return np.sort(np.argsort(-np.abs(vector), kind="stable")[:n_kept])


def _columns(X: Rows, features: NDArray[np.intp]) -> FloatArray:
    part = X[:, features]
    return part.toarray() if is_sparse(part) else np.asarray(part)
