"""The sets of the paper, and what can be computed on them exactly."""

from thresher.geometry.balls import project_l1_l2, support_l1_l2
from thresher.geometry.regions import Band, LiftedRegion, SearchRegion
from thresher.geometry.sparsity import hard_threshold

__all__ = [
    "Band",
    "LiftedRegion",
    "SearchRegion",
    "hard_threshold",
    "project_l1_l2",
    "support_l1_l2",
]
