"""Running a sweep: what is missing from the folder is run, and each record is kept at once."""

from __future__ import annotations

import warnings
from asyncio import CancelledError
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from joblib import Parallel, cpu_count, delayed

from thresher.errors import ThresherError
from thresher.experiments.arena.isolation import Crew, run_isolated
from thresher.experiments.arena.record_file import NAME, RecordFile
from thresher.experiments.arena.summary import worst_strengths
from thresher.experiments.arena.sweep import Sweep
from thresher.experiments.arena.trials import FlatRecord, Trial
from thresher.experiments.spec import SimulationSpec
from thresher.validation import check_count

Observer: TypeAlias = Callable[[FlatRecord | None, int], object]
# Trials as records and a time limit go in; their flat records come out as they are ready.
Hands: TypeAlias = Callable[[Sequence[dict[str, Any]], float], Generator[FlatRecord, None, None]]
_PATIENCE = 10  # seconds for a Dask cluster to answer


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

    @contextmanager
    def at_work(self) -> Iterator[Hands]:
        """Somebody to hand trials to; on the way out, all processes of this machine are stopped."""
        if self.scheduler is None:
            with Crew() as crew:
                yield partial(_run_here, crew, self.n_jobs or cpu_count())
        else:
            with _connected(self.scheduler) as client:
                yield partial(_run_on_cluster, client)


def run_sweep(
    sweep: Sweep,
    folder: str | Path,
    *,
    workforce: Workforce | None = None,
    retry: bool = False,
    observe: Observer | None = None,
) -> list[FlatRecord]:
    """The records of all trials of the sweep, of which those in the folder are not run again.

    Parameters
    ----------
    sweep : what is run
    folder : where `records.jsonl` is, or will be; made if missing
    workforce : who runs the trials; one process a core by default
    retry : run again what is recorded as failed, timed out or dead
    observe : shown each new record, and how many trials are still to come (about, until the pilot
        seeds have chosen the strengths); called once with None before the first

    Raises
    ------
    ThresherError : the folder is in use, the cluster cannot be reached or is lost, or no process
        can be started
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
    Path(folder).mkdir(parents=True, exist_ok=True)
    with RecordFile(Path(folder) / NAME) as file, (workforce or Workforce()).at_work() as hands:
        (Path(folder) / f"{sweep.name}.toml").write_text(sweep.text, encoding="utf-8")
        run = _Run(sweep, file, hands, observe, known=_standing(file.records, retry))
        pilot = sweep.trials(sweep.pilot_seeds)
        n_later = len(run.missing(run.final(pilot)))
        run.tell(None, len(run.missing(pilot)) + n_later)
        run.complete(pilot, n_later)
        final = run.final(pilot)
        run.complete(final, n_later=0)
        return run.recorded([*pilot, *final])


def _standing(records: Iterable[FlatRecord], retry: bool) -> dict[str, FlatRecord]:
    """The last record of each run; with `retry`, only of runs that finished."""
    last = {record["run"]: record for record in records}
    return {run: r for run, r in last.items() if not retry or r["status"] == "finished"}


@dataclass(frozen=True)
class _Run:
    """One call of `run_sweep`: what its two rounds of trials share."""

    sweep: Sweep
    file: RecordFile
    hands: Hands
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
        entries: Sequence[tuple[str, SimulationSpec]] = self.sweep.entries
        if pilot:
            entries = worst_strengths(entries, self.recorded(pilot))
        return self.sweep.trials(self.sweep.seeds, entries)

    def complete(self, trials: Sequence[Trial], n_later: int) -> None:
        """Run those that are missing, and keep each record as it comes."""
        missing = self.missing(trials)
        tasks = [trial.as_record() for trial in missing]
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


def _run_on_cluster(
    client: Any, records: Sequence[dict[str, Any]], time_limit: float
) -> Generator[FlatRecord, None, None]:
    """Records from a Dask cluster.

    Not through joblib's Dask backend: it waits for ever for a task whose worker was lost.
    """
    from distributed import as_completed

    # The futures are kept nowhere else: what was taken need not survive the loss of a worker.
    tasks = client.map(run_isolated, records, time_limit=time_limit, pure=False)
    waiting = as_completed(tasks, loop=client.loop)
    del tasks
    for task in waiting:
        try:
            record = task.result()
        except ThresherError:
            raise
        except (Exception, CancelledError) as error:
            raise ThresherError(
                f"the Dask cluster lost a run ({_in_one_line(error)}); what was recorded before is "
                "kept, and the same call goes on from there"
            ) from error
        yield record


@contextmanager
def _connected(address: str) -> Iterator[Any]:
    """A client of the Dask cluster, once it has at least one worker."""
    try:
        from distributed import Client
    except ImportError as error:
        raise ThresherError(
            'a Dask cluster needs distributed; install it with: pip install "thresher[cluster]"'
        ) from error
    try:
        client = Client(address, timeout=_PATIENCE, set_as_default=False)
    except Exception as error:  # of many kinds, when what answers is no scheduler
        raise ThresherError(
            f"no Dask scheduler answers at {address!r} ({_in_one_line(error)})"
        ) from error
    try:
        _await_worker(client, address)
        yield client
    finally:
        client.close()


def _await_worker(client: Any, address: str) -> None:
    try:
        client.wait_for_workers(1, timeout=_PATIENCE)
    except TimeoutError as error:
        raise ThresherError(
            f"the Dask scheduler at {address!r} has no worker after {_PATIENCE} s; start one"
        ) from error


def _in_one_line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())
