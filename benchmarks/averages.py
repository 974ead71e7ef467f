"""Averages of fits against single ones, on tables with more than ten columns for each row.

    python -m benchmarks.averages [--data-dir DIR] [--jobs 2]

"single" is the same classifier with the one penalized fit that looks best on held-out rows,
"undefended" the one of L1 logistic regression and a linear SVM that its own cross-validation
prefers. Simulated tables have 89 rows to learn from; gene expressions (with --data-dir) are split
in other ways than in the harm study. 10 % of the rows are planted where there is an attack.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any
from unittest.mock import patch

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from benchmarks.harm import UNDEFENDED, cv_error
from benchmarks.harm_tables import planted, split_of
from thresher.estimators import penalized
from thresher.experiments.spec import CLEAN_RATE, NO_ADVERSARY, THRESHER
from thresher.experiments.table_run import fit_quietly, make_learner
from thresher.simulate.poisoning import PoisonedSplit
from thresher.validation import FloatArray

GENES = "microarray_singh"
N_ROWS, N_TEST = 127, 1000  # 70 % of the first are learned from
Case = tuple[str, float | None]  # attack and strength
CLEAN: Case = (NO_ADVERSARY, None)
ATTACKS: tuple[Case, ...] = (
    *(("min-max", 0.4), ("on-support-tilt", 8.0), ("label-flip", 1.0)),
    *(("model-targeted", 0.4), ("far-clump", 8.0)),
)
MORE_ATTACKS: tuple[Case, ...] = (
    *(("min-max", 0.2), ("linf-hijack", 0.1), ("boundary-flip", 1.0), ("duplicated-spam", 100.0)),
    *(("minority-erasure", 1.0), ("trust-keeping", 2.0)),
)


@dataclass(frozen=True)
class Kind:
    """Tables of one kind: how to make one from a seed and a case, and which ones."""

    name: str
    make: Callable[[int, Case], PoisonedSplit]
    seeds: range
    cases: tuple[Case, ...]


def factors(rng: np.random.Generator, n_rows: int) -> tuple[FloatArray, FloatArray]:
    """2,000 columns that share 20 causes; all causes tell."""
    causes = rng.standard_normal((n_rows, 20))
    noise = rng.standard_normal((n_rows, 2000))
    rows = causes @ (0.3 * rng.standard_normal((20, 2000))) + noise
    return rows, np.sign(causes @ rng.standard_normal(20))


def three_columns(rng: np.random.Generator, n_rows: int) -> tuple[FloatArray, FloatArray]:
    """1,500 columns, three of which tell everything."""
    rows = rng.standard_normal((n_rows, 1500))
    return rows, np.sign(rows[:, :3] @ [2.0, -1.5, 1.0])


def no_signal(rng: np.random.Generator, n_rows: int) -> tuple[FloatArray, FloatArray]:
    """3,000 columns that do not tell which rows are of the class of one in five."""
    return rng.standard_normal((n_rows, 3000)), np.where(rng.random(n_rows) < 0.2, 1.0, -1.0)


def simulated(make: Callable[..., Any], seed: int, case: Case) -> PoisonedSplit:
    """A table with few rows to learn from, and many to test on."""
    X, y = make(np.random.default_rng(seed), N_ROWS + N_TEST)
    split = planted(X[:N_ROWS], y[:N_ROWS], seed, *case)
    return PoisonedSplit(split.X, split.y, split.is_planted, X[N_ROWS:], y[N_ROWS:])


def kinds(data_dir: str | None) -> Iterator[Kind]:
    """The tables; gene expressions only with a folder."""
    yield Kind("20 shared causes", partial(simulated, factors), range(8), (CLEAN, *ATTACKS))
    yield Kind("three columns", partial(simulated, three_columns), range(8), (CLEAN, *ATTACKS))
    yield Kind("no signal", partial(simulated, no_signal), range(16), (CLEAN,))
    if data_dir is not None:
        cases = (CLEAN, *ATTACKS, *MORE_ATTACKS)
        yield Kind("gene expressions", partial(_genes, data_dir), range(1000, 1012), cases)


def _genes(data_dir: str, seed: int, case: Case) -> PoisonedSplit:
    return split_of(data_dir, GENES, seed, *case)


def errors_of(kind: Kind, seed: int, case: Case) -> tuple[float, float, float]:
    """Of the average, of the single fit, and of the undefended classifier."""
    with threadpool_limits(1):
        split = kind.make(seed, case)
        rate = float(split.is_planted.mean()) or CLEAN_RATE
        average, _ = _error_of(THRESHER, rate, seed, split)
        with patch.object(penalized, "FAR_MORE", np.inf):
            single, _ = _error_of(THRESHER, rate, seed, split)
        undefended = [_error_of(name, rate, seed, split) for name in UNDEFENDED]
    return average, single, min(undefended, key=lambda found: round(found[1], 9))[0]


def _error_of(name: str, rate: float, seed: int, split: PoisonedSplit) -> tuple[float, float]:
    model = make_learner(name, rate, seed)
    fit_quietly(model, split)
    held_out = cv_error(model)
    assert held_out is not None
    return float(np.mean(model.predict(split.X_test) != split.y_test)), held_out


def main() -> None:
    """Print the mean errors for each kind of table and attack."""
    first, *_ = (__doc__ or "").splitlines()
    parser = argparse.ArgumentParser("python -m benchmarks.averages", description=first)
    parser.epilog = "example: python -m benchmarks.averages --data-dir DIR --jobs 2"
    parser.add_argument("--data-dir", help=f"folder with {GENES}; without it, simulated tables")
    parser.add_argument("--jobs", type=int, default=1, help="number of processes")
    given = parser.parse_args()
    print(f"{'error, %':<37}{'average':>9}{'single':>9}{'undefended':>12}", flush=True)
    for kind in kinds(given.data_dir):
        runs = list(product(kind.seeds, kind.cases))
        found = Parallel(n_jobs=given.jobs)(
            delayed(errors_of)(kind, seed, case) for seed, case in runs
        )
        errors = 100 * np.array(found).reshape(len(kind.seeds), len(kind.cases), 3)
        for case, means in zip(kind.cases, errors.mean(axis=0)):
            strength = "" if case[1] is None else f" {case[1]:g}"
            _show(f"{kind.name}, {case[0]}{strength}", means)
        if len(kind.cases) > 1:
            _show(f"{kind.name}, all", errors.mean(axis=(0, 1)))


def _show(name: str, means: FloatArray) -> None:
    print(f"{name:<37}{means[0]:>9.1f}{means[1]:>9.1f}{means[2]:>12.1f}", flush=True)


if __name__ == "__main__":
    main()
