"""What `thresher simulate` does in a terminal: run seed after seed, show progress, tell, save."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from thresher.errors import ThresherError, UncertifiedPhase
from thresher.experiments.records import SimulatedRun, save_runs
from thresher.experiments.simulation import run_simulation
from thresher.experiments.spec import SimulationSpec
from thresher.experiments.tables import describe_phases, describe_seeds, describe_spec
from thresher.learning import PracticalSchedule
from thresher.rendering.progress import progress


@dataclass(frozen=True, kw_only=True)
class Output:
    """What is told and where it goes.

    Parameters
    ----------
    verbose : tell the phases of every seed, not only of the first
    json : file of the records, rewritten after every seed; None for none
    figure : file of the picture; None for none

    Examples
    --------
    >>> Output(verbose=True)
    Output(verbose=True, json=None, figure=None)
    """

    verbose: bool = False
    json: Path | None = None
    figure: Path | None = None


def simulate(spec: SimulationSpec, seeds: Sequence[int], output: Output) -> list[SimulatedRun]:
    """Run every seed and tell about it; the records come back.

    Raises
    ------
    ThresherError : at least one seed failed (after everything was told and saved), or a picture is
        wanted and matplotlib is missing (before anything is run)
    """
    draw = None if output.figure is None else _import_drawing()
    print(describe_spec(spec), end="\n\n", flush=True)
    runs = run_seeds(spec, seeds, output.json)
    for run in runs if output.verbose else runs[:1]:
        print(describe_phases(run), end="\n\n")
    print(describe_seeds(runs), end="\n\n" if output.json or output.figure else "\n")
    if draw is not None and output.figure is not None:
        draw(runs, output.figure)
        print(f"Picture: {output.figure}")
    if output.json is not None:
        print(f"Records: {output.json}")
    failed = [run for run in runs if run.status == "failed"]
    if failed:
        first = f"seed {failed[0].seed}: {failed[0].message}"
        raise ThresherError(f"{len(failed)} of {len(runs)} seeds failed; {first}")
    return runs


def run_seeds(
    spec: SimulationSpec, seeds: Sequence[int], json: Path | None = None
) -> list[SimulatedRun]:
    """The record of each seed; an interrupt loses the current one and says what is saved.

    Examples
    --------
    >>> spec = SimulationSpec(n_features=20, sparsity=2, label_budget=60)
    >>> [run.seed for run in run_seeds(spec, [3, 5])]
    [3, 5]
    """
    runs: list[SimulatedRun] = []
    with _phase_progress(spec, len(seeds)) as move:
        for seed in seeds:
            try:
                with _plain_warnings(seed):
                    runs.append(_run_seed(spec, seed, partial(move, len(runs))))
            except KeyboardInterrupt:
                if json is not None and runs:
                    saved = f"{len(runs)} of {len(seeds)} runs are saved in {json}"
                    print(f"thresher: {saved}", file=sys.stderr)
                raise
            move(len(runs), 0)
            if json is not None:
                save_runs(json, runs)
    return runs


def _run_seed(spec: SimulationSpec, seed: int, move: Callable[[int], None]) -> SimulatedRun:
    return run_simulation(spec, seed, observe=lambda outcome: move(outcome.phase.index))


@contextmanager
def _phase_progress(spec: SimulationSpec, n_seeds: int) -> Iterator[Callable[[int, int], None]]:
    """A function that moves a bar, told the finished seeds and the phases of the current one."""
    n_planned = PracticalSchedule().n_phases(spec.task)
    with progress("phases", n_seeds * n_planned) as move_to:

        def move(n_finished: int, n_phases: int) -> None:
            move_to(n_finished * n_planned + min(n_phases, n_planned))

        move(0, 0)
        yield move


@contextmanager
def _plain_warnings(seed: int) -> Iterator[None]:
    """Every warning of a phase in one line on stderr, instead of once and with a line of code."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        print(f"thresher: warning: seed {seed}, {message}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.filterwarnings("always", category=UncertifiedPhase)
        warnings.showwarning = show
        yield


def _import_drawing() -> Callable[[Sequence[SimulatedRun], Path], None]:
    try:
        from thresher.experiments.figures import draw_runs
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        raise ThresherError(
            'a picture needs matplotlib; install it with: pip install "thresher[plot]"'
        ) from error
    return draw_runs
