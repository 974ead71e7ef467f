"""Values in a thousandth of the unit of the others, in columns that span several decades."""

import numpy as np
from scipy.stats import norm

from thresher.validation import FloatArray

DECADES = 3.0  # a factor of 1000
UPPER, UPPER_SPREAD = 0.85, 1.036  # a quantile, and how far from the median it is if normal
N_STEPS = 50  # of the fit of a share
MOST, FEWEST = 0.1, 5.0  # share of the rows, and rows, that have the other unit
NEAR, BETWEEN = 0.5, 0.25  # decades around the center of the copy, and around one decade below
NO_CHANCE = 1e-4  # that so many large values are in the unit of the column


def chance_of_own_unit(values: FloatArray, n_rows: int) -> FloatArray:
    """(n,) how likely each value, not zero, is in the unit of the others: 1 if nothing says it is
    not, and very little for those that look like the others times 1000.

    The logarithms of the values are a mixture of one bump and a smaller copy of it, three decades
    above. There must be more values near the center of the copy than a decade below: a heavy tail
    alone falls all the way.

    Examples
    --------
    >>> values = np.exp(np.random.default_rng(0).normal(3.0, 1.0, size=1000))
    >>> values[:30] *= 1000
    >>> chance = chance_of_own_unit(values, 1000)
    >>> int((chance[:30] < 0.001).sum()), int((chance[30:] < 0.001).sum())
    (30, 0)
    """
    sizes = np.log10(np.abs(values))
    center, upper = np.quantile(sizes, (0.5, UPPER))
    spread = max(float(upper - center) / UPPER_SPREAD, 0.05)
    usual = norm.pdf((sizes - center) / spread)
    moved = norm.pdf((sizes - center - DECADES) / spread)
    share = 0.01
    for _ in range(N_STEPS):
        is_moved = share * moved / np.maximum(share * moved + (1 - share) * usual, 1e-300)
        share = float(is_moved.mean())
    n_near = (np.abs(sizes - center - DECADES) < NEAR).sum()
    n_between = (np.abs(sizes - center - DECADES + 1) < BETWEEN).sum()
    n_moved = share * values.size
    is_bump = n_near > FEWEST + n_between
    if not is_bump or not FEWEST <= n_moved <= MOST * n_rows:
        return np.ones(values.size)
    return np.where(is_moved >= 0.5, NO_CHANCE * (1 - is_moved) + 1e-9, 1.0)
