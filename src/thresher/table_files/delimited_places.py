"""Lines of a CSV file: how long they are, and in which of them something is wrong.

This is slow, and apart from the first lines needed only for messages.
"""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from thresher.errors import UnreadableTable
from thresher.table_files.wording import count

_LONGEST = 2**26  # bytes of a line that are looked at


def _bytes_of(path: Path) -> IO[bytes]:
    return gzip.open(path) if path.name.lower().endswith(".gz") else path.open("rb")  # type: ignore[return-value]


def _records(path: Path, delimiter: str) -> Iterator[tuple[int, int]]:
    """The first line and the number of cells of every record that is not blank, names included."""
    with _bytes_of(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8-sig", errors="replace", newline="")
        reader = csv.reader(text, delimiter=delimiter)
        line = 1
        for record in reader:
            if record:
                yield line, len(record)
            line = reader.line_num + 1


def line_of_row(path: Path, delimiter: str, row: int) -> int | None:
    """The line in which a row begins, both counted from 1; None if that cannot be told.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "t.csv")
    ...     _ = path.write_text('a,b\\n"two\\nlines",1\\n\\n3,4\\n')
    ...     line_of_row(path, ",", 1), line_of_row(path, ",", 2)
    (2, 5)
    """
    try:
        place = next(itertools.islice(_records(path, delimiter), row, None), None)
    except (OSError, EOFError, zlib.error, csv.Error, UnicodeError):
        return None
    return None if place is None else place[0]


def length_of_first_lines(path: Path) -> int:
    """How many bytes the longer of the first two lines has, as far as can be told."""
    try:
        with _bytes_of(path) as file:
            return max(len(file.readline(_LONGEST)) for _ in range(2))
    except (OSError, EOFError, zlib.error):
        return 0


def explain_damage(path: Path, delimiter: str, reason: str) -> UnreadableTable | None:
    """What is wrong with a file that pyarrow could not parse; None if that cannot be told."""
    try:
        wrong_encoding = _wrong_encoding(path)
        if wrong_encoding is not None:
            return wrong_encoding
        if "straddl" in reason:  # pyarrow's word for a row that does not fit in a block
            return _too_long(path)
        return _nothing_in_it(path, delimiter) or _ragged(path, delimiter)
    except csv.Error:  # a cell beyond what Python's parser takes
        return _too_long(path)
    except (OSError, EOFError, zlib.error, UnicodeError):
        return None


def _wrong_encoding(path: Path) -> UnreadableTable | None:
    with _bytes_of(path) as file:
        for number, line in enumerate(file, start=1):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                return UnreadableTable(
                    path,
                    f"is not in UTF-8: line {number:,} has the byte 0x{line[error.start]:02x}",
                    advice="save it in UTF-8",
                )
    return None


def _nothing_in_it(path: Path, delimiter: str) -> UnreadableTable | None:
    records = list(itertools.islice(_records(path, delimiter), 2))
    if len(records) == 2:
        return None
    found = "columns but no rows" if records else "no text"
    return UnreadableTable(path, f"has {found}", advice="check how it was written")


def _too_long(path: Path) -> UnreadableTable:
    return UnreadableTable(
        path,
        "has a cell or a row that is too long",
        advice='look for a quotation mark (") that is not closed; write wide tables as Parquet',
    )


def _ragged(path: Path, delimiter: str) -> UnreadableTable | None:
    records = _records(path, delimiter)
    _, n_columns = next(records)
    for line, n_cells in records:
        if n_cells != n_columns:
            return UnreadableTable(
                path,
                f"has {count(n_cells, 'cell')} in line {line:,}, but {count(n_columns, 'column')}",
                advice='correct that line; text with the delimiter in it needs quotation marks (")',
            )
    return None
