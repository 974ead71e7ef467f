"""Repeats: rows of one question that hardly differ from each other."""

import numpy as np
from numpy.typing import NDArray

from thresher.labeling.scaled_pool import Places, ScaledPool

LITTLE = 0.25  # times the usual distance between a row and the nearest one
N_COMPARED = 200  # first rows, among which that distance is measured
BLOCK = 500  # rows that are looked through at once
ROUNDING = 1e-10  # relative to squared lengths: equal rows are closer than this


def repeats_last(
    pool: ScaledPool, order: Places, n_rows: int, is_exempt: NDArray[np.bool_]
) -> Places:
    """The first rows in this order, but those that hardly differ from one before them last.

    The model is fitted again once they have labels. Until then, one label tells almost as much as
    those of ten rows that are like each other, and planted rows often are. Rows that the model is
    still not sure of are asked about in the next batch.

    Departure: Algorithm 1 draws rows at random.

    Parameters
    ----------
    pool : the scaled rows
    order : positions of rows that can be asked about, the most important first
    n_rows : how many are wanted
    is_exempt : (n,) rows of the pool that do not count as repeats

    Examples
    --------
    >>> pool = ScaledPool.of(np.array([[0.0], [1.0], [1.0], [2.5], [4.0], [6.0]]))
    >>> repeats_last(pool, np.array([1, 2, 3, 4]), 2, np.zeros(6, dtype=bool))
    array([1, 3])
    >>> repeats_last(pool, np.array([1, 2, 3, 4]), 4, np.zeros(6, dtype=bool))
    array([1, 3, 4, 2])
    """
    if n_rows == 0:
        return order[:0]
    reach = (LITTLE * _spacing(pool, order[:N_COMPARED])) ** 2
    chosen: list[int] = []
    for start in range(0, order.size, BLOCK):
        part = order[start : start + BLOCK]
        is_new = np.ones(part.size, dtype=np.bool_)
        for row in chosen:
            is_new &= is_exempt[part] | ~_are_near(pool, part, row, reach)
        while is_new.any() and len(chosen) < n_rows:
            place = int(is_new.argmax())
            chosen.append(int(part[place]))
            is_new &= is_exempt[part] | ~_are_near(pool, part, chosen[-1], reach)
            is_new[place] = False
        if len(chosen) >= n_rows:
            break
    others = order[~np.isin(order, chosen)]
    return np.append(np.array(chosen, dtype=np.intp), others)[:n_rows]


def _are_near(pool: ScaledPool, some: Places, row: int, reach: float) -> NDArray[np.bool_]:
    """Which of some rows hardly differ from this one."""
    squares = pool.squared_distances(some, np.array([row]))[:, 0]
    near: NDArray[np.bool_] = squares <= reach + ROUNDING * (1 + pool.squared_lengths[row])
    return near


def _spacing(pool: ScaledPool, rows: Places) -> float:
    """How far the nearest of the other rows usually is."""
    if rows.size < 2:
        return 0.0
    squares = pool.squared_distances(rows, rows)
    np.fill_diagonal(squares, np.inf)
    return float(np.sqrt(np.median(np.maximum(squares.min(axis=1), 0.0))))
