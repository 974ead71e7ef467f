"""Consistent halfspaces of batches: good without noise, poor as soon as batches must be small."""

from __future__ import annotations

import numpy as np
import pytest

from rivals.methods.measured import error_of
from thresher.learning import Task
from thresher.oracles import Draw, DrawRequest
from thresher.rivals.methods.kearns_li import METHODS, batch_size, consistent_halfspace
from thresher.simulate import LinfHijack

(METHOD,) = METHODS


@pytest.mark.slow  # test_worlds.py has a world for it
def test_clean_rows_are_learned() -> None:
    assert error_of(METHOD, n_labels=1500) < 0.06


@pytest.mark.slow
def test_a_tiny_fraction_of_planted_rows_is_tolerated() -> None:
    assert error_of(METHOD, LinfHijack(), noise_rate=0.005, n_features=40, n_labels=800) < 0.12


@pytest.mark.slow
def test_more_noise_leaves_only_uninformative_batches() -> None:
    assert error_of(METHOD, LinfHijack(), noise_rate=0.05, n_labels=1500) > 0.12


def test_a_batch_shrinks_with_noise() -> None:
    sizes = [
        batch_size(Task(n_features=100, sparsity=5, noise_rate=noise_rate))
        for noise_rate in (0.0, 0.01, 0.1)
    ]
    assert sizes == sorted(sizes, reverse=True)


def test_a_consistent_halfspace_has_the_margin_it_promises() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 20))
    Z = np.sign(X[:, :1]) * X
    w = consistent_halfspace(Z)
    assert w is not None
    assert (Z @ w).min() >= 1 - 1e-6
    assert np.abs(w).sum() <= 1 / np.abs(X[:, 0]).min() + 1e-6  # what the first feature alone needs


def test_without_a_consistent_batch_the_average_is_the_answer() -> None:
    class Zeros:
        def draw(self, request: DrawRequest) -> Draw:
            return Draw(ids=np.arange(20), X=np.zeros((20, request.n_features)), n_drawn=20)

        def reveal(self, ids: np.ndarray) -> np.ndarray:
            return np.ones(len(ids))

    task = Task(n_features=3, sparsity=1, noise_rate=0.1, label_budget=20)
    halfspace = METHOD.learn(Zeros(), task, np.random.default_rng(0))
    np.testing.assert_array_equal(halfspace, [1.0, 0.0, 0.0])  # what has no direction
