"""Groups of suspicious rows, and the features in which they stand out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from thresher.geometry import hard_threshold
from thresher.learning.steps import around_class_medians
from thresher.solvers import worst_direction
from thresher.validation import FloatArray, Rows, is_sparse

Places: TypeAlias = NDArray[np.intp]  # of rows or columns in the table

MAX_FEATURES = 5  # in a direction: what a person can take in
MAX_COLUMNS = 300  # searched for a direction
MAX_ORDINARY = 20_000  # rows that the suspicious ones are compared with
ROUGH = 0.3  # relative gap at which the direction is good enough
FAR = 0.95  # quantile of ordinary rows beyond which a row stands out
MIN_ROWS = 5  # of a group
MAX_GROUPS = 2  # per class


@dataclass(frozen=True)
class Contrast:
    """One feature in which a group of rows differs from the others of its class.

    Parameters
    ----------
    feature : its column
    loading : its entry in the direction, from -1 to 1, in scaled columns
    mean_here, mean_elsewhere : of the group and of the ordinary rows of its class, in the units of
        the table
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
    rows : their positions in the table
    label : the class that they claim
    ratio : how many times as far out they lie as the ordinary rows of the class: root mean squares
        along the direction, from the median of the class
    contrasts : the features of the direction, the largest entry first
    """

    rows: Places
    label: Any
    ratio: float
    contrasts: tuple[Contrast, ...]


def find_groups(
    X: Rows, scaled: Rows, signs: FloatArray, classes: Sequence[Any], suspects: Places
) -> tuple[Group, ...]:
    """The groups of suspicious rows, the largest first.

    A group is gathered along a direction of few features in which the suspicious rows of a class
    have much more variance than its ordinary rows; then the remaining rows are searched once more.

    Parameters
    ----------
    X, scaled : the table, and its scaled columns
    signs, classes : -1 or +1 for each row, and the two labels
    suspects : the suspicious rows

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((500, 6))
    >>> X[:20, 4] += 9
    >>> (group,) = find_groups(X, X, np.repeat([1.0, -1.0], 250), ["no", "yes"], np.arange(20))
    >>> group.rows.size, group.label, group.contrasts[0].feature
    (20, 'yes', 4)
    """
    found = []
    for sign, label in zip((-1.0, 1.0), classes):
        own = suspects[signs[suspects] == sign]
        is_other = signs == sign
        is_other[suspects] = False
        others = np.flatnonzero(is_other)
        others = others[:: max(1, -(-others.size // MAX_ORDINARY))]  # evenly spread
        if others.size >= MIN_ROWS:
            found += list(_groups_of_class(X, scaled, own, others, label))
    return tuple(sorted(found, key=lambda group: -group.rows.size))


def _groups_of_class(
    X: Rows, scaled: Rows, own: Places, others: Places, label: Any
) -> Iterator[Group]:
    left = own
    for _ in range(MAX_GROUPS):
        if left.size < MIN_ROWS:
            return
        columns = _columns_of_most_excess(scaled, left, others)
        rows = dense(scaled[np.concatenate([left, others])][:, columns])
        view = around_class_medians(rows, np.ones(rows.shape[0]))
        here, elsewhere = view[: left.size], view[left.size :]
        direction = _direction(here, elsewhere)
        along, ordinary = here @ direction, elsewhere @ direction
        side = 1.0 if along.sum() >= 0 else -1.0
        is_member = side * along > max(float(np.quantile(side * ordinary, FAR)), 0.0)
        if is_member.sum() < MIN_ROWS:
            return
        members, usual = left[is_member], max(float(np.mean(ordinary**2)), 1e-12)
        yield Group(
            rows=members,
            label=label,
            ratio=float(np.sqrt(np.mean(along[is_member] ** 2) / usual)),
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
    if vector is None:  # a mixture of directions: take its leading one
        vector = np.linalg.eigh(answer.lifted)[1][:, -1]
    cut = hard_threshold(vector, min(MAX_FEATURES, vector.size))
    length = float(np.linalg.norm(cut))
    return cut / length if length > 0 else np.eye(1, vector.size)[0]


def _contrasts(
    X: Rows, columns: Places, direction: FloatArray, members: Places, others: Places
) -> Iterator[Contrast]:
    for place in np.argsort(-np.abs(direction), kind="stable")[: np.count_nonzero(direction)]:
        column = [int(columns[place])]
        yield Contrast(
            feature=column[0],
            loading=float(direction[place]),
            mean_here=float(np.mean(dense(X[members][:, column]))),
            mean_elsewhere=float(np.mean(dense(X[others][:, column]))),
        )


def _columns_of_most_excess(scaled: Rows, here: Places, elsewhere: Places) -> Places:
    """The columns whose mean square here exceeds that elsewhere most, in table order."""
    excess = _mean_squares(scaled[here]) - _mean_squares(scaled[elsewhere])
    return np.sort(np.argsort(-excess, kind="stable")[:MAX_COLUMNS])


def _mean_squares(rows: Rows) -> FloatArray:
    squares = rows.multiply(rows) if is_sparse(rows) else rows * rows
    return np.asarray(squares.mean(axis=0)).ravel()


def dense(rows: Rows) -> FloatArray:
    """The rows as an array."""
    return np.asarray(rows.toarray() if is_sparse(rows) else rows)
