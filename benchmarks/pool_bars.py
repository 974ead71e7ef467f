"""What the records of the pool study say: the mean error of every cell, and the bars.

    python -m benchmarks.pool_bars records.jsonl [--stops stops.jsonl] [--audits audits.jsonl]
        [--peers peers.jsonl] [--studies docs/studies]

With --studies, the cells and the bars are also written there; `python docs/studies/studies.py` then
makes the page. --stops takes the records of `benchmarks.pool_stops`, --audits those of
`benchmarks.pools` with other shares of random labels, --peers those with further rivals.

Errors are in points (percent). "margin" is the best of margin sampling with L1 and with L2 logistic
regression and of query by committee, in every cell by its mean. Methods are compared on the seeds
that all of those measured have. A rise is the mean error under an attack less that on the clean
pools of the same seeds.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import pandas as pd

from benchmarks.harm_bars import Bar, mean_and_error, shown, source_of
from benchmarks.pool_stops import bars_of as bars_of_stops
from benchmarks.pool_stops import finished_stops
from benchmarks.pools import ATTACKS, BUDGETS
from thresher.experiments.arena.run import latest_records, read_records
from thresher.experiments.spec import NO_ADVERSARY, THRESHER

MARGIN = ("margin-l1", "margin-l2", "committee")
MARGIN_ITSELF = MARGIN[:2]  # a cell needs these to count
BEST = "margin"
FLIPS = ("flips", "one-sided-flips")
RISES = ("far-clump", "on-support-tilt", "linf-hijack")
RISE_TABLES, RISE_BUDGETS = ("spambase", "cina", "mnist_1v7"), (400, 800)
SMALL_TABLE, FEWEST = "mdrr", 100
CELL = ["table", "attack", "budget"]


def load(path: str | Path) -> pd.DataFrame:
    """One line for each finished run and budget, errors in points."""
    lines = []
    for record in latest_records(read_records(path)).values():
        for budget in BUDGETS:
            if f"error_{budget}" in record:
                same = {name: record[name] for name in ("table", "attack", "seed", "method")}
                error = 100 * record[f"error_{budget}"]
                source = record.get("source", "")
                lines.append({**same, "budget": budget, "error": error, "source": source})
    return pd.DataFrame(lines)


def errors_of(frame: pd.DataFrame) -> pd.DataFrame:
    """One line for each cell and seed, one column for each method and one for the best margin.

    A cell counts on the seeds that Thresher and both kinds of margin sampling have; the committee
    takes part where it has all of these.
    """
    wide = frame.pivot_table(index=[*CELL, "seed"], columns="method", values="error", sort=False)
    wide = wide.reindex(columns=[*dict.fromkeys([THRESHER, *MARGIN, *wide.columns])])
    wide[BEST] = math.nan
    for _, group in wide.groupby(level=CELL, sort=False):
        common = group.dropna(subset=[THRESHER, *MARGIN_ITSELF])
        if len(common):
            best = common[list(MARGIN)].dropna(axis="columns").mean().idxmin()
            wide.loc[common.index, BEST] = common[best]
    return wide


def cells_of(frame: pd.DataFrame) -> pd.DataFrame:
    """One line for each cell and method: the mean error, and Thresher's difference to the best."""
    lines = []
    sources = {key: source_of(part) for key, part in frame.groupby(CELL)["source"]}
    for key, group in errors_of(frame).groupby(level=CELL, sort=False):
        compared = group.dropna(subset=[BEST])
        for method in group:
            own = (compared if len(compared) else group)[method].dropna()
            line: dict[str, object] = {**dict(zip(CELL, key)), "method": method}
            if method == THRESHER and len(compared):
                difference, error = mean_and_error(compared[THRESHER] - compared[BEST])
                line |= {"difference": difference, "difference_error": error}
            if len(own):
                line |= {"error": own.mean(), "n_seeds": len(own), "source": sources[key]}
                lines.append(line)
    columns = [*CELL, "method", "error", "n_seeds", "difference", "difference_error", "source"]
    return pd.DataFrame(lines, columns=columns)


def bars_of(frame: pd.DataFrame) -> list[Bar]:
    """The bars L1 and L2, as far as they were measured."""
    wide = errors_of(frame).dropna(subset=[BEST])
    return [*_clean(wide), *_attacked(wide)]


def _clean(wide: pd.DataFrame) -> Iterator[Bar]:
    clean = wide[wide.index.get_level_values("attack") == NO_ADVERSARY]
    n_lower = n_cells = 0
    for (table, _, budget), group in clean.groupby(level=CELL, sort=False):
        limit = 1.5 if table == SMALL_TABLE else 1.0 if budget <= FEWEST else 0.5
        difference, error = mean_and_error(group[THRESHER] - group[BEST])
        n_lower, n_cells = n_lower + (difference < 0), n_cells + 1
        yield Bar("L1", table, f"clean, {budget} labels, above margin", difference, limit, error)
    if n_cells:
        share = 100 * (1 - n_lower / n_cells)
        yield Bar("L1", "all", "cells in which margin is as good or better, %", share, 50.0)


def _attacked(wide: pd.DataFrame) -> Iterator[Bar]:
    levels = {name: wide.index.get_level_values(name) for name in CELL}
    attacked = wide[(levels["attack"] != NO_ADVERSARY) & (levels["budget"] >= FEWEST)]
    for (table, budget), group in attacked.groupby(level=["table", "budget"], sort=False):
        means = (group[THRESHER] - group[BEST]).groupby(level="attack").mean()
        said = f"{len(means)} attacks, {budget} labels, above margin"
        limit = 0.0 if set(means.index) == set(ATTACKS) else math.nan
        yield Bar("L2", str(table), said, float(means.mean()), limit)
    for (table, attack, budget), group in attacked.groupby(level=CELL, sort=False):
        if attack in FLIPS:
            difference = float((group[THRESHER] - group[BEST]).mean())
            yield Bar("L2", table, f"{attack}, {budget} labels, above margin", difference, 0.5)
        if attack in RISES and table in RISE_TABLES and budget in RISE_BUDGETS:
            yield from _rise(wide, table, attack, budget)


def _rise(wide: pd.DataFrame, table: str, attack: str, budget: int) -> Iterator[Bar]:
    """Thresher's rise against two thirds of margin's, both on the seeds that have both pools."""
    if (table, NO_ADVERSARY, budget) not in wide.index.droplevel("seed"):
        return
    parts = [wide.loc[(table, name, budget), [THRESHER, BEST]] for name in (attack, NO_ADVERSARY)]
    rises = (parts[0] - parts[1]).dropna().mean()
    said = f"{attack}, {budget} labels, rise (2/3 of margin's)"
    yield Bar("L2", table, said, float(rises[THRESHER]), 2 / 3 * float(rises[BEST]))


def write(frame: pd.DataFrame, bars: Sequence[Bar], folder: Path, source: str) -> None:
    """Write the cells and the bars as CSV files, which the page is made of."""
    _write_cells(frame, folder / "pools.csv")
    lines = pd.DataFrame([{**asdict(bar), "kept": bar.verdict, "source": source} for bar in bars])
    lines.round(4).to_csv(folder / "pools-bars.csv", index=False, lineterminator="\n")


def _write_cells(frame: pd.DataFrame, path: Path) -> None:
    cells_of(frame).round(4).to_csv(path, index=False, lineterminator="\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Print the cells and the bars; 0 if all that were measured are kept, else 1."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.pool_bars",
        description="Mean errors of the pool study, and which bars are kept.",
        epilog="example: python -m benchmarks.pool_bars pools.jsonl --studies docs/studies",
    )
    parser.add_argument("records", type=Path, help="file that benchmarks.pools has written")
    parser.add_argument("--stops", type=Path, help="file that benchmarks.pool_stops has written")
    parser.add_argument("--audits", type=Path, help="records with other shares of random labels")
    parser.add_argument("--peers", type=Path, help="records with further rivals")
    parser.add_argument("--studies", type=Path, metavar="DIR", help="write pools.csv there")
    options = parser.parse_args(argv)
    frame = load(options.records)
    stops = [finished_stops(options.stops)] if options.stops else []
    bars = [*bars_of(frame), *(bar for stopped in stops for bar in bars_of_stops(stopped))]
    cells = cells_of(frame).pivot_table(index=CELL, columns="method", values="error", sort=False)
    print(cells.round(2).reset_index().to_string(index=False))
    print(shown(bars))
    if options.studies:
        sources = [source for part in (frame, *stops) for source in part["source"]]
        write(frame, bars, options.studies, source_of(sources))
        for name, path in (("audit", options.audits), ("peers", options.peers)):
            if path:
                _write_cells(load(path), options.studies / f"pools-{name}.csv")
    return 0 if all(bar.holds for bar in bars if bar.is_measured) else 1


if __name__ == "__main__":
    sys.exit(main())
