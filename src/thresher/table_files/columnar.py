"""Parquet and Arrow (Feather) files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from thresher.table_files.arrow_library import arrow, own_errors
from thresher.table_files.arrow_tables import read_batch_file
from thresher.table_files.table import LabeledTable, TableRequest

CELLS_AT_ONCE = 2**19


def read_parquet(path: Path, request: TableRequest) -> LabeledTable:
    """The table in a Parquet file."""
    return read_batch_file(ParquetTable(path), request)


def read_feather(path: Path, request: TableRequest) -> LabeledTable:
    """The table in an Arrow file, of the random access format (Feather) or the streaming one."""
    return read_batch_file(FeatherTable(path), request)


class ParquetTable:
    """A `BatchFile` of Parquet's row groups; one is held with its dictionaries."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.n_bytes = path.stat().st_size
        with own_errors(path), self._open() as file:
            self.names = list(file.schema_arrow.names)
            self._n_rows = int(file.metadata.num_rows)

    def _open(self) -> Any:
        return arrow("parquet").ParquetFile(self.path, pre_buffer=False, buffer_size=2**16)

    def batches(self, columns: Sequence[str]) -> Iterator[tuple[Any, int]]:
        """Record batches of these columns, each with the number of bytes read by then."""
        n_done = 0
        step = max(1, CELLS_AT_ONCE // max(1, len(columns)))
        with own_errors(self.path), self._open() as file:
            for batch in file.iter_batches(batch_size=step, columns=list(columns)):
                batch.validate(full=True)
                n_done += batch.num_rows
                yield batch, self.n_bytes * n_done // max(1, self._n_rows)

    def place(self, row: int) -> str:
        """The number of a row."""
        return f"row {row:,}"


class FeatherTable:
    """A `BatchFile` of Arrow's record batches, which are mapped into memory and not copied."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.n_bytes = path.stat().st_size
        with own_errors(path), arrow().memory_map(str(path)) as file:
            self.names = list(self._open(file).schema.names)

    def _open(self, file: Any) -> Any:
        ipc = arrow("ipc")
        if file.read(6) == b"ARROW1":
            file.seek(0)
            return ipc.open_file(file)
        file.seek(0)
        return ipc.open_stream(file)

    def batches(self, columns: Sequence[str]) -> Iterator[tuple[Any, int]]:
        """Record batches of these columns, each with the number of bytes read by then."""
        step = max(1, CELLS_AT_ONCE // max(1, len(columns)))
        with own_errors(self.path), arrow().memory_map(str(self.path)) as file:
            for whole, share in _record_batches(self._open(file)):
                batch = whole.select(list(columns))
                batch.validate(full=True)
                n_bytes = file.tell() if share is None else int(share * self.n_bytes)
                for start in range(0, batch.num_rows, step):
                    yield batch.slice(start, step), n_bytes

    def place(self, row: int) -> str:
        """The number of a row."""
        return f"row {row:,}"


def _record_batches(reader: Any) -> Iterator[tuple[Any, float | None]]:
    """The batches, each with the share of all that are read by then (a stream does not tell)."""
    n_batches = getattr(reader, "num_record_batches", None)
    if n_batches is None:
        yield from ((batch, None) for batch in reader)
        return
    for number in range(n_batches):
        yield reader.get_batch(number), (number + 1) / n_batches
