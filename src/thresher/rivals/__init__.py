"""Practical peers on labeled tables, as scikit-learn classifiers: what a user would try instead."""

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
