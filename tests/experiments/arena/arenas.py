"""Tiny sweeps, and what their records have in common, for the tests of the arena."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from thresher.experiments import SimulationSpec
from thresher.experiments.arena import Run, Sweep

QUICK = {"min_unlabeled": 200, "max_unlabeled": 400}
SMALL = SimulationSpec(n_features=20, sparsity=2, label_budget=40, schedule=QUICK)
# A run of many seconds; nobody waits for its end.
ENDLESS = SimulationSpec(
    n_features=1000, sparsity=10, schedule={"min_unlabeled": 20_000, "loss_tolerance": 1e-9}
)
WORLD = """
[[worlds]]
n_features = 20
sparsity = 2
label_budget = 40
"""
LEARNER = """
[[learners]]
name = "quick"
schedule = { min_unlabeled = 200, max_unlabeled = 400 }
"""


def tiny(seeds: str = "0-3", *, top: str = "", blocks: str = "") -> Sweep:
    """A sweep whose runs take a fraction of a second each."""
    return Sweep.from_text(f'seeds = "{seeds}"\n{top}\n{WORLD}{LEARNER}{blocks}', name="tiny")


def task(seed: int = 0, spec: SimulationSpec = SMALL) -> dict[str, Any]:
    """What a process gets to run."""
    return Run("quick", spec, seed).as_record()


def run_inline(tasks: Iterable[dict[str, Any]], *_: object, **__: object) -> Iterator[Any]:
    """In place of `processes.run_here`, where it does not matter which process does the work."""
    for each in tasks:
        yield Run.from_record(each).execute(each.get("data_dir"))


def timeless(records: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The records by run, without what no two runs share."""
    stripped = [{k: v for k, v in record.items() if k != "seconds"} for record in records]
    return sorted(stripped, key=lambda record: record["run"])


def workers(of: int | None = None) -> list[psutil.Process]:
    """The arena's processes below one of ours."""
    found = []
    for process in psutil.Process(of).children(recursive=True):
        try:
            if any("multiprocessing.spawn" in word for word in process.cmdline()):
                found.append(process)
        except psutil.Error:  # it ended while we looked
            continue
    return found


# A runner in a process of its own: it says when each record is on the disk.
RUNNER = """
import sys
from thresher.experiments.arena import Sweep, run_sweep

if __name__ == "__main__":
    text, folder, n_jobs = sys.argv[1:]
    run_sweep(
        Sweep.from_text(text, name="tiny"),
        folder,
        n_jobs=int(n_jobs),
        observe=lambda record, n_to_come: print(n_to_come, flush=True),
    )
"""


@contextmanager
def runner(sweep: Sweep, folder: Path, n_jobs: int = 2) -> Iterator[subprocess.Popen[str]]:
    """Another process that runs the sweep; killed in the end if it is still there."""
    with subprocess.Popen(
        [sys.executable, "-c", RUNNER, sweep.text, str(folder), str(n_jobs)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    ) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGKILL)


def wait_for_records(process: subprocess.Popen[str], n_records: int) -> list[int]:
    """Wait until the runner has announced itself and so many records; what it said is left."""
    assert process.stdout is not None
    return [int(process.stdout.readline()) for _ in range(n_records + 1)]


def hook(folder: Path, body: str) -> str:
    """A folder for PYTHONPATH that makes every new Python process wrap `run_simulation`.

    The body may use `spec`, `seed`, `os`, `signal`, `sys` and `time`, and goes on to the real run.
    """
    folder.mkdir()
    lines = "\n".join(f"    {line}" for line in body.strip().splitlines())
    (folder / "sitecustomize.py").write_text(
        "import os, signal, sys, time\n"
        "from thresher.experiments import simulation\n"
        "real = simulation.run_simulation\n"
        f"def run_simulation(spec, seed):\n{lines}\n    return real(spec, seed)\n"
        "simulation.run_simulation = run_simulation\n"
    )
    return os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
