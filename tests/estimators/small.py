"""Small tables and quick estimators for the tests of `thresher.estimators`."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
import pytest

from runs import Table
from thresher import HalfspaceClassifier, HalfspaceClassifierCV, auditing
from thresher.errors import ThresherError, UncertifiedPhase
from thresher.estimators.examples import Examples
from thresher.estimators.folds import usual_folds
from thresher.learning import PracticalSchedule

QUICK = PracticalSchedule(radius_per_angle=50.0)  # two phases, whatever the noise
TYPED = (TypeError, ValueError, ThresherError)


def fitted(X: Any, y: Any, **changes: Any) -> HalfspaceClassifier:
    """The halfspace of two features, with fixed randomness."""
    options = {"sparsity": 2, "noise_rate": 0.02, "final_fit": "hinge", "random_state": 0}
    return HalfspaceClassifier(**{**options, **changes}).fit(X, y)


def quick(X: Any, y: Any, **changes: Any) -> HalfspaceClassifier:
    """The same in two phases."""
    return fitted(X, y, **{"schedule": QUICK, **changes})


def examine_quickly(table: Any, **options: Any) -> auditing.Findings:
    """`auditing.examine` in two phases, for what is told about its findings."""
    with pytest.MonkeyPatch.context() as patch:
        quick_choice = partial(HalfspaceClassifierCV, schedule=QUICK)
        patch.setattr(auditing.examination, "HalfspaceClassifierCV", quick_choice)
        return auditing.examination.examine(table, **options)


def table(n_rows: int = 200, n_features: int = 8, seed: int = 0) -> Table:
    """Rows with labels that depend on two features."""
    return Table(n_rows, n_features, 2, seed)


def planted(n_rows: int = 400, n_planted: int = 24, seed: int = 0) -> tuple[Table, np.ndarray]:
    """A table, and where its planted rows are: copies of one row, with the wrong label."""
    clean = table(n_rows, seed=seed)
    clean.X[:n_planted] = 4.0 * np.sign(clean.target) + (clean.target == 0)
    clean.y[:n_planted] = -1.0
    return clean, np.arange(n_rows) < n_planted


def spread_out() -> tuple[np.ndarray, np.ndarray]:
    """One class lies together, the other is spread widely around it; nothing is planted."""
    rng = np.random.default_rng(1)
    y = np.arange(300) % 3 > 0
    together = 0.7 + 0.4 * rng.standard_normal((300, 10))
    return np.where(y[:, None], together, 3 * rng.standard_t(3, (300, 10))), y


def angle(one: Any, other: Any) -> float:
    """The angle between two vectors of any length."""
    a, b = (np.ravel(v) / np.linalg.norm(v) for v in (one, other))
    return float(2 * np.arctan2(np.linalg.norm(a - b), np.linalg.norm(a + b)))


def outcome(estimator: Any, X: Any, y: Any) -> Any:
    """The typed error with which fitting ends, or the fitted estimator once it is seen to be sound.

    Sound: all that is given out is finite, and phases without a certificate were warned of.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            estimator.fit(X, y)
        except TYPED as error:
            return error
    kinds = {warning.category for warning in caught}
    assert not any(issubclass(kind, RuntimeWarning) for kind in kinds), caught
    assert all(p.is_certified for p in estimator.phases_) or UncertifiedPhase in kinds
    assert np.isfinite(estimator.coef_).all()
    assert np.isfinite(estimator.intercept_).all()
    assert ((estimator.row_weights_ >= 0) & (estimator.row_weights_ <= 1)).all()
    return estimator


def examples(n_rows: int = 120, n_columns: int = 12, seed: int = 0, **changes: Any) -> Examples:
    """Rows whose labels follow three columns, with some noise."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n_rows, n_columns))
    signs = np.sign(rows[:, :3].sum(axis=1) + 0.5 * rng.standard_normal(n_rows))
    everyone = np.ones(n_rows)
    given = {"rows": rows, "signs": signs, "weights": everyone, "judge": everyone}
    return Examples(**{**given, "folds": usual_folds(signs, 0), **changes})
