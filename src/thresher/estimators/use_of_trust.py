"""How much of the trust an estimator needs: as little distrust as predicts held-out rows well."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import _safe_indexing

from thresher.estimators.trust import weighted_error
from thresher.validation import FloatArray

SLIGHT = 0.005  # by which the squared error of probabilities may exceed the smallest one
FEWEST = 100  # rows of each class: fewer say little about so small a difference
N_FOLDS = 2


class UseOfTrust(NamedTuple):
    """What is made of the trust ("none", "confirmed" or "all"), and the weight of each row."""

    name: str
    weights: FloatArray


class Judged:
    """A classifier that is fitted with weights, judged by the rows that a filter trusts.

    An attack on linear models may not concern a forest, and a row that a linear model gets wrong
    may be one that the forest needs. So an estimator is fitted to half of the rows and judged on
    the other half, three times: without trust; with the trust of those rows that it confirms; and
    with all of it. The first that is hardly worse than the best is taken.

    Parameters
    ----------
    estimator : unfitted, takes `sample_weight`
    rows, labels : of the table
    base : (n,) weights to be multiplied by the trust
    filter_ : the fitted `HalfspaceClassifier` whose trust it is. Rows that it left out because they
        lost a dispute are left out in any case
    scores : (n,) of the filter, positive for the second class
    """

    def __init__(
        self,
        estimator: Any,
        rows: Any,
        labels: NDArray[Any],
        base: FloatArray,
        filter_: Any,
        scores: FloatArray,
    ) -> None:
        self._estimator, self._rows, self._labels = estimator, rows, labels
        self._base, self._trust, self._scores = base, filter_.row_weights_, scores
        self._none: FloatArray = np.zeros(labels.size)
        self._none[filter_.phases_[0].row_ids] = 1.0

    def use(self) -> UseOfTrust:
        """As little distrust as possible."""
        none, everything = UseOfTrust("none", self._none), UseOfTrust("all", self._trust)
        classes, counts = np.unique(self._labels, return_counts=True)
        if np.array_equal(self._trust, self._none):
            return none
        if counts.min() < FEWEST:
            return everything
        right = self._held_out(none.weights)
        confirmed = self._confirmed(right < 0.5, self._labels == classes[1])
        uses = (none, UseOfTrust("confirmed", confirmed), everything)
        losses = [self._loss(right), *(self._loss(self._held_out(w)) for _, w in uses[1:])]
        return next(use for use, loss in zip(uses, losses) if loss <= min(losses) + SLIGHT)

    def _held_out(self, weights: FloatArray) -> FloatArray:
        """The probability of its own label for each row, by a fit to the other half."""
        right = np.empty(self._labels.size)
        folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0)
        for train, test in folds.split(np.empty((self._labels.size, 1)), self._labels):
            fitted = clone(self._estimator).fit(
                _safe_indexing(self._rows, train),
                self._labels[train],
                sample_weight=(self._base * weights)[train],
            )
            right[test] = _probability(fitted, _safe_indexing(self._rows, test), self._labels[test])
        return right

    def _confirmed(self, wrong: NDArray[np.bool_], positive: NDArray[np.bool_]) -> FloatArray:
        """Trust of rows with a label that both contradict, or the filter alone, but strongly."""
        far = np.abs(self._scores) > np.median(np.abs(self._scores))
        contradicted = ((self._scores > 0) != positive) & (wrong | far)
        return np.where(contradicted, self._trust, self._none)

    def _loss(self, right: FloatArray) -> float:
        return weighted_error((1 - right) ** 2, self._labels, self._trust * self._base)


def _probability(fitted: Any, rows: Any, labels: NDArray[Any]) -> FloatArray:
    """Of the label of each row; 0 or 1 by an estimator without probabilities."""
    if not hasattr(fitted, "predict_proba"):
        return np.asarray(fitted.predict(rows) == labels, dtype=np.float64)
    probabilities: FloatArray = np.asarray(fitted.predict_proba(rows), dtype=np.float64)
    return probabilities[np.arange(labels.size), np.searchsorted(fitted.classes_, labels)]
