"""The pool as the fits see it: columns scaled by medians, clipped, and of unit variance."""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from thresher.estimators.columns import ColumnScaling
from thresher.estimators.penalized import with_short_indices
from thresher.memory import require_memory
from thresher.validation import FloatArray, Rows, is_sparse

REACH = 3.0  # in robust scales: what one entry can do to a fit
USUAL = 0.8  # share of the rows that are not too long for their length to count
LEAST_DEVIATION = 1e-9  # a column that varies less is constant but for rounding

Places = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class ScaledPool:
    """Scaled rows, and how they were scaled.

    z = clip((x − center)/scale, −3, 3), then (z − mean)/deviation. Sparse rows are only clipped:
    their zeros stay zeros, and a typical other entry is ±1 already.

    Parameters
    ----------
    rows : (n, d) the scaled rows
    scaling : of the columns of the pool
    mean, deviation : (d,) of the clipped columns

    Examples
    --------
    >>> pool = ScaledPool.of(np.array([[1.0], [2.0], [3.0], [1e9]]))
    >>> pool.rows.round(2).ravel()
    array([-0.99, -0.55, -0.11,  1.64])
    """

    rows: Rows
    scaling: ColumnScaling
    mean: FloatArray
    deviation: FloatArray

    @classmethod
    def of(cls, rows: Rows, reach: float = REACH, places: Places | slice = slice(None)) -> Self:
        """The scaled pool, with entries clipped at this many robust scales.

        With `places`, the scales are those of these rows.
        """
        n_rows, n_features = rows.shape
        n_entries = rows.nnz if is_sparse(rows) else n_rows * n_features
        require_memory(16 * n_entries, f"scaling a pool of {n_rows} rows, {n_features} columns")
        scaling = ColumnScaling.of(rows, reach, places)
        scaled = scaling.apply(rows)
        if is_sparse(scaled):
            shift, width = np.zeros(n_features), np.ones(n_features)
            return cls(with_short_indices(scaled), scaling, shift, width)
        mean, deviation = scaled[places].mean(axis=0), scaled[places].std(axis=0)
        deviation[deviation < LEAST_DEVIATION] = 1.0
        scaled -= mean
        scaled /= deviation
        return cls(scaled, scaling, mean, deviation)

    @cached_property
    def lengths(self) -> FloatArray:
        """√(1 + ‖z‖²) of each row: of two with equal scores, the longer is closer to the boundary.

        Without it, the rows that a model is least sure of would be the shortest: almost empty ones.
        The longest fifth have the length of the next: planted rows are often long.
        """
        lengths = np.sqrt(1.0 + self.squared_lengths)
        return np.minimum(lengths, np.quantile(lengths, USUAL))

    @cached_property
    def squared_lengths(self) -> FloatArray:
        """‖z‖² of each row."""
        squares = self.rows.multiply(self.rows) if is_sparse(self.rows) else np.square(self.rows)
        return np.asarray(squares.sum(axis=1)).ravel()

    def squared_distances(self, some: Places, others: Places) -> FloatArray:
        """‖z − z'‖² of some rows to others, but for rounding."""
        products = self.rows[some] @ self.rows[others].T
        dense = products.toarray() if is_sparse(products) else products
        lengths = self.squared_lengths
        return np.asarray(lengths[some][:, np.newaxis] + lengths[others] - 2 * dense)

    def in_clipped_columns(self, coef: FloatArray, offset: float) -> tuple[FloatArray, float]:
        """The same halfspace in the columns before they were centered: weights and offset."""
        weights = coef / self.deviation
        return weights, offset - float(weights @ self.mean)
