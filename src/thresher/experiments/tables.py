"""What the terminal tells about simulated runs: their phases, and a summary over seeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from thresher.experiments.records import SimulatedPhase, SimulatedRun
from thresher.experiments.spec import NOBODY, THRESHER, SimulationSpec
from thresher.rendering.text import Column, count, decimals, format_columns, rate, share
from thresher.rivals.methods import METHODS

QUANTILES = {"best": 0.0, "25%": 0.25, "median": 0.5, "75%": 0.75, "worst": 1.0}


def describe_spec(spec: SimulationSpec) -> str:
    """The experiment in one or two lines.

    Examples
    --------
    >>> print(describe_spec(SimulationSpec(n_features=500, sparsity=10, target_error=0.01)))
    10 of 500 features, gaussian rows, all of them clean
    target error 0.01
    """
    strength = "" if spec.strength is None else f" of strength {spec.strength:g}"
    dirt = f"noise rate {spec.noise_rate:g} by {spec.adversary}{strength}"
    if spec.adversary == NOBODY or spec.noise_rate == 0:
        dirt = "all of them clean"
    told = ""
    if spec.task.noise_rate != spec.noise_rate:
        told = f"; the learner is told {spec.task.noise_rate:g}"
    aims = []
    if spec.method != THRESHER:
        aims.append(f"learned by {METHODS[spec.method].title}")
    if spec.target_error is not None:
        aims.append(f"target error {spec.target_error:g}")
    if spec.label_budget is not None:
        aims.append(f"at most {count(spec.task.label_budget)} labels")
    rows = f"{spec.sparsity:,} of {spec.n_features:,} features, {spec.distribution} rows"
    return "\n".join([f"{rows}, {dirt}{told}", *filter(None, ["; ".join(aims)])])


def describe_phases(run: SimulatedRun) -> str:
    """What each phase drew and trusted, and below it what it proved, paid and learned.

    Examples
    --------
    >>> from thresher.experiments import run_simulation
    >>> run = run_simulation(SimulationSpec(n_features=20, sparsity=2, label_budget=60), seed=0)
    >>> describe_phases(run).splitlines()[0]
    'Seed 0: finished'
    """
    head = f"Seed {run.seed}: {run.status}"
    if run.message:
        head += f" ({' '.join(run.message.split())})"
    if not run.phases:
        return head if run.spec.method != THRESHER else f"{head}; no phase was finished"
    return "\n\n".join(
        [head, format_columns(_drawn(run.phases)), format_columns(_learned(run.phases))]
    )


def _drawn(phases: Sequence[SimulatedPhase]) -> list[Column]:
    return [
        Column("phase", [str(phase.index) for phase in phases]),
        Column("band\nwidth", [_width(phase.band_width) for phase in phases]),
        Column("radius", [f"{phase.l2_radius:.3f}" for phase in phases]),
        Column("draws", [count(phase.n_draws) for phase in phases]),
        Column("kept\nin band", [count(phase.n_kept) for phase in phases]),
        Column("pruned", [count(phase.n_pruned) for phase in phases]),
        Column("weight\nremoved", [share(phase.weight_removed) for phase in phases]),
        Column("dirty\nrows", [share(phase.dirty_rows) for phase in phases]),
        Column("dirty\nweight", [share(phase.dirty_weight) for phase in phases]),
        Column("dirty\nlabels", [share(phase.dirty_labels) for phase in phases]),
    ]


def _learned(phases: Sequence[SimulatedPhase]) -> list[Column]:
    return [
        Column("phase", [str(phase.index) for phase in phases]),
        Column("outlier\nremoval", [phase.removal_status for phase in phases], "<"),
        Column("variance / radius²\nproven within", [_variance(p) for p in phases]),
        Column("hinge\nminimum", [phase.loss_status for phase in phases], "<"),
        Column("loss", [f"{phase.loss:.4f}" for phase in phases]),
        Column("labels\npaid", [count(phase.n_labels) for phase in phases]),
        Column("error", [rate(phase.error) for phase in phases]),
    ]


def _width(band_width: float | None) -> str:
    return "all" if band_width is None else f"{band_width:.3f}"


def _variance(phase: SimulatedPhase) -> str:
    """The proven bounds in units in which clean rows show about 1."""
    unit = phase.l2_radius**2
    return f"{phase.variance_lower / unit:.2f} to {phase.variance_upper / unit:.2f}"


def describe_seeds(runs: Sequence[SimulatedRun]) -> str:
    """How the finished runs compare, and everything that did not go as it should.

    Examples
    --------
    >>> from thresher.experiments import run_simulation
    >>> run = run_simulation(SimulationSpec(n_features=20, sparsity=2, label_budget=60), seed=0)
    >>> describe_seeds([run]).splitlines()[0]
    '1 of 1 seeds finished'
    """
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
        ("seconds of the learner", [run.seconds for run in runs], decimals(2)),
    ]
    columns = [Column("", [name for name, _, _ in quantities], "<")]
    for title, level in QUANTILES.items() if len(runs) > 1 else [(f"seed {runs[0].seed}", 0.5)]:
        cells = [write(float(np.quantile(values, level))) for _, values, write in quantities]
        columns.append(Column(title, cells))
    return columns


def _remarks(runs: Sequence[SimulatedRun], finished: Sequence[SimulatedRun]) -> dict[str, str]:
    spec = runs[0].spec
    remarks = {
        "error floor": f"{rate(spec.error_floor)}  no method can promise less at this noise rate"
    }
    floors = [run.label_floor for run in finished if run.label_floor is not None]
    if floors:
        aim = "target error" if spec.target_error is not None else "median error"
        remarks["label floor"] = (
            f"{np.median(floors):.1f}  about what any method needs for the {aim}"
        )
    if spec.target_error is not None:
        n_reached = sum(
            run.error is not None and run.error <= spec.target_error for run in finished
        )
        remarks["target error"] = (
            f"{rate(spec.target_error)}  reached by {n_reached} of {len(runs)} seeds"
        )
    if spec.method == THRESHER:
        n_phases = sum(len(run.phases) for run in runs)
        n_uncertified = sum(run.n_uncertified for run in runs)
        remarks["uncertified phases"] = f"{n_uncertified} of {n_phases}"
    for run in runs:
        if run.status == "failed":
            remarks[f"seed {run.seed} failed"] = " ".join(run.message.split())
    return remarks
