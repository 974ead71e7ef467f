"""How long `ActiveClassifier` takes to the first question, and between questions.

    python -m benchmarks.pool_speed --data-dir DIR

The pool is 70 % of a table, clean, with a batch of 10 and 300 labels. The time of a batch begins
with the answers to one question and ends when the next one is there.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.pools import PoolRun, split_of
from thresher import ActiveClassifier
from thresher.experiments.spec import NO_ADVERSARY, THRESHER

FIRST = 15.0  # seconds to the first question
BATCH = {"mnist_1v7": 1.0, "reuters_earn_v_acq": 2.0}  # seconds between questions, by table
N_LABELS = 300


@dataclass(frozen=True)
class Waiting:
    """Seconds to the first question, and between questions."""

    first: float
    batches: list[float]

    def is_short(self, limit: float) -> bool:
        """Whether neither the first question nor any later one takes too long."""
        return self.first <= FIRST and max(self.batches) <= limit


def measure(data_dir: str, table: str, n_labels: int) -> Waiting:
    """The times of one run."""
    split = split_of(PoolRun(table, 0, NO_ADVERSARY, 0.0, THRESHER), data_dir)
    start = time.perf_counter()
    learner = ActiveClassifier(split.X, label_budget=n_labels, random_state=0)
    question = learner.ask()
    first, batches = time.perf_counter() - start, []
    with warnings.catch_warnings(action="ignore"):
        while question is not None:
            answers, start = split.y[question.ids], time.perf_counter()
            learner.tell(answers)
            question = learner.ask()
            batches.append(time.perf_counter() - start)
    return Waiting(first, batches)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the times; 0 if all are short enough, else 1."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.pool_speed",
        description="Seconds to the first question about a pool, and between questions.",
        epilog="example: python -m benchmarks.pool_speed --data-dir DIR --tables mnist_1v7",
    )
    parser.add_argument("--data-dir", required=True, help="folder of the tables")
    parser.add_argument("--tables", nargs="+", default=list(BATCH), choices=list(BATCH))
    parser.add_argument("--labels", type=int, default=N_LABELS, help="labels to buy (default: 300)")
    options = parser.parse_args(argv)
    print(f"{'pool':20} {'first':>8} {'median':>8} {'longest':>8} {'limit':>8}  kept")
    are_short = []
    for table in options.tables:
        found, limit = measure(options.data_dir, table, options.labels), BATCH[table]
        are_short.append(found.is_short(limit))
        times = (found.first, float(np.median(found.batches)), max(found.batches), limit)
        shown = " ".join(f"{seconds:7.2f}s" for seconds in times)
        print(f"{table:20} {shown}  {'yes' if are_short[-1] else 'NO'}")
    return 0 if all(are_short) else 1


if __name__ == "__main__":
    sys.exit(main())
