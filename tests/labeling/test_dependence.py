from __future__ import annotations

import numpy as np
import pytest

from thresher.labeling import dependence
from thresher.labeling.dependence import FEWEST_ROWS, Dependence, oddness_that_shows_changes

RNG = np.random.default_rng(0)
FACTORS = RNG.standard_normal((500, 3)) @ RNG.standard_normal((3, 12))
ROWS = FACTORS + 0.3 * RNG.standard_normal(FACTORS.shape)


def test_a_miss_is_that_of_a_regression_on_the_other_columns() -> None:
    found = Dependence.of(ROWS)
    scaled = (ROWS - found.center) / found.scale
    others, own = scaled[:, 1:], scaled[:, 0]
    normal = others.T @ others / len(ROWS) + dependence.RIDGE * np.eye(11)
    slopes = np.linalg.solve(normal, others.T @ own / len(ROWS))
    precision = found.precision
    assert scaled @ precision[:, 0] / precision[0, 0] == pytest.approx(own - others @ slopes)


def test_entries_of_another_row_are_odd() -> None:
    changed = np.where(RNG.random((200, 12)) < 0.2, ROWS[300:], ROWS[:200])
    oddness = Dependence.of(ROWS).oddness
    is_changed = (changed != ROWS[:200]).any(axis=1)
    assert (oddness(changed) > oddness(ROWS[:200]))[is_changed].mean() > 0.9


def test_one_unchanged_row_in_twenty_is_odder_than_1() -> None:
    oddness = oddness_that_shows_changes(ROWS, ROWS)
    assert oddness is not None
    assert 0.02 < (oddness > 1).mean() < 0.1


@pytest.mark.parametrize(
    "rows",
    [
        RNG.standard_normal((500, 12)),
        (RNG.random((500, 12)) < 0.1).astype(float),
        np.zeros((500, 3)),
        ROWS[: FEWEST_ROWS - 1],
    ],
    ids=["independent", "rare", "constant", "few"],
)
def test_where_a_change_would_not_show_nothing_is_said(rows: np.ndarray) -> None:
    assert oddness_that_shows_changes(rows, rows) is None


def test_of_many_columns_a_part_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dependence, "MOST_COLUMNS", 7)
    found = Dependence.of(ROWS)
    assert found.precision.shape == (7, 7)
    assert found.oddness(ROWS).shape == (500,)


def test_constant_columns_and_huge_entries_give_finite_numbers() -> None:
    rows = ROWS.copy()
    rows[:, 0] = 5.0
    oddness = Dependence.of(rows).oddness(np.vstack([rows[:3], np.full((1, 12), 1e100)]))
    assert np.isfinite(oddness).all()
