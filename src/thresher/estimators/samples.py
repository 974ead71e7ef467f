"""Samples of the rows of a large table, on which fits are compared."""

import numpy as np
from numpy.typing import NDArray

from thresher.validation import FloatArray, Rows, is_sparse

MOST_ENTRIES = 1_000_000  # of a sample, unless that would be too few rows
FEWEST_ROWS = 2000
FEWEST_OF_A_CLASS = 50


def sample_of_rows(signs: FloatArray, rows: Rows, n_columns: int, seed: int) -> NDArray[np.intp]:
    """The positions of all rows, or of a sample if there are many entries, in order.

    Parameters
    ----------
    signs : (n,) of -1 and +1
    rows : the table that they belong to, or a larger one
    n_columns : that will be looked at if the rows are dense
    seed : of the sample

    Examples
    --------
    >>> rows, signs = np.zeros((10_000, 200)), np.tile([1.0, -1.0], 5000)
    >>> [sample_of_rows(signs, rows, n_columns, seed=0).size for n_columns in (10, 200)]
    [10000, 5000]
    """
    n_rows = signs.size
    per_row = rows.nnz / max(rows.shape[0], 1) if is_sparse(rows) else n_columns
    rarest = min(float((signs > 0).mean()), float((signs < 0).mean()))
    n_seen = max(MOST_ENTRIES / max(per_row, 1.0), FEWEST_ROWS, FEWEST_OF_A_CLASS / rarest)
    if n_seen >= n_rows:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(seed).choice(n_rows, int(n_seen), replace=False))
