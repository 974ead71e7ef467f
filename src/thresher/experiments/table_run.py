"""A learner's run on a poisoned real table, from a spec and a seed to what came out."""

import time
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from thresher.errors import UnreadableTable
from thresher.estimators import HalfspaceClassifier, HalfspaceClassifierCV
from thresher.experiments.spec import THRESHER, TableSpec
from thresher.rivals.classifiers import make_classifier
from thresher.simulate.poisoning import PoisonedSplit, poisoned_split
from thresher.simulate.poisoning.attacks import TRUST_KEEPING
from thresher.table_files import LabeledTable, find_table, read_table

TARGET_SPARSITY = 40  # of the classifier at which the attack on trust is aimed


def load_table(data_dir: str | Path, name: str) -> LabeledTable:
    """The table of that name in the folder; the label is the last column, or the file's own `y`.

    Raises
    ------
    UnreadableTable : the file does not exist, or is not a table with two classes
    """
    path = find_table(data_dir, name)
    if path is None:
        advice = "put a table of that name there, in a format that `read_table` reads"
        raise UnreadableTable(Path(data_dir) / name, "does not exist", advice=advice)
    return _read(path)


_read = cache(read_table)  # a worker meets the same table many times


def split_table(spec: TableSpec, seed: int, data_dir: str | Path) -> PoisonedSplit:
    """The spec's table, split and poisoned; the attack on trust is aimed at our own filter."""
    table = load_table(data_dir, spec.table)
    return poisoned_split(
        table.X,
        table.y,
        attack=spec.adversary if spec.noise_rate else None,
        fraction=spec.noise_rate,
        strength=spec.strength,
        seed=seed,
        target=target_of(spec.adversary, spec.noise_rate, seed) if spec.noise_rate else None,
    )


def target_of(attack: str, noise_rate: float, seed: int) -> HalfspaceClassifier | None:
    """The classifier at which an attack is aimed, if it can be aimed at any.

    Examples
    --------
    >>> target_of("trust-keeping", 0.1, seed=0)
    HalfspaceClassifier(noise_rate=0.1, random_state=0, sparsity=40)
    """
    if attack != TRUST_KEEPING:
        return None
    return HalfspaceClassifier(TARGET_SPARSITY, noise_rate, random_state=seed)


def make_learner(method: str, noise_rate: float, seed: int) -> Any:
    """The classifier of that name, unfitted; those that take a noise rate get it.

    Examples
    --------
    >>> make_learner("sever", 0.1, seed=0)
    Sever(noise_rate=0.1, random_state=0)
    """
    if method == THRESHER:
        return HalfspaceClassifierCV(noise_rates=(noise_rate,), random_state=seed)
    return make_classifier(method, noise_rate=noise_rate, random_state=seed)


def fit_quietly(model: Any, split: PoisonedSplit) -> float:
    """Fit without warnings; the CPU seconds it took."""
    start = time.process_time()
    with warnings.catch_warnings(action="ignore"):
        model.fit(split.X, split.y)
    return time.process_time() - start


def run_table(spec: TableSpec, seed: int, data_dir: str | Path) -> dict[str, Any]:
    """How the run ended and what it cost, under the names of a simulated run's record.

    The labels of all training rows are paid. An exception of the learner is an outcome.

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
    model = make_learner(spec.method, spec.told_noise_rate, seed)
    try:
        seconds = fit_quietly(model, split)
        error = float(1 - model.score(split.X_test, split.y_test))
    except Exception as caught:  # any exception is this seed's outcome
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
