"""Values that are wrong whatever the label says, and columns that merely look so."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from thresher.auditing.data_errors import CODE, FAR_OUT, STUCK, SWAPPED, find_data_errors
from thresher.auditing.tails import chance_of_tails

N, D = 400, 6
DRAWS = {
    "normal": lambda rng: rng.normal(size=(N, D)),
    "lognormal": lambda rng: np.exp(2 * rng.normal(size=(N, D))),
    "cauchy": lambda rng: rng.standard_cauchy((N, D)),
    "counts": lambda rng: rng.poisson(2.0, (N, D)).astype(float),
    "marks": lambda rng: rng.integers(0, 2, (N, D)).astype(float),
    "mostly zero": lambda rng: np.where(rng.random((N, D)) < 0.9, 0.0, rng.exponential(1, (N, D))),
    "rounded": lambda rng: rng.normal(size=(N, D)).round(1),
    "sorted": lambda rng: np.sort(rng.normal(size=(N, D)).round(1), axis=0),
    "constant": lambda _: np.ones((N, D)),
}


def clean(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).gamma(4.0, 1.0, size=(N, D))


def named(X: np.ndarray) -> list[int]:
    return np.flatnonzero(find_data_errors(X).probability >= 0.5).tolist()


@pytest.mark.parametrize("kind", DRAWS)
def test_ordinary_columns_of_every_shape_have_next_to_no_errors(kind: str) -> None:
    n_named = [len(named(DRAWS[kind](np.random.default_rng(seed)))) for seed in range(5)]
    assert sum(n_named) <= 0.002 * 5 * N


def test_a_wrong_unit_in_many_rows_is_found() -> None:
    X = clean()
    X[10:22, 4] *= 1000
    found = find_data_errors(X)
    assert named(X) == list(range(10, 22))
    (error,) = found.errors
    assert (error.column, error.problem) == (4, FAR_OUT)


def test_a_wrong_unit_in_a_third_of_the_nonzero_cells_is_found() -> None:
    X = clean()
    is_used = np.random.default_rng(1).random(N) < 0.2
    X[~is_used, 2] = 0
    wrong = np.flatnonzero(is_used)[::3]
    X[wrong, 2] *= 1000
    assert named(X) == wrong.tolist()


def test_a_wrong_unit_is_found_in_a_column_of_several_decades() -> None:
    X = np.exp(1.4 * np.random.default_rng(0).normal(size=(2000, 3)))
    X[:60, 1] *= 1000
    found = named(X)
    assert len(set(found) & set(range(60))) >= 54
    assert len(set(found) - set(range(60))) <= 2


def test_a_placeholder_is_found_wherever_it_stands() -> None:
    X = clean()
    places = [3, 77, 150, 320]
    X[places, 1] = -999
    found = find_data_errors(X)
    assert named(X) == places
    assert found.errors[0].problem == CODE


def test_a_code_of_another_sign_is_found_where_it_is_not_far_outside() -> None:
    X = clean()
    X[:, 1] *= 1000
    X[[3, 77, 150, 320], 1] = -999
    assert named(X) == [3, 77, 150, 320]


def test_a_value_that_is_stuck_within_the_range_is_found() -> None:
    X = clean()
    X[100:112, 5] = 4.0
    found = find_data_errors(X)
    assert named(X) == list(range(100, 112))
    assert found.errors[0].problem == STUCK


def test_swapped_columns_are_found_with_their_names() -> None:
    X = clean()
    X[:, 4] = X[:, 1] ** 2 + np.random.default_rng(1).normal(size=N)
    X[:, 3] += 6
    X[30:45, [1, 3]] = X[30:45, [3, 1]]
    found = find_data_errors(X)
    (error,) = found.errors
    assert (error.problem, error.column, error.other) == (SWAPPED, 1, 3)
    assert set(named(X)) <= set(range(30, 45))
    assert len(named(X)) >= 10


def test_rows_that_are_odd_come_before_others_and_are_not_named() -> None:
    X = clean()
    X[:, 1] = X[:, 0] + 0.3 * np.random.default_rng(1).normal(size=N)
    X[5, :2] = 6.0, 2.0
    found = find_data_errors(X)
    assert np.argmax(found.probability) == 5
    assert named(X) == []


def test_repeated_rows_are_not_a_stuck_sensor() -> None:
    X = clean()
    X[100:112] = X[100]
    assert named(X) == []


def test_sparse_rows_have_the_same_errors() -> None:
    X = clean()
    X[X < 2] = 0
    X[7, 0] = 1e6
    assert named(sp.csr_array(X)) == named(X) == [7]


def test_each_likely_row_belongs_to_an_error() -> None:
    X = clean()
    X[5, 0], X[9, 3] = 1e7, -1e7
    found = find_data_errors(X)
    for row in named(X):
        assert row in found.errors[found.worst[row]].rows


def test_the_chance_of_a_value_falls_with_its_distance() -> None:
    values = np.append(np.random.default_rng(0).normal(size=300), [10.0, 100.0, 1000.0])
    chance = chance_of_tails(values, 0.0)
    assert chance[-1] < chance[-2] < chance[-3] <= 1
    assert chance[:300].min() > 0.2


def test_a_side_with_few_values_says_nothing() -> None:
    assert (chance_of_tails(np.arange(10.0), 4.5) == 1).all()
