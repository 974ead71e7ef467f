"""The rows of a table as they are learned from, made when they are asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from thresher.estimators.columns import ColumnScaling
from thresher.validation import FloatArray, Rows, is_sparse

ROWS_PER_BLOCK = 512  # bounds what is gathered beside the result


@dataclass(frozen=True, eq=False)
class HomogeneousRows:
    """Scaled rows, with a one at the end of each if there is to be an intercept.

    A phase looks at part of the table. Keeping a scaled copy of all of it would cost more memory
    than scaling the part anew costs time.

    Parameters
    ----------
    rows : (n, d) the table, checked
    scaling : of its columns
    with_ones : whether there is a column of ones
    places : of the rows that count; all of them by default

    Examples
    --------
    >>> table = HomogeneousRows(np.array([[2.0], [4.0]]), ColumnScaling.identity(1), True)
    >>> table.shape, table[np.array([1])]
    ((2, 2), array([[4., 1.]]))
    """

    rows: Rows
    scaling: ColumnScaling
    with_ones: bool
    places: NDArray[np.intp] | slice = field(default_factory=lambda: slice(None))

    @property
    def shape(self) -> tuple[int, int]:
        """As of the table, with the column of ones."""
        return self._chosen.size, self.rows.shape[1] + int(self.with_ones)

    @cached_property
    def _chosen(self) -> NDArray[np.intp]:
        return np.arange(self.rows.shape[0])[self.places]

    def __getitem__(self, places: NDArray[np.intp] | slice) -> Rows:
        wanted = self._chosen[places]
        return self._sparse(wanted) if is_sparse(self.rows) else self._dense(wanted)

    def _sparse(self, wanted: NDArray[np.intp]) -> Rows:
        scaled = self.scaling.apply(self.rows[wanted])
        if not self.with_ones:
            return scaled
        ones = sp.csr_array(np.ones((scaled.shape[0], 1)))
        return sp.hstack([scaled, ones], format="csr")

    def _dense(self, wanted: NDArray[np.intp]) -> FloatArray:
        table = np.empty((wanted.size, self.shape[1]))
        features = table[:, : self.rows.shape[1]]
        for start in range(0, wanted.size, ROWS_PER_BLOCK):
            block = slice(start, start + ROWS_PER_BLOCK)
            self.scaling.apply(self.rows[wanted[block]], out=features[block])
        table[:, features.shape[1] :] = 1.0
        return table
