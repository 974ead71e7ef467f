"""Near copies: rows of a pool that share most of their rare values with another row."""

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from thresher.estimators.copies import numbers_of_equal_rows
from thresher.validation import FloatArray, Rows, is_sparse

Places = NDArray[np.intp]

ALIKE = 0.7  # share of the rare values of two rows that both have: near copies have more
MOST = 2.4  # times the noise rate: if more rows are near copies, many are genuine
FREQUENT = 0.1  # share of the rows: a value that more of them have says little
MOST_WORK = 5e7  # pairs of rows with a value in common that are looked at
MOST_OF_BLOCK = 2e7  # of them at a time


def near_copies(rows: Rows, noise_rate: float) -> NDArray[np.bool_]:
    """Which rows are nearly, but not exactly, like another row; none if there are too many.

    Whoever plants wrong labels where the questions will be asked starts from rows that are there,
    and a copy with the other label undoes its original. A planted row makes at most two near
    copies, itself and its original. A pool with many more has its own, and they are kept.

    Departure: Algorithm 2 looks at variances, and such copies have those of their originals.

    Parameters
    ----------
    rows : (n, d) before scaling, dense or sparse
    noise_rate : largest share of planted rows

    Examples
    --------
    >>> rows = np.random.default_rng(0).standard_normal((100, 10))
    >>> rows[7] = rows[3]
    >>> rows[7, :2] = 0.0
    >>> np.flatnonzero(near_copies(rows, noise_rate=0.05))
    array([3, 7])
    """
    if noise_rate == 0:
        return np.zeros(rows.shape[0], dtype=np.bool_)
    found = _are_like_another(rows)
    return found if found.mean() <= MOST * noise_rate else np.zeros_like(found)


def _are_like_another(rows: Rows) -> NDArray[np.bool_]:
    """Which rows share most of their rare values with a row that is not equal to them.

    A value counts by log(n/m) if m of n rows have it. What two rows share must count at least
    2·log(n): so much is not expected of any pair if columns are independent.
    """
    n_rows = rows.shape[0]
    shared, totals = _rare_values(rows)
    numbers = numbers_of_equal_rows(rows)
    numbers = np.arange(n_rows) if numbers is None else numbers
    found = np.zeros(n_rows, dtype=np.bool_)
    for block in _blocks(shared):
        products = sp.coo_array(shared[block] @ shared.T)
        is_much = products.data > 2 * np.log(n_rows)
        one, other = products.row[is_much] + block.start, products.col[is_much]
        is_most = products.data[is_much] > ALIKE * np.maximum(totals[one], totals[other])
        found[one[is_most & (numbers[one] != numbers[other])]] = True
    return found


def _blocks(shared: sp.csr_array) -> Iterator[slice]:
    """Slices of rows whose products with all rows fit into memory."""
    n_having = np.diff(shared.tocsc().indptr)
    work = np.cumsum(np.add.reduceat(np.append(n_having[shared.indices], 0), shared.indptr[:-1]))
    starts = np.flatnonzero(np.diff(work // MOST_OF_BLOCK, prepend=-1))
    for start, stop in zip(starts, [*starts[1:], shared.shape[0]]):
        yield slice(int(start), int(stop))


def _rare_values(rows: Rows) -> tuple[sp.csr_array, FloatArray]:
    """The rare values that rows have in common, and what all rare values of each row count.

    One column for each value that several rows have; an entry is the root of what the value counts,
    so that products of rows count what they share.
    """
    n_rows = rows.shape[0]
    places, values, n_having, n_unique = _repeated_values(rows)
    is_rare = n_having <= _most_having(n_having)
    places, values, counts = places[is_rare], values[is_rare], np.log(n_rows / n_having[is_rare])
    totals = np.bincount(places, counts, n_rows) + n_unique * np.log(n_rows)
    found, columns = np.unique(values, return_inverse=True)
    entries = np.sqrt(counts).astype(np.float32)
    return sp.csr_array((entries, (places, columns)), shape=(n_rows, found.size)), totals


def _repeated_values(rows: Rows) -> tuple[Places, Places, Places, Places]:
    """The entries that some other row has in the same column, unless very many have it.

    For each its row, a number for its column and value, and how many rows have that. Then the
    number of entries of each row that no other row has.
    """
    n_rows, n_features = rows.shape
    columns = sp.csc_array(rows) if is_sparse(rows) else rows
    n_unique, n_values = np.zeros(n_rows, dtype=np.intp), 0
    found = [(n_unique[:0],) * 3]
    for j in range(n_features):
        where, entries = np.arange(n_rows), columns[:, j]
        if is_sparse(rows):
            part = slice(columns.indptr[j], columns.indptr[j + 1])
            where, entries = columns.indices[part], columns.data[part]
        distinct, value, numbers = np.unique(entries, return_inverse=True, return_counts=True)
        n_having = numbers[value]
        n_unique[where[n_having == 1]] += 1
        kept = (n_having > 1) & (n_having <= FREQUENT * n_rows)
        found.append((where[kept], n_values + value[kept], n_having[kept]))
        n_values += distinct.size
    places, values, n_having = map(np.concatenate, zip(*found))
    return places, values, n_having, n_unique


def _most_having(n_having: Places) -> int:
    """How many rows may have a value, so that there is not too much to look at."""
    work = np.cumsum(np.bincount(n_having) * np.arange(n_having.max(initial=0) + 1))
    return int(np.searchsorted(work, MOST_WORK, side="right")) - 1
