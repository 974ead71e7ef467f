"""Values that do not go together: unusual rows, and columns that were swapped."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.special import ndtri

from thresher.auditing.suspects import Places
from thresher.validation import FloatArray

RIDGE = 0.05  # of the correlations, so that they can be inverted
CENTRAL, CENTRAL_SPREAD = (0.05, 0.95), 3.29  # quantiles, and how far apart they are if normal
FARTHEST = 8.0  # normal scores, beyond the range of a column
MIN_VALUES = 5  # distinct ones of a column that may be swapped with another
MOST_COLUMNS, MOST_ROWS = 100, 500  # among which swaps are looked for
FARTHER = 0.75  # quantile of the distance from which rows may be swapped
CLEAR_GAIN = 6.0  # of the squared distance, in a row that is swapped
MIN_SWAPPED = 5  # rows
# The support of a swap, compared with that of others, and of others that share one column with it:
# any ordinary value is better than the one that is there.
TIMES_OTHERS, TIMES_SHARING = 2.5, 1.3


@dataclass(frozen=True, eq=False)
class Usual:
    """What is usual for several columns together.

    By the normal scores of the columns, so that no column's scale matters.

    Parameters
    ----------
    scales : of each column
    scores : (n, d) normal scores of the cells
    precision : (d, d) the inverse of their correlations
    distance : (n,) Mahalanobis distance of each row, squared
    """

    scales: tuple["Scale", ...]
    scores: FloatArray
    precision: FloatArray
    distance: FloatArray


@dataclass(frozen=True, eq=False)
class Scale:
    """The normal scores of a column's values.

    Parameters
    ----------
    values, scores : of the cells, increasing
    steepness : scores per unit beyond the range of the column
    unit : what all scores are divided by
    """

    values: FloatArray
    scores: FloatArray
    steepness: float
    unit: float

    def of(self, values: FloatArray) -> FloatArray:
        """The scores of any values."""
        beyond = np.maximum(values - self.values[-1], 0) + np.minimum(values - self.values[0], 0)
        scores = np.interp(values, self.values, self.scores) + self.steepness * beyond
        return np.asarray(np.clip(scores, -FARTHEST, FARTHEST) / self.unit)


@dataclass(frozen=True, eq=False)
class Swap:
    """Two columns whose cells are in each other's place in some rows.

    Parameters
    ----------
    columns : the two
    rows : that are more usual if the cells are swapped back
    gain : by how much less their squared distance is then
    """

    columns: tuple[int, int]
    rows: Places
    gain: FloatArray


def usual_combinations(X: FloatArray) -> Usual:
    """What is usual for the columns of a table that has no constant column.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=300)
    >>> X = np.column_stack([x, x**3])
    >>> X[7] = 1.0, -1.0
    >>> int(np.argmax(usual_combinations(X).distance))
    7
    """
    scales = tuple(_scale(column) for column in X.T)
    scores = np.column_stack([scale.of(column) for scale, column in zip(scales, X.T)])
    moment = scores.T @ scores / len(X)
    precision = np.asarray(np.linalg.inv(moment + RIDGE * np.eye(len(moment))), dtype=np.float64)
    return Usual(scales, scores, precision, np.einsum("ij,ij->i", scores @ precision, scores))


def _scale(column: FloatArray) -> Scale:
    values, places, counts = np.unique(column, return_inverse=True, return_counts=True)
    scores = ndtri((np.cumsum(counts) - counts / 2) / column.size)
    low, high = np.quantile(column, CENTRAL)
    spread = high - low or values[-1] - values[0]
    return Scale(values, scores, CENTRAL_SPREAD / spread, max(float(scores[places].std()), 1e-9))


def find_swap(X: FloatArray, usual: Usual) -> Swap | None:
    """The two columns that were swapped in some rows; None if no pair stands out.

    In each of the more unusual rows, and for each pair of columns, the cells are swapped back. The
    pair must make several rows much more usual, and do so better than any other pair.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 3)) + [5.0, 10.0, 7.0]
    >>> X[:12, :2] = X[:12, 1::-1]
    >>> swap = find_swap(X, usual_combinations(X))
    >>> swap.columns, len(set(swap.rows) & set(range(12)))
    ((0, 1), 12)
    """
    columns = [j for j, scale in enumerate(usual.scales) if scale.values.size >= MIN_VALUES]
    pairs = list(combinations(columns, 2))
    if not pairs or len(columns) > MOST_COLUMNS:
        return None
    order = np.argsort(-usual.distance, kind="stable")
    rows = order[: min(int((1 - FARTHER) * len(X)), MOST_ROWS)]
    against = usual.scores[rows] @ usual.precision
    gains = [_gain(X[rows], usual, against, usual.scores[rows], pair) for pair in pairs]
    support = [float(np.clip(gain - CLEAR_GAIN, 0, CLEAR_GAIN).sum()) for gain in gains]
    best = int(np.argmax(support))
    gain, needed = gains[best], 0.0
    for pair, other in zip(pairs, support):
        if pair != pairs[best]:
            is_apart = set(pair).isdisjoint(pairs[best])
            needed = max(needed, other * (TIMES_OTHERS if is_apart else TIMES_SHARING))
    is_clear = (gain > CLEAR_GAIN).sum() >= MIN_SWAPPED and support[best] > needed
    is_better = gain > 0
    return Swap(pairs[best], rows[is_better], gain[is_better]) if is_clear else None


def _gain(
    X: FloatArray, usual: Usual, against: FloatArray, scores: FloatArray, pair: tuple[int, int]
) -> FloatArray:
    """By how much the squared distance of each row falls if two of its cells are swapped."""
    (i, j), precision = pair, usual.precision
    di = usual.scales[i].of(X[:, j]) - scores[:, i]
    dj = usual.scales[j].of(X[:, i]) - scores[:, j]
    linear = 2 * (di * against[:, i] + dj * against[:, j])
    squares = precision[i, i] * di**2 + precision[j, j] * dj**2 + 2 * precision[i, j] * di * dj
    return np.asarray(-(linear + squares))
