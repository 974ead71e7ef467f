"""The laboratory: distributions, adversaries and the malicious oracle. No learner imports it."""

from thresher.simulate.adversaries import ADVERSARIES
from thresher.simulate.adversaries.adaptive import (
    InBandMass,
    MovedIntoBand,
    PlantedFeatures,
    QueryFollower,
)
from thresher.simulate.adversaries.base import Adversary, PastDraw, View
from thresher.simulate.adversaries.oblivious import (
    CleanLabel,
    FarClump,
    KearnsLiPair,
    LabelFlip,
    LinfHijack,
    OnSupportTilt,
    PointMass,
    SparseSpike,
)
from thresher.simulate.conditional import Distribution
from thresher.simulate.distributions import (
    ErrorEstimate,
    Exponential,
    Gaussian,
    Laplace,
    Logistic,
    StudentT,
    Uniform,
)
from thresher.simulate.oracle import MaliciousOracle, random_target
from thresher.simulate.poisoning import (
    DATA_ERRORS,
    POISON_STRENGTHS,
    PoisonedTable,
    SpoiledTable,
    poison,
    spoil,
)

__all__ = [
    "ADVERSARIES",
    "DATA_ERRORS",
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
    "PastDraw",
    "PlantedFeatures",
    "PointMass",
    "PoisonedTable",
    "QueryFollower",
    "SparseSpike",
    "SpoiledTable",
    "StudentT",
    "Uniform",
    "View",
    "poison",
    "random_target",
    "spoil",
]
