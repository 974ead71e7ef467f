"""The arithmetic of the benchmarks; none of them is run here."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from benchmarks.ratio import Ratio, side_by_side
from benchmarks.report import HEADER, machine, table, write_record

COST = Ratio("B1", "removal", ours=3.0, theirs=2.0, bound=4.0, aim=1.5)
SPEEDUP = Ratio("B2", "worst direction", 2.0, 30.0, 10.0, 100.0, True, "converged")


def test_a_cost_is_ours_over_theirs():
    assert COST.ratio == 1.5


def test_a_speedup_is_theirs_over_ours():
    assert SPEEDUP.ratio == 15.0


@pytest.mark.parametrize(("bound", "holds"), [(1.5, True), (1.4, False)])
def test_a_cost_holds_up_to_its_bound(bound, holds):
    assert replace(COST, bound=bound).holds is holds


@pytest.mark.parametrize(("bound", "holds"), [(15.0, True), (15.1, False)])
def test_a_speedup_holds_from_its_bound_on(bound, holds):
    assert replace(SPEEDUP, bound=bound).holds is holds


@pytest.mark.parametrize("higher_is_better", [False, True])
def test_a_ratio_that_is_not_a_number_does_not_hold(higher_is_better):
    assert not Ratio("B", "x", math.nan, 1.0, 1.0, None, higher_is_better).holds
    assert not Ratio("B", "x", 0.0, 0.0, 1.0, None, higher_is_better).holds


def test_a_cost_over_nothing_is_infinite_and_does_not_hold():
    over_nothing = Ratio("B", "x", ours=1.0, theirs=0.0, bound=4.0)
    assert over_nothing.ratio == math.inf
    assert not over_nothing.holds


def test_runs_alternate_after_one_warm_up_each():
    calls: list[str] = []
    side_by_side(lambda: calls.append("ours"), lambda: calls.append("theirs"), 2)
    assert calls == ["ours", "theirs"] * 3


def test_medians_are_of_the_timed_runs_only(monkeypatch):
    now = 0.0
    costs = iter([100, 100, 1, 10, 5, 30, 2, 20])  # both warm-ups, then three pairs

    def spend() -> None:
        nonlocal now
        now += next(costs)

    monkeypatch.setattr("benchmarks.ratio.time.perf_counter", lambda: now)
    assert side_by_side(spend, spend, 3) == (2, 20)


def test_no_repeats_is_refused():
    with pytest.raises(ValueError, match="repeats"):
        side_by_side(lambda: None, lambda: None, 0)


def test_the_columns_of_the_table_are_aligned():
    header, *lines = table([COST, SPEEDUP]).splitlines()
    assert header.split() == list(HEADER)
    start = header.index("holds")
    assert [line[start : start + 3] for line in lines] == ["yes", "yes"]
    ends = {line.index(cell) + len(cell) for line, cell in zip(lines, ("≤ 4", "≥ 10"))}
    assert ends == {header.index("bound") + len("bound")}


def test_a_broken_bound_stands_out_in_the_table():
    broken = Ratio("B1", "removal", ours=9.0, theirs=2.0, bound=4.0)
    assert " NO" in table([broken])


def test_the_record_is_strict_json_even_for_infinite_ratios(tmp_path):
    path = tmp_path / "results" / "latest.json"
    write_record([COST, Ratio("B6", "no answer", math.inf, 1.0, 1.0)], path)
    record = json.loads(path.read_text("utf-8"))
    first, second = record["ratios"]
    assert (first["ratio"], first["holds"]) == (1.5, True)
    assert (second["ratio"], second["holds"]) == (None, False)


def test_the_machine_is_described_without_names_or_paths():
    described = machine()
    assert {"cpu", "cores", "blas", "packages"} <= set(described)
    assert "/" not in json.dumps(described)
