"""Whether the error estimate of `ActiveClassifier` holds at the moment when it stops.

    python -m benchmarks.pool_stops --data-dir DIR --out stops.jsonl

200 runs on clean pools and 200 with 5 % planted rows. Those on spambase stop when a target error is
met or 300 labels are spent, those on mdrr when predictions no longer change. The test error should
lie in the interval of `error_estimate_` in at least 90 %. What the file has is not measured again.
"""

from __future__ import annotations

import argparse
import math
import signal
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.harm import Record, record_of, run_study
from benchmarks.harm_bars import Bar, shown
from benchmarks.pools import PoolRun, split_of
from thresher import ActiveClassifier
from thresher.experiments.arena.run import RecordFile, latest_records, read_records
from thresher.experiments.sources import POOLS, source_digest
from thresher.experiments.spec import NO_ADVERSARY, THRESHER, parse_seeds
from thresher.labeling.judging import exact_interval
from thresher.simulate.poisoning import PoisonedSplit

# By table the target error and the budget; without both, predictions must no longer change.
TARGETS: dict[str, tuple[float | None, int | None]] = {"spambase": (0.3, 300), "mdrr": (None, None)}
SEEDS = {
    "spambase": range(200, 360),
    "mdrr": range(200, 240),
}  # runs until nothing changes take far longer
ATTACKS = ("far-clump", "on-support-tilt", "linf-hijack", "flips", "query-following")  # in turn
NOISE_RATE = 0.05
LEAST_COVERAGE = 90.0  # percent
N_RUNS = 200  # clean, and as many poisoned: with fewer, nothing is said about the bar
WIDEST = 1.25  # times Clopper and Pearson's interval


@dataclass(frozen=True)
class StopRun(PoolRun):
    """One run of `ActiveClassifier` until it stops."""


def measure(run: StopRun, data_dir: str) -> Record:
    """The record of a run; any exception is its outcome."""
    try:
        split = split_of(run, data_dir)
        with warnings.catch_warnings(action="ignore"):
            return record_of(run, "finished", **_outcome(run, split), source=source_digest(POOLS))
    except Exception as error:
        return record_of(run, "failed", f"{type(error).__name__}: {error}")


def _outcome(run: StopRun, split: PoisonedSplit) -> Record:
    target, budget = TARGETS[run.table]
    learner = ActiveClassifier(
        split.X,
        noise_rate=NOISE_RATE,
        target_error=target,
        label_budget=budget,
        random_state=run.seed,
    )
    while (question := learner.ask()) is not None:
        learner.tell(split.y[question.ids])
    estimate, low, high = learner.error_estimate_
    return {
        "error": float(np.mean(learner.predict(split.X_test) != split.y_test)),
        "estimate": estimate,
        "low": low,
        "high": high,
        "n_random": len(learner._transcript.labeled_at_random()),
        "n_labels": learner.n_labels_,
        "reason": learner.stop_reason_,
    }


def runs_of(seeds: Sequence[int] | None) -> Iterator[StopRun]:
    """Every table, clean and under the attacks in turn."""
    for table in TARGETS:
        for seed in SEEDS[table] if seeds is None else seeds:
            yield StopRun(table, seed, NO_ADVERSARY, 0.0, THRESHER)
            yield StopRun(table, seed, ATTACKS[seed % len(ATTACKS)], NOISE_RATE, THRESHER)


def finished_stops(path: str | Path) -> pd.DataFrame:
    """The runs of a file that came to an end, one line each."""
    records = latest_records(read_records(path)).values()
    done = [record for record in records if record["status"] == "finished"]
    return pd.DataFrame([{"source": "", **record} for record in done])


def bars_of(frame: pd.DataFrame) -> list[Bar]:
    """How often the interval misses the test error, and how wide it is."""
    bars = []
    for is_clean, group in frame.groupby(frame["attack"] == NO_ADVERSARY):
        pool = "clean" if is_clean else "5 % planted"
        misses = 100 * (1 - float(group["error"].between(group["low"], group["high"]).mean()))
        said = f"{pool}: intervals that miss the test error, % of {len(group)} runs"
        limit = 100 - LEAST_COVERAGE if len(group) >= N_RUNS else math.nan
        bars.append(Bar("L3", "all", said, misses, limit))
        widths = [_relative_width(run) for _, run in group.iterrows()]
        said = f"{pool}: width of the interval, times Clopper and Pearson's, largest"
        bars.append(Bar("L3", "all", said, max(widths), WIDEST))
    return bars


def _relative_width(run: pd.Series) -> float:
    exact = exact_interval(round(run["estimate"] * run["n_random"]), int(run["n_random"]))
    return float((run["high"] - run["low"]) / (exact.high - exact.low))


def main(argv: Sequence[str] | None = None) -> int:
    """Measure what is missing and print the bars; 0, 1 if one is missed, 130 if interrupted."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.pool_stops",
        description="Count how often the error estimate holds when questions end.",
        epilog="example: python -m benchmarks.pool_stops --data-dir DIR --out stops.jsonl",
    )
    parser.add_argument("--data-dir", required=True, help="folder of the tables")
    parser.add_argument("--out", type=Path, default=Path("stops.jsonl"), help="file of records")
    parser.add_argument("--seeds", type=parse_seeds, help="of the splits, like 5 or 1000-1003")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default: 2)")
    parser.add_argument("--retry", action="store_true", help="repeat runs that did not finish")
    options = parser.parse_args(argv)
    with RecordFile(options.out) as file:
        code = run_study(file, runs_of(options.seeds), options, measure=measure)
    bars = bars_of(finished_stops(options.out))
    print(shown(bars))
    return code or int(not all(bar.holds for bar in bars if bar.is_measured))


if __name__ == "__main__":
    from benchmarks import pool_stops  # by its name: the processes must find what they call

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # stops it as Ctrl-C does
    sys.exit(pool_stops.main())
