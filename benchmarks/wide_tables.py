"""What a cross-validated fit of a wide table costs: CPU time and memory.

    python -m benchmarks.wide_tables --data-dir DIR

Each fit is to 70 % of a clean table, in a process of its own. CPU time is compared with that of L1
logistic regression with its own cross-validation; the largest size of the process with 300 MB and
three times the table (float64, or CSR if it is sparse).
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks.harm_tables import split_of
from thresher.experiments.spec import CLEAN_RATE, NO_ADVERSARY, THRESHER
from thresher.experiments.table_run import fit_quietly, make_learner
from thresher.validation import is_sparse

WIDE = ("reuters_earn_v_acq", "movie_reviews", "rcv1_small", "microarray_singh")
RIVAL = "l1-logistic"
MOST_TIMES = 10.0
MEGABYTES, TABLES = 300.0, 3.0  # memory limit: a constant, plus this many times the table


@dataclass(frozen=True)
class Cost:
    """CPU seconds of a fit, the largest size of its process and the size of the table in MB."""

    seconds: float
    peak: float
    table: float

    @property
    def limit(self) -> float:
        """The megabytes that the process may take."""
        return MEGABYTES + TABLES * self.table


def cost_of(data_dir: str, table: str, method: str) -> Cost:
    """The cost of one fit; the peak is that of the process, from its start on."""
    with threadpool_limits(1):
        split = split_of(data_dir, table, 0, NO_ADVERSARY, None)
        seconds = fit_quietly(make_learner(method, CLEAN_RATE, 0), split)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    return Cost(seconds, peak, megabytes_of(split.X))


def megabytes_of(rows: Any) -> float:
    """The size of a table of float64, dense or CSR with short indices.

    Examples
    --------
    >>> import numpy as np
    >>> megabytes_of(np.ones((1000, 5), dtype=np.float32))
    0.04
    """
    if is_sparse(rows):
        return float(12 * rows.nnz + 4 * (rows.shape[0] + 1)) / 1e6
    return float(8 * rows.shape[0] * rows.shape[1]) / 1e6


def in_a_process(data_dir: str, table: str, method: str) -> Cost:
    """The cost of one fit in a process of its own."""
    os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(cost_of, (data_dir, table, method))


def main(argv: Sequence[str] | None = None) -> int:
    """Print the costs; 0 if all keep their limits, else 1."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.wide_tables",
        description="CPU time and memory of a cross-validated fit of wide tables.",
        epilog="example: python -m benchmarks.wide_tables --data-dir DIR --tables rcv1_small",
    )
    parser.add_argument("--data-dir", required=True, help="folder of the tables")
    parser.add_argument("--tables", nargs="+", default=list(WIDE), metavar="NAME")
    options = parser.parse_args(argv)
    print(f"{'table':20} {'CPU':>8} {'L1':>8} {'ratio':>6} {'peak':>8} {'limit':>8}  kept")
    are_kept = []
    for table in options.tables:
        ours, theirs = (in_a_process(options.data_dir, table, name) for name in (THRESHER, RIVAL))
        ratio = ours.seconds / theirs.seconds
        are_kept.append(ratio <= MOST_TIMES and ours.peak <= ours.limit)
        times = f"{ours.seconds:7.2f}s {theirs.seconds:7.2f}s {ratio:6.1f}"
        sizes = f"{ours.peak:5.0f} MB {ours.limit:5.0f} MB"
        print(f"{table:20} {times} {sizes}  {'yes' if are_kept[-1] else 'NO'}", flush=True)
    return 0 if all(are_kept) else 1


if __name__ == "__main__":
    from benchmarks import wide_tables  # by its name: the processes must find what they call

    sys.exit(wide_tables.main())
