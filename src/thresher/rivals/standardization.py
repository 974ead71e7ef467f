"""Columns on one scale, set so that planted rows cannot set it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from thresher.validation import FloatArray, Rows, is_sparse


@dataclass(frozen=True, eq=False)
class Standardization:
    """Shift and scale of every column: x ↦ (x − center)/scale.

    The center is the median, which keeps the zeros of a column that is mostly zero; sparse rows
    are not shifted at all. So dense and sparse rows get the same numbers wherever more than half
    of each column is zero.

    Parameters
    ----------
    center, scale : (d,) in the units of the columns; a constant column has scale 1

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

    @classmethod
    def of(cls, rows: Rows, *, clipped_fraction: float) -> Standardization:
        """The scaling of these rows: median, and standard deviation of clipped deviations.

        The largest `clipped_fraction` of a column's non-zero deviations from the center count as
        if they were no larger than the others. Zeros are left out because a word that stands in
        few rows has no scale but that of those rows.
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
        scale = [clipped_deviation(values, n_rows, clipped_fraction) for values in deviations]
        return cls(center, np.array(scale))

    @classmethod
    def identity(cls, n_features: int) -> Standardization:
        """The scaling that changes nothing."""
        return cls(np.zeros(n_features), np.ones(n_features))

    def apply(self, rows: Rows) -> Rows:
        """The rows in the new units, as CSR if they were sparse."""
        if is_sparse(rows):
            scaled: Any = sp.csr_array(rows, copy=True)
            scaled.data /= self.scale[scaled.indices]
            return scaled
        return (rows - self.center) / self.scale

    def undo(self, weights: FloatArray, offset: float) -> tuple[FloatArray, float]:
        """The same halfspace in the units of the columns: w·(x − c)/s + b as w'·x + b'."""
        original: FloatArray = weights / self.scale
        return original, offset - float(original @ self.center)


def clipped_deviation(values: FloatArray, n_rows: int, clipped_fraction: float) -> float:
    """The standard deviation of a column after its largest non-zero entries were clipped.

    Parameters
    ----------
    values : the column's entries, of which zeros may be left out
    n_rows : length of the column
    clipped_fraction : share of the non-zero entries that are clipped, in [0, 1)

    Examples
    --------
    >>> round(clipped_deviation(np.array([1.0, -1.0, 99.0, -1.0, 1.0]), 6, 0.2), 6)
    0.897527
    """
    nonzero = values[values != 0]
    if nonzero.size == 0:
        return 1.0
    n_clipped = min(int(np.ceil(clipped_fraction * nonzero.size)), nonzero.size - 1)
    magnitudes = np.abs(nonzero)
    limit = np.partition(magnitudes, nonzero.size - 1 - n_clipped)[nonzero.size - 1 - n_clipped]
    clipped = np.clip(nonzero, -limit, limit)
    mean = clipped.sum() / n_rows
    squares = np.square(clipped - mean).sum() + (n_rows - nonzero.size) * mean**2
    deviation = float(np.sqrt(squares / n_rows))
    # What is left of a constant column after rounding is no scale.
    return deviation if deviation > 1e-12 * limit else 1.0
