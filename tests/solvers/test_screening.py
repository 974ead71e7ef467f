"""Columns that are set aside: what they could have mattered is bounded, and kept to its share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from problems import second_moment
from thresher.solvers import worst_direction
from thresher.solvers.scaling import ScaledRows, scale_rows
from thresher.solvers.screening import Screen, screen_columns

RADIUS, SHARE = 2.0, 0.05


@pytest.fixture(autouse=True)
def no_column_is_kept_for_its_cheapness(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thresher.solvers.screening.FEW_COLUMNS", 1)


def fading_rows(seed: int, *, n_planted: int = 0) -> np.ndarray:
    """Rows whose columns grow fainter and fainter; the first rows are large in a faint one."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((200, 40)) * (rng.random((200, 40)) < 0.4) * 0.8 ** np.arange(40)
    X[:n_planted] = 0.0
    X[:n_planted, 39] = 30.0
    return X


def scaled(X: Any, fraction: float = 0.05) -> ScaledRows:
    return scale_rows(X, fraction, l2_radius=1.0)


def screened(X: np.ndarray) -> Screen:
    return screen_columns(scaled(sp.csr_array(X)), l1_radius=RADIUS, share=SHARE)


@pytest.mark.parametrize("seed", range(10))
def test_no_entry_outside_of_the_kept_columns_exceeds_the_rest(seed: int) -> None:
    X = fading_rows(seed)
    screen = screened(X)
    assert screen.columns is not None
    assert 0 < screen.columns.size < 40
    outside = np.delete(second_moment(X), screen.columns, axis=0)
    assert np.abs(outside).max() <= screen.rest


@pytest.mark.parametrize("n_planted", [0, 10])
@pytest.mark.parametrize("seed", range(10))
def test_the_dropped_columns_matter_no_more_than_their_share(seed: int, n_planted: int) -> None:
    X = fading_rows(seed, n_planted=n_planted)
    screen = screened(X)
    clean = X[n_planted:]  # any weights leave at least about the variance of these
    radii = {"l2_radius": 1.0, "l1_radius": RADIUS}
    whole = worst_direction(second_moment(clean), **radii)
    kept = worst_direction(second_moment(screen.restrict(clean)), **radii)
    assert kept.upper >= (1 - SHARE) * whole.lower
    assert RADIUS**2 * screen.rest <= SHARE * whole.upper


def test_the_column_of_planted_rows_is_kept() -> None:
    columns = screened(fading_rows(0, n_planted=10)).columns
    assert columns is not None
    assert 39 in columns


def test_dense_rows_keep_every_column() -> None:
    screen = screen_columns(scaled(fading_rows(0)), l1_radius=RADIUS, share=SHARE)
    assert screen == Screen(None, 0.0)


def test_columns_alike_are_all_kept() -> None:
    assert screened(np.eye(30)[np.arange(300) % 30]).columns is None


def test_columns_of_zeros_are_dropped_at_no_cost() -> None:
    X = np.concatenate([np.eye(3)[np.arange(90) % 3], np.zeros((90, 5))], axis=1)
    screen = screened(X)
    assert screen.rest == 0
    np.testing.assert_array_equal(screen.columns, [0, 1, 2])


def test_rows_of_zeros_keep_one_column() -> None:
    screen = screened(np.zeros((5, 3)))
    np.testing.assert_array_equal(screen.columns, [0])


def test_few_columns_are_all_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thresher.solvers.screening.FEW_COLUMNS", 40)
    assert screened(fading_rows(0)).columns is None


def test_directions_are_extended_by_zeros() -> None:
    screen = Screen(np.array([1, 3]), 0.1)
    np.testing.assert_array_equal(screen.extend(np.array([5.0, 6.0]), 4), [0, 5, 0, 6])
    np.testing.assert_array_equal(screen.extend(np.eye(2), 4), [[0, 1, 0, 0], [0, 0, 0, 1]])
    np.testing.assert_array_equal(Screen(None, 0.0).extend(np.eye(2), 2), np.eye(2))


def test_the_same_rows_give_the_same_columns() -> None:
    one, other = screened(fading_rows(3)), screened(fading_rows(3))
    np.testing.assert_array_equal(one.columns, other.columns)
    assert one.rest == other.rest
