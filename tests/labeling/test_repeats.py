from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from labeling.pools import finish
from thresher import ActiveClassifier
from thresher.labeling.repeats import LITTLE, repeats_last
from thresher.labeling.scaled_pool import ScaledPool

RNG = np.random.default_rng(0)
ROWS = RNG.poisson(1.0, size=(200, 8)).astype(float) * RNG.integers(1, 9, size=(200, 8))
NONE = np.zeros(400, dtype=bool)
TWICE = np.vstack([ROWS, ROWS])


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_of_equal_rows_one_is_asked_about_first(container: Any) -> None:
    pool = ScaledPool.of(container(TWICE))
    chosen = repeats_last(pool, np.arange(400)[::-1], 150, NONE)
    assert np.unique(chosen % 200).size == 150


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_a_repeat_comes_last_but_comes(container: Any) -> None:
    pool = ScaledPool.of(container(TWICE))
    order = np.array([0, 200, 1, 150, 201, 151])
    assert repeats_last(pool, order, 3, NONE).tolist() == [0, 1, 150]
    assert repeats_last(pool, order, 6, NONE).tolist() == [0, 1, 150, 151, 200, 201]


def test_exempt_rows_do_not_count_as_repeats() -> None:
    pool = ScaledPool.of(TWICE)
    order = np.array([0, 200, 201, 150])
    assert repeats_last(pool, order, 3, ~NONE).tolist() == [0, 200, 201]


def test_a_row_behind_many_repeats_is_found() -> None:
    pool = ScaledPool.of(np.vstack([np.ones((1500, 2)), np.zeros((1, 2)), ROWS[:99, :2]]))
    exempt = np.zeros(1600, dtype=bool)
    assert repeats_last(pool, np.arange(1501), 2, exempt).tolist() == [0, 1500]


def test_without_repeats_the_order_stays() -> None:
    pool = ScaledPool.of(RNG.standard_normal((400, 20)))
    order = RNG.permutation(400)
    assert np.array_equal(repeats_last(pool, order, 37, NONE), order[:37])


def test_no_rows_are_wanted_of_a_batch_that_is_random() -> None:
    assert repeats_last(ScaledPool.of(ROWS), np.arange(200), 0, NONE).size == 0


def test_how_close_a_repeat_is_goes_by_the_distances_between_the_first_rows() -> None:
    grid = np.arange(100.0)[:, np.newaxis] + np.zeros(3)
    pool = ScaledPool.of(np.vstack([grid, grid[50] + 0.8 * LITTLE, grid[50] + 1.2 * LITTLE]))
    order = np.append([50, 100, 101], np.arange(50))
    assert repeats_last(pool, order, 2, NONE[:102]).tolist() == [50, 101]


def test_one_row_and_equal_rows_are_a_question_as_well() -> None:
    assert repeats_last(ScaledPool.of(np.ones((1, 2))), np.arange(1), 3, NONE).tolist() == [0]
    assert repeats_last(ScaledPool.of(np.ones((5, 2))), np.arange(5), 3, NONE).size == 3


def test_one_question_has_no_row_twice_as_long_as_there_are_others() -> None:
    grid = np.array([[a, b, c] for a in range(4) for b in range(4) for c in range(4)], dtype=float)
    rows = np.repeat(grid, 30, axis=0)
    labels = np.where(rows.sum(axis=1) > 4.5, "yes", "no")
    learner = ActiveClassifier(rows, noise_rate=0.0, label_budget=60, random_state=0)
    finish(learner, labels)
    for batch in learner._transcript.batches:
        bought = [row for row, is_random in zip(batch.rows, batch.is_random) if not is_random]
        assert np.unique(rows[bought], axis=0).shape[0] == len(bought)
    assert learner.score(rows, labels) == 1.0


def test_a_class_of_rows_that_are_like_each_other_is_learned() -> None:
    rng = np.random.default_rng(0)
    rows, is_rare = rng.standard_normal((2000, 10)), rng.random(2000) < 0.1
    rows[is_rare] = [1.2] * 4 + [0.0] * 6 + 0.1 * rng.standard_normal((is_rare.sum(), 10))
    learner = finish(ActiveClassifier(rows, label_budget=150, random_state=0), is_rare)
    assert learner.predict(rows)[is_rare].mean() > 0.95
