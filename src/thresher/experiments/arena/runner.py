"""Running a sweep: what is missing from the folder is run, and each record is kept at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed, parallel_config

from thresher.errors import ThresherError
from thresher.experiments.arena.isolation import run_isolated
from thresher.experiments.arena.record_file import NAME, RecordFile
from thresher.experiments.arena.summary import worst_strengths
from thresher.experiments.arena.sweep import Sweep
from thresher.experiments.arena.trials import FlatRecord, Trial

Observer = Callable[[FlatRecord | None, int], object]


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

    @contextmanager
    def at_work(self) -> Iterator[Parallel]:
        """joblib's pool, which hands out results as they come."""
        if self.scheduler is None:
            n_jobs = self.n_jobs or os.cpu_count() or 1
            # Threads: each only waits for a process of its own, see `isolation`.
            yield Parallel(n_jobs=n_jobs, backend="threading", return_as="generator_unordered")
            return
        client = _connect(self.scheduler)
        try:
            with parallel_config(backend="dask"):
                yield Parallel(n_jobs=-1, return_as="generator_unordered")
        finally:
            client.close()


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
    observe : shown each new record, and how many trials are still to come; called once with None
        before the first

    Raises
    ------
    ThresherError : the folder is in use, or the cluster cannot be reached
    DamagedFile : the records in the folder cannot be read

    Examples
    --------
    >>> import tempfile
    >>> sweep = Sweep.from_text('''
    ... seeds = "0"
    ... [[worlds]]
    ... n_features = 9
    ... sparsity = 1
    ... label_budget = 20
    ... '''.replace('"0"', '"1"'), name="tiny")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [record["status"] for record in run_sweep(sweep, folder)]
    ['finished']
    """
    Path(folder).mkdir(parents=True, exist_ok=True)
    with RecordFile(Path(folder) / NAME) as file, (workforce or Workforce()).at_work() as pool:
        (Path(folder) / f"{sweep.name}.toml").write_text(sweep.text, encoding="utf-8")
        run = _Run(sweep, file, pool, retry, observe)
        if not sweep.pilot_seeds:
            return run.complete(sweep.trials(sweep.seeds), n_later=0)
        n_later = len(sweep.seeds) * len(worst_strengths(sweep.entries, []))
        pilot = run.complete(sweep.trials(sweep.pilot_seeds), n_later)
        chosen = worst_strengths(sweep.entries, pilot)
        return pilot + run.complete(sweep.trials(sweep.seeds, chosen), n_later=0)


@dataclass(frozen=True)
class _Run:
    """One call of `run_sweep`: what its two rounds of trials share."""

    sweep: Sweep
    file: RecordFile
    pool: Parallel
    retry: bool
    observe: Observer | None

    def complete(self, trials: Sequence[Trial], n_later: int) -> list[FlatRecord]:
        """The record of each trial, in their order, once those that are missing were run."""
        known = {record["run"]: record for record in self._kept()}
        missing = [trial for trial in trials if trial.id not in known]
        if self.observe is not None:
            self.observe(None, len(missing) + n_later)
        for n_done, record in enumerate(self._records(missing), start=1):
            record = {**record, "arena": self.sweep.name, "arena_hash": self.sweep.hash}
            self.file.append(record)
            known[record["run"]] = record
            if self.observe is not None:
                self.observe(record, len(missing) - n_done + n_later)
        return [known[trial.id] for trial in trials]

    def _kept(self) -> Iterator[FlatRecord]:
        """Records that stand; with `retry`, only of runs that finished. The last one counts."""
        for record in self.file.records:
            if not self.retry or record["status"] == "finished":
                yield record

    def _records(self, trials: Iterable[Trial]) -> Iterator[FlatRecord]:
        limit = self.sweep.time_limit
        tasks = [delayed(run_isolated)(trial.as_record(), limit) for trial in trials]
        return iter(self.pool(tasks)) if tasks else iter(())


def _connect(address: str) -> Any:
    try:
        from distributed import Client
    except ImportError as error:
        raise ThresherError(
            'a Dask cluster needs distributed; install it with: pip install "thresher[cluster]"'
        ) from error
    try:
        return Client(address, timeout=10)
    except (OSError, ValueError) as error:
        raise ThresherError(f"no Dask scheduler answers at {address!r}: {error}") from error
