"""Tables that line up and tell everything, and the picture beside them."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from thresher.experiments import SimulatedRun, SimulationSpec, run_simulation
from thresher.experiments.simulation_output import describe_phases, describe_seeds, describe_spec
from thresher.rendering.text import Column, format_columns, rate

SPEC = SimulationSpec(
    n_features=60, sparsity=3, noise_rate=0.1, adversary="far-clump", label_budget=120
)


@pytest.fixture(scope="module")
def run() -> SimulatedRun:
    return run_simulation(SPEC, seed=7)


def failed(run: SimulatedRun) -> SimulatedRun:
    message = "RuntimeError: first\nsecond"
    return replace(run, seed=8, status="failed", message=message, phases=run.phases[:1])


def words_that_end_apart(lines: list[str]) -> set[int]:
    """The places where a word of one line ends and no word of some other line does."""
    ends = [{word.end() for word in re.finditer(r"\S+", line)} for line in lines]
    return set().union(*ends) - set.intersection(*ends)


def test_the_comparison_finds_a_line_that_is_off() -> None:
    assert words_that_end_apart(["  1   20", "100    3"]) == set()
    assert words_that_end_apart(["1     20", "100    3"]) == {1, 3}


@pytest.mark.parametrize("part", [0, 1])
def test_numbers_of_one_column_end_at_the_same_place(run: SimulatedRun, part: int) -> None:
    table = describe_phases(run).split("\n\n")[1 + part]
    rows = table.splitlines()[2:]
    assert len(rows) == len(run.phases)
    numbers = [re.sub("tightest|converged| to ", lambda m: "." * len(m[0]), row) for row in rows]
    assert words_that_end_apart(numbers) == set()


def test_no_table_is_wider_than_a_terminal(run: SimulatedRun) -> None:
    text = "\n".join([describe_spec(SPEC), describe_phases(run), describe_seeds([run, run])])
    assert max(map(len, text.splitlines())) <= 80


def test_words_begin_at_the_same_place_and_lines_have_no_blank_at_the_end() -> None:
    text = format_columns([Column("n", ["1", "100"]), Column("word", ["a", "abc"], "<")])
    assert text.splitlines() == ["  n  word", "  1  a", "100  abc"]


def test_a_phase_tells_what_only_the_laboratory_knows(run: SimulatedRun) -> None:
    first = run.phases[0]
    row = describe_phases(run).split("\n\n")[1].splitlines()[2].split()
    assert row[:2] == ["1", "all"]
    shares = (first.dirty_rows, first.dirty_weight, first.dirty_labels)
    assert row[-3:] == [f"{share:.1%}" for share in shares]


def test_the_summary_has_the_quantiles_of_the_error(run: SimulatedRun) -> None:
    runs = [replace(run, error=error) for error in (0.01, 0.02, 0.03, 0.04, 0.08)]
    row = next(line for line in describe_seeds(runs).splitlines() if line.startswith("error"))
    assert row.split() == ["error", "0.0100", "0.0200", "0.0300", "0.0400", "0.0800"]


def test_a_single_seed_has_no_quantiles(run: SimulatedRun) -> None:
    text = describe_seeds([run])
    assert "median  " not in text
    assert "seed 7" in text


def test_the_floor_stands_beside_the_error(run: SimulatedRun) -> None:
    assert f"error floor         {0.1 / 1.8:.4f}" in describe_seeds([run])


def test_uncertified_phases_are_counted(run: SimulatedRun) -> None:
    text = describe_seeds([replace(run, n_uncertified=2), run])
    assert f"uncertified phases  2 of {2 * len(run.phases)}" in text


def test_a_failed_seed_is_told_with_its_reason_and_left_out_of_the_quantiles(
    run: SimulatedRun,
) -> None:
    text = describe_seeds([run, failed(run)])
    assert "1 of 2 seeds finished" in text
    assert "seed 8 failed       RuntimeError: first second" in text


def test_seeds_that_all_failed_still_give_a_summary(run: SimulatedRun) -> None:
    nothing = replace(failed(run), phases=(), error=None, label_floor=None)
    assert "0 of 1 seeds finished" in describe_seeds([nothing])
    assert "no phase finished" in describe_phases(nothing)


def test_the_target_is_reached_by_those_at_or_below_it(run: SimulatedRun) -> None:
    spec = replace(SPEC, target_error=0.05)
    runs = [replace(run, spec=spec, error=error) for error in (0.01, 0.05, 0.06)]
    assert "reached by 2 of 3 seeds" in describe_seeds(runs)


def test_the_assumed_noise_rate_is_shown_only_if_it_is_not_the_truth() -> None:
    assert "assumes" not in describe_spec(SPEC)
    assert "the learner assumes 0.2" in describe_spec(replace(SPEC, told_noise_rate=0.2))


@pytest.mark.parametrize("error", [0.3, 0.0123, 0.00049, 3e-9, 0.0])
def test_a_written_rate_keeps_two_digits(error: float) -> None:
    assert float(rate(error)) == pytest.approx(error, rel=0.05)


# -- the figure --------------------------------------------------------------------------------


@pytest.fixture
def draw_runs():
    pytest.importorskip("matplotlib")
    from thresher.experiments.simulation_output import draw_runs

    return draw_runs


def test_the_figure_is_drawn_from_records_alone(run, draw_runs, tmp_path) -> None:
    again = SimulatedRun.from_record(run.as_record())
    draw_runs([again, failed(again)], tmp_path / "runs.png")
    assert (tmp_path / "runs.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.filterwarnings("error")
def test_a_figure_of_failures_and_of_zero_errors_is_drawn(run, draw_runs, tmp_path) -> None:
    nothing = replace(failed(run), phases=(), error=None)
    perfect = replace(run, phases=tuple(replace(phase, error=0.0) for phase in run.phases))
    for name, runs in {"nothing": [nothing], "both": [nothing, perfect]}.items():
        draw_runs(runs, tmp_path / f"{name}.png")
        assert (tmp_path / f"{name}.png").stat().st_size > 0


def test_runs_of_different_lengths_keep_their_last_error() -> None:
    pytest.importorskip("matplotlib")
    from thresher.experiments.simulation_output import carried_forward, median_by_phase

    table = np.array([[0.3, 0.1, 0.05], [0.2, 0.15, np.nan]])
    np.testing.assert_allclose(median_by_phase(carried_forward(table)), [0.25, 0.125, 0.1])
