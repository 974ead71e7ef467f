"""What is run on a real table: which one, what is planted in it, and who learns from it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import PurePath
from typing import Any

from thresher.experiments.spec import NOBODY, THRESHER, check_name, plain
from thresher.simulate.tables import POISON_STRENGTHS
from thresher.simulate.tables.attacks import STRENGTHS
from thresher.validation import check_noise_rate

CLEAN_RATE = 0.02  # what a learner is told of a table in which nothing is planted
TABLE_METHODS = (
    THRESHER,
    "l1-logistic",
    "linear-svm",
    "sever",
    "trimmed-loss",
    "norm-filter-l1-logistic",
)


@dataclass(frozen=True, kw_only=True)
class TableSpec:
    """One experiment on a real table; with a seed it fixes split, planted rows and learner.

    Parameters
    ----------
    table : its name: that of a file in the data folder, without the ending
    noise_rate : share of planted rows among those learned from, below one half (η)
    adversary : a name in `simulate.POISON_STRENGTHS`; "none" is enough when the noise rate is 0
    strength : of the adversary; its usual one if not given
    method : a name in `TABLE_METHODS`; each is told the noise rate, or `CLEAN_RATE` if it is 0, and
        chooses its other parameters by cross-validation

    Raises
    ------
    TypeError, ValueError : a parameter outside its range, or a name that is not known

    Examples
    --------
    >>> spec = TableSpec(table="spambase", noise_rate=0.1, adversary="far-clump")
    >>> spec.told_noise_rate, TableSpec(table="spambase").told_noise_rate
    (0.1, 0.02)
    """

    table: str
    noise_rate: float = 0.0
    adversary: str = NOBODY
    strength: float | None = None
    method: str = THRESHER

    def __post_init__(self) -> None:
        if not isinstance(self.table, str) or PurePath(self.table).name != self.table:
            raise ValueError(
                f"table must be the name of a file without its ending, got {self.table!r}"
            )
        check_noise_rate(self.noise_rate)
        check_name(self.adversary, "adversary", (NOBODY, *POISON_STRENGTHS))
        check_name(self.method, "method", TABLE_METHODS)
        if self.noise_rate > 0 and self.adversary == NOBODY:
            raise ValueError(
                f"adversary must plant the rows of noise_rate {self.noise_rate:g}: "
                f"one of {', '.join(POISON_STRENGTHS)}"
            )
        if self.strength is not None:
            if self.adversary == NOBODY:
                raise ValueError("strength is an adversary's, and there is none; leave it out")
            STRENGTHS[self.adversary].checked(self.strength)

    @property
    def told_noise_rate(self) -> float:
        """What the learner is told."""
        return self.noise_rate or CLEAN_RATE

    @property
    def error_floor(self) -> None:
        """There is none: nobody knows which halfspace a real table comes from."""

    def as_record(self) -> dict[str, Any]:
        """The parameters as plain numbers and names."""
        return {name: plain(value) for name, value in asdict(self).items()}
