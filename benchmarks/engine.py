"""Bars G1 to G3: error, labels and cost of the learner in setting Q, over ten seeds.

Setting Q: 500 features of which 10 matter, a random target, Gaussian rows, the practical schedule,
the learner told the true noise rate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from benchmarks.ratio import Ratio, side_by_side
from thresher.experiments import SimulatedRun, SimulationSpec, run_simulation

SETTING: dict[str, Any] = {"n_features": 500, "sparsity": 10}
SEEDS = range(10)
CLEAN_LABELS, NOISY_LABELS, NOISE_RATE = 1230, 1500, 0.05
MAX_GRAMS, AIM_GRAMS, MAX_SECONDS = 20.0, 8.0, 5.0


@dataclass(frozen=True)
class Attack:
    """One row of bar G2: an adversary, and the errors that must not be exceeded."""

    name: str
    strength: float | None
    max_median: float
    max_ninth: float | None


ATTACKS = (
    Attack("label-flip", None, 0.02, 0.03),
    Attack("far-clump", None, 0.02, 0.03),
    Attack("on-support-tilt", 4.0, 0.02, 0.03),
    Attack("on-support-tilt", 8.0, 0.02, 0.03),
    Attack("linf-hijack", None, 0.02, 0.03),
    Attack("in-band-mass", 3.0, 0.035, None),
)


def measure() -> list[Ratio]:
    """Errors without noise and under each attack, then the learner's own time."""
    clean = _runs(SimulationSpec(**SETTING, label_budget=CLEAN_LABELS))
    ratios = [_ninth_of_ten("G1", "no noise, at most 1,230 labels", clean, 0.01)]
    frugal = _runs(SimulationSpec(**SETTING, label_budget=CLEAN_LABELS // 2))
    note = f"the aim of G1; median {median(_errors(frugal)):.4f}"
    ninth = sorted(_errors(frugal))[8]
    ratios.append(
        Ratio("G1", "no noise, at most 615 labels: ninth", ninth, 1.0, 1.0, 0.01, note=note)
    )
    attacked: list[SimulatedRun] = []
    for attack in ATTACKS:
        runs = _runs(_spec(attack))
        attacked += runs
        ratios += _errors_under(attack, runs)
    return [*ratios, *_costs(clean + attacked)]


def _spec(attack: Attack) -> SimulationSpec:
    return SimulationSpec(
        **SETTING,
        noise_rate=NOISE_RATE,
        adversary=attack.name,
        strength=attack.strength,
        label_budget=NOISY_LABELS,
    )


def _runs(spec: SimulationSpec) -> list[SimulatedRun]:
    runs = [run_simulation(spec, seed) for seed in SEEDS]
    if any(run.status != "finished" or run.n_uncertified for run in runs):
        raise RuntimeError(f"a run of {spec} failed, or has a phase without a certificate")
    return runs


def _errors(runs: Sequence[SimulatedRun]) -> list[float]:
    return [float(run.error) for run in runs if run.error is not None]


def _errors_under(attack: Attack, runs: Sequence[SimulatedRun]) -> list[Ratio]:
    strength = "" if attack.strength is None else f", c = {attack.strength:g}"
    what = f"{attack.name}{strength}, at most 1,500 labels"
    middle = median(_errors(runs))
    ratios = [Ratio("G2", f"{what}: median error", middle, 1.0, attack.max_median)]
    if attack.max_ninth is not None:
        ratios.append(_ninth_of_ten("G2", what, runs, attack.max_ninth))
    return ratios


def _ninth_of_ten(bar: str, what: str, runs: Sequence[SimulatedRun], bound: float) -> Ratio:
    labels = max(run.n_labels for run in runs)
    note = f"median {median(_errors(runs)):.4f}, {labels} labels at most"
    return Ratio(
        bar, f"{what}: ninth of ten errors", sorted(_errors(runs))[8], 1.0, bound, note=note
    )


def _costs(runs: Sequence[SimulatedRun]) -> list[Ratio]:
    """The learner's seconds a phase over one Gram product of a phase's rows, and a whole run's."""
    n_rows = runs[0].phases[0].n_kept
    rows = np.random.default_rng(0).standard_normal((n_rows, SETTING["n_features"]))
    seconds, _ = side_by_side(lambda: rows.T @ rows, lambda: None, repeats=15)
    a_phase = median(run.seconds / len(run.phases) for run in runs)
    slowest = max(run.seconds for run in runs)
    what = "learner's time a phase over one Gram product of its rows"
    note = f"{a_phase:.3f} s against {seconds:.4f} s"
    return [
        Ratio("G3", what, a_phase, seconds, MAX_GRAMS, AIM_GRAMS, note=note),
        Ratio("G3", "learner's time of the slowest run, seconds", slowest, 1.0, MAX_SECONDS),
    ]
