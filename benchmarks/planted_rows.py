"""Planted rows on the command line: how many are found, and what they do to the model.

    python -m benchmarks.planted_rows --data-dir DIR [--tables spambase] [--seeds 3]

70 % of a data set, stratified, go to a CSV file with 10 % planted rows. `thresher audit` and
`thresher learn` are told that share, and `thresher predict` meets the other rows. Where nothing is
planted they are told 2 %. The precision is the share of planted rows among the most suspicious,
as many as were planted.
"""

from __future__ import annotations

import argparse
import csv
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from benchmarks.harm_tables import FRACTION
from thresher.experiments.spec import CLEAN_RATE
from thresher.experiments.table_run import load_table
from thresher.simulate import POISON_STRENGTHS, poison


@dataclass(frozen=True)
class Found:
    """What the command line said about one file."""

    precision: float
    error: float
    n_planted: int


def measure(folder: Path, X: Any, y: Any, attack: str | None, seed: int) -> Found:
    """Export, audit, learn, predict; the share of planted rows among as many suspicious ones."""
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=seed)
    is_planted, rate = np.zeros(len(y), dtype=bool), CLEAN_RATE
    if attack is not None:
        table = poison(X, y, attack=attack, fraction=FRACTION, random_state=seed)
        X, y, is_planted, rate = table.X, table.y, table.is_planted, FRACTION
    _export(folder / "train.csv", X, y)
    _export(folder / "test.csv", X_test, y_test)
    told = f"train.csv --id-column row --noise-rate {rate}"
    _told(folder, f"audit {told} --out rows.csv")
    _told(folder, f"learn {told} --out model.json")
    predict = "predict model.json test.csv --id-column row --label label --out answers.csv"
    error = re.search(r"error ([\d.]+)%", _told(folder, predict))
    assert error is not None
    n_planted = int(is_planted.sum())
    with (folder / "rows.csv").open(encoding="utf-8", newline="") as file:
        suspicion = np.array([float(row["suspicion"]) for row in csv.DictReader(file)])
    first = np.argsort(-suspicion, kind="stable")[:n_planted]
    precision = float(is_planted[first].mean()) if n_planted else float("nan")
    return Found(precision, float(error[1]) / 100, n_planted)


def _export(path: Path, X: Any, y: Any) -> None:
    rows = X.toarray() if hasattr(X, "toarray") else X
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["row", *(f"x{j}" for j in range(rows.shape[1])), "label"])
        writer.writerows(
            [i, *row, label] for i, (row, label) in enumerate(zip(rows.tolist(), y.tolist()))
        )


def _told(folder: Path, arguments: str) -> str:
    thresher = str(Path(sys.executable).with_name("thresher"))
    command = [thresher, *arguments.split()]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


def main(argv: Sequence[str] | None = None) -> int:
    """Measure every attack on every table, and print a line each."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.planted_rows")
    parser.add_argument("--data-dir", required=True, help="where the .npz files are")
    parser.add_argument("--tables", nargs="+", default=["spambase"], metavar="NAME")
    parser.add_argument("--seeds", type=int, default=3, help="how many splits")
    options = parser.parse_args(argv)
    for name in options.tables:
        if not (Path(options.data_dir) / f"{name}.npz").exists():
            print(f"skipped, not in {options.data_dir}: {name}", file=sys.stderr)
            continue
        table = load_table(options.data_dir, name)
        X, y = table.X, table.y
        for attack in (None, *POISON_STRENGTHS):
            with tempfile.TemporaryDirectory() as folder:
                found = [measure(Path(folder), X, y, attack, s) for s in range(options.seeds)]
            precision = np.median([one.precision for one in found])
            error = np.median([one.error for one in found])
            print(f"{name:12} {attack or 'none':16} precision {precision:.3f}  error {error:.2%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
