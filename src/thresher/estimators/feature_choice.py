"""Which few columns to fit to: one after the other, by what each would add to a logistic fit."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from thresher.validation import FloatArray, Rows, is_sparse

MAX_ROUNDS = 20  # each reads the whole table; a larger limit adds several columns per round
STEPS = 3  # of Newton's method in each round, from the fit of the last one
HALVES = 0.5 ** np.arange(8)  # of a step
RIDGE = 1.0  # keeps the fit finite where the classes are separated or columns are equal


def choose_features(
    rows: Rows,
    signs: FloatArray,
    weights: FloatArray,
    limit: int,
    *,
    with_intercept: bool = True,
    may_use: Sequence[NDArray[np.intp] | None] = (),
) -> list[NDArray[np.intp]]:
    """The columns of greedy forward choices, one for each column of `weights`, in order.

    Each round adds the columns with the largest score statistic, |g_j|/√v_j with the slope g_j of
    the logistic loss at the fit to the columns chosen so far and the weighted variance v_j of the
    column, and fits again. Columns whose statistic is zero are never added.

    Parameters
    ----------
    rows : (n, d) dense or CSR, scaled
    signs : (n,) of -1 and +1
    weights : (n, m) the weight of each row in each choice, zero for rows held out
    limit : the largest number of columns in a choice
    with_intercept : whether the fits have one
    may_use : the columns from which each choice is made; all if it is None or missing

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.standard_normal((200, 30))
    >>> signs = np.sign(rows[:, 3] - rows[:, 5])
    >>> choose_features(rows, signs, np.ones((200, 1)), limit=2)
    [array([3, 5])]
    """
    spread = _spread(rows, weights, with_intercept)
    for own, columns in zip(spread.T, may_use):
        if columns is not None:
            own[np.setdiff1d(np.arange(own.size), columns, assume_unique=True)] = 0.0
    growing = [_Growing(rows, signs, own, with_intercept) for own in weights.T]
    step = -(-limit // MAX_ROUNDS)
    for size in range(step, limit + step, step):
        slopes = np.abs(rows.T @ np.column_stack([each.residuals for each in growing]))
        statistics = np.where(spread > 0, slopes / np.where(spread > 0, spread, 1.0), 0.0)
        for each, own in zip(growing, statistics.T):
            each.grow(own, min(size, limit))
    return [np.sort(each.columns) for each in growing]


def _spread(rows: Rows, weights: FloatArray, with_intercept: bool) -> FloatArray:
    """(d, m) the square root of the weighted sum of squares of each column, about its mean."""
    if is_sparse(rows):
        squares = rows.multiply(rows).T @ weights
    else:  # without a second table
        squares = np.stack([np.einsum("ij,ij,i->j", rows, rows, w) for w in weights.T], axis=1)
    if with_intercept:
        total = np.maximum(weights.sum(axis=0), np.finfo(np.float64).tiny)
        squares = squares - np.square(rows.T @ weights) / total
    return np.sqrt(np.where(squares > 1e-9 * squares.max(initial=0.0, axis=0), squares, 0.0))


class _Growing:
    """A logistic fit to a growing number of columns."""

    def __init__(
        self, rows: Rows, signs: FloatArray, weights: FloatArray, with_intercept: bool
    ) -> None:
        self._rows, self._signs, self._weights = rows, signs, weights
        self._part = np.ones((signs.size, int(with_intercept)))
        self._coef = np.zeros(int(with_intercept))
        self.columns = np.zeros(0, dtype=np.intp)
        self._fit()

    @property
    def residuals(self) -> FloatArray:
        """(n,) the slope of each row's loss by its score, with the sign turned."""
        residuals: FloatArray = self._weights * self._signs * expit(-self._margins(self._coef))
        return residuals

    def grow(self, statistics: FloatArray, size: int) -> None:
        """Add the columns with the largest statistics, up to this size, and fit."""
        statistics[self.columns] = 0.0
        best = np.argsort(-statistics, kind="stable")[: size - self.columns.size]
        best = best[statistics[best] > 0]
        if not best.size:
            return
        added = self._rows[:, best]
        added = added.toarray() if is_sparse(added) else added
        self.columns = np.append(self.columns, best)
        self._part = np.hstack([self._part, added])
        self._coef = np.append(self._coef, np.zeros(best.size))
        self._fit()

    def _margins(self, coef: FloatArray) -> FloatArray:
        margins: FloatArray = self._signs * (self._part @ coef)
        return margins

    def _fit(self) -> None:
        """A few Newton steps, each halved until the loss is no larger."""
        for _ in range(STEPS):
            chances = expit(self._margins(self._coef))
            curvatures = self._weights * chances * (1 - chances)
            curvature = self._part.T @ (curvatures[:, None] * self._part)
            slope = self._part.T @ self.residuals - RIDGE * self._coef
            step = np.linalg.solve(curvature + RIDGE * np.eye(len(slope)), slope)
            loss = self._loss(self._coef)
            factors = (f for f in HALVES if self._loss(self._coef + f * step) <= loss)
            self._coef = self._coef + next(factors, 0.0) * step

    def _loss(self, coef: FloatArray) -> float:
        losses = np.logaddexp(0.0, -self._margins(coef))
        return float(self._weights @ losses + RIDGE * (coef @ coef) / 2)
