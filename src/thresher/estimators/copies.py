"""Weighted rows: a weight of k means k copies of the row."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from thresher.arrays import DeviceRows
from thresher.estimators.checks import check_two_classes
from thresher.learning import PhaseOutcome
from thresher.memory import require_memory
from thresher.validation import FloatArray, Rows, is_sparse

COPIES_OF_TYPICAL = 4  # copies of a row of median weight, where weights are not integers
MOST_ROWS, MOST_PER_ROW = 200_000, 10  # copies in all: whichever allows more
ROWS_PER_BLOCK = 4096  # limits the memory used besides the result
FEW_COLUMNS = 8  # that are enough to tell most tables' rows apart
ODD = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, eq=False)
class Copies:
    """The rows of a table that a fit looks at: which ones, how often and in which order.

    The order depends on what the rows hold, not on where they are, so that the same rows with the
    same weights make the same model.

    Parameters
    ----------
    n_rows : of the table
    places : (m,) positions of the copied rows, equal rows one after the other
    groups : (m,) a number for each set of rows with equal features and labels
    """

    n_rows: int
    places: NDArray[np.intp]
    groups: NDArray[np.intp]

    @classmethod
    def of(cls, rows: Rows, labels: Any, sample_weight: FloatArray | None) -> Self | None:
        """The copies that the weights stand for; None if the table can be used as it is.

        Integers are numbers of copies. Other weights, and very large ones, are in proportion to
        the numbers of copies, which are rounded so that the errors of neighbors cancel.

        Examples
        --------
        >>> rows, labels = np.array([[1.0], [2.0], [1.0]]), np.array([0, 1, 0])
        >>> np.sort(Copies.of(rows, labels, np.array([2.0, 3.0, 0.0])).places)
        array([0, 0, 1, 1, 1])
        >>> np.sort(Copies.of(rows[:2], labels[:2], np.array([0.5, 0.25])).places)
        array([0, 0, 1])
        >>> Copies.of(rows[:2], labels[:2], None) is None
        True
        """
        if sample_weight is None and _few_columns_tell_apart(rows):
            check_two_classes(labels)
            return None
        weights = np.ones(len(labels)) if sample_weight is None else sample_weight
        kept = np.flatnonzero(weights)
        _, signs = check_two_classes(labels[kept])
        keys = _mixed(_keys_of(rows)[kept] + np.where(signs > 0, ODD, np.uint64(0)))
        by_key = np.argsort(keys, kind="stable")
        is_new = np.append(True, np.diff(keys[by_key]) != 0)
        if sample_weight is None and is_new.all():
            return None
        order = kept[by_key]
        numbers = n_copies(weights[order])
        return cls(
            n_rows=len(labels),
            places=np.repeat(order, numbers),
            groups=np.repeat(np.cumsum(is_new) - 1, numbers),
        )

    @classmethod
    def of_each(cls, n_rows: int) -> Self:
        """One copy of each row, in the order of the table."""
        return cls(n_rows, np.arange(n_rows), np.arange(n_rows))

    def take(self, chosen: NDArray[np.intp]) -> Self:
        """Some of the copies."""
        return replace(self, places=self.places[chosen], groups=self.groups[chosen])

    def table(self, rows: Rows, labels: Any) -> tuple[Rows, Any]:
        """The copies, with their labels."""
        if not isinstance(rows, DeviceRows):
            n_bytes = rows.data.nbytes * 1.5 if is_sparse(rows) else rows.nbytes
            n_copies = self.places.size
            require_memory(int(n_bytes * n_copies / self.n_rows), f"{n_copies:,} copies of rows")
        return rows[self.places], labels[self.places]

    def positions(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """Where the copies of these rows of the table are, in ascending order."""
        order = np.argsort(self.places, kind="stable")
        begin, end = (np.searchsorted(self.places[order], rows, side) for side in ("left", "right"))
        numbers = end - begin
        starts = np.repeat(begin - np.cumsum(numbers) + numbers, numbers)
        return np.sort(order[starts + np.arange(starts.size)])

    def means(self, values: FloatArray) -> FloatArray:
        """(n_rows,) the mean over the copies of each row; 0 for a row without a copy."""
        total = np.bincount(self.places, weights=values, minlength=self.n_rows)
        return total / np.maximum(np.bincount(self.places, minlength=self.n_rows), 1)

    def in_table(self, phases: Sequence[PhaseOutcome]) -> tuple[PhaseOutcome, ...]:
        """The phases with positions in the table, and the mean weight of the copies that it saw."""
        return tuple(self._in_table(outcome) for outcome in phases)

    def _in_table(self, outcome: PhaseOutcome) -> PhaseOutcome:
        ids, group = np.unique(self.places[outcome.row_ids], return_inverse=True)
        numbers = np.bincount(group)
        return replace(
            outcome,
            row_ids=ids,
            row_weights=np.bincount(group, weights=outcome.row_weights) / numbers,
            is_left_out=np.bincount(group, weights=outcome.is_left_out) == numbers,
        )


def numbers_of_equal_rows(rows: Rows) -> NDArray[np.intp] | None:
    """(n,) a number for each row; equal rows have the same one. None if no two are equal.

    Examples
    --------
    >>> numbers_of_equal_rows(np.array([[1.0], [2.0], [1.0]])).tolist() in ([0, 1, 0], [1, 0, 1])
    True
    """
    if _few_columns_tell_apart(rows):
        return None
    keys, numbers = np.unique(_keys_of(rows), return_inverse=True)
    return None if keys.size == numbers.size else numbers


def n_copies(weights: FloatArray) -> NDArray[np.intp]:
    """The number of copies of each row.

    Examples
    --------
    >>> n_copies(np.array([0.0, 3.0])), n_copies(np.array([0.2, 0.6])), n_copies(np.array([1, 1.5]))
    (array([0, 3]), array([1, 3]), array([3, 5]))
    """
    total, positive = float(weights.sum()), weights[weights > 0]
    most = max(MOST_ROWS, MOST_PER_ROW * positive.size)
    unit = 1.0
    if not _are_integers(weights) or total > most:
        unit = float(positive.min())
        if not _are_integers(weights / unit) or total / unit > most:
            unit = max(float(np.median(positive)) / COPIES_OF_TYPICAL, total / most)
    so_far = np.floor(np.cumsum(weights / unit) + 0.5)
    return np.diff(so_far, prepend=0.0).astype(np.intp)


def _are_integers(values: FloatArray) -> bool:
    return bool((np.abs(values - np.rint(values)) <= 1e-9 * values).all())


def _few_columns_tell_apart(rows: Rows) -> bool:
    """Whether no two rows are equal in the first columns of a dense table: a quick answer."""
    if is_sparse(rows) or isinstance(rows, DeviceRows) or rows.shape[1] <= 2 * FEW_COLUMNS:
        return False
    keys = np.sort(_keys_of(np.ascontiguousarray(rows[:, :FEW_COLUMNS])))
    return bool((np.diff(keys) != 0).all())


def _keys_of(rows: Rows) -> NDArray[np.uint64]:
    """A number for each row, which depends on its features alone."""
    n_rows, n_features = rows.shape
    if isinstance(rows, DeviceRows):  # nothing there depends on the order
        return np.arange(n_rows, dtype=np.uint64)
    factors = np.random.default_rng(0).integers(2**63, size=n_features, dtype=np.uint64)
    keys = np.empty(n_rows, dtype=np.uint64)
    for start in range(0, n_rows, ROWS_PER_BLOCK):
        block = slice(start, start + ROWS_PER_BLOCK)
        keys[block] = _sums(rows[block], 2 * factors + 1)
    return keys


def _sums(rows: Rows, factors: NDArray[np.uint64]) -> NDArray[np.uint64]:
    if not is_sparse(rows):
        return _mixed((rows + 0.0).view(np.uint64)) @ factors
    values = np.append(_mixed((rows.data + 0.0).view(np.uint64)) * factors[rows.indices], 0)
    values[:-1][rows.data == 0] = 0
    sums = np.add.reduceat(values, rows.indptr[:-1], dtype=np.uint64)
    return np.where(np.diff(rows.indptr) == 0, np.uint64(0), sums)


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Numbers whose high and low digits all depend on all digits of the given ones."""
    mixed = numbers * ODD
    mixed ^= mixed >> np.uint64(32)
    mixed *= ODD
    return mixed ^ (mixed >> np.uint64(29))
