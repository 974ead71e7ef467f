"""Contradictions: how many rows are farther on the wrong side than honest errors explain."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import column_or_1d

from thresher.arrays import DeviceRows, to_host
from thresher.estimators.checks import check_table
from thresher.estimators.folds import Fold, usual_folds
from thresher.estimators.penalized import with_short_indices
from thresher.estimators.screening import REACH, promising_by_fold
from thresher.validation import FloatArray, Rows

# Of the fit that finds the first trust.
WARY = {"sparsity": "auto", "noise_rate": 0.4, "final_fit": "hinge"}
N_ROUNDS = 3  # of penalized fits to the rows that do not contradict
LEAST_C, LEAST_TOTAL_C = 0.01, 3.0  # of these fits: of a row, and of all rows
MOST_STEPS = 200
MOST_ROWS = 10_000  # that one of them sees
BORDERS = (0.75, 1.0, 1.25)  # between near and far, in median distances from the boundary
DEVIATIONS = 1.645  # by which counts may be off, for 90%
MODEL_ERROR = 0.005  # of the rows: by which the curve of honest errors may be off
LEAST, USUAL, MOST = 0.02, 0.05, 0.4  # noise rates that a fit uses when it estimates its own
NEARLY = 0.8  # of the error of a constant: a model with more of it explains nothing
HARDLY = "The labels can hardly be predicted from the columns, so planted rows would not stand out."
UNSEEN = (
    "This estimate does not see planted rows that look like their class, and sees only about a "
    "third of flipped labels."
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
    def of(cls, estimate: float, low: float, high: float, remark: str = "") -> Self:
        """The estimate with its message, which a remark can precede."""
        if low > 0:
            seen = f"About {estimate:.1%} of the rows ({low:.1%} to {high:.1%}) contradict"
        else:
            seen = f"An estimated {estimate:.1%} of the rows (up to {high:.1%}) contradict"
        sentences = (remark, f"{seen} the others by more than honest errors do.", UNSEEN)
        return cls(estimate, low, high, " ".join(filter(None, sentences)))

    @classmethod
    def seen_by(cls, classifier: Any, X: Any, y: Any) -> Self:
        """The estimate from a `HalfspaceClassifier`, which is fitted warily; it stays as it is."""
        margins, shares, error = _margins(classifier, X, y)
        says_nothing = error > NEARLY * shares.min()
        excesses, errors = np.array(list(_excesses(margins))).T
        low = float((excesses - DEVIATIONS * errors).min()) - MODEL_ERROR
        # Where chance could be all of it, a careful count: the smallest, less a standard error.
        likely = np.median(excesses) if low > 0 else (excesses - errors).min()
        estimate = max(float(likely), 0.0)
        high = float((excesses + DEVIATIONS * errors).max()) + MODEL_ERROR
        if says_nothing:  # every error could be a planted row
            return cls.of(estimate, 0.0, max(high, error), HARDLY)
        return cls.of(estimate, max(low, 0.0), max(high, estimate))

    @property
    def to_withstand(self) -> float:
        """The noise rate for a fit: the upper end of the interval, within limits.

        At least 2%; at most 5% if nothing is visible, and else 40%.
        """
        return min(max(self.high, LEAST), MOST if self.low > 0 else USUAL)


def _margins(classifier: Any, X: Any, y: Any) -> tuple[FloatArray, FloatArray, float]:
    """The score of each row when it is held out, negative where it contradicts its label.

    And the shares of the classes, and the error on rows that did not even help to choose columns.

    A wary fit finds the trust in each row. Penalized fits to the trusted rows of the other folds
    give the scores; then all rows that do not contradict are trusted, and fitted once more.
    """
    wary = clone(classifier).set_params(**WARY)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what it distrusts is the question, not a finding
        wary.fit(X, y)
    table, labels = check_table(wary, X), column_or_1d(to_host(y))
    rows = scaled_rows(wary, table)
    signs = np.where(labels == wary.classes_[1], 1.0, -1.0)
    folds, weights = usual_folds(labels, seed=0), wary.row_weights_
    for _ in range(N_ROUNDS):
        margins = held_out_margins(rows, signs, weights, folds)
        weights = (margins >= -float(np.median(np.abs(margins)))).astype(np.float64)
    shares = np.array([(signs == sign).mean() for sign in (-1.0, 1.0)])
    unseen = _margins_of_unseen(wary, table, signs, weights, folds)
    return margins, shares, float(((margins if unseen is None else unseen) < 0).mean())


def _margins_of_unseen(
    fitted: Any, rows: Rows, signs: FloatArray, weights: FloatArray, folds: Sequence[Fold]
) -> FloatArray | None:
    """The margins by columns that are chosen for each fold, without its rows; None if all are."""
    n_columns = fitted.columns_.size
    if n_columns == rows.shape[1]:
        return None
    margins, host = np.zeros(signs.size), _on_host(rows)
    own = promising_by_fold(host, signs, folds, n_columns, fitted.scaling_)
    for fold in folds:
        part = scaled_rows(fitted, host, own[fold.number])
        margins[fold.test] = held_out_margins(part, signs, weights, [fold])[fold.test]
    return margins


def scaled_rows(fitted: Any, rows: Rows, columns: NDArray[np.intp] | None = None) -> Rows:
    """The columns that the phases of a fitted classifier looked at, or others, clipped."""
    chosen = fitted.columns_ if columns is None else columns
    scaling = fitted.scaling_.take(chosen)
    scaling = replace(scaling, reach=min(scaling.reach, REACH))
    return with_short_indices(scaling.apply(_on_host(rows)[:, chosen]))


def _on_host(rows: Rows) -> Rows:
    return to_host(rows.array) if isinstance(rows, DeviceRows) else rows


def held_out_margins(
    rows: Rows, signs: FloatArray, weights: FloatArray, folds: Sequence[Fold]
) -> FloatArray:
    """The score of each row by penalized fits to the other folds, negative where it contradicts."""
    margins = np.zeros(signs.size)
    for fold in folds:
        seen = fold.train[:: -(-fold.train.size // MOST_ROWS)]
        if np.unique(signs[seen]).size < 2:
            seen = fold.train
        model = LogisticRegression(C=max(LEAST_C, LEAST_TOTAL_C / seen.size), max_iter=MOST_STEPS)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # a rough fit is enough
            model.fit(rows[seen], signs[seen], sample_weight=weights[seen])
        margins[fold.test] = signs[fold.test] * model.decision_function(rows[fold.test])
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
