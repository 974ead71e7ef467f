"""Near copies: rows of a pool that share most of their entries with another row."""

import numpy as np
from numpy.typing import NDArray

from thresher.estimators.copies import numbers_of_equal_rows
from thresher.estimators.shared_entries import SharedEntries
from thresher.validation import Rows

ALIKE = 0.7  # share of the information in the entries of two rows that near copies have in common
MOST = 2.4  # times the noise rate: if more rows are near copies, many are genuine


def near_copies(rows: Rows, noise_rate: float) -> NDArray[np.bool_]:
    """Which rows are nearly, but not exactly, like another row; none if there are too many.

    Rows with wrong labels that are planted where the questions will be asked are often changed
    copies of rows that are there, and a copy with the other label undoes its original. A planted
    row makes at most two near copies, itself and its original. A pool with many more has its own,
    which are asked about like all others.

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
    """Which rows share most of their information with a row that is not equal to them."""
    everyone = np.ones(rows.shape[0], dtype=np.bool_)
    numbers = numbers_of_equal_rows(rows)
    numbers = np.arange(everyone.size) if numbers is None else numbers
    entries, found = SharedEntries.of(rows), np.zeros_like(everyone)
    for one, other, shared in entries.pairs(everyone, everyone):
        most = np.maximum(entries.information[one], entries.information[other])
        found[one[(shared > ALIKE * most) & (numbers[one] != numbers[other])]] = True
    return found
