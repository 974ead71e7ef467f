"""The pool study: labels bought by `ActiveClassifier` and by the usual rules, clean and poisoned.

    python -m benchmarks.pools --data-dir DIR --out records.jsonl
    python -m benchmarks.pool_bars records.jsonl

One line of JSON a run, with the test error at every budget. What the file has is not measured
again: stop it and start it as you like. The pool is 70 % of a table, with planted rows where there
is an attack; the rest is to test on. All methods begin with the same 20 random rows. Thresher gets
the share of planted rows as its noise rate, or its default where nothing is planted; its random
labels count. `--methods` can name more: two strategies of scikit-activeml, if that is installed,
and Thresher with other shares of random labels.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harm import Record, record_of, run_study
from benchmarks.pool_learners import PEER_RULES, RULES, State, first_rows, thresher_states
from thresher.experiments.arena.run import RecordFile
from thresher.experiments.sources import POOLS, source_digest
from thresher.experiments.spec import NO_ADVERSARY, THRESHER, parse_seeds
from thresher.experiments.table_run import load_table
from thresher.simulate.poisoning import PoisonedSplit, poisoned_split

BUDGETS = (50, 100, 200, 400, 800)
TABLES = {
    "spambase": (BUDGETS, tuple(range(10))),
    "cina": (BUDGETS, tuple(range(10))),
    "mnist_1v7": (BUDGETS, tuple(range(10))),
    "reuters_earn_v_acq": (BUDGETS, tuple(range(10))),
    "mdrr": (BUDGETS[:3], tuple(range(20))),
}  # by name: the budgets and the seeds
FLOOD = "first-batch-flood"  # the one attack that is not of `poison`: it knows the first questions
# By name, the attack of `poison` and its strength.
ATTACKS = {
    "far-clump": ("far-clump", 4.0),
    "on-support-tilt": ("on-support-tilt", 4.0),
    "linf-hijack": ("linf-hijack", 0.1),
    "flips": ("jittered-flip", 0.0),
    "one-sided-flips": ("jittered-flip", 1.0),
    "query-following": ("query-following", 1.0),
    FLOOD: (None, None),
}
AUDITS = {"no-audit": 0.0, "audit-20": 0.2}  # Thresher with other shares of random labels
METHODS = (THRESHER, *RULES)
CLEAN_RATE = 0.05  # the default of `ActiveClassifier`


@dataclass(frozen=True)
class PoolRun:
    """One method on one pool, up to the largest budget."""

    table: str
    seed: int
    attack: str
    fraction: float
    method: str

    @property
    def run(self) -> str:
        """The identity of the run in the file of records."""
        return f"{self.table}/{self.seed}/{self.attack}/{self.fraction:g}/{self.method}"


def measure(run: PoolRun, data_dir: str) -> Record:
    """The record of a run; any exception is its outcome."""
    try:
        split, start = split_of(run, data_dir), time.process_time()
        outcome: Record = {}
        with warnings.catch_warnings(action="ignore"):
            for state in _states(run, split):
                outcome |= _measured(state, split)
        outcome |= {"cpu_seconds": time.process_time() - start, "n_pool": len(split.y)}
        return record_of(run, "finished", **outcome, source=source_digest(POOLS))
    except Exception as error:
        return record_of(run, "failed", f"{type(error).__name__}: {error}")


def split_of(run: PoolRun, data_dir: str) -> PoisonedSplit:
    """The pool of a run, poisoned if it is under attack, and rows to test on."""
    table = load_table(data_dir, run.table)
    attack, strength = ATTACKS.get(run.attack, (None, None))
    split = poisoned_split(
        table.X,
        np.asarray(table.y),
        attack=attack,
        fraction=run.fraction,
        strength=strength,
        seed=run.seed,
    )
    return _flooded(split, run) if run.attack == FLOOD else split


def _flooded(split: PoisonedSplit, run: PoolRun) -> PoisonedSplit:
    """Wrong labels for a share of the rows, among them every other one of the first questions."""
    n_rows, first = len(split.y), first_rows(split, run.fraction, run.seed)
    others = np.random.default_rng(run.seed).permutation(np.setdiff1d(np.arange(n_rows), first))
    owned = [*first[::2], *others][: round(run.fraction * n_rows)]
    wrong = np.isin(np.arange(n_rows), owned)
    low, high = np.unique(split.y)
    return replace(split, y=np.where(wrong, low + high - split.y, split.y), is_planted=wrong)


def _states(run: PoolRun, split: PoisonedSplit) -> Iterator[State]:
    budgets = [b for b in TABLES.get(run.table, (BUDGETS,))[0] if b < 0.9 * len(split.y)]
    noise_rate = CLEAN_RATE if run.attack == NO_ADVERSARY else run.fraction
    if run.method in (THRESHER, *AUDITS):
        share = AUDITS.get(run.method)
        return thresher_states(split, noise_rate, run.seed, budgets, audit_fraction=share)
    first = first_rows(split, noise_rate, run.seed)
    return {**RULES, **PEER_RULES}[run.method].states(split, first, run.seed, budgets)


def _measured(state: State, split: PoisonedSplit) -> Record:
    found = {f"error_{state.n_labels}": float(np.mean(state.predicted != split.y_test))}
    if state.estimate is not None:
        for name, value in zip(("estimate", "low", "high"), state.estimate):
            found[f"{name}_{state.n_labels}"] = value
    return found


def runs_of(options: argparse.Namespace) -> Iterator[PoolRun]:
    """The runs that are asked for, those of one split after each other."""
    for name in options.tables:
        seeds = options.seeds or TABLES.get(name, (BUDGETS, range(10)))[1]
        for seed, attack, method in product(seeds, options.attacks, options.methods):
            fraction = 0.0 if attack == NO_ADVERSARY else options.fraction
            yield PoolRun(name, seed, attack, fraction, method)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure what is missing; 0, or 130 if it was interrupted."""
    options = _parser().parse_args(argv)
    with RecordFile(options.out) as file:
        return run_study(
            file, runs_of(options), options, seconds=options.time_limit, measure=measure
        )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.pools",
        description="Buy labels of every pool of the study with every method.",
        epilog="example: python -m benchmarks.pools --data-dir DIR --out pools.jsonl --seeds 0-2",
    )
    add: Any = parser.add_argument
    add("--data-dir", required=True, help="folder of the tables")
    add("--out", type=Path, default=Path("pools.jsonl"), help="file of records")
    add("--tables", nargs="+", default=list(TABLES), metavar="NAME")
    add("--attacks", nargs="+", default=[NO_ADVERSARY, *ATTACKS], choices=[NO_ADVERSARY, *ATTACKS])
    add("--fraction", type=float, default=0.1, help="share of planted rows (default: 0.1)")
    add("--methods", nargs="+", default=list(METHODS), choices=[*METHODS, *PEER_RULES, *AUDITS])
    add("--seeds", type=parse_seeds, help="of the splits, like 5 or 1000-1003")
    add("--jobs", type=int, default=2, help="processes (default: 2)")
    add("--retry", action="store_true", help="repeat runs that did not finish")
    add("--time-limit", type=float, default=3600.0, metavar="SECONDS")
    return parser


if __name__ == "__main__":
    from benchmarks import pools  # by its name: the processes must find what they call

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # stops it as Ctrl-C does
    sys.exit(pools.main())
