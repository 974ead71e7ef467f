"""Contradictions: how many rows are farther on the wrong side than honest errors explain."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import column_or_1d

from thresher.arrays import to_host
from thresher.validation import FloatArray

# Of the fit whose contradictions are counted.
WARY = {"sparsity": "auto", "noise_rate": 0.25, "final_fit": "hinge"}
BORDERS = (0.75, 1.0, 1.25)  # between near and far, in median distances from the boundary
DEVIATIONS = 1.645  # by which counts may be off, for 90%
MODEL_ERROR = 0.005  # of the rows: by which the curve of honest errors may be off
LEAST, MOST = 0.02, 0.4  # noise rates that a fit uses when it estimates its own
UNSEEN = (
    "Planted rows that look like their class are not visible, and only about a third of flipped "
    "labels are."
)


@dataclass(frozen=True)
class NoiseRate:
    """The share of rows that visibly contradict the others.

    Parameters
    ----------
    estimate : of that share
    low, high : interval that covers it in most tables
    message : what was seen, and what cannot be seen

    Examples
    --------
    >>> NoiseRate.of(0.05, 0.04, 0.07).message
    'About 5.0% of the rows (4.0% to 7.0%) contradict the others by more than honest errors...'
    """

    estimate: float
    low: float
    high: float
    message: str

    @classmethod
    def of(cls, estimate: float, low: float, high: float) -> Self:
        """The estimate with its message."""
        if low > 0:
            seen = f"About {estimate:.1%} of the rows ({low:.1%} to {high:.1%}) contradict"
        else:
            seen = f"At most {high:.1%} of the rows (estimate: {estimate:.1%}) contradict"
        return cls(
            estimate, low, high, f"{seen} the others by more than honest errors do. {UNSEEN}"
        )

    @classmethod
    def seen_by(cls, classifier: Any, X: Any, y: Any) -> Self:
        """The estimate from a `HalfspaceClassifier`, which is fitted warily; it stays as it is."""
        excesses, errors = np.array(list(_excesses(_margins(classifier, X, y)))).T
        estimate = max(float(np.median(excesses)), 0.0)
        low = float((excesses - DEVIATIONS * errors).min()) - MODEL_ERROR
        high = float((excesses + DEVIATIONS * errors).max()) + MODEL_ERROR
        return cls.of(estimate, max(low, 0.0), max(high, estimate))

    @property
    def to_withstand(self) -> float:
        """The noise rate for a fit: the upper end of the interval, at least 2% and at most 40%."""
        return min(max(self.high, LEAST), MOST)


def _margins(classifier: Any, X: Any, y: Any) -> FloatArray:
    """The score of each row in a wary fit, negative where it contradicts the label."""
    wary = clone(classifier).set_params(**WARY)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what it distrusts is the question, not a finding
        scores = to_host(wary.fit(X, y).decision_function(X))
    labels = column_or_1d(to_host(y))
    margins: FloatArray = np.where(labels == wary.classes_[1], scores, -scores)
    return margins


def _excesses(margins: FloatArray) -> Iterator[tuple[float, float]]:
    """For each border, the share of rows that contradict beyond honest errors, and its error."""
    distances, is_wrong = np.abs(margins), margins < 0
    distances = distances / (float(np.median(distances)) or 1.0)
    for border in BORDERS:
        is_far = distances > border
        seen = float(is_wrong[is_far].sum())
        expected = _expected(distances[~is_far], is_wrong[~is_far], distances[is_far])
        n_rows = margins.size
        yield (seen - expected) / n_rows, float(np.sqrt(seen + expected)) / n_rows


def _expected(near: FloatArray, is_wrong: Any, far: FloatArray) -> float:
    """How many far rows honest errors explain, by a logistic curve that near rows follow."""
    share = float(is_wrong.mean()) if is_wrong.size else 0.0
    if share in (0.0, 1.0) or not far.size:
        return share * far.size
    curve = LogisticRegression(C=100.0).fit(near[:, np.newaxis], is_wrong)
    if curve.coef_[0, 0] >= 0:  # honest errors never become more frequent
        return share * far.size
    return float(curve.predict_proba(far[:, np.newaxis])[:, 1].sum())
