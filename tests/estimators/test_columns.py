"""Scaling by medians: what it does to ordinary, constant, sparse and absurd columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from estimators.small import QUICK
from thresher import HalfspaceClassifier
from thresher.estimators.checks import Settings
from thresher.estimators.columns import MAD_TO_DEVIATION, ColumnScaling, HomogeneousRows

RNG = np.random.default_rng(0)
LARGEST = np.finfo(np.float64).max


def sparse_table(density: float) -> Any:
    """30 × 6 with about this share of entries, all between 0 and 1."""
    entries = RNG.random((30, 6))
    return sp.csr_array(np.where(RNG.random((30, 6)) < density, entries, 0.0))


def of(*column: float, reach: float = 10.0) -> ColumnScaling:
    """The scaling of one dense column."""
    return ColumnScaling.of(np.array(column)[:, None], reach)


def test_an_ordinary_column_is_centered_at_its_median() -> None:
    assert of(1, 2, 3, 4, 100).center == [3]


def test_an_ordinary_column_is_scaled_by_its_median_absolute_deviation() -> None:
    assert of(1, 2, 3, 4, 100).scale == [MAD_TO_DEVIATION]


def test_a_gaussian_column_gets_about_unit_variance() -> None:
    # The MAD of 20,000 normals has a relative standard error of .8 %: five of them are 4 %.
    X = 7 + 3 * RNG.standard_normal((20_000, 1))
    assert ColumnScaling.of(X, 10.0).apply(X).std() == pytest.approx(1, abs=0.04)


def test_a_column_of_mostly_one_value_is_centered_there() -> None:
    assert of(5, 5, 5, 5, 9, 1, 8).center == [5]


def test_a_column_of_mostly_one_value_is_scaled_by_how_far_the_others_are() -> None:
    assert of(5, 5, 5, 5, 9, 1, 8).scale == [4]


def test_a_constant_column_becomes_zero() -> None:
    X = np.full((6, 1), 7.5)
    assert not ColumnScaling.of(X, 2.0).apply(X).any()


def test_a_sparse_column_is_not_centered() -> None:
    X = sp.csr_array([[0.0], [0.0], [4.0], [-2.0], [6.0]])
    assert ColumnScaling.of(X, 2.0).center == [0]


def test_a_sparse_column_is_scaled_by_its_nonzero_entries() -> None:
    X = sp.csr_array([[0.0], [0.0], [4.0], [-2.0], [6.0]])
    assert ColumnScaling.of(X, 2.0).scale == [4]


def test_explicit_zeros_of_a_sparse_column_do_not_count() -> None:
    X = sp.csr_array(([4.0, 0.0, 0.0, 0.0], ([0, 1, 2, 3], [0] * 4)), shape=(5, 1))
    assert ColumnScaling.of(X, 2.0).scale == [4]


def test_an_empty_sparse_column_is_left_alone() -> None:
    assert ColumnScaling.of(sp.csr_array((5, 2)), 2.0).scale.tolist() == [1, 1]


def test_a_sparse_table_stays_sparse() -> None:
    X = sparse_table(density=0.2)
    assert ColumnScaling.of(X, 2.0).apply(X).nnz == X.nnz


def test_sparse_and_dense_rows_are_scaled_alike() -> None:
    X = sparse_table(density=0.5)
    scaling = ColumnScaling.of(X, 1.5)
    assert np.allclose(scaling.apply(X).toarray(), scaling.apply(X.toarray()), rtol=1e-15)


def test_nothing_exceeds_the_reach() -> None:
    X = 50 * RNG.standard_cauchy((500, 3))
    assert np.abs(ColumnScaling.of(X, 2.0).apply(X)).max() == 2.0


@pytest.mark.parametrize("size", [1e3, 1e100, 1e308, -1e308])
def test_one_absurd_row_among_two_thousand_hardly_moves_the_scaling(size: float) -> None:
    X = RNG.standard_normal((2000, 3))
    before = ColumnScaling.of(X, 2.0)
    after = ColumnScaling.of(np.vstack([X, np.full(3, size)]), 2.0)
    # The next of 2,000 normals to their median is less than .01 away, but for one in e^8.
    assert np.abs(after.center - before.center).max() < 0.01
    assert np.abs(after.scale - before.scale).max() < 0.01


def test_the_size_of_an_absurd_row_does_not_matter_at_all() -> None:
    X = RNG.standard_normal((200, 3))
    tables = [np.vstack([X, np.full(3, size)]) for size in (1e2, LARGEST)]
    first, last = (ColumnScaling.of(rows, 2.0).apply(rows) for rows in tables)
    assert first.tobytes() == last.tobytes()


@pytest.mark.parametrize(
    "column",
    [
        [LARGEST, -LARGEST] * 10,
        [LARGEST, -LARGEST, 0.0],
        [LARGEST / 2, LARGEST / 3] * 4,
        [5e-324, 0.0, 1e-323, 5e-324],
        [1e-310, -1e-310, 2e-310],
        [1e308, 1e-308, 0.0, 1.0],
        [0.0, 0.0, 0.0, LARGEST],
    ],
)
@pytest.mark.parametrize("kind", [np.array, sp.csr_array], ids=["dense", "sparse"])
def test_columns_at_the_ends_of_the_floats_are_scaled_without_a_warning(
    column: list[float], kind: type
) -> None:
    X = kind([[value] for value in column])
    scaling = ColumnScaling.of(X, 2.0)
    scaled = scaling.apply(X)
    values = scaled.data if sp.issparse(scaled) else scaled
    assert np.isfinite([scaling.center, scaling.scale, 1 / scaling.scale]).all()
    assert np.abs(values).max() <= 2.0


def test_a_constant_sparse_column_becomes_zero_and_others_do_not() -> None:
    columns = [[3.0] * 4, [-2.0] * 4, [3.0, -3.0] * 2, [0.0, 3.0, 3.0, 3.0], [0.0] * 4]
    X = sp.csr_array(np.transpose(columns))
    scaled = ColumnScaling.of(X, 2.0).apply(X).toarray()
    assert scaled.any(axis=0).tolist() == [False, False, True, True, False]


def test_powers_of_two_change_nothing_but_the_units() -> None:
    X = RNG.standard_normal((101, 4))
    powers = 2.0 ** np.array([0, 5, -40, 300])
    assert np.array_equal(
        ColumnScaling.of(X * powers, 2.0).apply(X * powers), ColumnScaling.of(X, 2.0).apply(X)
    )


def test_some_columns_can_be_scaled_alone() -> None:
    X = RNG.standard_normal((20, 5))
    scaling, columns = ColumnScaling.of(X, 2.0), np.array([3, 1])
    assert np.array_equal(scaling.take(columns).apply(X[:, columns]), scaling.apply(X)[:, columns])


def test_the_result_can_be_written_into_a_larger_array() -> None:
    X, out = RNG.standard_normal((20, 3)), np.ones((20, 4))
    scaling = ColumnScaling.of(X, 2.0)
    scaling.apply(X, out=out[:, :3])
    assert np.array_equal(out, np.hstack([scaling.apply(X), np.ones((20, 1))]))


# -- one scale for all columns ---------------------------------------------------------------


@pytest.mark.parametrize("factor", [0.3, 1.0, 2.0])
def test_a_table_of_ordinary_size_is_left_alone(factor: float) -> None:
    X = factor * RNG.standard_normal((200, 5))
    assert ColumnScaling.common(X).apply(X).tobytes() == X.tobytes()


@pytest.mark.parametrize("factor", [1e-300, 1e-12, 1e3, 1e12, 1e300])
def test_a_table_far_from_it_is_divided_by_one_power_of_two(factor: float) -> None:
    X = RNG.standard_normal((200, 5))
    scaling = ColumnScaling.common(X * factor)
    assert np.unique(scaling.scale).size == 1
    assert np.log2(scaling.scale[0]) % 1 == 0
    assert 0.5 < scaling.apply(X * factor).std() < 2


def test_a_few_absurd_rows_do_not_decide_the_common_scale() -> None:
    X = RNG.standard_normal((200, 5))
    X[:20] = 1e200
    assert ColumnScaling.common(X).scale.tolist() == [1] * 5


def test_the_largest_numbers_have_a_finite_common_scale() -> None:
    X = np.full((2, 1), np.finfo(np.float64).max)
    with np.errstate(over="raise"):
        assert ColumnScaling.common(X).scale.tolist() == [2.0**1023]


def test_a_table_of_zeros_has_a_common_scale_of_one() -> None:
    assert ColumnScaling.common(np.zeros((4, 2))).scale.tolist() == [1, 1]


# -- rows that are scaled when they are read -------------------------------------------------

X = np.random.default_rng(0).standard_normal((1500, 6)) * np.array([1, 2, 3, 4, 5, 6])
Y = np.where(X[:, 0] > 0, 1, 0)
SOME = np.flatnonzero(np.random.default_rng(1).random(1500) < 0.4)


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
    options = {"final_fit": "hinge", "scale": scale, "schedule": QUICK, "random_state": 0}
    copied = HalfspaceClassifier(2, **options).fit(rows[SOME], Y[SOME])
    placed = HalfspaceClassifier(2, **options)
    placed._learn(rows, Y, Settings.of(placed), SOME)
    np.testing.assert_array_equal(placed.coef_, copied.coef_)
    np.testing.assert_array_equal(placed.row_weights_, copied.row_weights_)
