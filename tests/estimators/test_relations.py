"""Metamorphic relations: what must happen to the model when the table is changed in a known way.

Exact relations hold to the last bit. The others change the order of sums: a solver may then stop a
step earlier or later, which moves the halfspace by a little of what its tolerance leaves open. Or
they change one row of 300, which may move it by all of that.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from estimators.small import angle, fitted, table
from thresher import HalfspaceClassifier

ROUNDING = 0.01  # radians; two relations and one table out of all differ by more than 1e-4
ONE_ROW = 0.1  # radians
N_TABLES = 10

Model = HalfspaceClassifier
Array, Rng = np.ndarray, np.random.Generator
Relation = Callable[[Array, Array, Rng, Model], tuple[float, float]]


def data(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows with labels; every other table has columns of different units, and planted rows."""
    clean = table(300, 8, seed=seed)
    if seed % 2:
        clean.X[:9] = 3.0
        clean.X *= np.logspace(-3, 3, 8)
        clean.X += 5.0
    return clean.X, clean.y


def model(X: Any, y: Any, **changes: Any) -> HalfspaceClassifier:
    """A fit that bears the planted rows."""
    return fitted(X, y, **{"noise_rate": 0.03, **changes})


@cache
def unchanged(seed: int) -> HalfspaceClassifier:
    """The fit to the table itself, which most relations compare with."""
    return model(*data(seed))


def in_scaled_units(made: HalfspaceClassifier) -> np.ndarray:
    """The weights of the scaled columns: in other units, one column would be all of the angle."""
    return made.coef_[0] * made.scaling_.scale


def permuted_columns(X: Array, y: Array, rng: Rng, before: Model) -> tuple[float, float]:
    order = rng.permutation(8)
    back = in_scaled_units(model(X[:, order], y))[np.argsort(order)]
    return angle(back, in_scaled_units(before)), ROUNDING


def negated_column(X: Array, y: Array, rng: Rng, before: Model) -> tuple[float, float]:
    signs = np.where(np.arange(8) == rng.choice(before.support_), -1.0, 1.0)
    return angle(signs * in_scaled_units(model(signs * X, y)), in_scaled_units(before)), ROUNDING


def flipped_labels(X: Array, y: Array, _rng: Rng, before: Model) -> tuple[float, float]:
    return angle(-in_scaled_units(model(X, -y)), in_scaled_units(before)), ROUNDING


def powers_of_two(X: Array, y: Array, rng: Rng, before: Model) -> tuple[float, float]:
    powers = 2.0 ** rng.integers(-60, 60, 8)
    back = model(powers * X, y).coef_ * powers
    return float(np.abs(back - before.coef_).max()), 0.0


def zero_columns(X: Array, y: Array, _rng: Rng, before: Model) -> tuple[float, float]:
    wider = model(np.hstack([X, np.zeros((300, 4))]), y)
    assert not wider.coef_[0, 8:].any()
    return angle(in_scaled_units(wider)[:8], in_scaled_units(before)), ROUNDING


def permuted_rows(X: Array, y: Array, rng: Rng, before: Model) -> tuple[float, float]:
    order = rng.permutation(300)
    after = model(X[order], y[order])
    assert np.abs(after.row_weights_ - before.row_weights_[order]).mean() < 0.01
    return angle(in_scaled_units(after), in_scaled_units(before)), ROUNDING


def duplicate_row(X: Array, y: Array, rng: Rng, before: Model) -> tuple[float, float]:
    i = rng.integers(20, 300)
    after = model(np.vstack([X, X[i]]), np.append(y, y[i]))
    return angle(in_scaled_units(after), in_scaled_units(before)), ONE_ROW


def dropped_pruned_row(X: Array, y: Array, rng: Rng, _: Model) -> tuple[float, float]:
    X = (X - np.median(X, axis=0)) / X.std(axis=0)
    far = 50 * rng.choice([-1.0, 1.0], 8)
    before = model(np.vstack([X, far]), np.append(y, 1.0), scale=False)
    assert before.row_weights_[-1] == 0
    return angle(model(X, y, scale=False).coef_, before.coef_), ONE_ROW


RELATIONS: list[Relation] = [
    permuted_columns,
    negated_column,
    flipped_labels,
    powers_of_two,
    zero_columns,
    permuted_rows,
    duplicate_row,
    dropped_pruned_row,
]


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in range(1, N_TABLES))]
)
@pytest.mark.parametrize("relation", RELATIONS, ids=lambda relation: relation.__name__)
def test_the_relation_holds(relation: Relation, seed: int) -> None:
    difference, tolerance = relation(*data(seed), np.random.default_rng(seed), unchanged(seed))
    assert difference <= tolerance


def test_an_angle_between_different_models_is_noticed() -> None:
    X, y = data(0)
    assert angle(model(X, y).coef_, model(np.roll(X, 1, axis=1), y).coef_) > ONE_ROW
