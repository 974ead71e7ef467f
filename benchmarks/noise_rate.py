"""Whether `estimate_noise_rate` covers the share of rows that were planted.

    python -m benchmarks.noise_rate --data-dir DIR --out noise_rate.jsonl

Eight tables, clean and with 2, 5, 10 and 20 % of their rows planted by clumps, tilts and hijacks,
each at two strengths. One line of JSON a cell; what the file has is not measured again. A table
that is not in the folder is left out. Ends with 1 if a bar is missed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits

from benchmarks.harm import Record, complete
from thresher import estimate_noise_rate
from thresher.experiments.arena.run import RecordFile, latest_records
from thresher.experiments.spec import NO_ADVERSARY, parse_seeds
from thresher.experiments.table_run import load_table
from thresher.simulate import poison
from thresher.table_files import find_table

STRENGTHS = {"far-clump": (4.0, 8.0), "on-support-tilt": (4.0, 8.0), "linf-hijack": (0.1, 0.3)}
FRACTIONS = (0.02, 0.05, 0.1, 0.2)
MAX_ROWS = {"cina": 4000, "mnist_1v7": 2000}
SAMPLED = 0.9  # of a table's rows in each cell, drawn by the seed
COVERED, WIDTH, CLEAN = 0.8, 0.06, 0.02  # the bars


def breast_cancer() -> tuple[Any, Any]:
    """The table that scikit-learn has."""
    return load_breast_cancer(return_X_y=True)


def digits_3_or_8() -> tuple[Any, Any]:
    """Two digits that look alike."""
    X, y = load_digits(return_X_y=True)
    is_either = np.isin(y, (3, 8))
    return X[is_either], y[is_either]


def gaussian() -> tuple[Any, Any]:
    """A halfspace over 8 of 50 normal columns."""
    X = np.random.default_rng(5).standard_normal((2000, 50))
    return X, (X[:, :8].sum(axis=1) > 0).astype(int)


MADE: dict[str, Callable[[], tuple[Any, Any]]] = {
    "breast cancer": breast_cancer,
    "digits 3 or 8": digits_3_or_8,
    "gaussian": gaussian,
}
TABLES = (*MADE, "spambase", "mdrr", "cina", "mnist_1v7", "reuters_earn_v_acq")


@dataclass(frozen=True)
class Cell:
    """One table with what is planted in it."""

    table: str
    seed: int
    attack: str
    strength: float
    fraction: float

    @property
    def run(self) -> str:
        """The identity of the cell in the file of records."""
        return f"{self.table}/{self.seed}/{self.attack}/{self.strength:g}/{self.fraction:g}"


def cells(tables: Sequence[str], seeds: Sequence[int]) -> Iterator[Cell]:
    """Every cell: the clean table, then every attack at every strength and fraction."""
    for table, seed in product(tables, seeds):
        yield Cell(table, seed, NO_ADVERSARY, 0.0, 0.0)
        for attack, fraction in product(STRENGTHS, FRACTIONS):
            yield from (Cell(table, seed, attack, s, fraction) for s in STRENGTHS[attack])


@lru_cache(maxsize=1)  # the cells of one table follow each other
def table_of(name: str, data_dir: str | None) -> tuple[Any, Any]:
    """The rows and labels of a table; some are cut."""
    if name in MADE:
        return MADE[name]()
    assert data_dir is not None
    loaded = load_table(data_dir, name)
    X, y = loaded.X, np.asarray(loaded.y)
    places = np.sort(np.random.default_rng(0).permutation(len(y))[: MAX_ROWS.get(name)])
    return X[places], y[places]


def measure(cell: Cell, data_dir: str | None) -> Record:
    """The record of a cell."""
    X, y = table_of(cell.table, data_dir)
    rng = np.random.default_rng(cell.seed)
    places = np.sort(rng.permutation(len(y))[: int(SAMPLED * len(y))])
    X, y, truth = X[places], y[places], 0.0
    if cell.fraction:
        planted = poison(
            X,
            y,
            attack=cell.attack,
            fraction=cell.fraction,
            strength=cell.strength,
            random_state=cell.seed,
        )
        X, y, truth = planted.X, planted.y, float(planted.is_planted.mean())
    start = time.process_time()
    found = estimate_noise_rate(X, y)
    return {
        "run": cell.run,
        **asdict(cell),
        "status": "finished",
        "truth": truth,
        "estimate": found.estimate,
        "low": found.low,
        "high": found.high,
        "cpu_seconds": time.process_time() - start,
    }


def report(records: Sequence[Record]) -> tuple[str, bool]:
    """The bars, by table and together, and whether all of them are met."""
    lines = [
        f"{'table':20}{'cells':>6}{'covered':>9}{'width':>7}{'clean':>7}{'error':>7}{'CPU s':>7}"
    ]
    for table in dict.fromkeys(record["table"] for record in records):
        lines.append(_line(table, [r for r in records if r["table"] == table]))
    lines.append(_line("together", records))
    covered, width, clean = _bars(records)
    is_met = covered >= COVERED and width <= WIDTH and clean <= CLEAN
    for fraction in (0.0, *FRACTIONS):
        own = [r for r in records if r["fraction"] == fraction]
        if own:
            lines.append(f"{fraction:>4.0%} planted: {_bars(own)[0]:.0%} of {len(own)} covered")
    lines.append(
        f"T4: covered {covered:.1%} (at least {COVERED:.0%}), median width {width:.3f} (at most "
        f"{WIDTH}), largest estimate on a clean table {clean:.4f} (at most {CLEAN}): "
        f"{'met' if is_met else 'missed'}"
    )
    return "\n".join(lines), is_met


def _bars(records: Sequence[Record]) -> tuple[float, float, float]:
    covered = float(np.mean([r["low"] <= r["truth"] <= r["high"] for r in records]))
    width = float(np.median([r["high"] - r["low"] for r in records]))
    clean = max((r["estimate"] for r in records if r["truth"] == 0), default=0.0)
    return covered, width, float(clean)


def _line(name: str, records: Sequence[Record]) -> str:
    covered, width, clean = _bars(records)
    error = float(np.median([abs(r["estimate"] - r["truth"]) for r in records]))
    seconds = float(np.median([r["cpu_seconds"] for r in records]))
    shown = f"{covered:>9.0%}{width:>7.3f}{clean:>7.4f}{error:>7.3f}{seconds:>7.2f}"
    return f"{name:20}{len(records):>6}{shown}"


def main(argv: Sequence[str] | None = None) -> int:
    """Measure what is missing, and print the bars."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.noise_rate", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--data-dir", help="folder of the tables that scikit-learn does not have")
    parser.add_argument("--out", type=Path, default=Path("noise_rate.jsonl"), help="records")
    parser.add_argument("--tables", nargs="+", default=list(TABLES), metavar="NAME")
    parser.add_argument("--seeds", type=parse_seeds, default=[0, 1], help="such as 0-1 (default)")
    options = parser.parse_args(argv)
    is_there = {
        name: name in MADE
        or (options.data_dir is not None and find_table(options.data_dir, name) is not None)
        for name in options.tables
    }
    for name in (name for name, there in is_there.items() if not there):
        print(f"skipped, not in {options.data_dir}: {name}", file=sys.stderr)
    wanted = list(cells([name for name in options.tables if is_there[name]], options.seeds))
    with RecordFile(options.out) as file:
        complete(file, wanted, lambda missing: (measure(c, options.data_dir) for c in missing))
        known = latest_records(file.records)
    text, is_met = report([known[cell.run] for cell in wanted])
    print(text)
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())
