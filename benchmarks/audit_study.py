"""The audit beside cleanlab, an isolation forest, PyOD and a robust z-score.

    python -m benchmarks.audit_study --data-dir DIR --out audit.jsonl
    python -m benchmarks.audit_study --out audit.jsonl --show [--studies docs/studies]

Into each table one kind of bad rows is planted; every method ranks all rows, and the precision is
the share of bad rows among the first, as many as were planted. No method is told how many there
are. One line of JSON a ranking; what the file has is not measured again. A method whose package is
missing fails, and that is its outcome. With --studies, the mean precisions are also written there;
`python docs/studies/studies.py` then makes the page.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import IsolationForest, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import thresher
from benchmarks.harm import Record, record_of, run_study
from benchmarks.harm_bars import source_of
from thresher.experiments.arena.run import RecordFile, latest_records
from thresher.experiments.sources import AUDITS, source_digest
from thresher.experiments.spec import parse_seeds
from thresher.experiments.table_run import load_table
from thresher.rendering.text import Column, format_columns
from thresher.simulate.poisoning import DATA_ERRORS, poison, spoil

TABLES = ("breast_cancer", "mdrr", "spambase", "digits")
SEEDS = (0, 1, 2)
PLANTED, SPOILED = 0.05, 0.03  # shares of the rows
COPIES, N_COPIED = 20, 5  # copies of each, and of how many rows
ATTACKS = ("far-clump", "on-support-tilt", "linf-hijack", "model-targeted", "min-max")
Spoiled = tuple[Any, Any, NDArray[np.bool_]]  # rows, labels, and which rows are bad


# -- what goes wrong -----------------------------------------------------------------------------


@lru_cache(maxsize=2)
def clean_table(data_dir: str, name: str) -> tuple[Any, Any]:
    """A table without bad rows: one of scikit-learn's, or a file of the data folder."""
    if name == "breast_cancer":
        return load_breast_cancer(return_X_y=True)
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        return X[(y == 3) | (y == 8)], y[(y == 3) | (y == 8)]
    table = load_table(data_dir, name)
    return np.asarray(table.X, dtype=np.float64), np.asarray(table.y)


def planted(X: Any, y: Any, seed: int, attack: str, strength: float | None = None) -> Spoiled:
    """Rows of an attack, 5% of the table."""
    table = poison(X, y, attack=attack, fraction=PLANTED, strength=strength, random_state=seed)
    return table.X, table.y, table.is_planted


def flipped_one_sided(X: Any, y: Any, seed: int) -> Spoiled:
    """As many labels as 5% of the rows, all of the second class, become the first."""
    classes, rng = np.unique(y), np.random.default_rng([seed, 7])
    rows = rng.choice(np.flatnonzero(y == classes[1]), round(PLANTED * len(y)), replace=False)
    labels = y.copy()
    labels[rows] = classes[0]
    return X, labels, np.isin(np.arange(len(y)), rows)


def copied(X: Any, y: Any, seed: int) -> Spoiled:
    """Five rows with the wrong label, twenty copies of each."""
    n_rows = N_COPIED * COPIES
    share = n_rows / (len(y) + n_rows)
    table = poison(
        X, y, attack="duplicated-spam", fraction=share, strength=COPIES, random_state=seed
    )
    return table.X, table.y, table.is_planted


def spoiled(X: Any, y: Any, seed: int, error: str) -> Spoiled:
    """Rows with a data error, 3% of the table."""
    table = spoil(X, y, error=error, fraction=SPOILED, random_state=seed)
    return table.X, table.y, table.is_spoiled


def in_dense_column(X: Any, y: Any, seed: int, wrong: Callable[[Any], Any]) -> Spoiled:
    """Wrong values in nonzero cells of a column at least half of which is not zero."""
    rng, rows = np.random.default_rng([seed, 7]), np.array(X, dtype=np.float64)
    column = rng.choice(np.flatnonzero((rows != 0).mean(axis=0) >= 0.5))
    places = rng.choice(np.flatnonzero(rows[:, column]), round(SPOILED * len(y)), replace=False)
    rows[places, column] = wrong(rows[places, column])
    return rows, y, np.isin(np.arange(len(y)), places)


KINDS: dict[str, Callable[[Any, Any, int], Spoiled]] = {
    "flips": partial(planted, attack="label-flip", strength=0.0),
    "one-sided flips": flipped_one_sided,
    "copies": copied,
    **{attack: partial(planted, attack=attack) for attack in ATTACKS},
    **{error: partial(spoiled, error=error) for error in DATA_ERRORS},
    "x1000, dense column": partial(in_dense_column, wrong=lambda values: 1000 * values),
    "-999, dense column": partial(in_dense_column, wrong=lambda values: np.full_like(values, -999)),
}


# -- rankings ------------------------------------------------------------------------------------


def by_audit(X: Any, y: Any, seed: int) -> tuple[Any, Record]:
    """The suspicion of `thresher.audit`, without a noise rate."""
    audit = thresher.audit(X, y, random_state=seed)
    groups = audit.duplicates["rows"]
    grouped = sorted(place for group in groups if len(group) >= COPIES for place in group)
    facts = {"n_named": len(audit.suspects), "grouped": grouped}
    return audit.rows["suspicion"].to_numpy(), facts


def by_cleanlab(X: Any, y: Any, seed: int, model: Any = None) -> tuple[Any, Record]:
    """Confident learning, with held-out probabilities of a scaled logistic regression."""
    model = (
        model
        if model is not None
        else make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
    )
    labels = np.unique(y, return_inverse=True)[1]
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    shares = cross_val_predict(model, X, labels, cv=folds, method="predict_proba")
    return -import_module("cleanlab.rank").get_label_quality_scores(labels, shares), {}


def by_cleanlab_forest(X: Any, y: Any, seed: int) -> tuple[Any, Record]:
    """Confident learning, with held-out probabilities of a random forest."""
    return by_cleanlab(X, y, seed, RandomForestClassifier(random_state=seed))


def by_isolation_forest(X: Any, y: Any, seed: int) -> tuple[Any, Record]:  # noqa: ARG001
    """scikit-learn's isolation forest."""
    return -IsolationForest(random_state=seed).fit(X).score_samples(X), {}


def by_ecod(X: Any, y: Any, seed: int) -> tuple[Any, Record]:  # noqa: ARG001
    """PyOD's ECOD on scaled columns."""
    detector = import_module("pyod.models.ecod").ECOD()
    return detector.fit(StandardScaler().fit_transform(X)).decision_scores_, {}


def by_neighbors(X: Any, y: Any, seed: int) -> tuple[Any, Record]:  # noqa: ARG001
    """PyOD's KNN on scaled columns."""
    detector = import_module("pyod.models.knn").KNN()
    return detector.fit(StandardScaler().fit_transform(X)).decision_scores_, {}


def by_robust_z(X: Any, y: Any, seed: int) -> tuple[Any, Record]:  # noqa: ARG001
    """The largest robust z-score of a row; mean deviations where the median one is zero."""
    distance = np.abs(X - np.median(X, axis=0))
    scale = 1.4826 * np.median(distance, axis=0)
    scale = np.where(scale > 0, scale, 1.2533 * distance.mean(axis=0))
    return (distance / np.where(scale > 0, scale, 1.0)).max(axis=1), {}


AUDIT = "audit"
METHODS: dict[str, Callable[[Any, Any, int], tuple[Any, Record]]] = {
    AUDIT: by_audit,
    "cleanlab": by_cleanlab,
    "cleanlab, forest": by_cleanlab_forest,
    "isolation forest": by_isolation_forest,
    "ECOD": by_ecod,
    "KNN": by_neighbors,
    "robust z": by_robust_z,
}


# -- one ranking, and all of them ----------------------------------------------------------------


@dataclass(frozen=True)
class Ranking:
    """One method on one table with one kind of bad rows: what is to be measured."""

    table: str
    seed: int
    kind: str
    method: str

    @property
    def run(self) -> str:
        """The identity of the ranking in the file of records."""
        return f"{self.table}/{self.seed}/{self.kind}/{self.method}"


@lru_cache(maxsize=1)  # the methods of one table follow each other
def bad_table(data_dir: str, table: str, seed: int, kind: str) -> Spoiled:
    """The table with its bad rows."""
    return KINDS[kind](*clean_table(data_dir, table), seed)


def measure(ranking: Ranking, data_dir: str) -> Record:
    """The record of a ranking; any exception is its outcome."""
    try:
        X, y, is_bad = bad_table(data_dir, ranking.table, ranking.seed, ranking.kind)
        scores, facts = METHODS[ranking.method](X, y, ranking.seed)
        first = np.argsort(-np.asarray(scores), kind="stable")[: is_bad.sum()]
        grouped = facts.pop("grouped", None)
        if grouped is not None:
            facts["bad_in_groups"] = int(is_bad[grouped].sum())
        precision = float(is_bad[first].mean())
        facts = {"precision": precision, "n_bad": int(is_bad.sum()), **facts}
        return record_of(ranking, "finished", **facts, source=source_digest(AUDITS))
    except Exception as error:
        return record_of(ranking, "failed", f"{type(error).__name__}: {error}")


def cells_of(records: Sequence[Record]) -> pd.DataFrame:
    """One line for each table, kind and method: the means over the seeds."""
    done = [r for r in latest_records(records).values() if r["status"] == "finished"]
    columns = ["table", "kind", "method", "seed", "precision", "bad_in_groups", "source"]
    frame = pd.DataFrame([{"source": "", **record} for record in done], columns=columns)
    for name, order in (("kind", KINDS), ("method", METHODS)):
        frame[name] = pd.Categorical(frame[name], list(order), ordered=True)
    groups = frame.groupby(["table", "kind", "method"], observed=True)
    return groups.agg(
        precision=("precision", "mean"),
        n_seeds=("seed", "size"),
        in_groups=("bad_in_groups", "mean"),
        source=("source", source_of),
    ).reset_index()


def show(cells: pd.DataFrame) -> str:
    """The mean precision over seeds of every method, a table for each table of data."""
    parts = []
    for table, own in cells.groupby("table", sort=False):
        columns = [Column(str(table), list(KINDS), "<")]
        means = own.set_index(["method", "kind"])["precision"]
        for method in METHODS:
            shown = [f"{means[method, k]:.2f}" if (method, k) in means else "-" for k in KINDS]
            columns.append(Column(method.replace(", ", "\n").replace(" ", "\n"), shown))
        parts.append(format_columns(columns))
    return "\n\n".join(parts)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure what is missing, or show what there is; 0, or 130 if it was interrupted."""
    options = _parser().parse_args(argv)
    with RecordFile(options.out) as file:
        if options.show or options.studies:
            cells = cells_of(file.records)
            print(show(cells))
            if options.studies:
                path = options.studies / "audit.csv"
                cells.round(4).to_csv(path, index=False, lineterminator="\n")
            return 0
        rankings = [
            Ranking(table, seed, kind, method)
            for table, seed, kind, method in product(
                options.tables, options.seeds, options.kinds, options.methods
            )
        ]
        return run_study(file, rankings, options, seconds=options.time_limit, measure=measure)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.audit_study",
        description="Rank the rows of tables with bad rows by every method.",
        epilog="example: python -m benchmarks.audit_study --data-dir DIR --out audit.jsonl",
    )
    parser.add_argument("--data-dir", default="", help="folder of spambase and mdrr")
    parser.add_argument("--out", type=Path, default=Path("audit.jsonl"), help="file of records")
    parser.add_argument("--tables", nargs="+", default=list(TABLES), metavar="NAME")
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), metavar="NAME")
    parser.add_argument("--methods", nargs="+", default=list(METHODS), metavar="NAME")
    parser.add_argument("--seeds", type=parse_seeds, default=SEEDS, help="like 5 or 1000-1003")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default: 2)")
    parser.add_argument("--retry", action="store_true", help="repeat rankings that failed")
    parser.add_argument("--time-limit", type=float, default=3600.0, metavar="SECONDS")
    parser.add_argument("--show", action="store_true", help="show the records, measure nothing")
    parser.add_argument(
        "--studies", type=Path, metavar="DIR", help="as --show; audit.csv goes there"
    )
    return parser


if __name__ == "__main__":
    from benchmarks import audit_study  # by its name: the processes must find what they call

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # stops it as Ctrl-C does
    sys.exit(audit_study.main())
