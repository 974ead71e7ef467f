"""The journal of a labeling session: one text file to which lines are only added.

A line is the CRC-32 of what follows it, a hash chained to the line before, and one event in JSON:

    5f0b9c1e 0d4f…a7 {"event":"vote","row":17,"label":"spam",…}

`append` returns when the line is on the disk. Nothing here knows what the events mean.
"""

import hashlib
import json
import secrets
import zlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from thresher.errors import DamagedJournal, NotSaved, SessionStopped
from thresher.label_sessions.disk import AppendFile, Disk, SystemDisk, write_file

Event = dict[str, Any]

N_CRC, N_HASH = 8, 32  # hexadecimal digits
N_HEAD = N_CRC + N_HASH + 2  # both with a blank after them
START = b"0" * N_HASH  # what the first line is chained to
UNFINISHED, TORN = ".unfinished", ".torn"  # how the names of files beside the journal end


class BadLine(Exception):
    """Why a line is not what was written."""


class End(NamedTuple):
    """Where the next line goes."""

    chain: bytes = START
    n_lines: int = 0
    n_bytes: int = 0

    def after(self, line: bytes) -> "End":
        """The end after one more line, given with its newline."""
        chain = line[N_CRC + 1 : N_HEAD - 1]
        return End(chain, self.n_lines + 1, self.n_bytes + len(line))


@dataclass(frozen=True)
class Reading:
    """What a journal holds.

    Parameters
    ----------
    events : of all valid lines
    end : of the valid lines
    torn : the bytes after them: a line that was being written when the power failed
    lacks_newline : whether the last valid line has lost its newline, and nothing else
    """

    events: list[Event]
    end: End
    torn: bytes = b""
    lacks_newline: bool = False


def line_of(event: Mapping[str, Any], chain: bytes) -> bytes:
    """The line of an event after one with this hash, with its newline.

    Examples
    --------
    >>> line_of({"event": "note"}, START)
    b'9eba933f f215d0326e11c4a7666009b419d95092 {"event":"note"}\\n'
    """
    content = json.dumps(event, allow_nan=False, separators=(",", ":")).encode("ascii")
    rest = _chained(chain, content) + b" " + content
    return _crc(rest) + b" " + rest + b"\n"


def event_of(line: bytes, chain: bytes | None) -> Event:
    """The event of a line, given without its newline; the chain is not checked if it is None.

    Raises
    ------
    BadLine : the line is not what was written, or does not follow the line with this hash
    """
    return _parsed(_verified(line, chain))


def _verified(line: bytes, chain: bytes | None) -> bytes:
    """The JSON of a line whose checksum and hash are right."""
    rest, content = line[N_CRC + 1 :], line[N_HEAD:]
    if not content or line[:N_CRC] != _crc(rest):
        raise BadLine("the checksum does not match")
    if line[N_CRC : N_CRC + 1] + line[N_HEAD - 1 : N_HEAD] != b"  ":
        raise BadLine("it is not a line of a journal")
    if chain is not None and line[N_CRC + 1 : N_HEAD - 1] != _chained(chain, content):
        raise BadLine("it does not follow the line before")
    return content


def _parsed(content: bytes) -> Event:
    try:
        event = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise BadLine("it is not valid JSON") from error
    if not isinstance(event, dict):
        raise BadLine("it is not an event")
    return event


def _crc(data: bytes) -> bytes:
    return b"%08x" % zlib.crc32(data)


def _chained(chain: bytes, content: bytes) -> bytes:
    return hashlib.sha256(chain + content).hexdigest()[:N_HASH].encode("ascii")


def read_lines(content: bytes, path: str | Path = "journal") -> Reading:
    """The events of a journal with this content.

    A last line without a newline is torn if its checksum is wrong; if it is valid, only the newline
    is missing. Truncating a journal anywhere therefore leaves one that can be read.

    Raises
    ------
    DamagedJournal : a complete line is not what was written

    Examples
    --------
    >>> reading = read_lines(line_of({"event": "note"}, START) + b"12ab")
    >>> reading.events, reading.torn
    ([{'event': 'note'}], b'12ab')
    """
    contents: list[bytes] = []
    events: list[Event] = []
    ends = [End()]
    try:
        while (stop := content.find(b"\n", ends[-1].n_bytes)) >= 0:
            line = content[ends[-1].n_bytes : stop + 1]
            contents.append(_verified(line[:-1], ends[-1].chain))
            ends.append(ends[-1].after(line))
    except BadLine as error:
        raise _damaged(path, ends[-1], error) from error
    try:
        for one in contents:  # after all checksums: this takes longer
            events.append(_parsed(one))
    except BadLine as error:
        raise _damaged(path, ends[len(events)], error) from error
    return _with_last(events, ends[-1], content[ends[-1].n_bytes :], path)


def _damaged(path: str | Path, start: End, error: BadLine) -> DamagedJournal:
    return DamagedJournal(path, start.n_lines + 1, start.n_bytes, str(error))


def _with_last(events: list[Event], end: End, last: bytes, path: str | Path) -> Reading:
    """What is read, with what follows the last newline."""
    if not last:
        return Reading(events, end)
    if _is_valid(last, end.chain):
        return Reading([*events, event_of(last, end.chain)], end.after(last), lacks_newline=True)
    # A torn line is the beginning of one. A whole line and another byte had a newline there; a
    # line with a valid checksum was moved.
    if _is_valid(last[:-1], end.chain):
        raise _damaged(path, end, BadLine("its newline is damaged"))
    if _is_valid(last, None):
        raise _damaged(path, end, BadLine("it does not follow the line before"))
    return Reading(events, end, torn=last)


def _is_valid(line: bytes, chain: bytes | None) -> bool:
    try:
        event_of(line, chain)
    except BadLine:
        return False
    return True


def lines_of(events: Iterable[Mapping[str, Any]]) -> bytes:
    """The content of a journal with these events."""
    lines, chain = [], START
    for event in events:
        lines.append(line_of(event, chain))
        chain = End().after(lines[-1]).chain
    return b"".join(lines)


def write_new(path: Path, events: Iterable[Mapping[str, Any]], disk: Disk) -> None:
    """Write a journal with these events: all of it is on the disk under its name, or nothing.

    A journal that has this name is replaced.
    """
    unfinished = path.with_name(f"{path.name}.{secrets.token_hex(4)}{UNFINISHED}")
    write_file(disk, unfinished, lines_of(events))
    disk.rename(unfinished, path)
    disk.sync_folder(path.parent)


class Journal:
    """A journal that is open for writing; there must be one writer at a time.

    Parameters
    ----------
    path : of the file, which must exist
    disk : where it lies

    Attributes
    ----------
    n_lines : how many lines are on the disk
    reading : what the file held when it was opened

    Raises
    ------
    DamagedJournal : a complete line is not what was written; nothing is changed
    """

    def __init__(self, path: Path, disk: Disk | None = None) -> None:
        self.path = path
        self._disk = disk = disk or SystemDisk()
        content = disk.read(path)
        self.reading = read_lines(content, path)
        self._end = self.reading.end
        self._stopped: SessionStopped | None = None
        self._has_remains = False  # of a line that was not finished
        if self.reading.torn:
            self._set_aside(self.reading.torn)
        self._file: AppendFile = disk.open(path, is_new=False)
        self._settle()

    def _set_aside(self, torn: bytes) -> None:
        """Keep the bytes of a torn line in a file of their own."""
        name = f"{self.path.name}.{self._end.n_bytes}-{secrets.token_hex(4)}{TORN}"
        write_file(self._disk, self.path.with_name(name), torn)

    def _settle(self) -> None:
        """Let the file end where its valid lines end, on the disk as well."""
        try:
            if self.reading.torn:
                self._file.truncate(self._end.n_bytes)
            if self.reading.lacks_newline:
                self._file.write(b"\n")
                self._end = self._end._replace(n_bytes=self._end.n_bytes + 1)
            # What is read may not be on the disk yet: its writer may have been killed before.
            self._file.sync()
            self._disk.sync_folder(self.path.parent)
        except BaseException:
            self._file.close()
            raise

    @property
    def n_lines(self) -> int:
        """How many lines are on the disk."""
        return self._end.n_lines

    def append(self, event: Mapping[str, Any]) -> int:
        """Write an event and wait until it is on the disk; the number of its line, from 1.

        Raises
        ------
        NotSaved : it could not be written, for example because the disk is full; nothing changed
        SessionStopped : the disk did not confirm it, now or earlier; nothing more is written
        """
        if self._stopped is not None:
            raise self._stopped
        line = line_of(event, self._end.chain)
        self._remove_remains()
        self._has_remains = True
        try:
            self._file.write(line)
        except OSError as error:
            self._remove_remains()
            raise NotSaved(_reason(error), self.n_lines) from error
        self._sync()
        self._end = self._end.after(line)  # in one step, should an interrupt come here
        self._has_remains = False
        return self.n_lines

    def _remove_remains(self) -> None:
        """Remove what an append left that failed or was interrupted."""
        if not self._has_remains:
            return
        try:
            self._file.truncate(self._end.n_bytes)
        except OSError as error:
            self._stop(error)
        self._sync()
        self._has_remains = False

    def _sync(self) -> None:
        try:
            self._file.sync()
        except OSError as error:
            self._stop(error)

    def _stop(self, error: OSError) -> None:
        """Stop for good: after a failed sync, the system may have dropped what was written."""
        self._stopped = SessionStopped(self.path, _reason(error), self.n_lines)
        with suppress(OSError):  # the next process must not read a line that is not on the disk
            self._file.truncate(self._end.n_bytes)
        raise self._stopped from error

    def read_again(self) -> list[Event]:
        """The events that are on the disk."""
        return read_lines(self._disk.read(self.path)[: self._end.n_bytes], self.path).events

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _reason(error: OSError) -> str:
    return error.strerror or type(error).__name__
