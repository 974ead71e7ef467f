"""The file operations on which the safety of a journal rests; tests replace them."""

import os
from pathlib import Path
from typing import Protocol

from thresher.files import sync_folder


class AppendFile(Protocol):
    """A file that is open for appending."""

    def write(self, data: bytes) -> None:
        """Append the bytes; after an error, a part of them may be in the file."""

    def sync(self) -> None:
        """Wait until everything written is on the disk."""

    def truncate(self, n_bytes: int) -> None:
        """Cut the file to its first bytes."""

    def close(self) -> None:
        """Close the file."""


class Disk(Protocol):
    """What a journal asks of a file system; all errors are `OSError`."""

    def read(self, path: Path) -> bytes:
        """The content of a file."""

    def open(self, path: Path, *, is_new: bool) -> AppendFile:
        """A file to append to; a new one must not exist yet."""

    def rename(self, source: Path, target: Path) -> None:
        """Give a file another name, at once; a file that has that name is replaced."""

    def sync_folder(self, folder: Path) -> None:
        """Wait until the names in a folder are on the disk."""


class SystemFile:
    """A file of the operating system, open for appending."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def write(self, data: bytes) -> None:
        """Append the bytes, however many the system takes at a time."""
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]

    def sync(self) -> None:
        """Wait for the disk."""
        os.fsync(self._descriptor)

    def truncate(self, n_bytes: int) -> None:
        """Cut the file to its first bytes."""
        os.ftruncate(self._descriptor, n_bytes)

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)


class SystemDisk:
    """The file system of the operating system.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = SystemDisk().open(Path(folder, "a"), is_new=True)
    ...     file.write(b"one")
    ...     file.close()
    ...     SystemDisk().read(Path(folder, "a"))
    b'one'
    """

    def read(self, path: Path) -> bytes:
        """The content of a file."""
        return path.read_bytes()

    def open(self, path: Path, *, is_new: bool) -> SystemFile:
        """A file to append to; a new one must not exist yet."""
        flags = os.O_WRONLY | os.O_APPEND | getattr(os, "O_BINARY", 0)
        return SystemFile(os.open(path, flags | (os.O_CREAT | os.O_EXCL if is_new else 0), 0o666))

    def rename(self, source: Path, target: Path) -> None:
        """Give a file another name, at once."""
        source.replace(target)

    def sync_folder(self, folder: Path) -> None:
        """Wait until the names in a folder are on the disk."""
        sync_folder(folder)


def write_file(disk: Disk, path: Path, content: bytes) -> None:
    """Write a new file and wait until its content is on the disk; its name may not be yet."""
    file = disk.open(path, is_new=True)
    try:
        file.write(content)
        file.sync()
    finally:
        file.close()
