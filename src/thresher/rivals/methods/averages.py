"""Means of y·x: without outliers (Klivans, Long, Servedio), and sparse (Plan, Vershynin)."""

from __future__ import annotations

import numpy as np

from thresher.geometry import support_l1_l2
from thresher.learning import Task
from thresher.rivals.methods.method import (
    Method,
    Source,
    average,
    cut_and_dense,
    draw_signed,
    keep_largest,
    unit,
    variant,
)
from thresher.rivals.worlds import DENSE_LAPLACE, DENSE_TILT, FLIPS
from thresher.solvers.eigen import top_eigenpairs
from thresher.validation import FloatArray

# Klivans, Long and Servedio's thresholds are meant for proofs; these are what clean rows reach.
EDGE_FACTOR = 1.25  # over (1 + √(d/|S|))², their largest eigenvalue (Marchenko and Pastur)
TAIL_FACTOR = 2.0  # times log m: the largest of m squared normal numbers
WEAK_EDGE = 0.25  # γ, the expected advantage of a weak hypothesis over guessing
DEFAULT_ERROR = 0.05  # κ if the task has no target error
NOISE_FACTOR = 2.0  # κ is at least this multiple of the noise rate
MAX_ROUNDS = 40


def learn_without_outliers(source: Source, task: Task, _rng: np.random.Generator) -> FloatArray:
    """The mean of y·x without the rows that stick out in a direction of large variance.

    w ∝ mean of y·x over what `weights_without_outliers` keeps (Klivans, Long and Servedio 2009,
    "Learning Halfspaces with Malicious Noise", the algorithm for the uniform distribution).
    """
    Z = draw_signed(source, task)
    return unit(average(Z[weights_without_outliers(Z, np.ones(len(Z))) > 0]))


def weights_without_outliers(X: FloatArray, weights: FloatArray) -> FloatArray:
    """The weights, with zeros for rows that stick out in a direction of large variance.

    While the largest eigenvalue of (1/|S|) Σ x·xᵀ is above a threshold, every row of S with (v·x)²
    above a second threshold is deleted, where v is the top eigenvector. A planted direction below
    the first threshold passes.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((500, 5))
    >>> X[:10] += [9.0, 9.0, 0.0, 0.0, 0.0]
    >>> int(np.flatnonzero(weights_without_outliers(X, np.ones(500))).min())
    10
    """
    kept = weights.copy()
    max_square = TAIL_FACTOR * np.log(max(len(X), 2))
    while kept.any():
        total = float(kept.sum())
        n_effective = total**2 / float(kept @ kept)
        values, vectors = top_eigenpairs((X.T * kept) @ X / total, 1)
        edge = (1 + np.sqrt(X.shape[1] / n_effective)) ** 2
        is_far = np.square(X @ vectors[:, -1]) > max_square
        # Without a row to delete, the loop ends whatever the eigenvalue.
        if values[-1] <= EDGE_FACTOR * edge or not kept[is_far].any():
            break
        kept[is_far] = 0
    return kept


def learn_boosted(source: Source, task: Task, _rng: np.random.Generator) -> FloatArray:
    """The sum of halfspaces, each learned from rows weighted by how badly the earlier ones do.

    The version for log-concave distributions: averaging without outliers is the weak learner of
    smooth boosting (Servedio 2003), in which no row's weight exceeds 1, so that planted rows cannot
    draw all the weight. With margins h = y·(v·x)/R of each round's v, a row's sum N ← N + h − θ,
    where θ = γ/(2 + γ), sets its weight to 1 while N < 0 and to (1 − γ)^(N/2) beyond; it ends when
    the mean weight is below κ. The weak hypotheses are linear, so their sum is a halfspace.
    """
    Z = draw_signed(source, task)
    least = max(task.target_error or DEFAULT_ERROR, NOISE_FACTOR * task.noise_rate)
    reach = np.sqrt(TAIL_FACTOR * np.log(max(len(Z), 2)))
    weights, sums, halfspace = np.ones(len(Z)), np.zeros(len(Z)), np.zeros(task.n_features)
    for _ in range(MAX_ROUNDS):
        direction = unit(weights_without_outliers(Z, weights) @ Z)
        halfspace += direction
        sums += np.clip(Z @ direction / reach, -1, 1) - WEAK_EDGE / (2 + WEAK_EDGE)
        weights = (1 - WEAK_EDGE) ** (np.maximum(sums, 0) / 2)
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
    """
    _, direction = support_l1_l2(
        average(draw_signed(source, task)), l2_radius=1.0, l1_radius=float(np.sqrt(task.sparsity))
    )
    return unit(direction)


_KLIVANS_LONG_SERVEDIO = Method(
    name="klivans-long-servedio",
    title="Klivans–Long–Servedio 2009",
    learn=learn_without_outliers,
    claim="Ω(ε²/log(d/ε)) malicious noise, uniform on the ball",
    world=DENSE_TILT.at_most(0.044, beats="averaging-of-all-rows"),
)
METHODS = (
    *cut_and_dense(_KLIVANS_LONG_SERVEDIO),
    variant(
        _KLIVANS_LONG_SERVEDIO,
        "boosted",
        "with smooth boosting",
        keep_largest(learn_boosted),
        claim="Ω(ε³/log²(d/ε)) malicious noise, log-concave",
        world=DENSE_LAPLACE.at_most(0.033, beats="averaging-of-all-rows"),
    ),
    Method(
        name="plan-vershynin",
        title="Plan–Vershynin 2013",
        learn=keep_largest(learn_one_bit),
        claim="one-bit compressed sensing; flipped labels, no planted rows",
        world=FLIPS.at_most(0.079, beats="linear-svm"),
    ),
)
