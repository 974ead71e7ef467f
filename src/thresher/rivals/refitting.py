"""What the filters share: a base classifier that is fitted again on the rows that are left."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import clone

from thresher.rivals.linear import LinearRival
from thresher.rivals.tuned import SparseLogisticRegressionCV, l1_logistic
from thresher.validation import FloatArray, Rows


class RefittingRival(LinearRival):
    """A rival around a base linear classifier; a subclass says which rows it is fitted on.

    The parameters are those of every such rival. `estimator` is a linear classifier of
    scikit-learn's kind, which gets scaled rows and labels -1 and +1 (None: L1 logistic
    regression); `max_nonzeros` and `random_state` are for the default only.
    """

    kept_rows_: NDArray[np.intp]

    def __init__(
        self,
        noise_rate: float = 0.05,
        *,
        estimator: Any = None,
        max_nonzeros: int | None = None,
        standardize: bool = True,
        random_state: Any = None,
    ) -> None:
        self.noise_rate = noise_rate
        self.estimator = estimator
        self.max_nonzeros = max_nonzeros
        self.standardize = standardize
        self.random_state = random_state

    def _base(self, rows: Rows, signs: FloatArray) -> Any:
        """The classifier to fit again and again, unfitted.

        For the default, C is tuned once, on all rows: tuning it at every round would cost the
        rounds more than they gain.
        """
        if self.estimator is not None:
            return clone(self.estimator)
        tuned = SparseLogisticRegressionCV(
            self.max_nonzeros, standardize=False, random_state=self._randomness
        )
        return l1_logistic(tuned.fit(rows, signs).C_, self._randomness)


def fit_halfspace(base: Any, rows: Rows, signs: FloatArray) -> tuple[FloatArray, float]:
    """Weights and offset of a fresh copy of the base classifier, fitted on these rows."""
    model = clone(base).fit(rows, signs)
    weights = np.asarray(getattr(model, "coef_", np.nan), dtype=np.float64)
    if weights.size != rows.shape[1] or not np.isfinite(weights).all():
        raise TypeError(
            f"estimator must be a linear classifier with a finite coef_, got {type(base).__name__}"
        )
    offset = np.ravel(getattr(model, "intercept_", 0.0))
    return weights.ravel(), float(offset[0])


def margins(halfspace: tuple[FloatArray, float], rows: Rows, signs: FloatArray) -> FloatArray:
    """How far each row lies on its own side: y(w·x + b)."""
    weights, offset = halfspace
    distance: FloatArray = signs * (rows @ weights + offset)
    return distance


def logistic_slopes(margin: FloatArray) -> FloatArray:
    """The slope of log(1 + exp(−m)) at each margin m.

    Examples
    --------
    >>> logistic_slopes(np.array([0.0, 100.0]))
    array([-5.00000000e-01, -3.72007598e-44])
    """
    slopes: FloatArray = -expit(-margin)
    return slopes


def hinge_slopes(margin: FloatArray) -> FloatArray:
    """The slope of max(0, 1 − m) at each margin m.

    Examples
    --------
    >>> hinge_slopes(np.array([0.0, 0.5, 2.0]))
    array([-1., -1.,  0.])
    """
    return np.where(margin < 1, -1.0, 0.0)
