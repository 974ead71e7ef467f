"""Log loss of `predict_proba` beside calibrated logistic regression, on clean tables.

    python -m benchmarks.log_loss --data-dir DIR

70 % of the rows are learned from; means over the splits. The reference is scikit-learn's
`CalibratedClassifierCV` around logistic regression on standardized columns. "share" is the time of
the calibration in that of our fit. The exit status is 1 if a ratio exceeds the bar.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from unittest.mock import patch

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from thresher import HalfspaceClassifier, HalfspaceClassifierCV, TrustedClassifier
from thresher.estimators import halfspace
from thresher.estimators.calibration import fit_slope
from thresher.experiments.table_run import load_table

BAR = 1.1
TABLES = ("breast_cancer", "spambase", "cina")
OURS: dict[str, Callable[[], Any]] = {
    "HalfspaceClassifier()": HalfspaceClassifier,
    "HalfspaceClassifier('auto')": lambda: HalfspaceClassifier("auto"),
    "HalfspaceClassifierCV()": HalfspaceClassifierCV,
    "TrustedClassifier()": TrustedClassifier,
    "final_fit='hinge'": lambda: HalfspaceClassifier("auto", final_fit="hinge"),
}


def table(name: str, data_dir: str) -> tuple[Any, Any]:
    """The rows and labels of a table."""
    if name == "breast_cancer":
        return load_breast_cancer(return_X_y=True)
    loaded = load_table(data_dir, name)
    return loaded.X, np.asarray(loaded.y)


def reference() -> Any:
    """Calibrated logistic regression."""
    return CalibratedClassifierCV(
        make_pipeline(StandardScaler(with_mean=False), LogisticRegression(max_iter=1000))
    )


def measured(make: Callable[[], Any], X: Any, y: Any, n_splits: int) -> Iterator[list[float]]:
    """Log loss, error, seconds of a fit, and of its calibration, for each split."""
    for train, test in StratifiedShuffleSplit(n_splits, test_size=0.3, random_state=0).split(X, y):
        model, clock = make(), Clock(fit_slope)
        if "random_state" in model.get_params():
            model.set_params(random_state=0)
        start = time.perf_counter()
        with warnings.catch_warnings(), patch.object(halfspace, "fit_slope", clock):
            warnings.simplefilter("ignore")
            model.fit(X[train], y[train])
        seconds = time.perf_counter() - start
        loss = log_loss(y[test], model.predict_proba(X[test]), labels=model.classes_)
        yield [loss, 1 - model.score(X[test], y[test]), seconds, clock.seconds]


class Clock:
    """A function that adds up how long it takes."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.seconds = function, 0.0

    def __call__(self, *args: Any) -> Any:
        start = time.perf_counter()
        answer = self.function(*args)
        self.seconds += time.perf_counter() - start
        return answer


def main(argv: Sequence[str] | None = None) -> int:
    """Print the log losses; 0 if the bar is kept for every estimator but the bare halfspace."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.log_loss")
    parser.add_argument("--data-dir", default=".", help="folder of spambase and cina")
    parser.add_argument("--tables", nargs="+", metavar="NAME", default=TABLES)
    parser.add_argument("--splits", type=int, default=3)
    options = parser.parse_args(argv)
    is_kept = True
    print(f"{'table':14} {'estimator':28} {'log loss':>8} {'ratio':>6} {'error':>7} {'share':>6}")
    for name in options.tables:
        X, y = table(name, options.data_dir)
        usual, error, *_ = np.mean(list(measured(reference, X, y, options.splits)), axis=0)
        print(f"{name:14} {'calibrated regression':28} {usual:8.4f} {1:6.2f} {error:7.2%}")
        for title, make in OURS.items():
            loss, error, fit, extra = np.mean(list(measured(make, X, y, options.splits)), axis=0)
            is_kept &= bool(loss <= BAR * usual) or "hinge" in title
            shown = f"{loss:8.4f} {loss / usual:6.2f} {error:7.2%} {extra / fit:6.1%}"
            print(f"{name:14} {title:28} {shown}", flush=True)
    return 0 if is_kept else 1


if __name__ == "__main__":
    sys.exit(main())
