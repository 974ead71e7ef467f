"""Scaled columns: medians instead of means, so that planted rows cannot upset the scale."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from thresher.arrays import (
    DeviceRows,
    clip_entries,
    column_medians,
    like,
    namespace_of,
    take,
    to_host,
)
from thresher.solvers.scaling import largest_entries
from thresher.validation import FloatArray, Rows, is_sparse

MAD_TO_DEVIATION = 1.4826  # of a Gaussian column
NARROWEST = 2.0**-996  # the least scale of a column: weights divided by it stay finite
LARGEST = float(np.finfo(np.float64).max)
WIDEST = 1023  # exponent of the largest power of two
FARTHEST = 1e300  # the largest scaled value: sums stay finite
HUGE = 1e307  # differences of larger numbers can overflow
ORDINARY = (1 / 8, 3.0)  # size of a table's median row, relative to standard normal rows
ROWS_PER_BLOCK, COLUMNS_PER_BLOCK = 512, 8  # limit the memory used besides the result


@dataclass(frozen=True, eq=False)
class ColumnScaling:
    """The center and scale of each column, and the largest scaled value.

    z = clip((x − center)/scale, −reach, reach), column by column.

    Departure: the paper drops rows with an entry beyond the pruning radius, and changes no entry.
    Clipped values stay below that radius, so that no row is dropped.

    Parameters
    ----------
    center, scale : (d,) one number per column; an infinite scale turns a column into zeros
    reach : the largest absolute scaled value; infinity for no limit

    Examples
    --------
    >>> scaling = ColumnScaling.of(np.array([[1.0], [2.0], [3.0], [1e9]]), reach=3.0)
    >>> scaling.apply(np.array([[2.5], [1e9]]))
    array([[0.],
           [3.]])
    """

    center: FloatArray
    scale: FloatArray
    reach: float

    @classmethod
    def of(cls, X: Rows, reach: float, places: NDArray[np.intp] | slice = slice(None)) -> Self:
        """Median and median absolute deviation (MAD, times 1.4826) of each column.

        If more than half of a column's entries are equal, as in counts and indicators, the MAD is
        zero. The column is then centered at that value and scaled by the median distance of the
        *other* entries from it, so that a typical other entry becomes ±1. Columns of a sparse
        matrix are centered at zero, to stay sparse, and scaled by the median absolute value of
        their non-zero entries. A constant column becomes zero (in a sparse matrix by an infinite
        scale), because it would act as a second intercept. With `places`, only those rows count.
        """
        if isinstance(X, DeviceRows):
            center, scale = _device_scales(X[places])
        else:
            center, scale = _sparse_scales(X[places]) if is_sparse(X) else _dense_scales(X, places)
        return cls(center, scale, reach)

    @classmethod
    def identity(cls, n_features: int) -> Self:
        """The scaling that changes nothing."""
        return cls(np.zeros(n_features), np.ones(n_features), np.inf)

    @classmethod
    def common(cls, X: Rows) -> Self:
        """One scale for all columns: 1 for a table of ordinary size.

        A table whose median row, by its largest entry, is several times larger or smaller than a
        row of standard normals is divided by a power of two. Otherwise every row would be pruned.
        """
        n_features = X.shape[1]
        usual = 2 * np.sqrt(2 * np.log(2 * n_features))
        size = 2 * float(np.median(largest_entries(X) / usual))  # halved first: a median adds two
        unchanged = cls.identity(n_features)
        if size == 0 or ORDINARY[0] <= size <= ORDINARY[1]:
            return unchanged
        scale = max(float(2.0 ** min(float(np.round(np.log2(size))), WIDEST)), NARROWEST)
        return replace(unchanged, scale=np.full(n_features, scale))

    def take(self, columns: NDArray[np.intp]) -> Self:
        """The scaling of a subset of the columns."""
        return replace(self, center=self.center[columns], scale=self.scale[columns])

    def scores(self, X: Rows, columns: NDArray[np.intp], weights: FloatArray) -> FloatArray:
        """weights·z for each row, from the columns that this scaling describes."""
        used = X[:, columns]
        if isinstance(used, DeviceRows):
            used = to_host(used.array)
        dense = used.toarray() if is_sparse(used) else used
        scores: FloatArray = self.apply(dense) @ weights
        return scores

    def apply(self, X: Rows, out: FloatArray | None = None) -> Rows:
        """The scaled rows, dense or sparse as X is; dense rows go into `out` if it is given.

        What overflows on the way is clipped to the reach, with the right sign.
        """
        limit = min(self.reach, FARTHEST)
        with np.errstate(over="ignore"):
            if is_sparse(X):
                data = X.data / self.scale[X.indices]
                np.clip(data, -limit, limit, out=data)
                return sp.csr_array((data, X.indices, X.indptr), shape=X.shape)
            rows: FloatArray = np.subtract(X, self.center, out=out)
            rows /= self.scale
        return np.clip(rows, -limit, limit, out=rows)


@dataclass(frozen=True, eq=False)
class HomogeneousRows:
    """Rows that are scaled when they are read, with a trailing 1 for the intercept if there is one.

    A phase reads part of the table. Scaling that part again takes less time than a scaled copy of
    the whole table would take memory.

    Parameters
    ----------
    rows : (n, d) the checked table
    scaling : of its columns
    with_ones : whether to append a column of ones
    places : which rows of the table to use; all by default

    Examples
    --------
    >>> table = HomogeneousRows(np.array([[2.0], [4.0]]), ColumnScaling.identity(1), True)
    >>> table.shape, table[np.array([1])]
    ((2, 2), array([[4., 1.]]))
    """

    rows: Rows
    scaling: ColumnScaling
    with_ones: bool
    places: NDArray[np.intp] | slice = field(default_factory=lambda: slice(None))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns, with the column of ones."""
        return self._chosen.size, self.rows.shape[1] + int(self.with_ones)

    @cached_property
    def _chosen(self) -> NDArray[np.intp]:
        return np.arange(self.rows.shape[0])[self.places]

    def __getitem__(self, places: NDArray[np.intp] | slice) -> Rows:
        wanted = self._chosen[places]
        if isinstance(self.rows, DeviceRows):
            return self._on_device(self.rows, wanted)
        return self._sparse(wanted) if is_sparse(self.rows) else self._dense(wanted)

    def _sparse(self, wanted: NDArray[np.intp]) -> Rows:
        scaled = self.scaling.apply(self.rows[wanted])
        if not self.with_ones:
            return scaled
        ones = sp.csr_array(np.ones((scaled.shape[0], 1)))
        return sp.hstack([scaled, ones], format="csr")

    def _on_device(self, rows: DeviceRows, wanted: NDArray[np.intp]) -> DeviceRows:
        table, scaling = take(rows.array, wanted), self.scaling
        scaled = table - like(scaling.center, table)[None, :]
        scaled /= like(scaling.scale, table)[None, :]
        scaled = clip_entries(scaled, min(scaling.reach, FARTHEST))
        if self.with_ones:
            xp = namespace_of(table)
            scaled = xp.concat([scaled, xp.ones_like(scaled[:, :1])], axis=1)
        return DeviceRows(scaled)

    def _dense(self, wanted: NDArray[np.intp]) -> FloatArray:
        table = np.empty((wanted.size, self.shape[1]))
        features = table[:, : self.rows.shape[1]]
        for start in range(0, wanted.size, ROWS_PER_BLOCK):
            block = slice(start, start + ROWS_PER_BLOCK)
            self.scaling.apply(self.rows[wanted[block]], out=features[block])
        table[:, features.shape[1] :] = 1.0
        return table


def _dense_scales(X: FloatArray, places: NDArray[np.intp] | slice) -> tuple[FloatArray, FloatArray]:
    found: list[tuple[float, float]] = []
    for start in range(0, X.shape[1], COLUMNS_PER_BLOCK):  # a copy of all would double memory
        columns = np.ascontiguousarray(X[places, start : start + COLUMNS_PER_BLOCK].T)
        found += map(_center_and_width, columns)
    center, scale = np.array(found).T
    return center, scale


def _device_scales(rows: DeviceRows) -> tuple[FloatArray, FloatArray]:
    table = rows.array
    center = column_medians(table)
    width = MAD_TO_DEVIATION * column_medians(table, center)
    for j in np.flatnonzero(~((width > 0) & np.isfinite(center) & np.isfinite(width))):
        center[j], width[j] = _center_and_width(to_host(take(table, np.array([j]), axis=1))[:, 0])
    return center, np.clip(width, NARROWEST, np.finfo(np.float64).max)


def _center_and_width(column: FloatArray) -> tuple[float, float]:
    unit = _unit(column)
    values = column / unit if unit != 1 else column
    center = float(np.median(values))
    distances = values - center
    np.abs(distances, out=distances)
    deviation = MAD_TO_DEVIATION * float(np.median(distances))
    width = deviation if deviation > 0 else _median_nonzero(distances)
    return unit * center, _bounded(unit * width)


def _sparse_scales(X: Rows) -> tuple[FloatArray, FloatArray]:
    n_rows, n_features = X.shape
    columns = sp.csc_array(X)
    column_of = np.repeat(np.arange(n_features), np.diff(columns.indptr))
    widths = np.clip(_medians(np.abs(columns.data), column_of, n_features), NARROWEST, LARGEST)
    for j in np.flatnonzero(np.diff(columns.indptr) == n_rows):
        part = columns.data[columns.indptr[j] : columns.indptr[j + 1]]
        if part[0] != 0 and (part == part[0]).all():  # a constant
            widths[j] = np.inf
    return np.zeros(n_features), widths


def _medians(sizes: FloatArray, group_of: NDArray[np.intp], n_groups: int) -> FloatArray:
    """The median of the positive entries of each group; 1 if it has none."""
    is_positive = sizes > 0
    sizes, group_of = sizes[is_positive], group_of[is_positive]
    ordered = sizes[np.lexsort((sizes, group_of))]
    counts = np.bincount(group_of, minlength=n_groups)
    start, has_any = np.cumsum(counts) - counts, counts > 0
    low = ordered[(start + (counts - 1) // 2)[has_any]]
    high = ordered[(start + counts // 2)[has_any]]
    medians = np.ones(n_groups)
    unit = np.where(high > HUGE, 4.0, 1.0)  # a median adds two
    medians[has_any] = unit * ((low / unit + high / unit) / 2)
    return medians


def _median_nonzero(distances: FloatArray) -> float:
    """The median of the non-zero entries; 1 if there are none."""
    others = distances[distances > 0]
    if not others.size:
        return 1.0
    unit = _unit(others)
    return unit * float(np.median(others / unit))


def _unit(values: FloatArray) -> float:
    """A divisor with which no sum or difference of two values overflows."""
    return 4.0 if max(values.max(), -values.min()) > HUGE else 1.0


def _bounded(width: float) -> float:
    return min(max(width, NARROWEST), LARGEST)
