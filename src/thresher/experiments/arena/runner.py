"""Running a sweep: what is missing from the folder is run, and each record is kept at once."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from joblib import Parallel, cpu_count, delayed

from thresher.experiments.arena.cluster import check_address, connected, run_on_cluster
from thresher.experiments.arena.isolation import Crew
from thresher.experiments.arena.record_file import NAME, RecordFile
from thresher.experiments.arena.summary import latest_records, worst_strengths
from thresher.experiments.arena.sweep import Sweep
from thresher.experiments.arena.trials import FlatRecord, Spec, Trial
from thresher.table_files import find_table
from thresher.validation import check_count

Observer: TypeAlias = Callable[[FlatRecord | None, int], object]
# Trials as records and a time limit go in; their flat records come out as they are ready.
Hands: TypeAlias = Callable[[Sequence[dict[str, Any]], float], Generator[FlatRecord, None, None]]


@dataclass(frozen=True, kw_only=True)
class Workforce:
    """Who runs the trials.

    Parameters
    ----------
    n_jobs : processes on this machine; None for as many as there are cores
    scheduler : address of a Dask cluster that is to run them instead

    Examples
    --------
    >>> Workforce(n_jobs=2).scheduler is None
    True
    """

    n_jobs: int | None = None
    scheduler: str | None = None

    def __post_init__(self) -> None:
        if self.n_jobs is not None:
            check_count(self.n_jobs, "n_jobs")
        if self.scheduler is not None:
            check_address(self.scheduler)

    @contextmanager
    def at_work(self) -> Iterator[Hands]:
        """Somebody to hand trials to; on the way out, all processes of this machine are stopped."""
        if self.scheduler is None:
            with Crew() as crew:
                yield partial(_run_here, crew, self.n_jobs or cpu_count())
        else:
            with connected(self.scheduler) as client:
                yield partial(run_on_cluster, client)


def run_sweep(
    sweep: Sweep,
    folder: str | Path,
    *,
    workforce: Workforce | None = None,
    data_dir: str | Path | None = None,
    retry: bool = False,
    observe: Observer | None = None,
) -> list[FlatRecord]:
    """The records of all trials of the sweep, of which those in the folder are not run again.

    Parameters
    ----------
    sweep : what is run
    folder : where `records.jsonl` is, or will be; made if missing
    workforce : who runs the trials; one process a core by default
    data_dir : where real tables are, if the sweep asks for any
    retry : run again what is recorded as failed, timed out or dead
    observe : shown each new record, and how many trials are still to come (about, until the pilot
        seeds have chosen the strengths); called once with None before the first

    Raises
    ------
    ThresherError : the folder is in use, the cluster cannot be reached or is lost, or no process
        can be started
    ValueError : a table of the sweep is not in the data folder
    DamagedFile : the records in the folder cannot be read

    Examples
    --------
    >>> import tempfile
    >>> sweep = Sweep.from_text('''
    ... seeds = 1
    ... [[worlds]]
    ... n_features = 9
    ... sparsity = 1
    ... label_budget = 20
    ... ''', name="tiny")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [record["status"] for record in run_sweep(sweep, folder)]
    ['finished']
    """
    _check_tables(sweep, data_dir)
    # The workforce first: where a cluster cannot be reached, no folder is left behind.
    with (workforce or Workforce()).at_work() as hands, _opened(Path(folder)) as file:
        (Path(folder) / f"{sweep.name}.toml").write_text(sweep.text, encoding="utf-8")
        known = _standing(file.records, retry)
        run = _Run(sweep, file, hands, _extras(data_dir), observe, known)
        pilot = sweep.trials(sweep.pilot_seeds)
        n_later = len(run.missing(run.final(pilot)))
        run.tell(None, len(run.missing(pilot)) + n_later)
        run.complete(pilot, n_later)
        final = run.final(pilot)
        run.complete(final, n_later=0)
        return run.recorded([*pilot, *final])


def missing_tables(sweep: Sweep, data_dir: str | Path | None) -> list[str]:
    """The tables that the sweep asks for and the folder does not have.

    Examples
    --------
    >>> missing_tables(Sweep.load("smoke"), None)
    []
    """
    if data_dir is None:
        return sweep.tables
    return [name for name in sweep.tables if find_table(data_dir, name) is None]


def _check_tables(sweep: Sweep, data_dir: str | Path | None) -> None:
    missing = missing_tables(sweep, data_dir)
    if missing:
        where = "there is no data_dir" if data_dir is None else f"not in data_dir {data_dir}"
        raise ValueError(f"the sweep {sweep.name!r} needs the table {missing[0]}: {where}")


def _extras(data_dir: str | Path | None) -> dict[str, str]:
    return {} if data_dir is None else {"data_dir": str(Path(data_dir).absolute())}


def _opened(folder: Path) -> RecordFile:
    folder.mkdir(parents=True, exist_ok=True)
    return RecordFile(folder / NAME)


def _standing(records: Iterable[FlatRecord], retry: bool) -> dict[str, FlatRecord]:
    """The last record of each run; with `retry`, only of runs that finished."""
    last = latest_records(records)
    return {run: r for run, r in last.items() if not retry or r["status"] == "finished"}


@dataclass(frozen=True)
class _Run:
    """One call of `run_sweep`: what its two rounds of trials share."""

    sweep: Sweep
    file: RecordFile
    hands: Hands
    extras: dict[str, str]  # what a process is told besides the trial
    observe: Observer | None
    known: dict[str, FlatRecord]

    def missing(self, trials: Iterable[Trial]) -> list[Trial]:
        """Those that have no record yet."""
        return [trial for trial in trials if trial.id not in self.known]

    def recorded(self, trials: Iterable[Trial]) -> list[FlatRecord]:
        """The records of those that have one, in their order."""
        ids = (trial.id for trial in trials)
        return [self.known[run] for run in ids if run in self.known]

    def final(self, pilot: Sequence[Trial]) -> list[Trial]:
        """The trials that count, with the strengths that the pilot ones speak for so far."""
        entries: Sequence[tuple[str, Spec]] = self.sweep.entries
        if pilot:
            entries = worst_strengths(entries, self.recorded(pilot))
        return self.sweep.trials(self.sweep.seeds, entries)

    def complete(self, trials: Sequence[Trial], n_later: int) -> None:
        """Run those that are missing, and keep each record as it comes."""
        missing = self.missing(trials)
        tasks = [{**trial.as_record(), **self.extras} for trial in missing]
        with _abandonable(self.hands(tasks, self.sweep.time_limit)) as results:
            for n_done, result in enumerate(results, start=1):
                record = {**result, "arena": self.sweep.name, "arena_hash": self.sweep.hash}
                self.file.append(record)
                self.known[record["run"]] = record
                self.tell(record, len(missing) - n_done + n_later)

    def tell(self, record: FlatRecord | None, n_to_come: int) -> None:
        """Show it to whoever observes."""
        if self.observe is not None:
            self.observe(record, n_to_come)


@contextmanager
def _abandonable(
    results: Generator[FlatRecord, None, None],
) -> Iterator[Generator[FlatRecord, None, None]]:
    """The results, which stop coming when nobody wants them any more."""
    try:
        yield results
    finally:
        with warnings.catch_warnings():
            # joblib's "tasks have not been used": whoever interrupted the loop knows.
            warnings.simplefilter("ignore", UserWarning)
            results.close()


def _run_here(
    crew: Crew, n_jobs: int, records: Sequence[dict[str, Any]], time_limit: float
) -> Generator[FlatRecord, None, None]:
    # Threads: each only waits for a process of the crew.
    pool = Parallel(n_jobs=n_jobs, backend="threading", return_as="generator_unordered")
    results: Generator[FlatRecord, None, None] = pool(
        delayed(crew.run)(record, time_limit) for record in records
    )
    return results
