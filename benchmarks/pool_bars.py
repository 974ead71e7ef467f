"""What the records of the pool study say: the mean error of every cell, and the bars.

    python -m benchmarks.pool_bars records.jsonl

Errors are in points (percent). "margin" is the best of margin sampling with L1 and with L2 logistic
regression and of query by committee, in every cell by its mean. A rise is the mean error under an
attack less that on the clean table.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from benchmarks.harm_bars import Bar, shown
from benchmarks.pool_learners import RULES
from benchmarks.pools import ATTACKS, BUDGETS
from thresher.experiments.arena.run import latest_records, read_records
from thresher.experiments.spec import NO_ADVERSARY, THRESHER

MARGIN = ("margin-l1", "margin-l2", "committee")
FLIPS = ("flips", "one-sided-flips")
RISES = ("far-clump", "on-support-tilt", "linf-hijack")
RISE_TABLES, RISE_BUDGETS = ("spambase", "cina", "mnist_1v7"), (400, 800)
SMALL_TABLE, FEWEST = "mdrr", 100
LEAST_COVERAGE = 90.0
CELL = ["table", "attack", "fraction", "budget"]


def load(path: str | Path) -> pd.DataFrame:
    """One line for each finished run and budget, errors in points."""
    lines = []
    for record in latest_records(read_records(path)).values():
        for budget in BUDGETS:
            if f"error_{budget}" in record:
                found = {name: record.get(f"{name}_{budget}") for name in ("low", "high")}
                same = {name: record[name] for name in (*CELL[:3], "seed", "method")}
                error = 100 * record[f"error_{budget}"]
                lines.append({**same, **found, "budget": budget, "error": error})
    return pd.DataFrame(lines)


def cells_of(frame: pd.DataFrame) -> pd.DataFrame:
    """The mean error of each method in every cell, and the number of seeds."""
    order = [name for name in (THRESHER, *RULES) if name in set(frame["method"])]
    cells = frame.pivot_table(index=CELL, columns="method", values="error", sort=False)[order]
    known = [name for name in MARGIN if name in order]
    cells["margin"] = cells[known].min(axis=1) if known else math.nan
    cells["n_seeds"] = frame[frame["method"] == THRESHER].groupby(CELL)["seed"].nunique()
    return cells


def standard_error(frame: pd.DataFrame, cell: pd.Series) -> float:
    """That of Thresher's mean difference to the best of the margin methods, over the seeds."""
    means = frame.groupby("method")["error"].mean()
    best = means[[name for name in MARGIN if name in means]].idxmin()
    errors = frame.pivot_table(index="seed", columns="method", values="error")
    difference = (errors[THRESHER] - errors[best]).dropna()
    return float(difference.std(ddof=1) / math.sqrt(len(difference))) if len(cell) > 1 else 0.0


def bars_of(frame: pd.DataFrame) -> list[Bar]:
    """The bars L1 to L3, as far as they were measured."""
    cells = cells_of(frame).dropna(subset=[THRESHER, "margin"])
    return [*_clean(frame, cells), *_attacked(cells), *_coverage(frame)]


def _clean(frame: pd.DataFrame, cells: pd.DataFrame) -> Iterator[Bar]:
    n_lower = n_cells = 0
    for key, cell in cells.iterrows():
        table, attack, _, budget = key
        if attack != NO_ADVERSARY:
            continue
        own = frame[(frame[CELL] == list(key)).all(axis=1)]
        limit = 1.5 if table == SMALL_TABLE else 1.0 if budget <= FEWEST else 0.5
        difference = cell[THRESHER] - cell["margin"]
        n_lower, n_cells = n_lower + (difference < 0), n_cells + 1
        error = standard_error(own, own["seed"])
        yield Bar("L1", table, f"clean, {budget} labels, above margin", difference, limit, error)
    if n_cells:
        share = 100 * (1 - n_lower / n_cells)
        yield Bar("L1", "all", "cells in which margin is as good or better, %", share, 50.0)


def _attacked(cells: pd.DataFrame) -> Iterator[Bar]:
    attacked = cells.drop(NO_ADVERSARY, level="attack", errors="ignore")
    known = attacked[attacked.index.get_level_values("budget") >= FEWEST]
    for (table, budget), group in known.groupby(["table", "budget"], sort=False):
        names = set(group.index.get_level_values("attack"))
        said = f"{len(names)} attacks, {budget} labels, above margin"
        difference = float((group[THRESHER] - group["margin"]).mean())
        yield Bar("L2", str(table), said, difference, 0.0 if names == set(ATTACKS) else math.nan)
    for key, cell in attacked.iterrows():
        table, attack, _, budget = key
        if attack in FLIPS and budget >= FEWEST:
            difference = cell[THRESHER] - cell["margin"]
            yield Bar("L2", table, f"{attack}, {budget} labels, above margin", difference, 0.5)
        clean = (table, NO_ADVERSARY, 0.0, budget)
        is_asked = attack in RISES and table in RISE_TABLES and budget in RISE_BUDGETS
        if is_asked and clean in cells.index:
            ours, theirs = (cell[m] - cells.loc[clean, m] for m in (THRESHER, "margin"))
            said = f"{attack}, {budget} labels, rise (2/3 of margin's)"
            yield Bar("L2", table, said, ours, 2 / 3 * theirs)


def _coverage(frame: pd.DataFrame) -> Iterator[Bar]:
    ours = frame[(frame["method"] == THRESHER) & frame["high"].notna()]
    for attack, group in ours.groupby(ours["attack"] == NO_ADVERSARY):
        holds = group["error"].between(100 * group["low"], 100 * group["high"])
        said = f"{'clean' if attack else 'poisoned'}: intervals that miss, % of {len(group)}"
        yield Bar("L3", "all", said, 100 * (1 - float(holds.mean())), 100 - LEAST_COVERAGE)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the cells and the bars; 0 if all that were measured are kept, else 1."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.pool_bars",
        description="Mean errors of the pool study, and which bars are kept.",
        epilog="example: python -m benchmarks.pool_bars pools.jsonl",
    )
    parser.add_argument("records", type=Path, help="file that benchmarks.pools has written")
    frame = load(parser.parse_args(argv).records)
    print(cells_of(frame).round(2).reset_index().to_string(index=False))
    bars = bars_of(frame)
    print(shown(bars))
    return 0 if all(bar.holds for bar in bars if bar.is_measured) else 1


if __name__ == "__main__":
    sys.exit(main())
