"""Files that pyarrow reads in batches: one pass looks at every cell, one fills the table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from thresher.memory import require_memory
from thresher.table_files.arrow_cells import (
    Kind,
    arrow,
    as_texts,
    ids_of,
    labels_of,
    look_at,
    own_errors,
    plain,
)
from thresher.table_files.columns import (
    ColumnSummary,
    Feature,
    Roles,
    all_features,
    assign_roles,
    refuse_unusable,
    wanted_features,
)
from thresher.table_files.table import (
    LabeledTable,
    Refusal,
    TableRequest,
    refuse_bad_numbers,
    refuse_other_than_two,
)
from thresher.validation import FloatArray

CELLS_AT_ONCE = 2**19
NUMBERS_ONLY: tuple[Kind, ...] = ()


class BatchFile:
    """A file whose columns can be read in batches, repeatedly."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.n_bytes = path.stat().st_size
        self.names: list[str] = []

    def batches(self, columns: Sequence[str]) -> Iterator[tuple[Any, int]]:
        """Record batches of these columns, each with the number of bytes read by then."""
        raise NotImplementedError

    def place(self, row: int) -> str:
        """Where a row, counted from 0, stands in the file."""
        return f"row {row:,}"


def read_batches(
    kind: Callable[[Path], BatchFile], path: Path, request: TableRequest
) -> LabeledTable:
    """The table in a file of this kind."""
    file = kind(path)
    roles = assign_roles(file.names, request)
    wanted = None
    if request.features is not None:
        known = [name for name in file.names if name != roles.label]
        wanted = wanted_features(request.features, known, one_hot=request.one_hot)
    survey = _Survey(file, roles, request, wanted)
    y, ids = None, np.arange(survey.n_rows)
    if roles.label is not None:
        y = labels_of(roles.label, survey.kept(roles.label), file.place)
        refuse_other_than_two(y, roles.label, request)
    if roles.id_column is not None:
        ids = ids_of(roles.id_column, survey.kept(roles.id_column), file.place)
    refuse_unusable(survey.columns, file.place)
    features = wanted or all_features(survey.columns)
    X = _filled(file, features, survey.n_rows, request)
    names = [feature.name for feature in features]
    refuse_bad_numbers(X, names, file.place)
    arrow().default_memory_pool().release_unused()  # which it would keep for later files
    return LabeledTable(X, y, names, ids, roles.label)


class _Survey:
    """The first pass: what the columns hold, the number of rows, and the label and id columns."""

    def __init__(
        self, file: BatchFile, roles: Roles, request: TableRequest, wanted: list[Feature] | None
    ) -> None:
        if wanted is None:
            allowed = dict.fromkeys(roles.others, (Kind.TEXT,) if request.one_hot else NUMBERS_ONLY)
        else:
            one_hot = {f.column: f.value is not None for f in wanted}
            allowed = {c: (Kind.TEXT, Kind.DATE) if one_hot[c] else NUMBERS_ONLY for c in one_hot}
        self.columns = [ColumnSummary(name, allowed[name], request.one_hot) for name in allowed]
        self._kept: dict[str, list[Any]] = {
            name: [] for name in (roles.label, roles.id_column) if name is not None
        }
        self.n_rows = 0
        for batch, n_bytes in file.batches(list(dict.fromkeys([*allowed, *self._kept]))):
            self._add(batch)
            request.report_progress(n_bytes // 2, file.n_bytes)
        if self.n_rows == 0:
            raise Refusal("has columns but no rows", advice="check how it was written")

    def _add(self, batch: Any) -> None:
        for column in self.columns:
            column.add(batch.column(column.name), first_row=self.n_rows)
        for name, chunks in self._kept.items():
            chunks.append(plain(batch.column(name)))
        self.n_rows += batch.num_rows

    def kept(self, name: str) -> Any:
        """The whole label or id column."""
        with own_errors():
            return arrow().concat_arrays(self._kept[name])


def _filled(
    file: BatchFile, features: list[Feature], n_rows: int, request: TableRequest
) -> FloatArray:
    """The second pass: the table itself, which is the only large array."""
    width = len(features)
    require_memory(8 * n_rows * width, f"a table of {n_rows:,} × {width:,} numbers")
    X = np.empty((n_rows, width))
    start = 0
    for batch, n_bytes in file.batches(list(dict.fromkeys(f.column for f in features))):
        stop = start + batch.num_rows
        if stop > n_rows:
            raise _changed()
        X[start:stop] = _block(batch, features).T
        start = stop
        request.report_progress((file.n_bytes + n_bytes) // 2, file.n_bytes)
    if start < n_rows:
        raise _changed()
    return X


def _block(batch: Any, features: list[Feature]) -> FloatArray:
    """The features of a batch, one in each row."""
    pc = arrow("compute")
    block = np.empty((len(features), batch.num_rows))
    texts: dict[str, Any] = {}
    for row, feature in zip(block, features):
        if feature.value is None:
            numbers = look_at(batch.column(feature.column)).numbers
            if numbers is None:
                raise _changed()
            row[:] = numbers
        else:
            if feature.column not in texts:
                texts[feature.column] = as_texts(plain(batch.column(feature.column)))
            same = pc.equal(texts[feature.column], feature.value)
            row[:] = same.fill_null(False).to_numpy(zero_copy_only=False)
    return block


def _changed() -> Refusal:
    return Refusal("changed while it was being read", advice="read it again")


# -- Parquet and Arrow -------------------------------------------------------------------------


class ParquetFile(BatchFile):
    """Parquet's row groups; one is held in memory with its dictionaries."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        with own_errors(), self._open() as file:
            self.names = list(file.schema_arrow.names)
            self._n_rows = int(file.metadata.num_rows)

    def _open(self) -> Any:
        return arrow("parquet").ParquetFile(self.path, pre_buffer=False, buffer_size=2**16)

    def batches(self, columns: Sequence[str]) -> Iterator[tuple[Any, int]]:
        n_done = 0
        step = max(1, CELLS_AT_ONCE // max(1, len(columns)))
        with own_errors(), self._open() as file:
            for batch in file.iter_batches(batch_size=step, columns=list(columns)):
                batch.validate(full=True)
                n_done += batch.num_rows
                yield batch, self.n_bytes * n_done // max(1, self._n_rows)


class ArrowFile(BatchFile):
    """Record batches in Arrow's random access format (Feather) or its streaming format.

    They are mapped into memory and not copied.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        with own_errors(), arrow().memory_map(str(path)) as file:
            self.names = list(self._open(file).schema.names)

    def _open(self, file: Any) -> Any:
        ipc = arrow("ipc")
        is_random_access = file.read(6) == b"ARROW1"
        file.seek(0)
        return ipc.open_file(file) if is_random_access else ipc.open_stream(file)

    def batches(self, columns: Sequence[str]) -> Iterator[tuple[Any, int]]:
        step = max(1, CELLS_AT_ONCE // max(1, len(columns)))
        with own_errors(), arrow().memory_map(str(self.path)) as file:
            for whole, share in _record_batches(self._open(file)):
                batch = whole.select(list(columns))
                batch.validate(full=True)
                n_bytes = file.tell() if share is None else int(share * self.n_bytes)
                for start in range(0, batch.num_rows, step):
                    yield batch.slice(start, step), n_bytes


def _record_batches(reader: Any) -> Iterator[tuple[Any, float | None]]:
    """The batches, each with the share of all that are read by then (None for a stream)."""
    n_batches = getattr(reader, "num_record_batches", None)
    if n_batches is None:
        yield from ((batch, None) for batch in reader)
        return
    for number in range(n_batches):
        yield reader.get_batch(number), (number + 1) / n_batches
