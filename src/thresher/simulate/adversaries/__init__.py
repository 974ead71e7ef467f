"""Adversaries by name: each knows everything and makes harmful rows by one idea."""

from collections.abc import Callable
from functools import partial

from thresher.simulate.adversaries.adaptive import (
    InBandMass,
    MovedIntoBand,
    PlantedFeatures,
    QueryFollower,
)
from thresher.simulate.adversaries.base import Adversary
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


def _moved(factory: Callable[..., Adversary], **options: object) -> MovedIntoBand:
    return MovedIntoBand(factory(**options))


# By the names of the command line. Attacks that ignore the band also exist moved into it.
ADVERSARIES: dict[str, Callable[..., Adversary]] = {
    "label-flip": LabelFlip,
    "label-flip-near": partial(LabelFlip, where="near"),
    "label-flip-far": partial(LabelFlip, where="far"),
    "far-clump": FarClump,
    "far-clump-in-band": partial(_moved, FarClump),
    "point-mass": PointMass,
    "point-mass-in-band": partial(_moved, PointMass),
    "on-support-tilt": OnSupportTilt,
    "on-support-tilt-in-band": partial(_moved, OnSupportTilt),
    "linf-hijack": LinfHijack,
    "linf-hijack-in-band": partial(_moved, LinfHijack),
    "sparse-spike": SparseSpike,
    "sparse-spike-in-band": partial(_moved, SparseSpike),
    "clean-label": CleanLabel,
    "in-band-mass": InBandMass,
    "in-band-mass-on-support": partial(InBandMass, support_restricted=True),
    "in-band-mass-late": partial(InBandMass, from_phase=3),
    "query-following": QueryFollower,
    "planted-features": PlantedFeatures,
    "kearns-li": KearnsLiPair,
}
