"""The regions of Algorithms 1 and 2: of halfspaces, and of matrices that stand for directions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thresher.validation import FloatArray, check_radius, check_symmetric, check_vector


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
