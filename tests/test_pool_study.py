"""The pool study: what is bought by whom, and what the records say about the bars."""

from __future__ import annotations

import importlib
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks import pool_bars, pool_speed, pool_stops, pools
from benchmarks.pool_learners import RULES, first_rows, thresher_states
from benchmarks.pools import ATTACKS, METHODS, PoolRun
from thresher.experiments.arena.run import RecordFile
from thresher.learning.pool_study import POOLS
from thresher.simulate.poisoning import poisoned_split

BUDGETS = [30, 50]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A table of 120 rows, of which 93 make a pool with planted rows: one budget."""
    path = tmp_path_factory.mktemp("tables")
    X = np.random.default_rng(0).normal(size=(120, 3))
    np.savez(path / "tiny.npz", X=X, y=np.where(X[:, 0] > 0.3, 1, -1))
    return str(path)


@pytest.fixture(scope="module")
def split() -> Any:
    X = np.random.default_rng(0).normal(size=(200, 3))
    return poisoned_split(X, np.where(X[:, 0] > 0.3, 1, -1), attack=None, fraction=0.0, seed=0)


def test_everybody_begins_with_the_same_rows(split: Any) -> None:
    first = first_rows(split, 0.05, seed=0)
    assert first.size == np.unique(first).size == 20
    seen: list[int] = []

    class Labels:
        def __getitem__(self, ids: Any) -> Any:
            seen.extend(np.atleast_1d(ids).tolist())
            return split.y[ids]

    spied = type(split)(split.X, Labels(), split.is_planted, split.X_test, split.y_test)
    next(thresher_states(spied, 0.05, 0, BUDGETS))
    assert seen[:20] == first.tolist()


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_has_a_state_at_every_budget(split: Any, rule: str) -> None:
    states = list(RULES[rule].states(split, np.arange(20), 0, BUDGETS))
    assert [state.n_labels for state in states] == BUDGETS
    assert np.mean(states[-1].predicted != split.y_test) < 0.2


def test_margin_sampling_buys_rows_close_to_the_boundary(split: Any) -> None:
    bought: dict[str, Any] = {}
    for name in ("margin-l2", "random"):
        rule = RULES[name]

        def urgency(rows: Any, labeled: Any, *rest: Any, rule: Any = rule, name: str = name) -> Any:
            bought[name] = labeled
            return rule.urgency(rows, labeled, *rest)

        list(type(rule)(rule.model, urgency).states(split, np.arange(20), 0, BUDGETS))
    distance = np.abs(split.X[:, 0] - 0.3)
    near, anywhere = (np.median(distance[bought[name][20:]]) for name in bought)
    assert near < anywhere / 2


def test_sparse_rows_are_taken_as_they_are(split: Any) -> None:
    rows = sp.csr_matrix(split.X)
    rows.indices, rows.indptr = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    twin = type(split)(rows, split.y, split.is_planted, sp.csr_matrix(split.X_test), split.y_test)
    (state,) = RULES["margin-l1"].states(twin, np.arange(20), 0, [30])
    assert np.mean(state.predicted != split.y_test) < 0.2


@pytest.mark.parametrize("method", ["thresher", "random"])
def test_a_record_has_the_error_at_budgets_below_the_size_of_the_pool(
    folder: str, method: str
) -> None:
    record = pools.measure(PoolRun("tiny", 1, "flips", 0.1, method), folder)
    assert record["status"] == "finished", record["message"]
    assert 0 <= record["error_50"] < 0.4 and "error_100" not in record
    assert ("high_50" in record) == (method == "thresher")


def test_a_flood_spoils_half_of_the_first_questions_and_its_share_of_all(folder: str) -> None:
    run, honest = (PoolRun("tiny", 1, attack, 0.2, "thresher") for attack in (pools.FLOOD, "none"))
    flooded, clean = pools.split_of(run, folder), pools.split_of(honest, folder)
    assert np.array_equal(flooded.X, clean.X)
    assert np.array_equal(flooded.is_planted, flooded.y != clean.y)
    assert flooded.is_planted.mean() == pytest.approx(0.2, abs=0.01)
    assert flooded.is_planted[first_rows(flooded, 0.2, 1)].sum() == 10


def test_the_waiting_for_questions_is_measured(
    folder: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = pool_speed.measure(folder, "tiny", n_labels=40)
    assert found.first > 0 and len(found.batches) == 4
    assert found.is_short(60.0) and not found.is_short(0.0)
    monkeypatch.setattr(pool_speed, "BATCH", {"tiny": 60.0})
    assert pool_speed.main(["--data-dir", folder, "--labels", "30"]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("tiny")


def test_a_failure_is_an_outcome(folder: str) -> None:
    record = pools.measure(PoolRun("missing", 1, "none", 0.0, "random"), folder)
    assert record["status"] == "failed" and "missing" in record["message"]


def test_the_study_meets_every_pool_with_every_method() -> None:
    options = Namespace(
        tables=["cina"], attacks=["none", *ATTACKS], methods=METHODS, seeds=None, fraction=0.1
    )
    runs = list(pools.runs_of(options))
    assert len({run.run for run in runs}) == len(runs) == 10 * 8 * 5
    assert {run.fraction for run in runs if run.attack == "none"} == {0.0}


# -- the bars ------------------------------------------------------------------------------------

STUDIES = Path(__file__).parents[1] / "docs" / "studies"
Errors = dict[tuple[str, str], float]
CLEAN = {("none", "thresher"): 0.07, ("none", "margin-l1"): 0.09, ("none", "margin-l2"): 0.07}
HURT = {("far-clump", name): 0.1 for name in ("margin-l1", "margin-l2")}


def write_records(path: Path, errors: Errors, n_seeds: int = 3) -> pool_bars.pd.DataFrame:
    """Runs on spambase with these errors at 400 labels, by attack and method."""
    with RecordFile(path) as file:
        for (attack, method), error in errors.items():
            for seed in range(n_seeds):
                fraction = 0.0 if attack == "none" else 0.1
                run = PoolRun("spambase", seed, attack, fraction, method)
                file.append(pools.record_of(run, "finished", error_400=error + 0.01 * seed))
    return pool_bars.load(path)


def test_the_bars_compare_with_the_best_of_the_margin_methods(tmp_path: Path) -> None:
    frame = write_records(tmp_path / "r.jsonl", {**CLEAN, ("none", "thresher"): 0.071})
    bars = pool_bars.bars_of(frame)
    clean = next(bar for bar in bars if "400 labels" in bar.what)
    assert clean.value == pytest.approx(0.1) and clean.limit == 0.5 and clean.holds
    assert not next(bar for bar in bars if "margin is as good" in bar.what).holds


def test_a_rise_is_compared_with_two_thirds_of_the_rise_of_margin(tmp_path: Path) -> None:
    errors = {**CLEAN, **HURT, ("far-clump", "thresher"): 0.09}
    bars = pool_bars.bars_of(write_records(tmp_path / "r.jsonl", errors))
    rise = next(bar for bar in bars if "rise" in bar.what)
    assert (rise.value, rise.limit) == pytest.approx((2.0, 2.0))


def test_methods_are_compared_on_the_seeds_that_all_of_them_have(tmp_path: Path) -> None:
    write_records(tmp_path / "r.jsonl", CLEAN, n_seeds=2)
    frame = write_records(tmp_path / "r.jsonl", {("none", "thresher"): 0.07}, n_seeds=4)
    cell = pool_bars.cells_of(frame).set_index("method").loc["thresher"]
    assert cell["n_seeds"] == 2 and cell["difference"] == pytest.approx(0.0)
    late = write_records(tmp_path / "r.jsonl", {("none", "committee"): 0.01}, n_seeds=1)
    assert pool_bars.cells_of(late).set_index("method").loc["margin", "error"] > 7


def test_intervals_that_miss_are_counted(tmp_path: Path) -> None:
    with RecordFile(tmp_path / "s.jsonl") as file:
        for seed, error in enumerate((0.05, 0.2)):
            run = pool_stops.StopRun("mdrr", seed, "none", 0.0, "thresher")
            found = pool_stops.exact_interval(2, 40)._asdict() | {"error": error, "n_random": 40}
            file.append(pools.record_of(run, "finished", **found))
    missed, width = pool_stops.bars_of(pool_stops.finished_stops(tmp_path / "s.jsonl"))
    assert missed.value == 50.0 and not missed.is_measured  # of two runs
    assert width.value == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("target", "reason"), [(0.4, "target met"), (None, "pool exhausted")], ids=str
)
def test_a_run_ends_for_its_reason(
    folder: str, target: float | None, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(pool_stops.TARGETS, "tiny", (target, None))
    run = pool_stops.StopRun("tiny", 1, "none", 0.0, "thresher")
    record = pool_stops.measure(run, folder)
    assert record["status"] == "finished", record["message"]
    assert record["reason"] == reason and record["n_random"] >= 20


def test_stops_are_counted_in_200_clean_and_200_poisoned_runs() -> None:
    runs = list(pool_stops.runs_of(None))
    assert sum(run.attack == "none" for run in runs) == 200
    assert len({run.run for run in runs}) == 400


# -- the page ------------------------------------------------------------------------------------


@pytest.fixture
def pools_page(monkeypatch: pytest.MonkeyPatch) -> Any:
    names = ("pools_page", "harm_page", "cells")  # anew: other tests import them as well
    monkeypatch.syspath_prepend(STUDIES)
    for name in names:
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield importlib.import_module("pools_page")
    for name in names:
        sys.modules.pop(name, None)


def page_of(pools_page: Any, folder: Path, errors: Errors, monkeypatch: Any) -> str:
    frame = write_records(folder / "r.jsonl", errors)
    pool_bars.write(frame, pool_bars.bars_of(frame), folder, "a1b2")
    monkeypatch.setattr(sys.modules["cells"], "HERE", folder)
    monkeypatch.setattr(pools_page, "HERE", folder)
    assert len(pools_page.draw(pools_page.read()[0]).axes) == 1
    return pools_page.page(*pools_page.read())


def test_the_page_begins_with_where_thresher_loses(
    tmp_path: Path, pools_page: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    errors = {**CLEAN, **HURT, ("far-clump", "thresher"): 0.19}
    page = page_of(pools_page, tmp_path, errors, monkeypatch)
    assert page.index("loses") < page.index("Where it wins")
    assert "*spambase*, under far-clump, 400 labels: 20.0% against 11.0% of margin." in page
    assert "Not finished: *spambase*, 3 splits: clean, far-clump." in page
    assert "| far-clump | +9.0 ± 0.0 |" in page
    assert "| spambase | `ActiveClassifier` | 8.0 | 3 |" in page


def test_a_page_without_losses_says_so(
    tmp_path: Path, pools_page: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    errors = {**CLEAN, **HURT, ("far-clump", "thresher"): 0.08}
    page = page_of(pools_page, tmp_path, errors, monkeypatch)
    assert "In no cell is it behind margin" in page
    assert "1 of 1 poisoned cells, on average by −2.0 points" in page


def test_further_rivals_have_a_table_of_their_own(
    tmp_path: Path, pools_page: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    errors = {**CLEAN, **HURT, ("far-clump", "thresher"): 0.08}
    assert "Further rivals" not in page_of(pools_page, tmp_path, errors, monkeypatch)
    write_records(tmp_path / "p.jsonl", {**CLEAN, ("none", "random"): 0.2}, n_seeds=2)
    files = [str(tmp_path / name) for name in ("r.jsonl", "p.jsonl")]
    pool_bars.main([files[0], "--peers", files[1], "--studies", str(tmp_path)])
    page = pools_page.page(*pools_page.read())
    assert "| spambase, clean | random, L2 | 20.5 | 2 |" in page
    assert "| spambase, clean | margin, the best in the cell | 7.5 | 2 |" in page


def test_the_page_is_what_its_cells_say(pools_page: Any) -> None:
    assert pools_page.PAGE.read_text(encoding="utf-8") == pools_page.page(*pools_page.read())


def test_the_plan_knows_what_the_page_says(pools_page: Any) -> None:
    cells = pools_page.read()[0]
    for pool in POOLS:
        own = [c for c in cells if (c["table"], c["method"]) == (pool.name, "thresher")]
        clean = [c for c in own if c["attack"] == "none"]
        assert pool.clean == tuple(round(float(c["error"]), 1) for c in clean)
        attacked = [c for c in own if c["attack"] != "none"]
        if {c["attack"] for c in attacked} == set(ATTACKS):
            groups = [[c for c in attacked if c["budget"] == b["budget"]] for b in clean]
            assert pool.planted == tuple(
                round(pools_page.mean(group, "error"), 1) for group in groups
            )
        else:
            assert pool.planted == ()
