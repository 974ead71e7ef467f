"""Why rows are suspicious: the features in which groups of them stand out from their class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.geometry import hard_threshold
from thresher.learning.steps import around_class_medians
from thresher.solvers import worst_direction
from thresher.validation import FloatArray, Rows, is_sparse

MAX_FEATURES = 5  # in a direction: what a person can take in
MAX_COLUMNS = 300  # among which a direction is looked for
MAX_ORDINARY = 20_000  # rows that the suspicious ones are compared with
ROUGH = 0.3  # relative gap at which the direction is good enough
FAR = 0.95  # quantile of ordinary rows beyond which a row stands out
MIN_ROWS = 5  # fewer are no group
MAX_GROUPS = 2  # of each class


@dataclass(frozen=True)
class Contrast:
    """One feature in which a group of rows differs from the others of its class.

    Parameters
    ----------
    feature : its column
    loading : its part in the direction, from -1 to 1, in scaled columns
    mean_here, mean_elsewhere : of the group and of the ordinary rows of its class, in the units of
        the table

    Examples
    --------
    >>> Contrast(feature=3, loading=0.8, mean_here=185.2, mean_elsewhere=1304.0).feature
    3
    """

    feature: int
    loading: float
    mean_here: float
    mean_elsewhere: float


@dataclass(frozen=True, eq=False)
class Group:
    """Suspicious rows of one class that stand out in the same sparse direction.

    Parameters
    ----------
    rows : their places in the table
    label : the class that they claim
    variance : mean square along the direction, from the middle of the class
    ordinary_variance : of the ordinary rows of the class
    contrasts : the features of the direction, the largest part first

    Examples
    --------
    >>> Group(np.array([4, 9]), "spam", 30.0, 1.2, ()).ratio
    5.0
    """

    rows: NDArray[np.intp]
    label: Any
    variance: float
    ordinary_variance: float
    contrasts: tuple[Contrast, ...]

    @property
    def ratio(self) -> float:
        """How many times as far out the rows lie as ordinary ones of their class."""
        return float(np.sqrt(self.variance / max(self.ordinary_variance, 1e-12)))


def groups_of(
    X: Rows, scaled: Rows, signs: FloatArray, classes: Sequence[Any], suspects: NDArray[np.intp]
) -> tuple[Group, ...]:
    """What groups of suspicious rows there are, the largest first.

    A direction of few features, of largest variance in the suspicious rows of a class beyond that
    of its ordinary rows, gathers those that stand out in it; what is left is looked at once more.

    Parameters
    ----------
    X, scaled : the table, and its scaled columns
    signs, classes : -1 or +1 for each row, and what they are called
    suspects : the suspicious rows

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((500, 6))
    >>> X[:20, 4] += 9
    >>> (group,) = groups_of(X, X, np.repeat([1.0, -1.0], 250), ["no", "yes"], np.arange(20))
    >>> group.rows.size, group.label, group.contrasts[0].feature
    (20, 'yes', 4)
    """
    found = []
    for sign, label in zip((-1.0, 1.0), classes):
        own = suspects[signs[suspects] == sign]
        is_other = signs == sign
        is_other[suspects] = False
        others = _evenly(np.flatnonzero(is_other), MAX_ORDINARY)
        if others.size >= MIN_ROWS:
            found += list(_groups_of_class(X, scaled, own, others, label))
    return tuple(sorted(found, key=lambda group: -group.rows.size))


def _groups_of_class(
    X: Rows, scaled: Rows, own: NDArray[np.intp], others: NDArray[np.intp], label: Any
) -> Iterator[Group]:
    left = own
    for _ in range(MAX_GROUPS):
        if left.size < MIN_ROWS:
            return
        columns = _columns_of_most_excess(scaled, left, others)
        rows = _dense(scaled[np.concatenate([left, others])][:, columns])
        view = around_class_medians(rows, np.ones(rows.shape[0]))
        here, elsewhere = view[: left.size], view[left.size :]
        direction = _direction(here, elsewhere)
        along, ordinary = here @ direction, elsewhere @ direction
        side = 1.0 if along.sum() >= 0 else -1.0
        is_member = side * along > max(float(np.quantile(side * ordinary, FAR)), 0.0)
        if is_member.sum() < MIN_ROWS:
            return
        members = left[is_member]
        yield Group(
            rows=members,
            label=label,
            variance=float(np.mean(along[is_member] ** 2)),
            ordinary_variance=float(np.mean(ordinary**2)),
            contrasts=tuple(_contrasts(X, columns, side * direction, members, others)),
        )
        left = left[~is_member]


def _direction(here: FloatArray, elsewhere: FloatArray) -> FloatArray:
    """A unit vector of few entries with much more variance here than elsewhere."""
    excess = here.T @ here / here.shape[0] - elsewhere.T @ elsewhere / elsewhere.shape[0]
    answer = worst_direction(
        (excess + excess.T) / 2, l2_radius=1.0, l1_radius=np.sqrt(MAX_FEATURES), tolerance=ROUGH
    )
    vector = answer.direction
    if vector is None:  # a mixture of directions: the one that has most of it
        vector = np.linalg.eigh(answer.lifted)[1][:, -1]
    cut = hard_threshold(vector, min(MAX_FEATURES, vector.size))
    length = float(np.linalg.norm(cut))
    return cut / length if length > 0 else np.eye(1, vector.size)[0]


def _contrasts(
    X: Rows,
    columns: NDArray[np.intp],
    direction: FloatArray,
    members: NDArray[np.intp],
    others: NDArray[np.intp],
) -> Iterator[Contrast]:
    for place in np.argsort(-np.abs(direction), kind="stable")[: np.count_nonzero(direction)]:
        j = int(columns[place])
        yield Contrast(
            feature=j,
            loading=float(direction[place]),
            mean_here=_mean(X, members, j),
            mean_elsewhere=_mean(X, others, j),
        )


def _columns_of_most_excess(
    scaled: Rows, here: NDArray[np.intp], elsewhere: NDArray[np.intp]
) -> NDArray[np.intp]:
    """The columns in which the mean square here exceeds that elsewhere most, in their order."""
    excess = _mean_squares(scaled[here]) - _mean_squares(scaled[elsewhere])
    return np.sort(np.argsort(-excess, kind="stable")[:MAX_COLUMNS])


def _mean_squares(rows: Rows) -> FloatArray:
    squares = rows.multiply(rows) if is_sparse(rows) else rows * rows
    return np.asarray(squares.mean(axis=0)).ravel()


def _mean(X: Rows, rows: NDArray[np.intp], column: int) -> float:
    return float(np.mean(_dense(X[rows][:, [column]])))


def _dense(rows: Rows) -> FloatArray:
    return np.asarray(rows.toarray() if is_sparse(rows) else rows)


def _evenly(places: NDArray[np.intp], limit: int) -> NDArray[np.intp]:
    """At most so many of the places, evenly spread."""
    return places[:: max(1, -(-places.size // limit))]
