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
ODD = 0.95  # share of unchanged rows that are less odd than a row that shows that it was changed
USUAL = 0.8  # the same share, of an original at most

Mask = NDArray[np.bool_]


class NearCopies(NamedTuple):
    """The near copies of a pool, which are asked about later than other rows.

    Rows with wrong labels that are planted where the questions will be asked are often changed
    copies of rows that are there, and a copy with the other label undoes its original. If the
    columns of the pool depend on each other, the changed row of two can show: its entries do not
    suit each other. It must be odder than 95 % of the other rows, and its near copy no odder than
    is usual. So of the genuine rows, no more than one in twenty can be taken for changed ones,
    whatever somebody plants beside them.

    Departure: Algorithm 2 looks at variances, and such copies have those of their originals.

    Parameters
    ----------
    changed : (n,) rows that show that they were changed
    undecided : (n,) near copies of each other that do not show which of them was changed
    """

    changed: Mask
    undecided: Mask

    @classmethod
    def of(cls, rows: Rows, scaled: Rows, noise_rate: float) -> Self:
        """The rows that are nearly, but not exactly, like another row; none if they are too many.

        A planted row makes at most two near copies, itself and its original. A pool with many more
        has its own, which are asked about like all others.

        Parameters
        ----------
        rows : (n, d) before scaling, dense or sparse
        scaled : the same rows, scaled and clipped
        noise_rate : largest share of planted rows

        Examples
        --------
        >>> rows = np.random.default_rng(0).standard_normal((100, 10))
        >>> rows[7] = rows[3]
        >>> rows[7, :2] = 0.0
        >>> np.flatnonzero(NearCopies.of(rows, rows, noise_rate=0.05).undecided)
        array([3, 7])
        """
        none = np.zeros(rows.shape[0], dtype=np.bool_)
        if noise_rate == 0:
            return cls(none, none)
        pairs, found = _Pairs.of(rows), none.copy()
        for one, _ in pairs.among(~none):
            found[one] = True
        if not found.any() or found.mean() > MOST * noise_rate:
            return cls(none, none)
        oddness = None if is_sparse(scaled) else oddness_that_shows_changes(scaled, scaled[~found])
        if oddness is None:
            return cls(none, found)
        changed, undecided = none.copy(), none.copy()
        for one, other in pairs.among(found):
            changed[one[(oddness[one] > ODD) & (oddness[other] <= USUAL)]] = True
        for one, _ in pairs.among(found & ~changed):
            undecided[one] = True
        return cls(changed, undecided)


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
