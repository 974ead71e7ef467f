"""The band around a halfspace's boundary, in which the learner looks for its next rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thresher.validation import FloatArray, Rows, check_rows, check_vector


@dataclass(frozen=True)
class Band:
    """The rows whose projection on a normal is at most a width: {x : |normal·x| ≤ width}.

    A zero normal admits every row, and so does an infinite width: phase 1 needs no branch.
    This is X_{u,b} of the paper (Algorithm 1, line 5).

    Examples
    --------
    >>> Band(normal=np.array([1.0, 0.0]), width=0.5).admits([[0.2, 9.0], [0.7, 0.0]])
    array([ True, False])
    >>> Band(normal=np.zeros(2), width=0.5).admits([[0.2, 9.0], [0.7, 0.0]])
    array([ True,  True])
    """

    normal: FloatArray
    width: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "normal", check_vector(self.normal, "normal"))
        if not self.width > 0:  # also refuses NaN
            raise ValueError(f"width must be greater than 0, got {self.width}")

    def admits(self, rows: Rows) -> NDArray[np.bool_]:
        """One truth value a row: whether it lies in the band."""
        checked = check_rows(rows, "rows")
        if checked.shape[1] != self.normal.size:
            raise ValueError(
                f"rows must have {self.normal.size} features like the normal, "
                f"got {checked.shape[1]}"
            )
        # A projection that overflows lies outside, without a warning.
        with np.errstate(over="ignore", invalid="ignore"):
            inside: NDArray[np.bool_] = np.abs(checked @ self.normal) <= self.width
        return inside
