"""A learner's run on a real table, from a spec and a seed to what came out."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from thresher.errors import UnreadableTable
from thresher.estimators import HalfspaceClassifierCV
from thresher.experiments.spec import THRESHER
from thresher.experiments.table_spec import TableSpec
from thresher.rivals import (
    IterativeTrimmedLoss,
    LinearSVMCV,
    NormFilter,
    Sever,
    SparseLogisticRegressionCV,
)
from thresher.simulate.tables import poison
from thresher.table_files import LabeledTable, find_table, read_table

TEST_SHARE = 0.3


def load_table(data_dir: str | Path, name: str) -> LabeledTable:
    """The table of that name in the folder; the label is the last column, or the file's own `y`.

    Raises
    ------
    UnreadableTable : there is no such file, or it holds no table of two classes

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "mail.csv").write_text("words,links,spam\\n120,0,no\\n35,4,yes\\n")
    ...     load_table(folder, "mail").X.shape
    (2, 2)
    """
    path = find_table(data_dir, name)
    if path is None:
        raise UnreadableTable(
            Path(data_dir) / name,
            "is no table",
            advice="a table of that name, in a format that `read_table` knows, is to be there",
        )
    return _read(path)


_read = cache(read_table)  # a worker meets the same table again and again


@dataclass(frozen=True, eq=False)
class Split:
    """Rows to learn from, of which some may be planted, and clean ones to be judged by."""

    X: Any
    y: NDArray[Any]
    is_planted: NDArray[np.bool_]
    X_test: Any
    y_test: NDArray[Any]


def split_table(spec: TableSpec, seed: int, data_dir: str | Path) -> Split:
    """The table as the spec and the seed have it: 70 % to learn from, stratified, then poisoned.

    The planted rows are made from the rows to learn from alone.
    """
    table = load_table(data_dir, spec.table)
    X, X_test, y, y_test = train_test_split(
        table.X, table.y, test_size=TEST_SHARE, stratify=table.y, random_state=seed
    )
    if not spec.noise_rate:
        return Split(X, y, np.zeros(len(y), dtype=bool), X_test, y_test)
    poisoned = poison(
        X,
        y,
        attack=spec.adversary,
        fraction=spec.noise_rate,
        strength=spec.strength,
        random_state=seed,
    )
    return Split(poisoned.X, poisoned.y, poisoned.is_planted, X_test, y_test)


def make_classifier(method: str, noise_rate: float, seed: int) -> Any:
    """The classifier of that name, unfitted, told the noise rate.

    Examples
    --------
    >>> type(make_classifier("sever", 0.1, seed=0)).__name__
    'Sever'
    """
    if method == THRESHER:
        return HalfspaceClassifierCV(noise_rates=(noise_rate,), random_state=seed)
    plain = {"l1-logistic": SparseLogisticRegressionCV, "linear-svm": LinearSVMCV}
    if method in plain:
        return plain[method](random_state=seed)
    told = {
        "sever": Sever,
        "trimmed-loss": IterativeTrimmedLoss,
        "norm-filter-l1-logistic": NormFilter,
    }
    return told[method](noise_rate, random_state=seed)


def fit_quietly(model: Any, split: Split) -> float:
    """Fit without warnings; the CPU seconds that it took."""
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(split.X, split.y)
    return time.process_time() - start


def run_table(spec: TableSpec, seed: int, data_dir: str | Path) -> dict[str, Any]:
    """How the run ended and what it cost, under the names of a simulated run.

    All labels of the rows to learn from are paid. Whatever the learner raises is an outcome.

    Examples
    --------
    >>> import tempfile
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(f"{folder}/tiny.npz", X=X, y=np.sign(X[:, 0]))
    ...     outcome = run_table(TableSpec(table="tiny", method="l1-logistic"), 0, folder)
    >>> outcome["status"], outcome["n_labels"], outcome["error"] < 0.1
    ('finished', 140, True)
    """
    split, message, error, seconds = split_table(spec, seed, data_dir), "", None, 0.0
    model = make_classifier(spec.method, spec.told_noise_rate, seed)
    try:
        seconds = fit_quietly(model, split)
        error = float(1 - model.score(split.X_test, split.y_test))
    except Exception as caught:  # whatever it is, it is what happened to this seed
        message = f"{type(caught).__name__}: {caught}"
    phases = getattr(model, "phases_", ())
    spread = None if error is None else float(np.sqrt(error * (1 - error) / len(split.y_test)))
    return {
        "status": "failed" if message else "finished",
        "message": message,
        "error": error,
        "error_standard_error": spread,
        "error_floor": None,
        "n_labels": len(split.y),
        "label_floor": None,
        "n_queries": len(split.y),
        "n_draws": len(split.y),
        "dirty_labels": float(split.is_planted.mean()),
        "n_uncertified": sum(not phase.is_certified for phase in phases),
        "seconds": seconds,
        "n_phases": len(phases),
    }
