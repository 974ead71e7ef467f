"""What learning would cost, and whether it is possible at all, before anything is paid."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from thresher.learning.pool_study import labels_on_pools
from thresher.learning.practical import PracticalSchedule
from thresher.learning.task import Cost, Task
from thresher.learning.theory import TheorySchedule


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The question, what two schedules would spend on it, and what no method can do.

    Printing it gives a table.

    Parameters
    ----------
    n_features, sparsity, target_error, noise_rate, failure_probability : the question
    theory : the cost with the paper's constants, far beyond what can be run
    practical : the cost with the practical schedule, which `ActiveLearner` uses

    Examples
    --------
    >>> cost = Cost(phases=4, draws=40_000, labels=1600)
    >>> answer = Plan(n_features=512, sparsity=8, target_error=0.25, noise_rate=0.1,
    ...               failure_probability=0.05, theory=cost, practical=cost)
    >>> answer.label_floor, answer.possible
    (64.0, True)
    >>> print(answer)
    8 of 512 features, error 0.25, noise rate 0.1, failure probability 0.05
    <BLANKLINE>
                        theory   practical
    phases                   4           4
    draws               40,000      40,000
    labels               1,600       1,600
    labels / floor        25.0        25.0
    <BLANKLINE>
    label floor           64.0
    noise limit          0.333
    <BLANKLINE>
    Not ruled out: ...
    Labels that ActiveClassifier needed for this error on real pools with ...
    """

    n_features: int
    sparsity: int
    target_error: float
    noise_rate: float
    failure_probability: float
    theory: Cost
    practical: Cost

    @property
    def noise_limit(self) -> float:
        """The noise rate at and above which no method succeeds, at any cost: 2ε/(1 + 2ε).

        An adversary of rate η can make two targets look the same even if they disagree on a share
        η/(1 − η) of the instances; one of them is then missed by at least half of that. This also
        holds for continuous distributions; Kearns and Li's ε/(1 + ε) needs point masses.
        """
        return 2 * self.target_error / (1 + 2 * self.target_error)

    @property
    def label_floor(self) -> float:
        """About how many labels any active learner needs: s·(log2(1/ε) + log2(d/s)) (Lemma 2)."""
        s, d = self.sparsity, self.n_features
        return s * (math.log2(d / s) - math.log2(self.target_error))

    @property
    def pool_labels(self) -> dict[str, int | None]:
        """By real pool, the labels that `ActiveClassifier` needed for the target error.

        The means of the pool study, at 50 to 800 labels: on clean pools if the noise rate is 0,
        with a tenth of the rows planted up to a noise rate of 0.1. None: it was not reached.
        """
        return dict(labels_on_pools(self.target_error, self.noise_rate))

    @property
    def possible(self) -> bool:
        """Whether the noise rate is below the limit."""
        return self.noise_rate < self.noise_limit

    @property
    def message(self) -> str:
        """Whether it can be done, in sentences that name the limits."""
        eta, eps = self.noise_rate, self.target_error
        arbitrary = eps / (1 + eps)
        if not self.possible:
            reachable = eta / (2 * (1 - eta))
            return (
                f"Impossible: at noise rate {eta:.4g}, no method can guarantee error {eps:.4g}. "
                f"Either the target error must be above {reachable:.4g}, or the noise rate below "
                f"{self.noise_limit:.4g}."
            )
        if eta >= arbitrary:
            return (
                f"Possible for continuous distributions only: noise rate {eta:.4g} is below the "
                f"limit of {self.noise_limit:.4g}, but not below {arbitrary:.4g}, Kearns "
                "and Li's limit for arbitrary distributions."
            )
        return (
            f"Not ruled out: noise rate {eta:.4g} is below {arbitrary:.4g}, Kearns and Li's "
            f"limit for arbitrary distributions, and below {self.noise_limit:.4g}, the limit for "
            "continuous ones."
        )

    def __str__(self) -> str:
        question = (
            f"{self.sparsity:,} of {self.n_features:,} features, error {self.target_error:g}, "
            f"noise rate {self.noise_rate:g}, failure probability {self.failure_probability:g}"
        )
        floor = Decimal(self.label_floor)
        columns = []
        for title, cost in (("theory", self.theory), ("practical", self.practical)):
            numbers = (cost.phases, cost.draws, cost.labels, cost.labels / floor)
            columns.append([title, *(_readable(number) for number in numbers)])
        names = ("", "phases", "draws", "labels", "labels / floor")
        table = [f"{row[0]:<14}{row[1]:>12}{row[2]:>12}" for row in zip(names, *columns)]
        limits = [
            f"{'label floor':<14}{_readable(floor):>12}",
            f"{'noise limit':<14}{self.noise_limit:>12.3g}",
        ]
        costs = [*table, ""] if self.possible else []  # no budget buys the impossible
        return "\n".join([question, "", *costs, *limits, "", self.message, *self._on_pools()])

    def _on_pools(self) -> Iterator[str]:
        """What `ActiveClassifier` needed on real pools, if any of them reached the target."""
        reached = [f"{n} on {name}" for name, n in self.pool_labels.items() if n is not None]
        if self.possible and reached:
            planted = "with 10% planted rows" if self.noise_rate else "without planted rows"
            others = len(self.pool_labels) - len(reached)
            rest = f" It did not reach it on {others} others that were measured." if others else ""
            yield (
                f"Labels that ActiveClassifier needed for this error on real pools {planted}: "
                f"{', '.join(reached)}.{rest}"
            )


def plan(
    *,
    n_features: int,
    sparsity: int,
    target_error: float,
    noise_rate: float,
    failure_probability: float = 0.05,
) -> Plan:
    """What learning would cost in draws and labels, and whether the noise allows it.

    Parameters
    ----------
    n_features : how many features there are (d)
    sparsity : how many of them the halfspace may use (s)
    target_error : the error rate to reach, in (0, 1) (ε)
    noise_rate : the share of rows that an adversary owns, in [0, 1/2) (η)
    failure_probability : the chance of missing the target, in (0, 1) (δ)

    Raises
    ------
    TypeError, ValueError
        A parameter is out of range. An impossible target is not an error: the plan says so.

    Examples
    --------
    >>> answer = plan(n_features=500, sparsity=10, target_error=0.01, noise_rate=0.05)
    >>> answer.possible
    False
    >>> round(answer.noise_limit, 4), round(answer.label_floor)
    (0.0196, 123)
    >>> answer.theory.phases
    3
    """
    schedule = TheorySchedule(
        n_features=n_features,
        sparsity=sparsity,
        target_error=target_error,
        noise_rate=noise_rate,
        failure_probability=failure_probability,
    )
    names = ("n_features", "sparsity", "target_error", "noise_rate")
    asked = {name: getattr(schedule, name) for name in names}
    return Plan(
        **asked,
        failure_probability=schedule.failure_probability,
        theory=schedule.cost(),
        practical=PracticalSchedule().cost(Task(**asked)),
    )


def _readable(number: int | Decimal) -> str:
    """The number with separators while that is short, in scientific notation beyond."""
    if number >= 10**9:
        return f"{Decimal(number):.1e}"
    return f"{number:,}" if isinstance(number, int) else f"{number:,.1f}"
