from __future__ import annotations

import numpy as np
import pytest

from thresher.labeling import dependence
from thresher.labeling.dependence import FEWEST_ROWS, Dependence, oddness_that_shows_changes

RNG = np.random.default_rng(0)
FACTORS = RNG.standard_normal((500, 3)) @ RNG.standard_normal((3, 12))
ROWS = FACTORS + 0.3 * RNG.standard_normal(FACTORS.shape)


def test_oddness_adds_up_what_regressions_on_the_other_columns_miss() -> None:
    centered = ROWS - ROWS.mean(axis=0)
    oddness = np.zeros(500)
    for column in range(12):
        others, own = np.delete(centered, column, axis=1), centered[:, column]
        normal = others.T @ others / 500 + dependence.RIDGE * np.eye(11)
        slopes = np.linalg.solve(normal, others.T @ own / 500)
        unit = np.sqrt(own @ own / 500 + dependence.RIDGE - own @ others @ slopes / 500)
        oddness += np.abs(own - others @ slopes) / unit
    assert Dependence.of(ROWS).oddness(ROWS) == pytest.approx(oddness)


def test_entries_of_another_row_are_odd() -> None:
    changed = np.where(RNG.random((200, 12)) < 0.2, ROWS[300:], ROWS[:200])
    oddness = Dependence.of(ROWS).oddness
    is_changed = (changed != ROWS[:200]).any(axis=1)
    assert (oddness(changed) > oddness(ROWS[:200]))[is_changed].mean() > 0.9


def test_ranks_of_unchanged_rows_are_spread_evenly() -> None:
    ranks = oddness_that_shows_changes(ROWS, ROWS)
    assert ranks is not None
    assert np.quantile(ranks, [0.25, 0.5, 0.75]) == pytest.approx([0.25, 0.5, 0.75], abs=0.15)
    assert ranks.min() >= 0 and ranks.max() <= 1


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
    looked_at = []
    monkeypatch.setattr(Dependence, "of", lambda rows: looked_at.append(rows.shape[1]))
    with pytest.raises(AttributeError):  # there is no dependence to go on with
        oddness_that_shows_changes(ROWS, ROWS)
    assert looked_at == [7]


def test_constant_columns_give_finite_numbers() -> None:
    rows = ROWS.copy()
    rows[:, 0] = 5.0
    assert np.isfinite(Dependence.of(rows).oddness(rows)).all()


@pytest.mark.parametrize(
    ("shown", "expected"), [((True, True), True), ((False, True), False), ((True, False), False)]
)
def test_both_kinds_of_changes_must_show(
    shown: tuple[bool, bool], expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes = iter(shown)
    monkeypatch.setattr(dependence, "_shows", lambda *_: next(outcomes))
    assert (oddness_that_shows_changes(ROWS, ROWS) is not None) == expected


def test_a_change_that_shows_in_half_of_the_rows_does_not_count() -> None:
    independent, rng = RNG.standard_normal((500, 12)), np.random.default_rng(0)
    for rows, expected in ((ROWS, True), (independent, False)):
        others = np.roll(rows, 1, axis=0)
        assert dependence._shows(Dependence.of(rows), rows, others, rng) == expected
