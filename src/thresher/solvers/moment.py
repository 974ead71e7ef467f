"""The weighted second moment of rows, kept current while their weights change.

Everything the outlier removal asks of the rows goes through here: the d×d matrix, its change when
few weights change, and squared projections. Dense rows are worked on in single precision where the
rounding that this costs is bounded and small; the bound is carried along as `error` and paid for
in every certificate.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from thresher.arrays import (
    column_products,
    device_blocks,
    diagonal,
    is_foreign,
    like,
    namespace_of,
    to_host,
    zeros,
)
from thresher.solvers.eigen import Floats
from thresher.validation import FloatArray, Rows, is_sparse

UNIT_ROUNDOFF = {np.dtype(np.float32): 2.0**-24, np.dtype(np.float64): 2.0**-53}
MAX_BLOCK_ROWS = 2048
FEW_ROWS = 5_000  # whose weights are found faster on the host
DEVICE_BLOCK_SIZE = 2**30  # entries: rows on a GPU are worked on in blocks of 8 GB
SMALL_FLOPS = 1e8  # double precision costs nothing noticeable up to here
SPARSE_SIZE, SPARSE_SHARE = 1000, 4  # a sparse moment has more columns, and one entry in four
THIN = 16  # how many entries of a matrix are multiplied in the time of one of sparse rows
LARGE_BYTES = 2**26  # rows that take more are turned to single precision block by block
MAX_BLOCK_FLOPS = 2e10  # a block takes well under a second, so an interrupt is answered


def single_precision_error(rows: Rows) -> float:
    """The relative error of an entry of the second moment in single precision.

    Infinite where single precision is no option: sparse rows, too few to gain anything, and rows on
    a GPU, where it gains little (measured on an H200).
    """
    n, d = rows.shape
    if is_sparse(rows) or is_foreign(rows) or n * d**2 < SMALL_FLOPS:
        return float("inf")
    return (min(n, MAX_BLOCK_ROWS) + 8) * 2.0**-24


def is_moment_sparse(rows: Rows) -> bool:
    """Whether the second moment of these rows is kept sparse: many columns, few entries."""
    d = rows.shape[1]
    return is_sparse(rows) and d > SPARSE_SIZE and SPARSE_SHARE * _n_products(rows) < d**2


def moment_bytes(rows: Rows) -> int:
    """The memory that the second moment takes, at most."""
    return 16 * _n_products(rows) if is_moment_sparse(rows) else 8 * int(rows.shape[1]) ** 2


def _n_products(rows: Rows) -> int:
    """The number of pairs of entries of one row: the moment has no more entries."""
    return int(np.square(np.diff(rows.indptr).astype(np.int64)).sum())


class SecondMoment:
    """A = (1/n) Σ weights·xxᵀ for rows whose weights start at one, or at those given.

    Attributes
    ----------
    gram : (d, d) float64 array, or CSR where `is_moment_sparse` says so; symmetric
    error : bound on the rounding error of each of its entries
    weights : (m,) the weights it belongs to
    is_thin : whether the rows are so sparse that products are better taken with them than with A
    """

    def __init__(
        self, rows: Rows, weights: FloatArray | None = None, *, n_rows: int, single_precision: bool
    ) -> None:
        self._exact_rows = rows
        self._dtype = np.dtype(np.float32 if single_precision else np.float64)
        is_large = not is_sparse(rows) and (is_foreign(rows) or rows.nbytes > LARGE_BYTES)
        self._rows = rows if is_large else rows.astype(self._dtype, copy=False)
        self._n_rows = n_rows
        self.weights = np.ones(rows.shape[0]) if weights is None else weights
        self._is_sparse = is_moment_sparse(rows)
        is_thin = is_sparse(rows) and THIN * rows.nnz < rows.shape[1] ** 2
        self.is_thin = is_thin or self._is_sparse
        kept = None if weights is None else np.flatnonzero(weights)
        shares = None if weights is None else weights[kept]
        self.gram, self.error = self._moment(self._rows, kept, shares, self._dtype)

    def reweight(self, weights: FloatArray) -> None:
        """Move to new weights at the cost of the rows whose weight changed."""
        changed = np.flatnonzero(weights != self.weights)
        for sign in (1.0, -1.0):
            change = sign * (weights - self.weights)[changed]
            part = changed[change > 0]
            if part.size:
                gram, error = self._moment(self._rows, part, change[change > 0], self._dtype)
                self._add(sign, gram)
                self.error += error + 2 * UNIT_ROUNDOFF[np.dtype(np.float64)] * self._largest()
        self.weights = weights

    def _add(self, sign: float, change: Any) -> None:
        if self._is_sparse:
            self.gram = self.gram + sign * change
        elif sign > 0:
            self.gram += change
        else:
            self.gram -= change

    def refresh(self) -> None:
        """Recompute from the rows, in double precision: what cancelled in updates is forgotten."""
        rows, kept = self._exact_rows, np.flatnonzero(self.weights)
        self.gram, self.error = self._moment(rows, kept, self.weights[kept], np.dtype(np.float64))

    def multiply(self, directions: FloatArray) -> FloatArray:
        """A·v for every direction v, one a row."""
        if not self.is_thin:
            return directions @ self.gram
        return products_with(self._rows, directions, (self.weights / self._n_rows)[:, None])

    def squared_projections(self, directions: FloatArray) -> Floats:
        """(x·v)² for every row x (down) and direction v (across), in the precision of the rows.

        Of rows on a device they are there as well, or on the host if there are few.
        """
        if is_foreign(self._rows):
            projections = self._rows @ like(directions, self._rows).T
            squares = namespace_of(self._rows).square(projections)
            return to_host(squares) if squares.shape[0] <= FEW_ROWS else squares
        columns = np.ascontiguousarray(directions.T, dtype=self._dtype)
        if self._rows.dtype == self._dtype:
            return np.square(self._rows @ columns)
        projections = np.empty((self._rows.shape[0], len(directions)), dtype=self._dtype)
        for start in range(0, self._rows.shape[0], MAX_BLOCK_ROWS):
            block = slice(start, start + MAX_BLOCK_ROWS)
            np.matmul(self._rows[block].astype(self._dtype), columns, out=projections[block])
        return np.square(projections, out=projections)

    def _largest(self) -> float:
        return float(np.abs(diagonal(self.gram)).max())

    def _moment(
        self,
        rows: Rows,
        places: NDArray[np.intp] | None,
        weights: FloatArray | None,
        dtype: np.dtype[Any],
    ) -> tuple[Any, float]:
        """The moment of the rows in these places, or of all, block by block."""
        d, lengths = rows.shape[1], [0]
        gram: Any = sp.csr_array((d, d)) if self._is_sparse else None
        if not (self._is_sparse or is_foreign(rows)):
            gram = np.zeros((d, d))
        for part, block in _blocks(rows, places, dtype):
            lengths.append(part.stop - part.start)
            if weights is not None:
                block = weighted_rows(block, weights[part])
            if self._is_sparse:
                gram = gram + block.T @ block
            elif gram is None:
                gram = gram_of(block)
            else:
                gram += gram_of(block)
        gram = zeros((d, d), rows) if gram is None else gram
        gram /= self._n_rows
        # |fl(Σ xy) − Σ xy| ≤ γ Σ|xy| ≤ γ·(largest diagonal entry), with the block's length in γ;
        # the last terms are for the square roots, the casts and the sums over blocks.
        gamma = 1.01 * ((max(lengths) + 8) * UNIT_ROUNDOFF[dtype] + (len(lengths) - 1) * 2.0**-52)
        return gram, gamma * float(diagonal(gram).max())


def _blocks(
    rows: Rows, places: NDArray[np.intp] | None, dtype: np.dtype[Any]
) -> Iterator[tuple[slice, Rows]]:
    """Consecutive rows, or those in these places, and which they are; large blocks on a GPU."""
    if is_foreign(rows):
        yield from device_blocks(rows, places, DEVICE_BLOCK_SIZE)
        return
    n, d = rows.shape[0] if places is None else places.size, rows.shape[1]
    step = max(1, min(MAX_BLOCK_ROWS, int(MAX_BLOCK_FLOPS / d**2)))
    for start in range(0, n, step):
        part = slice(start, min(start + step, n))
        yield part, rows[part if places is None else places[part]].astype(dtype, copy=False)


def products_with(rows: Rows, directions: FloatArray, weights: Any = 1.0) -> FloatArray:
    """Σ weights·x(x·v) for every direction v, one a row; no d×d matrix is formed."""
    return np.ascontiguousarray((rows.T @ (weights * (rows @ directions.T))).T)


def gram_of(block: Rows) -> Any:
    """The inner products of the columns, as a dense matrix."""
    return (block.T @ block).toarray() if is_sparse(block) else column_products(block)


def weighted_rows(block: Rows, weights: FloatArray) -> Rows:
    """Every row times the root of its weight."""
    if is_foreign(block):
        return block * like(np.sqrt(weights)[:, None], block)
    factors = np.sqrt(weights).astype(block.dtype)[:, None]
    return block.multiply(factors).tocsr() if is_sparse(block) else block * factors
