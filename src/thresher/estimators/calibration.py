"""Probabilities: scores turned into log odds by one slope, fitted to trusted held-out rows."""

import numpy as np

from thresher.validation import FloatArray

MAX_STEPS = 100  # of Newton's method; ten are usual
CLOSE = 1e-10  # the relative change of the slope at which it stops
# Times the typical score, in log odds. The least keeps the order of rows that scores get wrong.
LEAST_ODDS, MOST_ODDS = 1e-6, 1e6
LARGEST = 1e300  # of slopes and log odds, which stay finite


def fit_slope(scores: FloatArray, signs: FloatArray, weights: FloatArray) -> float:
    """The factor that turns scores into log odds: P(second class) = 1/(1 + exp(−slope·score)).

    It minimizes the weighted log loss. There is no second parameter, so that the more probable
    class is always the predicted one. As in Platt's method, a class of weight n counts as n rows
    of n + 1 in n + 2: the slope stays finite for rows that are separated.

    Parameters
    ----------
    scores : (n,) decision function of rows that the model was not fitted to, where possible; NaN
        for rows that do not count
    signs : (n,) of -1 and +1
    weights : (n,) how much each row counts

    Examples
    --------
    >>> scores = np.array([-2.0, -1.0, 1.0, 2.0, -1.0, 1.0])
    >>> round(fit_slope(scores, np.array([-1.0, -1.0, 1.0, 1.0, 1.0, -1.0]), np.ones(6)), 3)
    0.417
    """
    kept = np.isfinite(scores) & (weights > 0)
    scores, signs, weights = scores[kept], signs[kept], weights[kept]
    unit = float(np.abs(scores).mean()) if scores.size else 0.0
    if unit == 0:
        return 1.0
    slope = _minimum(scores / unit, _targets(signs, weights), weights)
    return min(float(np.clip(slope, LEAST_ODDS, MOST_ODDS)) / unit, LARGEST)


def probabilities(scores: FloatArray, slope: float) -> FloatArray:
    """(n, 2) the probability of each class.

    Examples
    --------
    >>> probabilities(np.array([0.0, 1e9]), 2.0)
    array([[0.5, 0.5],
           [0. , 1. ]])
    """
    chances: FloatArray = np.exp(log_probabilities(scores, slope))
    return chances


def log_probabilities(scores: FloatArray, slope: float) -> FloatArray:
    """(n, 2) their logarithms, without loss of precision.

    Examples
    --------
    >>> log_probabilities(np.array([1e9]), 2.0)
    array([[-2.e+09,  0.e+00]])
    """
    with np.errstate(over="ignore"):
        odds = np.clip(slope * scores, -LARGEST, LARGEST)
    logarithms: FloatArray = -np.logaddexp(0.0, np.column_stack([odds, -odds])) + 0.0
    return logarithms


def check_slope(slope: float | None) -> float:
    """The slope of a model, or an error that says why there is none."""
    if slope is None:
        raise ValueError(
            "this model has no probabilities: it was saved by an earlier version, its fit is not "
            "over, or it was made without them. Fit it again, call to_model with "
            "with_probabilities=True where that is offered, or use decision_function"
        )
    return slope


def _targets(signs: FloatArray, weights: FloatArray) -> FloatArray:
    targets = np.empty(signs.size)
    for sign in (-1.0, 1.0):
        own = signs == sign
        size = float(weights[own].sum())
        targets[own] = (0.5 + 0.5 * sign * size / (size + 2)) if size else 0.5
    return targets


def _minimum(scores: FloatArray, targets: FloatArray, weights: FloatArray) -> float:
    """The slope of least log loss, by Newton's method between bounds that close in."""
    low, high, slope = 0.0, MOST_ODDS, 1.0
    for _ in range(MAX_STEPS):
        expected = probabilities(scores, slope)[:, 1]
        gradient = float(weights @ (scores * (expected - targets)))
        curvature = float(weights @ (scores**2 * expected * (1 - expected)))
        low, high = (slope, high) if gradient < 0 else (low, slope)
        step = slope - gradient / curvature if curvature > 0 else -1.0
        following = step if low < step < high else (low + min(high, 4 * low + 1)) / 2
        if abs(following - slope) <= CLOSE * slope:
            return following
        slope = following
    return slope
