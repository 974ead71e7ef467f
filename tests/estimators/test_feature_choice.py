"""Columns chosen one after the other."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from thresher.estimators import feature_choice
from thresher.estimators.feature_choice import choose_features

RNG = np.random.default_rng(0)
ROWS = RNG.standard_normal((300, 20))
SIGNS = np.sign(ROWS[:, [2, 7, 11]].sum(axis=1) + 0.5 * RNG.standard_normal(300))
ONES = np.ones((300, 1))


def chosen(
    rows: object = ROWS, signs: np.ndarray = SIGNS, weights: np.ndarray = ONES, limit: int = 3
) -> list[int]:
    """The first choice."""
    return choose_features(rows, signs, weights, limit)[0].tolist()


def test_the_columns_that_the_labels_follow_are_found() -> None:
    assert chosen() == [2, 7, 11]


def test_a_copy_of_a_chosen_column_adds_nothing() -> None:
    # The largest coefficients of one fit would be those of the pair.
    rows = np.hstack([ROWS, ROWS[:, [2]]])
    signs = np.sign(3 * ROWS[:, 2] + ROWS[:, 7] + 0.1 * RNG.standard_normal(300))
    assert chosen(rows, signs, limit=2) == [2, 7]


def test_a_column_counts_by_its_spread_and_not_by_its_unit() -> None:
    rows = ROWS * np.where(np.arange(20) == 5, 100.0, 1.0)
    rows[:, 2] /= 100
    assert chosen(rows) == [2, 7, 11]


def test_an_offset_of_a_column_is_none_of_its_spread() -> None:
    assert chosen(ROWS + 5 * (np.arange(20) == 7)) == [2, 7, 11]


def test_rows_without_weight_have_no_influence() -> None:
    weights = np.where(np.arange(300) < 100, 0.0, 1.0)[:, None]
    signs = np.where(np.arange(300) < 100, np.sign(ROWS[:, 0]), SIGNS)
    rows = np.where(np.arange(300)[:, None] < 100, 50.0, 1.0) * ROWS
    assert chosen(rows, signs, weights) == [2, 7, 11]
    assert 0 in chosen(rows, signs)


def test_several_choices_at_once_are_those_made_one_by_one() -> None:
    weights = RNG.random((300, 3)) * (RNG.random((300, 3)) < 0.3)
    together = choose_features(ROWS, SIGNS, weights, 6)
    alone = [choose_features(ROWS, SIGNS, weights[:, [i]], 6)[0] for i in range(3)]
    assert [one.tolist() for one in together] == [one.tolist() for one in alone]


def test_dense_and_sparse_rows_give_the_same_columns() -> None:
    rows = np.where(np.abs(ROWS) > 0.7, ROWS, 0.0)
    assert chosen(rows, limit=6) == chosen(sp.csr_array(rows), limit=6)


@pytest.mark.parametrize("limit", [5, 19])
def test_a_large_limit_takes_several_columns_per_round(
    limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feature_choice, "MAX_ROUNDS", 2)
    assert len(chosen(limit=limit)) == limit


def test_constant_columns_are_never_chosen() -> None:
    rows = np.where(np.arange(20) < 4, ROWS, 7.0)
    assert chosen(rows, limit=10) == [0, 1, 2, 3]


def test_separated_classes_give_finite_fits() -> None:
    assert chosen(1e6 * ROWS, np.sign(ROWS[:, 4]), limit=1) == [4]
    assert len(chosen(1e6 * ROWS, np.sign(ROWS[:, 4]), limit=4)) == 4
