"""The operating envelope: what the practical schedule promises, world by world.

A promise is kept by a run that ends with at most the promised error and pays at most the promised
labels. It says that at least `PROMISED_SHARE` of all seeds keep it, and was chosen with a margin
from runs with other seeds than those that test it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from thresher.experiments.records import SimulatedRun
from thresher.experiments.simulation import run_simulation
from thresher.experiments.spec import SimulationSpec

PROMISED_SHARE = 0.95
FIRST_SEEDS, ALARM = range(2000, 2025), 5
CONFIRMING_SEEDS, REFUTED = range(2025, 2119), 11


@dataclass(frozen=True)
class Promise:
    """A world, and the error that a run in it will not exceed.

    Parameters
    ----------
    spec : the world, with the labels that may be paid
    error : the promised error

    Examples
    --------
    >>> PROMISES[0].error, PROMISES[0].spec.label_budget
    (0.01, 1230)
    """

    spec: SimulationSpec
    error: float

    def is_kept_by(self, run: SimulatedRun) -> bool:
        """Whether the run finished within the promised error and labels."""
        budget = self.spec.label_budget
        return (
            run.status == "finished"
            and run.error is not None
            and run.error <= self.error
            and (budget is None or run.n_labels <= budget)
        )

    def is_refuted(
        self, run: Callable[[SimulationSpec, int], SimulatedRun] = run_simulation
    ) -> bool:
        """Whether too many seeds break the promise to go on believing it.

        25 seeds are run. Only if 5 of them break it, which happens with probability .007 to a
        promise that 95 % of all seeds keep, 94 further seeds decide: it is refuted if 11 of these
        break it, too (probability .007 on its own, so 5·10⁻⁵ in all).
        """
        if self._n_broken(FIRST_SEEDS, run) < ALARM:
            return False
        return self._n_broken(CONFIRMING_SEEDS, run) >= REFUTED

    def _n_broken(
        self, seeds: Iterable[int], run: Callable[[SimulationSpec, int], SimulatedRun]
    ) -> int:
        return sum(not self.is_kept_by(run(self.spec, seed)) for seed in seeds)


def _promise(error: float, /, label_budget: int = 1500, **world: object) -> Promise:
    spec = {"n_features": 500, "sparsity": 10, "label_budget": label_budget, **world}
    return Promise(SimulationSpec(**spec), error)  # type: ignore[arg-type]


# Ordered from easy to hard; docs/envelope.md shows the same table.
PROMISES = (
    _promise(0.01, label_budget=1230),
    _promise(0.015, noise_rate=0.05, adversary="label-flip"),
    _promise(0.015, noise_rate=0.05, adversary="linf-hijack-in-band", strength=1.0),
    _promise(0.03, noise_rate=0.05, adversary="on-support-tilt-in-band", strength=2.0),
    _promise(0.035, noise_rate=0.05, adversary="in-band-mass", strength=1.5),
    _promise(0.04, noise_rate=0.05, adversary="kearns-li"),
    _promise(0.03, noise_rate=0.1, adversary="far-clump", strength=2.0),
    _promise(0.085, noise_rate=0.1, adversary="in-band-mass", strength=1.5),
    _promise(0.085, noise_rate=0.1, adversary="kearns-li"),
    _promise(0.015, distribution="laplace", noise_rate=0.05, adversary="label-flip"),
    _promise(
        0.045, distribution="exponential", noise_rate=0.05, adversary="in-band-mass", strength=2.0
    ),
    _promise(
        0.04,
        n_features=200,
        sparsity=5,
        label_budget=800,
        noise_rate=0.05,
        adversary="in-band-mass",
        strength=2.0,
    ),
)
