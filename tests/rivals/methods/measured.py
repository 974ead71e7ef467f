"""The error of a method in a small laboratory, for the tests of the methods."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from thresher.learning import Task
from thresher.rivals.methods.method import Method
from thresher.simulate import Adversary, Gaussian, MaliciousOracle, random_target

SPARSITY = 5


def by_name(methods: Iterable[Method]) -> dict[str, Method]:
    """The methods of a module by their names."""
    return {method.name: method for method in methods}


def error_of(
    method: Method,
    adversary: Adversary | None = None,
    *,
    noise_rate: float = 0.05,
    n_features: int = 100,
    n_labels: int = 1000,
    seed: int = 0,
) -> float:
    """The error rate of what a method learns; its label budget and its unit length are checked."""
    noise_rate = noise_rate if adversary else 0.0
    source = MaliciousOracle(
        distribution=Gaussian(n_features),
        target=random_target(n_features, SPARSITY, seed),
        noise_rate=noise_rate,
        adversary=adversary,
        random_state=seed,
    )
    task = Task(
        n_features=n_features, sparsity=SPARSITY, noise_rate=noise_rate, label_budget=n_labels
    )
    halfspace = method.learn(source, task, np.random.default_rng(seed))
    assert source.n_labels <= n_labels
    assert abs(np.linalg.norm(halfspace) - 1) < 1e-9
    return source.error_rate(halfspace)
