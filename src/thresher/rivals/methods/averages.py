"""Means of y·x: without outliers (Klivans, Long, Servedio), and sparse (Plan, Vershynin)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from thresher.geometry import support_l1_l2
from thresher.learning import Task
from thresher.rivals.methods.method import (
    KeepLargest,
    Method,
    Source,
    average,
    cut_and_dense,
    draw_sample,
    unit,
)
from thresher.rivals.worlds import DENSE_LAPLACE, DENSE_TILT, FLIPS
from thresher.solvers.eigen import top_eigenpairs
from thresher.validation import FloatArray, check_count, check_fraction, check_positive


@dataclass(frozen=True)
class KlivansLongServedio:
    """The mean of y·x without the rows that stick out in a direction of large variance.

    While the largest eigenvalue of (1/|S|) Σ x·xᵀ is above a threshold, every row of S with (v·x)²
    above a second threshold is deleted, where v is the top eigenvector. Then w ∝ mean of y·x
    (Klivans, Long and Servedio 2009, "Learning Halfspaces with Malicious Noise", the algorithm for
    the uniform distribution). A planted direction below the first threshold passes.

    The paper's thresholds are meant for proofs. The practical ones here are what clean rows reach:
    `edge_factor`·(1 + √(d/|S|))², the largest eigenvalue of that many isotropic rows
    (Marchenko and Pastur), and `tail_factor`·log m, the largest of m squared normal numbers.

    Parameters
    ----------
    edge_factor : multiple of the largest eigenvalue of clean rows that passes
    tail_factor : rows with squared projections above this multiple of log m are deleted

    Examples
    --------
    >>> from thresher.experiments import SimulationSpec, run_simulation
    >>> spec = SimulationSpec(n_features=20, sparsity=3, noise_rate=0.05, adversary="far-clump",
    ...                       label_budget=2000, method="klivans-long-servedio")
    >>> run_simulation(spec, seed=0).error < 0.06
    True
    """

    edge_factor: float = 1.25
    tail_factor: float = 2.0

    def __post_init__(self) -> None:
        check_positive(self.edge_factor, "edge_factor")
        check_positive(self.tail_factor, "tail_factor")

    def __call__(self, source: Source, task: Task, _rng: np.random.Generator) -> FloatArray:
        """The halfspace, of unit length."""
        X, y = draw_sample(source, task)
        kept = self.rows_without_outliers(X)
        return unit(average(y[kept, None] * X[kept]))

    def rows_without_outliers(self, X: FloatArray) -> NDArray[np.intp]:
        """The rows that stay.

        Examples
        --------
        >>> X = np.random.default_rng(0).standard_normal((500, 5))
        >>> X[:10] += [9.0, 9.0, 0.0, 0.0, 0.0]
        >>> int(KlivansLongServedio().rows_without_outliers(X).min())
        10
        """
        return np.flatnonzero(self.weights_without_outliers(X, np.ones(len(X))))

    def weights_without_outliers(self, X: FloatArray, weights: FloatArray) -> FloatArray:
        """The weights, with zeros for the rows that are deleted.

        Examples
        --------
        >>> KlivansLongServedio().weights_without_outliers(np.array([[1.0], [9.0]]), np.ones(2))
        array([1., 0.])
        """
        kept = weights.copy()
        max_square = self.tail_factor * np.log(max(len(X), 2))
        while kept.any():
            total = float(kept.sum())
            n_effective = total**2 / float(kept @ kept)
            values, vectors = top_eigenpairs((X.T * kept) @ X / total, 1)
            edge = (1 + np.sqrt(X.shape[1] / n_effective)) ** 2
            is_far = np.square(X @ vectors[:, -1]) > max_square
            # Without a row to delete, the loop ends whatever the eigenvalue.
            if values[-1] <= self.edge_factor * edge or not kept[is_far].any():
                break
            kept[is_far] = 0
        return kept


@dataclass(frozen=True)
class SmoothBoosting:
    """The sum of halfspaces, each learned from rows weighted by how badly the earlier ones do.

    The version for log-concave distributions: averaging without outliers is the weak learner of
    smooth boosting (Servedio 2003), in which no row's weight exceeds 1, so that planted rows cannot
    draw all the weight. With margins h = y·(v·x)/R of each round's v, a row's sum N ← N + h − θ
    sets its weight to 1 while N < 0 and to (1 − γ)^(N/2) beyond; it ends when the mean weight is
    below κ. The weak hypotheses are linear, so their sum is a halfspace.

    Parameters
    ----------
    weak : averages weighted rows without outliers
    edge : γ, the expected advantage of a weak hypothesis over guessing; θ = γ/(2 + γ)
    default_error : κ if the task has no target error
    noise_factor : κ is at least this multiple of the noise rate
    max_rounds : largest number of rounds

    Examples
    --------
    >>> from thresher.experiments import SimulationSpec, run_simulation
    >>> spec = SimulationSpec(n_features=20, sparsity=3, distribution="laplace",
    ...                       label_budget=2000, method="klivans-long-servedio-boosted")
    >>> run_simulation(spec, seed=0).error < 0.06
    True
    """

    weak: KlivansLongServedio = field(default_factory=KlivansLongServedio)
    edge: float = 0.25
    default_error: float = 0.05
    noise_factor: float = 2.0
    max_rounds: int = 40

    def __post_init__(self) -> None:
        check_positive(self.edge, "edge")
        check_fraction(self.edge, "edge")
        check_positive(self.default_error, "default_error")
        check_positive(self.noise_factor, "noise_factor")
        check_count(self.max_rounds, "max_rounds")

    def __call__(self, source: Source, task: Task, _rng: np.random.Generator) -> FloatArray:
        """The halfspace, of unit length."""
        X, y = draw_sample(source, task)
        Z = y[:, None] * X
        least = max(task.target_error or self.default_error, self.noise_factor * task.noise_rate)
        reach = np.sqrt(self.weak.tail_factor * np.log(max(len(y), 2)))
        weights, sums, halfspace = np.ones(len(y)), np.zeros(len(y)), np.zeros(task.n_features)
        for _ in range(self.max_rounds):
            direction = unit(self.weak.weights_without_outliers(X, weights) @ Z)
            halfspace += direction
            sums += np.clip(Z @ direction / reach, -1, 1) - self.edge / (2 + self.edge)
            weights = (1 - self.edge) ** (np.maximum(sums, 0) / 2)
            if weights.mean() < least:
                break
        return unit(halfspace)


def learn_one_bit(source: Source, task: Task, _rng: np.random.Generator) -> FloatArray:
    """The approximately sparse direction that agrees best with the labels on average.

    w = argmax of mean(y·x)·w over ‖w‖₂ ≤ 1, ‖w‖₁ ≤ √s, which is the soft threshold S_t of the mean
    at the smallest level t with ‖w‖₁ ≤ √s·‖w‖₂, scaled to unit length. This is the convex program
    of "Robust 1-bit compressed sensing and sparse logistic regression: a convex programming
    approach" (Plan and Vershynin 2013); it has no constants to choose. The method of the arena cuts
    it to the s largest entries.

    Examples
    --------
    >>> from thresher.experiments import SimulationSpec, run_simulation
    >>> spec = SimulationSpec(n_features=50, sparsity=3, label_budget=2000, method="plan-vershynin")
    >>> run_simulation(spec, seed=0).error < 0.05
    True
    """
    X, y = draw_sample(source, task)
    _, direction = support_l1_l2(
        average(y[:, None] * X), l2_radius=1.0, l1_radius=float(np.sqrt(task.sparsity))
    )
    return unit(direction)


METHODS = (
    *cut_and_dense(
        name="klivans-long-servedio",
        title="Klivans–Long–Servedio 2009",
        learn=KlivansLongServedio(),
        claim="Ω(ε²/log(d/ε)) malicious noise, uniform on the ball",
        world=DENSE_TILT.at_most(0.05, beats="averaging-of-all-rows"),
    ),
    Method(
        name="klivans-long-servedio-boosted",
        title="Klivans–Long–Servedio 2009, with smooth boosting",
        learn=KeepLargest(SmoothBoosting()),
        is_sparse=True,
        claim="Ω(ε³/log²(d/ε)) malicious noise, log-concave",
        world=DENSE_LAPLACE.at_most(0.03, beats="averaging-of-all-rows"),
    ),
    Method(
        name="plan-vershynin",
        title="Plan–Vershynin 2013",
        learn=KeepLargest(learn_one_bit),
        is_sparse=True,
        claim="one-bit compressed sensing; flipped labels, no planted rows",
        world=FLIPS.at_most(0.05, beats="linear-svm"),
    ),
)
