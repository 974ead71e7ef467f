"""The spam filter of the Sever experiments, under the attacks that were optimized against it.

    python -m benchmarks.enron --data-dir DIR --csv docs/studies/enron.csv

`enron_sever.npz` has the rows, `enron_sever_attacks.npz` the planted ones, which are stacked below
the training rows. The learner is told the true share, and 2 % where nothing is planted.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed

from thresher import HalfspaceClassifier, HalfspaceClassifierCV
from thresher.experiments.spec import CLEAN_RATE

CLEAN = "none"
COLUMNS = ("attack", "planted_share", "error", "n_features", "trust_planted", "cpu_seconds")


def attack_names(data_dir: str) -> list[str]:
    """The attacks in the file, by name."""
    with np.load(Path(data_dir) / "enron_sever_attacks.npz", allow_pickle=False) as file:
        return sorted(name.removesuffix(".X_data") for name in file if name.endswith(".X_data"))


def measure(data_dir: str, attack: str, sparsity: int | None) -> dict[str, Any]:
    """The error on the test rows, learned with the planted rows of one attack."""
    folder = Path(data_dir)
    with np.load(folder / "enron_sever.npz", allow_pickle=False) as file:
        rows, y = _sparse_rows(file, ""), file["y"].astype(int)
        is_train = file["is_train"].astype(bool)
    X_train, y_train, rate, n_planted = rows[is_train], y[is_train], CLEAN_RATE, 0
    if attack != CLEAN:
        with np.load(folder / "enron_sever_attacks.npz", allow_pickle=False) as file:
            planted = _sparse_rows(file, f"{attack}.")
            y_train = np.append(y_train, file[f"{attack}.y"].astype(int))
        X_train, n_planted = sp.csr_array(sp.vstack([X_train, planted])), planted.shape[0]
        rate = round(n_planted / is_train.sum(), 3)
    model: Any = (
        HalfspaceClassifierCV(noise_rates=(rate,), random_state=0)
        if sparsity is None
        else HalfspaceClassifier(sparsity, rate, random_state=0)
    )
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X_train, y_train)
    trust = model.row_weights_[len(y_train) - n_planted :] if n_planted else np.array([np.nan])
    error = 1 - model.score(rows[~is_train], y[~is_train])
    seconds = time.process_time() - start
    numbers = (rate, error, np.count_nonzero(model.coef_), trust.mean(), seconds)
    return dict(zip(COLUMNS, (attack, *(round(float(number), 4) for number in numbers))))


def _sparse_rows(file: Any, prefix: str) -> Any:
    parts = tuple(file[f"{prefix}X_{name}"] for name in ("data", "indices", "indptr"))
    return sp.csr_array(parts, shape=tuple(file[f"{prefix}X_shape"])).astype(np.float64)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure every attack, print a line each, write them to a file."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.enron")
    parser.add_argument("--data-dir", required=True, help="where the .npz files are")
    parser.add_argument("--csv", type=Path, help="write what was measured there")
    parser.add_argument("--sparsity", type=int, help="features (by cross-validation if not given)")
    parser.add_argument("--attacks", nargs="+", metavar="NAME", help="all if not given")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args(argv)
    attacks = options.attacks or [CLEAN, *attack_names(options.data_dir)]
    jobs = (delayed(measure)(options.data_dir, name, options.sparsity) for name in attacks)
    found = []
    for line in Parallel(n_jobs=options.jobs, return_as="generator")(jobs):
        print("  ".join(f"{value:>18}" for value in line.values()), flush=True)
        found.append(line)
    if options.csv:
        with options.csv.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(found)
    return 0


if __name__ == "__main__":
    from benchmarks import enron  # by its name: the processes must find what they call

    sys.exit(enron.main())
