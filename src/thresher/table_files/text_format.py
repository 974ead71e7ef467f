"""How a delimited file is written: its separator, its decimal sign and its encoding."""

import codecs
import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import IO

SEPARATORS = (",", ";", "\t", "|")
SAMPLE = 2**20  # characters from which separator and decimal sign are recognized
RECORDS, CELLS = 200, 20_000  # of the sample
CHUNK = 2**20  # bytes
LONGEST_MARK = 16  # characters
UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
NOT_IN_CP1252 = bytes([0x81, 0x8D, 0x8F, 0x90, 0x9D])
_COMMA_NUMBER = re.compile(r"\s*[+-]?(\d{1,3}(\.\d{3})+|\d+),\d+\s*[%€]?\s*", re.ASCII)
_DOT_NUMBER = re.compile(r"\s*[+-]?(\d{1,3}(,\d{3})+|\d+)\.\d+\s*[%$]?\s*", re.ASCII)
_MARK = re.compile(r"\ufeff?sep=(.)\r?\n?", re.IGNORECASE)  # a first line that spreadsheets write
_THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2}([,.]\d{3})+\s*", re.ASCII)  # 0,126 is less than 1


@dataclass(frozen=True)
class TextFormat:
    """How a delimited file is written; None for what is not known.

    Parameters
    ----------
    separator : one character between cells
    decimal : "." or ","
    encoding : a name that Python knows

    Examples
    --------
    >>> TextFormat(separator=";", decimal=",").described()
    'separator ";", decimal comma'
    """

    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None

    def __post_init__(self) -> None:
        if self.separator is not None and len(self.separator) != 1:
            raise ValueError(f"separator must be one character, got {self.separator!r}")
        if self.decimal not in (None, ".", ","):
            raise ValueError(f"decimal must be '.' or ',', got {self.decimal!r}")
        if self.encoding is not None:
            try:
                "".encode(self.encoding)
            except (LookupError, UnicodeError, TypeError, ValueError) as error:
                raise ValueError(f"unknown encoding {self.encoding!r}") from error

    def described(self, usual_separator: str = ",") -> str:
        """What is unusual about it, in words; empty for a usual file."""
        name = {"\t": "tab", " ": "space"}.get(self.separator or "", f'"{self.separator}"')
        parts = {
            f"separator {name}": self.separator not in (None, usual_separator),
            "decimal comma": self.decimal == ",",
            f"encoding {self.encoding}": (self.encoding or "utf-8") != "utf-8",
        }
        return ", ".join(text for text, is_unusual in parts.items() if is_unusual)


def recognized(path: Path, given: TextFormat, usual_separator: str) -> TextFormat:
    """The format of a file, with what is given; what cannot be recognized stays usual.

    Raises
    ------
    OSError, EOFError, zlib.error : it cannot be read

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "mail.csv")
    ...     _ = path.write_bytes("größe;y\\n1,5;ja\\n2,5;nein\\n".encode("latin-1"))
    ...     recognized(path, TextFormat(), ",")
    TextFormat(separator=';', decimal=',', encoding='cp1252')
    """
    encoding = given.encoding or _encoding(path)
    with opened_text(path, encoding) as file:
        sample = file.read(SAMPLE)
    lines = list(io.StringIO(sample.lstrip("\ufeff"), newline=""))
    if len(sample) >= SAMPLE:
        lines = lines[:-1]  # which is cut
    mark = _MARK.fullmatch(lines[0]) if lines else None
    lines = lines[1:] if mark else lines
    named = mark[1] if mark else None
    separator = given.separator or named or _separator(lines, usual_separator)
    decimal = given.decimal or _decimal(lines, separator)
    return replace(given, separator=separator, decimal=decimal, encoding=encoding)


def opened(path: Path) -> IO[bytes]:
    """The bytes of a file, unpacked."""
    packed = path.name.lower().endswith(".gz")
    return gzip.open(path) if packed else path.open("rb")  # type: ignore[return-value]


def opened_text(path: Path, encoding: str) -> IO[str]:
    """The text of a file, unpacked; its lines keep their ends."""
    return io.TextIOWrapper(opened(path), encoding, errors="replace", newline="")


def names_separator(path: Path, encoding: str) -> bool:
    """Whether the first line is not part of the table but names its separator, as in sep=;"""
    try:
        with opened_text(path, encoding) as file:
            return _MARK.fullmatch(file.readline(LONGEST_MARK)) is not None
    except (OSError, EOFError, zlib.error):  # which the reader explains
        return False


def _encoding(path: Path) -> str:
    """UTF-8 if all of the file is; else UTF-16 with its mark, or the usual one of Windows."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    is_utf_8, fallback = True, "cp1252"
    with opened(path) as file:
        while chunk := file.read(CHUNK):
            if chunk.startswith(UTF_16) and decoder.getstate() == (b"", 0):
                return "utf-16"
            if b"\0" in chunk:  # no text
                return "utf-8"
            if is_utf_8:
                try:
                    decoder.decode(chunk)
                except UnicodeDecodeError:
                    is_utf_8 = False
            if any(byte in chunk for byte in NOT_IN_CP1252):
                fallback = "latin-1"
    try:
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        is_utf_8 = False
    return "utf-8" if is_utf_8 else fallback


def _separator(lines: list[str], usual: str) -> str:
    """The separator that gives all lines the same number of cells, and the most; else the names."""
    return max((usual, *SEPARATORS), key=lambda mark: _widths(lines, mark))


def _widths(lines: list[str], separator: str) -> tuple[int, int]:
    """The number of cells in every line, 0 if it differs from line to line, and in the first."""
    try:
        widths = [len(record) for record in _records(lines, separator)]
    except csv.Error:
        return 0, 0
    first = widths[0] if widths and widths[0] > 1 else 0
    return (first if len(set(widths)) == 1 else 0), first


def _decimal(lines: list[str], separator: str) -> str:
    """A comma if more cells are numbers with a decimal comma than with a point."""
    n_comma = n_dot = 0
    try:
        cells = filter(None, chain.from_iterable(_records(lines, separator)))
        for cell in islice(cells, CELLS):
            if not _THOUSANDS.fullmatch(cell):
                n_comma += _COMMA_NUMBER.fullmatch(cell) is not None
                n_dot += _DOT_NUMBER.fullmatch(cell) is not None
    except csv.Error:
        return "."
    return "," if n_comma > n_dot else "."


def _records(lines: list[str], separator: str) -> Iterator[list[str]]:
    return islice(filter(None, csv.reader(lines, delimiter=separator)), RECORDS)
