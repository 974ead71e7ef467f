"""The region around the current halfspace in which the next one is sought."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thresher.geometry.balls import project_l1_l2
from thresher.validation import FloatArray, check_radius, check_vector


@dataclass(frozen=True)
class SearchRegion:
    """An l2 ball and an l1 ball around the same center, intersected.

    This is W_k = B2(w, r) ∩ B1(w, ρ) of the paper (Algorithm 1, line 9).

    Examples
    --------
    >>> region = SearchRegion(center=np.zeros(2), l2_radius=1.0, l1_radius=1.2)
    >>> bool(region.contains(np.array([0.6, 0.6])))
    True
    >>> region.project(np.array([3.0, 0.0]))
    array([1., 0.])
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

    def project(self, point: object) -> FloatArray:
        """The closest point of the region."""
        offset = check_vector(point, "point", length=self.center.size) - self.center
        inside = project_l1_l2(offset, l2_radius=self.l2_radius, l1_radius=self.l1_radius)
        return self.center + inside
