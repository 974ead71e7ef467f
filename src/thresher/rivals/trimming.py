"""Means that ignore the extremes of each column, and sets of rows without the worst."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from thresher.validation import FloatArray, Rows, is_sparse


def trimmed_column_means(rows: Rows, factors: FloatArray, n_trimmed: int) -> FloatArray:
    """For each column the mean of factor·x without its largest and its smallest values.

    mean over the n − 2k middle values of {cᵢ·xᵢⱼ}, column by column; no sparse row is made dense.

    Parameters
    ----------
    rows : (n, d) array or CSR
    factors : (n,) a number c for each row
    n_trimmed : k, how many values are dropped at each end; 2k < n

    Examples
    --------
    >>> rows = np.array([[1.0], [2.0], [3.0], [100.0]])
    >>> trimmed_column_means(rows, np.ones(4), 1)
    array([2.5])
    >>> trimmed_column_means(sp.csr_array(rows), np.ones(4), 1)
    array([2.5])
    """
    n_rows = rows.shape[0]
    if is_sparse(rows):
        return _trimmed_sums_of_sparse(rows, factors, n_trimmed) / (n_rows - 2 * n_trimmed)
    # Columns in memory order: a partition across strides is several times slower.
    values = np.ascontiguousarray(rows.T) * factors
    if n_trimmed:
        values.partition((n_trimmed, n_rows - 1 - n_trimmed), axis=1)
    means: FloatArray = values[:, n_trimmed : n_rows - n_trimmed].mean(axis=1)
    return means


def _trimmed_sums_of_sparse(rows: Rows, factors: FloatArray, n_trimmed: int) -> FloatArray:
    """Sums of the middle values: stored ones are sorted, the others are known to be zero."""
    n_rows, n_features = rows.shape
    columns: Any = sp.coo_array(rows)
    values = columns.data * factors[columns.row]
    stored = values != 0
    values, column = values[stored], columns.col[stored]
    order = np.lexsort((values, column))
    sums = np.concatenate([[0.0], np.cumsum(values[order])])
    n_stored = np.bincount(column, minlength=n_features)
    n_negative = np.bincount(column[values < 0], minlength=n_features)
    n_zero = n_rows - n_stored
    first = np.concatenate([[0], np.cumsum(n_stored)[:-1]])
    low = first + _n_dropped(n_trimmed, n_negative, n_zero)
    high = first + n_stored - _n_dropped(n_trimmed, n_stored - n_negative, n_zero)
    middle: FloatArray = sums[high] - sums[low]
    return middle


def _n_dropped(
    n_trimmed: int, n_beyond: NDArray[np.intp], n_zero: NDArray[np.intp]
) -> NDArray[np.intp]:
    """How many stored values go when k of a column go: those beyond zero, then zeros, then more."""
    return np.minimum(n_trimmed, n_beyond) + np.maximum(0, n_trimmed - n_beyond - n_zero)


def trimmed_mean(values: FloatArray, n_trimmed: int) -> float:
    """The mean of the values without the `n_trimmed` largest and as many smallest.

    Examples
    --------
    >>> trimmed_mean(np.array([-50.0, 1.0, 2.0, 1000.0]), 1)
    1.5
    """
    ordered = np.sort(values)
    return float(ordered[n_trimmed : values.size - n_trimmed].mean())


def rows_without_worst(badness: FloatArray, n_dropped: int, signs: FloatArray) -> NDArray[np.intp]:
    """The rows that stay when the worst go, in their order; half of each class always stays.

    Ties go to the earlier row, so the answer does not depend on how a sort breaks them.

    Parameters
    ----------
    badness : (n,) larger is worse
    n_dropped : how many rows should go
    signs : (n,) class of each row, -1 or +1

    Examples
    --------
    >>> rows_without_worst(np.array([9.0, 1.0, 8.0, 2.0]), 2, np.array([1, 1, 1, -1]))
    array([1, 2, 3])
    """
    worst_first = np.argsort(-badness, kind="stable")
    stays = np.ones(badness.size, dtype=np.bool_)
    for sign in (-1, 1):
        of_class = worst_first[signs[worst_first] == sign]
        stays[of_class[: of_class.size // 2]] = False
    candidates = worst_first[~stays[worst_first]][:n_dropped]
    stays[:] = True
    stays[candidates] = False
    return np.flatnonzero(stays)
