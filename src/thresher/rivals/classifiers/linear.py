"""What the classifiers share: checks, robust scaling of the columns, a linear decision rule."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from thresher.estimators.checks import check_table, check_training_table, check_two_classes
from thresher.validation import (
    FloatArray,
    Rows,
    check_noise_rate,
    check_switch,
    is_sparse,
    seed_from,
)


class LinearRival(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A linear classifier for two classes; a subclass says how it learns from scaled rows.

    The subclass has `_learn(rows, signs)`, which returns coefficients and offset for these rows,
    and stores its parameters. Those that several rivals have are checked here: `noise_rate`
    (an upper bound on the fraction of planted rows), `standardize` (whether to scale the columns
    first, see `Standardization`), `fit_intercept`, and `random_state`, from which `_seed` is the
    integer to pass to scikit-learn.
    """

    coef_: FloatArray
    intercept_: FloatArray
    classes_: NDArray[Any]
    n_features_in_: int

    def fit(self, X: object, y: object) -> Self:
        """Learn from labeled rows.

        Parameters
        ----------
        X : (n, d) array, sparse matrix or data frame
        y : (n,) labels of two classes

        Raises
        ------
        TypeError, ValueError
            A parameter is out of range, a value is not a finite number, or there are not exactly
            two classes.
        """
        noise_rate = check_noise_rate(getattr(self, "noise_rate", 0.0))
        check_switch(self.standardize, "standardize")
        check_switch(getattr(self, "fit_intercept", True), "fit_intercept")
        self._seed = seed_from(getattr(self, "random_state", 0)) % 2**32  # scikit-learn's limit
        rows, labels = check_training_table(self, X, y)
        self.classes_, signs = check_two_classes(labels)
        if is_sparse(rows) and rows.nnz < 2**31:  # liblinear takes 32-bit indices only
            parts = (rows.data, rows.indices.astype(np.int32), rows.indptr.astype(np.int32))
            rows = sp.csr_array(parts, shape=rows.shape)
        scaling = Standardization.identity(rows.shape[1])
        if self.standardize:
            # Twice the noise rate, so that chance does not put a planted entry at the cut.
            scaling = Standardization.of(rows, clipped_fraction=min(2 * noise_rate, 0.5))
        coef, offset = scaling.undo(*self._learn(scaling.apply(rows), signs))
        self.coef_ = coef[None, :]
        self.intercept_ = np.array([offset])
        return self

    def _learn(self, rows: Rows, signs: FloatArray) -> tuple[FloatArray, float]:
        raise NotImplementedError

    def decision_function(self, X: object) -> FloatArray:
        """The signed score w·x + b of each row; above zero means the second class."""
        check_is_fitted(self)
        scores: FloatArray = check_table(self, X) @ self.coef_[0] + self.intercept_[0]
        return scores

    def predict(self, X: object) -> NDArray[Any]:
        """The class of each row."""
        positive = self.decision_function(X) > 0
        return self.classes_[positive.astype(np.intp)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = False
        return tags


def n_planted(noise_rate: float, n_rows: int) -> int:
    """The number of rows that may be planted, rounded up, but always fewer than half.

    Examples
    --------
    >>> n_planted(0.05, 110), n_planted(0.4, 2)
    (6, 0)
    """
    # The small slack undoes rounding: 0.07·100 is a little above 7.
    return min(int(np.ceil(noise_rate * n_rows - 1e-9)), (n_rows - 1) // 2)


@dataclass(frozen=True, eq=False)
class Standardization:
    """Shift and scale of every column, x ↦ (x − center)/scale, that planted rows cannot set.

    The center is the median, which keeps the zeros of a column that is mostly zero; sparse rows
    are not shifted. So dense and sparse rows get the same numbers wherever more than half of each
    column is zero.

    Rows to learn from also stay within `lower` and `upper`: √n scales on either side of the mean,
    which no entry exceeds if the scale is the standard deviation. A scale that ignores the largest
    entries lets them exceed it without limit: in an almost constant column or one with heavy
    tails, a few entries would decide the whole fit.

    Parameters
    ----------
    center, scale : (d,) in the units of the columns; a constant column has scale 1
    lower, upper : (d,) range of scaled entries in `apply`

    Examples
    --------
    >>> rows = np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])
    >>> scaling = Standardization.of(rows, clipped_fraction=0.0)
    >>> scaling.center
    array([2., 3.])
    >>> scaling.apply(rows)[:, 0]
    array([-1.22474487,  0.        ,  1.22474487])
    """

    center: FloatArray
    scale: FloatArray
    lower: FloatArray
    upper: FloatArray

    @classmethod
    def of(cls, rows: Rows, *, clipped_fraction: float) -> Self:
        """The scaling of these rows: median, and standard deviation of clipped deviations.

        The largest `clipped_fraction` of a column's non-zero deviations from the center are
        clipped to the size of the others. Zeros do not count: the scale of a word that occurs in
        few rows is its scale in those rows.
        """
        n_rows, n_features = rows.shape
        if is_sparse(rows):
            columns: Any = sp.csc_array(rows)
            center = np.zeros(n_features)
            starts = columns.indptr
            deviations = [columns.data[starts[j] : starts[j + 1]] for j in range(n_features)]
        else:
            center = np.median(rows, axis=0)
            deviations = [rows[:, j] - center[j] for j in range(n_features)]
        moments = [clipped_moments(values, n_rows, clipped_fraction) for values in deviations]
        mean, scale = np.array(moments).reshape(n_features, 2).T
        # A little more than √n, so that rounding does not move an entry at the limit.
        reach = 1.001 * np.sqrt(n_rows)
        return cls(center, scale, mean / scale - reach, mean / scale + reach)

    @classmethod
    def identity(cls, n_features: int) -> Self:
        """The scaling that changes nothing."""
        limit = np.full(n_features, np.inf)
        return cls(np.zeros(n_features), np.ones(n_features), -limit, limit)

    def apply(self, rows: Rows) -> Rows:
        """The rows in the new units and within the range; sparse rows become CSR."""
        if is_sparse(rows):
            scaled: Any = sp.csr_array(rows, copy=True)
            column = scaled.indices
            scaled.data /= self.scale[column]
            np.clip(scaled.data, self.lower[column], self.upper[column], out=scaled.data)
            return scaled
        return np.clip((rows - self.center) / self.scale, self.lower, self.upper)

    def undo(self, coef: FloatArray, offset: float) -> tuple[FloatArray, float]:
        """The same halfspace in the units of the columns: w·(x − c)/s + b as w'·x + b'."""
        original: FloatArray = coef / self.scale
        return original, offset - float(original @ self.center)


def clipped_moments(
    values: FloatArray, n_rows: int, clipped_fraction: float
) -> tuple[float, float]:
    """Mean and standard deviation of a column after its largest non-zero entries are clipped.

    Parameters
    ----------
    values : the column's entries; zeros may be omitted
    n_rows : length of the column
    clipped_fraction : fraction of the non-zero entries to clip, in [0, 1)

    Examples
    --------
    >>> mean, deviation = clipped_moments(np.array([1.0, -1.0, 99.0, -1.0, 1.0]), 6, 0.2)
    >>> round(mean, 6), round(deviation, 6)
    (0.166667, 0.897527)
    """
    nonzero = values[values != 0]
    if nonzero.size == 0:
        return 0.0, 1.0
    n_clipped = min(int(np.ceil(clipped_fraction * nonzero.size)), nonzero.size - 1)
    magnitudes = np.abs(nonzero)
    limit = np.partition(magnitudes, nonzero.size - 1 - n_clipped)[nonzero.size - 1 - n_clipped]
    clipped = np.clip(nonzero, -limit, limit)
    mean = float(clipped.sum() / n_rows)
    squares = np.square(clipped - mean).sum() + (n_rows - nonzero.size) * mean**2
    deviation = float(np.sqrt(squares / n_rows))
    # A deviation this small is rounding error in a constant column.
    return mean, deviation if deviation > 1e-12 * limit else 1.0
