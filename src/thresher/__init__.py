"""Thresher learns sparse halfspaces from data that somebody is trying to poison."""

from typing import TYPE_CHECKING, Any

from thresher.learning import ActiveLearner, learn_actively, learn_passively, plan
from thresher.outliers import remove_outliers

if TYPE_CHECKING:
    from thresher.estimators import (
        HalfspaceClassifier,
        HalfspaceClassifierCV,
        load_model,
        save_model,
    )

__version__ = "0.1.0"

__all__ = [
    "ActiveLearner",
    "HalfspaceClassifier",
    "HalfspaceClassifierCV",
    "__version__",
    "learn_actively",
    "learn_passively",
    "load_model",
    "plan",
    "remove_outliers",
    "save_model",
]


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    # Imported on first use: scikit-learn takes longer to import than everything else together, and
    # most commands of the command line do not need it.
    if name in __all__:
        from thresher import estimators

        return getattr(estimators, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
