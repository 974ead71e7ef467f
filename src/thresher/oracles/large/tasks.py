"""What is done with the rows of a block where they lie; only small results travel."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from thresher.oracles.large.row_order import RowOrder
from thresher.oracles.requests import IdArray
from thresher.validation import FloatArray

Columns = Sequence[NDArray[Any]]


class Task(Protocol):
    """Something to do with the columns of consecutive rows, given the first id."""

    def __call__(self, first_id: int, columns: Columns, /) -> Any:
        """The result, small."""


@dataclass(frozen=True, eq=False)
class BandScan:
    """The rows of a block in a band that come first in an order: their places and ids.

    The projections are summed column by column, so that no bit of them depends on the block.

    Parameters
    ----------
    weights : of the columns, the nonzero entries of the band's normal
    width : of the band
    order : of all rows
    n_rows : how many rows are wanted
    max_place : rows from this place of the order on are not looked at

    Examples
    --------
    >>> scan = BandScan(np.array([2.0]), 1.0, RowOrder(4, 0, 0), n_rows=9, max_place=4)
    >>> sorted(scan(0, [np.array([0.1, 3.0, -0.5, -0.6])])[1].tolist())
    [0, 2]
    """

    weights: FloatArray
    width: float
    order: RowOrder
    n_rows: int
    max_place: int

    def __call__(self, first_id: int, columns: Columns) -> tuple[IdArray, IdArray]:
        ids = first_id + np.flatnonzero(self._is_inside(columns))
        places = self.order.places(ids)
        return first_places(places, ids, self.n_rows, self.max_place)

    def _is_inside(self, columns: Columns) -> NDArray[np.bool_]:
        # A projection that overflows lies outside, without a warning.
        with np.errstate(over="ignore", invalid="ignore"):
            projection = np.zeros(columns[0].size)
            for weight, column in zip(self.weights.tolist(), columns):
                projection += weight * column.astype(np.float64)
            inside: NDArray[np.bool_] = np.abs(projection) <= self.width
        if not np.isfinite(projection).all():
            _refuse_nonfinite(columns)
        return inside


def first_places(
    places: IdArray, ids: IdArray, n_rows: int, max_place: int
) -> tuple[IdArray, IdArray]:
    """The `n_rows` smallest places below a limit, in any order, with their ids."""
    below = np.flatnonzero(places < max_place)
    if below.size > n_rows:
        below = below[np.argpartition(places[below], n_rows - 1)[:n_rows]]
    return places[below], ids[below]


@dataclass(frozen=True, eq=False)
class RowsAt:
    """The rows of a block with these ids, in the order of the block, as floats.

    Examples
    --------
    >>> RowsAt(np.array([5, 8]))(4, [np.array([1, 2, 3])])
    array([[2.]])
    """

    ids: IdArray

    def __call__(self, first_id: int, columns: Columns) -> FloatArray:
        places = _within(self.ids, first_id, columns[0].size)
        rows = np.empty((places.size, len(columns)))
        for j, column in enumerate(columns):
            rows[:, j] = column[places]
        if not np.isfinite(rows).all():
            _refuse_nonfinite(rows.T)
        return rows


@dataclass(frozen=True, eq=False)
class CellsAt:
    """The cells of one column of a block for these ids, as they are."""

    ids: IdArray

    def __call__(self, first_id: int, columns: Columns) -> NDArray[Any]:
        return columns[0][_within(self.ids, first_id, columns[0].size)]


def _within(ids: IdArray, first_id: int, n_rows: int) -> IdArray:
    """The positions in a block of those ids, sorted, that lie in it."""
    start, stop = np.searchsorted(ids, [first_id, first_id + n_rows])
    return ids[start:stop] - first_id


def _refuse_nonfinite(columns: Columns | FloatArray) -> None:
    for column in columns:
        if not np.isfinite(np.asarray(column, dtype=np.float64)).all():
            raise ValueError("a column has infinite entries or NaN")
