"""What `thresher simulate` shows and saves: progress, tables, a summary over seeds, a figure."""

import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from thresher.errors import ThresherError, UncertifiedPhase
from thresher.experiments.records import SimulatedPhase, SimulatedRun, save_runs
from thresher.experiments.simulation import run_simulation
from thresher.experiments.spec import THRESHER, SimulationSpec
from thresher.files import replacing
from thresher.learning import PhaseOutcome, PracticalSchedule
from thresher.rendering import palette
from thresher.rendering.html import new_figure
from thresher.rendering.progress import progress
from thresher.rendering.text import Column, decimals, format_columns, rate, say, share
from thresher.rivals.methods import METHODS
from thresher.validation import FloatArray
from thresher.wording import count

ERROR, ROWS, LABELS = palette.BLUE, palette.RED, palette.GREEN
HEADROOM = 0.3  # share of the height that the legend gets for itself
SMALLEST_ERROR = 1e-5  # a logarithmic axis has no zero, but an error can be zero
QUANTILES = {"best": 0.0, "25%": 0.25, "median": 0.5, "75%": 0.75, "worst": 1.0}


def simulate(
    spec: SimulationSpec,
    seeds: Sequence[int],
    *,
    verbose: bool = False,
    json: Path | None = None,
    figure: Path | None = None,
) -> list[SimulatedRun]:
    """Run every seed and print what came out; the records come back.

    Parameters
    ----------
    spec, seeds : what is run
    verbose : show the phases of every seed, not only of the first
    json : file of the records, rewritten after every seed
    figure : file of the figure

    Raises
    ------
    ThresherError : at least one seed failed (after everything is printed and saved), or a figure is
        requested and matplotlib is missing (before anything runs)
    """
    if figure is not None and find_spec("matplotlib") is None:
        advice = 'install it with: pip install "thresher[plot]"'
        raise ThresherError(f"a figure needs matplotlib; {advice}")
    say(describe_spec(spec), end="\n\n")
    runs = run_seeds(spec, seeds, json)
    for run in runs if verbose else runs[:1]:
        say(describe_phases(run), end="\n\n")
    say(describe_seeds(runs), end="\n\n" if json or figure else "\n")
    if figure is not None:
        draw_runs(runs, figure)
        say(f"Figure: {figure}")
    if json is not None:
        say(f"Records: {json}")
    failed = [run for run in runs if run.status == "failed"]
    if failed:
        first = f"seed {failed[0].seed}: {failed[0].message}"
        raise ThresherError(f"{len(failed)} of {len(runs)} seeds failed; {first}")
    return runs


def run_seeds(
    spec: SimulationSpec, seeds: Sequence[int], json: Path | None = None
) -> list[SimulatedRun]:
    """The record of each seed; an interrupt loses the current one and says what is saved."""
    runs: list[SimulatedRun] = []
    n_planned = PracticalSchedule().n_phases(spec.task)  # of a seed
    with progress("phases", len(seeds) * n_planned) as move:

        def observe(outcome: PhaseOutcome) -> None:
            move(len(runs) * n_planned + min(outcome.phase.index, n_planned))

        for seed in seeds:
            move(len(runs) * n_planned)
            try:
                with _plain_warnings(seed):
                    runs.append(run_simulation(spec, seed, observe))
            except KeyboardInterrupt:
                if json is not None and runs:
                    saved = f"{len(runs)} of {len(seeds)} runs are saved in {json}"
                    say(f"thresher: {saved}", file=sys.stderr)
                raise
            if json is not None:
                save_runs(json, runs)
    return runs


@contextmanager
def _plain_warnings(seed: int) -> Iterator[None]:
    """Show every warning of a phase as one line on stderr, without the line of code."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        say(f"thresher: warning: seed {seed}, {message}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.filterwarnings("always", category=UncertifiedPhase)
        warnings.showwarning = show
        yield


# -- text ----------------------------------------------------------------------------------------


def describe_spec(spec: SimulationSpec) -> str:
    """The experiment in one or two lines.

    Examples
    --------
    >>> say(describe_spec(SimulationSpec(n_features=500, sparsity=10, target_error=0.01)))
    10 of 500 features are relevant; gaussian rows, all clean
    target error 0.01
    """
    noise = "all clean"
    if spec.noise_rate > 0:
        strength = "" if spec.strength is None else f", strength {spec.strength:g}"
        noise = f"noise rate {spec.noise_rate:g} ({spec.adversary}{strength})"
    if spec.task.noise_rate != spec.noise_rate:
        noise += f"; the learner assumes {spec.task.noise_rate:g}"
    parts = []
    if spec.method != THRESHER:
        parts.append(f"method: {METHODS[spec.method].title}")
    if spec.target_error is not None:
        parts.append(f"target error {spec.target_error:g}")
    if spec.label_budget is not None:
        parts.append(f"at most {count(spec.task.label_budget)} labels")
    features = f"{spec.sparsity:,} of {spec.n_features:,} features are relevant"
    first = f"{features}; {spec.distribution} rows, {noise}"
    return "\n".join([first, *filter(None, ["; ".join(parts)])])


def describe_phases(run: SimulatedRun) -> str:
    """Two tables: what each phase drew and trusted, and what it proved, paid and learned."""
    head = f"Seed {run.seed}: {run.status}"
    if run.message:
        head += f" ({' '.join(run.message.split())})"
    if not run.phases:
        return head if run.spec.method != THRESHER else f"{head}; no phase finished"
    tables = [
        format_columns([_column(title, cell, run.phases) for title, cell in columns.items()])
        for columns in (_DRAWN, _LEARNED)
    ]
    return "\n\n".join([head, *tables])


_Cell = Callable[[SimulatedPhase], str]


def _column(title: str, cell: _Cell, phases: Sequence[SimulatedPhase]) -> Column:
    is_word = title in ("outlier\nremoval", "hinge\nminimum")
    return Column(title, [cell(phase) for phase in phases], "<" if is_word else ">")


def _width(phase: SimulatedPhase) -> str:
    return "all" if phase.band_width is None else f"{phase.band_width:.3f}"


def _variance(phase: SimulatedPhase) -> str:
    """The certified bounds, in units in which clean rows show about 1."""
    unit = phase.l2_radius**2
    return f"{phase.variance_lower / unit:.2f} to {phase.variance_upper / unit:.2f}"


_DRAWN: Mapping[str, _Cell] = {
    "phase": lambda phase: str(phase.index),
    "band\nwidth": _width,
    "radius": lambda phase: f"{phase.l2_radius:.3f}",
    "draws": lambda phase: count(phase.n_draws),
    "kept\nin band": lambda phase: count(phase.n_kept),
    "pruned": lambda phase: count(phase.n_pruned),
    "weight\nremoved": lambda phase: share(phase.weight_removed),
    "dirty\nrows": lambda phase: share(phase.dirty_rows),
    "dirty\nweight": lambda phase: share(phase.dirty_weight),
    "dirty\nlabels": lambda phase: share(phase.dirty_labels),
}
_LEARNED: Mapping[str, _Cell] = {
    "phase": lambda phase: str(phase.index),
    "outlier\nremoval": lambda phase: phase.removal_status,
    "variance / radius²\n(certified)": _variance,
    "hinge\nminimum": lambda phase: phase.loss_status,
    "loss": lambda phase: f"{phase.loss:.4f}",
    "labels\npaid": lambda phase: count(phase.n_labels),
    "error": lambda phase: rate(phase.error),
}


def describe_seeds(runs: Sequence[SimulatedRun]) -> str:
    """How the finished runs compare, and everything that went wrong."""
    finished = [run for run in runs if run.status == "finished"]
    parts = [f"{len(finished)} of {len(runs)} seeds finished"]
    if finished:
        parts.append(format_columns(_quantiles(finished)))
    remarks = _remarks(runs, finished)
    width = max(map(len, remarks))
    parts.append("\n".join(f"{name:<{width}}  {text}" for name, text in remarks.items()))
    return "\n\n".join(parts)


def _quantiles(runs: Sequence[SimulatedRun]) -> list[Column]:
    multiples = [run.n_labels / run.label_floor for run in runs if run.label_floor]
    quantities: list[tuple[str, list[float], Callable[[float | None], str]]] = [
        ("error", [run.error for run in runs if run.error is not None], rate),
        ("labels", [float(run.n_labels) for run in runs], count),
        ("labels / floor", multiples, decimals(1)),
        ("draws", [float(run.n_draws) for run in runs], count),
        ("learning time (s)", [run.seconds for run in runs], decimals(2)),
    ]
    columns = [Column("", [name for name, _, _ in quantities], "<")]
    for title, level in QUANTILES.items() if len(runs) > 1 else [(f"seed {runs[0].seed}", 0.5)]:
        cells = [write(float(np.quantile(values, level))) for _, values, write in quantities]
        columns.append(Column(title, cells))
    return columns


def _remarks(runs: Sequence[SimulatedRun], finished: Sequence[SimulatedRun]) -> dict[str, str]:
    spec = runs[0].spec
    floor = f"{rate(spec.error_floor)}  no method can guarantee less against every attack"
    remarks = {"error floor": floor}
    floors = [run.label_floor for run in finished if run.label_floor is not None]
    if floors:
        aim = "target error" if spec.target_error is not None else "median error"
        remarks["label floor"] = f"{np.median(floors):.1f}  what any method needs for the {aim}"
    if spec.target_error is not None:
        errors = [run.error for run in finished if run.error is not None]
        n_reached = sum(error <= spec.target_error for error in errors)
        reached = f"reached by {n_reached} of {len(runs)} seeds"
        remarks["target error"] = f"{rate(spec.target_error)}  {reached}"
    if spec.method == THRESHER:
        n_phases = sum(len(run.phases) for run in runs)
        n_uncertified = sum(run.n_uncertified for run in runs)
        remarks["uncertified phases"] = f"{n_uncertified} of {n_phases}"
    for run in runs:
        if run.status == "failed":
            remarks[f"seed {run.seed} failed"] = " ".join(run.message.split())
    return remarks


# -- the figure ----------------------------------------------------------------------------------


def draw_runs(runs: Sequence[SimulatedRun], out: str | Path) -> None:
    """Write the figure: error by phase on the left, dirty shares by phase on the right."""
    from matplotlib.ticker import MaxNLocator

    figure = new_figure(11, 4.8)
    left, right = figure.subplots(1, 2)
    _draw_errors(left, runs)
    _draw_dirt(right, runs)
    for axes in (left, right):
        axes.set_xlabel("phase")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle(describe_spec(runs[0].spec), fontsize=12)
    with replacing(out) as file:
        figure.savefig(file, dpi=150, format=Path(out).suffix[1:] or "png")


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
        label = f"floor {spec.error_floor:.3g}: no guarantee\nagainst every attack can be lower"
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
    from matplotlib.ticker import LogLocator, NullFormatter

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
    axes.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    axes.set_ylabel("dirty share")
    axes.set_title("Share of the adversary")
    axes.legend(frameon=False, loc="upper left")


def _draw_lines(axes: Any, table: FloatArray, **style: Any) -> None:
    """One thin line per run."""
    phases = np.arange(1, table.shape[1] + 1)
    for row in table:
        axes.plot(phases, row, linewidth=0.8, alpha=0.45, markersize=2.5, **style)
