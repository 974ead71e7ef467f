"""Simulated runs: what a record says, and what it says when a run fails."""

from __future__ import annotations

import json
import pickle
import time
from dataclasses import dataclass, fields, replace

import joblib
import numpy as np
import pytest

from thresher.errors import DamagedFile, UncertifiedPhase
from thresher.experiments import (
    DISTRIBUTIONS,
    SimulatedPhase,
    SimulatedRun,
    SimulationSpec,
    load_runs,
    run_simulation,
    save_runs,
)
from thresher.experiments.simulation import ObservedOracle
from thresher.geometry import Band
from thresher.learning import PhaseOutcome, PracticalSchedule
from thresher.oracles import DrawRequest
from thresher.rivals.methods import METHODS, draw_labeled
from thresher.simulate import ADVERSARIES, Gaussian, LabelFlip, MaliciousOracle, random_target

SMALL = SimulationSpec(
    n_features=60, sparsity=3, noise_rate=0.1, adversary="in-band-mass", label_budget=120
)
CLEAN = SimulationSpec(n_features=60, sparsity=3, label_budget=120)


@pytest.fixture(scope="module")
def run() -> SimulatedRun:
    return run_simulation(SMALL, seed=0)


def without_time(run: SimulatedRun) -> SimulatedRun:
    return replace(run, seconds=0.0)


# -- a run -------------------------------------------------------------------------------------


def test_a_seed_fixes_the_whole_record_but_its_seconds(run: SimulatedRun) -> None:
    assert without_time(run_simulation(SMALL, seed=0)) == without_time(run)


def test_another_seed_gives_another_run(run: SimulatedRun) -> None:
    assert run_simulation(SMALL, seed=1).error != run.error


def test_processes_give_the_same_records_as_one_after_the_other(run: SimulatedRun) -> None:
    parallel = joblib.Parallel(n_jobs=2)(
        joblib.delayed(run_simulation)(SMALL, seed) for seed in (0, 1)
    )
    serial = [run, run_simulation(SMALL, seed=1)]
    assert list(map(without_time, parallel)) == list(map(without_time, serial))


def test_a_record_survives_pickling(run: SimulatedRun) -> None:
    assert pickle.loads(pickle.dumps(run)) == run


def test_the_last_phase_gives_the_error_and_the_sums_agree(run: SimulatedRun) -> None:
    assert run.status == "finished"
    assert run.error == run.phases[-1].error
    assert run.n_labels == sum(phase.n_labels for phase in run.phases) <= 120
    assert run.n_draws == sum(phase.n_draws for phase in run.phases)
    assert run.n_queries == sum(phase.n_queries for phase in run.phases)


def test_every_number_of_a_phase_is_recorded() -> None:
    not_numbers = {"phase", "halfspace", "row_ids", "row_weights", "is_left_out"}
    numbers = {field.name for field in fields(PhaseOutcome)} - not_numbers
    assert numbers <= {field.name for field in fields(SimulatedPhase)}


def test_the_first_band_is_everything_and_the_others_are_not(run: SimulatedRun) -> None:
    first, *others = run.phases
    assert first.band_width is None
    assert all(phase.band_width is not None for phase in others)


@pytest.mark.parametrize("seeds", [(2,), pytest.param((0, 1, 2), marks=pytest.mark.slow)], ids=str)
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_clean_rows_are_learned_whatever_the_distribution(
    distribution: str, seeds: tuple[int, ...]
) -> None:
    spec = replace(CLEAN, distribution=distribution)
    errors = [run_simulation(spec, seed=seed).error for seed in seeds]
    assert sorted(error for error in errors if error is not None)[len(seeds) // 2] < 0.05


def test_without_noise_nothing_is_dirty() -> None:
    run = run_simulation(CLEAN, seed=0)
    assert {phase.dirty_rows for phase in run.phases} == {0.0}
    assert {phase.dirty_labels for phase in run.phases} == {0.0}


def test_the_first_phase_draws_as_many_dirty_rows_as_the_noise_rate_says(
    run: SimulatedRun,
) -> None:
    # Five standard deviations of a binomial share: a false alarm in 1.7 million seeds.
    first = run.phases[0]
    deviation = np.sqrt(0.1 * 0.9 / first.n_kept)
    assert first.dirty_rows == pytest.approx(0.1, abs=5 * deviation)


def test_an_adversary_in_the_band_owns_more_of_a_narrow_band(run: SimulatedRun) -> None:
    shares = [phase.dirty_rows for phase in run.phases]
    assert shares[-1] > shares[0]


def test_what_the_learner_is_told_may_differ_from_the_truth() -> None:
    run = run_simulation(replace(CLEAN, told_noise_rate=0.1), seed=0)
    assert run.phases[0].weight_removed > 0.1
    assert run.phases[0].dirty_rows == 0


# -- what is observed, counted and timed -------------------------------------------------------


def test_an_observer_sees_each_phase_once() -> None:
    seen: list[PhaseOutcome] = []
    run = run_simulation(SMALL, 0, observe=seen.append)
    assert [outcome.phase.index for outcome in seen] == [phase.index for phase in run.phases]


def test_an_error_of_the_observer_is_not_an_outcome_of_the_run() -> None:
    def fail(_: PhaseOutcome) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run_simulation(SMALL, 0, observe=fail)


def test_uncertified_phases_are_counted_and_still_warned_about(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(PhaseOutcome, "is_certified", False)
    with pytest.warns(UncertifiedPhase) as warned:
        run = run_simulation(SMALL, 0)
    assert run.n_uncertified == len(warned) == len(run.phases) > 0


@dataclass(frozen=True)
class Late(LabelFlip):
    """An adversary that does something else from the second phase on."""

    def corrupt(self, n_rows, view, rng):
        if view.phase > 1:
            self.strike()
        return super().corrupt(n_rows, view, rng)

    def strike(self):
        raise RuntimeError("no more rows")


@dataclass(frozen=True)
class Interrupting(Late):
    def strike(self):
        raise KeyboardInterrupt


@dataclass(frozen=True)
class Slow(Late):
    def strike(self):
        time.sleep(0.2)


def with_adversary(monkeypatch: pytest.MonkeyPatch, adversary: type) -> SimulationSpec:
    monkeypatch.setitem(ADVERSARIES, "special", adversary)
    return replace(SMALL, adversary="special")


def test_an_exception_is_a_recorded_outcome_that_keeps_its_phases(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = run_simulation(with_adversary(monkeypatch, Late), 0)
    assert (run.status, run.message) == ("failed", "RuntimeError: no more rows")
    assert [phase.index for phase in run.phases] == [1]
    assert run.error == run.phases[0].error


def test_a_run_that_fails_at_once_has_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise MemoryError("rows")

    monkeypatch.setattr(MaliciousOracle, "draw", refuse)
    run = run_simulation(SMALL, 0)
    assert (run.status, run.error, run.label_floor, run.phases) == ("failed", None, None, ())
    assert json.loads(json.dumps(run.as_record()))["message"] == "MemoryError: rows"


def test_an_interrupt_is_not_an_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(KeyboardInterrupt):
        run_simulation(with_adversary(monkeypatch, Interrupting), 0)


def test_the_time_of_the_oracle_is_not_the_learners(monkeypatch: pytest.MonkeyPatch) -> None:
    start = time.perf_counter()
    run = run_simulation(with_adversary(monkeypatch, Slow), 0)
    slept = 0.2 * (len(run.phases) - 1)
    assert slept > 0
    assert 0 < run.seconds < time.perf_counter() - start - slept


# -- the observed oracle -----------------------------------------------------------------------


def make_oracle() -> MaliciousOracle:
    return MaliciousOracle(
        distribution=Gaussian(5),
        target=random_target(5, 2, 0),
        noise_rate=0.3,
        adversary=LabelFlip(),
        random_state=0,
    )


def test_the_observed_oracle_changes_nothing() -> None:
    request = DrawRequest(n_rows=50, band=Band(np.zeros(5), np.inf))
    plain, observed = make_oracle(), ObservedOracle(make_oracle())
    expected, draw = plain.draw(request), observed.draw(request)
    np.testing.assert_array_equal(draw.X, expected.X)
    np.testing.assert_array_equal(observed.reveal(draw.ids), plain.reveal(expected.ids))


def test_the_observed_oracle_counts_what_is_dirty() -> None:
    oracle = make_oracle()
    observed = ObservedOracle(oracle)
    draw = observed.draw(DrawRequest(n_rows=50, band=Band(np.zeros(5), np.inf), phase=2))
    observed.reveal(draw.ids[:10])
    is_dirty = ~oracle.is_clean(draw.ids)
    assert observed.dirty_rows(phase=2) == is_dirty.mean()
    assert observed.dirty_labels(phase=2) == is_dirty[:10].mean()
    assert observed.dirty_rows(phase=1) is None


@pytest.mark.parametrize("secret", ["is_clean", "target", "adversary", "error_rate"])
def test_the_observed_oracle_hides_what_the_oracle_knows(secret: str) -> None:
    assert hasattr(make_oracle(), secret)
    assert not hasattr(ObservedOracle(make_oracle()), secret)


# -- methods -----------------------------------------------------------------------------------

RIVAL = replace(SMALL, method="zhang-2018")


def test_a_method_is_recorded_without_phases_but_with_all_counts() -> None:
    run = run_simulation(RIVAL, seed=0)
    assert (run.status, run.phases, run.n_uncertified) == ("finished", (), 0)
    assert 0 < run.n_labels <= 120 and run.n_draws >= run.n_labels and run.seconds > 0
    assert run.error is not None and run.dirty_labels is not None
    assert without_time(run_simulation(RIVAL, seed=0)) == without_time(run)
    assert SimulatedRun.from_record(json.loads(json.dumps(run.as_record()))) == run


def test_a_method_meets_the_same_world_as_thresher(monkeypatch: pytest.MonkeyPatch) -> None:
    worlds = []

    def make_oracle(**world: object) -> MaliciousOracle:
        worlds.append(world)
        return MaliciousOracle(**world)

    monkeypatch.setattr("thresher.experiments.simulation.MaliciousOracle", make_oracle)
    for spec in (RIVAL, SMALL):
        run_simulation(spec, seed=3)
    rng = np.random.default_rng(np.random.SeedSequence(3).spawn(3)[0])
    target = random_target(60, 3, rng)
    assert len(worlds) == 2
    for world in worlds:
        np.testing.assert_array_equal(world["target"], target)
        assert world["adversary"] == SMALL.make_adversary()


def with_method(monkeypatch: pytest.MonkeyPatch, learn: object) -> SimulationSpec:
    method = replace(METHODS["zhang-2018"], name="special", learn=learn)
    monkeypatch.setitem(METHODS, "special", method)
    return replace(SMALL, method="special")


def label_all(source: object, task: object, n_rows: int) -> np.ndarray:
    draw_labeled(source, task, n_rows)
    return np.eye(1, 60)[0]


def test_what_a_method_raises_is_an_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(source, task, _):
        label_all(source, task, 7)
        raise ZeroDivisionError("no rows")

    run = run_simulation(with_method(monkeypatch, fail), 0)
    assert (run.status, run.message) == ("failed", "ZeroDivisionError: no rows")
    assert (run.error, run.label_floor, run.n_labels, run.n_draws) == (None, None, 7, 7)


@pytest.mark.parametrize("answer", [np.full(60, np.nan), np.ones(59), "w", None])
def test_an_answer_that_is_no_halfspace_is_a_failure(
    answer: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_simulation(with_method(monkeypatch, lambda *_: answer), 0)
    assert (run.status, run.error) == ("failed", None)
    assert json.dumps(run.as_record(), allow_nan=False)


def test_a_method_cannot_overspend(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = with_method(monkeypatch, lambda source, task, _: label_all(source, task, 121))
    run = run_simulation(spec, 0)
    assert run.message.startswith("BudgetExceeded: 121 labels are needed") and not run.n_labels


def test_a_label_is_paid_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def ask_twice(source, *_):
        drawn = source.draw(DrawRequest(n_rows=120, band=Band(np.zeros(60), np.inf)))
        source.reveal(drawn.ids)
        source.reveal(drawn.ids)
        return np.eye(1, 60)[0]

    run = run_simulation(with_method(monkeypatch, ask_twice), 0)
    assert (run.status, run.n_labels, run.n_queries) == ("finished", 120, 240)


def test_a_budget_factor_multiplies_the_labels_and_nothing_else() -> None:
    spec = replace(RIVAL, budget_factor=2.5)
    assert spec.task == replace(RIVAL.task, label_budget=300)
    assert spec.label_budget == 120


def test_without_a_budget_a_method_gets_as_many_labels_as_thresher_may_pay() -> None:
    spec = replace(RIVAL, label_budget=None, target_error=0.02)
    wanted = PracticalSchedule().n_labels(replace(spec, method="thresher").task)
    assert spec.task.label_budget == wanted
    assert replace(spec, method="thresher").task.label_budget is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"method": "perceptron"}, "method must be one of thresher, .*zhang-2018"),
        ({"budget_factor": 0}, "budget_factor must be greater than 0"),
        ({"schedule": {"shrink": 0.5}}, "takes no schedule"),
        ({"method": "thresher", "label_budget": None, "budget_factor": 2}, "not given"),
    ],
)
def test_a_learner_that_cannot_be_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(RIVAL, **changes)


def test_records_from_before_there_were_methods_are_read(run: SimulatedRun) -> None:
    record = run.as_record()
    assert "method" not in record["spec"] and "budget_factor" not in record["spec"]
    del record["dirty_labels"]
    assert SimulatedRun.from_record(record) == replace(run, dirty_labels=None)


# -- files -------------------------------------------------------------------------------------


def test_a_file_gives_back_the_runs(run: SimulatedRun, tmp_path) -> None:
    path = tmp_path / "runs.json"
    save_runs(path, [run, run])
    assert load_runs(path) == [run, run]
    assert list(tmp_path.iterdir()) == [path]


def test_a_spec_of_numpy_numbers_can_be_saved(tmp_path) -> None:
    spec = replace(CLEAN, n_features=np.int64(20), noise_rate=np.float64(0.0))
    save_runs(tmp_path / "runs.json", [run_simulation(spec, np.int64(0))])
    assert load_runs(tmp_path / "runs.json")[0].spec == spec


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "other", "version": 1, "runs": []}'])
def test_another_file_is_refused(text: str, tmp_path) -> None:
    path = tmp_path / "runs.json"
    path.write_text(text)
    with pytest.raises(DamagedFile, match=r"runs\.json"):
        load_runs(path)
