"""Solvers whose answers are values: bounds, what proves them, and a status."""

from thresher.solvers.direction import WorstDirection, worst_direction, worst_direction_of_rows
from thresher.solvers.hinge import HingeMinimum, minimize_hinge

__all__ = [
    "HingeMinimum",
    "WorstDirection",
    "minimize_hinge",
    "worst_direction",
    "worst_direction_of_rows",
]
