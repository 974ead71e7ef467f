"""Files that are written atomically: a reader sees the old content or the new, never a part."""

import csv
import io
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

_BEGINS_FORMULA = frozenset("=+-@\t\r\n＝＋－＠")  # the last four count as the first in Japan
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


@contextmanager
def replacing(path: str | Path) -> Iterator[BinaryIO]:
    """A file to write to, which replaces `path` when the block ends without an error.

    Until then it lies beside it under the name `path` + ".part"; after an error or an interrupt it
    is removed, and `path` is unchanged. A device or a pipe is written directly.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(f"{folder}/answer.bin") as file:
    ...         _ = file.write(bytes([42]))
    ...     [path.name for path in Path(folder).iterdir()]
    ['answer.bin']
    """
    path = Path(path)
    if path.exists() and not path.is_file():  # /dev/stdout must not be replaced
        with path.open("wb") as file:
            yield file
        return
    unfinished = path.with_name(path.name + ".part")
    try:
        file = unfinished.open("wb")
    except OSError as error:  # about the name that the caller knows
        raise OSError(error.errno, error.strerror, str(path)) from error
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def write_text(path: str | Path, text: str) -> None:
    """Write a text in UTF-8, atomically.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_text(f"{folder}/answer.txt", "forty-two")
    ...     Path(folder, "answer.txt").read_text(encoding="utf-8")
    'forty-two'
    """
    content = text.encode()
    with replacing(path) as file:
        file.write(content)


def write_csv(
    path: str | Path,
    head: Sequence[str],
    lines: Iterable[Sequence[Any]],
    *,
    raw_csv: bool = False,
) -> None:
    """Write a CSV file in UTF-8, atomically.

    Unless `raw_csv`, text that a spreadsheet would execute has a ' before it, see `inert`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_csv(f"{folder}/rows.csv", ["id", "note"], [(1, "a, b")])
    ...     Path(folder, "rows.csv").read_text(encoding="utf-8")
    'id,note\\n1,"a, b"\\n'
    """
    with replacing(path) as file:
        text = io.TextIOWrapper(file, "utf-8", newline="")
        writer = csv.writer(text, lineterminator="\n")
        quoting = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)
        for line in chain([head], lines):
            cells = line if raw_csv else [inert(cell) for cell in line]
            # Python's csv does not quote a carriage return by itself before 3.13.
            has_return = any(isinstance(cell, str) and "\r" in cell for cell in cells)
            (quoting if has_return else writer).writerow(cells)
        text.detach()  # flushes, and leaves the file open


def inert(cell: Any) -> Any:
    """The cell, with a ' before text that a spreadsheet would take for a formula.

    That is text which begins with = + - @, a tab or a line break, unless it is a number. Whoever
    reads the file with another program gets the ' too.

    Examples
    --------
    >>> [inert(cell) for cell in ("=1+1", "@ann", "-1.5e-3", "a=b", -2)]
    ["'=1+1", "'@ann", '-1.5e-3', 'a=b', -2]
    """
    if isinstance(cell, str) and cell[:1] in _BEGINS_FORMULA and not _NUMBER.fullmatch(cell):
        return f"'{cell}"
    return cell
