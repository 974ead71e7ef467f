"""What a run is: a simulated world or a poisoned table, who learns from it, and the seeds."""

import math
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import PurePath
from typing import Any

import numpy as np

from thresher.experiments.optimizing import SLOW_ADVERSARIES
from thresher.learning import PracticalSchedule, Task
from thresher.rivals.classifiers import CLASSIFIERS
from thresher.rivals.methods import METHODS, MISSING
from thresher.rivals.methods.phase_loop import LoopSchedule
from thresher.simulate import ADVERSARIES, POISON_STRENGTHS, Adversary
from thresher.simulate.distributions import DISTRIBUTIONS
from thresher.simulate.poisoning.attacks import ATTACKS
from thresher.validation import check_count, check_noise_rate, check_positive

NO_ADVERSARY = "none"
THRESHER = "thresher"
LATER: dict[str, Any] = {"method": THRESHER, "budget_factor": 1.0}  # fields older records lack
CLEAN_RATE = 0.02  # the noise rate that a learner assumes for a table without planted rows
# A real table's sparsity is unknown, so rivals that need it are left out.
TABLE_METHODS = (THRESHER, *(name for name, row in CLASSIFIERS.items() if not row.needs_sparsity))
MAX_SEEDS = 10_000
MAX_COUNT = 2**31 - 1  # of features and of labels


@dataclass(frozen=True, kw_only=True)
class SimulationSpec:
    """One simulated experiment in numbers and names; with a seed it fixes a run completely.

    Parameters
    ----------
    n_features : length of a row (d)
    sparsity : number of features that the target uses; the learner knows it (s)
    noise_rate : probability that a draw is dirty, below 0.5 (η)
    told_noise_rate : the noise rate that the learner assumes; default: the true one
    distribution : where clean rows come from, a name in `DISTRIBUTIONS`
    adversary : a name in `simulate.ADVERSARIES` or in `SLOW_ADVERSARIES`; "none" is enough when the
        noise rate is 0
    strength : of the adversary; default: the adversary's own
    label_budget : maximum number of distinct labels; default: the schedule decides
    target_error : error at which learning may stop; default: as low as possible
    schedule : parameters of `PracticalSchedule` that differ from their default; with one that only
        `LoopSchedule` has, the schedule is a `LoopSchedule`, which can leave out steps
    method : "thresher", or a name in `rivals.methods.METHODS`. A rival gets the label budget that
        Thresher would get
    budget_factor : multiplies the label budget, for methods that are not meant for few labels

    Raises
    ------
    TypeError, ValueError
        For a parameter outside its range, an unknown name (the known ones are listed), or a
        positive noise rate without an adversary.

    Examples
    --------
    >>> spec = SimulationSpec(n_features=60, sparsity=3, noise_rate=0.1, adversary="far-clump")
    >>> spec.task.noise_rate, round(spec.error_floor, 4)
    (0.1, 0.0556)
    """

    n_features: int
    sparsity: int
    noise_rate: float = 0.0
    told_noise_rate: float | None = None
    distribution: str = "gaussian"
    adversary: str = NO_ADVERSARY
    strength: float | None = None
    label_budget: int | None = None
    target_error: float | None = None
    schedule: Mapping[str, Any] = field(default_factory=dict)
    method: str = THRESHER
    budget_factor: float = 1.0

    def __post_init__(self) -> None:
        if self.told_noise_rate is not None:
            check_noise_rate(self.told_noise_rate, "told_noise_rate")
        check_name(self.distribution, "distribution", DISTRIBUTIONS)
        _check_adversary(self, {**ADVERSARIES, **SLOW_ADVERSARIES})
        self.make_adversary()  # refuses a strength that the adversary does not take
        self.make_schedule()
        self._check_learner()
        for name in ("n_features", "label_budget"):
            value = getattr(self, name)
            if value is not None and check_count(value, name) > MAX_COUNT:
                raise ValueError(f"{name} must be at most {MAX_COUNT:,}, got {value:,}")
        if self.task.sparsity < self.sparsity:  # which a task would clip
            most = f"at most n_features = {self.n_features}"
            raise ValueError(f"sparsity must be {most}, got {self.sparsity}")

    @property
    def task(self) -> Task:
        """What the learner knows about the problem."""
        assumed = self.noise_rate if self.told_noise_rate is None else self.told_noise_rate
        task = Task(
            n_features=self.n_features,
            sparsity=self.sparsity,
            noise_rate=assumed,
            target_error=self.target_error,
            label_budget=self.label_budget,
        )
        budget = task.label_budget
        if self.method != THRESHER:  # Thresher decides itself how much of a budget it needs
            budget = PracticalSchedule().n_labels(task)
        factor = self.budget_factor
        return replace(task, label_budget=None if budget is None else math.ceil(factor * budget))

    @property
    def error_floor(self) -> float:
        """The error that no method can guarantee to beat at this noise rate: η/(2(1 − η)).

        Kearns and Li's argument: two targets that disagree on a share η/(1 − η) of the rows can be
        made to look the same. Against a weaker adversary a run may end below it.
        """
        return self.noise_rate / (2 * (1 - self.noise_rate))

    def label_floor(self, error: float) -> float:
        """About how many labels any active learner needs for this error, as in `plan`."""
        clipped = min(max(error, 1e-9), 0.5)
        return self.sparsity * (math.log2(self.n_features / self.sparsity) - math.log2(clipped))

    def make_adversary(self) -> Adversary | None:
        """Who makes the dirty rows."""
        if self.adversary == NO_ADVERSARY:
            return None
        make = {**ADVERSARIES, **SLOW_ADVERSARIES}[self.adversary]
        if self.strength is None:
            return make()
        check_positive(self.strength, "strength")
        if not hasattr(make(), "strength"):
            raise ValueError(f"adversary {self.adversary!r} takes no strength")
        return make(strength=self.strength)

    def make_schedule(self) -> PracticalSchedule:
        """How the learner goes about it."""
        for name in self.schedule:
            check_name(name, "a name in schedule", LoopSchedule.__dataclass_fields__)
        return (PracticalSchedule if self.is_whole else LoopSchedule)(**self.schedule)

    @property
    def is_whole(self) -> bool:
        """Whether the schedule can leave out no step."""
        return self.schedule.keys() <= PracticalSchedule.__dataclass_fields__.keys()

    def as_record(self) -> dict[str, Any]:
        """The parameters as plain numbers and names.

        Fields in `LATER` are left out at their default, so that the identity of older runs stays.
        """
        values: dict[str, Any] = plain(asdict(self))
        return {k: value for k, value in values.items() if k not in LATER or value != LATER[k]}

    def _check_learner(self) -> None:
        if self.method in MISSING:
            lacks = f"needs the package {MISSING[self.method]}, which is not installed"
            advice = 'install it with: pip install "thresher[peers]"'
            raise ValueError(f"method {self.method!r} {lacks}; {advice}")
        check_name(self.method, "method", (THRESHER, *METHODS))
        check_positive(self.budget_factor, "budget_factor")
        if self.method != THRESHER and self.schedule:
            raise ValueError(f"method {self.method!r} takes no schedule; only Thresher does")
        if self.method == THRESHER and self.label_budget is None and self.budget_factor != 1:
            raise ValueError("budget_factor multiplies label_budget, which is not given")


@dataclass(frozen=True, kw_only=True)
class TableSpec:
    """One experiment on a real table; with a seed it fixes split, planted rows and learner.

    Parameters
    ----------
    table : name of a file in the data folder, without its extension
    noise_rate : share of planted rows in the training rows, below 0.5 (η)
    adversary : a name in `simulate.POISON_STRENGTHS`; "none" is enough when the noise rate is 0
    strength : of the adversary; default: its usual one
    method : a name in `TABLE_METHODS`. Each gets the noise rate, or `CLEAN_RATE` if it is 0, and
        chooses its other parameters by cross-validation

    Raises
    ------
    TypeError, ValueError : a parameter outside its range, or an unknown name

    Examples
    --------
    >>> spec = TableSpec(table="spambase", noise_rate=0.1, adversary="far-clump")
    >>> spec.told_noise_rate, TableSpec(table="spambase").told_noise_rate
    (0.1, 0.02)
    """

    table: str
    noise_rate: float = 0.0
    adversary: str = NO_ADVERSARY
    strength: float | None = None
    method: str = THRESHER

    def __post_init__(self) -> None:
        if not isinstance(self.table, str) or PurePath(self.table).name != self.table:
            raise ValueError(f"table must be a file name without its extension, got {self.table!r}")
        _check_adversary(self, POISON_STRENGTHS)
        check_name(self.method, "method", TABLE_METHODS)
        if self.adversary != NO_ADVERSARY:
            ATTACKS[self.adversary].check_strength(self.strength)

    @property
    def told_noise_rate(self) -> float:
        """The noise rate that the learner assumes."""
        return self.noise_rate or CLEAN_RATE

    @property
    def error_floor(self) -> None:
        """Always None: the halfspace behind a real table is unknown."""

    def as_record(self) -> dict[str, Any]:
        """The parameters as plain numbers and names."""
        values: dict[str, Any] = plain(asdict(self))
        return values


def plain(value: Any) -> Any:
    """The value without NumPy types, which JSON cannot hold.

    Examples
    --------
    >>> plain({"rate": np.float64(0.5), "rows": "gaussian"})
    {'rate': 0.5, 'rows': 'gaussian'}
    """
    if isinstance(value, Mapping):
        return {name: plain(part) for name, part in value.items()}
    return value.item() if isinstance(value, np.generic) else value


def check_name(value: object, name: str, known: Collection[str]) -> None:
    """Raise unless the value is one of the known names; the message lists them.

    Examples
    --------
    >>> check_name("b", "letter", ("a", "c"))
    Traceback (most recent call last):
    ValueError: letter must be one of a, c; got 'b'
    """
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"{name} must be one of {', '.join(known)}; got {value!r}")


def _check_adversary(spec: SimulationSpec | TableSpec, known: Collection[str]) -> None:
    rate, strength = check_noise_rate(spec.noise_rate), spec.strength
    check_name(spec.adversary, "adversary", (NO_ADVERSARY, *known))
    if rate > 0 and spec.adversary == NO_ADVERSARY:
        raise ValueError(f"noise_rate {rate:g} needs an adversary: one of {', '.join(known)}")
    if strength is not None and spec.adversary == NO_ADVERSARY:
        raise ValueError(f"strength needs an adversary; got strength={strength} and no adversary")


# -- seeds ---------------------------------------------------------------------------------------


# Python refuses to read a number of thousands of digits, and no seed needs them.
_SEEDS = re.compile(r"\s*([0-9]{1,100})\s*(?:-\s*([0-9]{1,100})\s*)?")


def parse_seeds(text: str) -> tuple[int, ...]:
    """The seeds that a text stands for: a count starting from 0, or a list of seeds and ranges.

    Raises
    ------
    ValueError : the text is neither, or stands for more than 10,000 seeds

    Examples
    --------
    >>> parse_seeds("3"), parse_seeds("0-2,7")
    ((0, 1, 2), (0, 1, 2, 7))
    """
    parts = [_SEEDS.fullmatch(part) for part in text.split(",")]
    ends = [(int(part[1]), int(part[2] or part[1])) for part in parts if part]
    seeds = [range(first, last + 1) for first, last in ends]
    if len(parts) == 1 and parts[0] and not parts[0][2]:
        seeds = [range(int(text))]
    n_seeds = sum(part.stop - part.start for part in seeds)
    if not all(parts) or not all(seeds) or n_seeds > MAX_SEEDS:
        wanted = f"a count from 1 to {MAX_SEEDS}, or a list like 0-9 or 1,5,7"
        raise ValueError(f"seeds must be {wanted}; got {text!r}")
    return tuple(dict.fromkeys(seed for part in seeds for seed in part))


def format_seeds(seeds: Iterable[int]) -> str:
    """The distinct seeds in order, consecutive ones as ranges.

    Examples
    --------
    >>> format_seeds([7, 0, 1, 2, 2]), format_seeds([])
    ('0-2, 7', 'none')
    """
    ranges: list[list[int]] = []
    for seed in sorted(set(seeds)):
        if ranges and seed == ranges[-1][-1] + 1:
            ranges[-1][1:] = [seed]
        else:
            ranges.append([seed])
    return ", ".join("-".join(map(str, ends)) for ends in ranges) or "none"
