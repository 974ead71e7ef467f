"""The clean table as an attacker sees it: rows, labels as signs, and what its columns are like."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from thresher.simulate.poisoning.columns import Columns, measure_columns
from thresher.validation import FloatArray, Rows, is_sparse


@dataclass(frozen=True, eq=False)
class CleanTable:
    """Rows with labels of -1 and +1, read through scaled columns.

    Parameters
    ----------
    rows : (n, d) dense array or CSR
    signs : label of each row, -1 or +1

    Examples
    --------
    >>> table = CleanTable(rows=np.array([[0.0], [0.0], [4.0]]), signs=np.array([-1.0, -1.0, 1.0]))
    >>> table.n_rows, table.n_features, table.columns.center
    (3, 1, array([0.]))
    """

    rows: Rows
    signs: FloatArray

    @cached_property
    def columns(self) -> Columns:
        """Center, scale and range of every column."""
        return measure_columns(self.rows)

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return int(self.rows.shape[0])

    @property
    def n_features(self) -> int:
        """How many columns there are."""
        return int(self.rows.shape[1])

    def scores(self, weights: FloatArray) -> FloatArray:
        """weights·z for every scaled row z; no scaled copy of the table is made."""
        per_unit = weights / self.columns.scale
        return np.asarray(self.rows @ per_unit) - float(self.columns.center @ per_unit)

    def combine(self, coefficients: FloatArray) -> FloatArray:
        """Σ coefficient·z over the scaled rows z: what `scores` is transposed."""
        total = np.asarray(self.rows.T @ coefficients)
        return (total - float(coefficients.sum()) * self.columns.center) / self.columns.scale

    def scaled(self, features: NDArray[np.intp]) -> FloatArray:
        """The scaled rows, dense, in a few columns."""
        center, scale = self.columns.center[features], self.columns.scale[features]
        return (part_of(self.rows, features) - center) / scale


def part_of(rows: Rows, features: NDArray[np.intp]) -> FloatArray:
    """A few columns of the rows, dense.

    Examples
    --------
    >>> part_of(sp.csr_array([[1.0, 0.0, 2.0]]), np.array([1, 2]))
    array([[0., 2.]])
    """
    part: Any = rows[:, features]
    dense: FloatArray = part.toarray() if is_sparse(part) else part
    return dense


def replaced(rows: Rows, features: NDArray[np.intp], entries: FloatArray) -> Rows:
    """The rows with new entries in the given columns; dense rows are written over.

    Examples
    --------
    >>> replaced(np.ones((1, 3)), np.array([0, 2]), np.array([[5.0, 6.0]]))
    array([[5., 1., 6.]])
    """
    if not is_sparse(rows):
        rows[:, features] = entries
        return rows
    is_kept = np.ones(rows.shape[1], dtype=np.bool_)
    is_kept[features] = False
    kept = sp.csr_array((rows.data * is_kept[rows.indices], rows.indices, rows.indptr), rows.shape)
    result = sp.csr_array(kept + placed(entries, features, rows.shape[1]))
    result.eliminate_zeros()
    return result


def placed(entries: FloatArray, features: NDArray[np.intp], n_features: int) -> Any:
    """CSR rows that are zero but for their entries in the given columns.

    Examples
    --------
    >>> placed(np.array([[5.0, 6.0]]), np.array([0, 2]), 4).toarray()
    array([[5., 0., 6., 0.]])
    """
    n_rows = entries.shape[0]
    starts = np.arange(n_rows + 1) * features.size
    shape = (n_rows, n_features)
    rows = sp.csr_array((entries.ravel(), np.tile(features, n_rows), starts), shape=shape)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    return rows
