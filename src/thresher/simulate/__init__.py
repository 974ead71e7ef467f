"""The laboratory: distributions, adversaries and the malicious oracle. No learner imports it."""

from thresher.simulate.adversaries import (
    ADVERSARIES,
    CleanLabel,
    FarClump,
    InBandMass,
    KearnsLiPair,
    LabelFlip,
    LinfHijack,
    MovedIntoBand,
    OnSupportTilt,
    PlantedFeatures,
    PointMass,
    SparseSpike,
)
from thresher.simulate.conditional import Distribution
from thresher.simulate.disagreement import ErrorEstimate
from thresher.simulate.distributions import (
    Exponential,
    Gaussian,
    Laplace,
    Logistic,
    StudentT,
    Uniform,
)
from thresher.simulate.oracle import MaliciousOracle
from thresher.simulate.poisoning import POISON_STRENGTHS, PoisonedTable, poison
from thresher.simulate.targets import random_target
from thresher.simulate.views import Adversary, View

__all__ = [
    "ADVERSARIES",
    "POISON_STRENGTHS",
    "Adversary",
    "CleanLabel",
    "Distribution",
    "ErrorEstimate",
    "Exponential",
    "FarClump",
    "Gaussian",
    "InBandMass",
    "KearnsLiPair",
    "LabelFlip",
    "Laplace",
    "LinfHijack",
    "Logistic",
    "MaliciousOracle",
    "MovedIntoBand",
    "OnSupportTilt",
    "PlantedFeatures",
    "PointMass",
    "PoisonedTable",
    "SparseSpike",
    "StudentT",
    "Uniform",
    "View",
    "poison",
    "random_target",
]
