"""The convex set of matrices that relaxes "all sparse directions"."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thresher.validation import FloatArray, check_radius, check_symmetric, check_vector


@dataclass(frozen=True)
class LiftedRegion:
    """Positive semidefinite matrices of bounded trace and bounded entrywise l1 norm.

    M = {H ⪰ 0, tr H ≤ r², Σ|H_ij| ≤ ρ²} holds vvᵀ for every v with ‖v‖₂ ≤ r and ‖v‖₁ ≤ ρ
    (Algorithm 2, line 1).

    Examples
    --------
    >>> region = LiftedRegion(l2_radius=1.0, l1_radius=1.5)
    >>> region.contains(region.lift([0.6, 0.8]))
    True
    >>> region.contains(np.eye(2))
    False
    """

    l2_radius: float
    l1_radius: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "l2_radius", check_radius(self.l2_radius, "l2_radius"))
        object.__setattr__(self, "l1_radius", check_radius(self.l1_radius, "l1_radius"))

    def lift(self, direction: object) -> FloatArray:
        """The rank-one matrix of a direction, scaled into the region."""
        v = check_vector(direction, "direction")
        return self.scale_into(np.outer(v, v))

    def scale_into(self, lifted: object) -> FloatArray:
        """The matrix divided by the least number that brings trace and l1 norm within bounds.

        The matrix must be positive semidefinite; that is not checked here.
        """
        matrix = check_symmetric(lifted, "lifted")
        excess = max(
            float(np.trace(matrix)) / self.l2_radius**2,
            float(np.abs(matrix).sum()) / self.l1_radius**2,
            1.0,
        )
        return matrix / excess

    def contains(self, lifted: object, *, tolerance: float = 1e-9) -> bool:
        """Whether the matrix belongs to the region, up to a relative tolerance."""
        matrix = check_symmetric(lifted, "lifted")
        slack = 1 + tolerance
        return bool(
            np.trace(matrix) <= self.l2_radius**2 * slack
            and np.abs(matrix).sum() <= self.l1_radius**2 * slack
            and np.linalg.eigvalsh(matrix)[0] >= -tolerance * self.l2_radius**2
        )
