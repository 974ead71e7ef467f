"""The checkers for arrays of CuPy and Torch: the same claims, checked where the arrays are.

Products and sums over n×d and d×d arrays are taken on the device, in float64; what is left of them
goes through `certificates` on the host. The allowances are the same, since those hold for sums in
any order, fused or not. Only a Cholesky factorization is not trusted: a library for GPUs may take
its steps in another way than its error analysis knows, and may say nothing where it fails. Its
factor is multiplied out instead, and the residual is charged.

NumPy arrays and SciPy matrices are handed to `certificates` as they are.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from thresher import certificates
from thresher.arrays import (
    Array,
    DeviceRows,
    block_of,
    device_blocks,
    diagonal,
    is_foreign,
    largest_magnitude,
    like,
    namespace_of,
    nonzero_columns,
    norm,
    positive_part,
    row_dots,
    to_host,
)
from thresher.certificates import CONVERSIONS, EPS, INF, TINY, FloatArray, demand

N_PANELS = 8  # of a Cholesky factor: what is zero in all of a panel is not multiplied
ON_DEVICE = {"gram", "multiplier", "rows"}


def proves_upper_bound(claim: float, gram: Array, multiplier: Array, **known: float) -> bool:
    """Whether a symmetric multiplier proves max⟨gram, H⟩ over M ≤ claim; see `certificates`."""
    if not is_foreign(gram):
        return certificates.proves_upper_bound(claim, gram, multiplier, **known)
    return _answer(_upper_bound, claim=claim, gram=gram, multiplier=multiplier, **known)


def proves_lower_bound(claim: float, gram: Array, lifted: Array, **known: float) -> bool:
    """Whether a member of M, or a vector v standing for vvᵀ, proves max⟨gram, H⟩ ≥ claim."""
    if not is_foreign(gram):
        return certificates.proves_lower_bound(claim, gram, lifted, **known)
    return _answer(_lower_bound, claim=claim, gram=gram, lifted=to_host(lifted), **known)


def proves_optimum(claim: float, rows: Array, factor: Array, **asked: float) -> bool:
    """Whether factor·factorᵀ proves that no admissible weights have a variance below claim."""
    if not is_foreign(rows):
        return certificates.proves_optimum(claim, rows, factor, **asked)
    return _answer(_optimum, claim=claim, rows=rows, factor=to_host(factor), **asked)


def proves_hinge_bound(claim: float, rows: Any, labels: Any, dual: Any, **asked: Any) -> bool:
    """Whether a dual vector proves that no point of the region has a hinge loss below claim."""
    if not isinstance(rows, DeviceRows):
        return certificates.proves_hinge_bound(claim, rows, labels, dual, **asked)
    check = certificates.proves_hinge_bound.__wrapped__  # type: ignore[attr-defined]
    return _answer(check, claim=claim, rows=rows, labels=labels, dual=dual, **asked)


def rounding_of_moment(gram: Array, n_summed: int) -> float:
    """A bound on the rounding of entries of a second moment."""
    if not is_foreign(gram):
        return certificates.rounding_of_moment(gram, n_summed)
    return (n_summed + 8) * EPS * float(diagonal(gram).max())


def _answer(check: Callable[..., bool], **given: Any) -> bool:
    """The check on converted inputs; False for what is refused or cannot be computed."""
    try:
        with np.errstate(all="ignore"):
            for name in given.keys() - ON_DEVICE:
                given[name] = CONVERSIONS[name](given[name])
            return bool(check(**given))
    except (ValueError, OverflowError, RuntimeError):  # the last is Torch's for a failed Cholesky
        return False


def _upper_bound(
    claim: float,
    gram: Array,
    multiplier: Array,
    *,
    l2_radius: float,
    l1_radius: float,
    gram_error: float = 0.0,
    rest: float = 0.0,
) -> bool:
    _demand_symmetric(gram)
    _demand_symmetric(multiplier)
    demand(gram.shape == multiplier.shape, rest == 0)
    largest = largest_magnitude(multiplier) + gram_error
    l2_radius = min(l2_radius, l1_radius)
    l1_radius = min(l1_radius, gram.shape[0] ** 0.5 * l2_radius)
    charged = l1_radius**2 * largest * (1 + 8 * EPS) + (TINY if largest > 0 else 0)
    if claim == INF or not charged <= claim:
        return claim == INF
    eigenvalue = max((claim - charged) / l2_radius**2 * (1 - 4 * EPS) - TINY, 0.0)
    slack = multiplier - gram
    is_left = nonzero_columns(slack)
    if not is_left.all():
        slack = block_of(slack, np.flatnonzero(is_left))
    return slack.shape[0] == 0 or _is_semidefinite(slack, eigenvalue)


def _is_semidefinite(slack: Array, eigenvalue: float) -> bool:
    """Whether slack + eigenvalue·I has no negative eigenvalue, also before it was rounded.

    With S the matrix after a small shift and any L at all, λmin(S) ≥ −‖S − LLᵀ‖_F. The product is
    rounded by at most γ_d·‖L‖²_F, S by 3u·‖S‖_F, and the shift is what `certificates` takes.
    """
    d, xp = slack.shape[0], namespace_of(slack)
    trace = d * eigenvalue + float(np.abs(diagonal(slack)).sum())
    allowance = (d + 4) * EPS * trace
    shift = eigenvalue - allowance - 8 * (d + 3) ** 2 * TINY
    shifted = xp.eye(d, dtype=slack.dtype, device=slack.device)
    shifted *= shift
    shifted += slack
    factor = xp.linalg.cholesky(shifted)
    residual, squares = _residual(shifted, factor), norm(factor) ** 2
    error = (residual + (d / 2 + 2) * EPS * squares) * (1 + (d**2 + 16) * EPS)
    return error <= allowance * (1 - 8 * EPS)


def _residual(matrix: Array, factor: Array) -> float:
    """‖S − LLᵀ‖_F, where L is what lies below the diagonal blocks of a factor, and in them."""
    d, total = matrix.shape[0], 0.0
    step = -(-d // N_PANELS)
    for start in range(0, d, step):
        end = min(start + step, d)
        rest = matrix[start:end, start:] - factor[start:end, :end] @ factor[start:, :end].T
        # What is right of the diagonal block is below it once more.
        total += 2 * norm(rest) ** 2 - norm(rest[:, : end - start]) ** 2
    return math.sqrt(max(total, 0.0)) * (1 + 8 * EPS)


def _lower_bound(
    claim: float,
    gram: Array,
    lifted: FloatArray,
    *,
    l2_radius: float,
    l1_radius: float,
    gram_error: float = 0.0,
) -> bool:
    _demand_symmetric(gram)
    d, factor = gram.shape[0], lifted.reshape(gram.shape[0], -1)
    if claim <= 0:
        return True
    if lifted.ndim > 1:
        demand(np.array_equal(lifted, lifted.T))
        lift = 4 * (d + 3) * EPS * abs(float(np.trace(lifted)))
        factor = np.linalg.cholesky(lifted + lift * np.eye(d))
    excess, l1_norm, magnitude = certificates._excess(factor, l2_radius, l1_radius)
    image = to_host(gram @ like(factor, gram))
    value = float(np.einsum("ij,ij->j", factor, image).sum())
    value -= (2 * d + factor.shape[1] + 8) * EPS * largest_magnitude(gram) * magnitude
    value -= gram_error * l1_norm + 2 * factor.size * TINY * (1 + magnitude)
    return claim <= value / excess - TINY < INF


def _optimum(
    claim: float,
    rows: Array,
    factor: FloatArray,
    *,
    l2_radius: float,
    l1_radius: float,
    outlier_fraction: float,
) -> bool:
    demand(rows.ndim == 2, rows.dtype == namespace_of(rows).float64)
    factor = factor.reshape(rows.shape[1], -1)
    if claim <= 0 or not factor.any():
        return claim <= 0
    given = like(factor.T, rows).T  # as a rule, that is how it lies in memory
    norms = np.sqrt(np.einsum("ij,ij->j", factor, factor) + rows.shape[1] * TINY)
    scores = [_least_scores(block, given, norms) for _, block in device_blocks(rows)]
    value = certificates.least_mean(np.concatenate(scores), outlier_fraction, factor.shape[1])
    return bool(claim <= value / _excess_of_directions(factor, l2_radius, l1_radius) - TINY)


def _excess_of_directions(factor: FloatArray, l2_radius: float, l1_radius: float) -> float:
    """By which H = F·Fᵀ is too large for M, at most: Σ|H_ij| ≤ Σ_c ‖f_c‖₁².

    For a mixture of directions in both balls that is close enough, and no d×d matrix is formed.
    """
    d, k = factor.shape
    slack, underflow = 1 + 2 * (d + k + 4) * EPS, d * d * k * TINY
    trace = float(np.einsum("ij,ij->j", factor, factor).sum()) * slack + underflow
    l1_norm = float(np.square(np.abs(factor).sum(axis=0)).sum()) * slack + underflow
    demand(trace < INF, l1_norm < INF)
    return max(trace / l2_radius**2, l1_norm / l1_radius**2, 1.0) * (1 + 8 * EPS)


def _least_scores(block: Array, factor: Array, norms: FloatArray) -> FloatArray:
    """For every row x at most xᵀHx with H = factor·factorᵀ; 0 where its squares are no numbers.

    `norms` are at least the lengths of the columns of the factor.
    """
    xp, d = namespace_of(block), block.shape[1]
    squares = row_dots(block, block)
    is_ordinary = (squares > 1e-280) & (squares < 1e280)
    spread = ((d + 3) * EPS * xp.sqrt(squares))[:, None] * like(norms[None], block)
    spread += like((d * TINY * (1 + norms))[None], block)
    certain = positive_part(xp.abs(block @ factor) - spread)
    scores = np.where(to_host(is_ordinary), to_host(row_dots(certain, certain)), 0.0)
    return np.clip(np.nan_to_num(scores - factor.shape[1] * TINY), 0, 1e300 / len(scores))


def _demand_symmetric(matrix: Array) -> None:
    xp = namespace_of(matrix)
    demand(matrix.ndim == 2, matrix.dtype == xp.float64, bool(xp.all(matrix == matrix.T)))
    demand(np.isfinite(largest_magnitude(matrix)))
