from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from labeling.pools import finish
from thresher import ActiveClassifier
from thresher.labeling.dependence import Dependence
from thresher.labeling.near_copies import NearCopies
from thresher.labeling.scaled_pool import ScaledPool

N_COPIES = 20


def copies_in(rows: Any, noise_rate: float) -> NearCopies:
    return NearCopies.of(rows, ScaledPool.of(rows).rows, noise_rate)


def near_copies(rows: Any, noise_rate: float) -> np.ndarray:
    """Both kinds."""
    found = copies_in(rows, noise_rate)
    assert not (found.changed & found.undecided).any()
    return found.changed | found.undecided


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


# -- which of two near copies was changed --------------------------------------------------------

N_CHANGED = 50


def dependent_rows(n_rows: int = 600, n_columns: int = 40) -> np.ndarray:
    """Rows whose columns depend on each other."""
    rng = np.random.default_rng(0)
    factors = rng.standard_normal((n_rows, 5)) @ rng.standard_normal((5, n_columns))
    return (factors + 0.3 * rng.standard_normal(factors.shape)).round(3)


def with_copies(change: Any) -> tuple[np.ndarray, np.ndarray]:
    """These rows, and copies of the first 50 with a tenth of their entries changed below them."""
    rows, rng = dependent_rows(), np.random.default_rng(1)
    taken = rng.random((N_CHANGED, rows.shape[1])) < 0.1
    taken[np.arange(N_CHANGED), np.arange(N_CHANGED) % 40] = True
    copies = np.where(taken, change(rows), rows[:N_CHANGED])
    return np.vstack([rows, copies]), np.arange(600 + N_CHANGED) >= 600


def entries_of_others(rows: np.ndarray) -> np.ndarray:
    return rows[N_CHANGED : 2 * N_CHANGED]


def predictions(rows: np.ndarray) -> np.ndarray:
    """What the other columns say about each entry of the first rows."""
    found = Dependence.of(rows)
    centered = rows[:N_CHANGED] - found.center
    return rows[:N_CHANGED] - centered @ found.precision / np.diag(found.precision)


@pytest.mark.parametrize("change", [entries_of_others, lambda rows: 0.0 * rows[:N_CHANGED]])
def test_of_two_near_copies_the_changed_one_can_show(change: Any) -> None:
    rows, is_copy = with_copies(change)
    found = copies_in(rows, noise_rate=0.1)
    assert found.changed[is_copy].mean() > 0.6
    assert not found.changed[~is_copy].any()
    assert (found.undecided[:N_CHANGED] == ~found.changed[600:]).all()  # originals go with copies
    assert not found.undecided[N_CHANGED:600].any()


@pytest.mark.parametrize(
    "change",
    [lambda rows: 1.001 * rows[:N_CHANGED], predictions],
    ids=["tiny changes", "predictions"],
)
def test_copies_as_usual_as_their_originals_leave_both_undecided(change: Any) -> None:
    rows, _ = with_copies(change)
    found = copies_in(rows, noise_rate=0.1)
    assert found.changed.sum() <= 3
    assert found.undecided[:N_CHANGED].mean() > 0.9


def test_the_order_of_rows_and_columns_and_the_units_hardly_matter() -> None:
    rows, _ = with_copies(entries_of_others)
    rng = np.random.default_rng(1)
    columns, order = rng.permutation(rows.shape[1]), rng.permutation(rows.shape[0])
    found = copies_in(rows, noise_rate=0.1).changed
    again = copies_in(4 * rows[order][:, columns], noise_rate=0.1).changed
    assert (found[order] == again).mean() > 0.98  # other rows are learned from


def test_near_copies_among_independent_columns_are_undecided() -> None:
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((600, 20))
    rows[550:, 2:] = rows[:50, 2:]
    found = copies_in(rows, noise_rate=0.1)
    assert not found.changed.any()
    assert found.undecided[:50].all() and found.undecided[550:].all()


def test_near_copies_in_sparse_pools_are_undecided() -> None:
    rows, _ = with_copies(entries_of_others)
    found = copies_in(sp.csr_array(rows), noise_rate=0.1)
    assert not found.changed.any()
    assert found.undecided[:N_CHANGED].mean() > 0.9


def test_one_row_of_huge_entries_changes_nothing() -> None:
    rows, is_copy = with_copies(entries_of_others)
    rows[300] = 1e200
    found = copies_in(rows, noise_rate=0.1)
    assert found.changed[is_copy].mean() > 0.6


def odd_group(n_columns: int = 40) -> np.ndarray:
    """Forty rows that are near copies of eight unusual ones."""
    rng = np.random.default_rng(2)
    rows = (2 * rng.standard_normal((8, n_columns))).round(3).repeat(5, axis=0)
    rows[np.arange(40), np.arange(40) % 5] += 0.5
    return rows


def test_near_copies_that_are_all_unusual_are_undecided() -> None:
    rows = np.vstack([dependent_rows(), odd_group()])
    found = copies_in(rows, noise_rate=0.1)
    assert not found.changed.any()
    assert found.undecided[600:].all()


@pytest.mark.filterwarnings("ignore::thresher.errors.DoubtfulLabels")  # one class at first
def test_a_genuine_group_of_odd_near_copies_is_asked_about() -> None:
    rows, is_rare = np.vstack([dependent_rows(560), odd_group()]), np.arange(600) >= 560
    learner = finish(ActiveClassifier(rows, label_budget=200, random_state=0), is_rare)
    assert sum(is_rare[row] for row in learner._transcript.asked()) >= 20
