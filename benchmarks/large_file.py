"""A large CSV file on the command line: memory, progress, and how soon Ctrl-C is answered.

    python -m benchmarks.large_file [--rows 100000] [--features 200]

`thresher learn` runs in a terminal of its own (a pseudo-terminal), so that it shows its bar.
"""

from __future__ import annotations

import argparse
import os
import pty
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

MOST_MEMORY, MOST_SECONDS = 4.0, 2.0  # times the file; until an interrupt is answered
INTERRUPTS = (2.0, 12.0, 40.0)  # seconds after the start: reading, the first fit, a fold


@dataclass(frozen=True)
class Run:
    """How a process in a terminal went."""

    code: int
    seconds: float
    longest_silence: float
    max_bytes: int
    answer_seconds: float


def write_table(path: Path, n_rows: int, n_features: int) -> None:
    """Gaussian rows, a sparse halfspace with some noise, and 5 % planted rows."""
    rng = np.random.default_rng(0)
    target = np.zeros(n_features)
    target[:10] = rng.standard_normal(10)
    with path.open("w", encoding="utf-8") as file:
        file.write(",".join(f"x{j}" for j in range(n_features)) + ",label\n")
        for start in range(0, n_rows, 1000):
            rows = rng.standard_normal((min(1000, n_rows - start), n_features))
            noise = 0.3 * rng.standard_normal(len(rows))
            labels = np.where(rows @ target + noise > 0, "yes", "no")
            is_planted = rng.random(len(rows)) < 0.05
            rows[is_planted], labels[is_planted] = 4 * target, "no"
            for row, label in zip(rows.tolist(), labels.tolist()):
                file.write(",".join(f"{value:.7f}" for value in row) + f",{label}\n")


def run_in_terminal(command: Sequence[str], interrupt_after: float | None = None) -> Run:
    """Run a command in a pseudo-terminal, and interrupt it after so many seconds if asked."""
    process, terminal = pty.fork()
    if process == 0:
        os.execv(command[0], list(command))
    start = last = time.monotonic()
    silence, interrupted = 0.0, None
    while True:
        try:
            told = os.read(terminal, 65536)
        except OSError:  # the other end is closed
            break
        if not told:
            break
        now = time.monotonic()
        silence, last = max(silence, now - last), now
        if interrupt_after is not None and interrupted is None and now - start > interrupt_after:
            os.kill(process, signal.SIGINT)
            interrupted = time.monotonic()
    _, status, usage = os.wait4(process, 0)
    end = time.monotonic()
    return Run(
        code=os.waitstatus_to_exitcode(status),
        seconds=end - start,
        longest_silence=silence,
        max_bytes=1024 * usage.ru_maxrss,
        answer_seconds=0.0 if interrupted is None else end - interrupted,
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Write the file, learn from it, interrupt that a few times, and print what was measured."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.large_file")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--features", type=int, default=200)
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        table, model = Path(folder, "large.csv"), Path(folder, "model.json")
        write_table(table, options.rows, options.features)
        thresher = str(Path(sys.executable).with_name("thresher"))
        command = [thresher, "learn", str(table), "--out", str(model)]
        whole, size = run_in_terminal(command), table.stat().st_size
        ratio = whole.max_bytes / size
        print(f"file {size / 1e6:.0f} MB, exit code {whole.code}, {whole.seconds:.0f} s")
        print(f"memory {whole.max_bytes / 1e6:.0f} MB: {ratio:.2f} x the file (at most 4)")
        print(f"longest time without a sign of progress: {whole.longest_silence:.1f} s")
        holds = whole.code == 0 and ratio <= MOST_MEMORY
        model.unlink(missing_ok=True)
        for seconds in INTERRUPTS:
            run = run_in_terminal(command, interrupt_after=seconds)
            written = sorted(path.name for path in Path(folder).iterdir())
            print(
                f"Ctrl-C after {seconds:.0f} s: answered in {run.answer_seconds:.2f} s (at most 2),"
                f" exit code {run.code}, files {written}"
            )
            holds &= run.answer_seconds <= MOST_SECONDS and written == ["large.csv"]
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
