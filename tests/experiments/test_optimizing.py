"""The adversary that rehearses the learner's outlier removal."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from thresher.experiments.optimizing import SLOW_ADVERSARIES, WeightOptimizer, _weights
from thresher.geometry import Band
from thresher.simulate import Adversary, Gaussian, InBandMass, View, random_target

TARGET = random_target(20, 3, 0)
NEAR = TARGET + 0.5 * random_target(20, 3, 1)
RECORD = SimpleNamespace(n_unlabeled=400, l2_radius=0.5, removal_l1_radius=0.5 * np.sqrt(6))
VIEW = View(
    target=TARGET,
    distribution=Gaussian(20),
    noise_rate=0.1,
    n_features=20,
    halfspace=NEAR / np.linalg.norm(NEAR),
    band_width=0.5,
    max_abs_entry=9.0,
    phase=2,
    phase_record=RECORD,
)
FIRST = View(
    target=TARGET,
    distribution=Gaussian(20),
    noise_rate=0.1,
    n_features=20,
    halfspace=np.zeros(20),
    band_width=np.inf,
    max_abs_entry=np.inf,
    phase=1,
    phase_record=None,
)


def planted(view: View = VIEW, **options: object) -> tuple[np.ndarray, np.ndarray]:
    return WeightOptimizer(**options).corrupt(60, view, np.random.default_rng(0))


@pytest.mark.parametrize("view", [FIRST, VIEW], ids=["first phase", "later phase"])
def test_rows_are_in_the_band_and_labels_are_signs(view: View) -> None:
    X, y = planted(view)
    assert X.shape == (60, 20) and np.isin(y, [-1.0, 1.0]).all()
    assert Band(view.halfspace, view.band_width).admits(X).all()


def test_one_seed_gives_the_same_rows_and_a_plan_is_made_once_for_a_phase() -> None:
    adversary = WeightOptimizer()
    first = adversary.corrupt(60, VIEW, np.random.default_rng(0))
    np.testing.assert_array_equal(first[0], planted()[0])
    adversary.corrupt(60, VIEW, np.random.default_rng(1))
    assert len(adversary._plans) == 1 and adversary == WeightOptimizer()


def test_rows_push_against_the_target_with_their_strength() -> None:
    X, y = planted()
    strengths = -y * (X @ InBandMass().direction(VIEW))
    assert (strengths > 0).all() and strengths.std() > 0


def test_what_is_bred_pulls_at_least_as_hard_as_the_first_generation() -> None:
    def pull(n_rounds: int) -> float:
        rng = np.random.default_rng(7)
        strengths = WeightOptimizer(n_rounds=n_rounds)._bred(VIEW, np.random.default_rng(0))
        clean, fraction, _ = WeightOptimizer()._rehearsal(VIEW, rng)
        rows, _ = WeightOptimizer()._planted(strengths, VIEW, rng)
        return float(
            _weights(np.concatenate([clean, rows]), fraction, VIEW)[len(clean) :] @ strengths
        )

    # Another pool than the one it was bred on; the first generation has strengths up to 8.
    assert pull(6) > pull(1)


def test_it_can_be_named_and_waits_for_its_phase() -> None:
    made = SLOW_ADVERSARIES["weight-optimizing"](from_phase=3)
    assert isinstance(made, Adversary)
    X, y = made.corrupt(20, VIEW, np.random.default_rng(0))
    np.testing.assert_array_equal(y, np.where(X @ TARGET >= 0, 1.0, -1.0))
