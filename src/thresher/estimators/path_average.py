"""An average of the fits on a path, where too few rows tell which of them is best.

Each fit has e^-k of the share of the best one, where k is how many standard errors its error is
above the least, and no share if k is more than 3. The scores of all fits are put on one scale
first: those of weak penalties are larger, and would decide alone.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from thresher.validation import FloatArray

Linear = tuple[Any, FloatArray]  # coefficients, sparse, and the intercept
CLEARLY = 1.0  # standard errors: if all fits are so much worse than a constant, that is the model
FAR = 3.0  # standard errors: a fit so much worse than the best one has no share


def are_worse(points: Sequence[Any], path: Sequence[Any], n_rows: int, by: float) -> bool:
    """Whether all these points exceed the least error of a path by so many standard errors."""
    return all(_excess(point, path, n_rows) > by for point in points)


def factors_of(path: Sequence[Any], best: Any, n_rows: int) -> dict[float, float]:
    """The factor of the fit with each C in an average with scores as large as those of the best.

    Departure: Algorithm 1 ends with one halfspace.

    Parameters
    ----------
    path : points with `C`, `held_out`, its `error`, and the `models` of the folds. A point has no
        share if it is far worse than the best, or a constant in some fold
    best : the point with the least error
    n_rows : that were held out; equal ones count as one
    """
    shares = {}
    for point in path:
        excess, size = _excess(point, path, n_rows), _usual_score(point)
        is_constant = size == 0 or not all(coef.nnz for coef, _ in point.models.values())
        if excess <= FAR and not is_constant:
            shares[point.C] = np.exp(-excess), size
    total = sum(share for share, _ in shares.values())
    usual = _usual_score(best) or 1.0
    return {C: float(share / total * usual / size) for C, (share, size) in shares.items()}


def linear(model: Any) -> Linear:
    """The coefficients and the intercept of a fitted model, in little memory."""
    return sp.csr_array(model.coef_), np.ravel(model.intercept_)


def mean_of(
    models: dict[float, Linear], factors: dict[float, float]
) -> tuple[FloatArray, FloatArray]:
    """The sum of the coefficients (1, d), and of the intercepts, of models times their factors."""
    coef = sum(factor * models[C][0].toarray() for C, factor in factors.items())
    intercept = sum(factor * models[C][1] for C, factor in factors.items())
    return np.asarray(coef), np.asarray(intercept)


def _excess(point: Any, path: Sequence[Any], n_rows: int) -> float:
    """How far the error of a point is above the least, in standard errors of that."""
    least = min(other.error for other in path)
    share = min(max(least, 1 / n_rows), 1 - 1 / n_rows)
    return float((point.error - least) / np.sqrt(share * (1 - share) / n_rows))


def _usual_score(point: Any) -> float:
    """The mean size of the scores of held-out rows."""
    return float(np.nanmean(np.abs(point.held_out.scores)))
