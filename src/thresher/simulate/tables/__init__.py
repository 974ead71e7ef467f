"""Attacks on finite tables: planted rows for any classifier that is fitted to rows and labels."""

from thresher.simulate.tables.attacks import POISON_STRENGTHS
from thresher.simulate.tables.poison import PoisonedTable, poison

__all__ = ["POISON_STRENGTHS", "PoisonedTable", "poison"]
