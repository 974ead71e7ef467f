"""Thresher learns sparse halfspaces from data that somebody is trying to poison."""

from thresher.learning import ActiveLearner, learn_actively, learn_passively, plan
from thresher.outliers import remove_outliers

__version__ = "0.1.0"

__all__ = [
    "ActiveLearner",
    "__version__",
    "learn_actively",
    "learn_passively",
    "plan",
    "remove_outliers",
]
