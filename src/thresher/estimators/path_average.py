"""An average of the fits on a path, where too few rows tell which of them is best.

Each fit has e^-k of the share of the best one, where k is how many standard errors its error is
above the least. The scores of all fits are put on one scale first: those of weak penalties are
larger, and would decide alone.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from thresher.estimators.examples import HeldOut
from thresher.validation import FloatArray

CLEARLY = 1.0  # standard errors by which a fit must be worse than a constant to be none
FAR = 3.0  # standard errors above the least error: such a fit has no share


def are_worse(points: Sequence[Any], path: Sequence[Any], n_rows: int, by: float) -> bool:
    """Whether all these points exceed the least error of a path by so many standard errors."""
    return all(_excess(point, path, n_rows) > by for point in points)


def factors_of(path: Sequence[Any], best: Any, n_rows: int) -> dict[float, float]:
    """The factor of the fit with each C in an average with scores as large as those of the best.

    Departure: Algorithm 1 ends with one halfspace.

    Parameters
    ----------
    path : points with `C`, `held_out` and its `error`
    best : the point with the least error
    n_rows : that were held out
    """
    shares = {}
    for point in path:
        excess, size = _excess(point, path, n_rows), _size(point.held_out)
        if size > 0 and excess <= FAR:
            shares[point.C] = np.exp(-excess), size
    total = sum(share for share, _ in shares.values())
    usual = _size(best.held_out) or 1.0
    return {C: float(share / total * usual / size) for C, (share, size) in shares.items()}


def mean_of(models: dict[float, Any], factors: dict[float, float]) -> tuple[FloatArray, FloatArray]:
    """The coefficients and the intercept of models by their C, times their factors, added."""
    coef = sum(factor * models[C].coef_ for C, factor in factors.items())
    intercept = sum(factor * np.ravel(models[C].intercept_) for C, factor in factors.items())
    return np.asarray(coef), np.asarray(intercept)


def _excess(point: Any, path: Sequence[Any], n_rows: int) -> float:
    """How far the error of a point is above the least, in standard errors of that."""
    least = min(other.error for other in path)
    share = min(max(least, 1 / n_rows), 1 - 1 / n_rows)
    return float((point.error - least) / np.sqrt(share * (1 - share) / n_rows))


def _size(held_out: HeldOut) -> float:
    """Of a usual score."""
    return float(np.nanmean(np.abs(held_out.scores)))
