"""Real tables, clean and poisoned: Thresher beside the classifiers that people use.

    python -m benchmarks.poisoned_tables --data-dir DIR --out records.jsonl \\
        --csv docs/studies/real-tables.csv

One line of JSON a fit; a run that was stopped goes on where it ended. 70 % of the rows are learned
from, stratified; `poison` makes planted rows from those alone. The adversary chooses the strength
that hurts a Thresher of 40 features most on a pilot split, and every method meets that one.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from benchmarks.tables_report import cells_of, write_cells
from thresher import HalfspaceClassifier
from thresher.experiments.spec import NO_ADVERSARY, THRESHER, TableSpec
from thresher.experiments.table_run import (
    fit_quietly,
    make_learner,
    split_table,
)
from thresher.rivals import SparseLogisticRegressionCV
from thresher.simulate import POISON_STRENGTHS
from thresher.simulate.poisoning import PoisonedSplit
from thresher.table_files import find_table

SETS = ("spambase", "cina", "mnist_1v7", "reuters_earn_v_acq")
ATTACKS = ("far-clump", "on-support-tilt", "linf-hijack", "model-targeted")
PILOT_SEED = 100
FRACTION = 0.1
OURS, PILOT, L1_AS_SPARSE = THRESHER, "thresher (40 features)", "L1 logistic, as sparse"

# By the names of the study, those of the arena.
RIVALS = {
    "L1 logistic": "l1-logistic",
    "linear SVM": "linear-svm",
    "Sever": "sever",
    "trimmed loss": "trimmed-loss",
    "norm filter": "norm-filter-l1-logistic",
}


@dataclass(frozen=True)
class Fit:
    """One classifier on one table: what is to be measured."""

    table: str
    seed: int
    attack: str | None
    strength: float | None
    method: str


def measure(fit: Fit, data_dir: str) -> list[dict[str, Any]]:
    """The record of a fit; where Thresher met a clean table, L1 models as sparse as it, too."""
    spec = TableSpec(
        table=fit.table,
        noise_rate=FRACTION if fit.attack else 0.0,
        adversary=fit.attack or NO_ADVERSARY,
        strength=fit.strength,
    )
    split = split_table(spec, fit.seed, data_dir)
    model = _make_model(fit.method, spec.told_noise_rate, fit.seed)
    record = _fitted(model, split)
    if hasattr(model, "row_weights_"):
        record["trust_clean"] = float(model.row_weights_[~split.is_planted].mean())
        if split.is_planted.any():
            record["trust_planted"] = float(model.row_weights_[split.is_planted].mean())
    records = [{**asdict(fit), **record}]
    if fit.method == OURS and fit.attack is None:
        rival = SparseLogisticRegressionCV(record["n_features"], random_state=fit.seed)
        records.append({**asdict(fit), "method": L1_AS_SPARSE, **_fitted(rival, split)})
    return records


def _make_model(method: str, rate: float, seed: int) -> Any:
    if method == PILOT:
        return HalfspaceClassifier(40, rate, random_state=seed)
    return make_learner(RIVALS.get(method, method), rate, seed)


def _fitted(model: Any, split: PoisonedSplit) -> dict[str, Any]:
    seconds = fit_quietly(model, split)
    return {
        "error": float(1 - model.score(split.X_test, split.y_test)),
        "n_features": int(np.count_nonzero(model.coef_)),
        "cpu_seconds": seconds,
    }


def fits(
    tables: Sequence[str], methods: Sequence[str], n_seeds: int, worst: dict[Any, float]
) -> Iterator[Fit]:
    """Every fit that is to be measured, once the worst strengths are known."""
    for table in tables:
        for method in methods:
            for seed in range(n_seeds):
                yield Fit(table, seed, None, None, method)
                for attack in ATTACKS:
                    yield Fit(table, seed, attack, worst[table, attack], method)


def pilots(tables: Sequence[str]) -> Iterator[Fit]:
    """The fits among which the adversary chooses."""
    for table in tables:
        for attack in ATTACKS:
            for strength in POISON_STRENGTHS[attack]:
                yield Fit(table, PILOT_SEED, attack, strength, PILOT)


def worst_strengths(records: Iterable[dict[str, Any]]) -> dict[Any, float]:
    """By table and attack, the strength with the largest error on the pilot split."""
    worst: dict[Any, tuple[float, float]] = {}
    for record in records:
        if record["method"] == PILOT:
            key, found = (record["table"], record["attack"]), (record["error"], record["strength"])
            worst[key] = max(worst.get(key, found), found)
    return {key: strength for key, (_, strength) in worst.items()}


class Records:
    """The file of records: what it holds is not measured again."""

    def __init__(self, path: Path, data_dir: str, n_jobs: int) -> None:
        self.path, self.data_dir, self.n_jobs = path, data_dir, n_jobs
        lines = path.read_text("utf-8").splitlines() if path.exists() else []
        self.all: list[dict[str, Any]] = [json.loads(line) for line in lines]

    def add(self, wanted: Iterable[Fit]) -> None:
        """Measure what is missing, and append it."""
        known = {tuple(record[name] for name in Fit.__annotations__) for record in self.all}
        missing = [fit for fit in wanted if tuple(asdict(fit).values()) not in known]
        jobs = (delayed(measure)(fit, self.data_dir) for fit in missing)
        answers = Parallel(n_jobs=self.n_jobs, return_as="generator_unordered")(jobs)
        for number, records in enumerate(answers, 1):
            self.all += records
            with self.path.open("a", encoding="utf-8") as file:
                file.writelines(json.dumps(record) + "\n" for record in records)
            print(f"\r{number} of {len(missing)} fits", end="", file=sys.stderr, flush=True)
        print(file=sys.stderr)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure what is missing, and print the medians."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.poisoned_tables")
    parser.add_argument("--data-dir", required=True, help="where the tables are")
    parser.add_argument("--out", type=Path, required=True, help="file of records, appended to")
    parser.add_argument("--csv", type=Path, help="write the medians there")
    parser.add_argument("--tables", nargs="+", default=SETS, metavar="NAME")
    parser.add_argument("--methods", nargs="+", default=(OURS, *RIVALS), metavar="NAME")
    parser.add_argument("--seeds", type=int, default=5, help="how many splits")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args(argv)
    missing = [n for n in options.tables if find_table(options.data_dir, n) is None]
    if missing:
        print(f"skipped, not in {options.data_dir}: {', '.join(missing)}", file=sys.stderr)
    tables = [name for name in options.tables if name not in missing]
    records = Records(options.out, options.data_dir, options.jobs)
    records.add(pilots(tables))
    worst = worst_strengths(records.all)
    records.add(fits(tables, options.methods, options.seeds, worst))
    cells = cells_of(records.all, PILOT)
    for cell in cells:
        print(f"{cell.table:20} {cell.method:24} {cell.attack:16} {cell.error:7.2%}")
    if options.csv:
        write_cells(cells, options.csv)
    return 0


if __name__ == "__main__":
    from benchmarks import poisoned_tables  # by its name: the processes must find what they call

    sys.exit(poisoned_tables.main())
