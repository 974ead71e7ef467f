"""The recorded answers of a run, and a plain file that holds them.

A run is a function of its seed and of the answers it was given, so the answers are all there is to
save: labels by id, and draws. A table's draws are saved by their ids alone; rows that came from a
stream or an oracle cannot be drawn again and are saved with them.
"""

import json
import zlib
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from thresher.archives import ArrayArchive, BadArchive
from thresher.errors import DamagedFile, NotEnoughMemory
from thresher.files import locked_folder, other_than_file, replacing
from thresher.learning.constants import PaperConstants
from thresher.learning.practical import PracticalSchedule
from thresher.learning.task import Task
from thresher.learning.theory import TheorySchedule
from thresher.memory import require_memory
from thresher.oracles import Classes, Draw, IdArray, check_classes, check_ids
from thresher.validation import Rows, check_count, is_sparse
from thresher.wording import one_line

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
    def of(cls, draw: Draw, *, keep_rows: bool) -> Self:
        """A draw, with or without its rows."""
        X = draw.X if keep_rows else None
        return cls(draw.ids, int(draw.n_drawn), checksum(draw.X), X)

    def is_of(self, draw: Draw) -> bool:
        """Whether a draw has these ids and these rows."""
        return np.array_equal(self.ids, draw.ids) and self.checksum == checksum(draw.X)

    def equals(self, other: Self) -> bool:
        """Whether both have the same ids and the same rows."""
        return np.array_equal(self.ids, other.ids) and self.checksum == other.checksum


@dataclass(eq=False)
class Journal:
    """The seed of a run, every answer it was given, and the budgets it had before the last one."""

    seed: int
    draws: list[RecordedDraw] = field(default_factory=list)
    labels: dict[int, float] = field(default_factory=dict)
    budgets: list[int | None] = field(default_factory=list)

    @property
    def n_drawn(self) -> int:
        """Instances drawn so far, rejected ones too."""
        return sum(draw.n_drawn for draw in self.draws)

    def add(self, other: Self) -> None:
        """Take over the answers of a journal of the same run; of any other one, nothing.

        Draws that a pool cannot repeat are of no use to another process, nor are labels that
        contradict those here.
        """
        later = other.draws[len(self.draws) :]
        is_same = self.seed == other.seed and all(map(RecordedDraw.equals, self.draws, other.draws))
        agree = all(self.labels.get(i, value) == value for i, value in other.labels.items())
        if is_same and agree and all(draw.X is None for draw in later):
            self.draws += later
            self.labels |= other.labels


@dataclass(frozen=True, eq=False)
class SavedRun:
    """What a file of a run holds; `schedule` is None if it was not one of Thresher's own."""

    journal: Journal
    task: Task
    schedule: PracticalSchedule | TheorySchedule | None
    classes: Classes | None = None


class RunFile:
    """The file of a run, which other processes that continue the run may write as well.

    Parameters
    ----------
    path : of the file

    Examples
    --------
    >>> import tempfile
    >>> task = Task(n_features=2, sparsity=1, noise_rate=0.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = RunFile(f"{folder}/run.npz")
    ...     file.save(Journal(seed=7), task, PracticalSchedule())
    ...     file.load().journal.seed
    7
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.place = self.path.absolute()
        self._seen: tuple[int, ...] | None = None  # the version that this process knows
        self._others: Journal | None = None  # what other processes have saved since then

    def load(self) -> SavedRun:
        """The run in the file."""
        self._seen = self._version()
        return load_journal(self.path)

    def save(
        self,
        journal: Journal,
        task: Task,
        schedule: object,
        classes: Classes | None = None,
    ) -> None:
        """Write the run, and with it what other processes have saved of it since it was loaded."""
        with locked_folder(self.path):
            if self._seen is not None and self._version() not in (None, self._seen):
                self._others = self._saved_by_others(task, schedule)
            if self._others is not None:
                journal = Journal(
                    journal.seed, [*journal.draws], {**journal.labels}, [*journal.budgets]
                )
                journal.add(self._others)
            save_journal(self.path, journal, task, schedule, classes)
            self._seen = self._version()

    def _saved_by_others(self, task: Task, schedule: object) -> Journal | None:
        try:
            saved = load_journal(self.path)
        except (DamagedFile, OSError):
            return None
        task = replace(task, label_budget=saved.task.label_budget)  # which can have been raised
        is_same = (task, _describe(schedule)) == (saved.task, _describe(saved.schedule))
        return saved.journal if is_same else None

    def _version(self) -> tuple[int, ...] | None:
        try:
            status = self.path.stat()
        except OSError:
            return None
        return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def save_journal(
    path: str | Path,
    journal: Journal,
    task: Task,
    schedule: object,
    classes: Classes | None = None,
) -> None:
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
        "budgets": journal.budgets,
        "classes": classes,
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
    NotEnoughMemory : it would not fit
    """
    try:
        if (other := other_than_file(path)) == "a device or a pipe":
            raise BadArchive(f"it is {other}")
        with ArrayArchive(path) as arrays:
            return _parse(arrays)
    except (FileNotFoundError, IsADirectoryError, PermissionError, NotEnoughMemory):
        raise
    except BadArchive as error:
        raise DamagedFile(str(path), str(error)) from error
    except Exception as error:  # what is not ours can fail in any way
        raise DamagedFile(str(path), f"{type(error).__name__}: {one_line(error, 200)}") from error


def _parse(arrays: ArrayArchive) -> SavedRun:
    n_bytes = sum(arrays.header(name).n_bytes for name in arrays.names)
    require_memory(n_bytes, "the run")
    header = json.loads(bytes(arrays["header"]).decode())
    if (header["format"], header["version"]) != (FORMAT, VERSION):
        raise ValueError(f"format {header['format']!r} version {header['version']!r}")
    if sorted(header["arrays"]) != sorted(set(arrays.names) - {"header"}):
        raise ValueError("an array is missing, or there is one too many")
    task = Task(**header["task"])
    counts = zip(header["n_drawn"], header["checksums"], strict=True)
    draws = [
        _recorded(arrays, f"draw{number}", *count, task.n_features)
        for number, count in enumerate(counts)
    ]
    labels = _labels(arrays, draws)
    budgets = [None if b is None else check_count(b, "budget") for b in header.get("budgets", [])]
    journal = Journal(check_count(header["seed"], "seed", minimum=0), draws, labels, budgets)
    classes = check_classes(header.get("classes"))
    return SavedRun(journal, task, _rebuild(header["schedule"]), classes)


def _labels(arrays: ArrayArchive, draws: list[RecordedDraw]) -> dict[int, float]:
    ids, values = check_ids(arrays["label_ids"]), arrays["label_values"]
    is_number = values.dtype.kind == "f" and values.shape == ids.shape
    if not is_number or not np.isin(values, (-1.0, 1.0)).all():
        raise ValueError("a label is missing, or is not -1 or +1")
    if np.unique(ids).size < ids.size:
        raise ValueError("an id has two labels")
    drawn = np.isin(ids, np.concatenate([draw.ids for draw in draws] or [ids[:0]]))
    if not drawn.all():
        raise ValueError(f"id {ids[~drawn][0]} has a label but was never drawn")
    return dict(zip(ids.tolist(), values.tolist(), strict=True))


def checksum(X: Rows) -> int:
    """A number that tells rows from other rows, bit by bit."""
    parts = (X.data, X.indices, X.indptr) if is_sparse(X) else (X,)
    value = 0
    for part in parts:
        value = zlib.crc32(np.ascontiguousarray(part).data, value) if part.size else value
    return value


def _recorded(
    arrays: ArrayArchive, name: str, n_drawn: int, expected: int, n_features: int
) -> RecordedDraw:
    ids, X = arrays[f"{name}.ids"], _unpack(arrays, name)
    # Made only for its checks; those of ids and counts do not need the rows.
    draw = Draw(ids=ids, X=np.zeros((ids.size, 1)) if X is None else X, n_drawn=n_drawn)
    if X is not None and X.shape[1] != n_features:
        raise ValueError(f"{name} has {X.shape[1]} features, the run {n_features}")
    if X is not None and checksum(X) != expected:
        raise ValueError(f"{name} is not what was written")
    return RecordedDraw(draw.ids, n_drawn, check_count(expected, "checksum", minimum=0), X)


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
        # Files of earlier versions have runs that knew no posterior.
        return PracticalSchedule(**{"use_posterior": False} | values)
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


def _unpack(arrays: ArrayArchive, name: str) -> Rows | None:
    if f"{name}.X" in arrays.names:
        return arrays[f"{name}.X"]
    if f"{name}.data" not in arrays.names:
        return None
    return arrays.csr(f"{name}.")
