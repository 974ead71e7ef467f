"""Rows as seen from the median of their class."""

from __future__ import annotations

import numpy as np
import pytest

from thresher.learning.steps import around_class_medians

RNG = np.random.default_rng(0)
LABELS = np.where(RNG.random(201) < 0.4, 1.0, -1.0)
ROWS = RNG.standard_normal((201, 70)) * np.geomspace(0.5, 2, 70) + 3 * LABELS[:, None]


@pytest.mark.parametrize("sign", [-1, 1])
def test_each_class_has_its_median_at_zero(sign: int) -> None:
    seen = around_class_medians(ROWS, LABELS)[sign == LABELS]
    assert np.allclose(np.median(seen, axis=0), 0, atol=1e-12)


def test_columns_have_about_the_same_mean_square() -> None:
    squares = np.square(around_class_medians(ROWS, LABELS)).mean(axis=0)
    assert squares.min() > 0.5
    assert squares.max() < 1


def test_a_faint_column_is_not_blown_up_to_the_size_of_the_others() -> None:
    rows = ROWS.copy()
    rows[:, 5] *= 1e-3
    assert np.square(around_class_medians(rows, LABELS)[:, 5]).mean() < 0.01


@pytest.mark.parametrize("factor", [1e-250, 1e-5, 1e5, 1e250])
def test_the_unit_of_the_table_does_not_matter(factor: float) -> None:
    assert np.allclose(
        around_class_medians(factor * ROWS, LABELS), around_class_medians(ROWS, LABELS)
    )


def test_a_table_of_one_class_and_a_constant_one_are_centered_too() -> None:
    assert not around_class_medians(np.ones((3, 2)), np.ones(3)).any()


def test_the_rows_are_left_alone() -> None:
    before = ROWS.copy()
    around_class_medians(ROWS, LABELS)
    assert np.array_equal(ROWS, before)
