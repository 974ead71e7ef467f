"""The attacks on tables by name: what each plants, and the strengths it takes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.random import Generator

from thresher.simulate.poisoning.clean_table import CleanTable, Planted
from thresher.simulate.poisoning.copies import (
    boundary_flip,
    duplicated_spam,
    jittered_flip,
    label_flip,
    minority_erasure,
    query_following,
)
from thresher.simulate.poisoning.decoys import min_max, model_targeted
from thresher.simulate.poisoning.patterns import far_clump, linf_hijack, on_support_tilt
from thresher.simulate.poisoning.trust_keeping import trust_keeping
from thresher.validation import check_number

LABEL_FLIP = "label-flip"  # the one attack that plants no rows
TRUST_KEEPING = "trust-keeping"  # the one attack that can be aimed at a classifier

# Makes the planted rows from the clean table, their number, the strength and a generator.
Plant: TypeAlias = Callable[[CleanTable, int, float, Generator], Planted]


@dataclass(frozen=True)
class Attack:
    """How an attack plants its rows, and the strengths it takes.

    Parameters
    ----------
    plant : makes the planted rows from the clean table
    strengths : the strengths to try
    usual : the default strength
    largest : the largest strength that makes sense

    Examples
    --------
    >>> ATTACKS["linf-hijack"].check_strength(None)
    0.1
    """

    plant: Plant
    strengths: tuple[float, ...]
    usual: float
    largest: float = np.inf

    def check_strength(self, strength: object | None) -> float:
        """The strength as a number in range; None stands for the usual one."""
        if strength is None:
            return self.usual
        number = check_number(strength, "strength")
        if not 0 <= number <= self.largest:
            top = "" if self.largest == np.inf else f" and at most {self.largest:g}"
            raise ValueError(f"strength must be at least 0{top}, got {number:g}")
        return number


_SHARES = (0.2, 0.4, 0.8)  # of labels that a decoy model gets wrong on purpose
ATTACKS: dict[str, Attack] = {
    "far-clump": Attack(far_clump, (1.0, 2.0, 4.0, 8.0, 16.0), usual=4.0),
    "on-support-tilt": Attack(on_support_tilt, (1.0, 2.0, 4.0, 8.0, 16.0), usual=4.0),
    "linf-hijack": Attack(linf_hijack, (0.03, 0.1, 0.3, 1.0), usual=0.1, largest=1.0),
    LABEL_FLIP: Attack(label_flip, (0.0, 0.5, 1.0), usual=0.0, largest=1.0),
    "model-targeted": Attack(model_targeted, _SHARES, usual=0.4, largest=1.0),
    "min-max": Attack(min_max, _SHARES, usual=0.4, largest=1.0),
    "boundary-flip": Attack(boundary_flip, (0.0, 1.0), usual=1.0, largest=1.0),
    "jittered-flip": Attack(jittered_flip, (0.0, 1.0), usual=1.0, largest=1.0),
    "query-following": Attack(query_following, (0.5, 1.0, 2.0), usual=1.0, largest=10.0),
    "duplicated-spam": Attack(duplicated_spam, (10.0, 100.0), usual=10.0),
    "minority-erasure": Attack(minority_erasure, (0.0, 0.5, 1.0), usual=0.5, largest=1.0),
    TRUST_KEEPING: Attack(trust_keeping, (0.5, 1.0, 2.0, 4.0), usual=2.0),
}

# By attack, the strengths among which an adversary looks for the worst.
POISON_STRENGTHS: dict[str, tuple[float, ...]] = {
    name: attack.strengths for name, attack in ATTACKS.items()
}
