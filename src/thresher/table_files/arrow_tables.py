"""Files that pyarrow reads in batches: one pass looks at every cell, one fills the table."""

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.memory import require_memory
from thresher.table_files.arrow_cells import (
    COPIES,
    Kind,
    arrow,
    as_texts,
    ids_of,
    labels_of,
    look_at,
    own_errors,
    plain,
)
from thresher.table_files.arrow_headers import MAGIC, arrow_sizes
from thresher.table_files.columns import (
    ColumnSummary,
    Feature,
    Roles,
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
BYTES_AT_ONCE = 2**26  # of rows that have long cells
BATCHES_AT_ONCE = 6  # as they are read, as numbers, and with gaps


class BatchFile:
    """A file whose columns can be read in batches, repeatedly."""

    def __init__(self, path: Path, request: TableRequest) -> None:
        self.path, self.request = path, request
        self.n_bytes = path.stat().st_size
        self.names: list[str] = []
        self.n_rows: int | None = None  # where the file says so before it is read

    def batches(self, columns: Sequence[str]) -> Iterator[tuple[Any, int]]:
        """Record batches of these columns, each with the number of bytes read by then."""
        raise NotImplementedError

    def place(self, row: int) -> str:
        """Where a row, counted from 0, stands in the file."""
        return f"row {row:,}"


def read_batches(
    kind: Callable[[Path, TableRequest], BatchFile], path: Path, request: TableRequest
) -> LabeledTable:
    """The table in a file of this kind, whose features must be numbers."""
    file = kind(path, request)
    with own_errors():
        return _read(file)


def _read(file: BatchFile) -> LabeledTable:
    request = file.request
    roles = assign_roles(file.names, request)
    wanted = None
    if request.features is not None:
        known = [name for name in file.names if name != roles.label]
        wanted = wanted_features(request.features, known, one_hot=request.one_hot)
    survey = Survey(file, roles, _expected(roles, wanted), len(wanted or roles.others))
    y, ids = survey.labels(), survey.ids()
    refuse_unusable(survey.columns, file.place)
    features = wanted or [Feature(name, name) for name in roles.others]
    X = filled(file, features, survey.n_rows)
    names = [feature.name for feature in features]
    refuse_bad_numbers(X, names, file.place)
    arrow().default_memory_pool().release_unused()  # which it would keep for later files
    return LabeledTable(X, y, names, ids, roles.label, remarks=survey.remarks)


def _expected(roles: Roles, wanted: list[Feature] | None) -> list[ColumnSummary]:
    """The columns to be looked at, with what each may hold."""
    if wanted is None:
        return [ColumnSummary(name) for name in roles.others]
    one_hot = {f.column: f.value is not None for f in wanted}
    return [ColumnSummary(c, (Kind.TEXT, Kind.DATE) if one_hot[c] else ()) for c in one_hot]


class Survey:
    """The first pass: what the columns hold, the number of rows, and the label and id columns."""

    def __init__(
        self, file: BatchFile, roles: Roles, columns: list[ColumnSummary], width: int
    ) -> None:
        self.file, self.roles, self.columns = file, roles, columns
        self._kept: dict[str, list[Any]] = {
            name: [] for name in (roles.label, roles.id_column) if name is not None
        }
        self.remarks: tuple[str, ...] = ()  # why labels that are not required are unusable
        self.n_rows = self._n_bytes_kept = 0
        _require_room(file.n_rows or 0, width)
        names = [*(column.name for column in columns), *self._kept]
        for batch, n_bytes in file.batches(list(dict.fromkeys(names))):
            self._add(batch)
            _require_room(self.n_rows, width)
            file.request.report_progress(n_bytes // 2, file.n_bytes)
        if self.n_rows == 0:
            raise Refusal("has columns but no rows", advice="check how it was written")
        if file.n_rows not in (None, self.n_rows):
            raise changed()

    def _add(self, batch: Any) -> None:
        for column in self.columns:
            column.add(batch.column(column.name), first_row=self.n_rows)
        for name, chunks in self._kept.items():
            chunks.append(plain(batch.column(name)))
            self._n_bytes_kept += chunks[-1].nbytes
        require_memory(COPIES * self._n_bytes_kept, "the labels and ids")
        self.n_rows += batch.num_rows

    def labels(self) -> NDArray[Any] | None:
        """The label of each row; None if they are not requested, or not required and unusable."""
        if self.roles.label is None:
            return None
        try:
            y = labels_of(self.roles.label, self._whole(self.roles.label), self.file.place)
            refuse_other_than_two(y, self.roles.label, self.file.request)
        except Refusal as refusal:
            if self.file.request.requires_labels:
                raise
            self.remarks = (f"The file {refusal.problem}.",)
            return None
        return y

    def ids(self) -> NDArray[Any]:
        """The id of each row."""
        if self.roles.id_column is None:
            return np.arange(self.n_rows)
        return ids_of(self.roles.id_column, self._whole(self.roles.id_column), self.file.place)

    def _whole(self, name: str) -> Any:
        with own_errors():
            return arrow().concat_arrays(self._kept[name])


def _require_room(n_rows: int, n_features: int) -> None:
    """Raise `NotEnoughMemory` if a table of that size, labels, ids and some batches do not fit."""
    n_bytes = 8 * n_rows * (n_features + COPIES) + 8 * CELLS_AT_ONCE * BATCHES_AT_ONCE
    require_memory(n_bytes, f"a table of {n_rows:,} × {n_features:,} numbers")


def filled(file: BatchFile, features: list[Feature], n_rows: int) -> FloatArray:
    """The second pass: the table itself, which is the only large array."""
    width = len(features)
    _require_room(n_rows, width)
    X = np.empty((n_rows, width))
    start = 0
    for batch, n_bytes in file.batches(list(dict.fromkeys(f.column for f in features))):
        stop = start + batch.num_rows
        if stop > n_rows:
            raise changed()
        X[start:stop] = _block(batch, features).T
        start = stop
        file.request.report_progress((file.n_bytes + n_bytes) // 2, file.n_bytes)
    if start < n_rows:
        raise changed()
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
                raise changed()
            row[:] = numbers
        else:
            if feature.column not in texts:
                texts[feature.column] = as_texts(plain(batch.column(feature.column)))
            same = pc.equal(texts[feature.column], feature.value)
            row[:] = same.fill_null(False).to_numpy(zero_copy_only=False)
    return block


def changed() -> Refusal:
    """The refusal of a file that is not the same in both passes."""
    return Refusal("changed while it was being read", advice="read it again")


# -- Parquet and Arrow -------------------------------------------------------------------------


class ParquetFile(BatchFile):
    """Parquet's row groups; one is held in memory with its dictionaries."""

    def __init__(self, path: Path, request: TableRequest) -> None:
        super().__init__(path, request)
        self._texts: list[str] = []
        with own_errors(), self._open() as file:
            self.names = list(file.schema_arrow.names)
            self._metadata = file.metadata
            groups = _row_groups(file.metadata)
            self.n_rows = max(int(file.metadata.num_rows), sum(group.num_rows for group in groups))
            self._texts = _texts_in_dictionaries(file.schema_arrow, file.metadata)

    def _open(self) -> Any:
        # Texts as they mostly are in the file, in dictionaries: one that is repeated in all rows
        # would take its length times their number.
        return arrow("parquet").ParquetFile(
            self.path, pre_buffer=False, buffer_size=2**16, read_dictionary=self._texts
        )

    def batches(self, columns: Sequence[str]) -> Iterator[tuple[Any, int]]:
        n_done, n_rows = 0, self.n_rows or 1
        held, per_row = parquet_sizes(self._metadata, columns)
        short, long = CELLS_AT_ONCE // max(1, len(columns)), BYTES_AT_ONCE // max(1, per_row)
        step = max(1, min(short, long, n_rows))
        require_memory(held + step * per_row, f"a batch of {self.path.name}")
        with own_errors(), self._open() as file:
            for batch in file.iter_batches(batch_size=step, columns=list(columns)):
                batch.validate(full=True)
                n_done += batch.num_rows
                yield batch, self.n_bytes * n_done // n_rows


def _row_groups(metadata: Any) -> list[Any]:
    return [metadata.row_group(number) for number in range(metadata.num_row_groups)]


def _texts_in_dictionaries(schema: Any, metadata: Any) -> list[str]:
    """The columns of text that pyarrow can leave in dictionaries: not those written as changes."""
    types, groups = arrow().types, _row_groups(metadata)
    is_text = (types.is_string, types.is_large_string, types.is_binary)
    texts = {field.name for field in schema if any(is_(field.type) for is_ in is_text)}
    return [
        metadata.schema.column(number).path
        for number, is_nested in _stored_columns(metadata.schema, texts)
        if not is_nested
        and not any("DELTA" in code for group in groups for code in group.column(number).encodings)
    ]


def parquet_sizes(metadata: Any, columns: Sequence[str]) -> tuple[int, int]:
    """The bytes of these columns that are held at once, and what each row of a batch adds to them.

    Numbers and texts in dictionaries are unpacked row by row. Texts that are written as changes of
    the ones before can all be as long as their part of the file; nested values come all at once.
    """
    held = per_row = 0
    groups = _row_groups(metadata)
    for number, is_nested in _stored_columns(metadata.schema, set(columns)):
        column = metadata.schema.column(number)
        is_text, width = column.physical_type == "BYTE_ARRAY", max(8, column.length)
        per_row += width
        if not (is_text or is_nested):
            continue
        parts = [group.column(number) for group in groups]
        longest = max((part.total_uncompressed_size for part in parts), default=0)
        held += longest
        if is_nested:
            most = max((part.num_values for part in parts), default=0)
            held += most * (width + longest if is_text else width)
        elif any("DELTA_BYTE_ARRAY" in part.encodings for part in parts):
            per_row += COPIES * longest
    return held, per_row


def _stored_columns(schema: Any, names: set[str]) -> Iterator[tuple[int, bool]]:
    """The numbers of the stored columns that make up these columns; of nested ones, several."""
    for number in range(len(schema)):
        path = schema.column(number).path
        parents = accumulate(path.split("."), "{}.{}".format)
        if path in names or not names.isdisjoint(parents):
            yield number, path not in names


class ArrowFile(BatchFile):
    """Record batches in Arrow's random access format (Feather) or its streaming format.

    They are read, one at a time, and not mapped into memory: of a mapped file that another process
    shortens, the system kills the reader.
    """

    def __init__(self, path: Path, request: TableRequest) -> None:
        super().__init__(path, request)
        sizes = arrow_sizes(path)
        self.n_rows = sizes.n_rows
        require_memory(sizes.n_bytes, f"the largest batch of {path.name}")
        with own_errors(), arrow().OSFile(str(path)) as file:
            self.names = list(self._open(file).schema.names)

    def _open(self, file: Any) -> Any:
        ipc = arrow("ipc")
        is_random_access = file.read(len(MAGIC)) == MAGIC
        file.seek(0)
        return ipc.open_file(file) if is_random_access else ipc.open_stream(file)

    def batches(self, columns: Sequence[str]) -> Iterator[tuple[Any, int]]:
        step = max(1, CELLS_AT_ONCE // max(1, len(columns)))
        with own_errors(), arrow().OSFile(str(self.path)) as file:
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
