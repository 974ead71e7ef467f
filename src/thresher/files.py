"""Files that are written atomically: a reader sees the old content or the new, never a part."""

import csv
import io
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO


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


def write_csv(path: str | Path, head: Sequence[str], lines: Iterable[Sequence[Any]]) -> None:
    """Write a CSV file in UTF-8, atomically.

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
        writer.writerow(head)
        writer.writerows(lines)
        text.detach()  # flushes, and leaves the file open
