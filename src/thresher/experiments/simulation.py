"""A learner's run against the malicious oracle, from a spec and a seed to a record."""

import platform
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import fields
from functools import cache, partial
from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np

from thresher.errors import BudgetExceeded
from thresher.experiments.records import SimulatedPhase, SimulatedRun
from thresher.experiments.spec import THRESHER, SimulationSpec, plain
from thresher.learning import ActiveLearner, PhaseOutcome
from thresher.oracles import Draw, DrawRequest, IdArray
from thresher.rivals.methods import METHODS
from thresher.simulate import MaliciousOracle, random_target
from thresher.simulate.distributions import DISTRIBUTIONS
from thresher.validation import FloatArray, check_count

Observer = Callable[[PhaseOutcome], object]

_FROM_OUTCOME = {field.name for field in fields(SimulatedPhase)} & {
    field.name for field in fields(PhaseOutcome)
}
_NO_ERROR = dict.fromkeys(("error", "error_standard_error"))


# -- the oracle as a learner meets it ------------------------------------------------------------


class Stopwatch:
    """Adds up the time spent inside its `with` blocks."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._start = 0.0

    def __enter__(self) -> None:
        self._start = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self.seconds += time.perf_counter() - self._start


class ObservedOracle:
    """Passes the oracle's rows and labels on to a learner, and hides who made them.

    For each phase it counts the dirty rows and the dirty labels, and it measures the time that the
    oracle itself takes.

    Parameters
    ----------
    oracle : its rows and labels are passed on unchanged
    label_budget : maximum number of distinct labels; None for no limit

    Raises
    ------
    BudgetExceeded : a request exceeds the budget; none of its labels is paid

    Examples
    --------
    >>> from thresher.geometry import Band
    >>> from thresher.simulate import Gaussian, LabelFlip
    >>> oracle = MaliciousOracle(distribution=Gaussian(2), target=[1.0, 0.0], noise_rate=0.5,
    ...                          adversary=LabelFlip(), random_state=0)
    >>> observed = ObservedOracle(oracle, label_budget=1)
    >>> draw = observed.draw(DrawRequest(n_rows=1000, band=Band(np.zeros(2), np.inf)))
    >>> 0.4 < observed.dirty_rows(phase=1) < 0.6
    True
    >>> observed.reveal(draw.ids[:2])
    Traceback (most recent call last):
    thresher.errors.BudgetExceeded: 2 labels are needed, but the budget has only 1 left; ...
    """

    def __init__(self, oracle: MaliciousOracle, label_budget: int | None = None) -> None:
        self.n_features = oracle.n_features
        self.clock = Stopwatch()
        self._oracle, self._label_budget = oracle, label_budget
        self._paid: set[int] = set()
        self._phase = 1
        self._n_rows, self._n_dirty_rows = Counter[int](), Counter[int]()
        self._n_labels, self._n_dirty_labels = Counter[int](), Counter[int]()

    # -- what the learner calls --------------------------------------------------------------

    def draw(self, request: DrawRequest) -> Draw:
        """What the oracle draws."""
        with self.clock:
            draw = self._oracle.draw(request)
            self._phase = request.phase
            self._n_rows[request.phase] += draw.n_rows
            self._n_dirty_rows[request.phase] += self._count_dirty(draw.ids)
        return draw

    def reveal(self, ids: IdArray) -> FloatArray:
        """What the oracle reveals, within the budget."""
        if self._label_budget is not None:
            self._pay(ids, self._label_budget)
        with self.clock:
            labels = self._oracle.reveal(ids)
            self._n_labels[self._phase] += int(ids.size)
            self._n_dirty_labels[self._phase] += self._count_dirty(ids)
        return labels

    def _pay(self, ids: IdArray, budget: int) -> None:
        n_paid, wanted = len(self._paid), self._paid.union(np.asarray(ids).tolist())
        if len(wanted) > budget:
            kept, n_asked = f"{n_paid} labels were paid", len(wanted) - n_paid
            raise BudgetExceeded("labels", n_asked=n_asked, n_left=budget - n_paid, kept=kept)
        self._paid = wanted

    # -- what the experiment asks ------------------------------------------------------------

    def dirty_rows(self, *, phase: int) -> float | None:
        """The dirty share of the rows drawn in the phase's band; None without rows."""
        return _share(self._n_dirty_rows[phase], self._n_rows[phase])

    def dirty_weight(self, ids: IdArray, weights: FloatArray) -> float | None:
        """The dirty share of the weight of these rows; None without weight."""
        dirty = float(weights[~self._oracle.is_clean(ids)].sum())
        return _share(dirty, float(weights.sum()))

    def dirty_labels(self, *, phase: int | None = None) -> float | None:
        """The dirty share of the labels bought in a phase, or in all phases; None without any."""
        if phase is None:
            return _share(self._n_dirty_labels.total(), self.n_queries)
        return _share(self._n_dirty_labels[phase], self._n_labels[phase])

    @property
    def n_queries(self) -> int:
        """The number of labels requested, counting repetitions."""
        return self._n_labels.total()

    def _count_dirty(self, ids: IdArray) -> int:
        return int(np.count_nonzero(~self._oracle.is_clean(ids)))


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


# -- a run ---------------------------------------------------------------------------------------


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
    oracle, learner_rng = make_world(spec, seed)
    is_ours, clock = spec.method == THRESHER, Stopwatch()
    observed = ObservedOracle(oracle, None if is_ours else spec.task.label_budget)
    watch: Observer = observe or (lambda _: None)
    learn = partial(_run_thresher, observe=watch) if is_ours else _run_method
    learned = learn(spec, observed, clock, learner_rng)
    aim = learned["error"] if spec.target_error is None else spec.target_error
    return SimulatedRun(
        spec=spec,
        seed=int(seed),
        versions=software_versions(),
        status="failed" if learned["message"] else "finished",
        n_labels=oracle.n_labels,
        label_floor=None if aim is None else spec.label_floor(aim),
        n_draws=oracle.n_draws,
        seconds=clock.seconds - observed.clock.seconds,
        dirty_labels=observed.dirty_labels(),
        **learned,
    )


def make_world(spec: SimulationSpec, seed: int) -> tuple[MaliciousOracle, np.random.Generator]:
    """The oracle of a run, and the random stream of its learner."""
    streams = np.random.SeedSequence(check_count(seed, "seed", minimum=0)).spawn(3)
    target_rng, oracle_rng, learner_rng = map(np.random.default_rng, streams)
    oracle = MaliciousOracle(
        distribution=DISTRIBUTIONS[spec.distribution](spec.n_features),
        target=random_target(spec.n_features, spec.sparsity, target_rng),
        noise_rate=spec.noise_rate,
        adversary=spec.make_adversary(),
        random_state=oracle_rng,
    )
    return oracle, learner_rng


def make_learner(
    spec: SimulationSpec, observed: ObservedOracle, rng: np.random.Generator
) -> ActiveLearner:
    """Thresher as the spec wants it, which learns from this oracle."""
    names = ("sparsity", "noise_rate", "target_error", "label_budget")
    known = {name: getattr(spec.task, name) for name in names}
    return ActiveLearner(observed, schedule=spec.make_schedule(), random_state=rng, **known)


def _run_method(
    spec: SimulationSpec, observed: ObservedOracle, clock: Stopwatch, rng: np.random.Generator
) -> dict[str, Any]:
    """The rival's part of the record; an answer that is not a halfspace is a failure too."""
    message, reached, method = "", _NO_ERROR, METHODS[spec.method]
    try:
        for module in method.imports:  # before the clock runs
            import_module(module)
        with clock:
            halfspace = method.learn(observed, spec.task, rng)
        reached = _error_of(halfspace, observed)
    except Exception as error:  # any exception is this seed's outcome
        message = f"{type(error).__name__}: {error}"
    counts = {"n_queries": observed.n_queries, "n_uncertified": 0, "phases": ()}
    return {"message": message, **reached, **counts}


def _run_thresher(
    spec: SimulationSpec,
    observed: ObservedOracle,
    clock: Stopwatch,
    rng: np.random.Generator,
    observe: Observer,
) -> dict[str, Any]:
    """Thresher's part of the record."""
    learner = make_learner(spec, observed, rng)
    message = answer_all(learner, observed, clock, observe)
    phases = tuple(_phase_record(outcome, observed) for outcome in learner.phases_)
    return {
        "message": message,
        **{name: getattr(phases[-1], name) if phases else None for name in _NO_ERROR},
        "n_queries": learner.n_queries_,
        "n_uncertified": sum(not outcome.is_certified for outcome in learner.phases_),
        "phases": phases,
    }


def answer_all(
    learner: ActiveLearner, observed: ObservedOracle, clock: Stopwatch, observe: Observer
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
        for outcome in finished[n_observed:]:
            observe(outcome)
        n_observed = len(finished)
    return ""


def _phase_record(outcome: PhaseOutcome, observed: ObservedOracle) -> SimulatedPhase:
    phase, index = outcome.phase, outcome.phase.index
    shared = {name: plain(getattr(outcome, name)) for name in _FROM_OUTCOME}
    fresh = shared.pop("fresh_error")
    return SimulatedPhase(
        **shared,
        fresh_error=float(fresh) if np.isfinite(fresh) else None,
        index=index,
        band_width=None if index == 1 else float(phase.band_width),
        l2_radius=float(phase.l2_radius),
        outlier_fraction=float(phase.outlier_fraction),
        dirty_rows=observed.dirty_rows(phase=index),
        dirty_weight=observed.dirty_weight(outcome.row_ids, outcome.row_weights),
        dirty_labels=observed.dirty_labels(phase=index),
        **_error_of(outcome.halfspace, observed),
    )


def _error_of(halfspace: FloatArray, observed: ObservedOracle) -> dict[str, Any]:
    found = observed._oracle.estimate_error(halfspace)
    return dict(zip(_NO_ERROR, (float(found.value), float(found.standard_error))))


@cache  # files are read and parsed, for every record
def software_versions() -> dict[str, str]:
    """The versions of Python, NumPy, SciPy and Thresher.

    Examples
    --------
    >>> sorted(software_versions())
    ['numpy', 'python', 'scipy', 'thresher']
    """
    packages = {name: version(name) for name in ("numpy", "scipy", "thresher")}
    return {"python": platform.python_version(), **packages}
