"""Attacks on finite tables, and plain data errors, for testing any classifier or audit."""

from thresher.simulate.poisoning.attacks import POISON_STRENGTHS
from thresher.simulate.poisoning.data_errors import DATA_ERRORS, SpoiledTable, spoil
from thresher.simulate.poisoning.poison import (
    PoisonedSplit,
    PoisonedTable,
    poison,
    poisoned_split,
)

__all__ = [
    "DATA_ERRORS",
    "POISON_STRENGTHS",
    "PoisonedSplit",
    "PoisonedTable",
    "SpoiledTable",
    "poison",
    "poisoned_split",
    "spoil",
]
