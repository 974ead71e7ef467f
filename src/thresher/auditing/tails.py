"""Values too far out for the column they are in."""

import numpy as np

from thresher.validation import FloatArray

MIN_CELLS = 12  # on one side of the median, to say anything about its tail
NEAR, FAR = 0.6, 0.85  # quantiles of a side between which its tail is measured
STEEPEST = 4.0  # exponent of a tail: normal columns have about 1.8
STANDARD_ERRORS = 2.0  # by which the tail is taken to be heavier than measured


def chance_of_tails(values: FloatArray, median: float) -> FloatArray:
    """How many values as far out as each are expected, for each that there is; 1 if it is usual.

    The tail on each side of the median is taken to fall like a power of the distance, as measured
    between two quantiles. That suits heavy tails, and is careful with light ones: a normal column
    has no value that stands out. A few per cent of absurd values hardly change the quantiles.

    Parameters
    ----------
    values : (n,) ordinary and absurd ones
    median : of the values

    Examples
    --------
    >>> values = np.random.default_rng(0).normal(size=500)
    >>> values[:5] = 1000
    >>> np.flatnonzero(chance_of_tails(values, 0.0) < 0.01)
    array([0, 1, 2, 3, 4])
    """
    chance = np.ones(values.size)
    for side in (values > median, values < median):
        places = np.flatnonzero(side)
        if places.size >= MIN_CELLS:
            chance[places] = _beyond(np.abs(values[places] - median))
    return chance


def _beyond(distances: FloatArray) -> FloatArray:
    near, far = np.quantile(distances, (NEAR, FAR))
    if not far > 0:
        return np.ones(distances.size)
    n_between = (FAR - NEAR) * distances.size
    growth = max(float(np.log(far / max(near, 1e-300))), 1e-9)
    steepness = min(np.log((1 - NEAR) / (1 - FAR)) / growth, STEEPEST)
    steepness /= 1 + STANDARD_ERRORS / np.sqrt(n_between)
    expected = (1 - FAR) * distances.size * np.maximum(distances / far, 1e-300) ** -steepness
    order = np.argsort(distances, kind="stable")
    n_as_far = distances.size - np.searchsorted(distances[order], distances, side="left")
    # As in the false discovery rate: the best threshold that the value exceeds.
    chance = np.empty(distances.size)
    chance[order] = np.minimum.accumulate(np.minimum(expected / n_as_far, 1.0)[order])
    return chance
