"""The arena: sweeps of simulated runs, their records, and the report drawn from these."""

from thresher.experiments.arena.record_file import read_records
from thresher.experiments.arena.runner import Workforce, run_sweep
from thresher.experiments.arena.sweep import Sweep, shipped_names
from thresher.experiments.arena.trials import Trial

__all__ = ["Sweep", "Trial", "Workforce", "read_records", "run_sweep", "shipped_names"]
