"""Plain data errors: values that do not belong where they stand, whatever the label says."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.stats import rankdata

from thresher.auditing.combinations import find_swap, usual_combinations
from thresher.auditing.suspects import Places, dense
from thresher.auditing.tails import chance_of_tails
from thresher.auditing.units import chance_of_own_unit
from thresher.validation import FloatArray, Rows, is_sparse

MIN_CELLS = 20  # nonzero ones of a column that is looked at
MIN_VALUES = 5  # distinct ones
LEAST_TESTS = 20  # that each chance is multiplied by
LIKELY = 0.5  # an error from there on
DOUBTFUL, LEAST_USUAL = 0.499, 0.1  # the most that others have, and that rows have for being odd
MIN_REPEATS = 3  # of a value that stands for a missing one
MIN_RUN = 5  # equal cells below each other
MOST_TIES = 0.1  # share of other cells that are equal to the next one, or to the run's
CODES = (-9999.0, -999.0, -99.0, 999.0, 9999.0, 99999.0)  # that often stand for missing values
CODE_GAP = 3.0  # times the usual distance from the median, by which it lies apart
CODE_CHANCE = 0.01  # that such a value outside of all others means itself
UNIT_DECADES, UNIT_SPREADS = 2.2, 2.5  # by which values in a wrong unit lie apart from others
MOST_OF_UNIT, UNIT_CHANCE = 0.1, 1e-4  # share of the rows with a wrong unit; how odd it is
MOST_COLUMNS = 500  # of a table whose rows are looked at as a whole

FAR_OUT, CODE, STUCK = "far outside", "placeholder", "stuck"
ODD, SWAPPED = "unusual combination", "swapped"


@dataclass(frozen=True, eq=False)
class ColumnError:
    """Cells of one column that are wrong in the same way.

    Parameters
    ----------
    column : of the table; -1 if the error is in no single column
    problem : what is wrong with them
    rows : their positions
    chance : of these cells: how many are expected in a column without errors, for each that is
        seen
    other : the column that it was swapped with; -1 if it was not
    """

    column: int
    problem: str
    rows: Places
    chance: FloatArray
    other: int = -1

    def part(self, is_part: NDArray[np.bool_]) -> "ColumnError":
        """The error in some of its rows."""
        return replace(self, rows=self.rows[is_part], chance=self.chance[is_part])


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
    by_rows = _by_rows(X)
    candidates = [*_by_columns(X), *by_rows.errors]
    for number, error in enumerate(candidates):
        worst[error.rows[error.chance < least[error.rows]]] = number
        least[error.rows] = np.minimum(least[error.rows], error.chance)
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
    return DataErrors(np.where(is_likely, probability, by_rows.doubt), kept, rank[worst])


def _by_columns(X: Rows) -> Iterator[ColumnError]:
    """What is wrong in each column."""
    for column, rows, values in _columns(X):
        chance = chance_of_tails(values, float(np.median(values)))
        chance = np.where(_unit(values, X.shape[0]), np.minimum(chance, UNIT_CHANCE), chance)
        chance = np.minimum(chance, chance_of_own_unit(values, X.shape[0]))
        yield ColumnError(column, FAR_OUT, rows, chance).part(chance < 1)
        yield from _placeholder(column, rows, values, chance)
    if not is_sparse(X):
        yield from _stuck(X)


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
    column: int, rows: Places, values: FloatArray, chances: FloatArray
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
        yield ColumnError(column, CODE, rows[own], np.minimum(chances[own], 0.5) * factor)


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
            yield ColumnError(int(column), STUCK, run, chance)


@dataclass(frozen=True, eq=False)
class _ByRows:
    """What is wrong in several columns together, and (n,) how doubtful each other row is."""

    errors: tuple[ColumnError, ...]
    doubt: FloatArray


def _by_rows(X: Rows) -> _ByRows:
    """How far each row is from what correlations between the columns lead to expect."""
    n_rows, n_columns = X.shape
    if not 2 <= n_columns < n_rows or n_columns > MOST_COLUMNS:
        return _ByRows((), np.zeros(n_rows))
    cells = dense(X)
    varying = np.flatnonzero(cells.min(axis=0) < cells.max(axis=0))
    if varying.size < 2:
        return _ByRows((), np.zeros(n_rows))
    cells = cells[:, varying].astype(np.float64)
    usual = usual_combinations(cells)
    distance, doubt = np.sqrt(usual.distance), rankdata(usual.distance) * LEAST_USUAL / n_rows
    median = float(np.median(distance))
    odd = ColumnError(-1, ODD, np.arange(n_rows), chance_of_tails(distance, median))
    odd = odd.part((distance > median) & (odd.chance < 1))
    swap = find_swap(cells, usual)
    if swap is None:
        return _ByRows((odd,), doubt)
    chance = np.exp(-swap.gain / 2)
    doubt[swap.rows] = np.maximum(doubt[swap.rows], DOUBTFUL * (1 - chance))
    first, other = (int(varying[column]) for column in swap.columns)
    return _ByRows((odd, ColumnError(first, SWAPPED, swap.rows, chance, other)), doubt)
