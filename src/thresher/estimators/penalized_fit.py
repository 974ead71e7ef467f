"""A penalized fit: its coefficients, its errors on held-out rows, and its distance from optimal."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from thresher.estimators.examples import HeldOut
from thresher.validation import FloatArray

CERTIFIED_GAP = 0.01  # relative duality gap up to which a fit counts as certified


@dataclass(frozen=True, eq=False)
class PenalizedFit:
    """A linear model that minimizes a penalized loss over trusted rows.

    "L1" is logistic regression with the sum of absolute coefficients as penalty, "L2" a support
    vector machine (squared hinge loss) with the sum of their squares; the loss is multiplied by C.

    Parameters
    ----------
    penalty : "L1" or "L2"
    C : weight of the loss
    coef : (d,) coefficients of the scaled columns
    offset : the intercept
    held_out : what fits with this penalty and C did on held-out rows
    gap : how far the objective is above its minimum at most, relative to its value; infinite if
        nothing is proven, as for an average or a constant
    columns : (d,) of the table, to which the coefficients belong
    n_averaged : how many fits with different C it is an average of; then `C` is that of the best
    """

    penalty: str
    C: float
    coef: FloatArray = field(repr=False)
    offset: float
    held_out: HeldOut = field(repr=False)
    gap: float = np.inf
    columns: NDArray[np.intp] = field(
        default_factory=lambda: np.zeros(0, dtype=np.intp), repr=False
    )
    n_averaged: int = 1

    @property
    def error(self) -> float:
        """The trust-weighted error on held-out rows."""
        return self.held_out.error

    @property
    def length(self) -> float:
        """Of the coefficients and the offset as one vector; 1 if all are zero."""
        return float(np.hypot(np.linalg.norm(self.coef), self.offset)) or 1.0

    @property
    def is_certified(self) -> bool:
        """Whether the objective is proven to be within 1% of its minimum."""
        return self.gap <= CERTIFIED_GAP
