"""The computed random order: a permutation, and a random one."""

import numpy as np
import pytest

from thresher.oracles.large.row_order import RowOrder


@pytest.mark.parametrize("n_rows", [1, 2, 3, 7, 64, 1000, 4097])
def test_every_row_has_one_place(n_rows: int) -> None:
    order = RowOrder(n_rows, seed=3, draw=1)
    ids = order.ids(np.arange(n_rows))
    assert sorted(ids.tolist()) == list(range(n_rows))
    assert np.array_equal(order.places(ids), np.arange(n_rows))


def test_seed_and_draw_change_the_order() -> None:
    places = np.arange(1000)
    orders = [RowOrder(1000, seed, draw).ids(places) for seed, draw in ((0, 0), (1, 0), (0, 1))]
    for one in range(3):
        share = np.mean(orders[one] == orders[one - 1])
        assert share < 0.02  # one fixed point is expected; twenty have a chance below 1e-18


def test_the_first_rows_are_a_uniform_sample() -> None:
    """Every row is as often among the first ten as any other: chi squared, false alarms 1e-6."""
    n_rows, n_orders = 40, 800
    counts = np.zeros(n_rows)
    for seed in range(n_orders):
        counts[RowOrder(n_rows, seed, 0).ids(np.arange(10))] += 1
    expected, share = n_orders * 10 / n_rows, 10 / n_rows
    statistic = float(np.sum((counts - expected) ** 2) / (expected * (1 - share)))
    assert statistic < 105  # the 1 - 1e-6 quantile of chi squared with 39 degrees is 101


def test_neighbors_do_not_stay_neighbors() -> None:
    ids = RowOrder(100_000, seed=0, draw=0).ids(np.arange(2000))
    assert abs(np.corrcoef(ids[:-1], ids[1:])[0, 1]) < 5 / np.sqrt(2000)
