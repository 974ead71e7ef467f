"""The attacks on tables by name, what strengths each takes, and which of them to try."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from thresher.simulate.poisoning.clean import CleanTable
from thresher.simulate.poisoning.decoys import min_max, model_targeted
from thresher.simulate.poisoning.planted import Planted, far_clump, linf_hijack, on_support_tilt
from thresher.validation import check_number

Planter: TypeAlias = Callable[[CleanTable, int, float, np.random.Generator], Planted]

LABEL_FLIP = "label-flip"  # the one attack that plants no rows


@dataclass(frozen=True)
class StrengthRange:
    """The strengths to try, the usual one, and the largest that means anything.

    Examples
    --------
    >>> StrengthRange(grid=(1.0, 2.0), usual=2.0).checked(None)
    2.0
    """

    grid: tuple[float, ...]
    usual: float
    largest: float = np.inf

    def checked(self, strength: object | None) -> float:
        """The strength as a number in range; the usual one if there is none."""
        if strength is None:
            return self.usual
        number = check_number(strength, "strength")
        if not 0 <= number <= self.largest:
            top = "" if self.largest == np.inf else f" and at most {self.largest:g}"
            raise ValueError(f"strength must be at least 0{top}, got {number:g}")
        return number


PLANTERS: dict[str, Planter] = {
    "far-clump": far_clump,
    "on-support-tilt": on_support_tilt,
    "linf-hijack": linf_hijack,
    "model-targeted": model_targeted,
    "min-max": min_max,
}

STRENGTHS: dict[str, StrengthRange] = {
    "far-clump": StrengthRange(grid=(1.0, 2.0, 4.0, 8.0, 16.0), usual=4.0),
    "on-support-tilt": StrengthRange(grid=(1.0, 2.0, 4.0, 8.0, 16.0), usual=4.0),
    "linf-hijack": StrengthRange(grid=(0.03, 0.1, 0.3, 1.0), usual=0.1, largest=1.0),
    LABEL_FLIP: StrengthRange(grid=(0.0, 0.5, 1.0), usual=0.0, largest=1.0),
    "model-targeted": StrengthRange(grid=(0.2, 0.4, 0.8), usual=0.4, largest=1.0),
    "min-max": StrengthRange(grid=(0.2, 0.4, 0.8), usual=0.4, largest=1.0),
}

# By attack, the strengths among which an adversary looks for the worst.
POISON_STRENGTHS: dict[str, tuple[float, ...]] = {
    name: strengths.grid for name, strengths in STRENGTHS.items()
}
