"""What is simulated: a distribution, an adversary, and what the learner is told."""

from __future__ import annotations

import inspect
import math
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from thresher.learning import PracticalSchedule, Task, plan
from thresher.rivals.methods import METHODS, MISSING
from thresher.simulate import (
    ADVERSARIES,
    Adversary,
    Distribution,
    Exponential,
    Gaussian,
    Laplace,
    Logistic,
    StudentT,
    Uniform,
)
from thresher.validation import check_count, check_noise_rate, check_positive

# By the names of the command line.
DISTRIBUTIONS: dict[str, type[Any]] = {
    "gaussian": Gaussian,
    "laplace": Laplace,
    "logistic": Logistic,
    "uniform": Uniform,
    "exponential": Exponential,
    "student-t": StudentT,
}
NOBODY = "none"
THRESHER = "thresher"


@dataclass(frozen=True, kw_only=True)
class SimulationSpec:
    """One experiment in numbers and names; with a seed it fixes a run completely.

    Parameters
    ----------
    n_features : length of a row (d)
    sparsity : features of the target, which the learner is told (s)
    noise_rate : probability that a draw is dirty, below one half (η)
    told_noise_rate : what the learner believes it to be; the truth if not given
    distribution : a name in `DISTRIBUTIONS`, where clean rows come from
    adversary : a name in `simulate.ADVERSARIES`; "none" is enough when the noise rate is 0
    strength : of the adversary; its own default if not given
    label_budget : most distinct labels that may be paid; the schedule decides if not given
    target_error : error at which learning may stop; as far as possible if not given
    schedule : parameters of `PracticalSchedule` that are not to have their default
    method : "thresher", or a name in `rivals.methods.METHODS`. A method gets as many labels as
        Thresher would
    budget_factor : how many times as many labels the learner gets; not every method is meant for
        few

    Raises
    ------
    TypeError, ValueError
        For a parameter outside its range, a name that is not known (the known ones are listed), or
        a noise rate without an adversary.

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
    adversary: str = NOBODY
    strength: float | None = None
    label_budget: int | None = None
    target_error: float | None = None
    schedule: Mapping[str, Any] = field(default_factory=dict)
    method: str = THRESHER
    budget_factor: float = 1.0

    def __post_init__(self) -> None:
        n_features = check_count(self.n_features, "n_features")
        sparsity = check_count(self.sparsity, "sparsity")
        if sparsity > n_features:
            raise ValueError(f"sparsity must be at most n_features = {n_features}, got {sparsity}")
        check_noise_rate(self.noise_rate)
        if self.told_noise_rate is not None:
            check_noise_rate(self.told_noise_rate, "told_noise_rate")
        check_name(self.distribution, "distribution", DISTRIBUTIONS)
        check_name(self.adversary, "adversary", (NOBODY, *ADVERSARIES))
        if self.noise_rate > 0 and self.adversary == NOBODY:
            raise ValueError(
                f"adversary must make the dirty rows of noise_rate {self.noise_rate:g}: "
                f"one of {', '.join(ADVERSARIES)}"
            )
        self.make_adversary()  # refuses a strength that the adversary does not have
        self.make_schedule()
        self._check_learner()
        _ = self.task

    @property
    def task(self) -> Task:
        """What the learner is told."""
        told = self.noise_rate if self.told_noise_rate is None else self.told_noise_rate
        task = Task(
            n_features=self.n_features,
            sparsity=self.sparsity,
            noise_rate=told,
            target_error=self.target_error,
            label_budget=self.label_budget,
        )
        budget = task.label_budget
        if self.method != THRESHER:  # which decides itself how much of a budget it needs
            budget = PracticalSchedule().n_labels(task)
        factor = self.budget_factor
        return replace(task, label_budget=None if budget is None else math.ceil(factor * budget))

    @property
    def error_floor(self) -> float:
        """The error that no method can promise to beat at this noise rate: η/(2(1 − η)).

        Kearns and Li's argument: two targets that disagree on a share η/(1 − η) of the rows can be
        made to look the same. Against a weaker adversary a run may well end below it.
        """
        return self.noise_rate / (2 * (1 - self.noise_rate))

    def label_floor(self, error: float) -> float:
        """About how many labels any active learner needs for this error, as `plan` has it."""
        answer = plan(
            n_features=self.n_features,
            sparsity=self.sparsity,
            target_error=min(max(error, 1e-9), 0.5),
            noise_rate=0.0,
        )
        return answer.label_floor

    def make_distribution(self) -> Distribution:
        """Where clean rows come from."""
        distribution: Distribution = DISTRIBUTIONS[self.distribution](self.n_features)
        return distribution

    def make_adversary(self) -> Adversary | None:
        """Who makes the dirty rows."""
        if self.strength is not None:
            check_positive(self.strength, "strength")
            if not _has_strength(self.adversary):
                raise ValueError(
                    f"strength is nothing that the adversary {self.adversary!r} has; leave it out"
                )
        if self.adversary == NOBODY:
            return None
        options = {} if self.strength is None else {"strength": self.strength}
        return ADVERSARIES[self.adversary](**options)

    def make_schedule(self) -> PracticalSchedule:
        """How the learner goes about it."""
        known = PracticalSchedule.__dataclass_fields__
        for name in self.schedule:
            check_name(name, "a name in schedule", known)
        return PracticalSchedule(**self.schedule)

    def as_record(self) -> dict[str, Any]:
        """The parameters as plain numbers and names.

        Those in `LATER` only if they are not what they were before there was a choice: a record
        and the identity of a run stay as they were.
        """
        schedule = {name: plain(value) for name, value in self.schedule.items()}
        values = {**asdict(self), "schedule": schedule}
        for name, default in LATER.items():
            if values[name] == default:
                del values[name]
        return {name: plain(value) for name, value in values.items()}

    def _check_learner(self) -> None:
        if self.method in MISSING:
            raise ValueError(
                f"method {self.method!r} needs the package {MISSING[self.method]}, which is not "
                'installed; pip install "thresher[peers]" brings it'
            )
        check_name(self.method, "method", (THRESHER, *METHODS))
        check_positive(self.budget_factor, "budget_factor")
        if self.method != THRESHER and self.schedule:
            raise ValueError(f"schedule is Thresher's: leave it out for the method {self.method!r}")
        if self.method == THRESHER and self.label_budget is None and self.budget_factor != 1:
            raise ValueError("budget_factor multiplies label_budget, which is not given")


LATER: dict[str, Any] = {"method": THRESHER, "budget_factor": 1.0}


def plain(value: Any) -> Any:
    """The value without its NumPy type, which JSON does not know.

    Examples
    --------
    >>> plain(np.float64(0.5)), plain("gaussian")
    (0.5, 'gaussian')
    """
    return value.item() if isinstance(value, np.generic) else value


def check_name(value: object, name: str, known: Collection[str]) -> None:
    """Raise if the value is none of the known names, which are listed.

    Examples
    --------
    >>> check_name("b", "letter", ("a", "c"))
    Traceback (most recent call last):
    ValueError: letter must be one of a, c; got 'b'
    """
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"{name} must be one of {', '.join(known)}; got {value!r}")


def _has_strength(adversary: str) -> bool:
    """Whether an adversary of that name has a strength: some are all or nothing."""
    if adversary == NOBODY:
        return False
    made = ADVERSARIES[adversary]()
    inner = getattr(made, "adversary", made)  # an attack that is moved into the band
    return "strength" in inspect.signature(type(inner)).parameters
