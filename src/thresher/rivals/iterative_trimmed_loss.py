"""Iterative trimmed loss: fit, forget the rows that fit worst, fit again."""

from __future__ import annotations

from typing import Any

import numpy as np

from thresher.rivals.refitting import RefittingRival, fit_halfspace, margins
from thresher.rivals.trimming import rows_without_worst
from thresher.validation import FloatArray, Rows, check_count


class IterativeTrimmedLoss(RefittingRival):
    """A base classifier, fitted again and again on the (1 − noise_rate)n rows of the least loss.

    It ends when a set of rows comes back. It works while the first fit still gives planted rows a
    larger loss than clean ones; rows strong enough to turn the first fit are kept ever after.

    The logistic and the hinge loss fall with the margin y(w·x + b), so the rows of the least loss
    are those of the largest margin, whatever the loss.

    Parameters
    ----------
    noise_rate : share of rows that may be planted, at least 0 and below 0.5
    estimator : a linear classifier with `coef_`; None: L1 logistic regression, C tuned once
    max_nonzeros : the default estimator's C is tuned among models with at most so many weights
    standardize : whether columns are put on one scale first
    max_iter : most refits
    random_state : seed of the default estimator

    Attributes
    ----------
    kept_rows_ : the rows of the last fit
    n_iter_ : refits
    coef_, intercept_, classes_, n_features_in_ : as in scikit-learn's linear classifiers

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((500, 10))
    >>> y = np.where(X[:, 3] > X[:, 7], 1, -1)
    >>> y[:20] *= -1
    >>> model = IterativeTrimmedLoss(noise_rate=0.04, random_state=0).fit(X, y)
    >>> int(model.kept_rows_.min())
    20
    """

    n_iter_: int

    def __init__(
        self,
        noise_rate: float = 0.05,
        *,
        estimator: Any = None,
        max_nonzeros: int | None = None,
        standardize: bool = True,
        max_iter: int = 20,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            noise_rate,
            estimator=estimator,
            max_nonzeros=max_nonzeros,
            standardize=standardize,
            random_state=random_state,
        )
        self.max_iter = max_iter

    def _learn(self, rows: Rows, signs: FloatArray) -> tuple[FloatArray, float]:
        n_dropped = self._n_planted(signs.size)
        base = self._base(rows, signs)
        kept = np.arange(signs.size)
        halfspace = fit_halfspace(base, rows, signs)
        seen: set[bytes] = set()
        self.n_iter_ = 0
        for _ in range(check_count(self.max_iter, "max_iter")):
            kept = rows_without_worst(-margins(halfspace, rows, signs), n_dropped, signs)
            if kept.tobytes() in seen:
                break
            seen.add(kept.tobytes())
            halfspace = fit_halfspace(base, rows[kept], signs[kept])
            self.n_iter_ += 1
        self.kept_rows_ = kept
        return halfspace
