"""Labeling sessions: how soon an answer is saved, the next row is shown, and a session starts.

    python -m benchmarks.label_sessions [--rows 1000000] [--labels 100]

A Parquet file of that many rows and 50 columns of single precision is written first. The time of an
answer is compared with that of a bare append and fsync on the same disk, in the same run. Answers
come every 0.3 s, so that refits run beside them.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from thresher.table_files.arrow_cells import arrow

N_COLUMNS = 50
START_SECONDS, START_GIGABYTES, NEXT_SECONDS = 20.0, 1.0, 0.1
SAVE_SECONDS, SYNC_SECONDS = 0.015, 0.004  # an answer, where a bare sync takes this long
PAUSE = 0.3


def write_pool(path: Path, n_rows: int) -> None:
    """Gaussian rows in row groups of 100,000."""
    pa = arrow()
    rng = np.random.default_rng(0)
    names = [f"x{j}" for j in range(N_COLUMNS)]
    schema = pa.schema([(name, pa.float32()) for name in names])
    with arrow("parquet").ParquetWriter(path, schema) as file:
        for start in range(0, n_rows, 100_000):
            n_group = min(100_000, n_rows - start)
            rows = rng.standard_normal((n_group, N_COLUMNS), dtype=np.float32)
            file.write_table(pa.table(dict(zip(names, rows.T)), schema=schema))


def sync_seconds(folder: Path, n_times: int = 50) -> float:
    """The median time of a short append with fsync."""
    times = []
    with (folder / "bare").open("ab", buffering=0) as file:
        for _ in range(n_times):
            start = time.perf_counter()
            file.write(b"x" * 200)
            os.fsync(file.fileno())
            times.append(time.perf_counter() - start)
    return statistics.median(times)


def measure(folder: Path, n_rows: int, n_labels: int) -> dict[str, float]:
    """Seconds of each step, and the most memory taken in GB."""
    from thresher import LabelSession

    path, found = folder / "pool.parquet", {"sync": sync_seconds(folder)}
    if os.fork() == 0:  # so that its memory is not counted
        write_pool(path, n_rows)
        os._exit(0)
    os.wait()
    start = time.perf_counter()
    saved, shown = [], []
    with LabelSession.create(folder / "s", path, classes=["no", "yes"], random_state=0) as session:
        session.next_question("ann")
        found["start"] = time.perf_counter() - start
        found["gigabytes"] = 1024e-9 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(n_labels):
            start = time.perf_counter()
            question = session.next_question("ann")
            shown.append(time.perf_counter() - start)
            assert question is not None
            time.sleep(PAUSE)
            label = "yes" if question.values["x0"] + question.values["x1"] > 0 else "no"
            start = time.perf_counter()
            session.vote("ann", question.row_id, label)
            saved.append(time.perf_counter() - start)
    return {**found, "saved": statistics.median(saved), "shown": max(shown)}


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print; 0 if every bar is kept."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--labels", type=int, default=100)
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        found = measure(Path(folder), options.rows, options.labels)
    most_saved = SAVE_SECONDS * max(1.0, found["sync"] / SYNC_SECONDS)
    bars = (
        ("start, with imports done", found["start"], START_SECONDS, "s"),
        ("memory", found["gigabytes"], START_GIGABYTES, "GB"),
        (f"saved, median (bare sync {found['sync']:.4f} s)", found["saved"], most_saved, "s"),
        ("next row shown, slowest", found["shown"], NEXT_SECONDS, "s"),
    )
    for name, value, most, unit in bars:
        print(f"{name:45} {value:8.4f} {unit}  (at most {most:g} {unit})")
    return 0 if all(value <= most for _, value, most, _ in bars) else 1


if __name__ == "__main__":
    sys.exit(main())
