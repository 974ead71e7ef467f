"""The CSV file of an arena's cells says what its records say."""

from __future__ import annotations

import csv
import statistics
from pathlib import Path

from thresher.experiments import SimulationSpec
from thresher.experiments.arena.cell_file import COLUMNS, save_cells
from thresher.experiments.arena.run import Run
from thresher.experiments.arena.standings import Standings
from thresher.experiments.arena.sweep import Sweep

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


def record(spec: SimulationSpec, seed: int, error: float) -> dict[str, object]:
    died = Run("thresher", spec, seed).unfinished("died", "", 1.0)
    numbers = {"error": error, "n_labels": 20 + seed, "n_uncertified": seed}
    return {**died, "status": "finished", **numbers, "arena": "tiny"}


def rows_of(tmp_path: Path) -> list[dict[str, str]]:
    sweep = Sweep.from_text(TEXT, name="tiny")
    spec = sweep.entries[0][1]
    records = [record(spec, seed, error) for seed, error in enumerate(ERRORS)]
    records.append(record(spec, 7, 0.4))
    save_cells([Standings.of("tiny", sweep, records)], tmp_path / "cells.csv")
    with (tmp_path / "cells.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_cell_is_a_line_with_its_names(tmp_path: Path) -> None:
    row = rows_of(tmp_path)[-1]
    assert tuple(row) == COLUMNS
    assert (row["arena"], row["learner"], row["n_features"]) == ("tiny", "thresher", "9")
    assert row["label_budget"] == "20"


def test_numbers_are_those_of_the_records(tmp_path: Path) -> None:
    row = rows_of(tmp_path)[-1]
    assert float(row["median_error"]) == statistics.median(ERRORS)
    assert (row["n_runs"], row["n_finished"], row["n_at_target"]) == ("3", "3", "2")
    assert float(row["n_labels"]) == 21


def test_uncertified_phases_are_added_up_over_the_seeds(tmp_path: Path) -> None:
    assert [row["n_uncertified"] for row in rows_of(tmp_path)] == ["7", "3"]  # pilot, counted


def test_the_floor_of_the_noise_rate_has_a_column(tmp_path: Path) -> None:
    attack = {"noise_rate": 0.2, "adversary": "label-flip"}
    spec = SimulationSpec(n_features=9, sparsity=2, **attack)
    save_cells([Standings.of("tiny", None, [record(spec, 0, 0.3)])], tmp_path / "cells.csv")
    with (tmp_path / "cells.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert float(row["error_floor"]) == 0.2 / (2 * 0.8)


def test_pilot_seeds_have_lines_of_their_own(tmp_path: Path) -> None:
    pilot, counted = rows_of(tmp_path)
    assert (pilot["seeds"], counted["seeds"]) == ("pilot", "counted")
    assert float(pilot["median_error"]) == 0.4
