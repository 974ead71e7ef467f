"""Filters of unlabeled rows: the labels go to rows that pass, and the mean of y·x is cut to s.

The second moment of y·x is that of x, so a filter needs no labels. Rows without labels cost
nothing and are many, and show less variance by chance. Thresher uses them; here its rivals do.
"""

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from thresher.errors import LearningStopped
from thresher.geometry import Band, hard_threshold
from thresher.learning import PracticalSchedule, Task
from thresher.oracles import DrawRequest, IdArray
from thresher.rivals.methods import filters
from thresher.rivals.methods.earliest import weights_without_outliers
from thresher.rivals.methods.method import (
    Method,
    Source,
    dense_rows,
    label_budget,
    unit,
    variant,
)
from thresher.rivals.worlds import DENSE_TILT, HIJACK
from thresher.solvers.eigen import top_eigenpairs
from thresher.validation import FloatArray

# Weights in [0, 1] for isotropic rows, a task, and the largest fraction that may be planted.
Weigh: TypeAlias = Callable[[FloatArray, Task, float], FloatArray]

FIRST_LABEL_SHARE = 0.5  # for the first mean; the repeats share the others
LEAST_WIDTH = 0.03  # of the last repeat
_REACH = 3.0  # of the accepted rows along the last halfspace, in standard deviations
_MAX_ROUNDS = 40
_CHANCE_MARGIN = 1.2  # over the moments that clean rows show by chance; set by hand


def learn_from_pool(
    weigh: Weigh, n_repeats: int, source: Source, task: Task, rng: np.random.Generator
) -> FloatArray:
    """The mean of y·x over rows that pass a filter, cut to s, and refined near its own boundary.

    The localization is that of Diakonikolas, Kane and Stewart (see `learn_localized`), with three
    changes. Each repeat draws new unlabeled rows near the boundary, the number that Thresher draws
    in a phase, and filters them before it buys labels. Each halfspace is cut to the s largest
    entries. So a repeat needs labels in proportion to s, and there is no rule that asks for 2d. The
    repeats are few, because each needs enough labels to find the right features, and narrow.

    Raises
    ------
    LearningStopped : the source has no row
    """
    halfspace = np.zeros(task.n_features)
    for width, n_labels in plan_repeats(task, n_repeats):
        X, ids = localized_rows(source, task, halfspace, width, rng)
        if len(X) == 0:
            break
        share = filters.dirty_share(task.noise_rate, width)
        chosen = sample_by_weight(weigh(X, task, share), n_labels, rng)
        labels = source.reveal(ids[chosen])
        mean = filters.filtered_mean(labels[:, None] * X[chosen], share)
        halfspace = unit(hard_threshold(filters.unstretched(mean, halfspace, width), task.sparsity))
    if not halfspace.any():
        raise LearningStopped("the source gave no row to learn from")
    return halfspace


def plan_repeats(task: Task, n_repeats: int) -> list[tuple[float, int]]:
    """The widths of the first mean and of the repeats, with their numbers of labels.

    A width is the standard deviation of clean rows along the last halfspace. The last repeat is
    wider if an adversary could own too many of its rows.

    Examples
    --------
    >>> task = Task(n_features=500, sparsity=10, noise_rate=0.08, label_budget=1500)
    >>> [(round(width, 2), n_labels) for width, n_labels in plan_repeats(task, 2)]
    [(1.0, 750), (0.45, 375), (0.2, 375)]
    """
    n_labels, odds = label_budget(task), filters.MAX_DIRTY_SHARE / (1 - filters.MAX_DIRTY_SHARE)
    narrowest = max(LEAST_WIDTH, task.noise_rate / (1 - task.noise_rate) / odds)
    n_first = max(1, round(FIRST_LABEL_SHARE * n_labels))
    n_each = (n_labels - n_first) // max(n_repeats, 1)
    if n_repeats == 0 or n_each == 0 or narrowest >= 1:
        return [(1.0, n_labels)]
    fractions = np.arange(1, n_repeats + 1) / n_repeats
    return [(1.0, n_first), *((width, n_each) for width in (narrowest**fractions).tolist())]


def sample_by_weight(
    weights: FloatArray, n_rows: int, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Distinct rows, drawn with probabilities proportional to their weights.

    Examples
    --------
    >>> sorted(sample_by_weight(np.array([1.0, 0.0, 0.5]), 5, np.random.default_rng(0)).tolist())
    [0, 2]
    """
    total = float(weights.sum())
    if total == 0:
        weights, total = np.ones(len(weights)), float(len(weights))
    n_rows = min(n_rows, int(np.count_nonzero(weights)))
    return rng.choice(len(weights), size=n_rows, replace=False, p=weights / total)


def localized_rows(
    source: Source, task: Task, halfspace: FloatArray, width: float, rng: np.random.Generator
) -> tuple[FloatArray, IdArray]:
    """Unlabeled rows near the boundary, accepted and stretched so that clean ones are isotropic.

    At width 1, all rows from everywhere. The number of rows is that of Thresher's first phase.
    """
    is_local = width < 1
    band = Band(halfspace, _REACH * width) if is_local else Band(np.zeros(task.n_features), np.inf)
    phase = PracticalSchedule().next_phase(task, ())
    n_rows = max(label_budget(task), phase.n_unlabeled if phase else 0)
    drawn = source.draw(DrawRequest(n_rows=n_rows, band=band))
    X = dense_rows(drawn.X)
    if not is_local:
        return X, drawn.ids
    kept, stretched = filters.near_boundary(X, halfspace, width, rng)
    return stretched, drawn.ids[kept]


# -- the filters -----------------------------------------------------------------------------------


def weigh_by_variance(X: FloatArray, _task: Task, share: float) -> FloatArray:
    """The dense spectral filter of Diakonikolas, Kane and Stewart 2018."""
    return filters.filter_weights(X, share)


def weigh_by_deletion(X: FloatArray, _task: Task, _share: float) -> FloatArray:
    """The deletion of Klivans, Long and Servedio 2009."""
    return weights_without_outliers(X, np.ones(len(X)))


def weigh_by_sparse_moments(X: FloatArray, task: Task, share: float) -> FloatArray:
    """The sparse filter of Diakonikolas, Kane, Karmalkar, Price and Stewart 2019.

    "Outlier-Robust High-Dimensional Sparse Estimation via Iterative Filtering": with M the weighted
    second moment minus the identity, A holds its k largest diagonal and k² − k largest off-diagonal
    entries, in absolute value. While ‖A‖_F is above what clean rows show, rows lose weight: those
    far out along the top eigenvector of M on the k features of the diagonal, beyond a Gaussian
    tail; if it shows none, those with a large xᵀAx − tr A, beyond the tail of a Gaussian's.

    Clean rows show up to C·η·log(1/η), where C = 1, and k·√(2·log(d²/k²)/n) by chance; the paper's
    constants are meant for proofs. Rows lose weight where the paper deletes them.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((4000, 40))
    >>> X[:200, :4] = 1.5
    >>> weights = weigh_by_sparse_moments(X, Task(n_features=40, sparsity=4, noise_rate=0.05), 0.05)
    >>> bool(weights[:200].mean() < 0.3), bool(weights[200:].mean() > 0.95)
    (True, True)
    """
    n, d = X.shape
    k = min(task.sparsity, d)
    chance = k * np.sqrt(2 * np.log(max(d / k, 2.0) ** 2) / n)
    allowed = _CHANCE_MARGIN * chance + (-share * np.log(share) if share > 0 else 0.0)
    weights = weights_within_reach(X)
    for _ in range(_MAX_ROUNDS):
        total = float(weights.sum())
        moment = (X.T * weights) @ X / total - np.eye(d)
        entries, features = largest_entries(moment, k)
        size = float(np.linalg.norm(entries))
        if size <= allowed:
            break
        _, vectors = top_eigenpairs(moment[np.ix_(features, features)], 1)
        lighter = filters.without_tails(X[:, features] @ vectors[:, -1], 1.0, weights)
        if lighter is weights:
            lighter = _by_form(X, entries / size, weights)
        if lighter is weights:
            break
        weights = lighter
    return weights


def weights_within_reach(X: FloatArray) -> FloatArray:
    """Full weight for rows without an entry that is larger than Gaussian rows ever have.

    Examples
    --------
    >>> weights_within_reach(np.array([[1.0, -2.0], [0.0, 40.0]]))
    array([1., 0.])
    """
    largest = np.abs(X).max(axis=1)
    limit = max(np.sqrt(2 * np.log(10 * X.size)), float(largest.min()))
    return (largest <= limit).astype(np.float64)


def largest_entries(moment: FloatArray, k: int) -> tuple[FloatArray, NDArray[np.intp]]:
    """The k largest diagonal and k² − k off-diagonal entries, and the features of the former.

    Examples
    --------
    >>> entries, features = largest_entries(np.array([[3.0, 1, 2], [1, 0, 4], [2, 4, -5.0]]), 2)
    >>> entries.tolist(), features.tolist()
    ([[3.0, 0.0, 0.0], [0.0, 0.0, 4.0], [0.0, 4.0, -5.0]], [0, 2])
    """
    d = len(moment)
    features = np.sort(np.argsort(-np.abs(np.diag(moment)), kind="stable")[:k])
    entries = np.zeros_like(moment)
    entries[features, features] = moment[features, features]
    rows, columns = np.triu_indices(d, 1)
    n_pairs = min((k * k - k) // 2, rows.size)
    if n_pairs:
        sizes = np.abs(moment[rows, columns])
        largest = np.argpartition(-sizes, n_pairs - 1)[:n_pairs]
        rows, columns = rows[largest], columns[largest]
        entries[rows, columns] = entries[columns, rows] = moment[rows, columns]
    return entries, features


def _by_form(X: FloatArray, form: FloatArray, weights: FloatArray) -> FloatArray:
    """The weights, with less on rows whose quadratic form is larger than a Gaussian explains.

    A form of Frobenius norm 1 exceeds 2√t + 2t with probability at most e⁻ᵗ (Laurent, Massart).
    """
    used = np.flatnonzero(form.any(axis=0))
    part = X[:, used]
    values = np.einsum("ij,ij->i", part @ form[np.ix_(used, used)], part) - np.trace(form)
    excess = np.maximum(values, 0.0)
    tail = np.exp(-np.square((np.sqrt(1 + 2 * excess) - 1) / 2))
    return filters.without_surplus(excess, tail, weights)


_SPARSE_FILTER = Method(
    name="sparse-filter",
    title="Sparse filter (Diakonikolas et al. 2019), on unlabeled rows",
    learn=partial(learn_from_pool, weigh_by_sparse_moments, 0),
    claim="O(η√log(1/η)) error, Gaussian, sparse",
    world=HIJACK.at_most(0.059, beats="averaging-of-all-rows"),
)
METHODS = (
    Method(
        name="klivans-long-servedio-strengthened",
        title="Klivans–Long–Servedio 2009, on unlabeled rows",
        learn=partial(learn_from_pool, weigh_by_deletion, 0),
        claim="Ω(ε²/log(d/ε)) malicious noise, uniform on the ball",
        world=DENSE_TILT.at_most(0.035, beats="averaging-of-all-rows"),
    ),
    Method(
        name="diakonikolas-kane-stewart-strengthened",
        title="Diakonikolas–Kane–Stewart 2018, on unlabeled rows, localized sparsely",
        learn=partial(learn_from_pool, weigh_by_variance, 2),
        claim="O(η) error, Gaussian",
        world=HIJACK.at_most(0.015, beats="diakonikolas-kane-stewart"),
    ),
    _SPARSE_FILTER,
    variant(
        _SPARSE_FILTER,
        "localized",
        "localized sparsely",
        partial(learn_from_pool, weigh_by_sparse_moments, 2),
        world=HIJACK.at_most(0.015, beats="sparse-filter"),
    ),
)
