"""Running a sweep: what is missing from the folder is run, and each record is saved at once."""

import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from thresher.experiments.arena.processes import Execute, workers
from thresher.experiments.arena.run import NAME, FlatRecord, RecordFile, Run, latest_records
from thresher.experiments.arena.sweep import Sweep
from thresher.files import write_text
from thresher.validation import check_count

Observer: TypeAlias = Callable[[FlatRecord | None, int], object]


def run_sweep(
    sweep: Sweep,
    folder: str | Path,
    *,
    n_jobs: int | None = None,
    scheduler: str | None = None,
    data_dir: str | Path | None = None,
    retry: bool = False,
    observe: Observer | None = None,
) -> list[FlatRecord]:
    """The records of all runs of the sweep; those already in the folder are not repeated.

    In a script, call it under `if __name__ == "__main__":`, as `multiprocessing` demands.

    Parameters
    ----------
    sweep : what is run
    folder : of `records.jsonl`; created if missing
    n_jobs : processes on this machine (default: one per core)
    scheduler : address of a Dask cluster that executes the runs instead
    data_dir : folder of the real tables, if the sweep has any
    retry : repeat runs whose record says "failed", "timed out" or "died"
    observe : called with each new record and the number of runs left (an estimate, until the pilot
        seeds have chosen the strengths), and once with None before the first

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
    if n_jobs is not None:
        check_count(n_jobs, "n_jobs")
    _check_tables(sweep, data_dir)
    # The workers first: if a cluster cannot be reached, no folder is left behind.
    with workers(n_jobs, scheduler) as execute, RecordFile(Path(folder) / NAME) as file:
        _save_spec(sweep, Path(folder) / f"{sweep.name}.toml")
        last = latest_records(file.records)
        known = {run: r for run, r in last.items() if not retry or r["status"] == "finished"}
        rounds = _Rounds(sweep, file, execute, data_dir, observe or (lambda *_: None), known)
        pilot = sweep.runs(sweep.pilot_seeds)
        n_later = len(rounds.missing(rounds.final(pilot)))
        rounds.observe(None, len(rounds.missing(pilot)) + n_later)
        rounds.complete(pilot, n_later)
        final = rounds.final(pilot)
        rounds.complete(final, n_later=0)
        return [known[run.id] for run in (*pilot, *final) if run.id in known]


def missing_tables(sweep: Sweep, data_dir: str | Path | None) -> list[str]:
    """The tables of the sweep that the folder does not have."""
    if data_dir is None:
        return sweep.tables
    if not sweep.tables:
        return []
    from thresher.table_files import find_table  # scikit-learn takes a second

    return [name for name in sweep.tables if find_table(data_dir, name) is None]


def _check_tables(sweep: Sweep, data_dir: str | Path | None) -> None:
    missing = missing_tables(sweep, data_dir)
    if missing:
        where = "data_dir is not given" if data_dir is None else f"not in data_dir {data_dir}"
        raise ValueError(f"sweep {sweep.name!r} needs the table {missing[0]}: {where}")


def skipped_file(spec: Path) -> Path:
    """The file beside a sweep's spec that names the tables which its runs skipped."""
    return spec.with_suffix(".skipped.json")


def _save_spec(sweep: Sweep, path: Path) -> None:
    """Keep the spec beside the records, and what of it was skipped: a report counts on both."""
    write_text(path, sweep.text)
    if sweep.skipped_tables:
        write_text(skipped_file(path), json.dumps(sweep.skipped_tables))
    else:
        skipped_file(path).unlink(missing_ok=True)


@dataclass(frozen=True)
class _Rounds:
    """What the two rounds of one `run_sweep` share: pilot seeds, then the seeds that count."""

    sweep: Sweep
    file: RecordFile
    execute: Execute
    data_dir: str | Path | None
    observe: Observer
    known: dict[str, FlatRecord]

    def missing(self, runs: Iterable[Run]) -> list[Run]:
        """Those without a record."""
        return [run for run in runs if run.id not in self.known]

    def final(self, pilot: Sequence[Run]) -> list[Run]:
        """The runs that count, at the strengths that the pilot records so far speak for."""
        if not pilot:
            return self.sweep.runs(self.sweep.seeds)
        # Here: every process imports this module, and pandas takes long.
        from thresher.experiments.arena.summary import worst_strengths

        entries = worst_strengths(self.sweep.entries, pilot, self.known)
        return self.sweep.runs(self.sweep.seeds, entries)

    def complete(self, runs: Sequence[Run], n_later: int) -> None:
        """Execute those that are missing, and save each record as it comes."""
        missing = self.missing(runs)
        data = {} if self.data_dir is None else {"data_dir": str(Path(self.data_dir).absolute())}
        limit = {"memory_limit": self.sweep.memory_limit}
        tasks = [{**run.as_record(), **limit, **data} for run in missing]
        with closing(self.execute(tasks, self.sweep.time_limit)) as results:
            for n_done, result in enumerate(results, start=1):
                record = {**result, "arena": self.sweep.name, "arena_hash": self.sweep.hash}
                self.file.append(record)
                self.known[record["run"]] = record
                self.observe(record, len(missing) - n_done + n_later)
