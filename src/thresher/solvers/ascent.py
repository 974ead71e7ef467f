"""Sparse ascent: directions of large variance, the cheap lower bound on the worst direction."""

from collections.abc import Callable
from typing import Any

import numpy as np

from thresher.arrays import (
    as_doubles,
    like,
    namespace_of,
    positive_part,
    put_rows,
    row_dots,
    take,
    to_host,
)
from thresher.geometry.balls import support_points
from thresher.validation import FloatArray, is_sparse


def ascend(
    multiply: Callable[[FloatArray], FloatArray],
    starts: FloatArray,
    l1_radius: float,
    *,
    precision: float = 1e-3,
    max_steps: int = 100,
) -> tuple[FloatArray, FloatArray]:
    """Directions that climbed from the starts, best first, with the variance of each.

    v ← argmax over ‖v'‖₂ ≤ 1, ‖v'‖₁ ≤ ρ of (A·v)·v' never lowers vᵀAv when A is positive
    semidefinite. A start that gains less than `precision`, relatively, in one step is at rest.

    Parameters
    ----------
    multiply : takes (k, d) directions, one a row, to their products with A
    starts : (k, d), one start a row; their lengths do not matter
    l1_radius : ρ, for an l2 radius of 1

    Returns
    -------
    values : (k,) in descending order
    directions : (k, d), each in both balls
    """
    directions = support_points(starts, 1.0, l1_radius)
    images = multiply(directions)
    values = to_host(row_dots(images, directions))
    climbing = np.arange(values.size)
    for _ in range(max_steps):
        candidates = support_points(take(images, climbing), 1.0, l1_radius)
        candidate_images = multiply(candidates)
        reached = to_host(row_dots(candidate_images, candidates))
        better = reached > values[climbing]
        moving = reached > values[climbing] + precision * np.abs(values[climbing])
        improved = climbing[better]
        chosen = np.flatnonzero(better)
        directions = put_rows(directions, improved, candidates, chosen)
        images = put_rows(images, improved, candidate_images, chosen)
        values[improved] = reached[better]
        climbing = climbing[moving]
        if climbing.size == 0:
            break
    order = np.argsort(-values, kind="stable")
    return values[order], take(directions, order)


def column_starts(gram: Any, n_starts: int) -> FloatArray:
    """Starts for the ascent: the columns with the most mass in exceptionally large entries.

    Heuristic: entries beyond 2.5 times the median magnitude are exceptional.
    Measured against the largest diagonal entries, it halves the rounds of the outlier removal.
    """
    if is_sparse(gram):  # its median is zero
        mass = np.ravel(gram.power(2).sum(axis=1))
        return gram[np.argsort(-mass, kind="stable")[:n_starts]].toarray().astype(np.float64)
    xp, stride = namespace_of(gram), 1 + gram.shape[0] // 150
    level = 2.5 * float(np.median(np.abs(to_host(gram[::stride, ::stride]))))
    excess = xp.abs(gram)
    excess -= level
    excess = positive_part(excess)
    mass = to_host(row_dots(excess, excess))
    return as_doubles(take(gram, np.argsort(-mass, kind="stable")[:n_starts]))


def distinct(directions: FloatArray, *, max_cosine: float = 0.7) -> list[int]:
    """Indices of the directions that are not nearly parallel to an earlier chosen one."""
    xp = namespace_of(directions)
    lengths = xp.linalg.vector_norm(directions, axis=1, keepdims=True)
    unit = directions / like(np.maximum(to_host(lengths), 1e-300), directions)
    cosines = np.abs(to_host(unit @ unit.T))
    chosen: list[int] = []
    for i in range(len(cosines)):
        if not chosen or cosines[i, chosen].max() < max_cosine:
            chosen.append(i)
    return chosen
