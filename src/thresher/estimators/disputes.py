"""Disputed rows: equal features with different labels, so that one side must be wrong."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from thresher.estimators.checks import check_two_classes
from thresher.estimators.copies import Copies, numbers_of_equal_rows
from thresher.estimators.folds import Fold, are_usable, renumbered, restricted
from thresher.estimators.planted_copies import can_be_planted, planted_copies
from thresher.validation import FloatArray, Rows

LESS = 0.9  # times the trust in the other side: a side with less of it loses
AGREEING = 0.95  # share of rows with less trust that a model must contradict: else all stay
ALLOWED = 1.1  # times the number of rows that could be planted: more disputes are genuine
NEARLY = 0.8  # of the planted rows: if so many were copies, hardly any are left
LEAST_NOISE_RATE = 0.02  # that is left then
N_ROUNDS = 3  # fits, each without the rows that lost in those before


@dataclass(frozen=True, eq=False)
class TrainingTable:
    """What a fit looks at: rows and labels, folds of them, and what they are copies of.

    Parameters
    ----------
    whole_rows, whole_labels : of the user's table
    folds : of the n rows that are looked at
    copies : the rows of the user's table that these are; None if they are that table
    n_lost : number of further rows of the user's table that were left out
    n_lost_distinct : number of different rows among them
    n_wrong : number of rows left out that surely had a wrong label, each as often as it is copied

    Examples
    --------
    >>> lost = {"n_lost": 10, "n_lost_distinct": 3, "n_wrong": 9}
    >>> table = TrainingTable(np.zeros((90, 1)), np.repeat([0, 1], 45), **lost)
    >>> [table.noise_rate_left(rate) for rate in (0.15, 0.1, 0.09)]
    [0.15, 0.02, 0.0]
    >>> table.n_distinct
    93
    """

    whole_rows: Rows
    whole_labels: Any
    folds: Sequence[Fold] = ()
    copies: Copies | None = None
    n_lost: int = 0
    n_lost_distinct: int = 0
    n_wrong: int = 0

    @cached_property
    def rows(self) -> Rows:
        """(n, d), copied from the user's table once they are needed."""
        if self.copies is None:
            return self.whole_rows
        return self.copies.table(self.whole_rows, self.whole_labels)[0]

    @cached_property
    def labels(self) -> Any:
        """(n,)"""
        return self.whole_labels[self.places]

    @property
    def places(self) -> NDArray[np.intp]:
        """(n,) the positions in the user's table."""
        return np.arange(len(self.whole_labels)) if self.copies is None else self.copies.places

    @property
    def n_distinct(self) -> int:
        """The number of different rows, with those that were left out."""
        kept = self.copies
        n_kept = self.places.size if kept is None else np.unique(kept.groups).size
        return n_kept + self.n_lost_distinct

    def noise_rate_left(self, noise_rate: float) -> float:
        """The noise rate of the rows that are still there.

        If nearly all rows that can be planted are gone, it is 2%, and 0 if all are: a filter that
        looked for as many again would take clean rows.
        """
        n_planted = noise_rate * (self.places.size + self.n_wrong)
        if not self.n_wrong >= NEARLY * n_planted > 0:
            return noise_rate
        return 0.0 if self.n_wrong >= n_planted else min(noise_rate, LEAST_NOISE_RATE)

    def without(self, lost: NDArray[np.bool_], n_wrong: int = 0) -> Self | None:
        """The table without the rows that lost; None if the folds would be unusable.

        `n_wrong` of them surely had a wrong label.
        """
        kept = np.flatnonzero(~lost)
        folds = renumbered(restricted(self.folds, kept, lost.size), kept)
        if not are_usable(folds, self.labels[kept]):
            return None
        copies = self.copies or Copies.of_each(lost.size)
        return replace(
            self,
            folds=folds,
            copies=copies.take(kept),
            n_lost=self.n_lost + np.unique(self.places[lost]).size,
            n_lost_distinct=self.n_lost_distinct
            + np.setdiff1d(copies.groups[lost], copies.groups[kept]).size,
            n_wrong=self.n_wrong + n_wrong,
        )


@dataclass(frozen=True, eq=False)
class Disputes:
    """Which rows of a table are equal but for their labels, and how many may lose.

    Tables of few values have genuine disputes. If there are more than planted rows can explain, no
    row loses.

    Parameters
    ----------
    numbers : (n,) equal rows have the same number, whatever their labels
    n_allowed : number of rows that may lose

    Examples
    --------
    >>> rows, signs = np.array([[1.0], [2.0], [1.0], [3.0]]), np.array([1.0, 1.0, -1.0, -1.0])
    >>> disputes = Disputes.of(rows, signs, noise_rate=0.3)
    >>> scores = np.array([0.8, 1.0, 0.9, -1.0])
    >>> disputes.lost(signs, np.array([0.9, 1.0, 0.1, 1.0]), scores)
    array([False, False,  True, False])
    >>> disputes.lost(signs, np.array([0.9, 1.0, 0.1, 1.0]), -scores).any()
    np.False_
    >>> Disputes.of(rows[:2], signs[:2], noise_rate=0.3) is None
    True
    """

    numbers: NDArray[np.intp]
    n_allowed: float

    @classmethod
    def of(cls, rows: Rows, signs: FloatArray, noise_rate: float) -> Self | None:
        """The disputes of a table; None if it has none, or too many."""
        n_allowed = ALLOWED * noise_rate * signs.size
        numbers = numbers_of_equal_rows(rows) if n_allowed >= 1 else None
        if numbers is None:
            return None
        disputes = cls(numbers, n_allowed)
        n_wrong = disputes._sizes(signs).min(axis=1).sum()  # whichever sides are
        return disputes if 0 < n_wrong <= n_allowed else None

    def lost(self, signs: FloatArray, trust: FloatArray, scores: FloatArray) -> NDArray[np.bool_]:
        """The rows with less trust than the other side that a model contradicts.

        None if they are very few or too many, or if trust and the model often disagree about who is
        wrong.

        Parameters
        ----------
        signs, trust : (n,)
        scores : (n,) of rows when they were held out, positive for +1; NaN: not held out
        """
        sides, sizes = self._sides(signs), self._sizes(signs)
        means = np.bincount(sides, trust, sizes.size).reshape(-1, 2) / np.maximum(sizes, 1)
        loses = (sizes > 0).all(axis=1, keepdims=True) & (means < LESS * means[:, ::-1])
        margins = signs * self._means(scores)
        less_trusted: NDArray[np.bool_] = loses.ravel()[sides] & (margins != 0)
        lost = less_trusted & (margins < 0)
        is_clear = lost.sum() >= AGREEING * less_trusted.sum()
        return lost & is_clear & can_be_planted(lost, signs, self.n_allowed)

    def contested(self, signs: FloatArray) -> NDArray[np.bool_]:
        """The rows that an equal row with the other label contradicts.

        Examples
        --------
        >>> disputes = Disputes(np.array([0, 1, 0, 2]), n_allowed=1.0)
        >>> disputes.contested(np.array([1.0, 1.0, -1.0, -1.0]))
        array([ True, False,  True, False])
        """
        contested: NDArray[np.bool_] = self._sizes(signs).min(axis=1)[self.numbers] > 0
        return contested

    def _means(self, scores: FloatArray) -> FloatArray:
        """For each row, the mean score of the rows that are equal to it; 0 if none is known."""
        known = np.isfinite(scores)
        total = np.bincount(self.numbers, np.where(known, scores, 0.0))
        means: FloatArray = (total / np.maximum(np.bincount(self.numbers, known), 1))[self.numbers]
        return means

    def without(self, lost: NDArray[np.bool_]) -> Self:
        """The disputes of the other rows."""
        return type(self)(self.numbers[~lost], self.n_allowed - int(lost.sum()))

    def _sides(self, signs: FloatArray) -> NDArray[np.intp]:
        """Two numbers for each set of equal rows, one for each label."""
        sides: NDArray[np.intp] = 2 * self.numbers + (signs > 0)
        return sides

    def _sizes(self, signs: FloatArray) -> NDArray[np.intp]:
        n_sides = 2 * (int(self.numbers.max()) + 1)
        return np.bincount(self._sides(signs), minlength=n_sides).reshape(-1, 2)


class Compared(Protocol):
    """What is known once fits to a table were compared."""

    trust: FloatArray
    scores: FloatArray


T = TypeVar("T", bound=Compared)


def settle(
    table: TrainingTable, compare: Callable[[TrainingTable], T], noise_rate: float
) -> tuple[TrainingTable, T]:
    """The table without the rows that lose a dispute, and what is known of the rest.

    A planted copy of a clean row with the other label differs from it in nothing but trust. Sides
    with less trust that a model contradicts are left out, and the rest is looked at again:
    once some planted copies are gone, trust tells more of them from their originals.

    Near copies of rows with the other label, and rows that are repeated too often, are left out
    before: they show without a fit.

    Departure: Algorithm 2 does not compare rows.
    """
    table = _without_planted_copies(table, noise_rate)
    compared = compare(table)
    _, signs = check_two_classes(table.labels)
    disputes = Disputes.of(table.rows, signs, noise_rate)
    for _ in range(N_ROUNDS - 1):
        lost = np.zeros(0, dtype=np.bool_)
        if disputes is not None:
            lost = disputes.lost(signs, compared.trust, compared.scores)
        fewer = table.without(lost) if lost.any() else None
        if disputes is None or fewer is None:
            break
        table, disputes, signs = fewer, disputes.without(lost), signs[~lost]
        compared = compare(table)
    return table, compared


def _without_planted_copies(table: TrainingTable, noise_rate: float) -> TrainingTable:
    """The table without what `planted_copies` finds; a row of large weight is looked at once."""
    _, signs = check_two_classes(table.labels)
    places, first, back = np.unique(table.places, return_index=True, return_inverse=True)
    rows = table.whole_rows
    if places.size < rows.shape[0]:
        rows = rows[places]
    groups = None if table.copies is None else table.copies.groups[first]
    once = planted_copies(rows, signs[first], ALLOWED * noise_rate * places.size, groups)
    lost, surely = once.lost[back], once.surely[back]
    return (table.without(lost, int(surely.sum())) if lost.any() else None) or table
