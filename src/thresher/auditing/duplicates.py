"""Rows that stand in a table more than once."""

import numpy as np
from numpy.typing import NDArray

from thresher.auditing.suspects import Places
from thresher.validation import Rows, is_sparse


def equal_rows(X: Rows) -> Places:
    """(n,) a number for each row; equal rows have the same one, in order of first appearance.

    Examples
    --------
    >>> equal_rows(np.array([[1.0, 2.0], [0.0, -0.0], [1.0, 2.0], [-0.0, 0.0]]))
    array([0, 1, 0, 1])
    """
    numbers: dict[bytes, int] = {}
    found = (numbers.setdefault(key, len(numbers)) for key in _keys(X))
    return np.fromiter(found, dtype=np.intp, count=X.shape[0])


def _keys(X: Rows) -> list[bytes]:
    if not is_sparse(X):
        positive = np.ascontiguousarray(X + 0.0)  # -0.0 is 0.0
        return [row.tobytes() for row in positive]
    parts = []
    for start, stop in zip(X.indptr[:-1], X.indptr[1:]):
        used = np.flatnonzero(X.data[start:stop]) + start
        order = used[np.argsort(X.indices[used], kind="stable")]
        parts.append(X.indices[order].tobytes() + X.data[order].tobytes())
    return parts


def counts_of(groups: Places) -> NDArray[np.intp]:
    """(n,) how often each row stands in the table.

    Examples
    --------
    >>> counts_of(np.array([0, 1, 0, 2]))
    array([2, 1, 2, 1])
    """
    return np.bincount(groups)[groups]


def repeated(groups: Places) -> list[Places]:
    """The positions of each row that stands in the table more than once, the most copies first.

    Examples
    --------
    >>> repeated(np.array([0, 1, 0, 2, 1, 1]))
    [array([1, 4, 5]), array([0, 2])]
    """
    order = np.argsort(groups, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(groups[order])) + 1)
    return sorted((part for part in parts if part.size > 1), key=lambda part: -part.size)
