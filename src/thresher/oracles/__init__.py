"""The seam to the world: where instances and labels come from."""

from thresher.oracles.large import DaskPool, LargePool, ParquetPool
from thresher.oracles.pools import ArrayPool, Table, WholeTable, as_instance_source
from thresher.oracles.requests import Draw, DrawRequest, IdArray, LabelRequest, check_ids
from thresher.oracles.sources import (
    InstanceSource,
    LabelSource,
    RevealsLabels,
    check_answers,
    reveal_labels,
)
from thresher.oracles.streams import LabeledStream, StreamPool
from thresher.oracles.two_labels import Classes, check_classes, signs_of

__all__ = [
    "ArrayPool",
    "Classes",
    "DaskPool",
    "Draw",
    "DrawRequest",
    "IdArray",
    "InstanceSource",
    "LabelRequest",
    "LabelSource",
    "LabeledStream",
    "LargePool",
    "ParquetPool",
    "RevealsLabels",
    "StreamPool",
    "Table",
    "WholeTable",
    "as_instance_source",
    "check_answers",
    "check_classes",
    "check_ids",
    "reveal_labels",
    "signs_of",
]
