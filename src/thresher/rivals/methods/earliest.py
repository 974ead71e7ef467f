"""The earliest methods, 1988 to 2013: consistent halfspaces, averages, L1 regression.

Kearns and Li 1988, "Learning in the Presence of Malicious Errors"; Kalai, Klivans, Mansour and
Servedio 2005, "Agnostically Learning Halfspaces", where averaging without rows that are too much
alike is for malicious noise, and regression on polynomials for label noise; Klivans, Long and
Servedio 2009, "Learning Halfspaces with Malicious Noise"; Plan and Vershynin 2013, "Robust 1-bit
compressed sensing and sparse logistic regression: a convex programming approach".
"""

from functools import partial

import numpy as np
import scipy
from numpy.typing import NDArray

from thresher.errors import LearningStopped
from thresher.geometry import hard_threshold, support_l1_l2
from thresher.learning import Task
from thresher.rivals.methods.method import (
    Method,
    Source,
    average,
    cut_and_dense,
    draw_sample,
    draw_signed,
    keep_largest,
    unit,
    variant,
)
from thresher.rivals.worlds import DENSE_FLIPS, DENSE_LAPLACE, DENSE_TILT, FEW_PLANTED, FLIPS
from thresher.solvers.eigen import top_eigenpairs
from thresher.validation import FloatArray

N_BATCHES = 200  # at most
BATCH_FACTOR = 2.0  # constant of the batch size
DEFAULT_ERROR = 0.05  # ε and κ if the task has no target error
HELD_SHARE = 0.25  # of the labels, to choose among the halfspaces
LEAST_BATCH = 2
CLEAN_BATCHES = 3  # expected number
SHRINKAGE = 0.9
CORRELATION_FACTOR = 2.0  # with it, about one pair of m clean rows is deleted
# Klivans, Long and Servedio's thresholds are meant for proofs; these are what clean rows reach.
EDGE_FACTOR = 1.25  # over (1 + √(d/|S|))², their largest eigenvalue (Marchenko and Pastur)
TAIL_FACTOR = 2.0  # times log m: the largest of m squared normal numbers
WEAK_EDGE = 0.25  # γ, the expected advantage of a weak hypothesis over guessing
NOISE_FACTOR = 2.0  # κ is at least this multiple of the noise rate
MAX_ROUNDS = 40
_BLOCK = 1024  # rows whose correlations with all others are held at a time


def learn_consistent(source: Source, task: Task, rng: np.random.Generator) -> FloatArray:
    """Among halfspaces that are consistent with small batches, the best on held-out rows.

    Malicious noise spares a batch of m examples with probability (1 − η)ᵐ, so among enough batches
    one is clean, and what is consistent with it is good (Kearns and Li). From a batch comes the w
    of least l1 norm with y·(w·x) ≥ 1, by a linear program; if there is none, the batch is dropped
    and the next is smaller. Some of the labels are held out to choose. If no batch has a consistent
    halfspace, the answer is the average of y·x.

    Unlike the original, batches are drawn from one sample of paid labels, which gives more of them
    for the same budget.
    """
    Z = draw_signed(source, task)
    n_held = int(HELD_SHARE * len(Z))
    held, paid = Z[:n_held], Z[n_held:]
    size = min(batch_size(task), len(paid))
    best, fewest_errors = average(paid), np.inf
    for _ in range(N_BATCHES):
        batch = paid[rng.choice(len(paid), size=size, replace=False)]
        candidate = consistent_halfspace(batch)
        if candidate is None:
            # Clean batches are consistent, so batches of this size have too many planted rows.
            size = max(int(SHRINKAGE * size), 1)
            continue
        n_errors = float(np.sum(held @ candidate <= 0))
        if n_errors < fewest_errors:
            best, fewest_errors = candidate, n_errors
        if task.noise_rate == 0 or size == len(paid):
            break  # another batch would give the same
    return unit(best)


def batch_size(task: Task) -> int:
    """The number m of examples in a batch.

    A constant times s·log(2d/s)/ε, but small enough that a few of the batches are clean: under
    noise this, and not ε, limits the answer.

    Examples
    --------
    >>> batch_size(Task(n_features=100, sparsity=5, noise_rate=0.0))
    738
    >>> batch_size(Task(n_features=100, sparsity=5, noise_rate=0.05))
    81
    """
    wanted = BATCH_FACTOR * task.sparsity * np.log(2 * task.n_features / task.sparsity)
    size = int(np.ceil(wanted / (task.target_error or DEFAULT_ERROR)))
    if task.noise_rate > 0:
        log_share = np.log(CLEAN_BATCHES / N_BATCHES)
        size = min(size, int(log_share / np.log1p(-task.noise_rate)))
    return max(size, LEAST_BATCH)


def consistent_halfspace(signed_rows: FloatArray) -> FloatArray | None:
    """The w of least l1 norm with w·z ≥ 1 for every row z = y·x, or None if there is none.

    Examples
    --------
    >>> consistent_halfspace(np.array([[2.0, 1.0], [2.0, -1.0]]))
    array([0.5, 0. ])
    >>> consistent_halfspace(np.array([[1.0, 0.0], [-1.0, 0.0]])) is None
    True
    """
    n, d = signed_rows.shape
    answer = scipy.optimize.linprog(
        np.ones(2 * d),
        A_ub=np.hstack([-signed_rows, signed_rows]),
        b_ub=-np.ones(n),
        method="highs",
    )
    return None if answer.x is None else answer.x[:d] - answer.x[d:]


def learn_average(source: Source, task: Task, _rng: np.random.Generator) -> FloatArray:
    """The mean of y·x over rows among which no two are nearly parallel.

    On the sphere in many dimensions independent rows are nearly orthogonal. So at least one of two
    rows with |cos| > C·√(log m / d) is planted, and both go: no planted row removes more than one
    clean row. Planted rows that are alike in only a few features stay.
    """
    Z = draw_signed(source, task)
    limit = CORRELATION_FACTOR * np.sqrt(np.log(max(len(Z), 2)) / task.n_features)
    return unit(average(Z[rows_unlike_others(Z, limit)] if limit < 1 else Z))


def learn_average_of_all(source: Source, task: Task, _rng: np.random.Generator) -> FloatArray:
    """The mean of y·x over all rows."""
    return unit(average(draw_signed(source, task)))


def rows_unlike_others(X: FloatArray, max_cosine: float) -> NDArray[np.intp]:
    """The rows that stay when pairs go whose angle is too close to 0 or π.

    Pairs are taken in the order of the rows; a deleted row is in no further pair.

    Parameters
    ----------
    X : (n, d) rows; their lengths do not matter
    max_cosine : largest |cos| of two rows that both stay

    Examples
    --------
    >>> rows_unlike_others(np.array([[1.0, 0.0], [0.0, 1.0], [-2.0, 0.1], [3.0, 0.0]]), 0.9)
    array([1, 3])
    """
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    directions = (X / np.where(lengths > 0, lengths, 1)).astype(np.float32)
    stays = np.ones(len(X), dtype=np.bool_)
    for start in range(0, len(X), _BLOCK):
        cosines = np.abs(directions[start : start + _BLOCK] @ directions[start:].T)
        alike = np.triu(cosines > max_cosine, k=1)
        for i in np.flatnonzero(alike.any(axis=1)):
            partners = start + np.flatnonzero(alike[i])
            partners = partners[stays[partners]]
            if stays[start + i] and partners.size:
                stays[[start + i, partners[0]]] = False
    return np.flatnonzero(stays)


def learn_polynomial(
    degree: int, max_features: int, source: Source, task: Task, _rng: np.random.Generator
) -> FloatArray:
    """The linear part of the polynomial that fits the labels best in absolute error.

    p = argmin Σ|y − p(x)| over polynomials of degree 1 or 2, by a linear program, on the features
    whose mean of y·x is largest. The paper then predicts sign(p(x) − t) with the best threshold t.
    The laboratory's halfspaces go through the origin, so t is zero, and under a symmetric
    distribution only the linear part of p carries a direction. The constant and the products take
    part in the fit and are then dropped. The s largest entries are kept.
    """
    X, y = draw_sample(source, task)
    means = np.abs(average(y[:, None] * X))
    features = np.argsort(-means, kind="stable")[:max_features]
    coefficients = least_absolute_errors(monomials(X[:, features], degree), y)
    halfspace = np.zeros(task.n_features)
    halfspace[features] = coefficients[: features.size]
    return unit(hard_threshold(halfspace, task.sparsity))


def monomials(X: FloatArray, degree: int) -> FloatArray:
    """The features, then for degree 2 all products of two, then a column of ones.

    Examples
    --------
    >>> monomials(np.array([[2.0, 3.0]]), 2)
    array([[2., 3., 4., 6., 9., 1.]])
    """
    first, second = np.triu_indices(X.shape[1])
    products = [X[:, first] * X[:, second]] if degree == 2 else []
    return np.hstack([X, *products, np.ones((len(X), 1))])


def least_absolute_errors(A: FloatArray, y: FloatArray) -> FloatArray:
    """The coefficients c that minimize Σ|y − A·c|.

    The dual, max of y·u over Aᵀu = 0 and |uᵢ| ≤ 1, has one constraint per coefficient instead of
    one per row, which is many times faster here; its multipliers are the coefficients.

    Raises
    ------
    LearningStopped : the linear program was not solved

    Examples
    --------
    >>> least_absolute_errors(np.ones((5, 1)), np.array([1.0, 2.0, 3.0, 4.0, 90.0]))
    array([3.])
    """
    answer = scipy.optimize.linprog(
        -y, A_eq=A.T, b_eq=np.zeros(A.shape[1]), bounds=(-1, 1), method="highs"
    )
    if answer.status != 0:
        raise LearningStopped(f"the linear program of the L1 fit was not solved: {answer.message}")
    coefficients: FloatArray = -answer.eqlin.marginals
    return coefficients


def learn_without_outliers(source: Source, task: Task, _rng: np.random.Generator) -> FloatArray:
    """The mean of y·x without the rows that stick out in a direction of large variance.

    Klivans, Long and Servedio's algorithm for the uniform distribution.
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
    at the smallest level t with ‖w‖₁ ≤ √s·‖w‖₂, scaled to unit length. Plan and
    Vershynin's convex program has no constants to choose. The method of the arena cuts the answer
    to the s largest entries.
    """
    _, direction = support_l1_l2(
        average(draw_signed(source, task)), l2_radius=1.0, l1_radius=float(np.sqrt(task.sparsity))
    )
    return unit(direction)


_IMPORTS = ("scipy.optimize",)
_KLIVANS_LONG_SERVEDIO = Method(
    name="klivans-long-servedio",
    title="Klivans–Long–Servedio 2009",
    learn=learn_without_outliers,
    claim="Ω(ε²/log(d/ε)) malicious noise, uniform on the ball",
    world=DENSE_TILT.at_most(0.044, beats="averaging-of-all-rows"),
)
METHODS = (
    Method(
        name="kearns-li-consistent",
        title="Kearns–Li 1988",
        learn=keep_largest(learn_consistent),
        claim="Ω(ε/d) malicious noise, any distribution",
        imports=_IMPORTS,
        world=FEW_PLANTED.at_most(0.047, beats="averaging-of-all-rows"),
    ),
    *cut_and_dense(
        Method(
            name="averaging",
            title="Averaging, Kalai et al. 2005",
            learn=learn_average,
            claim="Ω(ε/d^¼) malicious noise, uniform on the sphere",
            world=DENSE_FLIPS.at_most(0.057),
        )
    ),
    Method(
        name="averaging-of-all-rows",
        title="Averaging without deletion",
        learn=keep_largest(learn_average_of_all),
        claim="label noise, uniform on the sphere",
        world=FLIPS.at_most(0.059, beats="linear-svm"),
    ),
    *(
        Method(
            name=name,
            title=f"L1 polynomial regression, degree {degree}, Kalai et al. 2005",
            learn=partial(learn_polynomial, degree, max_features),
            claim="agnostic: label noise, log-concave",
            imports=_IMPORTS,
            world=FLIPS.at_most(max_error, beats="linear-svm"),
        )
        for name, degree, max_features, max_error in (
            ("kalai-polynomial", 1, 30, 0.062),
            ("kalai-polynomial-quadratic", 2, 12, 0.078),
        )
    ),
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
