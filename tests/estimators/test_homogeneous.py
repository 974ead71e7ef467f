"""Rows that are scaled when they are asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from thresher import HalfspaceClassifier
from thresher.estimators.checks import Settings
from thresher.estimators.columns import ColumnScaling, HomogeneousRows

RNG = np.random.default_rng(0)
X = RNG.standard_normal((1500, 6)) * np.array([1, 2, 3, 4, 5, 6])
Y = np.where(X[:, 0] > 0, 1, 0)
SOME = np.flatnonzero(RNG.random(1500) < 0.4)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("with_ones", [True, False])
def test_parts_are_those_of_the_scaled_table(kind: Any, with_ones: bool) -> None:
    rows = kind(X)
    scaling = ColumnScaling.of(rows, reach=2.0)
    whole = scaling.apply(rows)
    whole = whole.toarray() if sp.issparse(whole) else whole
    table = HomogeneousRows(rows, scaling, with_ones)
    for places in (slice(None), slice(3, 700), SOME):
        part = table[places]
        part = part.toarray() if sp.issparse(part) else part
        np.testing.assert_array_equal(part[:, :6], whole[places])
        assert np.all(part[:, 6:] == 1)
        assert part.shape[1] == table.shape[1] == 6 + with_ones


def test_places_are_those_of_the_chosen_rows() -> None:
    table = HomogeneousRows(X, ColumnScaling.identity(6), False, SOME)
    assert table.shape == (SOME.size, 6)
    np.testing.assert_array_equal(table[np.array([2, 0])], X[SOME[[2, 0]]])


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("scale", [True, False])
def test_learning_from_places_is_learning_from_a_copy_of_them(kind: Any, scale: bool) -> None:
    rows = kind(X)
    copied = HalfspaceClassifier(2, scale=scale, random_state=0).fit(rows[SOME], Y[SOME])
    placed = HalfspaceClassifier(2, scale=scale, random_state=0)
    placed._learn(rows, Y, Settings.of(placed), SOME)
    np.testing.assert_array_equal(placed.coef_, copied.coef_)
    np.testing.assert_array_equal(placed.row_weights_, copied.row_weights_)
