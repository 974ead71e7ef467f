"""Formats whose features have no columns with names in a header: which of them are wanted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from thresher.errors import UnreadableTable
from thresher.memory import require_memory
from thresher.table_files.table import TableRequest
from thresher.table_files.wording import count, quoted

MAX_FEATURES = 10_000_000  # beyond, an index is a mistake, and the names alone would take a GB


def refuse_width(path: Path, n_features: int) -> None:
    """Raise `UnreadableTable` if there is no feature, or if there are impossibly many."""
    if not 0 < n_features <= MAX_FEATURES:
        raise UnreadableTable(
            path,
            f"has {count(n_features, 'feature')}",
            advice=f"1 to {MAX_FEATURES:,} can be read; check the largest index",
        )


def refuse_other_label(path: Path, request: TableRequest, own: str) -> None:
    """Raise `UnreadableTable` if a label is asked for that the format cannot have."""
    if request.with_labels and request.label not in (None, own):
        raise UnreadableTable(
            path,
            f"has no label column {quoted([request.label])}",
            advice=f"files of this format have labels of their own, called {own!r}",
        )


def pick_columns(X: Any, columns: list[int]) -> Any:
    """These columns of a CSR matrix, in this order; -1 is a column of zeros.

    Examples
    --------
    >>> pick_columns(sp.csr_array([[1.0, 2.0], [0.0, 3.0]]), [1, -1, 0]).toarray()
    array([[2., 0., 1.],
           [3., 0., 0.]])
    """
    require_memory(12 * X.nnz, "the chosen columns")
    chosen = np.asarray(columns)
    kept = np.flatnonzero(chosen >= 0)
    selection = sp.csr_array(
        (np.ones(len(kept)), (chosen[kept], kept)), shape=(X.shape[1], len(columns))
    )
    return tidy_csr(X @ selection)


def tidy_csr(X: Any) -> Any:
    """The rows as a CSR array with sorted indices, of 32 bits where they suffice."""
    rows = sp.csr_array(X, dtype=np.float64)
    rows.sort_indices()
    if max(rows.nnz, *rows.shape) < 2**31:
        rows.indices = rows.indices.astype(np.int32, copy=False)
        rows.indptr = rows.indptr.astype(np.int32, copy=False)
    return rows


def whole_numbers(labels: NDArray[Any]) -> NDArray[Any]:
    """The labels as integers, if they are."""
    if labels.dtype.kind == "f" and (np.abs(labels) < 2**53).all():
        rounded = labels.astype(np.int64)
        if np.array_equal(rounded, labels):
            return rounded
    return labels
