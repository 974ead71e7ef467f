"""Independent checkers: each accepts or refuses one claim, and trusts nothing but the data.

NumPy only, no solver code, nothing of Thresher imported: the checkers recompute what they are told
and leave room for rounding on the safe side, so an accepted claim holds in exact arithmetic. `r`
and `rho` are the l2 and l1 radii, M = {H ⪰ 0, tr H ≤ r², Σ|H_ij| ≤ ρ²} is the lifted region.
Inputs are assumed to be finite arrays of matching shapes; a claim of NaN is always refused.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
EPS = float(np.finfo(np.float64).eps)  # twice the unit roundoff: every allowance below is doubled
BLOCK_BYTES = 2**24
OVERFLOWS = np.errstate(over="ignore", invalid="ignore")  # what is no number proves nothing


@OVERFLOWS
def proves_upper_bound(
    claim: float,
    gram: FloatArray,
    multiplier: FloatArray,
    *,
    l2_radius: float,
    l1_radius: float,
    gram_error: float = 0.0,
    rest: float = 0.0,
) -> bool:
    """Whether a symmetric multiplier proves max⟨gram, H⟩ over M ≤ claim.

    ⟨A,H⟩ = ⟨A−U,H⟩ + ⟨U,H⟩ ≤ r²·max(λmax(A−U), 0) + ρ²·max|U_ij| for any symmetric U. The largest
    eigenvalue is bounded by a Cholesky factorisation: if it succeeds on λI − S in floating point,
    then λmax(S) ≤ λ + (d+1)·eps·trace (Rump 2006). `gram_error` bounds the error of each entry.
    If `gram` is a block of a larger matrix, `rest` bounds the entries outside of it: there U is the
    matrix itself, and A − U is zero.
    """
    if not math.isfinite(claim) or not np.array_equal(multiplier, multiplier.T):
        return claim == math.inf
    d = gram.shape[0]
    largest = float(np.maximum(np.abs(multiplier).max() + gram_error, rest))  # NaN stays NaN
    l2_radius = min(l2_radius, l1_radius)  # tr H ≤ Σ|H_ij|
    if rest == 0:
        l1_radius = min(l1_radius, math.sqrt(d) * l2_radius)  # Σ|H_ij| ≤ d·tr H
    eigenvalue = (claim - l1_radius**2 * largest * (1 + 4 * EPS)) / l2_radius**2 * (1 - 4 * EPS)
    if not 0 <= eigenvalue < math.inf:
        return False
    slack = multiplier - gram
    is_left = slack.any(axis=0)  # elsewhere A − U is zero, and so are its eigenvalues
    if not is_left.any():
        return True
    if not is_left.all():
        slack = slack[np.ix_(is_left, is_left)]
    d = slack.shape[0]
    diagonal = np.einsum("ii->i", slack)
    subtraction = d * EPS * (float(np.abs(diagonal).max()) + 2 * largest)
    allowance = (d + 3) * EPS * (d * eigenvalue + float(np.abs(diagonal).sum())) + subtraction
    diagonal += eigenvalue - allowance
    return _is_positive_definite(slack)


@OVERFLOWS
def proves_lower_bound(
    claim: float,
    gram: FloatArray,
    lifted: FloatArray,
    *,
    l2_radius: float,
    l1_radius: float,
    gram_error: float = 0.0,
) -> bool:
    """Whether a member of M, or a vector v standing for vvᵀ, proves max⟨gram, H⟩ ≥ claim.

    A positive semidefinite matrix that is too large is scaled into M first; one that is not
    positive semidefinite proves nothing. `gram_error` bounds the error of each entry.
    """
    if not math.isfinite(claim):
        return claim == -math.inf
    d = gram.shape[0]
    if lifted.ndim == 1:
        trace, l1_norm = float(lifted @ lifted), _square(float(np.abs(lifted).sum()))
        value, magnitude = float(lifted @ gram @ lifted), float(np.abs(gram).max()) * l1_norm
    else:
        if not np.array_equal(lifted, lifted.T):
            return False
        trace, l1_norm = float(np.trace(lifted)), float(np.abs(lifted).sum())
        # If the factorization succeeds, then H + lift·I is positive semidefinite.
        lift = 8 * (d + 3) * EPS * abs(trace)
        shifted = lifted + lift / 2 * np.eye(d)
        if not _is_positive_definite(shifted):
            return False
        trace, l1_norm = trace + d * lift, l1_norm + d * lift
        # Summed row by row, so that d terms at a time round, and not d² in one sum.
        inner_products = np.einsum("ij,ij->i", gram, lifted)
        value = float(inner_products.sum()) - lift * abs(float(np.trace(gram)))
        magnitude = float(np.abs(gram).max()) * l1_norm
    value -= (4 * d * EPS) * magnitude + gram_error * l1_norm
    return claim <= _scaled_into(value, trace, l1_norm, l2_radius, l1_radius) or claim <= 0


@OVERFLOWS
def proves_optimum(
    claim: float,
    rows: Any,
    factor: FloatArray,
    *,
    l2_radius: float,
    l1_radius: float,
    outlier_fraction: float,
) -> bool:
    """Whether H = factor·factorᵀ proves that no admissible weights have a variance below claim.

    Weights in [0,1] with sum ≥ (1−ξ)n leave at least the (1−ξ)n smallest xᵀHx, the last one in
    part; their sum over n bounds the weighted variance of any such weights from below. This is
    the only proof that Algorithm 2 is infeasible.
    """
    factor = factor.reshape(rows.shape[1], -1)
    n, k = rows.shape[0], factor.shape[1]
    used = np.flatnonzero(factor.any(axis=1))
    if claim <= 0 or used.size == 0:
        return claim <= 0
    if 4 * used.size > rows.shape[1]:
        used = np.arange(rows.shape[1])  # gathering most columns costs more than using them all
    factor = factor[used]
    scores = np.empty(n)
    for start, block in _dense_blocks(rows, used):
        scores[start : start + len(block)] = _least_scores(block, factor)
    scores.sort()
    kept = (1 - outlier_fraction) * n * (1 - 4 * EPS)
    whole = int(kept)
    total = scores[:whole].sum() + (kept - whole) * (scores[whole] if whole < n else 0.0)
    trace = float(np.einsum("ij,ij->", factor, factor))
    if k > 1:
        lifted = float(np.abs(factor @ factor.T).sum())
    else:
        lifted = _square(float(np.abs(factor).sum()))
    value = total / n * (1 - (n + k) * EPS)
    slack = 1 + 4 * (used.size + k) * EPS
    return bool(claim <= _scaled_into(value, trace * slack, lifted * slack, l2_radius, l1_radius))


def proves_hinge_bound(
    claim: float,
    rows: Any,
    labels: FloatArray,
    dual: FloatArray,
    *,
    center: FloatArray,
    l2_radius: float,
    l1_radius: float,
    hinge_scale: float,
    sample_weight: FloatArray,
) -> bool:
    """Whether a dual vector α in [0,1] proves min over W of the weighted mean hinge loss ≥ claim.

    With weights p of sum 1, z = y·x/τ and c = 1 − z·u:  Σ pαc − σ(Σ pαz) is such a bound, where
    σ(g) ≤ r‖S_t(g)‖₂ + ρt for any t ≥ 0.
    """
    if claim <= 0:
        return True  # the hinge loss is never negative
    alpha = np.clip(dual, 0, 1) * (sample_weight / sample_weight.sum())
    signed = alpha * labels
    gradient = np.asarray(rows.T @ signed).ravel()
    m, d = rows.shape
    step = max(1, BLOCK_BYTES // (64 * max(d, 1)))  # not all at once: abs makes a copy
    starts = range(0, m, step)
    blocks = [abs(rows[i : i + step]).T @ alpha[i : i + step] for i in starts]
    magnitude = np.sum([np.asarray(block).ravel() for block in blocks], axis=0)
    doubt = (m + d) * EPS * float(magnitude.max())
    constant = float(alpha.sum()) - float(gradient @ center) / hinge_scale
    constant_doubt = (m + d) * EPS * float(alpha.sum()) + float(
        ((m + d) * EPS * magnitude) @ np.abs(center)
    ) / hinge_scale
    l1_radius = min(l1_radius, math.sqrt(d) * l2_radius)  # ‖v‖₁ ≤ √d·‖v‖₂
    support = _support_from_above(gradient, l2_radius, l1_radius) + l1_radius * doubt
    support /= hinge_scale
    return bool(claim <= constant - constant_doubt - support * (1 + d * EPS))


def accepts_worst_direction(
    gram: FloatArray,
    answer: Any,
    *,
    l2_radius: float,
    l1_radius: float,
    tolerance: float = 1e-3,
) -> bool:
    """Whether bounds and status of an answer of `worst_direction` on this matrix are proven."""
    witness = answer.direction if answer.direction is not None else answer.lifted
    radii = {"l2_radius": l2_radius, "l1_radius": l1_radius}
    close = answer.upper - answer.lower <= tolerance * answer.upper < math.inf
    return (
        proves_lower_bound(answer.lower, gram, witness, **radii)
        and proves_upper_bound(answer.upper, gram, answer.multiplier, **radii)
        and answer.status == ("converged" if close else "undecided")
    )


def accepts_removal(
    rows: Any,
    answer: Any,
    *,
    l2_radius: float,
    l1_radius: float,
    outlier_fraction: float,
    max_variance: float | None = None,
    tolerance: float = 0.05,
) -> bool:
    """Whether weights, bounds and status of an answer of `remove_outliers` are all proven."""
    radii = {"l2_radius": l2_radius, "l1_radius": l1_radius}
    if not proves_weights(answer.weights, outlier_fraction):
        return False
    kept, direction, rest = answer.weights > 0, answer.direction, 0.0
    block, weights, n = rows[kept], answer.weights[kept], rows.shape[0]
    if answer.columns is not None:
        if not _is_selection(answer.columns, rows.shape[1]):
            return False
        bounds = largest_in_columns(block, weights, n_rows=n)
        rest = float(np.delete(bounds, answer.columns).max(initial=0.0))
        block, direction = block[:, answer.columns], direction[answer.columns]
        radii["l1_radius"] = min(l1_radius, math.sqrt(rows.shape[1]) * l2_radius)
    gram, error = weighted_second_moment(block, weights, n_rows=n)
    return (
        proves_lower_bound(answer.variance_lower, gram, direction, gram_error=error, **radii)
        and proves_upper_bound(
            answer.variance_upper, gram, answer.multiplier, gram_error=error, rest=rest, **radii
        )
        and proves_optimum(
            answer.optimum_lower, rows, answer.factor, outlier_fraction=outlier_fraction, **radii
        )
        and _removal_status(answer, max_variance, tolerance) == answer.status
    )


def accepts_hinge(
    rows: Any,
    labels: FloatArray,
    answer: Any,
    *,
    center: FloatArray,
    l2_radius: float,
    l1_radius: float,
    hinge_scale: float,
    sample_weight: FloatArray,
    tolerance: float = 1e-3,
) -> bool:
    """Whether point, loss, lower bound and status of an answer of `minimize_hinge` are proven."""
    offset = answer.point - center
    inside = np.linalg.norm(offset) <= l2_radius * (1 + 1e-9)
    inside &= np.abs(offset).sum() <= l1_radius * (1 + 1e-9)
    margins = labels * np.asarray(rows @ answer.point).ravel() / hinge_scale
    loss = float(np.average(np.maximum(1 - margins, 0), weights=sample_weight))
    status = "converged" if answer.loss - answer.lower_bound <= tolerance else "undecided"
    return bool(
        inside
        and abs(answer.loss - loss) <= 1e-9 * max(1.0, loss)
        and answer.status == status
        and proves_hinge_bound(
            answer.lower_bound,
            rows,
            labels,
            answer.dual,
            center=center,
            l2_radius=l2_radius,
            l1_radius=l1_radius,
            hinge_scale=hinge_scale,
            sample_weight=sample_weight,
        )
    )


def proves_weights(weights: FloatArray, outlier_fraction: float) -> bool:
    """Whether weights lie in [0,1] and sum to at least (1−ξ)n, up to rounding of the sum."""
    n = weights.size
    in_range = bool(np.all((weights >= 0) & (weights <= 1)))
    return in_range and float(weights.sum()) >= (1 - outlier_fraction) * n * (1 - n * EPS)


@OVERFLOWS
def weighted_second_moment(
    rows: Any, weights: FloatArray, *, n_rows: int
) -> tuple[FloatArray, float]:
    """(1/n)Σ weights·xxᵀ, and a bound on the rounding error of each of its entries."""
    d = rows.shape[1]
    gram = np.zeros((d, d))
    step = max(1, BLOCK_BYTES // (8 * d))
    for start in range(0, rows.shape[0], step):
        block, roots = rows[start : start + step], np.sqrt(weights[start : start + step, None])
        if 10 * getattr(block, "nnz", math.inf) < block.shape[0] * d:  # sparse, and worth it
            scaled = block.multiply(roots).tocsr()
            gram += (scaled.T @ scaled).toarray()
        else:
            scaled = (block.toarray() if hasattr(block, "toarray") else block) * roots
            gram += scaled.T @ scaled
    gram /= n_rows
    return (gram + gram.T) / 2, rounding_of_moment(gram, rows.shape[0])


@OVERFLOWS
def largest_in_columns(rows: Any, weights: FloatArray, *, n_rows: int) -> FloatArray:
    """For each column at least the magnitude of every entry that (1/n)Σ weights·xxᵀ has in it.

    |Σ q·x_i·x_j| ≤ Σ q·|x_i|·max_k|x_k|, raised by what the sum may have been rounded.
    """
    magnitudes = abs(rows)
    largest = magnitudes.max(axis=1)
    largest = np.ravel(largest.toarray() if hasattr(largest, "toarray") else largest)
    sums = np.ravel(magnitudes.T @ (weights * largest))
    return sums / n_rows * (1 + (rows.shape[0] + 8) * EPS)


def rounding_of_moment(gram: FloatArray, n_summed: int) -> float:
    """A bound on the rounding error of each entry of a second moment summed over rows."""
    return (n_summed + 8) * EPS * float(np.einsum("ii->i", gram).max())


def _least_scores(block: FloatArray, factor: FloatArray) -> FloatArray:
    """For every row x at most xᵀHx with H = factor·factorᵀ, whatever the rounding; always finite.

    Rows whose squared length is no number are divided by their largest entry first.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        squares, sizes = np.einsum("ij,ij->i", block, block), np.ones(len(block))
        huge = np.flatnonzero(~(squares < 1e300))
        if huge.size:
            sizes[huge] = np.abs(block[huge]).max(axis=1)
            block = block / sizes[:, None]
            squares = np.einsum("ij,ij->i", block, block)
        doubt = (block.shape[1] + 3) * EPS * np.sqrt(squares)
        spread = doubt[:, None] * np.sqrt(np.einsum("ij,ij->j", factor, factor))
        certain = np.maximum(np.abs(block @ factor) - spread, 0) * sizes[:, None]
        scores = np.einsum("ij,ij->i", certain, certain)
    # Lower is safe: what is no number counts nothing, what overflowed less than it should.
    return np.minimum(np.nan_to_num(scores, nan=0.0), 1e300 / len(block))


def _removal_status(answer: Any, max_variance: float | None, tolerance: float) -> str:
    if max_variance is None:
        tight = answer.variance_lower <= (1 + tolerance) * answer.optimum_lower
        return "tightest" if tight else "undecided"
    if answer.variance_upper <= max_variance:
        return "feasible"
    return "infeasible" if answer.optimum_lower > max_variance else "undecided"


def _is_selection(columns: NDArray[np.intp], n_columns: int) -> bool:
    """Whether columns are named in ascending order, at least one, each once."""
    ascending = bool(np.all(np.diff(columns) > 0))
    return columns.size > 0 and ascending and columns[0] >= 0 and columns[-1] < n_columns


def _square(value: float) -> float:
    return value * value  # `value**2` raises OverflowError


def _scaled_into(
    value: float, trace: float, l1_norm: float, l2_radius: float, l1_radius: float
) -> float:
    excess = max(trace / l2_radius**2, l1_norm / l1_radius**2, 1.0) * (1 + 8 * EPS)
    return value / excess


def _is_positive_definite(matrix: FloatArray) -> bool:
    try:
        factor = np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return math.isfinite(float(np.trace(factor)))  # LAPACK lets NaN pass


def _support_from_above(gradient: FloatArray, l2_radius: float, l1_radius: float) -> float:
    """The least value found of r‖S_t(g)‖₂ + ρt, a convex function of t; any t is an upper bound."""
    scale = float(np.abs(gradient).max())
    if scale == 0:
        return 0.0
    magnitudes = np.abs(gradient) / scale  # so that no square vanishes

    def value(level: float) -> float:
        excess = np.maximum(magnitudes - level, 0)
        return l2_radius * float(np.sqrt(excess @ excess)) + l1_radius * level

    low, high = 0.0, 1.0
    best = min(value(low), value(high))
    for _ in range(80):
        third = (high - low) / 3
        left, right = value(low + third), value(high - third)
        best = min(best, left, right)
        low, high = (low, high - third) if left <= right else (low + third, high)
    return best * scale * (1 + 4 * EPS)


def _dense_blocks(rows: Any, columns: NDArray[np.intp] | None) -> Any:
    width = rows.shape[1] if columns is None else columns.size
    step = max(1, BLOCK_BYTES // (8 * max(width, 1)))
    for start in range(0, rows.shape[0], step):
        block = rows[start : start + step]
        if columns is not None and columns.size < rows.shape[1]:
            block = block[:, columns]
        yield start, block.toarray() if hasattr(block, "toarray") else np.asarray(block)
