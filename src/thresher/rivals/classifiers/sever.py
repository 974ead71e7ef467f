"""Sever: rows whose gradients stand out along one direction are dropped, and the fit repeated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass

import numpy as np
from scipy.sparse.linalg import LinearOperator, svds
from scipy.special import expit

from thresher.rivals.classifiers.linear import n_planted
from thresher.rivals.classifiers.refitting import (
    RefittingRival,
    fit_halfspace,
    margins,
    rows_without_worst,
)
from thresher.validation import FloatArray, Rows, check_count, check_positive, is_sparse

# Derivatives of log(1 + exp(−m)) and max(0, 1 − m) by the margin m.
_SLOPES: dict[str, Callable[[FloatArray], FloatArray]] = {
    "logistic": lambda margin: -expit(-margin),
    "hinge": lambda margin: np.where(margin < 1, -1.0, 0.0),
}
_DENSE_SIZE = 16  # up to this size the iterative solver has no room


@dataclass(eq=False, repr=False)
class Sever(RefittingRival):
    """A base classifier, fitted in rounds that drop the rows with the most unusual gradients.

    A round fits the classifier; centers, for each class, the gradients of the loss at the fit;
    takes their top singular vector; and drops the rows with the largest squared projections on it
    (Diakonikolas et al. 2019, "Sever: A Robust Meta-Algorithm for Stochastic
    Optimization", Algorithm 2 with the class-wise centering of its experiments). The rounds drop
    removal_factor·noise_rate of all rows, in equal parts, and a last fit follows. Its offset is the
    one with the fewest errors on all rows, kept rows scored by cross-validation.

    The paper's experiments drop more rows than are planted, because each round also drops clean
    ones; so the default factor is 1.5. They drop the same fraction of both classes; this drops the
    largest projections of both together, because all planted rows may be in one class. It works
    while the planted gradients change their covariance; a small tilt, or a spike that does not show
    in a dense spectrum, passes.

    Parameters
    ----------
    noise_rate : upper bound on the fraction of planted rows, at least 0 and below 0.5
    estimator : a linear classifier with `coef_`; None: L1 logistic regression, C tuned once
    max_nonzeros : limit on non-zero coefficients when tuning the default estimator; None: no limit
    loss : "logistic" or "hinge", whichever the estimator minimizes
    removal_factor : fraction of rows that all rounds drop, as a multiple of noise_rate
    n_rounds : number of rounds
    standardize : whether to put the columns on one scale first
    random_state : seed of the default estimator

    Attributes
    ----------
    kept_rows_ : the rows of the last fit
    coef_, intercept_, classes_, n_features_in_ : as in scikit-learn's linear classifiers

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((500, 10))
    >>> y = np.where(X[:, 3] > X[:, 7], 1, -1)
    >>> X[:20], y[:20] = [0, 0, 0, 9, 0, 0, 0, -9, 0, 0], -1
    >>> model = Sever(noise_rate=0.04, random_state=0).fit(X, y)
    >>> int(model.kept_rows_.min())
    20
    """

    _: KW_ONLY
    loss: str = "logistic"
    removal_factor: float = 1.5
    n_rounds: int = 4

    def _learn(self, rows: Rows, signs: FloatArray) -> tuple[FloatArray, float]:
        if self.loss not in _SLOPES:
            raise ValueError(f'loss must be "logistic" or "hinge", got {self.loss!r}')
        fraction = check_positive(self.removal_factor, "removal_factor") * self.noise_rate
        n_rounds = check_count(self.n_rounds, "n_rounds")
        # The number of rows that are gone before each round, and after the last.
        cuts = [n_planted(fraction * k / n_rounds, signs.size) for k in range(n_rounds + 1)]
        base = self._base(rows, signs)
        kept = np.arange(signs.size)
        for n_dropped in np.diff(cuts):
            halfspace = fit_halfspace(base, rows[kept], signs[kept])
            scores = self._scores(halfspace, rows[kept], signs[kept])
            kept = kept[rows_without_worst(scores, int(n_dropped), signs[kept])]
        self.kept_rows_ = kept
        halfspace = fit_halfspace(base, rows[kept], signs[kept])
        return self._with_offset(base, rows, signs, halfspace)

    def _scores(
        self, halfspace: tuple[FloatArray, float], rows: Rows, signs: FloatArray
    ) -> FloatArray:
        factors = signs * _SLOPES[self.loss](margins(halfspace, rows, signs))
        scores = np.zeros(signs.size)
        for sign in (-1, 1):
            of_class = np.flatnonzero(signs == sign)
            scores[of_class] = squared_projections(rows[of_class], factors[of_class])
        return scores


def squared_projections(rows: Rows, factors: FloatArray) -> FloatArray:
    """The squared projections of the centered factor·x on its top singular vector.

    The mean is subtracted inside the products, so that sparse rows stay sparse.

    Parameters
    ----------
    rows : (n, d) array or CSR
    factors : (n,) a number for each row

    Examples
    --------
    >>> rows = np.array([[1.0, 0.0], [-1.0, 0.0], [5.0, 1.0], [-5.0, -1.0]])
    >>> squared_projections(rows, np.ones(4)).round(3)
    array([ 0.964,  0.964, 25.999, 25.999])
    """
    mean = np.asarray(rows.T @ factors / factors.size)

    def times(direction: FloatArray) -> FloatArray:
        direction = direction.ravel()
        return factors * (rows @ direction) - float(mean @ direction)

    def transpose_times(values: FloatArray) -> FloatArray:
        values = values.ravel()
        return rows.T @ (factors * values) - mean * values.sum()

    size = min(rows.shape)
    if size <= _DENSE_SIZE:
        return np.square(times(_small_top_vector(rows, factors, mean)))
    start = np.random.default_rng(0).standard_normal(size)
    if not np.any(transpose_times(times(transpose_times(np.resize(start, factors.size))))):
        return np.zeros(factors.size)  # all gradients are equal
    gradients = LinearOperator(
        rows.shape, matvec=times, rmatvec=transpose_times, dtype=np.dtype(np.float64)
    )
    direction = svds(gradients, k=1, tol=1e-3, v0=start)[2][0]
    return np.square(times(direction))


def _small_top_vector(rows: Rows, factors: FloatArray, mean: FloatArray) -> FloatArray:
    dense = rows.toarray() if is_sparse(rows) else rows
    vectors = np.linalg.svd(factors[:, None] * dense - mean, full_matrices=False)[2]
    direction: FloatArray = vectors[0]
    return direction
