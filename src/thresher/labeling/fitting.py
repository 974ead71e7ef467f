"""Linear fits to the labeled rows of a pool."""

import warnings
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from thresher.estimators.examples import Examples
from thresher.estimators.folds import usual_folds
from thresher.estimators.penalized import best_penalized
from thresher.validation import FloatArray, Rows, is_sparse

GRID = (0.03, 0.1, 0.3, 1.0, 3.0)  # of the weight C of the loss
USUAL = 0.3  # where the search begins, and the choice if there are too many labels and columns
MOST = 3000  # labels or columns, whichever are fewer: the choice takes their number cubed
MAX_STEPS = 300
CONTRADICTED = -2.0  # left-out margin from which on a label can be taken for planted
FAR_OFF = -6.0  # left-out margin of planted labels that have no say in the choice of C
MARGIN = 1.5  # times the noise rate is the largest share of a class to leave out
FEWEST = 60  # labels: with fewer, a fit that errs would leave out those that correct it
INTERCEPT_ENTRY = 10.0  # of a column of ones that stands for the intercept, hardly penalized


@dataclass(frozen=True, eq=False)
class LinearFit:
    """A halfspace in scaled columns: rows with a positive score are of the second class."""

    coef: FloatArray
    offset: float

    def scores(self, rows: Rows) -> FloatArray:
        """The score of each row."""
        found: FloatArray = rows @ self.coef + self.offset
        return found


@dataclass(frozen=True)
class Fitting:
    """How a model is fitted: with all columns, or with a limited number of them.

    Parameters
    ----------
    max_features : None for a ridge-penalized logistic regression; else the limit of a penalized fit
        that chooses its columns, see `best_penalized`
    seed : of the folds on which that fit is chosen
    noise_rate : largest share of planted rows to withstand
    """

    max_features: int | None = None
    seed: int = 0
    noise_rate: float = 0.0

    def fit(self, rows: Rows, signs: FloatArray, weights: FloatArray) -> LinearFit:
        """The model of these rows; both classes must be among them.

        It is fitted twice: the second time without the labels that the first fit contradicts.
        """
        first = ridge(rows, signs, weights)
        share = MARGIN * self.noise_rate if signs.size >= FEWEST else 0.0
        margins = first.left_out * signs
        planted = most_contradicted(margins, signs, share)
        kept = np.where(planted, 0.0, weights)
        if self.max_features is not None and self.max_features < rows.shape[1]:
            folds = usual_folds(signs, self.seed)
            examples = Examples(rows, signs, kept, kept, folds, seed=self.seed)
            best = best_penalized(examples, self.max_features)
            return LinearFit(best.coef, best.offset)
        is_far_off = planted & (margins < FAR_OFF)  # one loss of 15 among 800 can decide about C
        if is_far_off.any():
            C = ridge(rows, signs, np.where(is_far_off, 0.0, weights)).C
            return _fit(rows, signs, kept, C)
        return _fit(rows, signs, kept, first.C) if planted.any() else first.fit


@dataclass(frozen=True, eq=False)
class Ridge:
    """A ridge-penalized fit, the weight C of its loss, and the scores of rows left out of it.

    Where there are too many labels and columns to leave any out, these scores are those of the fit.
    """

    fit: LinearFit
    C: float
    left_out: FloatArray


def ridge(rows: Rows, signs: FloatArray, weights: FloatArray) -> Ridge:
    """Logistic regression with the sum of squared coefficients as penalty.

    C is chosen by the logistic loss of left-out rows, from the middle of a grid on as long as it
    gets smaller. Errors of left-out rows would be a poor guide: the labels are few, and most were
    bought where the model is not sure.

    Examples
    --------
    >>> rows = np.array([[-1.0], [1.0], [2.0]])
    >>> bool(ridge(rows, np.array([-1.0, 1.0, 1.0]), np.ones(3)).fit.coef[0] > 0)
    True
    """
    if min(rows.shape) > MOST:
        usual = _fit(rows, signs, weights, USUAL)
        return Ridge(usual, USUAL, usual.scores(rows))
    left_out = LeftOut(rows, signs, weights)
    found: dict[int, Ridge] = {}

    def loss(place: int) -> float:
        if not 0 <= place < len(GRID):
            return np.inf
        if place not in found:
            fit = _fit(rows, signs, weights, GRID[place])
            scores = left_out.scores(fit.scores(rows), GRID[place])
            found[place] = Ridge(fit, GRID[place], scores)
        return left_out.loss(found[place].left_out)

    best = GRID.index(USUAL)
    step = -1 if loss(best - 1) < loss(best) else 1
    while loss(best + step) < loss(best):
        best += step
    return found[best]


def most_contradicted(margins: FloatArray, signs: FloatArray, share: float) -> NDArray[np.bool_]:
    """Which labels a fit without them contradicts most: up to this share of each class.

    Departure: Algorithm 2 looks at instances, not at labels. Rows far from the boundary that were
    bought when the model was still wrong keep it wrong; with the labels of others, they stand out.

    Examples
    --------
    >>> margins, signs = np.array([-9.0, -3.0, 1.0, -3.0]), np.array([1.0, 1.0, 1.0, -1.0])
    >>> most_contradicted(margins, signs, share=0.4)
    array([ True, False, False, False])
    """
    found = np.zeros(signs.size, dtype=np.bool_)
    for sign in (-1.0, 1.0):
        own = np.flatnonzero(signs == sign)
        worst = own[np.argsort(margins[own], kind="stable")[: int(share * own.size)]]
        found[worst] = margins[worst] < CONTRADICTED
    return found


def _fit(rows: Rows, signs: FloatArray, weights: FloatArray, C: float) -> LinearFit:
    model = LogisticRegression(C=C, max_iter=MAX_STEPS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(rows, signs, weights)
    return LinearFit(model.coef_[0], float(model.intercept_[0]))


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Approximate leave-one-out scores and losses of logistic regression, without any further fit.

    One Newton step from the fit to all rows: without row i, its score changes by
    −a·w·(t − p)/(1 − w·p·(1 − p)·a), with the leverage a = zᵀ(Σ w·p(1−p)·zzᵀ + I/C)⁻¹z, the label
    t in {0, 1} and the probability p.

    Parameters
    ----------
    rows, signs, weights : what is fitted
    """

    rows: Rows
    signs: FloatArray
    weights: FloatArray

    def scores(self, scores: FloatArray, C: float) -> FloatArray:
        """The score of each row under a fit without it, from the scores of a fit with this C."""
        chance = expit(scores)
        curvature = self.weights * chance * (1 - chance)
        leverage = self._leverage(curvature, C)
        pull = self.weights * ((self.signs > 0) - chance)
        found: FloatArray = scores - leverage * pull / np.maximum(1 - curvature * leverage, 1e-6)
        return found

    def loss(self, left_out: FloatArray) -> float:
        """The weighted mean loss of these scores."""
        losses = np.logaddexp(0.0, -self.signs * left_out)
        return float(self.weights @ losses / max(float(self.weights.sum()), 1e-300))

    def _leverage(self, curvature: FloatArray, C: float) -> FloatArray:
        if self._with_ones is not None:  # more rows than columns
            rows = self._with_ones
            moment = (rows.T * curvature) @ rows + np.eye(rows.shape[1]) / C
            half = solve_triangular(cholesky(moment, lower=True), rows.T, lower=True)
            found: FloatArray = np.square(half).sum(axis=0)
            return found
        roots = np.sqrt(curvature)[:, np.newaxis]
        kernel = C * self._kernel
        middle = np.eye(curvature.size) + roots * kernel * roots.T
        half = solve_triangular(cholesky(middle, lower=True), roots * kernel, lower=True)
        return np.diag(kernel) - np.square(half).sum(axis=0)

    @cached_property
    def _with_ones(self) -> FloatArray | None:
        """The rows with an entry for the intercept, if there are more of them than columns."""
        n_rows, n_columns = self.rows.shape
        if n_columns >= n_rows:
            return None
        dense = self.rows.toarray() if is_sparse(self.rows) else self.rows
        return np.column_stack([dense, np.full(n_rows, INTERCEPT_ENTRY)])

    @cached_property
    def _kernel(self) -> FloatArray:
        products = self.rows @ self.rows.T
        dense = products.toarray() if is_sparse(products) else products
        return np.asarray(dense + INTERCEPT_ENTRY**2)
