"""The arena: sweeps of runs, simulated or on real tables, their records, and a report on these."""

from thresher.experiments.arena.record_file import read_records
from thresher.experiments.arena.runner import Workforce, run_sweep
from thresher.experiments.arena.sweep import Sweep, load_sweeps, shipped_names
from thresher.experiments.arena.trials import Trial

__all__ = [
    "Sweep",
    "Trial",
    "Workforce",
    "load_sweeps",
    "read_records",
    "run_sweep",
    "shipped_names",
]
