"""What tells planted rows from others, as numbers about a row that no fit needs to have seen."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import IsotonicRegression

from thresher.estimators.columns import ColumnScaling
from thresher.learning.steps import SEARCH_GAP
from thresher.outliers import remove_outliers
from thresher.validation import FloatArray, Rows, is_sparse

N_DIRECTIONS = 8  # of each view, in which rows that stand out are looked for
COLUMNS_AT_ONCE = 16  # small enough for the caches of a processor
LEAST_REMOVED, MOST_REMOVED = 1e-3, 0.5  # share of the rows


@dataclass(frozen=True, eq=False)
class RowSigns:
    """Three numbers about a labeled row, each larger the more the row stands out.

    The first two are xᵀHx, of the row as it is and as seen from the median of its class, with the H
    that Algorithm 2 finds hardest on the rows of a fit; the third is how far the row lies on the
    wrong side of the model.

    Parameters
    ----------
    columns : (c,) of the table that are looked at
    scaling : of these columns
    weights, offset : of the model, in scaled columns
    directions : (c, k) the squares of the projections on the first `n_as_they_are` add up to the
        first number, those of the others to the second
    middles : (2, k) the projections of the medians of both classes; zero for the first directions
    n_as_they_are : number of directions for rows as they are
    """

    columns: NDArray[np.intp]
    scaling: ColumnScaling
    weights: FloatArray
    offset: float
    directions: FloatArray
    middles: FloatArray
    n_as_they_are: int

    @classmethod
    def of(cls, classifier: Any, rows: Rows, signs: FloatArray) -> Self:
        """From a fitted classifier, and the table that it was fitted to."""
        columns = np.union1d(classifier.columns_, classifier.support_)
        scaling = classifier.scaling_.take(columns)
        weights = np.zeros(columns.size)
        weights[np.searchsorted(columns, classifier.support_)] = classifier._weights
        part = rows[:, columns]
        scaled = scaling.apply(part.toarray() if is_sparse(part) else part)
        medians = np.stack([np.median(scaled[signs == sign], axis=0) for sign in (-1.0, 1.0)])
        plain = _directions(classifier, scaled)
        seen_from_class = _directions(classifier, scaled - medians[(signs > 0).astype(np.intp)])
        middles = np.hstack([np.zeros((2, plain.shape[1])), medians @ seen_from_class])
        directions = np.hstack([plain, seen_from_class])
        offset = float(classifier._offset)
        return cls(columns, scaling, weights, offset, directions, middles, plain.shape[1])

    def __call__(self, rows: FloatArray, signs: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The score of each row, and its three numbers: (n,) and (3, n).

        `rows` has the `columns` alone, and is looked at a few columns at a time.
        """
        scores = np.full(rows.shape[0], self.offset)
        places = np.zeros((rows.shape[0], self.directions.shape[1]))
        for start in range(0, self.columns.size, COLUMNS_AT_ONCE):
            part = slice(start, start + COLUMNS_AT_ONCE)
            scaled = self.scaling.take(np.arange(self.columns.size)[part]).apply(rows[:, part])
            scores += scaled @ self.weights[part]
            places += scaled @ self.directions[part]
        places -= self.middles[(signs > 0).astype(np.intp)]
        np.square(places, out=places)
        plain, seen = places[:, : self.n_as_they_are], places[:, self.n_as_they_are :]
        return scores, np.stack([plain.sum(axis=1), seen.sum(axis=1), -signs * scores])


def _directions(classifier: Any, rows: FloatArray) -> FloatArray:
    """The directions of the H that is hardest on these rows; none if every row is trusted."""
    removed = 1 - float(classifier.row_weights_.mean())
    if removed == 0:
        return np.zeros((rows.shape[1], 0))
    phase = classifier.phases_[0].phase
    answer = remove_outliers(
        rows,
        l2_radius=1.0,
        l1_radius=phase.removal_l1_radius / phase.l2_radius,
        outlier_fraction=min(max(removed, LEAST_REMOVED), MOST_REMOVED),
        tolerance=phase.variance_tolerance,
        search_gap=min(SEARCH_GAP, phase.variance_tolerance),
    )
    left, sizes, _ = np.linalg.svd(answer.factor, full_matrices=False)
    return left[:, :N_DIRECTIONS] * sizes[:N_DIRECTIONS]


@dataclass(frozen=True, eq=False)
class MonotoneRule:
    """A number about rows that falls with each of several signs: the smallest that one gives it.

    Each sign alone gives the mean over the rows of a sample, made monotone (isotonic regression).

    Examples
    --------
    >>> signs = np.array([[0.0, 1.0, 2.0, 3.0]])
    >>> rule = MonotoneRule.of(signs, np.array([1.0, 0.8, 1.0, 0.0]))
    >>> rule(np.array([[-5.0, 1.5, 2.5, 9.0]]))
    array([1.  , 0.9 , 0.45, 0.  ])
    """

    curves: Sequence[tuple[FloatArray, FloatArray]]

    @classmethod
    def of(cls, signs: FloatArray, values: FloatArray) -> Self:
        """From the rows of a sample: their signs, one in each line, and their values."""
        fits = (IsotonicRegression(increasing=False).fit(sign, values) for sign in signs)
        return cls([(fit.X_thresholds_, fit.y_thresholds_) for fit in fits])

    def __call__(self, signs: FloatArray) -> FloatArray:
        """The number about each row."""
        parts = [np.interp(sign, *curve) for sign, curve in zip(signs, self.curves)]
        return np.minimum.reduce(parts)
