"""The intersection of an l1 and an l2 ball around the origin: projection and support function.

Both answers are a soft-thresholding followed by a rescaling,

    S_t(g) = sign(g)·max(|g| − t, 0),

and both need the same scalar: the level t at which ‖S_t(g)‖₁ / ‖S_t(g)‖₂, which falls as t grows,
meets the ratio of the two radii. One sort finds it exactly.
"""

import numpy as np
from numpy.typing import NDArray

from thresher.arrays import (
    Array,
    is_foreign,
    like,
    namespace_of,
    positive_part,
    to_host,
)
from thresher.validation import FloatArray, check_radius, check_vectors

FAR = 1e20
FEW_ENTRIES = 12_000  # to copy them from a device takes no longer than the steps there
LONG = 1e6  # of a vector whose projection onto a region of unit size is done carefully


def soft_threshold(values: FloatArray, level: float | FloatArray) -> FloatArray:
    """Every entry moved toward zero by the level, and no further than zero."""
    xp = namespace_of(values)
    return xp.sign(values) * positive_part(xp.abs(values) - level)


def support_l1_l2(
    g: object, *, l2_radius: float, l1_radius: float
) -> tuple[float | FloatArray, FloatArray]:
    """The largest inner product with a point of both balls, and a point that attains it.

    σ(g) = max g·v over ‖v‖₂ ≤ r, ‖v‖₁ ≤ ρ  =  min over t ≥ 0 of r‖S_t(g)‖₂ + ρt.

    Parameters
    ----------
    g : array of shape (d,), or (k, d) for one vector a row
    l2_radius, l1_radius : radii r and ρ, both positive

    Returns
    -------
    value : float, or array of shape (k,)
    point : array like `g`

    Examples
    --------
    >>> value, point = support_l1_l2([3.0, 4.0], l2_radius=1.0, l1_radius=1.0)
    >>> value, point
    (4.0, array([0., 1.]))
    """
    vectors = check_vectors(g, "g")
    r, rho = check_radius(l2_radius, "l2_radius"), check_radius(l1_radius, "l1_radius")
    points = support_points(np.atleast_2d(vectors), r, rho)
    with np.errstate(over="ignore"):
        values = np.einsum("ij,ij->i", np.atleast_2d(vectors), points)
    if not np.isfinite(values).all():
        raise ValueError("g is too large: its largest inner product overflows")
    return (float(values[0]), points[0]) if vectors.ndim == 1 else (values, points)


def project_l1_l2(v: object, *, l2_radius: float, l1_radius: float) -> FloatArray:
    """The closest point of both balls, exactly.

    Parameters
    ----------
    v : array of shape (d,), or (k, d) for one vector a row
    l2_radius, l1_radius : radii, both positive

    Examples
    --------
    >>> project_l1_l2([3.0, 4.0], l2_radius=1.0, l1_radius=9.0)
    array([0.6, 0.8])
    >>> project_l1_l2([3.0, 1.0], l2_radius=9.0, l1_radius=1.0)
    array([1., 0.])
    """
    vectors = check_vectors(v, "v")
    r, rho = check_radius(l2_radius, "l2_radius"), check_radius(l1_radius, "l1_radius")
    rows = np.atleast_2d(vectors)
    projected = np.stack([_project_one(row, r, rho) for row in rows])
    return projected.reshape(vectors.shape)


def support_points(vectors: FloatArray, l2_radius: float, l1_radius: float) -> FloatArray:
    """For each row of a checked (k, d) array, the point of both balls that it points at most."""
    if is_foreign(vectors):
        n_entries = vectors.shape[0] * vectors.shape[1]
        find = _support_points_elsewhere if n_entries > FEW_ENTRIES else _support_points_from_host
        return find(vectors, l2_radius, l1_radius)
    scale = np.abs(vectors).max(axis=1, keepdims=True)
    unit = vectors / np.where(scale > 0, scale, 1)
    ratio = min(l1_radius / l2_radius, 2 * vectors.shape[1] ** 0.5)  # beyond √d it never binds
    shrunk = _shrunk_to_ratio(unit, ratio)
    l2_norm = np.linalg.norm(shrunk, axis=1, keepdims=True)
    l1_norm = np.abs(shrunk).sum(axis=1, keepdims=True)
    # Both norms are applied, so that rounding never leaves the region. Where t reached the largest
    # entry nothing is left to rescale: the l1 radius is then spread over the tied entries.
    with np.errstate(divide="ignore", invalid="ignore"):
        points: FloatArray = shrunk * np.minimum(l2_radius / l2_norm, l1_radius / l1_norm)
    tied = (l2_norm == 0)[:, 0]
    if tied.any():
        corners = np.where(np.abs(unit[tied]) == 1, np.sign(unit[tied]), 0.0)
        n_tied = np.maximum(np.abs(corners).sum(axis=1, keepdims=True), 1)
        points[tied] = corners * np.minimum(l1_radius / n_tied, l2_radius / np.sqrt(n_tied))
    return points


def _support_points_from_host(vectors: Array, l2_radius: float, l1_radius: float) -> Array:
    """The same for an array on a device, copied there and back."""
    return like(support_points(to_host(vectors), l2_radius, l1_radius), vectors)


def _support_points_elsewhere(vectors: Array, l2_radius: float, l1_radius: float) -> Array:
    """The same on a device; a few numbers for each row come to the host and go back."""
    xp, ratio = namespace_of(vectors), min(l1_radius / l2_radius, 2 * vectors.shape[1] ** 0.5)
    magnitudes = xp.abs(vectors)
    largest = xp.max(magnitudes, axis=1, keepdims=True)
    depth, l2_norm, l1_norm = _levels_elsewhere(magnitudes, largest, ratio)
    if not (l2_norm > 0).all():  # entries tie, or all of a row is zero
        return _support_points_from_host(vectors, l2_radius, l1_radius)
    factor = np.minimum(l2_radius / l2_norm, l1_radius / l1_norm)
    found = like(np.stack([depth, factor], axis=1), vectors)
    excess = positive_part(found[:, :1] - (largest - magnitudes))
    return xp.copysign(excess * found[:, 1:], vectors)


def _levels_elsewhere(
    magnitudes: Array, largest: Array, ratio: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """For each row how far t lies below the largest entry, ‖S_t‖₂ and ‖S_t‖₁; see `_level_depths`.

    The segment in which t lies is found on the device, and t in it on the host.
    """
    xp, (k, d), on = namespace_of(magnitudes), magnitudes.shape, {"device": magnitudes.device}
    ascending = xp.sort(largest - magnitudes, axis=1)  # depths, and at last that of zero
    depths = xp.concat([ascending, largest], axis=1)
    u1 = xp.cumulative_sum(ascending, axis=1)
    u2 = xp.cumulative_sum(ascending * ascending, axis=1)
    first = min(int(ratio**2), d - 1)  # so many entries never have too large a ratio of norms
    counts = xp.arange(first + 1, d + 1, dtype=xp.float64, **on)
    end = depths[:, first + 1 :]
    l1_norm = counts * end - u1[:, first:]
    l2_square = u2[:, first:] - end * (u1[:, first:] - l1_norm)
    crossed = l1_norm * l1_norm > ratio**2 * (1 + 1e-14) * l2_square
    j = xp.argmax(xp.astype(crossed, xp.int32), axis=1)
    sums = j + xp.arange(first, first + k * d, d, dtype=j.dtype, **on)
    ends = j + xp.arange(first + 1, first + 1 + k * (d + 1), d + 1, dtype=j.dtype, **on)
    picked = [xp.take(xp.reshape(u, (-1,)), sums) for u in (u1, u2)]
    picked.append(xp.take(xp.reshape(depths, (-1,)), ends))
    picked += [u1[:, -1], u2[:, -1], largest[:, 0], xp.astype(j, xp.float64)]
    return _depths_in_segments(to_host(xp.stack(picked)), ratio, first, d)


def _depths_in_segments(
    picked: FloatArray, ratio: float, first: int, d: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The depths of t and both norms, from the sums over the entries above t and over all."""
    u1, u2, end, total_1, total_2, largest, j = picked
    count = first + 1 + j
    l1_norm, mean = count * end - u1, u1 / count
    crossed = l1_norm * l1_norm > ratio**2 * (1 + 1e-14) * (u2 - end * (u1 - l1_norm))
    spread = np.maximum(u2 - mean * u1, 0) / (count * np.maximum(count - ratio**2, 1e-300))
    depth = np.where(crossed, np.minimum(mean + ratio * np.sqrt(spread), end), largest)
    u1, u2 = np.where(crossed, u1, total_1), np.where(crossed, u2, total_2)
    l1_norm = np.where(crossed, count, d) * depth - u1
    return depth, np.sqrt(np.maximum(u2 - depth * (u1 - l1_norm), 0)), l1_norm


def _n_largest(ratio: float) -> int:
    """The number of entries among which the level of a vector is looked for first."""
    return int(8 * ratio**2) + 32


def _shrunk_to_ratio(vectors: FloatArray, ratio: float) -> FloatArray:
    """S_t of each row, with the least t ≥ 0 at which ‖S_t‖₁ ≤ ratio·‖S_t‖₂."""
    if vectors.shape[1] <= ratio**2:  # t is 0: the l1 radius never binds
        return vectors
    magnitudes = np.abs(vectors)
    largest = magnitudes.max(axis=1, keepdims=True)
    n_top = _n_largest(ratio)
    if 2 * n_top < magnitudes.shape[1]:
        # As a rule the level lies among the largest entries, and only those need be sorted.
        top = np.partition(-magnitudes, n_top - 1, axis=1)[:, :n_top]
        depths, is_found = _level_depths(-np.sort(top, axis=1), ratio)
    if 2 * n_top >= magnitudes.shape[1] or not is_found.all():
        depths, is_found = _level_depths(_descending_to_zero(magnitudes), ratio)
    excess = np.maximum(depths[:, None] - (largest - magnitudes), 0)
    return np.copysign(np.where(is_found[:, None], excess, magnitudes), vectors)


def _descending_to_zero(magnitudes: FloatArray) -> FloatArray:
    """Each row sorted, the largest entry first, with a zero at its end."""
    padded = np.zeros((len(magnitudes), magnitudes.shape[1] + 1))
    padded[:, :-1] = np.sort(magnitudes, axis=1)[:, ::-1]
    return padded


def _level_depths(descending: FloatArray, ratio: float) -> tuple[FloatArray, NDArray[np.bool_]]:
    """How far t lies below the largest entry of each sorted row, and whether it is found there.

    The last entry of a row is only the end of the search: no t below it is looked for. Everything
    is counted from the largest entry downwards, so that entries which almost tie keep the
    differences that sums of the entries themselves would lose. With j entries above t, at depths u
    below the largest, ‖S_t‖₁ = ratio·‖S_t‖₂ means that t has the depth

        mean(u) + ratio·√(Σ(u − mean(u))² / (j(j − ratio²))).
    """
    depths = descending[:, :1] - descending
    below, following = depths[:, :-1], depths[:, 1:]
    counts = np.arange(1, below.shape[1] + 1)
    u1, u2 = below.cumsum(axis=1), (below * below).cumsum(axis=1)
    l1_norm = counts * following - u1
    l2_square = u2 - following * (2 * u1 - counts * following)
    # The first j whose segment, at its lower end, has too large a ratio of norms. Up to ratio²
    # entries never have, whatever the rounding of near ties says.
    crossed = (l1_norm * l1_norm > ratio**2 * (1 + 1e-14) * l2_square) & (counts > ratio**2)
    take, j = np.arange(len(below)), crossed.argmax(axis=1)
    count, mean = counts[j], u1[take, j] / counts[j]
    # The depth 0 of the largest entry makes the spread at least mean²: little can cancel.
    spread = np.maximum(u2[take, j] - mean * u1[take, j], 0)
    room = np.maximum(count - ratio**2, 1e-300)
    depth = np.minimum(mean + ratio * np.sqrt(spread / (count * room)), following[take, j])
    return depth, crossed[take, j]


def _project_one(v: FloatArray, r: float, rho: float) -> FloatArray:
    if np.abs(v).max() > FAR * max(r, rho):  # spacing of floats exceeds the balls
        return support_points(v[None], r, rho)[0]
    l1_norm, l2_norm = np.abs(v).sum(), np.linalg.norm(v)
    if l1_norm <= rho and l2_norm <= r:
        return v.copy()
    on_sphere: FloatArray = v * (r / max(float(l2_norm), r))
    if np.abs(on_sphere).sum() <= rho:
        return on_sphere
    # Below the largest entry instead of above zero: large entries would cancel against the level.
    below = np.abs(v) - np.abs(v).max()
    excess = np.maximum(below - simplex_level(below, rho), 0)
    if np.linalg.norm(excess) <= r:
        return np.copysign(excess * min(1.0, rho / float(excess.sum())), v)
    return support_points(v[None], r, rho)[0]


def simplex_level(values: FloatArray, total: float) -> float:
    """The t at which Σ max(values − t, 0) = total.

    Entries below the mean excess only ever leave (Michelot 1986), so no sort is needed.
    """
    xp = namespace_of(values)
    active = xp.reshape(values, (-1,))
    while True:
        level = (float(xp.sum(active)) - total) / active.shape[0]
        remaining = active[active > level]
        if remaining.shape[0] in (0, active.shape[0]):
            return level
        active = remaining


def unit_support(g: FloatArray, l1_radius: float) -> tuple[float, float]:
    """The support function for a unit l2 radius, from above, and the level t that attains it.

    The lean form of `support_l1_l2` for the inner loop of a solver: one vector, nothing checked.
    """
    magnitudes = np.abs(g)
    descending = _descending_to_zero(magnitudes[None])
    depth, is_found = _level_depths(descending, l1_radius)
    level = float(descending[0, 0] - depth[0]) if is_found[0] else 0.0
    excess = np.maximum(magnitudes - level, 0)
    return float(np.sqrt(excess @ excess)) + l1_radius * level, level


def project_onto_unit_region(v: FloatArray, l1_radius: float) -> FloatArray:
    """The closest point of the unit l2 ball and an l1 ball.

    The lean form of `project_l1_l2` for the inner loop of a solver: one vector, nothing checked,
    exact up to a relative 1e-9. A very long one is left to the careful form.
    """
    magnitudes = np.abs(v)
    l1_norm, l2_norm = float(magnitudes.sum()), float(np.sqrt(v @ v))
    if l1_norm <= l1_radius * max(l2_norm, 1.0):
        scaled: FloatArray = v / max(l2_norm, 1.0)
        return scaled
    if not l2_norm < LONG:  # next to its entries, the radius would be rounded away
        return project_l1_l2(v, l2_radius=1.0, l1_radius=l1_radius)
    padded = _descending_to_zero(magnitudes[None])
    descending = padded[0, :-1]
    levels = (descending.cumsum() - l1_radius) / np.arange(1, v.size + 1)
    excess = np.maximum(magnitudes - levels[np.count_nonzero(descending > levels) - 1], 0)
    if excess @ excess > 1 + 1e-9:  # closer to 1, rounding could leave no entry above the level
        depth, _ = _level_depths(padded, l1_radius)
        excess = np.maximum(depth[0] - (descending[0] - magnitudes), 0)
        excess *= min(1 / float(np.sqrt(excess @ excess)), l1_radius / float(excess.sum()))
    projected: FloatArray = np.copysign(excess, v)
    return projected
