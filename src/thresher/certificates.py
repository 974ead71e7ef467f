"""Independent checkers: each accepts or refuses one claim, and trusts nothing but the data.

NumPy only, nothing of Thresher imported. M = {H ⪰ 0, tr H ≤ r², Σ|H_ij| ≤ ρ²}. Every array becomes
float64 (indices intp) without rounding, or the claim is refused; `CONVERSIONS` says what else is.

An accepted claim holds in exact arithmetic. With u = EPS/2 every operation returns (exact)(1+δ)+η,
|δ| ≤ u, |η| ≤ TINY, and η ≠ 0 only where a product or quotient underflows. Hence a sum of n
products errs by at most γ_n·Σ|xy| + n·TINY, γ_n = nu/(1−nu), in any order (BLAS, pairwise), fused
or not. Allowances count the roundings on the way to a number and charge N·EPS for N of them: twice
N·u, which covers γ_N and their own rounding. What overflows is not finite, and proves nothing.
"""

import inspect
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial, wraps
from numbers import Integral, Real
from typing import Any, ParamSpec

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Given = ParamSpec("Given")
EPS, TINY, INF = float(np.finfo(float).eps), float(np.finfo(float).tiny), math.inf
BLOCK_BYTES = 2**24


def _checker(check: Callable[Given, bool]) -> Callable[Given, bool]:
    """The check on converted inputs; False for what is refused or cannot be computed."""

    @wraps(check)
    def answer(*args: Given.args, **kwargs: Given.kwargs) -> bool:
        given = inspect.signature(check).bind(*args, **kwargs)
        try:
            with np.errstate(all="ignore"):
                for name in given.arguments.keys() & CONVERSIONS.keys():
                    given.arguments[name] = CONVERSIONS[name](given.arguments[name])
                return bool(check(*given.args, **given.kwargs))
        except (ValueError, OverflowError):  # a failed Cholesky is a ValueError
            return False

    return answer


@_checker
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

    ⟨A,H⟩ = ⟨A−U,H⟩ + ⟨U,H⟩ ≤ r²·max(λmax(A−U), 0) + ρ²·max|U_ij| for any symmetric U. `gram_error`
    bounds the error of each entry. If `gram` is a block of a larger matrix, `rest` bounds the
    entries outside of it: there U is the matrix itself, and A − U is zero.
    """
    demand(gram.shape == multiplier.shape, hasattr(gram, "nnz") == hasattr(multiplier, "nnz"))
    largest = max(float(abs(multiplier).max()) + gram_error, rest)
    l2_radius = min(l2_radius, l1_radius)  # tr H ≤ Σ|H_ij| ≤ d·tr H
    l1_radius = l1_radius if rest else min(l1_radius, math.sqrt(gram.shape[0]) * l2_radius)
    charged = l1_radius**2 * largest * (1 + 8 * EPS) + (TINY if largest > 0 else 0)
    if claim == INF or not charged <= claim:
        return claim == INF
    eigenvalue = max((claim - charged) / l2_radius**2 * (1 - 4 * EPS) - TINY, 0.0)
    slack = multiplier - gram
    if hasattr(slack, "nnz"):  # λmax(S) ≤ max_i (|S|v)_i/v_i for any v > 0 (Collatz, Wielandt)
        (d, _), image = slack.shape, np.ones(slack.shape[0])
        for _ in range(60):
            image = abs(slack) @ (vector := image / max(image.max(), TINY) + 2.0**-20)
        return bool(np.all(image * (1 + (d + 8) * EPS) + 2 * d * TINY <= eigenvalue * vector))
    is_left = slack.any(axis=0)  # elsewhere A − U is zero, and so are its eigenvalues
    if not is_left.all():
        slack = slack[np.ix_(is_left, is_left)]
    d, diagonal = len(slack), np.einsum("ii->i", slack)
    # Cholesky proves λmin(S) ≥ −γ_{d+2}·trace (Rump 2006); S was rounded by 3u·‖S‖_F ≤ 3u·trace.
    trace = d * eigenvalue + float(np.abs(diagonal).sum())
    diagonal += eigenvalue - (d + 4) * EPS * trace - 8 * (d + 3) ** 2 * TINY
    return math.isfinite(float(np.trace(np.linalg.cholesky(slack))))  # LAPACK lets NaN pass


@_checker
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
    (d, _), factor = gram.shape, lifted.reshape(gram.shape[0], -1)
    if claim <= 0:
        return True  # zero belongs to M
    if lifted.ndim > 1:  # whatever is rounded, a factor times its transpose is semidefinite
        lift = 4 * (d + 3) * EPS * abs(float(np.trace(_symmetric(lifted))))
        factor = as_floats(np.linalg.cholesky(lifted + lift * np.eye(d)))
    excess, l1_norm, magnitude = _excess(factor, l2_radius, l1_radius)
    value = float(np.einsum("ij,ij->j", factor, gram @ factor).sum())
    # Sums over d entries, over d again and over the columns, relative to Σ_c |f_c|ᵀ|A||f_c|.
    value -= (2 * d + factor.shape[1] + 8) * EPS * float(abs(gram).max()) * magnitude
    value -= gram_error * l1_norm + 2 * factor.size * TINY * (1 + magnitude)
    return claim <= value / excess - TINY < INF


@_checker
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

    Weights in [0,1] with sum ≥ (1−ξ)n keep no less than the (1−ξ)n smallest xᵀHx, the last one in
    part, over n. Nothing else proves that Algorithm 2 is infeasible.
    """
    n, d = rows.shape
    factor = factor.reshape(d, -1)
    used = np.flatnonzero(factor.any(axis=1))
    if claim <= 0 or used.size == 0:
        return claim <= 0
    used = used if 4 * used.size <= d else np.arange(d)  # gathering most columns costs more
    factor, scores = factor[used], np.empty(n)
    for part, block in blocks_of(rows, used.size):
        scores[part] = _least_scores(dense(block[:, used] if used.size < d else block), factor)
    value = least_mean(scores, outlier_fraction, factor.shape[1])
    return claim <= value / _excess(factor, l2_radius, l1_radius)[0] - TINY


@_checker
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

    With weights p of sum 1, z = y·x/τ and c = 1 − z·u:  Σ ac − σ(Σ az) is such a bound for any a
    with 0 ≤ a ≤ p, where σ(g) ≤ r‖S_t(g)‖₂ + ρt for any t ≥ 0; and so is zero. Here a is pα,
    rounded down, and W is larger by twice what `accepts_hinge` overlooks.
    """
    m, d = rows.shape
    demand(m == labels.size == dual.size == sample_weight.size, d == center.size)
    shrink = (1 - (m + 4) * EPS) / as_radius(sample_weight.sum())
    alpha = np.clip(dual, 0, 1) * sample_weight * shrink
    alpha[alpha < 2.0**-900] = 0  # may have been rounded up where it underflowed
    gradient = np.ravel(rows.T @ (alpha * labels))
    magnitude = sum(np.ravel(abs(block).T @ alpha[part]) for part, block in blocks_of(rows, 8 * d))
    errors = (m + d + 8) * EPS * magnitude + (m + d) * TINY
    constant = float(alpha.sum()) * (1 - (m + 8) * EPS) - float(gradient @ center) / hinge_scale
    constant -= (float(errors @ np.abs(center)) + (m + d) * TINY) / hinge_scale
    l2_radius = min(l2_radius, l1_radius) * (1 + 2 * (d + 8) * EPS)
    l1_radius = min(l1_radius * (1 + 2 * (d + 8) * EPS), math.sqrt(d) * l2_radius)
    support = support_from_above(gradient, l2_radius, l1_radius) + l1_radius * errors.max()
    return claim <= 0 or claim <= constant - support / hinge_scale * (1 + 8 * EPS) - TINY < INF


@_checker
def proves_weights(weights: FloatArray, outlier_fraction: float) -> bool:
    """Whether weights lie in [0,1] and sum to (1−ξ)n, up to rounding of (1−ξ)n; `fsum` has none."""
    return math.fsum(weights.tolist()) >= (1 - outlier_fraction) * weights.size * (1 - 4 * EPS)


@_checker
def accepts_worst_direction(
    gram: FloatArray, answer: Any, *, l2_radius: float, l1_radius: float, tolerance: float = 1e-3
) -> bool:
    """Whether bounds and status of an answer of `worst_direction` on this matrix are proven."""
    witness = answer.direction if answer.direction is not None else answer.lifted
    radii = {"l2_radius": l2_radius, "l1_radius": l1_radius}
    lower, upper = as_number(answer.lower), as_number(answer.upper)
    return (
        answer.status == direction_status(lower, upper, tolerance)
        and proves_lower_bound(lower, gram, witness, **radii)
        and proves_upper_bound(upper, gram, answer.multiplier, **radii)
    )


@_checker
def accepts_removal(
    rows: Any,
    answer: Any,
    *,
    l2_radius: float,
    l1_radius: float,
    outlier_fraction: float,
    max_variance: float | None = None,
    tolerance: float = 0.3,
) -> bool:
    """Whether weights, bounds and status of an answer of `remove_outliers` are all proven."""
    (n, d), rest, direction = rows.shape, 0.0, as_floats(answer.direction, 1)
    weights = as_floats(answer.weights, 1)
    demand(weights.size == n, direction.size == d, proves_weights(weights, outlier_fraction))
    rows_kept, weights = rows[weights > 0], weights[weights > 0]
    if answer.columns is not None:
        columns = as_floats(answer.columns, 1, 0, d - 1).astype(np.intp)
        demand(columns.size > 0, np.all(np.diff(columns) > 0))
        others = np.delete(largest_in_columns(rows_kept, weights, n_rows=n), columns)
        rest, direction = float(others.max(initial=0.0)), direction[columns]
        rows_kept, l1_radius = rows_kept[:, columns], min(l1_radius, math.sqrt(d) * l2_radius)
    gram, error = weighted_second_moment(rows_kept, weights, n, hasattr(answer.multiplier, "nnz"))
    radii = {"l2_radius": l2_radius, "l1_radius": l1_radius}
    upper, optimum = as_number(answer.variance_upper), as_number(answer.optimum_lower)
    known, budget = {"gram_error": error, **radii}, {"outlier_fraction": outlier_fraction, **radii}
    return (
        answer.status == removal_status(upper, optimum, max_variance, tolerance)
        and proves_lower_bound(answer.variance_lower, gram, direction, **known)
        and proves_upper_bound(upper, gram, answer.multiplier, rest=rest, **known)
        and proves_optimum(optimum, rows, answer.factor, **budget)
    )


@_checker
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
    (m, d), point = rows.shape, as_floats(answer.point, 1)
    demand(m == labels.size == sample_weight.size, d == center.size == point.size)
    offset, reach = np.abs(point - center), 1 + (d + 8) * EPS  # rounding of norms is overlooked
    demand(np.linalg.norm(offset) <= l2_radius * reach, offset.sum() <= l1_radius * reach)
    loss, upper = hinge_loss(rows, labels, point, hinge_scale, sample_weight)
    told, lower = as_number(answer.loss), as_number(answer.lower_bound)
    demand(abs(told - loss) <= 2 * (upper - loss) < INF)  # told as float64 may evaluate it
    is_close = max(told, upper) <= Fraction(lower) + Fraction(tolerance)
    region: dict[str, Any] = {"center": center, "l2_radius": l2_radius, "l1_radius": l1_radius}
    region |= {"hinge_scale": hinge_scale, "sample_weight": sample_weight}
    return answer.status == ("converged" if is_close else "undecided") and proves_hinge_bound(
        lower, rows, labels, answer.dual, **region
    )


def direction_status(lower: float, upper: float, tolerance: float) -> str:
    """What the status of a `WorstDirection` with these bounds has to be."""
    close = tolerance * upper < INF and (1 - Fraction(tolerance)) * Fraction(upper) <= lower
    return "converged" if close else "undecided"


def removal_status(upper: float, optimum: float, limit: float | None, tolerance: float) -> str:
    """What the status of an `OutlierRemoval` with these bounds has to be."""
    if limit is None:
        tight = upper < INF and upper <= (1 + Fraction(tolerance)) * Fraction(optimum)
        return "tightest" if tight else "undecided"
    return "feasible" if upper <= limit else "infeasible" if optimum > limit else "undecided"


@np.errstate(all="ignore")
def hinge_loss(rows: Any, labels: Any, point: Any, tau: float, weights: Any) -> tuple[float, float]:
    """The weighted mean hinge loss as float64 evaluates it, and a bound on the exact one."""
    (m, d), total = rows.shape, as_radius(weights.sum())
    sizes = [np.ravel(abs(block) @ np.abs(point)) for _, block in blocks_of(rows, 8 * d)]
    doubt = (d + 8) * (EPS + (EPS * np.concatenate(sizes) + TINY) / tau)
    slack = 1 - labels * np.ravel(rows @ point) / tau
    slack[weights == 0] = doubt[weights == 0] = 0
    loss, upper = (float(weights @ np.maximum(s, 0)) / total for s in (slack, slack + doubt))
    return loss, upper * (1 + 2 * (m + 4) * EPS) + (m + 1) * TINY / total


@np.errstate(all="ignore")
def weighted_second_moment(rows: Any, weights: Any, n_rows: int, sparse: bool = False) -> Any:
    """(1/n)Σ weights·xxᵀ, and a bound on the rounding error of each of its entries."""
    rows, weights = as_rows(rows), as_floats(weights, 1, 0.0)
    demand(weights.size == rows.shape[0] <= n_rows)
    gram: Any = 0.0 if sparse else np.zeros((rows.shape[1], rows.shape[1]))
    for part, block in blocks_of(rows, rows.shape[1]):
        roots = np.sqrt(weights[part, None])
        is_thin = sparse or 10 * getattr(block, "nnz", INF) < math.prod(block.shape)
        scaled = block.multiply(roots).tocsr() if is_thin else dense(block) * roots
        gram += scaled.T @ scaled if sparse else dense(scaled.T @ scaled)
    gram = (gram + gram.T) / (2 * n_rows)
    # What underflows in √q·x is multiplied by at most √(Σq·x_k²); zeros lose nothing.
    lost = (1 + math.sqrt(n_rows * float(gram.max()))) * (rows.max() > 0 or rows.min() < 0)
    return gram, rounding_of_moment(gram, len(weights)) + (len(weights) + 8) * TINY * lost


def rounding_of_moment(gram: Any, n_summed: int) -> float:
    """A bound on the rounding of entries of a second moment: Σ|q·x_i·x_j| ≤ max_k Σq·x_k²."""
    return (n_summed + 8) * EPS * float(gram.diagonal().max())


@np.errstate(all="ignore")
def largest_in_columns(rows: Any, weights: FloatArray, *, n_rows: int) -> FloatArray:
    """For each column at least the magnitude of every entry that (1/n)Σ weights·xxᵀ has in it."""
    magnitudes, weights = abs(as_rows(rows)), as_floats(weights, 1, 0.0)
    demand(weights.size == magnitudes.shape[0] <= n_rows)
    in_row, in_column = (np.ravel(dense(magnitudes.max(axis=axis))) for axis in (1, 0))
    sums = np.ravel(magnitudes.T @ (weights * in_row)) / n_rows  # |Σ qxz| ≤ Σ q|x|·max|z|
    underflow = TINY * (1 + in_column) * (in_column > 0)
    return sums * (1 + (weights.size + 8) * EPS) + (weights.size + 8) * underflow


def _least_scores(block: FloatArray, factor: FloatArray) -> FloatArray:
    """For every row x at most xᵀHx with H = factor·factorᵀ, whatever the rounding; always finite.

    |fl(x·f) − x·f| ≤ γ_d·‖x‖₂‖f‖₂ + d·TINY·(1 + ‖f‖₂); the last term is for what underflows in
    rows whose squares might not be numbers: those are divided by a power of two first.
    """
    squares, sizes, d = np.einsum("ij,ij->i", block, block), np.ones(len(block)), len(factor)
    extreme = np.flatnonzero(~((squares > 1e-280) & (squares < 1e280)))
    if extreme.size:
        exponents = np.frexp(np.abs(block[extreme]).max(axis=1))[1] - 1
        block, sizes[extreme] = block.copy(), np.ldexp(1.0, exponents)
        block[extreme] = np.ldexp(block[extreme], -exponents[:, None])
        squares[extreme] = np.einsum("ij,ij->i", block[extreme], block[extreme])
    norms = np.sqrt(np.einsum("ij,ij->j", factor, factor) + d * TINY)
    spread = ((d + 3) * EPS * np.sqrt(squares))[:, None] * norms + d * TINY * (1 + norms)
    certain = np.maximum(np.abs(block @ factor) - spread, 0) * sizes[:, None]
    scores = np.einsum("ij,ij->i", certain, certain) - factor.shape[1] * TINY
    # Too low is safe: NaN becomes 0, and an overflow a number below the exact score.
    return np.clip(np.nan_to_num(scores, nan=0.0), 0, 1e300 / len(block))


def least_mean(scores: FloatArray, outlier_fraction: float, n_terms: int) -> float:
    """At most (1/n)Σ of the (1−ξ)n smallest scores, each a sum of so many terms."""
    n, scores = scores.size, np.sort(scores)
    required = (1 - outlier_fraction) * n * (1 - 8 * EPS)  # less than `proves_weights` does
    whole = min(int(required), n - 1)
    total = float(scores[:whole].sum() + (required - whole) * scores[whole])
    return total / n * (1 - (n + n_terms + 8) * EPS) - 2 * TINY


def _excess(factor: FloatArray, r: float, rho: float) -> tuple[float, float, float]:
    """By which H = F·Fᵀ is too large for M, at least Σ|H_ij|, and at least Σ_c‖f_c‖₁².

    The last is what the magnitudes of all products in F·Fᵀ add up to; the rounding of its entries,
    each a sum of k products, is relative to that. Other sums have d, k or d terms.
    """
    d, k = factor.shape
    slack, underflow = 1 + 2 * (d + k + 4) * EPS, d * d * k * TINY
    trace = float(np.einsum("ij,ij->j", factor, factor).sum()) * slack + underflow
    l1_norm = magnitude = float(np.square(np.abs(factor).sum(axis=0)).sum()) * slack + underflow
    if k > 1:
        l1_norm = float(np.abs(factor @ factor.T).sum(axis=1).sum()) * slack + underflow
        l1_norm += (k + 1) * EPS * magnitude
    demand(trace < INF, l1_norm < INF, magnitude < INF)
    return max(trace / r**2, l1_norm / rho**2, 1.0) * (1 + 8 * EPS), l1_norm, magnitude


def support_from_above(gradient: FloatArray, l2_radius: float, l1_radius: float) -> float:
    """The least value found of r‖S_t(g)‖₂ + ρt, a convex function of t; any t is an upper bound."""
    exponent = np.frexp(np.abs(gradient).max())[1]
    magnitudes = np.ldexp(np.abs(gradient), -exponent)  # below 1, without rounding

    def value(level: float) -> float:
        length = np.linalg.norm(np.maximum(magnitudes - level, 0)) + math.sqrt(gradient.size * TINY)
        return float(l2_radius * length + l1_radius * level) * (1 + (gradient.size + 8) * EPS)

    low, high, best = 0.0, 1.0, min(value(0.0), value(1.0))
    for _ in range(80):
        third = (high - low) / 3
        left, right = value(low + third), value(high - third)
        low, high = (low, high - third) if left <= right else (low + third, high)
        best = min(best, left, right)
    return float(np.ldexp(best, exponent))


def demand(*conditions: bool | np.bool_) -> None:
    if not all(conditions):
        raise ValueError("an input has the wrong type, shape or range")


def as_number(value: Any, low: float = -INF, high: float = INF) -> float:
    """A real number as a float that equals it and lies in this range."""
    exact = int(value) if isinstance(value, Integral) else value
    demand(isinstance(value, Real) and float(exact) == exact and low <= exact <= high)
    return float(exact)


def as_floats(values: Any, ndim: int = 0, low: float = -INF, high: float = INF) -> FloatArray:
    """Finite numbers in this range as a float64 array that equals them."""
    array = np.asarray(values)
    demand(array.dtype.kind in "biuf", array.ndim == (ndim or array.ndim) > 0)
    floats, is_whole = array.astype(np.float64, copy=False), array.dtype.kind in "iu"
    demand(floats is array or np.all(np.abs(floats) < 2.0**53 if is_whole else floats == array))
    # The sum is cheaper than a mask, and finite only if every entry is.
    demand(math.isfinite(float(floats.sum())) or np.isfinite(floats).all())
    demand(low == -INF or np.all((floats >= low) & (floats <= high)), not np.ma.is_masked(values))
    return floats


def _symmetric(values: Any) -> Any:
    m = as_rows(values)
    demand((m != m.T).nnz == 0 if hasattr(m, "nnz") else np.array_equal(m, m.T))
    return m


def as_rows(rows: Any) -> Any:
    """Rows as a float64 array, or as float64 CSR if they are sparse."""
    demand(0 not in np.shape(rows))
    if not hasattr(rows, "tocoo"):
        return as_floats(rows, 2)
    entries = rows.tocoo()
    places = np.sort(entries.row.astype(np.int64) * rows.shape[1] + entries.col)
    demand(np.all(np.diff(places) > 0))  # duplicates would be added up, and rounded
    is_float = as_floats(entries.data) is entries.data
    return rows.tocsr() if is_float else entries.astype(float).tocsr()


def dense(block: Any) -> Any:
    return block.toarray() if hasattr(block, "toarray") else block


def blocks_of(rows: Any, width: int) -> Iterator[tuple[slice, Any]]:
    """Consecutive rows that would take BLOCK_BYTES if they had this many columns."""
    step = max(1, getattr(rows, "block_bytes", BLOCK_BYTES) // (8 * width))
    for start in range(0, rows.shape[0], step):
        yield slice(start, start + step), rows[start : start + step]


as_radius = partial(as_number, low=1e-100, high=1e100)  # its square is a normal number
CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("claim", "tolerance"), as_number),
    **dict.fromkeys(("l2_radius", "l1_radius", "hinge_scale"), as_radius),
    **dict.fromkeys(("gram_error", "rest"), partial(as_number, low=0.0)),
    **dict.fromkeys(("gram", "multiplier"), _symmetric),
    **dict.fromkeys(("lifted", "factor"), as_floats),
    **dict.fromkeys(("dual", "center"), partial(as_floats, ndim=1)),
    "outlier_fraction": partial(as_number, low=0.0, high=1 - EPS / 2),
    "max_variance": lambda limit: None if limit is None else as_number(limit),
    "rows": as_rows,
    "labels": partial(as_floats, ndim=1, low=-1.0, high=1.0),
    "weights": partial(as_floats, ndim=1, low=0.0, high=1.0),
    "sample_weight": partial(as_floats, ndim=1, low=0.0),
}
