"""Experiments: what is simulated, what came out, and how it is told. No learner imports it."""

from thresher.experiments.records import SimulatedPhase, SimulatedRun, load_runs, save_runs
from thresher.experiments.simulation import run_simulation
from thresher.experiments.spec import DISTRIBUTIONS, SimulationSpec
from thresher.experiments.table_spec import TableSpec

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
