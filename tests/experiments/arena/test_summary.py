"""Summaries: which runs belong together, what they say, and which strength is the worst."""

from __future__ import annotations

import csv
import statistics
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.arena.arenas import SMALL
from thresher.errors import ThresherError
from thresher.experiments import SimulationSpec
from thresher.experiments.arena import Run, Sweep
from thresher.experiments.arena.run import FlatRecord
from thresher.experiments.arena.summary import (
    CSV_COLUMNS,
    Summary,
    frame_of,
    save_csv,
    summarize,
    worst_strengths,
)

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
    run = Run(learner, replace(ATTACKED, **spec), seed)
    status = "finished" if error is not None else "died"
    return {**run.unfinished("died", "", 1.0), "status": status, "error": error}


def cells_of(*records: FlatRecord) -> list[dict]:
    return summarize(frame_of(records)).to_dict("records")


# -- cells -------------------------------------------------------------------------------------


def test_runs_that_differ_in_the_seed_are_one_cell() -> None:
    (cell,) = cells_of(*(record(seed=seed, error=seed / 10) for seed in range(3)))
    assert cell["n_runs"] == 3
    assert cell["median_error"] == pytest.approx(0.1)
    assert (cell["error_10"], cell["error_90"]) == pytest.approx((0.02, 0.18))


def test_a_damaged_digest_is_shown_as_it_is() -> None:
    (cell,) = cells_of({**record(), "version.source": False})
    assert cell["source"] == "False"


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
    assert len(cells_of(record(), other)) == 2


def test_cells_come_in_the_order_of_their_first_records() -> None:
    cells = cells_of(record("b"), record("a"), record("b", seed=1))
    assert [(cell["learner"], cell["n_runs"]) for cell in cells] == [("b", 2), ("a", 1)]


def test_of_two_records_of_a_run_the_last_counts() -> None:
    (cell,) = cells_of(record(error=None), record(error=0.2))
    assert (cell["median_error"], cell["n_runs"], cell["n_finished"]) == (0.2, 1, 1)


def test_a_run_that_did_not_finish_counts_as_guessing() -> None:
    errors = frame_of([record(error=None), {**record(seed=1, error=0.01), "status": "failed"}])
    assert errors["error"].tolist() == [0.5, 0.5]


def test_a_median_leaves_out_the_runs_without_the_number() -> None:
    (cell,) = cells_of(*({**record(seed=s), "n_labels": n} for s, n in enumerate((None, 4, 8))))
    assert cell["n_labels"] == 6


def test_values_keep_their_types_beside_values_that_are_missing() -> None:
    budgets = [cell["label_budget"] for cell in cells_of(record(), record(label_budget=None))]
    assert budgets == [40, None]
    assert isinstance(budgets[0], int)


# -- the worst strength ------------------------------------------------------------------------


def choose(entries: list, *records: FlatRecord) -> list:
    """The entries that pilot seeds 0 and 1 with these records speak for."""
    pilot = [Run(name, spec, seed) for seed in (0, 1) for name, spec in entries]
    return worst_strengths(entries, pilot, {r["run"]: r for r in records})


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
    chosen = choose(ENTRIES, *records)
    assert {(name, spec.noise_rate): spec.strength for name, spec in chosen} == worst


def test_a_strength_that_breaks_a_learner_is_its_worst() -> None:
    records = [record(strength=1.0, error=0.3), record(strength=3.0, error=None)]
    assert [spec.strength for _, spec in choose(ENTRIES[:3], *records)] == [3.0]


def test_of_equal_strengths_the_first_is_taken() -> None:
    records = [record(strength=strength, error=0.2) for strength in (3.0, 2.0, 1.0)]
    assert [spec.strength for _, spec in choose(ENTRIES[:3], *records)] == [1.0]


def test_without_records_the_first_strength_is_taken() -> None:
    assert [spec.strength for _, spec in choose(ENTRIES)] == [1.0] * 4


# -- learners ----------------------------------------------------------------------------------

SPEC = SimulationSpec(n_features=20, sparsity=2, label_budget=50)
RIVAL = replace(SPEC, method="zhang-2018", budget_factor=10.0)


def names(*runs: Run) -> list[str]:
    """What the learners are called, which all stand in one world."""
    records = [{**run.unfinished("died", "", 0.0), "arena": "all"} for run in runs]
    worst = Summary.of("all", None, records).worst
    assert worst["world"].nunique() == 1
    return worst["name"].tolist()


def test_a_method_stands_in_the_same_world_as_thresher_whatever_its_labels() -> None:
    runs = Run("thresher", SPEC, 0), Run("zhang-2018", RIVAL, 0)
    assert names(*runs) == ["thresher", "zhang-2018"]


def test_learners_of_one_name_are_told_apart_by_method_and_labels() -> None:
    runs = Run("one", SPEC, 0), Run("one", RIVAL, 0)
    assert names(*runs) == ["one (defaults)", "one (method zhang-2018, budget_factor 10.0)"]


def test_a_record_from_before_there_were_methods_is_one_of_threshers() -> None:
    old = record()
    assert "method" not in old
    (cell,) = cells_of(old)
    assert (cell["method"], cell["budget_factor"]) == ("thresher", 1.0)


# -- the CSV file ------------------------------------------------------------------------------

TEXT = """
seeds = "0-2"
pilot_seeds = "7-7"
[[worlds]]
n_features = 9
sparsity = 2
target_error = 0.1
label_budget = [20, 40]
"""
ERRORS = [0.05, 0.2, 0.1]


def measured(spec: SimulationSpec, seed: int, error: float) -> FlatRecord:
    died = Run("thresher", spec, seed).unfinished("died", "", 1.0)
    numbers = {"error": error, "n_labels": 20 + seed, "n_uncertified": seed}
    return {**died, "status": "finished", **numbers, "arena": "tiny"}


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def rows(tmp_path: Path) -> list[dict[str, str]]:
    """The lines about one cell: pilot and counted seeds."""
    sweep = Sweep.from_text(TEXT, name="tiny")
    spec = sweep.entries[0][1]
    records = [measured(spec, seed, error) for seed, error in enumerate(ERRORS)]
    records.append(measured(spec, 7, 0.4))
    save_csv([Summary.of("tiny", sweep, records)], tmp_path / "cells.csv")
    return read(tmp_path / "cells.csv")


def test_a_cell_is_a_line_with_its_names(rows: list[dict[str, str]]) -> None:
    row = rows[-1]
    assert tuple(row) == CSV_COLUMNS
    assert (row["arena"], row["learner"], row["n_features"]) == ("tiny", "thresher", "9")
    assert (row["label_budget"], row["strength"]) == ("20", "")


def test_numbers_are_those_of_the_records(rows: list[dict[str, str]]) -> None:
    row = rows[-1]
    assert float(row["median_error"]) == statistics.median(ERRORS)
    assert (row["n_runs"], row["n_finished"], row["n_at_target"]) == ("3", "3", "2")
    assert float(row["n_labels"]) == 21


def test_uncertified_phases_are_added_up_over_the_seeds(rows: list[dict[str, str]]) -> None:
    assert [row["n_uncertified"] for row in rows] == ["7", "3"]  # pilot, counted


def test_pilot_seeds_have_lines_of_their_own(rows: list[dict[str, str]]) -> None:
    pilot, counted = rows
    assert (pilot["seeds"], counted["seeds"]) == ("pilot", "counted")
    assert float(pilot["median_error"]) == 0.4


def test_the_floor_of_the_noise_rate_has_a_column(tmp_path: Path) -> None:
    attack = {"noise_rate": 0.2, "adversary": "label-flip"}
    spec = SimulationSpec(n_features=9, sparsity=2, **attack)
    save_csv([Summary.of("tiny", None, [measured(spec, 0, 0.3)])], tmp_path / "cells.csv")
    (row,) = read(tmp_path / "cells.csv")
    assert float(row["error_floor"]) == 0.2 / (2 * 0.8)


# -- without pandas ----------------------------------------------------------------------------


def test_without_pandas_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    monkeypatch.delitem(sys.modules, "thresher.experiments.arena.summary")
    with pytest.raises(ThresherError, match=r'pip install "thresher\[lab\]"'):
        import thresher.experiments.arena.summary  # noqa: F401
