"""The table of a session: cells as they stand in it, and the same rows as numbers."""

import hashlib
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from thresher.errors import LearningStopped
from thresher.label_sessions.state import RowId
from thresher.labeling.pool import FinitePool
from thresher.oracles import ParquetPool
from thresher.preparation import LeftOut, RawColumn, RawNumbers, TablePreparation, columns_of
from thresher.preparation.kinds import Words
from thresher.table_files import cells_of_rows, prepare_table
from thresher.validation import Rows, is_sparse
from thresher.wording import one_line

MOST_ROWS = 100_000  # that can be asked about; of more, a random sample of that size
MOST_ENTRIES = 20_000_000  # of the sample of a folder, which need not fit into memory
Cells = Callable[[int], dict[str, Any]]


@dataclass(frozen=True)
class Source:
    """Where the rows come from.

    Parameters
    ----------
    table : the path of a file or of a folder of Parquet or Arrow files, or an array, a sparse
        matrix or a data frame
    label : a column to leave out, such as known answers
    id_column : with the ids of the rows; by default they are row numbers, or the index of a pandas
        frame
    """

    table: Any
    label: str | None = None
    id_column: str | None = None

    @property
    def path(self) -> Path | None:
        """Of the file, if it is one."""
        return Path(self.table).absolute() if isinstance(self.table, (str, Path)) else None


@dataclass(frozen=True, eq=False)
class SessionPool:
    """The rows that can be asked about.

    Parameters
    ----------
    n_rows : of the whole table
    ids : (n,) of the rows that can be asked about
    X : (n, d) the same rows as numbers, dense or CSR
    feature_names : of the columns of X
    preparation : how the columns of the table become those of X; None if they are numbers
    fingerprint : what tells this table from another one
    cells : the values of the row at a position, by column
    """

    n_rows: int
    ids: NDArray[Any]
    X: Rows
    feature_names: list[str]
    preparation: TablePreparation | None
    fingerprint: dict[str, Any]
    cells: Cells

    @classmethod
    def of(cls, source: Source, *, seed: int, needed: Iterable[RowId | str] = ()) -> Self:
        """The pool; of a long table, a random sample and the rows that are needed.

        Rows are needed by their ids, or by these as texts.
        """
        if source.path is not None and source.path.is_dir():
            return cls._of_folder(source, source.path, seed)
        whole = _in_memory(source) if source.path is None else _in_file(source, source.path)
        _require_unique(whole.ids)
        places = _sample(whole, seed, needed)
        return cls(
            n_rows=whole.n_rows,
            ids=whole.ids[places],
            X=whole.X[places],
            feature_names=whole.feature_names,
            preparation=whole.preparation,
            fingerprint=whole.fingerprint,
            cells=whole.cells_of(places),
        )

    @classmethod
    def _of_folder(cls, source: Source, path: Path, seed: int) -> Self:
        """A sample of the rows of a folder, which need not fit into memory; of a small one, all."""
        pool = ParquetPool(path, columns=())
        pool.require_columns(filter(None, (source.label, source.id_column)), pool.column_names)
        names = [name for name in pool.column_names if name != source.label]
        n_most = min(MOST_ROWS, MOST_ENTRIES // len(names))
        numbers = _drawn(pool.n_rows, n_most, seed)
        part = _in_memory(Source(pool.table_at(numbers, names), id_column=source.id_column))
        ids = numbers if source.id_column is None else part.ids
        _require_unique(ids)
        return cls(
            n_rows=pool.n_rows,
            ids=ids,
            X=part.X,
            feature_names=part.feature_names,
            preparation=part.preparation,
            fingerprint={"kind": "folder", "n_rows": pool.n_rows, "checksum": pool.checksum},
            cells=part.cells_of(np.arange(ids.size)),
        )

    @cached_property
    def columns(self) -> list[str]:
        """The names of the columns of the table, without the one that is left out."""
        return self.feature_names if is_sparse(self.X) else list(self.cells(0))

    @cached_property
    def text_columns(self) -> list[str]:
        """The columns of text that people read: words, and what is left out, such as names."""
        columns = () if self.preparation is None else self.preparation.columns
        return [column.name for column in columns if isinstance(column, (Words, LeftOut))]

    @cached_property
    def column_of_feature(self) -> list[str]:
        """The column of the table that each column of X is made from."""
        if self.preparation is None:
            return self.feature_names
        made_from = {
            feature: column.name
            for column in self.preparation.columns
            for feature in (*column.feature_names, f"{column.name} is missing")
        }
        return [made_from[name] for name in self.feature_names]

    @property
    def remark(self) -> str | None:
        """A sentence that questions come from a sample; None if they come from all rows."""
        if len(self.ids) == self.n_rows:
            return None
        return (
            f"questions come from a random sample of {len(self.ids):,} of the {self.n_rows:,} rows "
            "in the pool"
        )

    def row(self, row_id: RowId) -> dict[str, Any]:
        """The values of a row by column, as they stand in the table; of a sparse one, no zeros."""
        return self.cells(self.position(row_id))

    def position(self, row_id: Any) -> int:
        """Where a row is among those that can be asked about.

        Raises
        ------
        ValueError, TypeError : there is no such row
        """
        if (position := self.position_of.get(row_id)) is None:
            raise ValueError(f"the pool has no row with the id {one_line(repr(row_id))}")
        return position

    def plain_id(self, row_id: Any) -> RowId:
        """The id itself for a value that is equal to it, such as a NumPy integer."""
        found: RowId = self.ids[[self.position(row_id)]].tolist()[0]
        return found

    def id_of(self, text: str) -> RowId:
        """The id of a row from a file, where numbers are texts.

        Raises
        ------
        ValueError : there is no such row
        """
        if (found := self._id_of_text.get(text)) is None:
            raise ValueError(f"the pool has no row with the id {one_line(repr(text))}")
        return found

    def has_text(self, text: str) -> bool:
        """Whether a row has this id in a file."""
        return text in self._id_of_text

    @cached_property
    def _id_of_text(self) -> dict[str, RowId]:
        return {str(row_id): row_id for row_id in self.ids.tolist()}

    @cached_property
    def position_of(self) -> dict[RowId, int]:
        """The positions of all rows that can be asked about."""
        return {row_id: place for place, row_id in enumerate(self.ids.tolist())}

    def require(self, fingerprint: dict[str, Any], folder: Path) -> None:
        """Raise `LearningStopped` unless this is the table that a session was created with."""
        if self.fingerprint != fingerprint:
            raise LearningStopped(
                f"this is not the pool of the session {folder}, which has "
                f"{fingerprint.get('n_rows', 0):,} rows: the shape or the entries differ. The "
                "session is unchanged; open it with the same table"
            )


@dataclass(frozen=True, eq=False)
class _Whole:
    """A whole table; see `SessionPool`."""

    ids: NDArray[Any]
    X: Rows
    feature_names: list[str]
    preparation: TablePreparation | None
    fingerprint: dict[str, Any]
    cells_of: Callable[[NDArray[np.intp]], Cells]

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])


def _sample(whole: _Whole, seed: int, needed: Iterable[RowId | str]) -> NDArray[np.intp]:
    drawn = _drawn(whole.n_rows, MOST_ROWS, seed)
    if drawn.size == whole.n_rows:
        return drawn
    wanted = set(map(str, needed))
    others = [place for place, one in enumerate(whole.ids.tolist()) if str(one) in wanted]
    return np.union1d(drawn, np.array(others, dtype=np.intp))


def _drawn(n_rows: int, n_most: int, seed: int) -> NDArray[np.intp]:
    """The positions of all rows, or of a random sample if there are more than so many."""
    if n_rows <= n_most:
        return np.arange(n_rows)
    rng = np.random.default_rng([seed, n_rows])
    return np.sort(rng.choice(n_rows, n_most, replace=False))


def _require_unique(ids: NDArray[Any]) -> None:
    if len(set(ids.tolist())) < ids.size:
        raise ValueError("the ids of the rows must be unique")


# -- tables in memory --------------------------------------------------------------------------


def _in_memory(source: Source) -> _Whole:
    table = source.table
    if not (hasattr(table, "columns") or hasattr(table, "column_names")):
        pool = FinitePool.of(table)
        names = [f"x{j}" for j in range(pool.rows.shape[1])]
        print_ = {"kind": "table", **pool.description}
        of = _cells_of_numbers(pool.rows, names)
        return _Whole(pool.ids, pool.rows, names, None, print_, of)
    columns = [one for one in columns_of(table) if one.name != source.label]
    ids = _ids_of(table, source.id_column, columns[0].n_rows)
    columns = [one for one in columns if one.name != source.id_column]
    names = [column.name for column in columns]
    n_rows = columns[0].n_rows
    print_ = {"kind": "table", "n_rows": n_rows, "n_features": len(names)}
    print_["checksum"] = _checksum(columns)
    X, preparation = _prepared(columns)
    features = names if preparation is None else preparation.feature_names
    return _Whole(ids, X, features, preparation, print_, _cells_of_columns(table, names))


def _prepared(columns: Sequence[RawColumn]) -> tuple[Rows, TablePreparation | None]:
    numbers = [one.values for one in columns if isinstance(one, RawNumbers)]
    if len(numbers) == len(columns) and all(np.isfinite(values).all() for values in numbers):
        return np.column_stack(numbers), None
    preparation = TablePreparation.for_columns(columns)
    if not preparation.used_columns:
        raise ValueError("the pool must have a column that can be learned from")
    return preparation.prepare({one.name: one for one in columns}).X, preparation


def _checksum(columns: Sequence[RawColumn]) -> int:
    value = 0
    for one in columns:
        value = zlib.crc32(one.name.encode("utf-8", "surrogatepass"), value)
        if isinstance(one, RawNumbers):
            value = zlib.crc32(np.ascontiguousarray(one.values).data, value)
        else:
            value = zlib.crc32(np.ascontiguousarray(one.codes).data, value)
            value = zlib.crc32("\0".join(one.texts).encode("utf-8", "surrogatepass"), value)
    return value


def _ids_of(table: Any, id_column: str | None, n_rows: int) -> NDArray[Any]:
    if id_column is not None:
        return _plain_ids(list(table[id_column]))
    if hasattr(table, "iloc"):
        return _plain_ids(list(table.index))
    return np.arange(n_rows)


def _plain_ids(values: Sequence[Any]) -> NDArray[Any]:
    """Ids that JSON can hold: integers or texts."""
    plain = [_plain(value) for value in values]
    for value in plain:
        if isinstance(value, bool) or not isinstance(value, (int, str)):
            raise TypeError(f"row ids must be integers or strings, got {one_line(repr(value))}")
    ids = np.empty(len(plain), dtype=object)
    ids[:] = plain
    return ids


def _cells_of_columns(table: Any, names: list[str]) -> Callable[[NDArray[np.intp]], Cells]:
    known: Any = getattr(table, "column_names", getattr(table, "columns", None))
    place_of = {str(name): place for place, name in enumerate(known)}
    columns = {name: table[known[place_of[name]]] for name in names}

    def cells_of(places: NDArray[np.intp]) -> Cells:
        def cells(place: int) -> dict[str, Any]:
            at = int(places[place])
            return {name: _plain(_at(column, at)) for name, column in columns.items()}

        return cells

    return cells_of


def _at(column: Any, place: int) -> Any:
    return column.iloc[place] if hasattr(column, "iloc") else column[place]


def _cells_of_numbers(rows: Rows, names: list[str]) -> Callable[[NDArray[np.intp]], Cells]:
    def cells_of(places: NDArray[np.intp]) -> Cells:
        def cells(place: int) -> dict[str, Any]:
            row = rows[[places[place]]]
            if is_sparse(row):
                return {names[j]: float(v) for j, v in zip(row.indices, row.data) if v}
            return dict(zip(names, row[0].tolist()))

        return cells

    return cells_of


def _plain(value: Any) -> Any:
    """A cell as JSON has it, or bytes; anything else as text."""
    if hasattr(value, "as_py"):
        value = value.as_py()
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray):  # pixels, mostly
        return value.tolist()
    if value is None or isinstance(value, (str, int, bool, bytes, list, dict)):
        return value
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    return str(value)


# -- tables in files ---------------------------------------------------------------------------


def _in_file(source: Source, path: Path) -> _Whole:
    table = prepare_table(path, label=source.label, id_column=source.id_column, with_labels=False)
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    print_ = {"kind": "file", "n_rows": table.n_rows, "sha256": digest}
    ids = _plain_ids(table.ids.tolist()) if source.id_column is not None else table.ids
    names, preparation = table.feature_names, table.preparation

    def cells_of(places: NDArray[np.intp]) -> Cells:
        found = cells_of_rows(path, places)
        if found is None:
            return _cells_of_numbers(table.X, names)(places)
        cells = {name: column for name, column in found.items() if name != source.label}
        return lambda place: {name: _plain(column[place]) for name, column in cells.items()}

    return _Whole(ids, table.X, names, preparation, print_, cells_of)
