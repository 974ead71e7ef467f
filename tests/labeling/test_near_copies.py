from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from thresher.labeling.near_copies import NearCopies

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
    found = NearCopies.of(container(rows), noise_rate=0.05).rows
    assert found[:N_COPIES].mean() >= 0.9 and found[-N_COPIES:].mean() >= 0.9
    assert not found[N_COPIES:-N_COPIES].any()


def test_equal_rows_are_not_near_copies() -> None:
    rows = np.random.default_rng(0).standard_normal((100, 10))
    assert not NearCopies.of(np.vstack([rows, rows[:5]]), noise_rate=0.1).rows.any()


def test_a_pool_with_more_near_copies_than_planted_rows_explain_keeps_them() -> None:
    rows = pool_with_copies(np.random.default_rng(0))
    assert NearCopies.of(rows, noise_rate=0.05).rows.any()
    assert not NearCopies.of(rows, noise_rate=0.02).rows.any()


@pytest.mark.parametrize("n_columns", [1, 5, 40])
def test_rows_of_few_values_are_alike_by_chance(n_columns: int) -> None:
    rows = np.random.default_rng(0).integers(2, size=(500, n_columns)).astype(float)
    assert not NearCopies.of(rows, noise_rate=0.4).rows.any()


def test_measurements_without_copies_have_no_near_copies() -> None:
    rows = np.random.default_rng(0).standard_normal((500, 20))
    assert not NearCopies.of(rows.round(1), noise_rate=0.4).rows.any()


def test_nothing_is_looked_for_without_noise(rows: np.ndarray) -> None:
    assert not NearCopies.of(rows, noise_rate=0.0).rows.any()


@pytest.mark.parametrize("rows", [np.zeros((3, 2)), np.ones((1, 1)), sp.csr_array((4, 3))])
def test_a_pool_without_rare_values_has_no_near_copies(rows: Any) -> None:
    assert not NearCopies.of(rows, noise_rate=0.05).rows.any()


# -- which of two near copies was changed --------------------------------------------------------


def dependent_pool(container: Any = np.asarray, n_columns: int = 40) -> tuple[Any, Any]:
    """Rows whose columns depend on each other, and copies with entries of other rows below them."""
    rng = np.random.default_rng(0)
    factors = rng.standard_normal((600, 5)) @ rng.standard_normal((5, n_columns))
    rows = (factors + 0.5 * rng.standard_normal(factors.shape)).round(3)
    copies = np.where(rng.random((50, n_columns)) < 0.1, rows[50:100], rows[:50])
    return container(np.vstack([rows, copies])), np.arange(650) >= 600


def test_of_two_near_copies_the_changed_one_is_found() -> None:
    rows, is_copy = dependent_pool()
    found = NearCopies.of(rows, noise_rate=0.1)
    assert found.are_changed_alone
    assert found.rows[is_copy].mean() > 0.9
    assert found.rows[~is_copy].sum() <= 5


def test_the_order_of_rows_and_columns_and_the_units_do_not_matter() -> None:
    rows, _ = dependent_pool()
    rng = np.random.default_rng(1)
    columns, order = rng.permutation(rows.shape[1]), rng.permutation(rows.shape[0])
    found = NearCopies.of(rows, noise_rate=0.1).rows
    again = NearCopies.of(4 * rows[order][:, columns], noise_rate=0.1).rows
    assert (found[order] == again).mean() > 0.99  # other rows are learned from


def test_originals_of_independent_columns_count_as_near_copies() -> None:
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((600, 20))
    rows[550:, 2:] = rows[:50, 2:]
    found = NearCopies.of(rows, noise_rate=0.1)
    assert not found.are_changed_alone
    assert found.rows[:50].all() and found.rows[550:].all()


def test_originals_in_sparse_pools_count_as_near_copies() -> None:
    rows, _ = dependent_pool(sp.csr_array)
    found = NearCopies.of(rows, noise_rate=0.1)
    assert not found.are_changed_alone
    assert found.rows[:50].mean() > 0.9


def test_near_copies_that_are_all_unusual_are_all_found() -> None:
    rows, is_copy = dependent_pool()
    rows[is_copy] = np.random.default_rng(1).standard_normal((10, rows.shape[1])).repeat(5, axis=0)
    rows[is_copy, np.arange(50) % 5] += 0.5
    found = NearCopies.of(rows, noise_rate=0.1)
    assert found.are_changed_alone
    assert found.rows[is_copy].all()
