"""scikit-learn estimators on top of the learners."""

from thresher.estimators.choice import HalfspaceClassifierCV
from thresher.estimators.halfspace import HalfspaceClassifier

__all__ = ["HalfspaceClassifier", "HalfspaceClassifierCV"]
