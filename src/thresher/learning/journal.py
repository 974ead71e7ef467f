"""The recorded answers of a run, and a plain file that holds them.

A run is a function of its seed and of the answers it was given, so the answers are all there is to
save: labels by id, and draws. A table's draws are saved by their ids alone; rows that came from a
stream or an oracle cannot be drawn again and are saved with them.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from thresher.errors import DamagedFile
from thresher.files import replacing
from thresher.learning.constants import PaperConstants
from thresher.learning.practical import PracticalSchedule
from thresher.learning.task import Task
from thresher.learning.theory import TheorySchedule
from thresher.oracles import Draw, IdArray
from thresher.validation import Rows, is_sparse

FORMAT, VERSION = "thresher-run", 1
# Switches that schedules of earlier versions had, all on by default; the rivals have them now.
RETIRED = {"remove_outliers", "prune_rows", "sample_labels", "shrink_l1_radius", "localize"}


@dataclass(frozen=True, eq=False)
class RecordedDraw:
    """A draw as it is kept: with its rows, or by ids alone if the pool can draw it again.

    The checksum of the rows tells whether a pool that draws them again is the same table.
    """

    ids: IdArray
    n_drawn: int
    checksum: int
    X: Rows | None

    @classmethod
    def of(cls, draw: Draw, *, keep_rows: bool) -> RecordedDraw:
        """A draw, with or without its rows."""
        X = draw.X if keep_rows else None
        return cls(draw.ids, int(draw.n_drawn), checksum(draw.X), X)

    def is_of(self, draw: Draw) -> bool:
        """Whether a draw has these ids and these rows."""
        return np.array_equal(self.ids, draw.ids) and self.checksum == checksum(draw.X)


@dataclass(eq=False)
class Journal:
    """The seed of a run and every answer it was given."""

    seed: int
    draws: list[RecordedDraw] = field(default_factory=list)
    labels: dict[int, float] = field(default_factory=dict)

    @property
    def n_drawn(self) -> int:
        """Instances drawn so far, rejected ones too."""
        return sum(draw.n_drawn for draw in self.draws)


@dataclass(frozen=True, eq=False)
class SavedRun:
    """What a file of a run holds; `schedule` is None if it was not one of Thresher's own."""

    journal: Journal
    task: Task
    schedule: PracticalSchedule | TheorySchedule | None


def save_journal(path: str | Path, journal: Journal, task: Task, schedule: object) -> None:
    """Write a run to an NPZ file, at once: an interrupt leaves the old file or the new one."""
    arrays: dict[str, Any] = {
        "label_ids": np.array(list(journal.labels), dtype=np.int64),
        "label_values": np.array(list(journal.labels.values()), dtype=np.float64),
    }
    for number, draw in enumerate(journal.draws):
        arrays[f"draw{number}.ids"] = draw.ids
        if draw.X is not None:
            arrays.update(_pack(draw.X, f"draw{number}"))
    header = {
        "format": FORMAT,
        "version": VERSION,
        "seed": journal.seed,
        "task": asdict(task),
        "schedule": _describe(schedule),
        "n_drawn": [draw.n_drawn for draw in journal.draws],
        "checksums": [draw.checksum for draw in journal.draws],
        "arrays": sorted(arrays),
    }
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    with replacing(path) as file:
        np.savez(file, **arrays)


def load_journal(path: str | Path) -> SavedRun:
    """Read a run from a file that `save_journal` wrote.

    Raises
    ------
    DamagedFile : the file is not such a file, or not whole
    """
    try:
        # Opened here, because NumPy leaves a file open in which it finds no archive.
        with Path(path).open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            return _parse(arrays)
    except (FileNotFoundError, IsADirectoryError, PermissionError):
        raise
    except Exception as error:  # bytes that are not ours can fail in any way
        raise DamagedFile(str(path), f"{type(error).__name__}: {error}") from error


def _parse(arrays: Mapping[str, Any]) -> SavedRun:
    header = json.loads(bytes(arrays["header"]).decode())
    if (header["format"], header["version"]) != (FORMAT, VERSION):
        raise ValueError(f"format {header['format']!r} version {header['version']!r}")
    if sorted(header["arrays"]) != sorted(set(arrays) - {"header"}):
        raise ValueError("an array is missing, or there is one too many")
    counts = zip(header["n_drawn"], header["checksums"], strict=True)
    draws = [_recorded(arrays, f"draw{number}", *count) for number, count in enumerate(counts)]
    values = arrays["label_values"]
    if not np.isin(values, (-1.0, 1.0)).all():
        raise ValueError("a label is not -1 or +1")
    labels = dict(zip(arrays["label_ids"].tolist(), values.tolist(), strict=True))
    journal = Journal(int(header["seed"]), draws, labels)
    return SavedRun(journal, Task(**header["task"]), _rebuild(header["schedule"]))


def checksum(X: Rows) -> int:
    """A number that tells rows from other rows, bit by bit."""
    parts = (X.data, X.indices, X.indptr) if is_sparse(X) else (X,)
    value = 0
    for part in parts:
        value = zlib.crc32(np.ascontiguousarray(part).data, value) if part.size else value
    return value


def _recorded(arrays: Mapping[str, Any], name: str, n_drawn: int, expected: int) -> RecordedDraw:
    X = _unpack(arrays, name)
    if X is not None and checksum(X) != expected:
        raise ValueError(f"{name} is not what was written")
    return RecordedDraw(arrays[f"{name}.ids"], int(n_drawn), int(expected), X)


def _describe(schedule: object) -> dict[str, Any] | None:
    # Not isinstance: a class derived from ours could not be rebuilt.
    if type(schedule) is PracticalSchedule or type(schedule) is TheorySchedule:
        return {"kind": type(schedule).__name__, "fields": asdict(schedule)}
    return None


def _rebuild(description: dict[str, Any] | None) -> PracticalSchedule | TheorySchedule | None:
    if description is None:
        return None
    values = dict(description["fields"])
    if description["kind"] == PracticalSchedule.__name__:
        for name in RETIRED & values.keys():
            if not values.pop(name):
                raise ValueError(f"PracticalSchedule no longer has the switch {name}")
        return PracticalSchedule(**values)
    if description["kind"] == TheorySchedule.__name__:
        constants = {k: v for k, v in values["constants"].items() if k != "draws_factor"}  # retired
        return TheorySchedule(**{**values, "constants": PaperConstants(**constants)})
    raise ValueError(f"schedule of the unknown kind {description['kind']!r}")


def _pack(X: Rows, name: str) -> dict[str, Any]:
    if not is_sparse(X):
        return {f"{name}.X": X}
    return {
        f"{name}.data": X.data,
        f"{name}.indices": X.indices,
        f"{name}.indptr": X.indptr,
        f"{name}.shape": np.array(X.shape),
    }


def _unpack(arrays: Mapping[str, Any], name: str) -> Rows | None:
    if f"{name}.X" in arrays:
        return arrays[f"{name}.X"]
    if f"{name}.data" not in arrays:
        return None
    parts = (arrays[f"{name}.data"], arrays[f"{name}.indices"], arrays[f"{name}.indptr"])
    return sp.csr_array(parts, shape=tuple(arrays[f"{name}.shape"].tolist()))
