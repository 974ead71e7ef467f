"""The seam to the world: where instances and labels come from."""

from thresher.oracles.adapt import as_instance_source
from thresher.oracles.meters import MeteredLabels, MeteredSource
from thresher.oracles.pools import ArrayPool
from thresher.oracles.requests import Draw, DrawRequest, IdArray
from thresher.oracles.sources import (
    InstanceSource,
    LabelSource,
    RevealsLabels,
    check_answers,
    reveal_labels,
)
from thresher.oracles.streams import StreamPool

__all__ = [
    "ArrayPool",
    "Draw",
    "DrawRequest",
    "IdArray",
    "InstanceSource",
    "LabelSource",
    "MeteredLabels",
    "MeteredSource",
    "RevealsLabels",
    "StreamPool",
    "as_instance_source",
    "check_answers",
    "reveal_labels",
]
