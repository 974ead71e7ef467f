"""Values too far out for the column they are in."""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammainc

from thresher.validation import FloatArray

MIN_CELLS = 12  # on one side of the median, to say anything about its tail
NEAR, FAR = 0.6, 0.85  # quantiles of a side between which its tail is measured
STEEPEST = 4.0  # exponent of a tail: normal columns have about 1.8
STANDARD_ERRORS = 2.0  # by which the tail is taken to be heavier than measured


@dataclass(frozen=True, eq=False)
class Tails:
    """How far out values are, compared with what the tail of their column leads to expect.

    Parameters
    ----------
    chance : (n,) how many values as far out are expected, for each that there is; 1 for a value
        that does not stand out
    surprise : (n,) how likely it is that so many values lie as far out
    """

    chance: FloatArray
    surprise: FloatArray


def find_tails(values: FloatArray, median: float) -> Tails:
    """How far out each value is.

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
    >>> np.flatnonzero(find_tails(values, 0.0).chance < 0.01)
    array([0, 1, 2, 3, 4])
    """
    chance, surprise = np.ones(values.size), np.ones(values.size)
    for side in (values > median, values < median):
        places = np.flatnonzero(side)
        if places.size >= MIN_CELLS:
            found = _beyond(np.abs(values[places] - median))
            chance[places], surprise[places] = found.chance, found.surprise
    return Tails(chance, surprise)


def _beyond(distances: FloatArray) -> Tails:
    near, far = np.quantile(distances, (NEAR, FAR))
    if not far > 0:
        return Tails(np.ones(distances.size), np.ones(distances.size))
    n_between = (FAR - NEAR) * distances.size
    growth = max(float(np.log(far / max(near, 1e-300))), 1e-9)
    steepness = min(np.log((1 - NEAR) / (1 - FAR)) / growth, STEEPEST)
    steepness /= 1 + STANDARD_ERRORS / np.sqrt(n_between)
    expected = (1 - FAR) * distances.size * np.maximum(distances / far, 1e-300) ** -steepness
    order = np.argsort(distances, kind="stable")
    n_as_far = distances.size - np.searchsorted(distances[order], distances, side="left")
    parts = np.minimum(expected / n_as_far, 1.0), gammainc(n_as_far, expected)
    # As in the false discovery rate: the best threshold that the value exceeds.
    least = [np.empty(distances.size) for _ in parts]
    for part, found in zip(parts, least):
        found[order] = np.minimum.accumulate(part[order])
    return Tails(*least)
