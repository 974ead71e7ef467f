"""What a cross-validation measured of each choice of parameters, and which choice it makes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class PathPoint:
    """How one choice of parameters did on the held-out rows.

    Parameters
    ----------
    sparsity, noise_rate : the choice
    error : share of the held-out trust on wrongly classified rows, averaged over the folds. For
        comparing choices; smaller than the error on new rows, because rows that are hard to
        classify have little trust
    standard_error : of that average

    Examples
    --------
    >>> PathPoint(sparsity=5, noise_rate=0.05, error=0.1, standard_error=0.01).error
    0.1
    """

    sparsity: int
    noise_rate: float
    error: float
    standard_error: float


def choose(path: Sequence[PathPoint]) -> PathPoint:
    """Of the choices within one standard error of the best the sparsest, then the most cautious.

    Examples
    --------
    >>> path = [PathPoint(1, 0.0, 0.30, 0.01), PathPoint(2, 0.0, 0.11, 0.01),
    ...         PathPoint(9, 0.0, 0.10, 0.02)]
    >>> choose(path).sparsity
    2
    """
    best = min(path, key=lambda point: point.error)
    limit = best.error + best.standard_error
    good = [point for point in path if point.error <= limit]
    return min(good, key=lambda point: (point.sparsity, -point.noise_rate, point.error))
