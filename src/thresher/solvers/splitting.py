"""A first-order method for the worst direction, for when the cheap bounds are not close enough.

Alternating directions (ADMM) on  max ⟨A,H⟩  over  H ⪰ 0, tr H ≤ 1  and  Z with Σ|Z_ij| ≤ ρ²,
H = Z. Each step is one eigendecomposition and one soft-thresholding; the scaled multiplier of H = Z
is, times the penalty, a symmetric U whose bound λmax(A−U)₊ + ρ²·max|U_ij| falls to the optimum.
"""

from dataclasses import dataclass

import numpy as np

from thresher.arrays import (
    column_products,
    inner_product,
    largest_magnitude,
    like,
    namespace_of,
    take,
    to_host,
)
from thresher.geometry.balls import simplex_level, soft_threshold
from thresher.solvers.eigen import largest_eigenvalue, top_eigenpairs
from thresher.validation import FloatArray

RELAXATION = 1.7
PENALTY = 4.0  # times the upper bound; measured: 1 to 10 is flat, .05 takes eight times the steps
CHECK_EVERY = 5
PATIENCE = 200  # steps without one percent of progress in the gap before giving up


@dataclass(frozen=True)
class Bracket:
    """Bounds on the worst direction with what attains them: a member of M and a multiplier.

    `lifted` may be a vector v standing for vvᵀ.
    """

    lower: float
    lifted: FloatArray
    upper: float
    multiplier: FloatArray

    @property
    def gap(self) -> float:
        return relative_gap(self.lower, self.upper)


def relative_gap(lower: float, upper: float) -> float:
    """Relative distance of two bounds."""
    if upper == np.inf:
        return 1.0
    return (upper - lower) / upper if upper > 0 else 0.0


def close_bracket(
    gram: FloatArray, start: Bracket, l1_radius: float, *, gap: float, max_iterations: int
) -> Bracket:
    """A bracket at least as good as the one given, closed to a relative gap if that is reached.

    The entries of the matrix have ordinary size, and the l2 radius is 1. The closer the bracket to
    begin with, the fewer steps; after `max_iterations` of them it is returned as it is.
    """
    negligible = 1e-12 * largest_magnitude(gram)  # rounding allows no proof of less
    if start.upper <= negligible:
        return start  # (almost) negative semidefinite: no penalty fits an answer of zero
    best, penalty = start, PENALTY * start.upper
    lifted = start.lifted
    copy = lifted[:, None] * lifted[None, :] if lifted.ndim == 1 else lifted
    dual = start.multiplier / penalty
    reference, since, rank = start.gap, 0, 16
    for iteration in range(1, max_iterations + 1):
        lifted, rank = _project_trace(copy - dual + gram / penalty, n_pairs=rank + rank // 4 + 8)
        mixed = RELAXATION * lifted + (1 - RELAXATION) * copy
        copy = _project_l1(mixed + dual, l1_radius**2)
        dual = dual + mixed - copy
        if iteration % CHECK_EVERY:
            continue
        best = improve(best, gram, lifted, penalty * dual, l1_radius)
        if best.gap <= gap or best.upper <= negligible:
            break
        if best.gap < 0.99 * reference:
            reference, since = best.gap, iteration
        elif iteration - since >= PATIENCE:
            break
    return best


def improve(
    best: Bracket, gram: FloatArray, lifted: FloatArray, multiplier: FloatArray, l1_radius: float
) -> Bracket:
    """The better of two witnesses on each side, judged separately."""
    xp = namespace_of(gram)
    excess = max(1.0, float(xp.sum(xp.abs(lifted))) / l1_radius**2)
    lower = inner_product(gram, lifted) / excess
    multiplier = (multiplier + multiplier.T) / 2
    top = largest_eigenvalue(gram - multiplier)
    upper = max(top, 0.0) + l1_radius**2 * largest_magnitude(multiplier)
    below = (lower, lifted / excess) if lower > best.lower else (best.lower, best.lifted)
    above = (upper, multiplier) if upper < best.upper else (best.upper, best.multiplier)
    return Bracket(*below, *above)


def _project_trace(matrix: FloatArray, n_pairs: int) -> tuple[FloatArray, int]:
    """The closest positive semidefinite matrix of trace at most 1, and its rank.

    Only eigenvalues above the level of the trace constraint matter, so only about `n_pairs` of
    them are computed: more, if those do not reach down to the level.
    """
    d = matrix.shape[0]
    while True:
        values, vectors = top_eigenpairs(matrix, n_pairs)
        values = to_host(values)
        level = max(simplex_level(values, 1.0), 0.0)
        if values[0] <= level or values.size == d:
            break
        n_pairs += n_pairs // 2
    used = np.flatnonzero(values > level)
    half = take(vectors, used, axis=1) * like(np.sqrt(values[used] - level), vectors)
    return column_products(half.T), used.size


def _project_l1(matrix: FloatArray, bound: float) -> FloatArray:
    """The closest matrix whose entries' magnitudes sum to at most the bound."""
    xp = namespace_of(matrix)
    magnitudes = xp.abs(matrix)
    if float(xp.sum(magnitudes)) <= bound:
        return matrix
    return soft_threshold(matrix, simplex_level(magnitudes, bound))
