"""The arena: sweeps of runs, simulated or on real tables, their records, and a report.

sweep.py              a sweep: a TOML file of worlds, adversaries, learners, budgets and seeds
run.py                one run: a learner, a spec and a seed; the file of records
processes.py          runs in processes of their own, or on a Dask cluster
runner.py             everything that a sweep still misses, run and recorded
summary.py            records as a data frame: one line per cell, worst cases
terminal.py           what `thresher arena run` prints
report.py, figures/   the HTML report
"""

from thresher.experiments.arena.run import Run, read_records
from thresher.experiments.arena.runner import run_sweep
from thresher.experiments.arena.sweep import Sweep, load_sweeps, shipped_names

__all__ = ["Run", "Sweep", "load_sweeps", "read_records", "run_sweep", "shipped_names"]
