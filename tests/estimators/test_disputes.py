"""Disputed rows: equal features with different labels, of which the less trusted side loses."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from estimators.small import QUICK, planted, table
from thresher import HalfspaceClassifier, HalfspaceClassifierCV, TrustedClassifier
from thresher.estimators import shared_entries
from thresher.estimators.copies import Copies
from thresher.estimators.disputes import ALLOWED, N_ROUNDS, Disputes, TrainingTable, settle
from thresher.estimators.folds import usual_folds

OPTIONS: dict[str, Any] = {"schedule": QUICK, "random_state": 0}
FITS: dict[str, Any] = {
    "hinge": HalfspaceClassifier(2, 0.1, final_fit="hinge", **OPTIONS),
    "penalized": HalfspaceClassifier(2, 0.1, final_fit="penalized", **OPTIONS),
    "chosen": HalfspaceClassifierCV((2,), (0.1,), cv=2, final_fit="penalized", **OPTIONS),
    "trusted": TrustedClassifier(None, noise_rate=0.1, **OPTIONS),
}
N_CLEAN, N_PLANTED = 300, 24
CLEAN = table(N_CLEAN)
COPIED = np.argsort(-np.abs(CLEAN.X @ CLEAN.target))[:N_PLANTED]  # the surest rows
X, Y = np.vstack([CLEAN.X, CLEAN.X[COPIED]]), np.append(CLEAN.y, -CLEAN.y[COPIED])
IS_PLANTED = np.arange(len(Y)) >= N_CLEAN


@cache
def fitted(name: str) -> Any:
    """A classifier, fitted to rows among which planted ones dispute the labels of clean ones."""
    return clone(FITS[name]).fit(X, Y)


# -- fits ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["penalized", "chosen", "trusted"])
def test_planted_copies_of_clean_rows_are_left_out(name: str) -> None:
    evidence, trust = fitted(name).evidence_, fitted(name).row_weights_
    assert 0.5 * N_PLANTED < evidence.n_lost <= ALLOWED * N_PLANTED
    assert (trust[IS_PLANTED] == 0).mean() > 0.5
    assert trust[COPIED].mean() > 0.5
    assert evidence.stands_out
    assert evidence.sentence().startswith(f"Left out: {evidence.n_lost} rows, because")


def test_sparse_rows_can_be_disputed() -> None:
    evidence = clone(FITS["penalized"]).fit(sp.csr_array(X), Y).evidence_
    assert evidence.n_lost > 0.5 * N_PLANTED


@pytest.mark.parametrize("name", ["penalized", "chosen"])
def test_phases_are_about_rows_of_the_table_that_were_not_left_out(name: str) -> None:
    looked_at = fitted(name).phases_[0].row_ids
    assert looked_at.size <= len(Y) - fitted(name).evidence_.n_lost
    assert IS_PLANTED[looked_at].sum() < 0.5 * N_PLANTED


def test_the_halfspace_of_algorithm_1_does_not_compare_rows() -> None:
    assert np.isin(np.flatnonzero(IS_PLANTED), fitted("hinge").phases_[0].row_ids).all()


def test_a_table_without_disputes_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    learn = HalfspaceClassifier._learn
    monkeypatch.setattr(
        HalfspaceClassifier, "_learn", lambda *args, **kw: calls.append(1) or learn(*args, **kw)
    )
    poisoned, _ = planted(100, 8)  # equal rows with the same label
    clone(FITS["penalized"]).fit(poisoned.X, poisoned.y)
    assert len(calls) == 1
    clone(FITS["penalized"]).fit(X, Y)
    assert len(calls) == 2  # near copies show before a fit
    monkeypatch.setattr(shared_entries, "CHANCE", np.inf)
    clone(FITS["penalized"]).fit(X, Y)
    assert 1 < len(calls) - 2 <= N_ROUNDS


def test_rows_without_weight_dispute_nothing() -> None:
    weights = np.where(IS_PLANTED, 0.0, 1.0)
    model = clone(FITS["penalized"]).fit(X, Y, sample_weight=weights)
    assert model.evidence_.n_lost == 0


# -- who loses -------------------------------------------------------------------------------

ROWS = np.repeat(np.arange(10.0), 2)[:, np.newaxis]
SIGNS = np.array([1.0, -1.0] + [1.0, 1.0, -1.0, -1.0] * 4 + [1.0, 1.0])  # the first two disagree


def trust(first: float, second: float) -> Any:
    return np.concatenate([[first, second], np.full(18, 0.5)])


def scores(disputed: float) -> Any:
    return np.concatenate([np.full(2, disputed), np.ones(18)])


def who_loses(first: float, second: float, score: float) -> list[int]:
    disputes = Disputes.of(ROWS, SIGNS, 0.1)
    assert disputes is not None
    return np.flatnonzero(disputes.lost(SIGNS, trust(first, second), scores(score))).tolist()


@pytest.mark.parametrize(
    ("first", "second", "losing"), [(0.1, 1.0, [0]), (1.0, 0.1, [1]), (1.0, 0.95, []), (0, 0, [])]
)
def test_the_side_with_less_trust_loses(first: float, second: float, losing: list[int]) -> None:
    assert who_loses(first, second, score=1.0 if first > second else -1.0) == losing


@pytest.mark.parametrize(("score", "losing"), [(1.0, [1]), (-1.0, []), (np.nan, [])])
def test_a_side_loses_only_where_a_model_contradicts_it(score: float, losing: list[int]) -> None:
    assert who_loses(1.0, 0.1, score) == losing


def test_nobody_loses_where_trust_and_a_model_often_disagree() -> None:
    signs = np.where(np.arange(20) % 2, -1.0, 1.0)  # every pair disagrees
    disputes = Disputes.of(ROWS, signs, 0.49)
    assert disputes is not None
    predicted = np.where(np.arange(20) // 2 % 2, -1.0, 1.0)
    values = np.where(signs == predicted, 1.0, 0.1)
    assert disputes.lost(signs, values, predicted).sum() == 10
    disagreeing = np.where(np.arange(20) < 2, -predicted, predicted)  # one of ten
    assert not disputes.lost(signs, values, disagreeing).any()


def test_sides_are_compared_by_their_mean_trust() -> None:
    rows, signs = np.vstack([ROWS, ROWS[:1], ROWS[:1]]), np.append(SIGNS, [1.0, 1.0])
    disputes = Disputes.of(rows, signs, 0.2)
    assert disputes is not None
    given = np.append(trust(0.2, 1.0), [0.2, 0.2]), np.append(scores(-1.0), [-1.0, -1.0])
    assert np.flatnonzero(disputes.lost(signs, *given)).tolist() == [0, 20, 21]


@pytest.mark.parametrize("n_disputes", [2, 3])
def test_more_disputes_than_planted_rows_explain_are_genuine(n_disputes: int) -> None:
    signs, noise_rate = SIGNS.copy(), 0.1
    signs[: 2 * n_disputes : 2], signs[1 : 2 * n_disputes : 2] = 1.0, -1.0
    found = Disputes.of(ROWS, signs, noise_rate)
    assert (found is None) == (n_disputes > ALLOWED * noise_rate * 20)


def test_none_loses_where_too_many_would() -> None:
    rows = np.vstack([ROWS, np.zeros((3, 1))])  # four against one
    signs = np.append(SIGNS, [1.0, 1.0, 1.0])
    disputes = Disputes.of(rows, signs, 0.1)
    assert disputes is not None
    for first, second, n_losing in ((1.0, 0.1, 1), (0.1, 1.0, 0)):
        given = np.append(trust(first, second), [first] * 3), scores(first - second)
        lost = disputes.lost(signs, given[0], np.append(given[1], [first - second] * 3))
        assert lost.sum() == n_losing


def test_no_class_loses_more_than_half_of_its_rows() -> None:
    signs = np.where(np.arange(20) == 1, -1.0, 1.0)
    disputes = Disputes.of(ROWS, signs, 0.1)
    assert disputes is not None
    assert not disputes.lost(signs, trust(1.0, 0.1), scores(1.0)).any()
    assert disputes.lost(signs, trust(0.1, 1.0), scores(-1.0)).any()


# -- rounds ----------------------------------------------------------------------------------


class Seen:
    """A comparison in which the first rows are trusted little, and predicted to be negative."""

    def __init__(self, table: TrainingTable) -> None:
        n_rows = len(table.labels)
        self.trust, self.scores = trust(0.1, 1.0)[-n_rows:], scores(-1.0)[-n_rows:]


def test_rounds_end_when_nobody_loses_and_the_folds_follow() -> None:
    first = TrainingTable(ROWS, SIGNS, usual_folds(SIGNS, seed=0))
    last, _ = settle(first, Seen, 0.1)
    assert last.n_lost == 1
    assert last.copies is not None
    assert last.copies.places.tolist() == list(range(1, 20))
    assert np.array_equal(last.rows, ROWS[1:])
    assert np.array_equal(last.labels, SIGNS[1:])
    for before, after in zip(first.folds, last.folds):
        assert (after.test + 1).tolist() == [place for place in before.test if place != 0]


def test_rows_that_were_left_out_still_count_as_different_rows_but_their_copies_do_not() -> None:
    groups = np.repeat(np.arange(10), 2)
    copies = Copies(20, np.arange(20), groups)
    table = TrainingTable(ROWS, SIGNS, usual_folds(SIGNS, seed=0), copies)
    fewer = table.without((groups == 0) | (np.arange(20) == 2))
    assert fewer is not None
    assert (fewer.n_lost, fewer.n_lost_distinct) == (3, 1)
    assert (table.n_distinct, fewer.n_distinct) == (10, 10)


def test_very_few_rows_are_not_worth_another_fit() -> None:
    rows, signs = np.arange(200.0)[:, np.newaxis] // 2, np.where(np.arange(200) % 4 < 2, 1.0, -1.0)
    values = np.ones(200)
    for n_disputes in (1, 2):
        signs[4 * n_disputes - 3], values[4 * n_disputes - 3] = -1.0, 0.1
        disputes = Disputes.of(rows, signs, 0.1)
        assert disputes is not None
        assert disputes.lost(signs, values, np.ones(200)).sum() == (0 if n_disputes == 1 else 2)


def test_a_fold_is_never_lost() -> None:
    folds = [*usual_folds(SIGNS, seed=0)]
    folds[0] = folds[0]._replace(test=np.array([0]))
    first = TrainingTable(ROWS, SIGNS, folds)
    last, _ = settle(first, Seen, 0.1)
    assert last is first
