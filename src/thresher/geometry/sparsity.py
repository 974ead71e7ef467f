"""Hard thresholding, the step that makes a candidate sparse."""

import numpy as np

from thresher.validation import FloatArray, check_count, check_vectors


def hard_threshold(v: object, n_nonzero: int) -> FloatArray:
    """The vector with all but its largest entries set to zero.

    Entries are compared by absolute value and ties go to the lower index. `n_nonzero` above the
    length keeps everything. This is H_s of the paper (Algorithm 1, line 10).

    Parameters
    ----------
    v : array of shape (d,), or (k, d) for one vector a row
    n_nonzero : how many entries each vector keeps, at least 1

    Examples
    --------
    >>> hard_threshold([3.0, -1.0, -4.0, 1.0], 2)
    array([ 3.,  0., -4.,  0.])
    """
    vectors = check_vectors(v, "v")
    n_nonzero = check_count(n_nonzero, "n_nonzero")
    kept = np.argsort(-np.abs(vectors), axis=-1, kind="stable")[..., :n_nonzero]
    result = np.zeros_like(vectors)
    np.put_along_axis(result, kept, np.take_along_axis(vectors, kept, axis=-1), axis=-1)
    return result
