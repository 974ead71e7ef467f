"""The cheap upper bound on the worst direction: clip the matrix, take one eigenvalue of the rest.

For every t ≥ 0 the multiplier U = clip(A, −t, t) gives max⟨A,H⟩ ≤ λmax(A − U)₊ + ρ²t over the
lifted region of l2 radius 1. One scalar is searched for; no semidefinite program is solved. Where
that is too loose, `tighten` moves U inside the box |U_ij| ≤ t, one eigendecomposition a step.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from thresher.arrays import (
    block_of,
    clip_entries,
    largest_magnitude,
    like,
    namespace_of,
    nonzero_columns,
    rough,
    to_host,
)
from thresher.device_certificates import proves_upper_bound
from thresher.solvers.eigen import DENSE_SIZE, Floats, eigenpairs_above, top_eigenpair
from thresher.validation import FloatArray, is_sparse

RITZ_DOUBT = 6e-3  # by how much a proven bound may exceed the one that the search saw
MIDDLE = 3  # the level that is tried first where any will do
LOOSE = 1.05  # by which a bound from magnitudes alone may exceed one that looks at signs
TIGHTER_LEVEL = 0.83  # of the best clip level; measured, flat between .75 and .9
STEP = 1.5  # of 1 for plain gradient steps; 3 diverges
FEWEST_STEPS, MOST_STEPS = 6, 30  # what is gained halves about every three steps
WORK = 3e10  # d³ times steps: a few seconds, and 30 steps up to 1,000 features


@dataclass(frozen=True)
class ClipBound:
    """A clip level, the bound it (almost) gives, and the top eigenvector of what is left."""

    level: float
    value: float
    eigenvector: FloatArray


def best_clip(
    gram: Any, l1_radius: float, *, good_enough: float = 0.0, rest: float = 0.0
) -> ClipBound:
    """The clip level whose bound is least among levels that clip ever more of the matrix.

    Level j clips all but one in 2^j of the entries. The bound falls and then rises in j, so the
    search walks downhill, until no neighbor is better or the bound falls to `good_enough`. It works
    in single precision: it only proposes, and `proven_upper` proves. No level lies below `rest`,
    the largest entry outside the matrix.
    """
    scale = largest_magnitude(gram) or 1.0
    single = rough(gram / scale)
    levels = _levels(single)
    if rest > 0:
        levels = np.unique(np.maximum(levels, np.float32(rest / scale)))
    tried: dict[int, ClipBound] = {}

    def bound(j: int) -> ClipBound:
        if j not in tried:
            eigenvalue, vector = _top_eigenpair(single - clipped(single, levels[j]))
            value = max(eigenvalue, 0.0) + l1_radius**2 * float(levels[j])
            level = float(levels[j]) * scale
            tried[j] = ClipBound(level, value * scale, vector.astype(np.float64))
        return tried[j]

    def falls_toward(i: int) -> bool:
        return 0 <= i < len(levels) and bound(i).value < bound(j).value

    first = MIDDLE if good_enough > 0 else _likely_level(gram.shape[0], l1_radius)
    j = min(first, len(levels) - 1)
    while bound(j).value > good_enough:
        # Where it falls upward, the level below is not worth an eigenvalue.
        step = 1 if falls_toward(j + 1) else -1
        if not falls_toward(j + step):
            break
        j += step
    return bound(j)


def _likely_level(n_features: int, l1_radius: float) -> int:
    """Where the best level is with Gaussian rows, measured for 100 to 3,000 features and ρ² = 20.

    Examples
    --------
    >>> [_likely_level(d, 20**0.5) for d in (100, 500, 1000, 2000, 10_000)]
    [0, 2, 3, 4, 6]
    """
    return max(int(np.log2(n_features / l1_radius**2) - 2.6), 0)


def tighten(
    gram: FloatArray, clip: ClipBound, l1_radius: float, *, target: float, rest: float = 0.0
) -> FloatArray | None:
    """A multiplier whose bound is about `target`, or the best one found; None if too much work.

    With t below the clip level and λ = target − ρ²t, a U with |U_ij| ≤ t and A − U ⪯ λ is sought:
    accelerated projected gradient on ½‖(A − U − λ)₊‖², whose gradient needs the eigenpairs above λ
    alone. In single precision: `proven_upper` proves. Alternating directions on the whole
    semidefinite program need three times as many steps, each three times as long (n = d = 1000).
    """
    d = gram.shape[0]
    n_steps = min(MOST_STEPS, int(WORK / d**3))
    level = np.float32(max(TIGHTER_LEVEL * clip.level, rest))
    floor = np.float32(target / (1 + RITZ_DOUBT) - l1_radius**2 * float(level))
    if n_steps < FEWEST_STEPS or floor <= 0:
        return None
    single = to_host(gram).astype(np.float32)  # the work is one that the host can do
    previous = ahead = np.clip(single, -level, level)
    least, best, momentum = np.inf, None, 1.0
    for _ in range(n_steps):
        values, vectors = eigenpairs_above(single - ahead, float(floor))
        largest = float(values.max(initial=floor))
        if largest < least:
            least, best = largest, ahead
        if values.size == 0:
            break
        half = vectors * np.sqrt(values - floor)
        following = np.clip(ahead + np.float32(STEP) * (half @ half.T), -level, level)
        next_momentum = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = following + np.float32((momentum - 1) / next_momentum) * (following - previous)
        ahead = np.clip(ahead, -level, level, out=ahead)
        previous, momentum = following, next_momentum
    return None if best is None else like((best + best.T).astype(np.float64) / 2, gram)


def proven_upper(
    gram: Any,
    multiplier: Any,
    l1_radius: float,
    *,
    gram_error: float = 0.0,
    rest: float = 0.0,
) -> float:
    """A proven upper bound from a multiplier: the least of a few claims that is accepted.

    A Ritz value lies below the eigenvalue and proves nothing, so it is raised, a little and then
    more, until the independent checker accepts. Infinite if it never does. `rest` bounds the
    entries of the matrix outside of `gram`, if that is a block of it.
    """
    remainder = gram - multiplier
    found = _largest_eigenvalue(abs(remainder) if is_sparse(remainder) else remainder)
    eigenvalue = max(found, 0.0)
    d, largest = gram.shape[0], largest_magnitude(gram)
    most = max(largest_magnitude(multiplier) + gram_error, rest)
    base = l1_radius**2 * most * (1 + 1e-12)
    scale = max(eigenvalue, 1e-10 * largest, d * gram_error)
    # Where the matrix itself is only known to single precision, a close claim would hang on how
    # the checker rounds it.
    is_known = gram_error <= 1e-11 * largest
    exact = (1e-10, 1e-8) if is_known and d <= DENSE_SIZE else ()
    base += 2 * d * gram_error if is_known else 0.0  # by which two such matrices may differ
    negative = (0.0,) if found <= 0 else ()  # then nothing need be added
    known = {"l2_radius": 1.0, "l1_radius": l1_radius, "gram_error": gram_error, "rest": rest}
    for excess in (*negative, *exact, 3e-3, 1e-2, 5e-2, 0.5):
        claim = float(base + eigenvalue + excess * scale)
        if proves_upper_bound(claim, gram, multiplier, **known):
            return claim
    return float("inf")


def _largest_eigenvalue(matrix: Any) -> float:
    """A guess at the largest eigenvalue: exact for small matrices, in single precision for others.

    It needs a proof in either case, and half the bytes are twice the speed.
    """
    if matrix.shape[0] <= DENSE_SIZE:
        return top_eigenpair(matrix)[0]
    scale = largest_magnitude(matrix) or 1.0
    return scale * _top_eigenpair(rough(matrix / scale), n_steps=28)[0]


def clipped(matrix: Any, level: float) -> Any:
    """The matrix with its entries clipped to ±level; sparse if it was."""
    if not is_sparse(matrix):
        return clip_entries(matrix, level)
    copy = matrix.copy()
    np.clip(copy.data, -level, level, out=copy.data)
    return copy


def is_proven_by_magnitudes(gram: Any, clip: ClipBound, l1_radius: float) -> bool:
    """Whether the proof of a sparse matrix, which ignores signs, is about as close as another."""
    eigenvalue = _largest_eigenvalue(abs(gram - clipped(gram, clip.level)))
    return max(eigenvalue, 0.0) + l1_radius**2 * clip.level <= LOOSE * clip.value


def _top_eigenpair(matrix: Any, **options: int) -> tuple[float, Floats]:
    """As `top_eigenpair`, on the columns that clipping left something of."""
    is_left = np.diff(matrix.indptr) > 0 if is_sparse(matrix) else nonzero_columns(matrix)
    if is_left.all() or not is_left.any():
        return top_eigenpair(matrix, **options)
    if is_sparse(matrix):
        inner = matrix[is_left][:, is_left]
        inner = inner.toarray() if inner.shape[0] <= DENSE_SIZE else inner
    else:
        inner = block_of(matrix, np.flatnonzero(is_left))
    eigenvalue, part = top_eigenpair(inner, **options)
    vector = np.zeros(matrix.shape[0], dtype=part.dtype)
    vector[is_left] = part
    return eigenvalue, vector


def _levels(matrix: Any) -> Floats:
    """Zero, and the magnitudes exceeded by one entry in 2, 4, 8, … of the matrix, and the last."""
    if is_sparse(matrix):
        magnitudes = np.sort(np.abs(matrix.data))
        beyond = matrix.shape[0] ** 2 // 2 ** np.arange(1, 63)
        places = magnitudes.size - 1 - beyond[(beyond > 0) & (beyond < magnitudes.size)]
        return np.unique(np.concatenate([[0.0], magnitudes[places], magnitudes[-1:]]))
    flat = namespace_of(matrix).reshape(matrix, (-1,))
    sample = np.sort(np.abs(to_host(flat[:: max(1, flat.shape[0] // 2**16)])))
    fractions = 1 - 0.5 ** np.arange(1, int(np.log2(sample.size)) + 1)
    inner = sample[(fractions * (sample.size - 1)).astype(int)]
    return np.unique(np.concatenate([[0.0], inner, [largest_magnitude(matrix)]]))
