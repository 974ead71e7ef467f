"""A learner's run against the malicious oracle, from a spec and a seed to a record."""

from __future__ import annotations

import platform
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np

from thresher.experiments.contestants import run_method
from thresher.experiments.records import SimulatedPhase, SimulatedRun
from thresher.experiments.spec import THRESHER, SimulationSpec, plain
from thresher.experiments.witness import Stopwatch, Witness
from thresher.learning import ActiveLearner, PhaseOutcome
from thresher.simulate import ErrorEstimate, MaliciousOracle, random_target
from thresher.validation import check_count

Observer = Callable[[PhaseOutcome], object]

# What a phase's record takes over from the learner's own.
_OUTCOME = (
    "n_draws",
    "n_kept",
    "n_pruned",
    "weight_removed",
    "removal_status",
    "variance_lower",
    "variance_upper",
    "optimum_lower",
    "n_queries",
    "n_labels",
    "n_labels_used",
    "loss",
    "loss_gap",
    "loss_status",
)


def run_simulation(
    spec: SimulationSpec, seed: int, observe: Observer | None = None
) -> SimulatedRun:
    """The record of one run: the same spec and seed give the same record but for its seconds.

    Target, oracle and learner have independent random streams that the seed fixes. An exception
    during the run is an outcome: the record says "failed", why, and how far the run got. Warnings
    about phases without a certificate go their usual way, and are counted in the record.

    Parameters
    ----------
    spec : what is simulated
    seed : integer from 0 on
    observe : shown Thresher's own record of each phase when it is over; other methods have none

    Examples
    --------
    >>> spec = SimulationSpec(n_features=40, sparsity=2, noise_rate=0.05, label_budget=80,
    ...                       adversary="in-band-mass")
    >>> run = run_simulation(spec, seed=0)
    >>> run.status, run.n_labels <= 80, len(run.phases) == run.phases[-1].index
    ('finished', True, True)
    """
    streams = np.random.SeedSequence(check_count(seed, "seed", minimum=0)).spawn(3)
    target_rng, oracle_rng, learner_rng = map(np.random.default_rng, streams)
    oracle = _make_oracle(spec, target_rng, oracle_rng)
    witness, clock = Witness(oracle), Stopwatch()
    if spec.method == THRESHER:
        learner = _make_learner(spec, witness, learner_rng)
        message = _learn(learner, witness, clock, observe)
        results = _results(learner, message, witness, oracle)
    else:
        results = run_method(spec, oracle, witness, clock, learner_rng)
    return SimulatedRun(
        spec=spec,
        seed=int(seed),
        versions=software_versions(),
        seconds=clock.seconds - witness.clock.seconds,
        label_floor=_label_floor(spec, results["error"]),
        dirty_labels=witness.dirty_labels(),
        **results,
    )


def _make_oracle(
    spec: SimulationSpec, target_rng: np.random.Generator, oracle_rng: np.random.Generator
) -> MaliciousOracle:
    return MaliciousOracle(
        distribution=spec.make_distribution(),
        target=random_target(spec.n_features, spec.sparsity, target_rng),
        noise_rate=spec.noise_rate,
        adversary=spec.make_adversary(),
        random_state=oracle_rng,
    )


def _make_learner(spec: SimulationSpec, pool: Witness, rng: np.random.Generator) -> ActiveLearner:
    task = spec.task
    return ActiveLearner(
        pool,
        sparsity=task.sparsity,
        noise_rate=task.noise_rate,
        target_error=task.target_error,
        label_budget=task.label_budget,
        schedule=spec.make_schedule(),
        random_state=rng,
    )


def _learn(
    learner: ActiveLearner, witness: Witness, clock: Stopwatch, observe: Observer | None
) -> str:
    """Let the learner ask until it is done; what stopped it before, or nothing.

    The loop of `learn_actively`, written out: a run that fails keeps the phases it finished.
    """
    n_observed, is_over = 0, False
    while not is_over:
        try:
            with clock:
                question = learner.ask()
                is_over = question is None
                if question is not None:
                    learner.tell(witness.reveal(question.ids))
        except Exception as error:  # whatever it is, it is what happened to this seed
            return f"{type(error).__name__}: {error}"
        finished = learner.phases_
        if observe is not None:
            for outcome in finished[n_observed:]:
                observe(outcome)
        n_observed = len(finished)
    return ""


def _phase_record(
    outcome: PhaseOutcome, witness: Witness, oracle: MaliciousOracle
) -> SimulatedPhase:
    index = outcome.phase.index
    estimate: ErrorEstimate = oracle.estimate_error(outcome.halfspace)
    return SimulatedPhase(
        index=index,
        band_width=_finite(witness.band_width(phase=index)),
        l2_radius=float(outcome.phase.l2_radius),
        outlier_fraction=float(outcome.phase.outlier_fraction),
        fresh_error=_finite(outcome.fresh_error),
        dirty_rows=witness.dirty_rows(phase=index),
        dirty_weight=witness.dirty_weight(outcome.row_ids, outcome.row_weights),
        dirty_labels=witness.dirty_labels(phase=index),
        error=float(estimate.value),
        error_standard_error=float(estimate.standard_error),
        **{name: plain(getattr(outcome, name)) for name in _OUTCOME},
    )


def _results(
    learner: ActiveLearner, message: str, witness: Witness, oracle: MaliciousOracle
) -> dict[str, Any]:
    """What the run reached and what it cost, also if it failed on the way."""
    phases = tuple(_phase_record(outcome, witness, oracle) for outcome in learner.phases_)
    return {
        "status": "failed" if message else "finished",
        "message": message,
        "error": phases[-1].error if phases else None,
        "error_standard_error": phases[-1].error_standard_error if phases else None,
        "n_labels": learner.n_labels_,
        "n_queries": learner.n_queries_,
        "n_draws": learner.n_draws_,
        "n_uncertified": sum(not outcome.is_certified for outcome in learner.phases_),
        "phases": phases,
    }


def _label_floor(spec: SimulationSpec, error: float | None) -> float | None:
    aim = error if spec.target_error is None else spec.target_error
    return None if aim is None else spec.label_floor(aim)


def software_versions() -> dict[str, str]:
    """The versions that a record needs to be believed later.

    Examples
    --------
    >>> sorted(software_versions())
    ['numpy', 'python', 'scipy', 'thresher']
    """
    packages = {name: _version(name) for name in ("numpy", "scipy", "thresher")}
    return {"python": platform.python_version(), **packages}


@cache  # a file is read and parsed, for every record
def _version(package: str) -> str:
    return version(package)


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
