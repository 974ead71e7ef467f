"""Labeled rows seen from the middle of their class, so that a row in the wrong one stands out."""

from __future__ import annotations

import numpy as np

from thresher.validation import FloatArray

COLUMNS_PER_BLOCK = 16  # bounds the temporary copies
LEAST_SHARE = (
    0.05  # of the largest mean square, added to all: rare entries are not blown up further
)


def around_class_medians(rows: FloatArray, labels: FloatArray) -> FloatArray:
    """The rows less the median of their class, in columns of about the same mean square.

    Planted rows differ from the class that they are said to belong to more than from the table as a
    whole, and in columns of little variance as much as in others.

    Parameters
    ----------
    rows : (n, d) array
    labels : (n,) of -1 and +1

    Examples
    --------
    >>> rows = np.array([[1.0], [2.0], [3.0], [-1.0]])
    >>> around_class_medians(rows, np.array([1.0, 1.0, 1.0, -1.0])).round(2)
    array([[-1.38],
           [ 0.  ],
           [ 1.38],
           [ 0.  ]])
    """
    centered, squares = np.empty_like(rows), np.empty(rows.shape[1])
    blocks = [slice(j, j + COLUMNS_PER_BLOCK) for j in range(0, squares.size, COLUMNS_PER_BLOCK)]
    members = [np.flatnonzero(labels == sign) for sign in np.unique(labels)]
    for block in blocks:
        for chosen in members:
            part = rows[chosen, block]
            centered[chosen, block] = part - np.median(part, axis=0)
    centered /= max(float(centered.max()), -float(centered.min())) or 1.0  # no square vanishes
    for block in blocks:
        squares[block] = np.square(centered[:, block]).mean(axis=0)
    centered /= np.sqrt(squares + LEAST_SHARE * (squares.max(initial=0.0) or 1.0))
    return centered
