"""scikit-learn estimators on top of the learners."""

from thresher.estimators.adversary import bound_on_adversary
from thresher.estimators.cross_validation import PathPoint
from thresher.estimators.halfspace import HalfspaceClassifier
from thresher.estimators.halfspace_cv import HalfspaceClassifierCV
from thresher.estimators.model import HalfspaceModel
from thresher.estimators.model_file import load_model, save_model

__all__ = [
    "HalfspaceClassifier",
    "HalfspaceClassifierCV",
    "HalfspaceModel",
    "PathPoint",
    "bound_on_adversary",
    "load_model",
    "save_model",
]
