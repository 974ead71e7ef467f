"""Rivals that wrap a classifier, on clean tables: what the wrapping costs.

    python -m benchmarks.rivals_on_clean_tables --data-dir DIR

Error minus that of the base classifier, pooled over the splits, and the largest ratio of CPU times
on one split. 70 % of the rows are learned from. Larger tables are cut to 2,000 rows, drawn once.
The exit status is 1 if a rival exceeds a bar.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from thresher.errors import UnreadableTable
from thresher.experiments.spec import CLEAN_RATE
from thresher.experiments.table_run import fit_quietly, load_table, make_learner
from thresher.rivals.classifiers import CLASSIFIERS
from thresher.simulate.poisoning import PoisonedSplit, poisoned_split

BASES = {
    name: "linear-svm" if name.endswith("linear-svm") else "l1-logistic"
    for name in CLASSIFIERS
    if name.startswith(("trimmed-loss", "sever", "norm-filter"))
}
MAX_POINTS, MAX_RATIO = 3.0, 100.0
CLOCK_STEP = 0.01  # CPU times below this are rounding


@dataclass(frozen=True)
class Cost:
    """What wrapping a classifier costs on one table."""

    table: str
    method: str
    base_error: float
    error: float
    time_ratio: float

    @property
    def points(self) -> float:
        """The error in points above that of the base classifier."""
        return 100 * (self.error - self.base_error)

    @property
    def holds(self) -> bool:
        """Whether both bars are kept."""
        return self.points <= MAX_POINTS and self.time_ratio <= MAX_RATIO


def splits_of(data_dir: str, table: str, max_rows: int, n_splits: int) -> list[PoisonedSplit]:
    """The splits of a table's rows, or of a sample of them."""
    loaded = load_table(data_dir, table)
    labels = np.asarray(loaded.y)
    rows = np.random.default_rng(0).permutation(len(labels))[:max_rows]
    return [
        poisoned_split(
            loaded.X[rows], labels[rows], attack=None, fraction=0.0, strength=None, seed=seed
        )
        for seed in range(n_splits)
    ]


def costs(splits: list[PoisonedSplit], table: str, noise_rate: float) -> Iterator[Cost]:
    """The cost of each rival on these splits."""

    @cache
    def fitted(method: str) -> list[tuple[float, float]]:
        outcomes = []
        for seed, split in enumerate(splits):
            model = make_learner(method, noise_rate, seed)
            seconds = fit_quietly(model, split)
            outcomes.append((float(1 - model.score(split.X_test, split.y_test)), seconds))
        return outcomes

    for method, base in BASES.items():
        ours, theirs = fitted(method), fitted(base)
        yield Cost(
            table,
            method,
            base_error=float(np.mean([error for error, _ in theirs])),
            error=float(np.mean([error for error, _ in ours])),
            time_ratio=max(s / max(t, CLOCK_STEP) for (_, s), (_, t) in zip(ours, theirs)),
        )


def main(argv: Sequence[str] | None = None) -> int:
    """Print the costs of every rival on every table; 0 if all bars are kept, else 1."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rivals_on_clean_tables")
    parser.add_argument("--data-dir", required=True, help="folder of the tables")
    parser.add_argument("--tables", nargs="+", metavar="NAME", help="default: all in the folder")
    parser.add_argument("--noise-rate", type=float, default=CLEAN_RATE)
    parser.add_argument("--max-rows", type=int, default=2000)
    parser.add_argument("--splits", type=int, default=5)
    options = parser.parse_args(argv)
    names = options.tables or sorted(path.stem for path in Path(options.data_dir).glob("*.npz"))
    is_kept = True
    print(f"{'table':20} {'method':24} {'base':>7} {'error':>7} {'points':>7} {'time':>6}")
    for name in names:
        try:
            splits = splits_of(options.data_dir, name, options.max_rows, options.splits)
        except UnreadableTable as error:
            print(f"skipped: {error}", file=sys.stderr)
            continue
        for cost in costs(splits, name, options.noise_rate):
            is_kept &= cost.holds
            print(
                f"{name:20} {cost.method:24} {cost.base_error:7.2%} {cost.error:7.2%} "
                f"{cost.points:+7.2f} {cost.time_ratio:5.1f}x{'' if cost.holds else '  exceeded'}",
                flush=True,
            )
    return 0 if is_kept else 1


if __name__ == "__main__":
    sys.exit(main())
