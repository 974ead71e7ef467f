"""The file of records: one JSON object per line, appended and never rewritten."""

import json
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Self

from thresher.errors import DamagedFile, ThresherError
from thresher.experiments.arena.run import FlatRecord

if sys.platform != "win32":
    import fcntl

NAME = "records.jsonl"


def read_records(path: str | Path) -> list[FlatRecord]:
    """The records of a file; an incomplete last line, left by a kill, is ignored.

    Raises
    ------
    DamagedFile : a line is not a record; the message has its number

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with RecordFile(f"{folder}/records.jsonl") as records:
    ...         records.append({"run": "a", "status": "died"})
    ...     read_records(f"{folder}/records.jsonl")
    [{'run': 'a', 'status': 'died'}]
    """
    content = Path(path).read_bytes()
    return list(_parse(content[: content.rfind(b"\n") + 1], str(path)))


def latest_records(records: Iterable[FlatRecord]) -> dict[str, FlatRecord]:
    """The last record of each run by the run's id: a failure may have been tried again."""
    return {record["run"]: record for record in records}


def _parse(content: bytes, origin: str) -> Iterator[FlatRecord]:
    for number, line in enumerate(content.splitlines(), start=1):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DamagedFile(origin, f"line {number} is not JSON: {error}") from error
        if not isinstance(record, dict) or not {"run", "status"} <= record.keys():
            raise DamagedFile(origin, f"line {number} is not the record of a run")
        yield record


class RecordFile:
    """A file of records, open for appending by one process at a time.

    A record is on the disk when `append` returns. An incomplete last line, left by a kill, is cut
    off when the file is opened.

    Parameters
    ----------
    path : of the file; created with its folder if missing

    Raises
    ------
    ThresherError : another process has it open
    DamagedFile : a line is not a record

    Attributes
    ----------
    records : everything in the file, in order
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._file: IO[bytes] = self._path.open("a+b")
        try:
            self._lock()
            self._file.seek(0)
            content = self._file.read()
            whole = content.rfind(b"\n") + 1
            self.records = list(_parse(content[:whole], str(path)))
            self._file.truncate(whole)
        except BaseException:
            self._file.close()
            raise

    def append(self, record: FlatRecord) -> None:
        """Write the record and wait until it is on the disk."""
        line = json.dumps(record, allow_nan=False) + "\n"
        self._file.write(line.encode())
        self._file.flush()
        os.fsync(self._file.fileno())
        self.records.append(record)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def _lock(self) -> None:
        if sys.platform == "win32":  # without flock, nothing keeps a second runner out
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise ThresherError(
                f"{self._path} is being written by another run of the arena; "
                "wait for it, or choose another folder"
            ) from error
