"""Rows brought to an ordinary scale, so that no solver meets a number it cannot square."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thresher.arrays import is_foreign, namespace_of, stored, take, to_host
from thresher.validation import FloatArray, Rows, is_sparse, sum_of_squares

OUT_OF_SCALE = 1e6
ORDINARY = (1e-9, 1e9)
LARGEST, SMALLEST = 1e140, 1e-140


@dataclass(frozen=True)
class ScaledRows:
    """Rows divided by `scale`, without those that were given up.

    Attributes
    ----------
    rows : the kept rows over `scale`, a power of two
    kept : indices of the kept rows, or None if all were kept
    n_rows : how many rows there were before
    required : the sum that admissible weights of the kept rows must have
    """

    rows: Rows
    kept: NDArray[np.intp] | None
    n_rows: int
    required: float
    scale: float

    def spread(self, weights: FloatArray) -> FloatArray:
        """Weights for all rows: zero for those that were given up."""
        if self.kept is None:
            return weights
        spread = np.zeros(self.n_rows)
        spread[self.kept] = weights
        return spread


def scale_rows(rows: Rows, outlier_fraction: float, *, l2_radius: float) -> ScaledRows:
    """The rows at an ordinary scale; rows a million times larger than the rest are given up.

    Heuristic: if the ⌊ξn⌋ largest rows (by largest entry) include some that exceed the largest of
    the others a million times, any weight on those would dominate the variance, so they get none
    before anything is computed. Every bound is proven afterwards from the original rows.

    Raises
    ------
    ValueError
        if what remains is so large or so small that its square, or that of its product with the
        l2 radius, is not a number
    """
    n_rows = rows.shape[0]
    required = (1 - outlier_fraction) * n_rows
    if not is_sparse(rows) and _is_ordinary(stored(rows), l2_radius):
        return ScaledRows(rows, None, n_rows, required, 1.0)
    sizes = largest_entries(rows)
    largest = float(sizes.max())
    kept = None
    if largest > 0:
        bound = float(np.sort(sizes)[n_rows - 1 - int(outlier_fraction * n_rows)])
        if largest > OUT_OF_SCALE * bound:
            kept = np.flatnonzero(sizes <= OUT_OF_SCALE * bound)
            rows = take(rows, kept)
            largest = float(sizes[kept].max())
    for size in (largest, largest * l2_radius):
        if size > LARGEST or 0 < size < SMALLEST:
            raise ValueError(_message(rows, kept, largest, l2_radius))
    scale = power_of_two(largest)
    if scale != 1:
        rows = rows / scale
    return ScaledRows(rows, kept, n_rows, required, scale)


def power_of_two(largest: float) -> float:
    """What to divide by, without rounding, so that a largest magnitude becomes ordinary."""
    if largest == 0 or ORDINARY[0] <= largest <= ORDINARY[1]:
        return 1.0
    return float(2.0 ** np.round(np.log2(largest)))


def _is_ordinary(rows: FloatArray, l2_radius: float) -> bool:
    """Whether no entry can be out of scale, from one product and a sample of the entries.

    No entry exceeds the root of the sum of squares, which is the root mean square times √(nd). If
    that mean is close to a typical entry, no entry is a million times larger than most.
    """
    norm = float(np.sqrt(sum_of_squares(rows)))
    if not norm <= ORDINARY[1]:  # also stops at NaN
        return False
    sample = np.abs(to_host(rows[:: 1 + rows.shape[0] // 64, :: 1 + rows.shape[1] // 64]))
    typical = float(np.median(sample))
    return (
        ORDINARY[0] <= typical
        and norm <= OUT_OF_SCALE * typical
        and typical * l2_radius >= SMALLEST
        and norm * l2_radius <= LARGEST
    )


def largest_entries(rows: Rows) -> FloatArray:
    """The largest magnitude in each row."""
    if is_sparse(rows):
        return np.asarray(abs(rows).max(axis=1).toarray()).ravel()
    rows = stored(rows)
    if is_foreign(rows):
        xp = namespace_of(rows)
        return to_host(xp.maximum(xp.max(rows, axis=1), -xp.min(rows, axis=1)))
    largest: FloatArray = np.maximum(rows.max(axis=1), -rows.min(axis=1))
    return largest


def _message(rows: Rows, kept: NDArray[np.intp] | None, largest: float, l2_radius: float) -> str:
    position = int(largest_entries(rows).argmax())
    row = position if kept is None else int(kept[position])
    row_values = to_host(take(stored(rows), np.array([position])))
    column = int(abs(row_values).argmax())
    return (
        f"X[{row}, {column}] has magnitude {largest:g}, but what is kept of X must lie between "
        f"{SMALLEST:g} and {LARGEST:g} to be squared, and so must its product with l2_radius "
        f"= {l2_radius:g}; rescale X or drop the row"
    )
