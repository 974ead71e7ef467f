"""scikit-learn estimators on top of the learners."""

from thresher.estimators.adversary import bound_on_adversary
from thresher.estimators.comparison import PathPoint
from thresher.estimators.contradictions import NoiseRate
from thresher.estimators.evidence import Evidence
from thresher.estimators.halfspace import HalfspaceClassifier
from thresher.estimators.halfspace_cv import HalfspaceClassifierCV
from thresher.estimators.model import HalfspaceModel
from thresher.estimators.model_file import load_model, save_model
from thresher.estimators.noise_rate import estimate_noise_rate
from thresher.estimators.penalized_fit import PenalizedFit
from thresher.estimators.trusted import TrustedClassifier

__all__ = [
    "Evidence",
    "HalfspaceClassifier",
    "HalfspaceClassifierCV",
    "HalfspaceModel",
    "NoiseRate",
    "PathPoint",
    "PenalizedFit",
    "TrustedClassifier",
    "bound_on_adversary",
    "estimate_noise_rate",
    "load_model",
    "save_model",
]
