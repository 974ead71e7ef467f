"""Experiments: what is simulated and what came out. No learner imports it."""

from thresher.experiments.records import SimulatedPhase, SimulatedRun, load_runs, save_runs
from thresher.experiments.simulation import run_simulation
from thresher.experiments.spec import SimulationSpec, TableSpec
from thresher.simulate.distributions import DISTRIBUTIONS

__all__ = [
    "DISTRIBUTIONS",
    "SimulatedPhase",
    "SimulatedRun",
    "SimulationSpec",
    "TableSpec",
    "load_runs",
    "run_simulation",
    "save_runs",
]
