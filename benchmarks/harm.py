"""The harm study: Thresher beside undefended classifiers on the same rows, clean and poisoned.

    python -m benchmarks.harm --data-dir DIR --out records.jsonl
    python -m benchmarks.harm_bars records.jsonl --studies docs/studies

One line of JSON a fit. What the file has is not measured again: stop it and start it as you like. A
fit that fails, takes too long or dies is an outcome. 70 % of the rows are learned from, stratified,
10 % of them planted; Enron has its own split and its own attacks. A method that takes a noise rate
gets the true share of planted rows, or 2 % where nothing is planted.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import as_completed
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import partial
from itertools import product
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

import numpy as np
from pebble import ProcessPool
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.metrics import balanced_accuracy_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from threadpoolctl import threadpool_limits

import thresher
from benchmarks.harm_tables import ENRON, TABLES, StudyTable, split_of, table_named
from thresher.experiments import sources
from thresher.experiments.arena.processes import without_interrupts
from thresher.experiments.arena.run import RecordFile, latest_records
from thresher.experiments.spec import CLEAN_RATE, NO_ADVERSARY, THRESHER, parse_seeds
from thresher.experiments.table_run import fit_quietly, make_learner
from thresher.rendering.progress import plain_lines, progress
from thresher.simulate.poisoning import PoisonedSplit
from thresher.table_files import find_table
from thresher.validation import is_sparse

UNDEFENDED = ("l1-logistic", "linear-svm")
TREES = {"forest": RandomForestClassifier, "boosting": HistGradientBoostingClassifier}
TRUSTED = {f"trusted-{name}": name for name in TREES}
BOOSTING = "boosting"  # takes no sparse rows, and few columns at a time
MANY_COLUMNS, BOOSTED_COLUMNS = 1000, 300  # of a table with so many, boosting gets these
RIVALS = ("sever", "trimmed-loss", "norm-filter-l1-logistic", "norm-filter-linear-svm")
SOURCES = {THRESHER: sources.TABLES, **dict.fromkeys(TRUSTED, sources.TRUSTED)}  # behind ours
CHOSEN = ("C_", "sparsity_", "final_fit_", "use_of_trust_")  # attributes that name what was chosen
TIME_LIMIT = 3600.0  # seconds of a fit
Record = dict[str, Any]


@dataclass(frozen=True)
class Fit:
    """One classifier on one table: what is to be measured."""

    table: str
    seed: int
    attack: str
    strength: float | None
    method: str

    @property
    def run(self) -> str:
        """The identity of the fit in the file of records."""
        strength = "" if self.strength is None else f"{self.strength:g}"
        return f"{self.table}/{self.seed}/{self.attack}/{strength}/{self.method}"


# -- one fit -------------------------------------------------------------------------------------


def make_model(method: str, noise_rate: float, seed: int, n_columns: int) -> Any:
    """The unfitted classifier of that name for a table with so many columns."""
    if method in TRUSTED:
        inner = make_model(TRUSTED[method], noise_rate, seed, n_columns)
        return thresher.TrustedClassifier(inner, noise_rate=noise_rate, random_state=seed)
    if method not in TREES:
        return make_learner(method, noise_rate, seed)
    tree = TREES[method](random_state=seed)
    if method != BOOSTING:
        return tree
    choice = [SelectKBest(f_classif, k=BOOSTED_COLUMNS)] if n_columns > MANY_COLUMNS else []
    return make_pipeline(*choice, FunctionTransformer(_dense, accept_sparse=True), tree)


def _dense(rows: Any) -> Any:
    return rows.toarray() if is_sparse(rows) else rows


def measure(fit: Fit, data_dir: str) -> Record:
    """The record of a fit; any exception is its outcome."""
    try:
        split = split_of(data_dir, fit.table, fit.seed, fit.attack, fit.strength)
        source = sources.source_digest(SOURCES.get(fit.method, sources.RIVALS_ON_TABLES))
        return record_of(fit, "finished", **_outcome(fit, split), source=source)
    except Exception as error:
        return record_of(fit, "failed", f"{type(error).__name__}: {error}")


def record_of(fit: Any, status: str, message: str = "", **outcome: Any) -> Record:
    """What is known about a fit, flat."""
    return {"run": fit.run, **asdict(fit), "status": status, "message": message, **outcome}


def _outcome(fit: Fit, split: PoisonedSplit) -> Record:
    noise_rate = float(split.is_planted.mean()) or CLEAN_RATE
    model = make_model(fit.method, noise_rate, fit.seed, split.X.shape[1])
    seconds = fit_quietly(model, split)
    predicted = model.predict(split.X_test)
    chosen = {name: getattr(model, name) for name in CHOSEN if hasattr(model, name)}
    return {
        "error": float(np.mean(predicted != split.y_test)),
        "balanced_error": float(1 - balanced_accuracy_score(split.y_test, predicted)),
        "cpu_seconds": seconds,
        "noise_rate": noise_rate,
        "n_train": len(split.y),
        "n_coefficients": int(np.count_nonzero(model.coef_)) if hasattr(model, "coef_") else None,
        "cv_error": cv_error(model),
        "chosen": json.dumps(chosen, default=str),
        **_trust(model, split.is_planted),
    }


def cv_error(model: Any) -> float | None:
    """The error on held-out rows by which a tuned model was chosen; None if it was not."""
    path = getattr(model, "path_", None)
    if not path:
        return None
    return float(min(point.error if hasattr(point, "error") else 1 - point.score for point in path))


def _trust(model: Any, is_planted: Any) -> Record:
    """The mean trust in planted and in clean rows, of a model that has any."""
    if not hasattr(model, "row_weights_"):
        return {}
    trust = model.row_weights_
    parts = {"trust_clean": trust[~is_planted], "trust_planted": trust[is_planted]}
    return {name: float(part.mean()) for name, part in parts.items() if part.size}


# -- all of them ---------------------------------------------------------------------------------


def methods_on(table: StudyTable) -> tuple[str, ...]:
    """What the study fits to a table; `--methods` can name others."""
    rivals = RIVALS if table.has_rivals else ()
    return (THRESHER, *UNDEFENDED, *TREES, *TRUSTED, *rivals)


@dataclass(frozen=True)
class Selection:
    """What of the study is wanted; None: everything that belongs to a table."""

    tables: Sequence[str] = tuple(TABLES)
    attacks: Sequence[str] | None = None
    methods: Sequence[str] | None = None
    seeds: Sequence[int] | None = None

    def fits(self) -> Iterator[Fit]:
        """Every fit, those of one split after each other."""
        for table in map(table_named, self.tables):
            methods = self.methods or methods_on(table)
            for seed, attack, strength in self._splits(table):
                yield from (Fit(table.name, seed, attack, strength, name) for name in methods)

    def _splits(self, table: StudyTable) -> Iterator[tuple[int, str, float | None]]:
        has_one_split = table.name == ENRON
        seeds = table.seeds if has_one_split or self.seeds is None else self.seeds
        known: dict[str, tuple[float | None, ...]] = {NO_ADVERSARY: (None,), **table.strengths}
        for seed, attack in product(seeds, known):
            is_wanted = self.attacks is None or attack in self.attacks
            is_again = has_one_split and attack == NO_ADVERSARY and seed != seeds[0]
            if is_wanted and not is_again:
                yield from ((seed, attack, strength) for strength in known[attack])


Records = Generator[Record, None, None]
Execute = Callable[[Sequence[Any]], Records]  # of a `Fit`, or of any dataclass with a `run`


def complete(
    file: RecordFile, fits: Iterable[Any], execute: Execute, *, retry: bool = False
) -> None:
    """Measure what the file does not have, and append each record as it comes."""
    last = latest_records(file.records)
    known = {run for run, record in last.items() if not retry or record["status"] == "finished"}
    missing = [fit for fit in fits if fit.run not in known]
    total = len(missing)
    with (
        progress("fits", total, plain_lines("fits", total)) as move,
        closing(execute(missing)) as records,
    ):
        move(0)
        for n_done, record in enumerate(records, start=1):
            file.append(record)
            move(n_done)


def in_processes(
    fits: Sequence[Any],
    *,
    data_dir: str,
    n_jobs: int,
    seconds: float = TIME_LIMIT,
    measure: Callable[[Any, str], Record] = measure,
) -> Records:
    """The record of each fit, measured in processes that can be stopped and may die."""
    context = multiprocessing.get_context("spawn")
    pool = ProcessPool(max_workers=n_jobs, initializer=_prepare, context=context)
    with without_interrupts():
        _ = pool.active  # starts it
    try:
        jobs = {pool.schedule(measure, [fit, data_dir], timeout=seconds): fit for fit in fits}
        for job in as_completed(jobs):
            error = job.exception()
            if error is None:
                yield job.result()
            elif isinstance(error, TimeoutError):
                yield record_of(jobs[job], "timed out", f"stopped after {seconds:g} s")
            else:
                yield record_of(jobs[job], "died", f"{type(error).__name__}: {error}")
    finally:
        pool.stop()
        pool.join()


def _prepare() -> None:
    """One thread for the fit in each process, which ends with the main one, however that ends."""
    os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
    threadpool_limits(1)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)  # sys.exit would end this thread only


# -- the command ---------------------------------------------------------------------------------


def main(argv: Sequence[str] | None = None) -> int:
    """Measure what is missing; 0, or 130 if it was interrupted."""
    options = _parser().parse_args(argv)
    if options.data_dir is None:
        names = ", ".join(f"{name}.npz" for name in options.tables)
        print(f"harm: --data-dir must name a folder with {names}", file=sys.stderr)
        return 2
    with RecordFile(options.out) as file:
        return run_study(file, _available_fits(options), options, seconds=options.time_limit)


def run_study(
    file: RecordFile,
    fits: Iterable[Any],
    options: argparse.Namespace,
    **measuring: Any,
) -> int:
    """Measure what the file lacks, in processes; 0, or 130 if it was interrupted."""
    execute = partial(in_processes, data_dir=options.data_dir, n_jobs=options.jobs, **measuring)
    try:
        complete(file, fits, execute, retry=options.retry)
    except KeyboardInterrupt:
        kept = f"{len(file.records)} records are in {options.out}"
        print(f"stopped; {kept}, and the same command continues", file=sys.stderr)
        return 130
    return 0


def _available_fits(options: argparse.Namespace) -> list[Fit]:
    """The fits that are asked for, without tables that are not there."""
    tables = [name for name in options.tables if find_table(options.data_dir, name) is not None]
    for name in options.tables:
        if name not in tables:
            print(f"skipped, not in {options.data_dir}: {name}", file=sys.stderr)
    selection = Selection(tables, options.attacks, options.methods, options.seeds)
    return list(selection.fits())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.harm",
        description="Fit every method to every table of the harm study, clean and poisoned.",
        epilog="example: python -m benchmarks.harm --data-dir DIR --out records.jsonl --jobs 2",
    )
    parser.add_argument("--data-dir", help="folder of the tables")
    parser.add_argument("--out", type=Path, default=Path("harm.jsonl"), help="file of records")
    parser.add_argument("--tables", nargs="+", default=list(TABLES), metavar="NAME")
    parser.add_argument("--attacks", nargs="+", metavar="NAME", help='"none" is the clean table')
    parser.add_argument(
        "--methods", nargs="+", metavar="NAME", help="in place of those that the study fits"
    )
    parser.add_argument(
        "--seeds", type=parse_seeds, help="of the splits, like 5 or 1000-1003; not of Enron"
    )
    parser.add_argument("--jobs", type=int, default=2, help="processes (default: 2)")
    parser.add_argument("--retry", action="store_true", help="repeat fits that did not finish")
    parser.add_argument("--time-limit", type=float, default=TIME_LIMIT, metavar="SECONDS")
    return parser


if __name__ == "__main__":
    from benchmarks import harm  # by its name: the processes must find what they call

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # stops it as Ctrl-C does
    sys.exit(harm.main())
