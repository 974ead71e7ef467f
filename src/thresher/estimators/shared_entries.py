"""Entries that rows have in common: what shows that one row was made from another."""

from collections.abc import Iterator
from typing import NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from thresher.validation import FloatArray, Rows, is_sparse

CHANCE = 3.0  # times log n: no pair of n rows shares so much information by chance
FREQUENT = 0.25  # share of the rows: an entry that more of them have says little
MOST_COLUMNS = 200  # of a dense table: near copies show in any of them
MOST_ENTRIES, MOST_PRODUCTS = 2_000_000, 3e7  # bounds on the work
ROWS_PER_BLOCK = 512  # limits the memory used besides the result

Places = NDArray[np.intp]


class SharedEntries(NamedTuple):
    """Which rows have which entry in common, an entry being a value of a column.

    The information in an entry that c of n rows have is log(n/c).

    Parameters
    ----------
    held : (n, m) sparse, the root of the information in each entry that a row has
    information : (n,) in all entries of each row

    Examples
    --------
    >>> rows = np.random.default_rng(0).standard_normal((40, 10))
    >>> rows[0, :7] = rows[39, :7]
    >>> is_first = np.arange(40) < 20
    >>> first, second, shared = next(SharedEntries.of(rows).pairs(is_first, ~is_first))
    >>> first, second, (shared / np.log(40 / 2)).round(2)
    (array([0]), array([39]), array([7.]))
    """

    held: sp.csr_array
    information: FloatArray

    @classmethod
    def of(cls, rows: Rows) -> Self:
        """The entries of a table, without frequent ones.

        If sums over pairs of rows would take long, the most frequent entries are left out. Zeros of
        sparse rows do not count.
        """
        n_rows = rows.shape[0]
        part = _some_columns(rows)
        owners, is_new = _sparse_cells(part) if is_sparse(part) else _dense_cells(part)
        entry = np.cumsum(is_new) - 1
        counts = np.bincount(entry)
        kept = counts[entry] <= _most_owners(counts, n_rows)
        owners, entry = owners[kept], entry[kept]
        information = np.log(n_rows / counts[entry])
        held = sp.csr_array((np.sqrt(information), (owners, entry)), shape=(n_rows, counts.size))
        return cls(held, np.bincount(owners, information, n_rows).astype(np.float64))

    def pairs(
        self, is_first: NDArray[np.bool_], is_second: NDArray[np.bool_]
    ) -> Iterator[tuple[Places, Places, FloatArray]]:
        """Pairs of a first and a second row, and the information that they share.

        In blocks. Pairs that share no more than chance explains are left out.
        """
        firsts, seconds = np.flatnonzero(is_first), np.flatnonzero(is_second)
        others = self.held[seconds].T.tocsr()
        least = CHANCE * np.log(self.information.size)
        for start in range(0, firsts.size, ROWS_PER_BLOCK):
            block = firsts[start : start + ROWS_PER_BLOCK]
            shared = (self.held[block] @ others).tocoo()
            is_more = shared.data >= least
            first, second = block[shared.row[is_more]], seconds[shared.col[is_more]]
            yield first, second, shared.data[is_more]


def _some_columns(rows: Rows) -> Rows:
    """The rows in a random part of the columns, if they have many."""
    n_rows, n_columns = rows.shape
    n_cells = rows.nnz if is_sparse(rows) else n_rows * n_columns
    n_used = int(n_columns * min(1.0, MOST_ENTRIES / max(n_cells, 1)))
    n_used = n_used if is_sparse(rows) else min(n_used, MOST_COLUMNS)
    if n_used == n_columns:
        return rows
    return rows[:, np.sort(np.random.default_rng(0).choice(n_columns, n_used, replace=False))]


def _dense_cells(rows: FloatArray) -> tuple[Places, NDArray[np.bool_]]:
    """The row of each cell, by column and value, and whether it differs from the one before."""
    columns = np.ascontiguousarray(rows.T)
    order = np.argsort(columns, axis=1, kind="stable")
    values = np.take_along_axis(columns, order, axis=1)
    is_new = np.ones(values.shape, dtype=np.bool_)
    np.not_equal(values[:, 1:], values[:, :-1], out=is_new[:, 1:])
    return order.ravel(), is_new.ravel()


def _sparse_cells(rows: Rows) -> tuple[Places, NDArray[np.bool_]]:
    """The same of the entries that are not zero."""
    cells = rows.tocoo()
    stored = np.flatnonzero(cells.data)
    order = stored[np.lexsort((cells.data[stored], cells.col[stored]))]
    columns, values = cells.col[order], cells.data[order]
    is_new = np.append(True, (np.diff(columns) != 0) | (values[1:] != values[:-1]))
    return cells.row[order], is_new[: order.size]


def _most_owners(counts: Places, n_rows: int) -> float:
    """The largest number of rows with an entry that is looked at."""
    ordered = np.sort(counts)
    n_cheap = int(np.searchsorted(np.cumsum(ordered.astype(np.float64) ** 2), MOST_PRODUCTS))
    affordable = np.inf if n_cheap == ordered.size else ordered[n_cheap] - 1
    return float(min(FREQUENT * n_rows, affordable))
