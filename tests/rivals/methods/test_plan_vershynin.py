"""One-bit compressed sensing: it bears wrong labels, and planted rows take it over."""

from __future__ import annotations

import numpy as np

from rivals.methods.measured import error_of
from thresher.learning import Task
from thresher.rivals.methods.plan_vershynin import METHODS
from thresher.simulate import Gaussian, LabelFlip, LinfHijack, MaliciousOracle, random_target

(METHOD,) = METHODS


def test_wrong_labels_are_borne() -> None:
    assert error_of(METHOD, LabelFlip(), n_labels=1500) < 0.05


def test_planted_rows_take_it_over() -> None:
    assert error_of(METHOD, LinfHijack(), n_labels=1500) > 0.4


def test_the_answer_is_as_flat_as_its_sparsity_allows() -> None:
    source = MaliciousOracle(
        distribution=Gaussian(100),
        target=random_target(100, 5, 0),
        noise_rate=0.0,
        adversary=None,
        random_state=0,
    )
    task = Task(n_features=100, sparsity=5, noise_rate=0.0, label_budget=200)
    w = METHOD.learn(source, task, np.random.default_rng(0))
    np.testing.assert_allclose(np.abs(w).sum(), np.sqrt(5), rtol=1e-9)
