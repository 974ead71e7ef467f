"""Real tables: whether a model predicts the same once it has left Thresher.

    python -m benchmarks.agreement --data-dir DIR

Each table is learned from once. Then all its rows are predicted by the estimator, by the model that
was saved and loaded, by its scikit-learn pipeline, and by its ONNX model in both precisions.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from skl2onnx import convert_sklearn
from skl2onnx.common.data_types import FloatTensorType

from thresher import HalfspaceClassifier
from thresher.errors import DistrustedClass, UncertifiedPhase
from thresher.estimators import load_model, save_model
from thresher.experiments.table_run import load_table
from thresher.validation import FloatArray, is_sparse

SETS = (
    "spambase",
    "cina",
    "mnist_1v7",
    "reuters_earn_v_acq",
    "rcv1_small",
    "movie_reviews",
    "enron_sever",
    "microarray_singh",
)
MOST_ROWS = 3_000  # to learn from
MOST_DENSE_COLUMNS = 2_000  # of largest variance: 12,600 take six minutes and 7 GB
ROWS_A_BATCH = 500

Answer = tuple[FloatArray, Any]  # scores and labels
Predict = Callable[[FloatArray], Answer]


@dataclass(frozen=True)
class Form:
    """A model outside of the estimator: what it predicts, for which numbers, how closely."""

    name: str
    predict: Predict
    bound: float
    precision: type = np.float64


@dataclass
class Agreement:
    """How far a form is from the estimator on the rows seen so far."""

    form: Form
    difference: float = 0.0
    n_disagreeing: int = 0

    def add(self, expected: Answer, found: Answer) -> None:
        """Count more rows; labels only of scores that are not zero to within the bound."""
        size = np.abs(expected[0])
        differences = np.abs(found[0] - expected[0]) / np.maximum(1.0, size)
        self.difference = max(self.difference, float(differences.max()))
        wrong = (found[1] != expected[1]) & (size > self.form.bound)
        self.n_disagreeing += int(np.count_nonzero(wrong))

    @property
    def holds(self) -> bool:
        """Whether both are as they should be."""
        return self.difference <= self.form.bound and self.n_disagreeing == 0


def measure(X: Any, y: Any) -> tuple[HalfspaceClassifier, list[Agreement]]:
    """Learn from some rows, and compare all forms on all of them."""
    chosen = np.random.default_rng(0).permutation(X.shape[0])[:MOST_ROWS]
    classifier = HalfspaceClassifier(sparsity=40, random_state=0)
    with warnings.catch_warnings():  # agreement is not about how good a model is
        warnings.simplefilter("ignore", UncertifiedPhase)
        warnings.simplefilter("ignore", DistrustedClass)
        classifier.fit(X[chosen], y[chosen])
    agreements = [Agreement(form) for form in forms_of(classifier)]
    for rows in _batches(X):
        dense = rows.toarray() if is_sparse(rows) else rows
        for agreement in agreements:
            precision = agreement.form.precision
            given = rows.astype(precision).astype(np.float64)
            expected = classifier.decision_function(given), classifier.predict(given)
            agreement.add(expected, agreement.form.predict(dense.astype(precision)))
    return classifier, agreements


def forms_of(classifier: HalfspaceClassifier) -> list[Form]:
    """Every way in which a model leaves Thresher."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        save_model(classifier.to_model(), path)
        loaded = load_model(path)
    pipeline = loaded.to_sklearn()
    single = convert_sklearn(
        pipeline,
        initial_types=[("X", FloatTensorType([None, loaded.n_features]))],
        options={id(pipeline[-1]): {"raw_scores": True}},
    )
    return [
        Form("model file", lambda X: (loaded.decision_function(X), loaded.predict(X)), 1e-9),
        Form("pipeline", lambda X: (pipeline.decision_function(X), pipeline.predict(X)), 1e-9),
        Form("ONNX", _session(loaded.to_onnx()), 1e-5),
        Form("ONNX, single", _session(single), 1e-5, np.float32),
    ]


def _session(model: Any) -> Predict:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )

    def predict(X: FloatArray) -> Answer:
        labels, scores = session.run(None, {"X": X})
        return scores[:, 1].astype(np.float64), labels

    return predict


def _batches(X: Any) -> Iterator[Any]:
    for start in range(0, X.shape[0], ROWS_A_BATCH):
        yield X[start : start + ROWS_A_BATCH]


def table(data_dir: str, name: str) -> tuple[Any, Any]:
    """Rows and labels of a data set; of a very wide dense one, the columns that vary most."""
    table = load_table(data_dir, name)
    X, y = table.X, table.y
    if is_sparse(X) or X.shape[1] <= MOST_DENSE_COLUMNS:
        return X, y
    print(f"{name}: the {MOST_DENSE_COLUMNS} of {X.shape[1]} columns with the largest variance")
    return X[:, np.sort(np.argsort(-X.var(axis=0))[:MOST_DENSE_COLUMNS])], y


def _verdict(agreement: Agreement) -> str:
    return "holds" if agreement.holds else "BROKEN"


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print; 0 if every bound is kept, else 1."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.agreement",
        description="Compare models outside of Thresher with the estimator, on real tables.",
        epilog="example: python -m benchmarks.agreement --data-dir tables --tables spambase",
    )
    parser.add_argument("--data-dir", required=True, help="where the .npz files are")
    parser.add_argument("--tables", nargs="+", default=SETS, metavar="NAME")
    options = parser.parse_args(argv)
    everything_holds = True
    for name in options.tables:
        if not (Path(options.data_dir) / f"{name}.npz").exists():
            print(f"{name}: skipped, there is no {name}.npz in that folder", file=sys.stderr)
            continue
        X, y = table(options.data_dir, name)
        start = time.perf_counter()
        classifier, agreements = measure(X, y)
        print(
            f"{name}: {X.shape[0]} rows, {classifier.support_.size} of {X.shape[1]} features, "
            f"{time.perf_counter() - start:.0f} s"
        )
        for one in agreements:
            print(
                f"  {one.form.name:12}  difference {one.difference:7.1e}  (at most "
                f"{one.form.bound:.0e})  labels {one.n_disagreeing}  {_verdict(one)}",
                flush=True,
            )
        everything_holds &= all(one.holds for one in agreements)
    return 0 if everything_holds else 1


if __name__ == "__main__":
    sys.exit(main())
