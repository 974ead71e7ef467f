"""Attacks on finite tables: planted rows for any classifier that is fitted to rows and labels."""

from thresher.simulate.poisoning.attacks import POISON_STRENGTHS
from thresher.simulate.poisoning.poison import (
    PoisonedSplit,
    PoisonedTable,
    poison,
    poisoned_split,
)

__all__ = ["POISON_STRENGTHS", "PoisonedSplit", "PoisonedTable", "poison", "poisoned_split"]
