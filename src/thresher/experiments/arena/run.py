"""One run of a sweep: a learner, a spec and a seed; its flat record, and the file of records."""

import hashlib
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, Literal, Self, TypeAlias

from thresher.errors import DamagedFile, ThresherError
from thresher.experiments.records import SimulatedRun
from thresher.experiments.simulation import run_simulation, software_versions
from thresher.experiments.sources import source_behind
from thresher.experiments.spec import SimulationSpec, TableSpec
from thresher.files import naming, other_than_file
from thresher.wording import one_line

if sys.platform != "win32":
    import fcntl

NAME = "records.jsonl"
LARGEST = 1e300  # of a number, which reports square and add up
_TEXTS = {
    *("run", "status", "message", "arena", "arena_hash", "learner"),
    *("table", "distribution", "adversary", "method"),
}
_NUMBERS = {
    *("seed", "n_features", "sparsity", "noise_rate", "told_noise_rate", "strength"),
    *("label_budget", "target_error", "budget_factor", "error", "error_floor", "label_floor"),
    *("error_standard_error", "n_labels", "n_queries", "n_draws", "n_phases", "n_uncertified"),
    *("dirty_labels", "seconds"),
}  # every other field holds a text, a number or a truth value
Spec: TypeAlias = SimulationSpec | TableSpec
Status: TypeAlias = Literal["finished", "failed", "timed out", "died"]
FlatRecord: TypeAlias = dict[str, Any]

_ELSEWHERE = ("spec", "seed", "versions", "phases")  # are fields of their own in a flat record
_FIELDS = (name for name in SimulatedRun.__dataclass_fields__ if name not in _ELSEWHERE)
_OUTCOME = ("error_floor", *_FIELDS)


@contextmanager
def needing(package: str, extra: str, what: str = "the arena") -> Iterator[None]:
    """Inside the block, a package that is missing is an error that says what to install."""
    try:
        yield
    except ImportError as error:
        remark = f'{what} needs {package}; install it with: pip install "thresher[{extra}]"'
        raise ThresherError(remark) from error


def fingerprint(content: object) -> str:
    """Sixteen hexadecimal digits that change with the content.

    Examples
    --------
    >>> fingerprint({"a": 1}) == fingerprint({"a": 1}) != fingerprint({"a": 2})
    True
    """
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Run:
    """One learner, one spec, one seed: equal runs give equal records except for the seconds.

    Parameters
    ----------
    learner : its name in reports
    spec : the world (simulated, or a real table), the adversary, and the learner's options
    seed : fixes everything that is random

    Examples
    --------
    >>> run = Run("thresher", SimulationSpec(n_features=20, sparsity=2), seed=4)
    >>> Run.from_record(run.as_record()) == run
    True
    """

    learner: str
    spec: Spec
    seed: int

    @property
    def id(self) -> str:
        """The identity of the run, the same in every sweep that contains it."""
        return fingerprint(self.as_record())

    @property
    def family(self) -> str:
        """The same for runs that differ only in strength and seed."""
        return Run(self.learner, replace(self.spec, strength=None), 0).id

    def as_record(self) -> dict[str, Any]:
        """The run as plain numbers, strings and dictionaries."""
        return {"learner": self.learner, "spec": self.spec.as_record(), "seed": int(self.seed)}

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Self:
        """The run that a record describes."""
        kind: Any = TableSpec if "table" in record["spec"] else SimulationSpec
        return cls(record["learner"], kind(**record["spec"]), record["seed"])

    def flat(self) -> FlatRecord:
        """Identity and parameters without nesting; schedule parameters as `schedule.name`."""
        spec = self.spec.as_record()
        schedule = spec.pop("schedule", {})
        options = {f"schedule.{name}": value for name, value in schedule.items()}
        return {"run": self.id, "learner": self.learner, "seed": int(self.seed), **spec, **options}

    def execute(self, data_dir: str | Path | None = None) -> FlatRecord:
        """The record of the run, executed in this process; real tables are read from `data_dir`."""
        if isinstance(self.spec, SimulationSpec):
            result = run_simulation(self.spec, self.seed)
            outcome = {name: getattr(result, name) for name in _OUTCOME}
            return self._record({**outcome, "n_phases": len(result.phases)})
        from thresher.experiments.table_run import run_table  # scikit-learn takes a second

        if data_dir is None:
            raise ValueError(f"data_dir must be the folder with the table {self.spec.table!r}")
        return self._record(run_table(self.spec, self.seed, data_dir))

    def unfinished(self, status: Status, message: str, seconds: float | None) -> FlatRecord:
        """The record of a run without a result: timed out, dead, or failed outside the learner."""
        known = {"status": status, "message": message, "seconds": seconds}
        nothing = dict.fromkeys((*_OUTCOME, "n_phases"))
        return self._record({**nothing, **known, "error_floor": self.spec.error_floor})

    def _record(self, outcome: Mapping[str, Any]) -> FlatRecord:
        versions = {f"version.{name}": value for name, value in software_versions().items()}
        return {**self.flat(), **outcome, **versions, "version.source": source_behind(self.spec)}


# -- the file: one JSON object per line, appended and never rewritten --------------------------


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
    _refuse_other_than_files(Path(path))
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
        for name, value in record.items():
            if not _is_allowed(name, value):
                reason = f"line {number} is not a record: {name!a} is {one_line(repr(value))}"
                raise DamagedFile(origin, reason)
        yield {_writable(name): _writable(value) for name, value in record.items()}


def _is_allowed(name: str, value: Any) -> bool:
    """Whether a field can have this value; most fields can lack one."""
    if value is None:
        return name not in ("run", "status")
    if name in _TEXTS:
        return isinstance(value, str)
    if name in _NUMBERS:
        return type(value) in (int, float) and abs(value) <= LARGEST
    return isinstance(value, (str, int, float))


def _writable(value: Any) -> Any:
    """The value; of a text, half of a surrogate pair as an escape, because no file can hold it."""
    return value.encode(errors="backslashreplace").decode() if isinstance(value, str) else value


def _refuse_other_than_files(path: Path) -> None:
    if path.exists() and (other := other_than_file(path)):
        raise DamagedFile(str(path), f"it is {other}")


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
        _refuse_other_than_files(self._path)
        self._file: IO[bytes] = self._path.open("a+b", buffering=0)
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
        """Write the record and wait until it is on the disk; if that fails, nothing is left of it.

        Raises
        ------
        OSError : the disk is full, for example; the message has the name of the file
        """
        line = memoryview((json.dumps(record, allow_nan=False) + "\n").encode())
        whole = self._file.seek(0, os.SEEK_END)
        try:
            with naming(self._path):
                while line:
                    line = line[self._file.write(line) :]
                os.fsync(self._file.fileno())
        except OSError:
            self._file.truncate(whole)
            raise
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
            advice = "wait for it, or choose another folder"
            remark = f"{self._path} is being written by another run of the arena; {advice}"
            raise ThresherError(remark) from error
