"""How the columns of a pool depend on each other, and which rows do not keep to it."""

from typing import NamedTuple, Self

import numpy as np
from numpy.random import Generator

from thresher.validation import FloatArray

RIDGE = 0.05  # added to every variance, so that the covariance has an inverse
MOST_COLUMNS = 1000  # that are looked at: the work grows with their third power
FEWEST_ROWS = 100  # a quarter of them to be changed, the others to learn from
N_CHANGED = 300  # rows at most that are changed to see whether that shows
CHANGED = 0.1  # share of their entries
SURE = 0.7  # share of the changed rows that must be odder than before


class Dependence(NamedTuple):
    """Columns predicted from each other: what an entry should be, given the others of its row.

    The prediction is linear. The entry in column j of a centered row z misses it by (P z)_j / P_jj,
    where P is the inverse of the covariance. The unit of a miss is 1 / √P_jj.

    Parameters
    ----------
    center : (d,) mean of each column
    precision : (d, d) the inverse of the covariance

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> first = rng.standard_normal((200, 1))
    >>> dependence = Dependence.of(np.hstack([first, first + 0.1 * rng.standard_normal((200, 1))]))
    >>> usual, odd = dependence.oddness(np.array([[2.0, 2.0], [1.0, -1.0]]))
    >>> bool(odd > 2 * usual)
    True
    """

    center: FloatArray
    precision: FloatArray

    @classmethod
    def of(cls, rows: FloatArray) -> Self:
        """The dependence in these rows, whose columns have about unit variance."""
        center = rows.mean(axis=0)
        centered = rows - center
        covariance = centered.T @ centered / len(rows)
        covariance[np.diag_indices_from(covariance)] += RIDGE
        return cls(center, np.asarray(np.linalg.inv(covariance), dtype=np.float64))

    def oddness(self, rows: FloatArray) -> FloatArray:
        """By how much the entries of each row miss what the others say, all together."""
        misses = (rows - self.center) @ (self.precision / np.sqrt(np.diag(self.precision)))
        oddness: FloatArray = np.abs(misses).sum(axis=1)
        return oddness


def oddness_that_shows_changes(rows: FloatArray, reference: FloatArray) -> FloatArray | None:
    """The share of unchanged rows that are less odd than each row; None if changes do not show.

    Some rows of the reference are changed in a tenth of their entries, and the others are learned
    from. Most of them must be odder than before when they get entries of another row, and when
    entries are set to the median of their column.

    Parameters
    ----------
    rows : (n, d) whose oddness is wanted, in columns of about unit variance
    reference : rows that are not known to be changed

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> independent = rng.standard_normal((500, 6))
    >>> dependent = independent[:, :2] @ rng.standard_normal((2, 6))
    >>> oddness_that_shows_changes(independent, independent) is None
    True
    >>> oddness_that_shows_changes(dependent, dependent).shape
    (500,)
    """
    if len(reference) < FEWEST_ROWS:
        return None
    rng = np.random.default_rng(0)
    if rows.shape[1] > MOST_COLUMNS:
        columns = np.sort(rng.choice(rows.shape[1], MOST_COLUMNS, replace=False))
        rows, reference = rows[:, columns], reference[:, columns]
    order = rng.permutation(len(reference))
    n_changed = min(N_CHANGED, len(reference) // 4)
    before, others = reference[order[:n_changed]], reference[order[n_changed:]]
    dependence = Dependence.of(others)
    replacements = (others[: len(before)], np.median(others, axis=0))
    if all(_shows(dependence, before, after, rng) for after in replacements):
        unchanged = np.sort(dependence.oddness(before))
        return np.searchsorted(unchanged, dependence.oddness(rows)) / n_changed
    return None


def _shows(
    dependence: Dependence, before: FloatArray, replacement: FloatArray, rng: Generator
) -> bool:
    """Whether rows are usually odder than before when some of their entries are replaced."""
    after = np.where(rng.random(before.shape) < CHANGED, replacement, before)
    is_changed = (after != before).any(axis=1)
    is_odder = dependence.oddness(after) > dependence.oddness(before)
    return bool(is_changed.any() and is_odder[is_changed].mean() >= SURE)
