"""What the lemmas speak of, as the laboratory measures it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from thresher.experiments import SimulationSpec, run_simulation
from thresher.experiments.lemmas import LossDifference, loss_bound, measure_lemmas, shortened
from thresher.learning import PracticalSchedule, Task

SPEC = SimulationSpec(
    n_features=30,
    sparsity=2,
    noise_rate=0.1,
    adversary="in-band-mass",
    label_budget=60,
    schedule={"min_unlabeled": 300, "max_unlabeled": 300},
)
PHASE = PracticalSchedule().next_phase(Task(n_features=30, sparsity=2, noise_rate=0.1), ())


def difference(seed: int = 0) -> LossDifference:
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((80, 30)), rng.choice([-1.0, 1.0], size=80)
    return LossDifference(X, y, rng.uniform(0.1, 1, size=80), rng.random(80) < 0.8, PHASE)


def test_the_run_that_is_measured_is_the_run_of_the_simulation() -> None:
    measured, run = measure_lemmas(SPEC, seed=3), run_simulation(SPEC, seed=3)
    for mine, other in zip(measured, run.phases, strict=True):
        assert (mine.phase, mine.l2_radius) == (other.index, other.l2_radius)
        assert mine.dirty_rows == pytest.approx(other.dirty_rows)
        assert mine.dirty_weight == pytest.approx(other.dirty_weight)


def test_a_run_that_fails_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    from thresher.simulate import ADVERSARIES

    class Broken:
        def corrupt(self, *_: object) -> None:
            return None

    monkeypatch.setitem(ADVERSARIES, "in-band-mass", Broken)
    with pytest.raises(RuntimeError, match="AdversaryError"):
        measure_lemmas(SPEC, seed=0)


def test_the_difference_is_that_of_two_mean_losses() -> None:
    own, w = difference(), np.linspace(-1, 1, 30)
    losses = np.maximum(0, 1 - own.y * (own.X @ w) / PHASE.hinge_scale)
    expected = np.average(losses, weights=own.weights) - losses[own.is_clean].mean()
    assert own.at(w) == pytest.approx(expected)


def test_the_search_finds_at_least_what_it_starts_from_and_stays_in_the_region() -> None:
    own, zero = difference(), np.zeros(30)
    rng = np.random.default_rng(1)
    inside = [shortened(rng.standard_normal(30), own.region) for _ in range(50)]
    found = own.search(zero, inside[0])
    assert found >= max(abs(own.at(w)) for w in inside)
    shares = own.weights / own.weights.sum() + own.is_clean / own.is_clean.sum()
    reach = np.abs(own.X).max(axis=1) * PHASE.l1_radius / PHASE.hinge_scale
    assert found <= shares @ (1 + reach)


def test_the_bound_grows_with_the_outlier_fraction() -> None:
    bounds = [loss_bound(replace(PHASE, outlier_fraction=xi), 1.0) for xi in (0.01, 0.1, 0.3)]
    assert bounds == sorted(bounds) and bounds[0] > 0
