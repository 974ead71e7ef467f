"""Scaling of columns that planted rows cannot upset: medians instead of means."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from thresher.solvers.scaling import largest_entries
from thresher.validation import FloatArray, Rows, is_sparse

MAD_TO_DEVIATION = 1.4826  # of a Gaussian column
NARROWEST = 2.0**-996  # a column counts as at least so wide: weights over widths stay finite
FARTHEST = 1e300  # no scaled value is larger: sums of them stay finite
HUGE = 1e307  # differences of larger numbers may overflow
ORDINARY = (1 / 8, 3.0)  # size of a table's typical row, over that of standard normal ones


@dataclass(frozen=True, eq=False)
class ColumnScaling:
    """Where the columns of a table are centered, how wide they are, and how far they may reach.

    z = clip((x − center)/scale, −reach, reach), column by column.

    Parameters
    ----------
    center, scale : (d,) one number for each column; an infinite scale makes zeros of a column
    reach : the largest absolute scaled value; infinite to leave all as they are

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
    def of(
        cls, X: Rows, reach: float, places: NDArray[np.intp] | slice = slice(None)
    ) -> ColumnScaling:
        """Median and median absolute deviation (MAD, times 1.4826) of each column.

        More than half of a column's entries may be equal, as in counts and indicators: its MAD is
        zero. It is then centered at that common value, and scaled by the median distance of the
        *other* entries from it, so that being different counts about 1. Columns of a sparse matrix
        are centered at zero, to stay sparse, and scaled by the median of their non-zero absolute
        entries. A constant column becomes zero, in a sparse matrix by an infinite scale: it would
        be another intercept. With `places`, of some rows of the table.
        """
        center, scale = _sparse_scales(X[places]) if is_sparse(X) else _dense_scales(X, places)
        return cls(center, scale, reach)

    @classmethod
    def identity(cls, n_features: int) -> ColumnScaling:
        """The scaling that changes nothing."""
        return cls(np.zeros(n_features), np.ones(n_features), np.inf)

    @classmethod
    def common(cls, X: Rows) -> ColumnScaling:
        """The scaling that leaves a table of an ordinary size alone.

        A table whose median row, by its largest entry, is several times larger or smaller than a
        row of standard normals is divided by one power of two: the learner would prune it whole.
        """
        n_features = X.shape[1]
        usual = 2 * np.sqrt(2 * np.log(2 * n_features))
        size = 2 * float(np.median(largest_entries(X) / usual))  # no sum of two may overflow
        unchanged = cls.identity(n_features)
        if size == 0 or ORDINARY[0] <= size <= ORDINARY[1]:
            return unchanged
        scale = max(float(2.0 ** np.round(np.log2(size))), NARROWEST)
        return replace(unchanged, scale=np.full(n_features, scale))

    def take(self, columns: NDArray[np.intp]) -> ColumnScaling:
        """The scaling of some of the columns alone."""
        return ColumnScaling(self.center[columns], self.scale[columns], self.reach)

    def scores(self, X: Rows, columns: NDArray[np.intp], weights: FloatArray) -> FloatArray:
        """weights·z for the given columns of each row, which this scaling is about."""
        used = X[:, columns]
        dense = used.toarray() if is_sparse(used) else used
        scores: FloatArray = self.apply(dense) @ weights
        return scores

    def apply(self, X: Rows, out: FloatArray | None = None) -> Rows:
        """The scaled rows, of the same kind as those given; dense ones into `out` if it is given.

        What overflows on the way lies beyond any reach, on the side that its sign says.
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


def _dense_scales(X: FloatArray, places: NDArray[np.intp] | slice) -> tuple[FloatArray, FloatArray]:
    center, scale = np.empty(X.shape[1]), np.empty(X.shape[1])
    for j in range(X.shape[1]):  # column by column: a table of deviations would double the memory
        center[j], scale[j] = _center_and_width(X[places, j])
    return center, scale


def _center_and_width(column: FloatArray) -> tuple[float, float]:
    unit = _unit(column)
    values = column / unit
    center = float(np.median(values))
    distances = np.abs(values - center)
    deviation = MAD_TO_DEVIATION * float(np.median(distances))
    width = deviation if deviation > 0 else _median_nonzero(distances)
    return unit * center, _bounded(unit * width)


def _sparse_scales(X: Rows) -> tuple[FloatArray, FloatArray]:
    n_rows, n_features = X.shape
    columns = sp.csc_array(X)
    parts = np.split(columns.data, columns.indptr[1:-1])
    scale = [
        np.inf if _is_constant(part, n_rows) else _bounded(_median_nonzero(np.abs(part)))
        for part in parts
    ]
    return np.zeros(n_features), np.array(scale)


def _is_constant(stored: FloatArray, n_rows: int) -> bool:
    """Whether a sparse column has one and the same entry, not zero, in every row."""
    return stored.size == n_rows and bool((stored == stored[0]).all()) and stored[0] != 0


def _median_nonzero(distances: FloatArray) -> float:
    """The median of the entries that are not zero; 1 if there is none."""
    others = distances[distances > 0]
    if not others.size:
        return 1.0
    unit = _unit(others)
    return unit * float(np.median(others / unit))


def _unit(values: FloatArray) -> float:
    """What to divide by so that no sum or difference of two of the values overflows."""
    return 4.0 if max(values.max(), -values.min()) > HUGE else 1.0


def _bounded(width: float) -> float:
    return min(max(width, NARROWEST), float(np.finfo(np.float64).max))
