"""Planted rows lose their weight: what outlier removal leaves to the adversary in each phase."""

from __future__ import annotations

import warnings

import pytest

from thresher.errors import UncertifiedPhase
from thresher.experiments import SimulatedPhase, SimulationSpec, run_simulation

SEEDS = range(500, 520)


FULL = {"n_features": 500, "sparsity": 10, "label_budget": 1500}
SMALL = {"n_features": 150, "sparsity": 5, "label_budget": 600}


def phases_under(
    adversary: str, strength: float | None, seeds: range, sizes: dict[str, int]
) -> list[SimulatedPhase]:
    spec = SimulationSpec(noise_rate=0.05, adversary=adversary, strength=strength, **sizes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UncertifiedPhase)
        return [phase for seed in seeds for phase in run_simulation(spec, seed).phases]


def share_halved(phases: list[SimulatedPhase]) -> float:
    """The share of phases in which the dirty weight is at most half of what the rows had."""
    halved = [2 * phase.dirty_weight <= phase.dirty_rows for phase in phases]
    return sum(halved) / len(halved)


@pytest.mark.parametrize(
    ("adversary", "strength"),
    [("in-band-mass", 3.0), ("linf-hijack-in-band", 1.0)],
)
def test_planted_rows_lose_half_of_their_weight(adversary: str, strength: float) -> None:
    assert share_halved(phases_under(adversary, strength, SEEDS[:1], SMALL)) >= 0.9


@pytest.mark.slow
@pytest.mark.parametrize(
    ("adversary", "strength"),
    [("in-band-mass", 3.0), ("in-band-mass", 4.0), ("in-band-mass", 8.0)]
    + [("linf-hijack-in-band", strength) for strength in (0.25, 0.5, 1.0)],
)
def test_planted_rows_lose_half_of_their_weight_in_nearly_every_phase(
    adversary: str, strength: float
) -> None:
    assert share_halved(phases_under(adversary, strength, SEEDS, FULL)) >= 0.95


def test_rows_that_look_clean_keep_their_weight() -> None:
    phases = phases_under("kearns-li", None, SEEDS[:1], SMALL)
    assert share_halved(phases) == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("strength", [4.0, 8.0])
def test_a_clump_loses_half_of_its_weight_while_it_is_long(strength: float) -> None:
    """Moved into a later band, it is about as short as the halfspace's error, and harmless."""
    phases = phases_under("far-clump-in-band", strength, SEEDS, FULL)
    assert share_halved([phase for phase in phases if phase.index == 1]) >= 0.95
