"""The figure of simulated runs, from their records alone."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, PercentFormatter

from thresher.experiments.records import SimulatedRun
from thresher.experiments.simulation_output import describe_spec
from thresher.rendering import palette
from thresher.validation import FloatArray

ERROR, ROWS, LABELS = palette.BLUE, palette.RED, palette.GREEN
HEADROOM = 0.3  # share of the height that the legend gets for itself
SMALLEST_ERROR = 1e-5  # a logarithmic axis has no zero, but an error can be zero


def draw_runs(runs: Sequence[SimulatedRun], out: str | Path) -> None:
    """Write the figure: error by phase on the left, dirty shares by phase on the right."""
    figure = Figure(figsize=(11, 4.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    _draw_errors(left, runs)
    _draw_dirt(right, runs)
    for axes in (left, right):
        axes.set_xlabel("phase")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle(describe_spec(runs[0].spec), fontsize=12)
    figure.savefig(out, dpi=150)


def by_phase(runs: Sequence[SimulatedRun], name: str) -> FloatArray:
    """A phase's field, one row per run and one column per phase; NaN where there is none."""
    table = np.full((len(runs), max((len(run.phases) for run in runs), default=0)), np.nan)
    for row, run in zip(table, runs):
        row[: len(run.phases)] = np.array([getattr(phase, name) for phase in run.phases], float)
    return table


def median_by_phase(table: FloatArray) -> FloatArray:
    """The median of each column over the runs that have a value there; NaN if none has."""
    known = [column[np.isfinite(column)] for column in table.T]
    return np.array([np.median(column) if column.size else np.nan for column in known])


def carried_forward(table: FloatArray) -> FloatArray:
    """The table with each run's last value repeated in the phases that it did not need.

    Examples
    --------
    >>> carried_forward(np.array([[0.3, 0.1], [0.2, np.nan]]))
    array([[0.3, 0.1],
           [0.2, 0.2]])
    """
    full = table.copy()
    for column in range(1, full.shape[1]):
        missing = np.isnan(full[:, column])
        full[missing, column] = full[missing, column - 1]
    return full


def _draw_errors(axes: Any, runs: Sequence[SimulatedRun]) -> None:
    spec = runs[0].spec
    table = np.maximum(by_phase(runs, "error"), SMALLEST_ERROR)
    _draw_lines(axes, table, color=ERROR, marker="o", linestyle="-")
    finished = carried_forward(table[[run.status == "finished" for run in runs]])
    phases = np.arange(1, table.shape[1] + 1)
    if finished.size:
        medians = median_by_phase(finished)
        label = f"median of {len(finished)} seeds" if len(finished) > 1 else "one seed"
        axes.plot(phases, medians, color=ERROR, linewidth=3, marker="o", label=label)
    _mark_failures(axes, runs, table)
    if spec.error_floor > 0:
        label = f"floor {spec.error_floor:.3g}: no method can guarantee less"
        axes.axhline(spec.error_floor, color="black", linestyle="--", label=label)
    if spec.target_error is not None:
        label = f"target {spec.target_error:.3g}"
        axes.axhline(spec.target_error, color="0.4", linestyle=":", linewidth=2, label=label)
    _set_log_scale(axes)
    axes.set_ylabel("error on clean rows (logarithmic)")
    axes.set_title("Error of the halfspace")
    low, high = axes.get_ylim()
    axes.set_ylim(low, high * (high / low) ** HEADROOM)
    axes.legend(frameon=False, loc="upper right")


def _set_log_scale(axes: Any) -> None:
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter(NullFormatter())


def _mark_failures(axes: Any, runs: Sequence[SimulatedRun], table: FloatArray) -> None:
    places = [
        (len(run.phases), table[row, len(run.phases) - 1])
        for row, run in enumerate(runs)
        if run.status == "failed" and run.phases
    ]
    n_failed = sum(run.status == "failed" for run in runs)
    if n_failed:
        x, y = zip(*places) if places else ((), ())
        axes.plot(x, y, "kx", markersize=10, label=f"{n_failed} failed")


def _draw_dirt(axes: Any, runs: Sequence[SimulatedRun]) -> None:
    kinds = (
        ("of the rows drawn", "dirty_rows", ROWS, "s", "--"),
        ("of the labels bought", "dirty_labels", LABELS, "o", "-"),
    )
    for label, name, color, marker, linestyle in kinds:
        table = by_phase(runs, name)
        style = {"color": color, "marker": marker, "linestyle": linestyle}
        _draw_lines(axes, table, **style)
        phases = np.arange(1, table.shape[1] + 1)
        axes.plot(phases, median_by_phase(table), linewidth=3, label=label, **style)
    rate = runs[0].spec.noise_rate
    axes.axhline(rate, color="black", linestyle=":", label=f"noise rate {rate:.3g}")
    highest = max(axes.get_ylim()[1], 0.05)  # shares of zero need an axis
    axes.set_ylim(0, (1 + HEADROOM) * highest)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes.set_ylabel("dirty share")
    axes.set_title("Share of the adversary")
    axes.legend(frameon=False, loc="upper left")


def _draw_lines(axes: Any, table: FloatArray, **style: Any) -> None:
    """One thin line per run."""
    phases = np.arange(1, table.shape[1] + 1)
    for row in table:
        axes.plot(phases, row, linewidth=0.8, alpha=0.45, markersize=2.5, **style)
