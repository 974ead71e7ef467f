"""Trust in the rows of a pool before any of them has a label."""

import numpy as np
from numpy.typing import NDArray

from thresher.estimators.trust import keep_every_class
from thresher.labeling.scaled_pool import ScaledPool
from thresher.outliers import find_weights
from thresher.validation import FloatArray, Rows, is_sparse

MAX_COLUMNS = 400  # that the filter looks at: its work is quadratic in them
MARGIN = 1.5  # times the noise rate is removed: some of it is spent on clean rows
FAR_REACH = 30.0  # in robust scales: where entries are clipped when far ones are looked for
FAR_L1_RATIO = 10.0**0.5  # of the directions in which these are, relative to their length
FAR_MARGIN = 0.75  # times the noise rate is removed for them
LARGEST_SHARE = 0.5  # of the pool that can be distrusted
LEAST_TRUST = 0.5  # rows with at most this are not asked about


def trust_in_pool(rows: Rows, pool: ScaledPool, noise_rate: float) -> FloatArray:
    """The weight of each row after Algorithm 2 has removed what stands out in the whole pool.

    It looks twice: at the clipped columns, as the fits see them, in all directions; and at columns
    that are hardly clipped, where planted rows can be far off, in sparse directions. The smaller
    weight counts.

    Examples
    --------
    >>> rows = np.random.default_rng(0).standard_normal((500, 5))
    >>> rows[:25] = [4.0, 4.0, 4.0, 0.0, 0.0]  # planted
    >>> trust = trust_in_pool(rows, ScaledPool.of(rows), noise_rate=0.05)
    >>> bool(trust[:25].max() < 0.5 < trust[25:].mean())
    True
    """
    if noise_rate == 0:
        return np.ones(pool.rows.shape[0])
    columns = _widest(pool)
    far_rows = ScaledPool.of(rows[:, columns], FAR_REACH).rows
    clipped = _weights(pool.rows[:, columns], MARGIN * noise_rate, columns.size**0.5)
    far = _weights(far_rows, FAR_MARGIN * noise_rate, FAR_L1_RATIO)
    return np.minimum(clipped, far)


def _weights(rows: Rows, share: float, l1_ratio: float) -> FloatArray:
    return find_weights(
        rows.toarray() if is_sparse(rows) else rows,
        l2_radius=1.0,
        l1_radius=l1_ratio,
        outlier_fraction=min(share, LARGEST_SHARE),
    )


def trust_in_labeled(trust: FloatArray, rows: list[int], signs: FloatArray) -> FloatArray:
    """The trust in labeled rows; no class loses more than half of its rows.

    A class whose rows all stand out may be small and genuine.

    Examples
    --------
    >>> trust_in_labeled(np.array([1.0, 1.0, 0.0]), [0, 2], np.array([-1.0, 1.0]))
    array([1. , 0.5])
    """
    return keep_every_class(trust[rows], signs)


def _widest(pool: ScaledPool) -> NDArray[np.intp]:
    """The columns in which most rows deviate, as far as clipped entries can; all if there are few.

    Planted rows, a small share of all, can hardly change which these are.
    """
    n_columns = pool.rows.shape[1]
    if n_columns <= MAX_COLUMNS:
        return np.arange(n_columns)
    width = pool.rows.count_nonzero(axis=0) if is_sparse(pool.rows) else pool.deviation
    return np.sort(np.argsort(-np.asarray(width), kind="stable")[:MAX_COLUMNS])
