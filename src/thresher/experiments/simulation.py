"""A learner's run against the malicious oracle, from a spec and a seed to a record."""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache
from importlib import import_module
from importlib.metadata import version

import numpy as np

from thresher.experiments.observed import ObservedOracle, Stopwatch
from thresher.experiments.records import SimulatedPhase, SimulatedRun
from thresher.experiments.spec import THRESHER, SimulationSpec, plain
from thresher.learning import ActiveLearner, PhaseOutcome
from thresher.rivals.methods import METHODS
from thresher.simulate import ErrorEstimate, MaliciousOracle, random_target
from thresher.validation import check_count

Observer = Callable[[PhaseOutcome], object]

_FROM_OUTCOME = {field.name for field in fields(SimulatedPhase)} & {
    field.name for field in fields(PhaseOutcome)
}


def run_simulation(
    spec: SimulationSpec, seed: int, observe: Observer | None = None
) -> SimulatedRun:
    """The record of one run: the same spec and seed give the same record but for its seconds.

    Target, oracle and learner have independent random streams that the seed fixes. An exception
    during the run is an outcome: the record says "failed", why, and how far the run got. Phases
    without a certificate warn as usual and are counted in the record.

    Parameters
    ----------
    spec : what is simulated
    seed : integer ≥ 0
    observe : called with Thresher's own record of each phase when it ends; other methods have none

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
    clock = Stopwatch()
    if spec.method == THRESHER:
        observed = ObservedOracle(oracle)
        learned = _run_thresher(spec, oracle, observed, clock, learner_rng, observe)
    else:
        observed = ObservedOracle(oracle, spec.task.label_budget)
        learned = _run_method(spec, oracle, observed, clock, learner_rng)
    error = None if learned.estimate is None else float(learned.estimate.value)
    spread = None if learned.estimate is None else float(learned.estimate.standard_error)
    return SimulatedRun(
        spec=spec,
        seed=int(seed),
        versions=software_versions(),
        status="failed" if learned.message else "finished",
        message=learned.message,
        error=error,
        error_standard_error=spread,
        n_labels=oracle.n_labels,
        label_floor=_label_floor(spec, error),
        n_queries=learned.n_queries,
        n_draws=oracle.n_draws,
        seconds=clock.seconds - observed.clock.seconds,
        n_uncertified=learned.n_uncertified,
        phases=learned.phases,
        dirty_labels=observed.dirty_labels(),
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


@dataclass(frozen=True, kw_only=True)
class _Learned:
    """Where a learner ended: what stopped it, if anything, and the error it reached, if any."""

    message: str
    estimate: ErrorEstimate | None
    n_queries: int
    n_uncertified: int = 0
    phases: tuple[SimulatedPhase, ...] = ()


def _run_method(
    spec: SimulationSpec,
    oracle: MaliciousOracle,
    observed: ObservedOracle,
    clock: Stopwatch,
    rng: np.random.Generator,
) -> _Learned:
    """Run a rival; an answer that is not a halfspace is a failure too."""
    message, estimate, method = "", None, METHODS[spec.method]
    try:
        for module in method.imports:  # before the clock runs
            import_module(module)
        with clock:
            halfspace = method.learn(observed, spec.task, rng)
        estimate = oracle.estimate_error(halfspace)
    except Exception as error:  # any exception is this seed's outcome
        message = f"{type(error).__name__}: {error}"
    return _Learned(message=message, estimate=estimate, n_queries=observed.n_queries)


def _run_thresher(
    spec: SimulationSpec,
    oracle: MaliciousOracle,
    observed: ObservedOracle,
    clock: Stopwatch,
    rng: np.random.Generator,
    observe: Observer | None,
) -> _Learned:
    learner = _make_learner(spec, observed, rng)
    message = _learn(learner, observed, clock, observe)
    phases = tuple(_phase_record(outcome, observed, oracle) for outcome in learner.phases_)
    return _Learned(
        message=message,
        estimate=_last_estimate(phases),
        n_queries=learner.n_queries_,
        n_uncertified=sum(not outcome.is_certified for outcome in learner.phases_),
        phases=phases,
    )


def _last_estimate(phases: tuple[SimulatedPhase, ...]) -> ErrorEstimate | None:
    if not phases:
        return None
    return ErrorEstimate(phases[-1].error, phases[-1].error_standard_error)


def _make_learner(
    spec: SimulationSpec, pool: ObservedOracle, rng: np.random.Generator
) -> ActiveLearner:
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
    learner: ActiveLearner, observed: ObservedOracle, clock: Stopwatch, observe: Observer | None
) -> str:
    """Let the learner ask until it is done; the error that stopped it, or an empty string.

    The loop of `learn_actively`, written out: a run that fails keeps the phases it finished.
    """
    n_observed, is_over = 0, False
    while not is_over:
        try:
            with clock:
                question = learner.ask()
                is_over = question is None
                if question is not None:
                    learner.tell(observed.reveal(question.ids))
        except Exception as error:  # any exception is this seed's outcome
            return f"{type(error).__name__}: {error}"
        finished = learner.phases_
        if observe is not None:
            for outcome in finished[n_observed:]:
                observe(outcome)
        n_observed = len(finished)
    return ""


def _phase_record(
    outcome: PhaseOutcome, observed: ObservedOracle, oracle: MaliciousOracle
) -> SimulatedPhase:
    index = outcome.phase.index
    estimate = oracle.estimate_error(outcome.halfspace)
    shared = {name: plain(getattr(outcome, name)) for name in _FROM_OUTCOME}
    return SimulatedPhase(
        **{**shared, "fresh_error": _finite(outcome.fresh_error)},
        index=index,
        band_width=_finite(observed.band_width(phase=index)),
        l2_radius=float(outcome.phase.l2_radius),
        outlier_fraction=float(outcome.phase.outlier_fraction),
        dirty_rows=observed.dirty_rows(phase=index),
        dirty_weight=observed.dirty_weight(outcome.row_ids, outcome.row_weights),
        dirty_labels=observed.dirty_labels(phase=index),
        error=float(estimate.value),
        error_standard_error=float(estimate.standard_error),
    )


def _label_floor(spec: SimulationSpec, error: float | None) -> float | None:
    aim = error if spec.target_error is None else spec.target_error
    return None if aim is None else spec.label_floor(aim)


def software_versions() -> dict[str, str]:
    """The versions of Python, NumPy, SciPy and Thresher.

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
