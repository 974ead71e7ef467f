"""The methods of the literature in Thresher's place: same oracle, same counts, same record."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from thresher.errors import BudgetExceeded
from thresher.experiments.spec import SimulationSpec
from thresher.experiments.witness import Stopwatch, Witness
from thresher.oracles import Draw, DrawRequest, IdArray
from thresher.rivals.methods import METHODS
from thresher.simulate import MaliciousOracle
from thresher.validation import FloatArray


class Allowance:
    """A source that gives no more labels than the budget allows.

    Parameters
    ----------
    witness : who passes rows and labels on
    label_budget : most distinct labels; None for no limit

    Raises
    ------
    BudgetExceeded : labels that the budget does not allow, before any of them is paid

    Examples
    --------
    >>> from thresher.geometry import Band
    >>> from thresher.simulate import Gaussian
    >>> oracle = MaliciousOracle(distribution=Gaussian(2), target=[1.0, 0.0], noise_rate=0.0,
    ...                          adversary=None, random_state=0)
    >>> source = Allowance(Witness(oracle), label_budget=1)
    >>> drawn = source.draw(DrawRequest(n_rows=2, band=Band(np.zeros(2), np.inf)))
    >>> source.reveal(drawn.ids)
    Traceback (most recent call last):
    thresher.errors.BudgetExceeded: 2 labels were asked for, but the budget leaves 1; ...
    """

    def __init__(self, witness: Witness, label_budget: int | None) -> None:
        self.n_features = witness.n_features
        self._witness, self._label_budget = witness, label_budget
        self._paid: set[int] = set()

    def draw(self, request: DrawRequest) -> Draw:
        """What the witness passes on."""
        return self._witness.draw(request)

    def reveal(self, ids: IdArray) -> FloatArray:
        """What the witness passes on, if it can be paid."""
        n_before, wanted = len(self._paid), self._paid.union(np.asarray(ids).tolist())
        if self._label_budget is not None and len(wanted) > self._label_budget:
            raise BudgetExceeded(
                "labels",
                n_asked=len(wanted) - n_before,
                n_left=self._label_budget - n_before,
                kept=f"{n_before} labels were paid",
            )
        self._paid = wanted
        return self._witness.reveal(ids)


def run_method(
    spec: SimulationSpec,
    oracle: MaliciousOracle,
    witness: Witness,
    clock: Stopwatch,
    rng: np.random.Generator,
) -> dict[str, Any]:
    """How a method's run ended and what it cost: the record's values that depend on the method.

    Whatever the method raises is an outcome, and so is an answer that is no halfspace.

    Examples
    --------
    >>> from thresher.experiments import run_simulation
    >>> spec = SimulationSpec(n_features=20, sparsity=2, label_budget=60, method="zhang-2018")
    >>> run = run_simulation(spec, seed=0)
    >>> run.status, run.n_labels <= 60, run.phases
    ('finished', True, ())
    """
    source, message, estimate = Allowance(witness, spec.task.label_budget), "", None
    method = METHODS[spec.method]
    try:
        for module in method.imports:  # before the clock runs
            import_module(module)
        with clock:
            halfspace = method.learn(source, spec.task, rng)
        estimate = oracle.estimate_error(halfspace)
    except Exception as error:  # whatever it is, it is what happened to this seed
        message = f"{type(error).__name__}: {error}"
    return {
        "status": "failed" if message else "finished",
        "message": message,
        "error": None if estimate is None else float(estimate.value),
        "error_standard_error": None if estimate is None else float(estimate.standard_error),
        "n_labels": oracle.n_labels,
        "n_queries": witness.n_queries,
        "n_draws": oracle.n_draws,
        "n_uncertified": 0,
        "phases": (),
    }
