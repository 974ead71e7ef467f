"""The filter everybody tries first: drop the longest rows of each class."""

from __future__ import annotations

import numpy as np

from thresher.rivals.refitting import RefittingRival, fit_halfspace
from thresher.rivals.trimming import rows_without_worst
from thresher.validation import FloatArray, Rows, is_sparse


class NormFilter(RefittingRival):
    """A base classifier, fitted without the rows that are longest for their class.

    A row's score is (‖x‖ − median)/(median distance from the median), both medians over its own
    class; the noise_rate·n rows of the highest scores go, whichever class they are in. It stops
    rows that lie far out and nothing else: a direction that stands out in no row's length passes.

    Parameters
    ----------
    noise_rate : share of rows that may be planted, at least 0 and below 0.5
    estimator : a linear classifier with `coef_`; None: L1 logistic regression, C tuned once
    max_nonzeros : the default estimator's C is tuned among models with at most so many weights
    standardize : whether columns are put on one scale first
    random_state : seed of the default estimator

    Attributes
    ----------
    kept_rows_ : the rows that stayed
    coef_, intercept_, classes_, n_features_in_ : as in scikit-learn's linear classifiers

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((500, 10))
    >>> y = np.where(X[:, 3] > X[:, 7], 1, -1)
    >>> X[:20], y[:20] = [0, 0, 0, 9, 0, 0, 0, -9, 0, 0], -1
    >>> model = NormFilter(noise_rate=0.04, random_state=0).fit(X, y)
    >>> int(model.kept_rows_.min())
    20
    """

    def _learn(self, rows: Rows, signs: FloatArray) -> tuple[FloatArray, float]:
        n_dropped = self._n_planted(signs.size)
        self.kept_rows_ = rows_without_worst(relative_lengths(rows, signs), n_dropped, signs)
        rows, signs = rows[self.kept_rows_], signs[self.kept_rows_]
        return fit_halfspace(self._base(rows, signs), rows, signs)


def relative_lengths(rows: Rows, signs: FloatArray) -> FloatArray:
    """How unusually long each row is for its class, in robust standard deviations or so.

    Examples
    --------
    >>> rows = np.array([[1.0], [2.0], [3.0], [9.0], [5.0]])
    >>> relative_lengths(rows, np.array([1.0, 1.0, 1.0, 1.0, -1.0]))
    array([-1.5, -0.5,  0.5,  6.5,  0. ])
    """
    squares = rows.multiply(rows).sum(axis=1) if is_sparse(rows) else np.square(rows).sum(axis=1)
    lengths = np.sqrt(np.asarray(squares, dtype=np.float64).ravel())
    scores = np.zeros(signs.size)
    for sign in (-1, 1):
        of_class = signs == sign
        excess = lengths[of_class] - np.median(lengths[of_class])
        spread = float(np.median(np.abs(excess)))
        scores[of_class] = excess / spread if spread > 0 else excess
    return scores
