"""Practical peers on labeled tables, as scikit-learn classifiers: what a user would try instead."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thresher.rivals.iterative_trimmed_loss import IterativeTrimmedLoss
    from thresher.rivals.norm_filter import NormFilter
    from thresher.rivals.sever import Sever
    from thresher.rivals.trimmed_hard_thresholding import TrimmedHardThresholding
    from thresher.rivals.trimmed_mean import TrimmedMean
    from thresher.rivals.tuned import LinearSVMCV, SparseLogisticRegressionCV

__all__ = [
    "IterativeTrimmedLoss",
    "LinearSVMCV",
    "NormFilter",
    "Sever",
    "SparseLogisticRegressionCV",
    "TrimmedHardThresholding",
    "TrimmedMean",
]

_MODULES = {
    "IterativeTrimmedLoss": "iterative_trimmed_loss",
    "LinearSVMCV": "tuned",
    "NormFilter": "norm_filter",
    "Sever": "sever",
    "SparseLogisticRegressionCV": "tuned",
    "TrimmedHardThresholding": "trimmed_hard_thresholding",
    "TrimmedMean": "trimmed_mean",
}


def __getattr__(name: str) -> Any:
    # They come when they are asked for: every process of the arena imports the methods below this
    # package, and scikit-learn takes longer to import than all the rest.
    if name in _MODULES:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
