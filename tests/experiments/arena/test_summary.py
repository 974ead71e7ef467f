"""Cells: which runs belong together, and which strength is the worst."""

from __future__ import annotations

from dataclasses import replace

import pytest

from experiments.arena.arenas import SMALL
from thresher.experiments import SimulationSpec
from thresher.experiments.arena.run import FlatRecord, Run
from thresher.experiments.arena.standings import Standings
from thresher.experiments.arena.summary import cell_key, cells_of, error_of, worst_strengths

ATTACKED = replace(SMALL, noise_rate=0.1, adversary="in-band-mass")
ENTRIES = [
    (learner, replace(ATTACKED, strength=strength, noise_rate=rate))
    for learner in ("a", "b")
    for rate in (0.1, 0.2)
    for strength in (1.0, 2.0, 3.0)
]


def record(
    learner: str = "a", *, seed: int = 0, error: float | None = 0.1, **spec: object
) -> FlatRecord:
    """A record as a run would leave it; without an error, as a run that died."""
    trial = Run(learner, replace(ATTACKED, **spec), seed)
    status = "finished" if error is not None else "died"
    return {**trial.unfinished("died", "", 1.0), "status": status, "error": error}


def test_runs_that_differ_in_the_seed_are_one_cell() -> None:
    (cell,) = cells_of([record(seed=seed, error=seed / 10) for seed in range(3)])
    assert cell.errors == [0.0, 0.1, 0.2]
    assert cell.median_error == pytest.approx(0.1)
    assert cell.quantile(1.0) == pytest.approx(0.2)


@pytest.mark.parametrize(
    "other",
    [
        record("b"),
        record(strength=2.0),
        record(noise_rate=0.2),
        record(label_budget=41),
        record(schedule={}),
        record(schedule={**SMALL.schedule, "shrink": 0.5}),
    ],
)
def test_whatever_else_differs_is_another_cell(other: FlatRecord) -> None:
    assert len(cells_of([record(), other])) == 2


def test_cells_come_in_the_order_of_their_first_records() -> None:
    cells = cells_of([record("b"), record("a"), record("b", seed=1)])
    assert [(cell.key["learner"], len(cell.records)) for cell in cells] == [("b", 2), ("a", 1)]


def test_of_two_records_of_a_run_the_last_counts() -> None:
    (cell,) = cells_of([record(error=None), record(error=0.2)])
    assert (cell.errors, cell.n_finished) == ([0.2], 1)


def test_a_run_that_did_not_finish_counts_as_guessing() -> None:
    assert error_of(record(error=None)) == 0.5
    assert error_of({**record(error=0.01), "status": "failed"}) == 0.5


def test_a_median_leaves_out_the_runs_without_the_number() -> None:
    (cell,) = cells_of([{**record(seed=s), "n_labels": n} for s, n in enumerate((None, 4, 8))])
    assert cell.median("n_labels") == 6
    assert cell.median("nothing") is None


def test_a_record_and_its_trial_have_the_same_key() -> None:
    assert cell_key(Run("a", ATTACKED, 7).flat()) == cell_key(record(seed=1))


def test_the_worst_strength_is_chosen_for_each_learner_and_world() -> None:
    worst = {("a", 0.1): 1.0, ("a", 0.2): 2.0, ("b", 0.1): 3.0, ("b", 0.2): 2.0}
    records = [
        record(
            name,
            seed=seed,
            strength=spec.strength,
            noise_rate=spec.noise_rate,
            error=0.3 if spec.strength == worst[name, spec.noise_rate] else 0.1,
        )
        for name, spec in ENTRIES
        for seed in (0, 1)
    ]
    chosen = worst_strengths(ENTRIES, records)
    assert {(name, spec.noise_rate): spec.strength for name, spec in chosen} == worst


def test_a_strength_that_breaks_a_learner_is_its_worst() -> None:
    entries = ENTRIES[:3]
    records = [record(strength=1.0, error=0.3), record(strength=3.0, error=None)]
    assert [spec.strength for _, spec in worst_strengths(entries, records)] == [3.0]


def test_of_equal_strengths_the_first_is_taken() -> None:
    records = [record(strength=strength, error=0.2) for strength in (3.0, 2.0, 1.0)]
    assert [spec.strength for _, spec in worst_strengths(ENTRIES[:3], records)] == [1.0]


def test_without_records_the_first_strength_is_taken() -> None:
    assert [spec.strength for _, spec in worst_strengths(ENTRIES, [])] == [1.0] * 4


# -- methods -----------------------------------------------------------------------------------


def test_a_method_stands_in_the_same_world_as_thresher_whatever_its_labels() -> None:
    spec = SimulationSpec(n_features=20, sparsity=2, label_budget=50)
    rival = replace(spec, method="zhang-2018", budget_factor=10.0)
    trials = [Run("thresher", spec, 0), Run("zhang-2018", rival, 0)]
    records = [trial.unfinished("died", "", 0.0) for trial in trials]
    standings = Standings.of("all", None, [{**record, "arena": "all"} for record in records])
    (world,) = standings.worlds
    assert [standings.name_learner(cell) for cell in world.worst] == ["thresher", "zhang-2018"]


def test_learners_of_one_name_are_told_apart_by_method_and_labels() -> None:
    spec = SimulationSpec(n_features=20, sparsity=2, label_budget=50)
    rival = replace(spec, method="zhang-2018", budget_factor=10.0)
    records = [Run("one", each, 0).unfinished("died", "", 0.0) for each in (spec, rival)]
    standings = Standings.of("all", None, [{**record, "arena": "all"} for record in records])
    names = [standings.name_learner(cell) for cell in standings.worlds[0].worst]
    assert names == ["one (defaults)", "one (method zhang-2018, budget_factor 10.0)"]


def test_a_record_from_before_there_were_methods_is_one_of_threshers() -> None:
    record = Run("thresher", SimulationSpec(n_features=20, sparsity=2), 0).flat()
    assert "method" not in record
    assert cell_key(record)["method"] == "thresher" and cell_key(record)["budget_factor"] == 1
