"""Columns of sparse rows that are too faint to matter, set aside before any matrix is formed.

An entry of A = (1/n) Σ weights·xxᵀ in column i is at most b_i = (1/n) Σ |x_i|·max_j |x_j| in
magnitude, whatever the weights in [0,1]. Soft-thresholding at a level t ≥ b_i leaves nothing of
that column: what is left has its eigenvalues in the other columns, and the multiplier
clip(A, −t, t) is A itself in the dropped ones, which needs no more proof than b_i ≤ t. In rows of
word counts most columns can go. (√(A_ii·A_jj) bounds an entry, too, but it falls only with the
root of a word's frequency.)
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from thresher.certificates import largest_in_columns
from thresher.solvers.ascent import ascend
from thresher.solvers.moment import products_with, weighted_rows
from thresher.solvers.scaling import ScaledRows
from thresher.solvers.weights import keep_smallest
from thresher.validation import FloatArray, Rows, is_sparse

FEW_COLUMNS = 500  # heuristic: so many cost too little to set any aside
MANY_COLUMNS = 4000  # heuristic: no variance worth looking for needs fainter ones
N_STARTS, N_TRIMS = 4, 3  # heuristic: how hard the variance is looked for that must remain


@dataclass(frozen=True)
class Screen:
    """The columns to work on, or None for all, and a bound on every entry of A in the others."""

    columns: NDArray[np.intp] | None
    rest: float

    def restrict(self, rows: Rows) -> Rows:
        """The rows, without the columns that were set aside."""
        return rows if self.columns is None else rows[:, self.columns]

    def extend(self, directions: FloatArray, n_features: int) -> FloatArray:
        """Directions, one or one a row, with zeros for the columns that were set aside."""
        if self.columns is None:
            return directions
        whole = np.zeros((*directions.shape[:-1], n_features))
        whole[..., self.columns] = directions
        return whole


def screen_columns(scaled: ScaledRows, *, l1_radius: float, share: float) -> Screen:
    """The columns without which no bound on the variance changes by more than a share of it.

    With ρ²·b_i at most the share of a variance that every admissible weights leave, dropping
    columns lowers the largest variance in a direction by at most ρ²·max b_i, and the level at which
    the rest is clipped need not be raised by more than max b_i.

    Parameters
    ----------
    scaled : the rows; only sparse ones are screened
    l1_radius : ρ, for an l2 radius of 1
    share : of the variance, that the dropped columns may account for
    """
    rows, d = scaled.rows, scaled.rows.shape[1]
    if not is_sparse(rows) or d <= FEW_COLUMNS:
        return Screen(None, 0.0)
    bounds = largest_in_columns(rows, np.ones(rows.shape[0]), n_rows=scaled.n_rows)
    order = np.argsort(-bounds, kind="stable")
    strongest = replace(scaled, rows=rows[:, np.sort(order[:MANY_COLUMNS])])
    floor = _remaining_variance(strongest, l1_radius)
    n_kept = max(int(np.count_nonzero(bounds > share * floor / l1_radius**2)), FEW_COLUMNS)
    if n_kept >= d:
        return Screen(None, 0.0)
    return Screen(np.sort(order[:n_kept]), float(bounds[order[n_kept]]))


def _remaining_variance(scaled: ScaledRows, l1_radius: float) -> float:
    """What some direction keeps of variance under any admissible weights, from a few ascents.

    Every direction bounds it: the scores that remain when the largest are taken away. Those rows
    are left out of the next ascent, so that it is not drawn to them again.
    """
    best, weights = 0.0, np.ones(scaled.rows.shape[0])
    for _ in range(N_TRIMS):
        rows = weighted_rows(scaled.rows, weights / scaled.n_rows)
        multiply = partial(products_with, rows)
        _, directions = ascend(multiply, _largest_columns(rows), l1_radius, precision=1e-2)
        for scores in np.square(scaled.rows @ directions[::-1].T).T:
            trimmed, _, least = keep_smallest(scores, scaled.required, None)
            best = max(best, least / scaled.n_rows)
        weights = np.minimum(weights, trimmed)  # the last direction is the best
    return best


def _largest_columns(rows: Rows) -> FloatArray:
    """The unit vectors, one a row, of the columns with the largest sums of squares."""
    sizes = np.asarray(rows.power(2).sum(axis=0)).ravel()
    columns = np.argsort(-sizes, kind="stable")[:N_STARTS]
    starts = np.zeros((columns.size, sizes.size))
    starts[np.arange(columns.size), columns] = 1.0
    return starts
