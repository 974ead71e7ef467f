"""Plain data errors: values that do not belong where they stand, whatever the label says."""

from collections.abc import Iterator
from dataclasses import astuple, dataclass, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import rankdata

from thresher.auditing.suspects import Places, dense
from thresher.auditing.tails import Tails, find_tails
from thresher.validation import FloatArray, Rows, is_sparse

MIN_CELLS = 20  # nonzero ones of a column that is looked at
MIN_VALUES = 5  # distinct ones
LEAST_TESTS = 20  # that each chance is multiplied by
LIKELY, DOUBTFUL = 0.5, 0.499  # an error from there on; the most that anything else has
MIN_REPEATS = 3  # of a value that stands for a missing one
MIN_RUN = 5  # equal cells below each other
MOST_TIES = 0.1  # share of other cells that are equal to the next one, or to the run's
CODES = (-9999.0, -999.0, -99.0, 999.0, 9999.0, 99999.0)  # that often stand for missing values
CODE_GAP = 3.0  # times the usual distance from the median, by which it lies apart
CODE_CHANCE = 0.01  # that such a value outside of all others means itself
UNIT_DECADES, UNIT_SPREADS = 2.2, 2.5  # by which values in a wrong unit lie apart from others
MOST_OF_UNIT, UNIT_CHANCE = 0.1, 1e-4  # share of the rows with a wrong unit; how odd it is
MOST_COLUMNS = 500  # of a table whose rows are looked at as a whole
RIDGE = 0.05  # of the correlations, so that they can be inverted

FAR_OUT, CODE, STUCK, ODD = "far outside", "placeholder", "stuck", "unusual combination"


@dataclass(frozen=True, eq=False)
class ColumnError:
    """Cells of one column that are wrong in the same way.

    Parameters
    ----------
    column : of the table; -1 if the error is in no single column
    problem : what is wrong with them
    rows : their positions
    tails : of these cells: how many are expected in a column without errors, for each that is
        seen, and how surprising so many are
    """

    column: int
    problem: str
    rows: Places
    tails: Tails

    def part(self, is_part: NDArray[np.bool_]) -> "ColumnError":
        """The error in some of its rows."""
        tails = Tails(self.tails.chance[is_part], self.tails.surprise[is_part])
        return replace(self, rows=self.rows[is_part], tails=tails)


@dataclass(frozen=True, eq=False)
class DataErrors:
    """How likely each row has a data error, and where.

    Parameters
    ----------
    probability : (n,) from 0 to 1; from ½ on, the error is more likely than chance in all columns,
        and below, it is an order of rows that are far out together
    errors : the errors that are likely, the most rows first
    worst : (n,) the error to which the probability of a row belongs; -1 for none
    """

    probability: FloatArray
    errors: tuple[ColumnError, ...]
    worst: Places


def find_data_errors(X: Rows) -> DataErrors:
    """The data errors of a table.

    Each column is searched for values far outside of the others, for a value outside of all others
    that is repeated as if it stood for a missing one, and for equal values below each other; at
    last each row is compared with what is usual for several columns together. A chance counts as
    many times as there are columns.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(5.0, 1.0, size=(300, 3))
    >>> X[7, 1] *= 1000
    >>> X[20:30, 2] = -999
    >>> found = find_data_errors(X)
    >>> np.flatnonzero(found.probability > 0.5)
    array([ 7, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29])
    >>> [(error.column, error.problem, error.rows.size) for error in found.errors]
    [(2, 'placeholder', 10), (1, 'far outside', 1)]
    """
    n_rows, n_columns = X.shape
    n_tests = max(n_columns, LEAST_TESTS)
    least, worst = np.full(n_rows, 1.0), np.full(n_rows, -1, dtype=np.intp)
    doubt, candidates = np.full(n_rows, 1.0), list(_candidates(X))
    for number, error in enumerate(candidates):
        rows, chance, surprise = error.rows, error.tails.chance, error.tails.surprise
        worst[rows[chance < least[rows]]] = number
        least[rows] = np.minimum(least[rows], chance)
        doubt[rows] = np.minimum(doubt[rows], chance + n_tests * surprise)
    probability = 1 / (1 + n_tests * least)
    is_likely = probability >= LIKELY
    errors = [
        error.part(is_likely[error.rows] & (worst[error.rows] == number))
        for number, error in enumerate(candidates)
    ]
    order = sorted(range(len(errors)), key=lambda number: -errors[number].rows.size)
    kept = tuple(errors[number] for number in order if errors[number].rows.size)
    rank = np.full(len(errors) + 1, -1, dtype=np.intp)
    rank[order[: len(kept)]] = np.arange(len(kept))
    doubtful = DOUBTFUL * (0.98 * (1 - doubt) + 0.02 * (1 - least))  # no ties
    return DataErrors(np.where(is_likely, probability, doubtful), kept, rank[worst])


def _candidates(X: Rows) -> Iterator[ColumnError]:
    for column, rows, values in _columns(X):
        tails, is_unit = find_tails(values, float(np.median(values))), _unit(values, X.shape[0])
        if is_unit.any():
            tails = Tails(*(np.where(is_unit, UNIT_CHANCE, t) for t in astuple(tails)))
        yield ColumnError(column, FAR_OUT, rows, tails).part(tails.chance < 1)
        yield from _placeholder(column, rows, values, tails)
    if not is_sparse(X):
        yield from _stuck(X)
    if X.shape[1] <= MOST_COLUMNS and 2 <= X.shape[1] < X.shape[0]:
        yield _odd(dense(X))


def _columns(X: Rows) -> Iterator[tuple[int, Places, FloatArray]]:
    """Each column that is worth looking at: its nonzero cells, and the rows that they are in."""
    by_column = sp.csc_array(X) if is_sparse(X) else None
    for column in range(X.shape[1]):
        if by_column is None:
            rows = np.flatnonzero(X[:, column])
            values = X[rows, column]
        else:
            part = slice(*by_column.indptr[column : column + 2])
            is_used = by_column.data[part] != 0
            rows, values = by_column.indices[part][is_used], by_column.data[part][is_used]
        if values.size >= MIN_CELLS and np.unique(values).size >= MIN_VALUES:
            yield column, rows.astype(np.intp), values


def _unit(values: FloatArray, n_rows: int) -> NDArray[np.bool_]:
    """Which values are about as much larger than the others as a wrong unit makes them.

    The sizes of the values, as logarithms, are split in two where the parts vary least. Values of
    one kind are never split into parts that lie as far from each other as is asked for here.
    """
    sizes = np.log10(np.abs(values))
    order = np.argsort(sizes, kind="stable")
    below = np.arange(1, sizes.size)
    sums = np.cumsum(sizes[order])
    low = sums[:-1] / below
    high = (sums[-1] - sums[:-1]) / (sizes.size - below)
    split = int(np.argmax(below * (sizes.size - below) * (high - low) ** 2))
    parts = sizes[order[: split + 1]], sizes[order[split + 1 :]]
    apart = float(high[split] - low[split])
    spread = max(float(parts[0].std() + parts[1].std()), 0.1)
    is_unit = apart > UNIT_DECADES and apart > UNIT_SPREADS * spread
    is_few = parts[1].size <= min(MOST_OF_UNIT * n_rows, sizes.size / 2)
    is_above = np.zeros(sizes.size, dtype=bool)
    is_above[order[split + 1 :]] = is_unit and is_few
    return is_above


def _placeholder(
    column: int, rows: Places, values: FloatArray, tails: Tails
) -> Iterator[ColumnError]:
    """A value outside of all others that is repeated, or a usual code, as if it meant "missing"."""
    distinct, counts = np.unique(values, return_counts=True)
    for place, next_ in ((0, 1), (-1, -2)):
        value, is_code = distinct[place], distinct[place] in CODES
        own = np.flatnonzero(values == value)
        others = np.abs(np.delete(values, own) - np.median(values))
        gap, usual = abs(value - distinct[next_]), float(np.quantile(others, 0.9))
        is_apart = gap > CODE_GAP * usual
        # A code need only be outside of the others, and of another sign than all of them.
        is_other_sign = is_code and value < 0 <= distinct[next_] and own.size >= MIN_REPEATS
        if own.size < (1 if is_code else MIN_REPEATS) or not (is_apart or is_other_sign):
            continue
        factor = _share_of_ties(counts, place) ** (own.size - 1) * (CODE_CHANCE if is_code else 1)
        chance = np.minimum(tails.chance[own], 0.5) * factor
        yield ColumnError(column, CODE, rows[own], Tails(chance, chance))


def _share_of_ties(counts: Places, place: int) -> float:
    """The share of other cells that have an equal one."""
    others = np.delete(counts, place)
    return max(float(others[others > 1].sum()), 1.0) / max(float(others.sum()), 1.0)


def _stuck(X: FloatArray) -> Iterator[ColumnError]:
    """In each column the longest run of equal cells, if such cells are rare elsewhere.

    Not if the rows of the run are alike in other columns as well: then the rows are repeated.
    """
    is_tied = X[1:] == X[:-1]
    usual = is_tied.mean(axis=1)
    is_alike = usual > (1 + np.median(usual)) / 2
    for column in np.flatnonzero((X[:1] != X).any(axis=0)):
        values, tied = X[:, column], is_tied[:, column] & ~is_alike
        breaks = np.flatnonzero(~tied) + 1
        starts, stops = np.append(0, breaks), np.append(breaks, values.size)
        longest = int(np.argmax(stops - starts))
        run = np.arange(starts[longest], stops[longest])
        n_others = values.size - run.size
        if run.size < MIN_RUN or n_others < MIN_CELLS:
            continue
        n_same = int((values == values[run[0]]).sum()) - run.size
        n_ties = int(is_tied[:, column].sum()) - (run.size - 1)
        share = max(n_same, n_ties, 1) / n_others
        if share <= MOST_TIES:
            chance = np.full(run.size, min(values.size * share ** (run.size - 1), 1.0))
            yield ColumnError(int(column), STUCK, run, Tails(chance, chance))


def _odd(X: FloatArray) -> ColumnError:
    """How far each row is from what correlations between the columns lead to expect.

    By the Mahalanobis distance of the columns' normal scores, so that no column's scale matters.
    """
    varies = X.min(axis=0) < X.max(axis=0)
    scores = ndtri((rankdata(X[:, varies], axis=0) - 0.5) / X.shape[0])
    scores /= np.maximum(scores.std(axis=0), 1e-9)
    precision = np.linalg.inv(scores.T @ scores / len(X) + RIDGE * np.eye(scores.shape[1]))
    distance = np.sqrt(np.einsum("ij,jk,ik->i", scores, precision, scores))
    median = float(np.median(distance))
    found = ColumnError(-1, ODD, np.arange(len(X)), find_tails(distance, median))
    return found.part((distance > median) & (found.tails.chance < 1))
