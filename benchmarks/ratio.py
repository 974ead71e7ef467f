"""What every benchmark reports: two measured numbers, their ratio, and the bar it must clear."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True)
class Ratio:
    """Two numbers of one run and the bound on their ratio; the aim is what we would be proud of.

    Attributes
    ----------
    bar : which performance bar this belongs to, "B1" for instance
    what : what was measured, in words
    ours, theirs : the two numbers, in the same unit (seconds, bytes, variances)
    bound : the ratio that must be kept
    aim : the ratio worth working for, or None if the bound is all there is
    higher_is_better : whether the ratio is a speed-up (theirs/ours) or a cost (ours/theirs)
    note : what a reader needs to judge the ratio, a solver's status for instance
    """

    bar: str
    what: str
    ours: float
    theirs: float
    bound: float
    aim: float | None = None
    higher_is_better: bool = False
    note: str = ""

    @property
    def ratio(self) -> float:
        """The speed-up theirs/ours if higher is better, else the cost ours/theirs."""
        over, under = (
            (self.theirs, self.ours) if self.higher_is_better else (self.ours, self.theirs)
        )
        if under == 0:
            return float("nan") if over == 0 else float("inf")
        return over / under

    @property
    def holds(self) -> bool:
        """Whether the ratio keeps its bound; a ratio that is not a number does not."""
        return self.ratio >= self.bound if self.higher_is_better else self.ratio <= self.bound


def side_by_side(
    ours: Callable[[], object], theirs: Callable[[], object], repeats: int
) -> tuple[float, float]:
    """Median seconds of both, from alternating runs after one warm-up each.

    Alternating, so that a machine that slows down for a while slows both down.
    """
    if repeats < 1:
        raise ValueError(f"repeats must be at least 1, got {repeats}")
    ours()
    theirs()
    pairs = [(seconds_of(ours), seconds_of(theirs)) for _ in range(repeats)]
    return median(pair[0] for pair in pairs), median(pair[1] for pair in pairs)


def seconds_of(function: Callable[[], object]) -> float:
    """Wall-clock seconds of one call."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start
