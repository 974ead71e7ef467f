"""CSV and TSV files, also compressed with gzip, with names in the first line."""

import csv
import itertools
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from thresher.memory import require_memory
from thresher.preparation.cells import MISSING
from thresher.table_files.arrow_cells import arrow, own_errors
from thresher.table_files.arrow_tables import BatchFile
from thresher.table_files.table import Refusal, TableRequest
from thresher.table_files.text_format import names_separator, opened, opened_text
from thresher.wording import count, quoted

BLOCK = 2**21  # bytes parsed at once, unless the first rows are longer; some blocks are read ahead
BLOCKS_AT_ONCE = 16  # read ahead, and as text, numbers and copies
BYTES_PER_COLUMN = 20_000  # of pyarrow's and our own bookkeeping, as measured
LONGEST = 2**26  # characters that a line can have
COMMA_NUMBER = (  # with a decimal comma or not, and points or blanks between thousands
    r"^\s*[+-]?\s*[$€£¥]?\s*([0-9]{1,3}([.][0-9]{3})+|[0-9]{1,3}([ '][0-9]{3})+|[0-9]+)"
    r"(,[0-9]+)?([eE][+-]?[0-9]+)?\s*(%|[$€£¥]|EUR|USD|GBP|CHF)?\s*$"
)


class CsvFile(BatchFile):
    """Lines of cells, with commas between them unless the format says otherwise.

    Every cell is read as text, because pyarrow would guess the types from the first block and
    stumble over the first cell of a later one that is different.
    """

    usual_separator = ","

    def __init__(self, path: Path, request: TableRequest) -> None:
        super().__init__(path, request)
        form = request.text_format
        self.delimiter = form.separator or self.usual_separator
        self.encoding = form.encoding or "utf-8"
        self._has_decimal_commas = form.decimal == ","
        self._n_skipped = int(names_separator(path, self.encoding))
        length, n_columns = _first_lines(path, self.delimiter, self.encoding)
        self._block_size = max(BLOCK, 4 * length)
        n_bytes = BLOCKS_AT_ONCE * self._block_size + BYTES_PER_COLUMN * n_columns
        require_memory(n_bytes, f"reading {path.name} with {count(n_columns, 'column')}")
        with own_errors(self._explain):
            self.names = list(self._open(arrow().OSFile(str(path)), None).schema.names)
        if len(self.names) == 1 and set(self.names[0]) & set(";|,\t"):
            raise Refusal(
                f"has only one column, named {quoted(self.names)}",
                advice="name its separator with --sep",
            )
        if _look_like_data(self.names):
            raise Refusal(
                f"has numbers where the column names should be: {quoted(self.names, limit=5)}",
                advice="write the names into the first line",
            )

    def batches(self, columns: Sequence[str]) -> Iterator[tuple[Any, int]]:
        with own_errors(self._explain):
            # Not closed by us: pyarrow may be reading ahead, and closes it with its last reader.
            raw = arrow().OSFile(str(self.path))
            for batch in self._open(raw, columns):
                yield self._with_points(batch), raw.tell()

    def _with_points(self, batch: Any) -> Any:
        """The batch with decimal points for decimal commas; ids stay as they are."""
        if not self._has_decimal_commas:
            return batch
        columns = [
            column if name == self.request.id_column else _with_points(column)
            for name, column in zip(batch.schema.names, batch.columns)
        ]
        return arrow().RecordBatch.from_arrays(columns, schema=batch.schema)

    def place(self, row: int) -> str:
        """The number of a row, and its line: blank lines and cells of several lines count."""
        line = _line_of_row(self.path, self.delimiter, self.encoding, row)
        return f"row {row:,}" if line is None else f"row {row:,} (line {line:,})"

    def _open(self, raw: Any, columns: Sequence[str] | None) -> Any:
        pa, pa_csv = arrow(), arrow("csv")
        packed = self.path.name.lower().endswith(".gz")
        convert: dict[str, Any] = {} if columns is None else {"include_columns": columns}
        return pa_csv.open_csv(
            pa.CompressedInputStream(raw, "gzip") if packed else raw,
            read_options=pa_csv.ReadOptions(
                block_size=self._block_size, encoding=self.encoding, skip_rows=self._n_skipped
            ),
            parse_options=pa_csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
            convert_options=pa_csv.ConvertOptions(
                column_types={name: pa.string() for name in columns or ()},
                null_values=MISSING,
                strings_can_be_null=True,
                **convert,
            ),
        )

    def _explain(self, reason: str) -> Refusal | None:
        """What is wrong with a file that pyarrow could not parse; None if that is unknown."""
        try:
            wrong_encoding = _wrong_encoding(self.path, self.encoding)
            if wrong_encoding is not None:
                return wrong_encoding
            if "straddl" in reason:  # pyarrow's word for a row that does not fit in a block
                return _too_long()
            return _ragged(self.path, self.delimiter, self.encoding)
        except csv.Error:  # a cell beyond what Python's parser takes
            return _too_long()
        except (OSError, EOFError, zlib.error, UnicodeError):
            return None


class TsvFile(CsvFile):
    """Lines of cells, with tabs between them unless the format says otherwise."""

    usual_separator = "\t"


def _with_points(column: Any) -> Any:
    """The column, in which 1.234,5 becomes 1234.5."""
    pc = arrow("compute")
    points = pc.replace_substring(pc.replace_substring(column, ".", ""), ",", ".")
    return pc.if_else(pc.match_substring_regex(column, COMMA_NUMBER), points, column)


def _look_like_data(names: Sequence[str]) -> bool:
    """Whether all names are numbers, and not simply the numbers of the columns."""
    try:
        numbers = [float(name) for name in names]
    except ValueError:
        return False
    return numbers not in ([*range(len(names))], [*range(1, len(names) + 1)])


# -- lines: this is slow, and apart from the first lines needed only for messages ------------------


def _lines(path: Path, encoding: str) -> Iterator[str]:
    """The lines of a file; no single line can take all memory.

    A first line that names the separator is blank.
    """
    is_mark = names_separator(path, encoding)
    with opened_text(path, encoding) as file:
        if is_mark:
            file.readline()
            yield "\n"
        while line := file.readline(LONGEST):
            if len(line) == LONGEST:
                raise csv.Error("line too long")
            yield line


def _first_lines(path: Path, delimiter: str, encoding: str) -> tuple[int, int]:
    """The bytes of the longer of two lines, and the number of columns; 0 if they are unreadable."""
    try:
        n_lines = 2 + names_separator(path, encoding)
        first = itertools.islice(_lines(path, encoding), n_lines)
        length = max((len(line.encode(errors="replace")) for line in first), default=0)
        _, n_columns = next(_records(path, delimiter, encoding), (0, 0))
    except csv.Error as error:
        raise _too_long() from error
    except (OSError, EOFError, zlib.error):
        return 0, 0
    return length, n_columns


def _records(path: Path, delimiter: str, encoding: str) -> Iterator[tuple[int, int]]:
    """The first line and the number of cells of every record that is not blank, names included."""
    reader = csv.reader(_lines(path, encoding), delimiter=delimiter)
    number = 1
    for record in reader:
        if record and record != ["\ufeff"]:
            yield number, len(record)
        number = reader.line_num + 1


def _line_of_row(path: Path, delimiter: str, encoding: str, row: int) -> int | None:
    """The line, from 1, in which a row, from 0, begins; None if it is not found."""
    try:
        records = _records(path, delimiter, encoding)
        place = next(itertools.islice(records, row + 1, None), None)
    except (OSError, EOFError, zlib.error, csv.Error, UnicodeError):
        return None
    return None if place is None else place[0]


def _wrong_encoding(path: Path, encoding: str) -> Refusal | None:
    if encoding in ("utf-16", "utf-32"):  # their lines do not end in one byte
        return None
    with opened(path) as file:
        for number, line in enumerate(iter(lambda: file.readline(LONGEST), b""), start=1):
            try:
                line.decode(encoding)
            except UnicodeDecodeError as error:
                name = "UTF-8" if encoding == "utf-8" else encoding
                return Refusal(
                    f"is not {name}: line {number:,} has the byte 0x{line[error.start]:02x}",
                    advice="save it as UTF-8, or name its encoding with --encoding",
                )
    return None


def _too_long() -> Refusal:
    return Refusal(
        "has a cell or a row that is too long",
        advice='look for a quotation mark (") that is not closed; write wide tables as Parquet',
    )


def _ragged(path: Path, delimiter: str, encoding: str) -> Refusal | None:
    records = _records(path, delimiter, encoding)
    first_line, n_columns = next(records, (0, 0))
    line = first_line
    for line, n_cells in records:
        if n_cells != n_columns:
            return Refusal(
                f"has {count(n_cells, 'cell')} on line {line:,} but {count(n_columns, 'column')}",
                advice="fix that line; quote text that contains the separator, or set --sep",
            )
    if line == first_line:
        problem = "has columns but no rows" if n_columns else "is blank"
        return Refusal(problem, advice="check how it was written")
    return None
