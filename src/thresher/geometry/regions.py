"""The sets of the paper: bands of rows, regions of halfspaces, the lifted region of matrices."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thresher.validation import (
    FloatArray,
    Rows,
    check_radius,
    check_rows,
    check_symmetric,
    check_vector,
)


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


@dataclass(frozen=True)
class SearchRegion:
    """An l2 ball and an l1 ball around the same center, intersected.

    This is W_k = B2(w, r) ∩ B1(w, ρ) of the paper (Algorithm 1, line 9).

    Examples
    --------
    >>> region = SearchRegion(center=np.zeros(2), l2_radius=1.0, l1_radius=1.2)
    >>> bool(region.contains(np.array([0.6, 0.6])))
    True
    """

    center: FloatArray
    l2_radius: float
    l1_radius: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "center", check_vector(self.center, "center"))
        object.__setattr__(self, "l2_radius", check_radius(self.l2_radius, "l2_radius"))
        object.__setattr__(self, "l1_radius", check_radius(self.l1_radius, "l1_radius"))

    def contains(self, point: object, *, tolerance: float = 1e-9) -> bool:
        """Whether the point lies in both balls, each radius enlarged by a relative tolerance."""
        offset = check_vector(point, "point", length=self.center.size) - self.center
        slack = 1 + tolerance
        return bool(
            np.linalg.norm(offset) <= self.l2_radius * slack
            and np.abs(offset).sum() <= self.l1_radius * slack
        )


@dataclass(frozen=True)
class LiftedRegion:
    """The matrices that relax "all sparse directions".

    M = {H ⪰ 0, tr H ≤ r², Σ|H_ij| ≤ ρ²} is convex and holds vvᵀ for every v with ‖v‖₂ ≤ r and
    ‖v‖₁ ≤ ρ (Algorithm 2, line 1).

    Examples
    --------
    >>> region = LiftedRegion(l2_radius=1.0, l1_radius=1.5)
    >>> region.contains(np.outer([0.6, 0.8], [0.6, 0.8])), region.contains(np.eye(2))
    (True, False)
    """

    l2_radius: float
    l1_radius: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "l2_radius", check_radius(self.l2_radius, "l2_radius"))
        object.__setattr__(self, "l1_radius", check_radius(self.l1_radius, "l1_radius"))

    def contains(self, lifted: object, *, tolerance: float = 1e-9) -> bool:
        """Whether the matrix belongs to the region, up to a relative tolerance."""
        matrix = check_symmetric(lifted, "lifted")
        slack = 1 + tolerance
        return bool(
            np.trace(matrix) <= self.l2_radius**2 * slack
            and np.abs(matrix).sum() <= self.l1_radius**2 * slack
            and np.linalg.eigvalsh(matrix)[0] >= -tolerance * self.l2_radius**2
        )
