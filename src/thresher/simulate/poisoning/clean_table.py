"""The clean table as an attacker sees it: rows, labels as signs, and what its columns are like."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.random import Generator
from numpy.typing import NDArray

from thresher.validation import FloatArray, Rows, is_sparse


@dataclass(frozen=True, eq=False)
class Columns:
    """Center, scale and range of every column; attacks are built in z = (x − center)/scale.

    The center is the median: zero in a column that is mostly zero, so that a sparse row stays
    sparse. The scale is the standard deviation, because the usual robust ones (median deviation,
    quartiles) are zero in just those columns. A constant column has scale 1 and never moves.

    Parameters
    ----------
    center : median of each column
    scale : standard deviation of each column
    lowest, highest : observed range of each column
    is_whole : whether a column holds integers only (counts, flags)

    Examples
    --------
    >>> columns = measure_columns(np.array([[0.0, 0.5], [0.0, 1.5], [3.0, 2.5]]))
    >>> columns.center, columns.highest, columns.is_whole
    (array([0. , 1.5]), array([3. , 2.5]), array([ True, False]))
    """

    center: FloatArray
    scale: FloatArray
    lowest: FloatArray
    highest: FloatArray
    is_whole: NDArray[np.bool_]

    @cached_property
    def lower(self) -> FloatArray:
        """The lowest scaled entry of each column, at most 0."""
        return (self.lowest - self.center) / self.scale

    @cached_property
    def upper(self) -> FloatArray:
        """The highest scaled entry of each column, at least 0."""
        return (self.highest - self.center) / self.scale

    def moved(
        self,
        entries: FloatArray,
        steps: FloatArray,
        features: NDArray[np.intp],
        rng: Generator,
    ) -> FloatArray:
        """Entries of the given columns moved by scaled steps, as far as the observed range goes.

        Integer columns are rounded up or down at random so that the mean is right: a word that
        should occur 0.3 times occurs once in 30% of the rows.

        Examples
        --------
        >>> columns = measure_columns(np.array([[0.0, 0.5], [0.0, 1.5], [3.0, 2.5]]))
        >>> features, rng = np.array([0, 1]), np.random.default_rng(0)
        >>> columns.moved(np.array([[0.0, 1.5]]), np.array([[9.0, -9.0]]), features, rng)
        array([[3. , 0.5]])
        """
        lowest, highest = self.lowest[features], self.highest[features]
        moved = np.clip(entries + self.scale[features] * steps, lowest, highest)
        whole = self.is_whole[features]
        moved[:, whole] = np.floor(moved[:, whole] + rng.uniform(size=moved[:, whole].shape))
        return np.clip(moved, lowest, highest)


def measure_columns(rows: Rows) -> Columns:
    """Center, scale, range and kind of every column of dense or CSR rows."""
    if is_sparse(rows):
        # Here and not above: scikit-learn takes longer to import than the rest of the laboratory.
        from sklearn.utils.sparsefuncs import csc_median_axis_0, mean_variance_axis, min_max_axis

        center = csc_median_axis_0(rows.tocsc())
        deviation = np.sqrt(mean_variance_axis(rows, axis=0)[1])
        lowest, highest = min_max_axis(rows, axis=0)
        fractional = np.unique(rows.indices[rows.data != np.floor(rows.data)])
    else:
        center, deviation = np.median(rows, axis=0), rows.std(axis=0)
        lowest, highest = rows.min(axis=0), rows.max(axis=0)
        fractional = np.flatnonzero((rows != np.floor(rows)).any(axis=0))
    is_whole = np.ones(rows.shape[1], dtype=np.bool_)
    is_whole[fractional] = False
    is_constant = (lowest == highest) | (deviation == 0)
    return Columns(center, np.where(is_constant, 1.0, deviation), lowest, highest, is_whole)


def scaled_norms(rows: Rows, columns: Columns) -> FloatArray:
    """The norm of every scaled row, ‖(x − center)/scale‖, without making sparse rows dense.

    Examples
    --------
    >>> rows = np.array([[0.0], [0.0], [0.0], [2.0]])
    >>> scaled_norms(rows, measure_columns(rows)).round(3)
    array([0.   , 0.   , 0.   , 2.309])
    """
    if not is_sparse(rows):
        scaled: FloatArray = (rows - columns.center) / columns.scale
        return np.sqrt(np.einsum("ij,ij->i", scaled, scaled))
    zero_row = -columns.center / columns.scale
    stored = rows.data / columns.scale[rows.indices] + zero_row[rows.indices]
    added = _with_data(rows, stored**2 - zero_row[rows.indices] ** 2).sum(axis=1)
    return np.sqrt(np.maximum(added + zero_row @ zero_row, 0.0))


def n_moved(rows: Rows, columns: Columns) -> NDArray[np.float64]:
    """The number of entries of every row that differ from the center of their column.

    Examples
    --------
    >>> rows = np.array([[0.0, 1.0], [0.0, 1.0], [5.0, 0.0]])
    >>> n_moved(rows, measure_columns(rows))
    array([0., 0., 2.])
    """
    if not is_sparse(rows):
        return np.count_nonzero(rows != columns.center, axis=1).astype(np.float64)
    centers = columns.center[rows.indices]
    added = _with_data(rows, (rows.data != centers).astype(np.float64) - (centers != 0))
    return np.asarray(added.sum(axis=1)) + np.count_nonzero(columns.center)


def spread(rows: Rows, columns: Columns) -> FloatArray:
    """The mean of |z| in every column: large where many rows deviate, small where few do, but far.

    Examples
    --------
    >>> rows = np.array([[0.0, -1.0], [0.0, 1.0], [0.0, -1.0], [9.0, 1.0]])
    >>> spread(rows, measure_columns(rows)).round(2)
    array([0.58, 1.  ])
    """
    if not is_sparse(rows):
        return np.abs(rows - columns.center).mean(axis=0) / columns.scale
    centers = columns.center[rows.indices]
    added = _with_data(rows, np.abs(rows.data - centers) - np.abs(centers)).sum(axis=0)
    return (np.asarray(added) / rows.shape[0] + np.abs(columns.center)) / columns.scale


def _with_data(rows: Any, data: FloatArray) -> Any:
    return type(rows)((data, rows.indices, rows.indptr), shape=rows.shape)


@dataclass(frozen=True, eq=False)
class CleanTable:
    """Rows with labels of -1 and +1, read through scaled columns.

    Parameters
    ----------
    rows : (n, d) dense array or CSR
    signs : label of each row, -1 or +1

    Examples
    --------
    >>> table = CleanTable(rows=np.array([[0.0], [0.0], [4.0]]), signs=np.array([-1.0, -1.0, 1.0]))
    >>> table.n_rows, table.n_features, table.columns.center
    (3, 1, array([0.]))
    """

    rows: Rows
    signs: FloatArray

    @cached_property
    def columns(self) -> Columns:
        """Center, scale and range of every column."""
        return measure_columns(self.rows)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.rows.shape[0])

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.rows.shape[1])

    def scores(self, weights: FloatArray) -> FloatArray:
        """weights·z for every scaled row z, without a scaled copy of the table."""
        per_unit = weights / self.columns.scale
        return np.asarray(self.rows @ per_unit) - float(self.columns.center @ per_unit)

    def margins(self, model: FloatArray) -> FloatArray:
        """y·score of every row under a model: its weights and, last, its intercept."""
        return self.signs * (self.scores(model[:-1]) + model[-1])

    def combine(self, coefficients: FloatArray) -> FloatArray:
        """Σ coefficient·z over the scaled rows z: the transpose of `scores`."""
        total = np.asarray(self.rows.T @ coefficients)
        return (total - float(coefficients.sum()) * self.columns.center) / self.columns.scale

    def scaled(self, features: NDArray[np.intp]) -> FloatArray:
        """The scaled rows, dense, in a few columns."""
        center, scale = self.columns.center[features], self.columns.scale[features]
        return (part_of(self.rows, features) - center) / scale


@dataclass(frozen=True, eq=False)
class Planted:
    """What an attack does to a table.

    Parameters
    ----------
    rows : rows to be added, dense or CSR as the table is
    signs : their labels, -1 or +1
    flipped : clean rows whose label is flipped
    """

    rows: Rows
    signs: FloatArray
    flipped: NDArray[np.intp] = field(default_factory=lambda: np.zeros(0, dtype=np.intp))


def part_of(rows: Rows, features: NDArray[np.intp]) -> FloatArray:
    """A few columns of the rows, dense.

    Examples
    --------
    >>> part_of(sp.csr_array([[1.0, 0.0, 2.0]]), np.array([1, 2]))
    array([[0., 2.]])
    """
    part: Any = rows[:, features]
    dense: FloatArray = part.toarray() if is_sparse(part) else part
    return dense


def replaced(rows: Rows, features: NDArray[np.intp], entries: FloatArray) -> Rows:
    """The rows with new entries in the given columns; dense rows are written over.

    Examples
    --------
    >>> replaced(np.ones((1, 3)), np.array([0, 2]), np.array([[5.0, 6.0]]))
    array([[5., 1., 6.]])
    """
    if not is_sparse(rows):
        rows[:, features] = entries
        return rows
    is_kept = np.ones(rows.shape[1], dtype=np.bool_)
    is_kept[features] = False
    kept = sp.csr_array((rows.data * is_kept[rows.indices], rows.indices, rows.indptr), rows.shape)
    result = sp.csr_array(kept + placed(entries, features, rows.shape[1]))
    result.eliminate_zeros()
    return result


def placed(entries: FloatArray, features: NDArray[np.intp], n_features: int) -> Any:
    """CSR rows that are zero but for their entries in the given columns.

    Examples
    --------
    >>> placed(np.array([[5.0, 6.0]]), np.array([0, 2]), 4).toarray()
    array([[5., 0., 6., 0.]])
    """
    n_rows = entries.shape[0]
    starts = np.arange(n_rows + 1) * features.size
    shape = (n_rows, n_features)
    rows = sp.csr_array((entries.ravel(), np.tile(features, n_rows), starts), shape=shape)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    return rows
