from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from thresher.labeling.near_copies import near_copies

N_COPIES = 20


def pool_with_copies(rng: np.random.Generator) -> np.ndarray:
    """Counts of which the last 20 rows are copies of the first 20, but for three entries."""
    rows = rng.poisson(1.0, size=(400, 30)) * rng.integers(1, 50, size=(400, 30)).astype(float)
    copies = rows[:N_COPIES].copy()
    copies[:, rng.choice(30, size=3, replace=False)] = 7.0
    return np.vstack([rows, copies])


@pytest.fixture
def rows() -> np.ndarray:
    return pool_with_copies(np.random.default_rng(0))


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_copies_and_their_originals_are_found_and_nothing_else(container: Any, rows: Any) -> None:
    found = near_copies(container(rows), noise_rate=0.05)
    assert found[:N_COPIES].mean() >= 0.9 and found[-N_COPIES:].mean() >= 0.9
    assert not found[N_COPIES:-N_COPIES].any()


def test_equal_rows_are_not_near_copies() -> None:
    rows = np.random.default_rng(0).standard_normal((100, 10))
    assert not near_copies(np.vstack([rows, rows[:5]]), noise_rate=0.1).any()


def test_a_pool_with_more_near_copies_than_planted_rows_explain_keeps_them() -> None:
    rows = pool_with_copies(np.random.default_rng(0))
    assert near_copies(rows, noise_rate=0.05).any()
    assert not near_copies(rows, noise_rate=0.02).any()


@pytest.mark.parametrize("n_columns", [1, 5, 40])
def test_rows_of_few_values_are_alike_by_chance(n_columns: int) -> None:
    rows = np.random.default_rng(0).integers(2, size=(500, n_columns)).astype(float)
    assert not near_copies(rows, noise_rate=0.4).any()


def test_measurements_without_copies_have_no_near_copies() -> None:
    rows = np.random.default_rng(0).standard_normal((500, 20))
    assert not near_copies(rows.round(1), noise_rate=0.4).any()


def test_nothing_is_looked_for_without_noise(rows: np.ndarray) -> None:
    assert not near_copies(rows, noise_rate=0.0).any()


@pytest.mark.parametrize("rows", [np.zeros((3, 2)), np.ones((1, 1)), sp.csr_array((4, 3))])
def test_a_pool_without_rare_values_has_no_near_copies(rows: Any) -> None:
    assert not near_copies(rows, noise_rate=0.05).any()
