"""Tables of any kind: planted rows join an array, a sparse matrix or a data frame as its like.

Frames are recognized by what they can do, so that neither pandas nor Polars is imported.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from thresher.validation import FloatArray, Rows, check_rows, check_vector, require_in_memory


def is_frame(table: object) -> bool:
    """Whether this is a data frame with named columns, of pandas or Polars."""
    return all(hasattr(table, name) for name in ("columns", "dtypes", "to_numpy"))


def is_pandas(table: object) -> bool:
    """Whether rows are picked by position in the manner of pandas."""
    return hasattr(table, "iloc")


def check_numbers(table: Any) -> Rows:
    """The table as finite numbers, or an error that names the entry, in a frame by its column.

    Examples
    --------
    >>> check_numbers([[1, 2], [3, 4]])
    array([[1., 2.],
           [3., 4.]])
    """
    require_in_memory(table)
    if not is_frame(table):
        return check_rows(table, "X")
    _check_names(table)
    try:
        return check_rows(table, "X")
    except (TypeError, ValueError):
        for name in table.columns:
            check_vector(table[name].to_numpy(), f"X[{name!r}]")
        raise


def _check_names(frame: Any) -> None:
    """Refuse a frame in which a name stands for two columns."""
    seen: set[object] = set()
    for name in frame.columns:
        if name in seen:
            raise ValueError(f"X must have column names that differ, got {name!r} twice")
        seen.add(name)


def stacked(table: Any, planted: Rows, order: NDArray[np.intp]) -> Any:
    """The table with the planted rows below it, its rows then put in the given order.

    Kind and types are kept, and entries of the table are never converted.

    Examples
    --------
    >>> stacked(np.array([[1, 2]]), np.array([[3.0, 4.0]]), np.array([1, 0]))
    array([[3, 4],
           [1, 2]])
    """
    if sp.issparse(table):
        return _stacked_sparse(table, planted, order)
    if is_frame(table):
        return _stacked_frame(table, planted, order)
    rows = np.asarray(table)
    return np.concatenate([rows, planted.astype(rows.dtype)])[order]


def _stacked_sparse(table: Any, planted: Any, order: NDArray[np.intp]) -> Any:
    rows = table.tocsr()
    below = type(rows)(planted.astype(rows.dtype))
    # Many learners refuse 64-bit indices, which SciPy makes of any wide index handed to it.
    below.indices, below.indptr = (
        indices.astype(rows.indices.dtype) for indices in (below.indices, below.indptr)
    )
    both = sp.vstack([rows, below], format="csr")[order.astype(rows.indices.dtype)]
    return both.asformat(table.format)


def _stacked_frame(table: Any, planted: FloatArray, order: NDArray[np.intp]) -> Any:
    def joined(name: object, values: FloatArray) -> NDArray[Any]:
        column = np.asarray(table[name].to_numpy())
        below = values.astype(column.dtype) if column.dtype.kind in "fiub" else values
        return np.concatenate([column, below])[order]

    columns = {name: joined(name, planted[:, j]) for j, name in enumerate(table.columns)}
    types = dict(zip(table.columns, table.dtypes))
    frame = type(table)(columns)
    return frame.astype(types) if is_pandas(table) else frame.cast(types)


def picked(labels: Any, positions: NDArray[np.intp]) -> Any:
    """The labels at these positions, as an array or as the series they came in.

    Examples
    --------
    >>> picked(["ham", "spam"], np.array([1, 1, 0])).tolist()
    ['spam', 'spam', 'ham']
    """
    if is_pandas(labels):
        return labels.iloc[positions].reset_index(drop=True)
    if hasattr(labels, "to_numpy"):
        return labels[positions]
    return np.asarray(labels)[positions]
