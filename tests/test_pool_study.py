"""The pool study: what is bought by whom, and what the records say about the bars."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks import pool_bars, pools
from benchmarks.harm import Limits
from benchmarks.pool_learners import RULES, first_rows, thresher_states
from benchmarks.pools import ATTACKS, METHODS, PoolRun
from thresher.experiments.arena.run import RecordFile
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
    record = pools.measure(PoolRun("tiny", 1, "flips", 0.1, method), folder, Limits())
    assert record["status"] == "finished", record["message"]
    assert 0 <= record["error_50"] < 0.4 and "error_100" not in record
    assert ("high_50" in record) == (method == "thresher")


def test_a_flood_spoils_half_of_the_first_questions_and_its_share_of_all(folder: str) -> None:
    run, honest = (PoolRun("tiny", 1, attack, 0.2, "thresher") for attack in (pools.FLOOD, "none"))
    flooded, clean = pools._split(run, folder), pools._split(honest, folder)
    assert np.array_equal(flooded.X, clean.X)
    assert np.array_equal(flooded.is_planted, flooded.y != clean.y)
    assert flooded.is_planted.mean() == pytest.approx(0.2, abs=0.01)
    assert flooded.is_planted[first_rows(flooded, 0.2, 1)].sum() == 10


def test_a_failure_is_an_outcome(folder: str) -> None:
    record = pools.measure(PoolRun("missing", 1, "none", 0.0, "random"), folder, Limits())
    assert record["status"] == "failed" and "missing" in record["message"]


def test_the_study_meets_every_pool_with_every_method() -> None:
    options = Namespace(
        tables=["cina"], attacks=["none", *ATTACKS], methods=METHODS, seeds=None, fraction=0.1
    )
    runs = list(pools.runs_of(options))
    assert len({run.run for run in runs}) == len(runs) == 10 * 8 * 5
    assert {run.fraction for run in runs if run.attack == "none"} == {0.0}


# -- the bars ------------------------------------------------------------------------------------


def write_records(path: Path, errors: dict[tuple[str, str], float]) -> pool_bars.pd.DataFrame:
    """Three seeds of runs on spambase with these errors at 400 labels, by attack and method."""
    with RecordFile(path) as file:
        for (attack, method), error in errors.items():
            for seed in range(3):
                fraction = 0.0 if attack == "none" else 0.1
                run = PoolRun("spambase", seed, attack, fraction, method)
                outcome = {"error_400": error, "low_400": 0.0, "high_400": 0.1}
                outcome = outcome if method == "thresher" else {"error_400": error}
                file.append(pools.record_of(run, "finished", **outcome))
    return pool_bars.load(path)


def test_the_bars_compare_with_the_best_of_the_margin_methods(tmp_path: Path) -> None:
    errors = {("none", "thresher"): 0.071, ("none", "margin-l1"): 0.09, ("none", "margin-l2"): 0.07}
    bars = pool_bars.bars_of(write_records(tmp_path / "r.jsonl", errors))
    clean = next(bar for bar in bars if "400 labels" in bar.what)
    assert clean.value == pytest.approx(0.1) and clean.limit == 0.5 and clean.holds
    assert not next(bar for bar in bars if "margin is as good" in bar.what).holds


def test_a_rise_is_compared_with_two_thirds_of_the_rise_of_margin(tmp_path: Path) -> None:
    errors = {
        ("none", "thresher"): 0.07,
        ("none", "margin-l2"): 0.07,
        ("far-clump", "thresher"): 0.09,
        ("far-clump", "margin-l2"): 0.10,
    }
    bars = pool_bars.bars_of(write_records(tmp_path / "r.jsonl", errors))
    rise = next(bar for bar in bars if "rise" in bar.what)
    assert (rise.value, rise.limit) == pytest.approx((2.0, 2.0))


def test_intervals_that_miss_are_counted(tmp_path: Path) -> None:
    errors = {("none", "thresher"): 0.11, ("none", "margin-l2"): 0.07}
    bars = pool_bars.bars_of(write_records(tmp_path / "r.jsonl", errors))
    assert next(bar for bar in bars if bar.bar == "L3").value == 100.0
