"""The learner on a labeled table, blind to labels and with them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from runs import Table
from thresher.errors import LearningStopped, UncertifiedPhase
from thresher.learning import (
    ActiveLearner,
    PhaseOutcome,
    PracticalSchedule,
    Task,
    learn_from_table,
    learn_passively,
)
from thresher.learning.history import least_trust
from thresher.learning.samples import LabeledRows
from thresher.learning.steps import fit
from thresher.simulate import poison

TABLE = Table(1500, 30, 3)
TASK = Task(n_features=30, sparsity=3, noise_rate=0.02)
AWARE = PracticalSchedule().for_table(1500, label_aware=True)
BLIND = PracticalSchedule().for_table(1500)


def learned(schedule: PracticalSchedule = AWARE, **options: Any) -> tuple[PhaseOutcome, ...]:
    """A run on the clean table."""
    return learn_from_table(TABLE.X, TABLE.y, TASK, schedule, **options)


@cache
def whole() -> tuple[PhaseOutcome, ...]:
    """The run that many tests look at."""
    return learned()


@pytest.mark.parametrize("schedule", [AWARE, BLIND], ids=["aware", "blind"])
@pytest.mark.parametrize("rows", [TABLE.X, TABLE.csr], ids=["dense", "csr"])
def test_a_clean_table_gives_its_features(rows: Any, schedule: PracticalSchedule) -> None:
    halfspace = learn_from_table(rows, TABLE.y, TASK, schedule)[-1].halfspace
    assert np.array_equal(np.flatnonzero(halfspace), np.flatnonzero(TABLE.target))
    assert float(halfspace @ TABLE.target) > 0.99


def test_blind_to_labels_it_finds_what_the_passive_learner_finds() -> None:
    passive = learn_passively(TABLE.X, TABLE.y, sparsity=3, noise_rate=0.02, random_state=0)
    assert float(learned(BLIND)[-1].halfspace @ passive.halfspace_) > 1 - 1e-3


def test_every_phase_is_certified() -> None:
    assert all(outcome.is_certified for outcome in whole())


def test_an_observer_sees_every_phase_and_can_end_it() -> None:
    seen: list[PhaseOutcome] = []
    observed = learned(observe=seen.append)
    assert len(seen) == len(observed) > 1
    assert len(learned(observe=lambda outcome: outcome.phase.index == 2)) == 2


def test_a_phase_that_proves_too_little_is_told() -> None:
    with pytest.warns(UncertifiedPhase, match="phase 1: uncertified; outlier removal"):
        learned(replace(AWARE, variance_factor=1e-6), observe=lambda outcome: outcome)


def test_a_table_without_a_usable_row_is_refused() -> None:
    with pytest.raises(LearningStopped, match="pruning radius: scale its columns"):
        learn_from_table(1e6 + TABLE.X, TABLE.y, TASK, AWARE)


def test_labels_that_are_bought_cannot_come_first() -> None:
    with pytest.raises(ValueError, match="label_aware needs use_every_row"):
        PracticalSchedule(label_aware=True)


def test_an_active_learner_may_be_told_every_label_first() -> None:
    learner = ActiveLearner(
        TABLE.X, sparsity=3, noise_rate=0.02, schedule=AWARE, random_state=0
    ).learn_from(lambda ids, _: TABLE.y[ids])
    assert float(learner.halfspace_ @ whole()[-1].halfspace) > 1 - 1e-3


# -- what labels tell ------------------------------------------------------------------------


def trust_of_planted(attack: str, schedule: PracticalSchedule) -> float:
    """The mean weight of planted rows in the first phase."""
    table = poison(TABLE.X, TABLE.y, attack=attack, fraction=0.1, random_state=0)
    schedule = replace(schedule, min_unlabeled=len(table.y), max_unlabeled=len(table.y))
    (first,) = learn_from_table(
        table.X, table.y, replace(TASK, noise_rate=0.1), schedule, observe=lambda _: True
    )
    weights = np.where(first.is_left_out, 0.0, first.row_weights)
    return float(weights[table.is_planted].mean())


@pytest.mark.parametrize("attack", ["label-flip", "far-clump", "on-support-tilt", "model-targeted"])
def test_labels_give_planted_rows_away(attack: str) -> None:
    aware, blind = trust_of_planted(attack, AWARE), trust_of_planted(attack, BLIND)
    assert aware <= 0.5 * blind


def test_trust_does_not_come_back() -> None:
    history = learned(replace(AWARE, trim_factor=2.0))
    for k in range(1, len(history)):
        earlier = least_trust(history[:k], history[k].row_ids)
        assert (history[k].row_weights <= earlier).all()


def test_least_trust_is_that_of_the_phases_that_looked_at_a_row() -> None:
    first, *_ = whole()
    some = replace(first, row_ids=np.array([7, 3]), row_weights=np.array([0.5, 0.25]))
    other = replace(first, row_ids=np.array([3, 9]), row_weights=np.array([0.75, 0.0]))
    trust = least_trust((some, other), np.array([9, 3, 4, 7]))
    assert trust.tolist() == [0.0, 0.25, 1.0, 0.5]


def test_the_rows_with_the_largest_losses_are_left_out() -> None:
    rows = LabeledRows(TABLE.X, TABLE.y.copy(), np.ones(1500), n_fresh=1500)
    far = np.argsort(-np.abs(TABLE.X @ TABLE.target))[:90]
    rows.y[far] *= -1
    phase = replace(AWARE.next_phase(TASK, ()), trimmed_share=0.06)
    minimum, fitted = fit(rows, phase, np.zeros(30))
    assert np.flatnonzero(fitted.weights == 0).tolist() == sorted(far.tolist())
    assert float(minimum.point @ TABLE.target) > 0.97 * np.linalg.norm(minimum.point)


def test_rows_on_the_right_side_are_not_left_out() -> None:
    rows = LabeledRows(TABLE.X, TABLE.y, np.ones(1500), n_fresh=1500)
    phase = replace(AWARE.next_phase(TASK, ()), trimmed_share=0.3)
    minimum, fitted = fit(rows, phase, np.zeros(30))
    assert (fitted.weights > 0)[TABLE.y * (TABLE.X @ minimum.point) > 0].mean() > 0.99


def test_learning_ends_where_an_adversary_might_own_the_band() -> None:
    wide = learn_from_table(TABLE.X, TABLE.y, replace(TASK, noise_rate=0.2), AWARE)
    assert len(wide) < len(whole())


def test_never_more_than_half_of_a_class_is_left_out() -> None:
    y = np.where(np.arange(1500) < 60, 1.0, -1.0)  # a small class, wherever its rows lie
    rows = LabeledRows(TABLE.X, y, np.ones(1500), n_fresh=1500)
    phase = replace(AWARE.next_phase(TASK, ()), trimmed_share=0.3)
    _, fitted = fit(rows, phase, np.zeros(30))
    assert 0 < np.count_nonzero(fitted.weights[:60] == 0) <= 30


def test_a_warning_points_to_the_code_that_called() -> None:
    with pytest.warns(UncertifiedPhase) as caught:
        learned(replace(AWARE, variance_factor=1e-6), observe=lambda outcome: outcome)
    assert caught[0].filename == __file__
