"""The checker of penalized fits: how far an objective can be above its minimum.

NumPy only. It gets rows, labels, weights and a model, and trusts nothing but the data: any feasible
point of the dual problem bounds the minimum from below, and the one tried here is made from the
model itself.
"""

from typing import Any

import numpy as np

from thresher.certificates import EPS, FloatArray


def relative_gap(
    rows: Any,
    signs: FloatArray,
    weights: FloatArray,
    *,
    penalty: str,
    C: float,
    coef: FloatArray,
    offset: float,
    intercept_entry: float,
) -> float:
    """A bound on (objective − minimum)/objective of a penalized fit; infinite if there is none.

    With weights a_i, margins m_i = y_i(x_i·coef + offset) and β = offset/intercept_entry, which is
    the coefficient of a column with that entry in every row, the objective is

    * "L1": ‖coef‖₁ + |β| + C Σ a_i log(1 + exp(−m_i));
    * "L2": ½‖coef‖₂² + ½β² + C Σ a_i max(0, 1 − m_i)².

    Examples
    --------
    >>> rows, signs, ones = np.array([[1.0], [-1.0]]), np.array([1.0, -1.0]), np.ones(2)
    >>> problem = {"penalty": "L2", "C": 0.5, "offset": 0.0, "intercept_entry": 10.0}
    >>> relative_gap(rows, signs, ones, coef=np.array([2 / 3]), **problem) < 1e-12
    True
    >>> relative_gap(rows, signs, ones, coef=np.array([0.0]), **problem) > 0.3
    True
    """
    if offset and not intercept_entry:
        return np.inf
    beta = offset / intercept_entry if offset else 0.0
    with np.errstate(all="ignore"):
        losses = C * np.asarray(weights, dtype=np.float64)
        if not (losses >= 0).all():  # also where one is NaN
            return np.inf
        margins = signs * (np.asarray(rows @ coef) + offset)
        objective, dual = {"L1": _logistic, "L2": _squared_hinge}[penalty](
            lambda alpha: np.append(
                np.asarray(rows.T @ (signs * alpha)), intercept_entry * (signs @ alpha)
            ),
            np.append(coef, beta),
            margins,
            losses,
        )
        # Sums of n positive terms: their rounding is relative.
        rounding = 4 * (len(signs) + len(coef) + 8) * EPS
        gap = (objective * (1 + rounding) - dual * (1 - rounding)) / (objective * (1 - rounding))
    return float(gap) if np.isfinite(gap) else np.inf


def _logistic(
    transposed: Any, coef: FloatArray, margins: FloatArray, losses: FloatArray
) -> tuple[float, float]:
    """Σ c_i H(α_i/c_i), H the entropy, bounds the minimum if no entry of |Σ α y x| exceeds 1."""
    objective = np.abs(coef).sum() + losses @ np.logaddexp(0.0, -margins)
    share = np.exp(-np.logaddexp(0.0, margins))
    largest = float(np.abs(transposed(losses * share)).max())
    share = share / np.maximum(1.0, largest * (1 + 1e-9))  # max() would lose a NaN
    return float(objective), float(losses @ (_entropy(share) + _entropy(1 - share)))


def _entropy(share: FloatArray) -> FloatArray:
    return -share * np.log(np.maximum(share, np.finfo(np.float64).tiny))


def _squared_hinge(
    transposed: Any, coef: FloatArray, margins: FloatArray, losses: FloatArray
) -> tuple[float, float]:
    """Σ α_i − Σ α_i²/(4c_i) − ½‖Σ α y x‖² bounds the minimum for every α ≥ 0; scaled at best."""
    short = np.maximum(0.0, 1 - margins)
    objective = coef @ coef / 2 + losses @ short**2
    alpha = 2 * losses * short
    linear = float(alpha.sum())
    quadratic = float(losses @ short**2 + np.square(transposed(alpha)).sum() / 2)
    scale = linear / (2 * quadratic) if quadratic > 0 else 0.0
    return float(objective), scale * linear - scale**2 * quadratic
