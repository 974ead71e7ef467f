"""Files that are written atomically: a reader sees the old content or the new, never a part."""

import csv
import errno
import io
import os
import re
import secrets
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

LONGEST_WAIT = 10.0  # seconds that a lock is waited for
UNFINISHED = ".unfinished"  # how the names of files end that are being written
_BEGINS_FORMULA = frozenset("=+-@\t\r\n＝＋－＠")  # the last four count as the first in Japan
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


@contextmanager
def replacing(path: str | Path) -> Iterator[BinaryIO]:
    """A file to write to, which replaces `path` when the block ends without an error.

    Until then it lies in the same folder under a random name, `.thresher-….unfinished`. After an
    error or an interrupt it is removed; a kill may leave it there, and nothing reads it. Of several
    processes that write one path, the last to finish wins. The permissions of an existing file are
    kept, and a link stays a link to the new content. A device or a pipe is written directly.

    Raises
    ------
    OSError : about `path`, also if the disk is full; `path` is then unchanged

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
        with naming(path), path.open("wb") as file:
            yield file
        return
    target = Path(os.path.realpath(path))
    unfinished = target.with_name(f".thresher-{secrets.token_hex(8)}{UNFINISHED}")
    try:
        with naming(path, instead_of=unfinished):
            with _created(unfinished, target) as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            unfinished.replace(target)
            sync_folder(target.parent)
    except BaseException:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)
        raise


@contextmanager
def naming(path: str | Path, *, instead_of: Path | None = None) -> Iterator[None]:
    """Errors of the system that name no file, or another one, name this file.

    Examples
    --------
    >>> with naming("answer.txt"):
    ...     raise OSError(28, "No space left on device")
    Traceback (most recent call last):
    OSError: [Errno 28] No space left on device: 'answer.txt'
    """
    try:
        yield
    except OSError as error:
        unnamed = error.filename is None or error.filename == str(instead_of)
        if error.errno is None or not unnamed:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


def _created(unfinished: Path, target: Path) -> BinaryIO:
    """A new file, which nobody else has, with the permissions of the one that it will replace."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        known: os.stat_result | None = target.stat()
    except FileNotFoundError:
        known = None
    # The system takes the umask off the permissions of a new file.
    descriptor = os.open(unfinished, flags, 0o666 if known is None else 0o600)
    file = os.fdopen(descriptor, "wb")
    if known is not None and os.chmod in os.supports_fd:
        with suppress(OSError):  # only the superuser can give files away
            os.chown(descriptor, known.st_uid, known.st_gid)
        os.chmod(descriptor, stat.S_IMODE(known.st_mode) & 0o777)  # noqa: PTH101
    return file


def sync_folder(folder: Path) -> None:
    """Wait until the new name is on the disk, where the system can say so of a folder."""
    if os.name != "posix":
        return
    with suppress(PermissionError):  # a folder can be writable and not readable
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOTSUP):
                raise
        finally:
            os.close(descriptor)


@contextmanager
def locked_folder(path: str | Path) -> Iterator[None]:
    """While the block runs, no other process is in such a block for a file of the same folder.

    Not the file itself is locked, because it is replaced. Where folders cannot be locked, or one
    stays locked for long, the block runs without: what it writes is more important.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, locked_folder(f"{folder}/run.npz"):
    ...     write_text(f"{folder}/run.npz", "new")
    """
    descriptor = None
    with suppress(OSError, ImportError):
        import fcntl  # not on Windows

        descriptor = os.open(Path(os.path.realpath(path)).parent, os.O_RDONLY)
        until = time.monotonic() + LONGEST_WAIT
        while time.monotonic() < until:
            with suppress(BlockingIOError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            time.sleep(0.005)
    try:
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


def other_than_file(path: str | Path) -> str | None:
    """What lies there if it is not an ordinary file; opening a pipe would wait for its other end.

    Examples
    --------
    >>> other_than_file("/")
    'a folder'
    """
    mode = Path(path).stat().st_mode
    if stat.S_ISREG(mode):
        return None
    return "a folder" if stat.S_ISDIR(mode) else "a device or a pipe"


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
