"""A CSR matrix from its parts, none of which is trusted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from thresher.errors import UnreadableTable
from thresher.table_files.numbered import tidy_csr
from thresher.validation import Rows

PARTS = ("X_data", "X_indices", "X_indptr", "X_shape")


def assemble_csr(path: Path, parts: dict[str, NDArray[Any]]) -> Rows:
    """The matrix that the parts describe, or an error that names the part which is wrong.

    SciPy's own check is incomplete, and wrong indices would read memory that is not ours.

    Examples
    --------
    >>> parts = dict(zip(PARTS, map(np.array, ([5.0], [1], [0, 1, 1], [2, 3]))))
    >>> assemble_csr(Path("t.npz"), parts).toarray()
    array([[0., 5., 0.],
           [0., 0., 0.]])
    """
    data, indices, indptr, shape = (parts[name] for name in PARTS)
    problem = _problem_of_types(data, indices, indptr, shape)
    problem = problem or _problem_of_places(data, indices, indptr, shape)
    if problem:
        raise UnreadableTable(
            path,
            f"has parts of a CSR matrix that do not fit together: {problem}",
            advice="save data, indices, indptr and shape of one matrix after sort_indices()",
        )
    with np.errstate(over="ignore"):
        values = data.astype(np.float64, copy=False)
    return tidy_csr(sp.csr_array((values, indices, indptr), shape=(int(shape[0]), int(shape[1]))))


def _problem_of_types(
    data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], shape: NDArray[Any]
) -> str | None:
    if data.ndim != 1 or data.dtype.kind not in "fiub":
        return f"X_data must hold numbers, got {data.dtype} of shape {data.shape}"
    for name, part in zip(PARTS[1:], (indices, indptr, shape)):
        if part.ndim != 1 or part.dtype.kind not in "iu":
            return f"{name} must hold integers, got {part.dtype} of shape {part.shape}"
    if len(shape) != 2 or int(shape.min()) < 1:
        return f"X_shape must be two positive numbers, got {shape[:3].tolist()}"
    if int(shape.max()) >= 2**62:
        return f"X_shape is impossibly large: {shape.tolist()}"
    return None


def _problem_of_places(
    data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], shape: NDArray[Any]
) -> str | None:
    n_rows, n_columns = (int(size) for size in shape)
    if len(indptr) != n_rows + 1:
        return f"X_indptr must have length {n_rows + 1:,}, got {len(indptr):,}"
    if len(indices) != len(data):
        return f"X_indices has length {len(indices):,}, but X_data has {len(data):,}"
    if int(indptr[0]) != 0 or int(indptr[-1]) != len(data):
        return f"X_indptr must go from 0 to {len(data):,}"
    falls = np.flatnonzero(indptr[1:] < indptr[:-1])
    if falls.size:
        return f"X_indptr falls after row {int(falls[0]) + 1:,}"
    outside = np.flatnonzero((indices < 0) | (indices >= n_columns))
    if outside.size:
        return f"X_indices[{outside[0]}] is {indices[outside[0]]}, beyond {n_columns:,} columns"
    begins = np.zeros(len(indices) + 1, dtype=bool)
    begins[indptr] = True
    unsorted = np.flatnonzero((indices[1:] <= indices[:-1]) & ~begins[1:-1])
    if unsorted.size:
        row = int(np.searchsorted(indptr, unsorted[0], side="right"))
        return f"X_indices is unsorted, or repeats a column, in row {row:,}"
    return None
