"""Promising columns: what planted rows can and cannot do to the choice."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from thresher.estimators.columns import ColumnScaling
from thresher.estimators.screening import promising_columns

RNG = np.random.default_rng(0)
N_ROWS, N_COLUMNS = 400, 60
SIGNS = np.where(np.arange(N_ROWS) % 2, 1.0, -1.0)
USEFUL = np.array([7, 23, 41])
ROWS = RNG.standard_normal((N_ROWS, N_COLUMNS))
ROWS[:, USEFUL] += 0.6 * SIGNS[:, None]
ROWS.flags.writeable = False


def with_planted(n_planted: int, values: float) -> np.ndarray:
    """The table, in which some rows of the second class have far values in the useful columns."""
    rows = ROWS.copy()
    rows[np.ix_(np.flatnonzero(SIGNS > 0)[:n_planted], USEFUL)] = values
    return rows


def test_the_columns_that_differ_between_the_classes_are_found() -> None:
    assert promising_columns(ROWS, SIGNS, 3).tolist() == USEFUL.tolist()


@pytest.mark.parametrize("at_most", [N_COLUMNS, N_COLUMNS + 1, 10**9])
def test_a_table_with_few_columns_keeps_all(at_most: int) -> None:
    assert promising_columns(ROWS, SIGNS, at_most).tolist() == list(range(N_COLUMNS))


@pytest.mark.parametrize("value", [-3.0, -1e9, -1e300])
def test_planted_rows_cannot_hide_a_useful_column(value: float) -> None:
    # Each of 20 rows of 200 moves the mean of its class by at most 4/200: by .4, less than the
    # difference of about 1.2 between the classes.
    assert promising_columns(with_planted(20, value), SIGNS, 3).tolist() == USEFUL.tolist()


def test_more_planted_rows_than_that_could_hide_it() -> None:
    assert promising_columns(with_planted(60, -1e9), SIGNS, 3).tolist() != USEFUL.tolist()


def test_how_far_planted_values_are_does_not_matter() -> None:
    near, far = (promising_columns(with_planted(60, v), SIGNS, 10) for v in (-1e3, -1e300))
    assert np.array_equal(near, far)


def test_the_order_of_the_columns_does_not_matter() -> None:
    order = np.random.default_rng(1).permutation(N_COLUMNS)
    found = promising_columns(ROWS[:, order], SIGNS, 12)
    assert sorted(order[found].tolist()) == promising_columns(ROWS, SIGNS, 12).tolist()


def test_the_order_of_the_rows_does_not_matter() -> None:
    order = np.random.default_rng(1).permutation(N_ROWS)
    again = promising_columns(ROWS[order], SIGNS[order], 12)
    assert np.array_equal(again, promising_columns(ROWS, SIGNS, 12))


def test_the_units_of_the_columns_do_not_matter() -> None:
    rng = np.random.default_rng(1)
    factors = 2.0 ** rng.integers(-30, 30, N_COLUMNS) * rng.choice([-1.0, 1.0], N_COLUMNS)
    again = promising_columns(ROWS * factors + 3 * factors, SIGNS, 12)
    assert np.array_equal(again, promising_columns(ROWS, SIGNS, 12))


def test_flipped_labels_give_the_same_columns() -> None:
    assert np.array_equal(promising_columns(ROWS, -SIGNS, 12), promising_columns(ROWS, SIGNS, 12))


def test_sparse_rows_give_the_columns_of_dense_ones() -> None:
    rows = np.where(np.abs(ROWS) > 0.8, ROWS, 0.0)
    scaling = ColumnScaling.of(sp.csr_array(rows), reach=2.0)
    dense, sparse = (
        promising_columns(kind(rows), SIGNS, 12, scaling) for kind in (np.asarray, sp.csr_array)
    )
    assert np.array_equal(dense, sparse)


def test_more_columns_than_a_block_are_compared_with_each_other() -> None:
    wide = np.hstack([RNG.standard_normal((N_ROWS, 300)), ROWS, RNG.standard_normal((N_ROWS, 300))])
    assert promising_columns(wide, SIGNS, 3).tolist() == (300 + USEFUL).tolist()


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_the_columns_of_places_are_those_of_a_copy(kind) -> None:
    places = np.flatnonzero(np.random.default_rng(2).random(N_ROWS) < 0.5)
    of_places = promising_columns(kind(ROWS), SIGNS[places], 12, places=places)
    assert np.array_equal(of_places, promising_columns(kind(ROWS[places]), SIGNS[places], 12))


def test_a_constant_column_is_not_promising() -> None:
    rows = ROWS.copy()
    rows[:, :50] = 3.0
    assert promising_columns(rows, SIGNS, 3).min() >= 50


def test_a_table_of_constants_has_columns_all_the_same() -> None:
    assert promising_columns(np.ones((N_ROWS, 9)), SIGNS, 4).size == 4
