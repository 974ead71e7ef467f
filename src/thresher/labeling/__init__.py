"""Labeling a finite pool: which rows to ask about, and the model that their labels give."""

from thresher.labeling.active_classifier import ActiveClassifier
from thresher.labeling.judging import ErrorEstimate
from thresher.labeling.pool import Question

__all__ = ["ActiveClassifier", "ErrorEstimate", "Question"]
