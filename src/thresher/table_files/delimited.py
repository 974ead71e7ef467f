"""CSV and TSV files, also compressed with gzip: UTF-8, names in the first line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from thresher.errors import UnreadableTable
from thresher.table_files.arrow_columns import MISSING
from thresher.table_files.arrow_library import arrow, own_errors
from thresher.table_files.arrow_tables import read_batch_file
from thresher.table_files.delimited_places import (
    explain_damage,
    length_of_first_lines,
    line_of_row,
)
from thresher.table_files.table import LabeledTable, TableRequest
from thresher.table_files.wording import quoted

BLOCK = 2**21  # bytes parsed at once, unless the first rows are longer; some blocks are read ahead


def read_csv(path: Path, request: TableRequest) -> LabeledTable:
    """The table in a file with commas between the cells."""
    return read_batch_file(DelimitedFile(path, ","), request)


def read_tsv(path: Path, request: TableRequest) -> LabeledTable:
    """The table in a file with tabulators between the cells."""
    return read_batch_file(DelimitedFile(path, "\t"), request)


class DelimitedFile:
    """A `BatchFile` of lines of cells.

    Every cell is read as text, because pyarrow would guess the types from the first block and
    stumble over the first cell of a later one that is different.

    Parameters
    ----------
    path : the file
    delimiter : what stands between two cells
    """

    def __init__(self, path: Path, delimiter: str) -> None:
        self.path = path
        self.delimiter = delimiter
        self.n_bytes = path.stat().st_size
        self._block_size = max(BLOCK, 4 * length_of_first_lines(path))
        with own_errors(path, self._explain):
            self.names = list(self._open(arrow().OSFile(str(path)), None).schema.names)
        if len(self.names) == 1 and set(self.names[0]) & set(";|,\t"):
            raise UnreadableTable(
                path,
                f"has one column only, called {quoted(self.names)}",
                advice="write commas between the cells of .csv files, and tabulators in .tsv files",
            )
        if _look_like_data(self.names):
            raise UnreadableTable(
                path,
                f"has numbers where the names of the columns should be: "
                f"{quoted(self.names, limit=5)}",
                advice="write the names into the first line",
            )

    def batches(self, columns: Sequence[str]) -> Iterator[tuple[Any, int]]:
        """Record batches of these columns, each with the number of bytes read by then."""
        with own_errors(self.path, self._explain):
            # Not closed by us: pyarrow may be reading ahead, and closes it with its last reader.
            raw = arrow().OSFile(str(self.path))
            reader = self._open(raw, columns)
            while (batch := _next(reader)) is not None:
                yield batch, raw.tell()

    def place(self, row: int) -> str:
        """The line of a row: blank lines and cells of several lines are counted."""
        line = line_of_row(self.path, self.delimiter, row)
        return f"row {row:,}" if line is None else f"line {line:,}"

    def _open(self, raw: Any, columns: Sequence[str] | None) -> Any:
        pa, csv = arrow(), arrow("csv")
        packed = self.path.name.lower().endswith(".gz")
        convert: dict[str, Any] = {} if columns is None else {"include_columns": columns}
        return csv.open_csv(
            pa.CompressedInputStream(raw, "gzip") if packed else raw,
            read_options=csv.ReadOptions(block_size=self._block_size),
            parse_options=csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
            convert_options=csv.ConvertOptions(
                column_types={name: pa.string() for name in columns or ()},
                null_values=MISSING,
                strings_can_be_null=True,
                **convert,
            ),
        )

    def _explain(self, reason: str) -> UnreadableTable | None:
        return explain_damage(self.path, self.delimiter, reason)


def _next(reader: Any) -> Any:
    try:
        return reader.read_next_batch()
    except StopIteration:
        return None


def _look_like_data(names: Sequence[str]) -> bool:
    """Whether all names are numbers, and not simply the numbers of the columns."""
    try:
        numbers = [float(name) for name in names]
    except ValueError:
        return False
    return numbers not in ([*range(len(names))], [*range(1, len(names) + 1)])
