"""The earliest methods: consistent halfspaces of batches, averaging, and L1 regression.

Kearns and Li 1988, "Learning in the Presence of Malicious Errors"; Kalai, Klivans, Mansour and
Servedio 2005, "Agnostically Learning Halfspaces", where averaging without rows that are too much
alike is for malicious noise, and regression on polynomials for label noise.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import scipy
from numpy.typing import NDArray

from thresher.errors import LearningStopped
from thresher.geometry import hard_threshold
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
)
from thresher.rivals.worlds import DENSE_FLIPS, FEW_PLANTED, FLIPS
from thresher.validation import FloatArray

N_BATCHES = 200  # at most
BATCH_FACTOR = 2.0  # constant of the batch size
DEFAULT_ERROR = 0.05  # if the task has no target error
HELD_SHARE = 0.25  # of the labels, to choose among the halfspaces
LEAST_BATCH = 2
CLEAN_BATCHES = 3  # expected number
SHRINKAGE = 0.9
CORRELATION_FACTOR = 2.0  # with it, about one pair of m clean rows is deleted
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


_IMPORTS = ("scipy.optimize",)
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
    Method(
        name="kalai-polynomial",
        title="L1 polynomial regression, degree 1, Kalai et al. 2005",
        learn=partial(learn_polynomial, 1, 30),
        claim="agnostic: label noise, log-concave",
        imports=_IMPORTS,
        world=FLIPS.at_most(0.062, beats="linear-svm"),
    ),
    Method(
        name="kalai-polynomial-quadratic",
        title="L1 polynomial regression, degree 2, Kalai et al. 2005",
        learn=partial(learn_polynomial, 2, 12),
        claim="agnostic: label noise, log-concave",
        imports=_IMPORTS,
        world=FLIPS.at_most(0.078, beats="linear-svm"),
    ),
)
