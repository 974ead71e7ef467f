"""Bar E4: time and memory of `HalfspaceClassifier` on a table of 20,000 rows and 1,000 features."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import psutil
from sklearn.linear_model import LogisticRegression

from benchmarks.ratio import Ratio, seconds_of
from thresher import HalfspaceClassifier
from thresher.simulate import poison, random_target

N_ROWS, N_FEATURES, SPARSITY, PLANTED = 20_000, 1_000, 10, 0.05
SAMPLING_SECONDS = 0.005


def measure() -> list[Ratio]:
    """Seconds against scikit-learn's L1 logistic regression, bytes against those of the table."""
    table = poisoned_table()
    X, y = table.X, table.y
    model = HalfspaceClassifier(SPARSITY, PLANTED, random_state=0)
    rival = LogisticRegression(l1_ratio=1, solver="saga")
    model.fit(X[:500, :20].copy(), y[:500])  # so that what is imported late is not counted
    n_bytes, ours = _peak_of(lambda: model.fit(X, y))
    theirs = seconds_of(lambda: rival.fit(X, y))
    clean = ~table.is_planted
    note = (
        f"error on clean rows {1 - model.score(X[clean], y[clean]):.3f}, "
        f"saga {1 - rival.score(X[clean], y[clean]):.3f}"
    )
    size = f"{N_ROWS:,} x {N_FEATURES:,}"
    return [
        Ratio("E4", f"fit {size} over saga, seconds", ours, theirs, 1.5, 1.0, note=note),
        Ratio("E4", f"fit {size}, memory over the table's", n_bytes, X.nbytes, 3.0),
    ]


def poisoned_table() -> Any:
    """Gaussian rows with a sparse target, one in twenty planted."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((round((1 - PLANTED) * N_ROWS), N_FEATURES))
    labels = np.where(rows @ random_target(N_FEATURES, SPARSITY, 0) > 0, 1, -1)
    return poison(rows, labels, attack="on-support-tilt", fraction=PLANTED, random_state=0)


def _peak_of(function: Any) -> tuple[float, float]:
    """By how many bytes the process grew at most while a function ran, and its seconds."""
    process, is_over = psutil.Process(), threading.Event()
    before = peak = process.memory_info().rss

    def watch() -> None:
        nonlocal peak
        while not is_over.wait(SAMPLING_SECONDS):
            peak = max(peak, process.memory_info().rss)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        seconds = seconds_of(function)
    finally:
        is_over.set()
        watcher.join()
    return float(peak - before), seconds
