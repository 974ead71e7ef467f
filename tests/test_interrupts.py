"""Ctrl-C is answered while a solve is under way."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

PREPARE = """
import numpy as np
from thresher.outliers import remove_outliers
from thresher.solvers import worst_direction, worst_direction_of_rows
rng = np.random.default_rng(0)
"""
SOLVE = """
print("ready", flush=True)
try:
    while True:
        {job}
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
RADII = "l2_radius=1.0, l1_radius=3.2"


def seconds_to_answer(setup: str, job: str, *, delay: float) -> float:
    """Seconds from an interrupt, sent some time into the job, to the process's answer."""
    source = PREPARE + setup + SOLVE.format(job=job)
    with subprocess.Popen(
        [sys.executable, "-c", source], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline().strip() == "ready"
            time.sleep(delay)
            sent = time.perf_counter()
            process.send_signal(signal.SIGINT)
            assert process.stdout.readline().strip() == "interrupted"
            return time.perf_counter() - sent
        finally:
            process.kill()


def run_ignoring_interrupts(source: str) -> subprocess.CompletedProcess[str]:
    """A Python process that ignores interrupts from its start, like a background job of a shell."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        return subprocess.run(
            [sys.executable, "-c", source],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            timeout=60,
        )
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_suite_in_the_background_and_its_children_take_interrupts() -> None:
    child = [sys.executable, "-c", "import signal; print(signal.getsignal(signal.SIGINT).__name__)"]
    told = run_ignoring_interrupts(f"import conftest, subprocess; subprocess.run({child})")
    assert (told.stdout, told.stderr) == ("default_int_handler\n", "")


def test_a_process_that_ignores_interrupts_is_noticed() -> None:
    with pytest.raises(AssertionError):
        seconds_to_answer(
            "import signal; signal.signal(signal.SIGINT, lambda *_: print('no', flush=True))",
            "sum(range(1000))",
            delay=0.1,
        )


@pytest.mark.parametrize(
    "job",
    [
        f"remove_outliers(X, {RADII}, outlier_fraction=0.05, tolerance=1e-3)",
        f"worst_direction_of_rows(X, {RADII}, tolerance=1e-6)",
    ],
)
def test_an_interrupt_of_a_small_solve_is_answered(job: str) -> None:
    seconds = seconds_to_answer("X = rng.standard_normal((500, 100))", job, delay=0.3)
    assert seconds < 5  # generous: the point is that it is answered at all


LARGE = "X = rng.standard_normal((8000, 1000))"
WIDE = "X = rng.standard_normal((4000, 2000)); A = X.T @ X / 4000"


@pytest.mark.slow
@pytest.mark.parametrize("delay", [0.2, 1.0, 3.0])
@pytest.mark.parametrize(
    ("setup", "job"),
    [
        (LARGE, f"remove_outliers(X, {RADII}, outlier_fraction=0.05)"),
        (LARGE, f"worst_direction_of_rows(X, {RADII})"),
        (WIDE, f"worst_direction(A, {RADII}, tolerance=1e-4)"),
    ],
    ids=["remove_outliers", "worst_direction_of_rows", "worst_direction"],
)
def test_an_interrupt_of_a_large_solve_is_answered_within_a_second(
    setup: str, job: str, delay: float
) -> None:
    assert seconds_to_answer(setup, job, delay=delay) < 1
