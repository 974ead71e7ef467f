"""Near copies: rows of a pool that share most of their entries with another row."""

from collections.abc import Iterator
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from thresher.estimators.copies import numbers_of_equal_rows
from thresher.estimators.shared_entries import Places, SharedEntries
from thresher.labeling.dependence import oddness_that_shows_changes
from thresher.validation import Rows, is_sparse

ALIKE = 0.7  # share of the information in the entries of two rows that near copies have in common
MOST = 2.4  # times the noise rate: if more rows are near copies, many are genuine

Mask = NDArray[np.bool_]


class NearCopies(NamedTuple):
    """The near copies of a pool, which are asked about late.

    Rows with wrong labels that are planted where the questions will be asked are often changed
    copies of rows that are there, and a copy with the other label undoes its original. If the
    columns of the pool depend on each other, the changed row of two shows: its entries do not suit
    each other so well. Else both count as near copies, and so they do if both are unusual.

    Departure: Algorithm 2 looks at variances, and such copies have those of their originals.

    Parameters
    ----------
    rows : (n,) which they are
    are_changed_alone : whether originals are not among them
    """

    rows: Mask
    are_changed_alone: bool = False

    @classmethod
    def of(cls, rows: Rows, noise_rate: float) -> Self:
        """The rows that are nearly, but not exactly, like another row; none if they are too many.

        A planted row makes at most two near copies, itself and its original. A pool with many more
        has its own, which are asked about like all others.

        Parameters
        ----------
        rows : (n, d) before scaling, dense or sparse
        noise_rate : largest share of planted rows

        Examples
        --------
        >>> rows = np.random.default_rng(0).standard_normal((100, 10))
        >>> rows[7] = rows[3]
        >>> rows[7, :2] = 0.0
        >>> np.flatnonzero(NearCopies.of(rows, noise_rate=0.05).rows)
        array([3, 7])
        """
        none = np.zeros(rows.shape[0], dtype=np.bool_)
        if noise_rate == 0:
            return cls(none)
        pairs, found = _Pairs.of(rows), none.copy()
        for one, _ in pairs.among(~none):
            found[one] = True
        if not found.any() or found.mean() > MOST * noise_rate:
            return cls(none)
        oddness = None if is_sparse(rows) else oddness_that_shows_changes(rows, rows[~found])
        if oddness is None:
            return cls(found)
        changed = none
        for one, other in pairs.among(found):
            changed[one[oddness[one] > np.minimum(oddness[other], 1.0)]] = True
        return cls(changed, are_changed_alone=True)


class _Pairs(NamedTuple):
    """Finds pairs of rows that share most of their information, and are not equal."""

    entries: SharedEntries
    numbers: Places  # of equal rows

    @classmethod
    def of(cls, rows: Rows) -> Self:
        numbers = numbers_of_equal_rows(rows)
        numbers = np.arange(rows.shape[0]) if numbers is None else numbers
        return cls(SharedEntries.of(rows), numbers)

    def among(self, some: Mask) -> Iterator[tuple[Places, Places]]:
        """The pairs among some of the rows, in blocks, each in both orders."""
        information = self.entries.information
        for one, other, shared in self.entries.pairs(some, some):
            most = np.maximum(information[one], information[other])
            kept = (shared > ALIKE * most) & (self.numbers[one] != self.numbers[other])
            yield one[kept], other[kept]
