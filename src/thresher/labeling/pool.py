"""A finite pool: the table as it was given, its rows as numbers, and the id of each row."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from thresher.arrays import to_host
from thresher.estimators.checks import refuse_dates, refuse_repeated_names
from thresher.learning.journal import checksum
from thresher.oracles import LargePool
from thresher.validation import Rows, check_rows, is_sparse, require_in_memory
from thresher.wording import one_line

SAMPLE_ENTRIES = 20_000_000  # of a pool larger than memory


@dataclass(frozen=True, eq=False)
class Question:
    """Rows whose labels are wanted; `ActiveClassifier.ask` returns one.

    Parameters
    ----------
    ids : (k,) the index labels of a pandas frame, else row numbers
    X : (k, d) the rows, of the same kind as the pool
    """

    ids: NDArray[Any]
    X: Any


@dataclass(frozen=True, eq=False)
class FinitePool:
    """A table with an id for each row: its index label in a pandas frame, else its row number.

    Parameters
    ----------
    table : as it was given
    rows : (n, d) the same as finite numbers, dense or CSR
    ids : (n,)
    feature_names : the names of the columns of a data frame, else None

    Examples
    --------
    >>> pool = FinitePool.of([[1.0, 2.0], [3.0, 4.0]])
    >>> pool.positions([1]), pool.question([1]).X
    ([1], array([[3., 4.]]))
    """

    table: Any
    rows: Rows
    ids: NDArray[Any]
    feature_names: list[str] | None

    @classmethod
    def of(cls, table: Any) -> Self:
        """The pool, checked: finite numbers, names and an index without duplicates.

        Of a pool larger than memory, a uniform sample, with the ids that the rows have there.
        """
        if isinstance(table, LargePool):
            ids = table.sample_ids(SAMPLE_ENTRIES)
            rows = table.take(ids)
            return cls(rows, rows, ids, table.feature_names if table.has_names else None)
        require_in_memory(table)
        refuse_dates(table)
        refuse_repeated_names(table)
        rows = _finite_rows(table)
        names = getattr(table, "columns", None)
        feature_names = None if names is None else [str(name) for name in names]
        return cls(table, rows, _ids(table, rows.shape[0]), feature_names)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.rows.shape[0])

    @cached_property
    def description(self) -> dict[str, int]:
        """What tells this table from another one."""
        n_rows, n_features = map(int, self.rows.shape)
        return {"n_rows": n_rows, "n_features": n_features, "checksum": checksum(self.rows)}

    @property
    def has_index(self) -> bool:
        """Whether the ids are labels that the user gave, and not row numbers."""
        return hasattr(self.table, "iloc")

    @cached_property
    def _position_of(self) -> dict[Any, int]:
        return {one: position for position, one in enumerate(self.ids.tolist())}

    def positions(self, ids: Iterable[Any]) -> list[int]:
        """The positions of the rows with these ids.

        Raises
        ------
        ValueError : the pool has no row of that id, or an id is repeated
        """
        found: list[int] = []
        for one in ids:
            position = self._position(one)
            if position is None:
                raise ValueError(f"the pool has no row with the id {one_line(repr(one))}")
            found.append(position)
        if len(set(found)) < len(found):
            repeated = next(place for place in found if found.count(place) > 1)
            raise ValueError(f"id {self.name_of(repeated)} is given twice")
        return found

    def listed(self, ids: Any) -> list[Any]:
        """Ids as a list: of one id, whatever its type, or of several.

        Examples
        --------
        >>> pool = FinitePool.of([[1.0, 2.0], [3.0, 4.0]])
        >>> pool.listed(1), pool.listed(np.array([1, 0])), pool.listed("x")
        ([1], [np.int64(1), np.int64(0)], ['x'])
        """
        is_one = isinstance(ids, str) or not np.iterable(ids) or self._position(ids) is not None
        return [ids] if is_one else list(ids)

    def _position(self, one: Any) -> int | None:
        try:
            return self._position_of.get(_plain(one))
        except TypeError:  # not hashable
            return None

    def name_of(self, position: int) -> str:
        """The id of a row, as it stands in messages."""
        return one_line(repr(_plain(self.ids[position])))

    def question(self, positions: Iterable[int]) -> Question:
        """The rows at these positions, as they were given."""
        places = np.fromiter(positions, dtype=np.intp)
        if self.has_index:
            return Question(self.ids[places], self.table.iloc[places])
        is_frame = hasattr(self.table, "columns")
        return Question(self.ids[places], (self.table if is_frame else self.rows)[places])


def _finite_rows(table: Any) -> Rows:
    try:
        with np.errstate(over="ignore"):  # too large for a float becomes infinite, and is refused
            rows = check_rows(table, "pool")
    except OverflowError as error:
        raise ValueError(f"pool must hold numbers that fit into floats: {error}") from error
    return rows if is_sparse(rows) else to_host(rows)


def _ids(table: Any, n_rows: int) -> NDArray[Any]:
    if not hasattr(table, "iloc"):
        return np.arange(n_rows)
    if not table.index.is_unique:
        repeated = _plain(table.index[table.index.duplicated()][0])
        raise ValueError(
            f"the index of the pool must be unique, but {repeated!r} occurs more than once; "
            "call reset_index first"
        )
    labels = list(table.index)
    if all(isinstance(label, (int, np.integer)) for label in labels):
        return np.array(labels, dtype=np.int64)
    ids = np.empty(n_rows, dtype=object)
    ids[:] = labels
    return ids


def _plain(one: Any) -> Any:
    return one.item() if isinstance(one, np.generic) else one
