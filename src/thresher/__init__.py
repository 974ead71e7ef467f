"""Thresher learns sparse halfspaces from data that somebody is trying to poison."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thresher.auditing import audit
    from thresher.estimators import (
        HalfspaceClassifier,
        HalfspaceClassifierCV,
        TrustedClassifier,
        estimate_noise_rate,
        load_model,
        save_model,
    )
    from thresher.label_sessions import LabelSession
    from thresher.labeling import ActiveClassifier
    from thresher.learning import ActiveLearner, learn_actively, learn_passively, plan
    from thresher.outliers import remove_outliers

__version__ = "0.1.0"

__all__ = [
    "ActiveClassifier",
    "ActiveLearner",
    "HalfspaceClassifier",
    "HalfspaceClassifierCV",
    "LabelSession",
    "TrustedClassifier",
    "__version__",
    "audit",
    "estimate_noise_rate",
    "learn_actively",
    "learn_passively",
    "load_model",
    "plan",
    "remove_outliers",
    "save_model",
]
_ESTIMATORS = (
    "HalfspaceClassifier",
    "HalfspaceClassifierCV",
    "TrustedClassifier",
    "estimate_noise_rate",
    "load_model",
    "save_model",
)
_LEARNING = ("ActiveLearner", "learn_actively", "learn_passively", "plan")
_HOMES = {
    **dict.fromkeys(_ESTIMATORS, "thresher.estimators"),
    **dict.fromkeys(_LEARNING, "thresher.learning"),
    "ActiveClassifier": "thresher.labeling",
    "LabelSession": "thresher.label_sessions",
    "audit": "thresher.auditing",
    "remove_outliers": "thresher.outliers",
}
_MODULES = ("errors", "geometry", "learning", "oracles", "outliers", "solvers")


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    # Imported on first use: NumPy, SciPy and scikit-learn take long, the help of the command line
    # needs none of them, and an interrupt during these imports is the command's to answer.
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _MODULES:
        return import_module(f"thresher.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
