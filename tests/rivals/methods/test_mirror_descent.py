"""Stage-wise mirror descent: it tolerates wrong labels, and planted rows undo it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rivals.methods.measured import by_name, error_of
from thresher.learning import Task
from thresher.oracles import ArrayPool
from thresher.rivals.methods.mirror_descent import METHODS, dual_of, primal_of, project
from thresher.simulate import InBandMass, LabelFlip, LinfHijack

NAMED = by_name(METHODS)


@pytest.mark.parametrize("name", NAMED)
def test_clean_rows_are_learned(name: str) -> None:
    assert error_of(NAMED[name]) < 0.02


def test_bounded_noise_is_tolerated() -> None:
    assert error_of(NAMED["zhang-shen-awasthi"], LabelFlip(), noise_rate=0.1) < 0.03


def test_a_few_wrong_labels_are_tolerated_by_the_perceptron() -> None:
    assert error_of(NAMED["localized-perceptron"], LabelFlip(), noise_rate=0.05) < 0.03


@pytest.mark.parametrize("name", NAMED)
def test_planted_rows_hijack_the_average_that_the_stages_start_from(name: str) -> None:
    assert error_of(NAMED[name], LinfHijack(), n_labels=400) > 0.3


@pytest.mark.parametrize("name", NAMED)
def test_rows_planted_in_the_band_undo_the_stages(name: str) -> None:
    assert error_of(NAMED[name], InBandMass(strength=2.0), noise_rate=0.1, n_labels=400) > 0.1


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_a_projected_point_lies_in_both_balls(seed: int) -> None:
    rng = np.random.default_rng(seed)
    dual = rng.standard_normal(20) * 10.0 ** rng.uniform(-2, 3)
    point = project(dual, 1.2, l1_radius=1.5, l2_radius=0.8)
    assert np.abs(point).sum() <= 1.5 * (1 + 1e-9)
    assert np.linalg.norm(point) <= 0.8 * (1 + 1e-9)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_no_other_point_of_the_l1_ball_is_closer_to_a_dual_point(seed: int) -> None:
    rng = np.random.default_rng(seed)
    dual, p = 5 * rng.standard_normal(20), 1.3

    def distance(point: np.ndarray) -> float:
        return float(np.linalg.norm(point, p) ** 2 / (2 * (p - 1)) - dual @ point)

    found = project(dual, p, l1_radius=0.7, l2_radius=np.inf)
    assert np.abs(primal_of(dual, p)).sum() > 0.7
    others = rng.standard_normal((200, 20)) * rng.choice([0.0, 1.0], size=(200, 20))
    lengths = np.maximum(np.abs(others).sum(axis=1, keepdims=True), 1e-9)
    blends = found + rng.uniform(0, 0.1, size=(200, 1)) * (0.7 * others / lengths - found)
    assert min(distance(other) for other in blends) >= distance(found) - 1e-6


def test_maps_between_points_and_dual_points_undo_each_other() -> None:
    point = np.array([0.3, 0.0, -2.0])
    np.testing.assert_allclose(primal_of(dual_of(point, 1.1), 1.1), point, atol=1e-12)


def test_a_pool_without_rows_in_the_band_ends_a_stage() -> None:
    rows = np.array([[1.0, 0.0], [-1.0, 0.0]])

    class Labeled(ArrayPool):
        def reveal(self, ids: np.ndarray) -> np.ndarray:
            return np.sign(rows[ids, 0])

    task = Task(n_features=2, sparsity=1, noise_rate=0.0, label_budget=100)
    halfspace = NAMED["localized-perceptron"].learn(
        Labeled(rows, random_state=0), task, np.random.default_rng(0)
    )
    np.testing.assert_array_equal(halfspace, [1.0, 0.0])
