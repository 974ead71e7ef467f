"""How long Ctrl-C waits for an answer while a large problem is being solved."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.direction import gram_matrix
from benchmarks.ratio import Ratio
from benchmarks.removal import SETTING, planted_rows
from thresher.outliers import remove_outliers
from thresher.solvers import minimize_hinge, worst_direction

BOUND_SECONDS = 1.0
LONGEST = 8.0  # seconds into a long solve at which the last interrupt is sent
MOMENTS = (0.03, 0.15, 0.3, 0.45, 0.6, 0.75, 0.9)  # of the solve, or of LONGEST
PATIENCE = 120.0  # seconds after which a process that does not answer is ended
READY = "ready"
INTERRUPTED = 130


def measure() -> list[Ratio]:
    """The ratios of bar B6: the worst answer to an interrupt, in seconds, for each large solve."""
    return [_worst_answer(name) for name in JOBS]


def _worst_answer(name: str) -> Ratio:
    duration, answer = _interrupt(name, LONGEST)
    answers = [] if answer is None else [(answer, duration)]
    for moment in MOMENTS:
        ran, answer = _interrupt(name, moment * duration)
        if answer is None:
            duration = min(ran, duration)  # it was faster this time: later moments come sooner
        else:
            answers.append((answer, ran))
    worst, when = max(answers, default=(float("nan"), float("nan")))
    note = f"{len(answers)} interrupts, the worst {when:.2g} s into {duration:.2g} s"
    return Ratio("B6", f"seconds to answer Ctrl-C, {name}", worst, BOUND_SECONDS, 1.0, note=note)


def _interrupt(name: str, delay: float) -> tuple[float, float | None]:
    """Seconds the solve had run, and seconds until the interrupted process was gone.

    None if the solve was over before the interrupt could be sent, infinity if it took no notice.
    """
    command = [sys.executable, "-m", "benchmarks.interrupts", name]
    root = Path(__file__).parents[1]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        if process.stdout.readline().strip() != READY:
            raise RuntimeError(f"the process that was to solve {name} did not start")
        start = time.perf_counter()
        try:
            process.wait(timeout=delay)
            return time.perf_counter() - start, None
        except subprocess.TimeoutExpired:
            sent = time.perf_counter()
            process.send_signal(signal.SIGINT)
        code = _code_within(process, PATIENCE)
        answer = time.perf_counter() - sent
    if code == 0:
        return sent - start, None
    return sent - start, answer if code == INTERRUPTED else float("inf")


def _code_within(process: subprocess.Popen[str], seconds: float) -> int:
    try:
        return process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


# -- the process that is interrupted ---------------------------------------------------------


def _removal(n_rows: int, n_features: int) -> Callable[[], object]:
    rows, _ = planted_rows(n_rows, n_features)
    return lambda: remove_outliers(rows, **SETTING)


def _direction(n_features: int) -> Callable[[], object]:
    gram, l1_radius = gram_matrix("noise", n_features)
    return lambda: worst_direction(gram, l2_radius=1.0, l1_radius=l1_radius, tolerance=1e-4)


def _hinge(n_rows: int, n_features: int) -> Callable[[], object]:
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((n_rows, n_features))
    labels = np.where(rows[:, :20].sum(axis=1) + rng.standard_normal(n_rows) >= 0, 1.0, -1.0)
    region: dict[str, Any] = {"l2_radius": 1.0, "l1_radius": 20**0.5, "hinge_scale": 0.25}
    return lambda: minimize_hinge(rows, labels, center=np.zeros(n_features), **region)


JOBS: dict[str, Callable[[], Callable[[], object]]] = {
    "removal, n = 8000, d = 1000": lambda: _removal(8_000, 1_000),
    "removal, n = 10000, d = 2000": lambda: _removal(10_000, 2_000),
    "worst direction, d = 1000": lambda: _direction(1_000),
    "worst direction, d = 2000": lambda: _direction(2_000),
    "hinge, m = 2000, d = 1000": lambda: _hinge(2_000, 1_000),
}


def _be_interrupted(name: str) -> int:
    # A parent that ignores interrupts would hand that down.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    solve = JOBS[name]()
    try:
        print(READY, flush=True)
        solve()
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # too late to be an answer
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


if __name__ == "__main__":
    sys.exit(_be_interrupted(sys.argv[1]))
