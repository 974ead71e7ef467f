"""Near copies: rows made from others, found by the entries they share, and left out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from estimators.small import QUICK
from thresher import HalfspaceClassifier, HalfspaceClassifierCV
from thresher.estimators import shared_entries
from thresher.estimators.planted_copies import (
    can_be_planted,
    contradicting_pairs,
    planted_copies,
)
from thresher.estimators.shared_entries import SharedEntries

N_CLEAN, N_PLANTED, N_COLUMNS = 300, 20, 12
ALLOWED = 1.1 * N_PLANTED
IS_PLANTED = np.arange(N_CLEAN + N_PLANTED) >= N_CLEAN


def poisoned(n_changed: int, *, is_close: bool = False, seed: int = 0) -> tuple[Any, Any]:
    """Rows of few values, copies with the other label and some changed entries below them."""
    rng = np.random.default_rng(seed)
    rows = np.round(rng.standard_normal((N_CLEAN, N_COLUMNS)), 2)
    total = rows.sum(axis=1)
    signs = np.where(total > 0, 1.0, -1.0)
    order = np.argsort(np.abs(total))
    copied = order[:N_PLANTED] if is_close else order[-N_PLANTED:]
    copies = rows[copied]
    copies[:, :n_changed] = np.round(rng.standard_normal((N_PLANTED, n_changed)), 2)
    return np.vstack([rows, copies]), np.append(signs, -signs[copied])


# -- rows that share entries -----------------------------------------------------------------


@pytest.mark.parametrize("n_changed", [0, 3, 5])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_copies_and_their_originals_are_the_only_pairs(n_changed: int, kind: Any) -> None:
    rows, signs = poisoned(n_changed)
    pairs = np.array(contradicting_pairs(kind(rows), signs, ALLOWED))
    assert pairs.shape == (2, N_PLANTED)
    assert IS_PLANTED[pairs].sum(axis=0).tolist() == [1] * N_PLANTED


def test_a_row_that_was_changed_in_most_columns_is_not_a_near_copy() -> None:
    assert contradicting_pairs(*poisoned(9), ALLOWED)[0].size == 0


def test_pairs_do_not_depend_on_the_scale_or_the_order_of_columns() -> None:
    rows, signs = poisoned(3)
    found = contradicting_pairs(rows, signs, ALLOWED)
    changed = contradicting_pairs(rows[:, ::-1] * 1e5 + 3.0, signs, ALLOWED)
    assert np.array_equal(found, changed)


def test_bounds_on_the_work_leave_what_is_rare(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, signs = poisoned(3)
    wide = np.hstack([rows, rows, np.where(rows > 1, 1.0, 0.0)])
    n_found = contradicting_pairs(wide, signs, ALLOWED)[0].size
    monkeypatch.setattr(shared_entries, "MOST_PRODUCTS", 10_000.0)
    assert SharedEntries.of(wide).held.nnz < wide.size / 2
    assert contradicting_pairs(wide, signs, ALLOWED)[0].size >= 0.9 * n_found == 0.9 * N_PLANTED
    monkeypatch.setattr(shared_entries, "MOST_COLUMNS", 20)
    assert SharedEntries.of(wide).held.nnz < 20 * signs.size
    monkeypatch.setattr(shared_entries, "MOST_ENTRIES", 10)
    assert contradicting_pairs(wide, signs, ALLOWED)[0].size == 0
    assert contradicting_pairs(sp.csr_array(wide), signs, ALLOWED)[0].size == 0


# -- who is left out -------------------------------------------------------------------------


def left_out(rows: Any, signs: Any, n_allowed: float) -> Any:
    """The rows that are left out, equal rows being known as in a fit."""
    dense = rows.toarray() if sp.issparse(rows) else rows
    _, groups = np.unique(np.column_stack([dense, signs]), axis=0, return_inverse=True)
    return planted_copies(rows, signs, n_allowed, groups).lost


@pytest.mark.parametrize("n_changed", [0, 4])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_the_copy_of_a_row_that_a_model_is_sure_of_is_left_out(n_changed: int, kind: Any) -> None:
    rows, signs = poisoned(n_changed)
    assert np.array_equal(left_out(kind(rows), signs, ALLOWED), IS_PLANTED)


def test_both_are_left_out_where_a_model_is_not_sure() -> None:
    rows, signs = poisoned(0, is_close=True)
    lost = left_out(rows, signs, ALLOWED)
    assert lost[IS_PLANTED].mean() >= 0.9
    assert 0.9 * N_PLANTED <= lost[~IS_PLANTED].sum() <= N_PLANTED


@pytest.mark.parametrize("n_allowed", [0.0, 0.5 * N_PLANTED])
def test_none_is_left_out_where_planted_rows_cannot_explain_them(n_allowed: float) -> None:
    assert not left_out(*poisoned(3), n_allowed).any()


def test_very_few_near_copies_stay() -> None:
    rows, signs = poisoned(3)
    kept = np.arange(N_CLEAN + 1)
    assert not left_out(rows[kept], signs[kept], ALLOWED).any()


def test_a_table_of_near_copies_alone_keeps_them() -> None:
    rows, signs = poisoned(0)
    both = np.vstack([rows[:100], rows[:100]]), np.append(signs[:100], -signs[:100])
    assert not left_out(*both, n_allowed=200.0).any()


def test_no_class_may_lose_more_than_half_of_its_rows() -> None:
    signs = np.where(np.arange(20) < 4, 1.0, -1.0)
    assert can_be_planted(np.arange(20) < 2, signs, n_allowed=5.0)
    assert not can_be_planted(np.arange(20) < 3, signs, n_allowed=5.0)
    assert not can_be_planted(np.arange(20) > 12, signs, n_allowed=5.0)
    assert not can_be_planted(np.zeros(20, dtype=bool), signs, n_allowed=5.0)


# -- crowds ----------------------------------------------------------------------------------


def crowded(n_equal: int, n_usual: int = 1, at: float = 0.0) -> tuple[Any, Any]:
    """Rows of their own, each repeated, and positive ones at one point below them."""
    rng = np.random.default_rng(0)
    rows = np.repeat(rng.standard_normal((200, 5)), n_usual, axis=0)
    signs = np.where(rows[:, 0] > 0, 1.0, -1.0)
    return np.vstack([rows, np.full((n_equal, 5), at)]), np.append(signs, np.ones(n_equal))


@pytest.mark.parametrize("at", [0.0, -2.0])
@pytest.mark.parametrize(("n_equal", "n_usual"), [(20, 1), (50, 4)])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_a_crowd_is_left_out_if_others_do_not_confirm_its_label(
    n_equal: int, n_usual: int, at: float, kind: Any
) -> None:
    rows, signs = crowded(n_equal, n_usual, at)
    lost = left_out(kind(rows), signs, n_allowed=60.0)
    assert np.array_equal(lost, np.arange(signs.size) >= signs.size - n_equal)


def test_a_crowd_stays_where_others_of_its_label_are() -> None:
    assert not left_out(*crowded(20, at=2.0), n_allowed=60.0).any()


@pytest.mark.parametrize(
    ("n_equal", "n_usual", "n_allowed"), [(6, 1, 22), (20, 1, 15), (20, 4, 99)]
)
def test_equal_rows_stay_if_they_are_few_or_usual_or_too_many(
    n_equal: int, n_usual: int, n_allowed: float
) -> None:
    assert not left_out(*crowded(n_equal, n_usual), n_allowed).any()


# -- fits ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_a_classifier_does_not_look_at_planted_copies(kind: Any) -> None:
    rows, signs = poisoned(3)
    model = HalfspaceClassifier(3, 0.1, final_fit="penalized", schedule=QUICK, random_state=0)
    model.fit(kind(rows), signs)
    assert model.evidence_.n_lost == N_PLANTED
    assert (model.row_weights_[IS_PLANTED] == 0).all()
    assert np.array_equal(model.phases_[0].row_ids, np.flatnonzero(~IS_PLANTED))
    assert "near copies" in model.evidence_.sentence()


@pytest.mark.parametrize(("rate", "left"), [(0.07, 0.02), (0.06, 0.0)])
def test_the_filter_looks_for_what_is_left_and_the_noise_rate_stays(
    rate: float, left: float
) -> None:
    rows, signs = poisoned(3)
    model = HalfspaceClassifierCV("auto", (rate,), final_fit="penalized", schedule=QUICK, cv=2)
    model.fit(rows, signs)
    assert model.evidence_.n_lost == N_PLANTED
    assert model.phases_[0].phase.outlier_fraction == pytest.approx(QUICK.outlier_margin * left)
    assert model.noise_rate_ == model.path_[0].noise_rate == rate
    assert model.best_estimator_.noise_rate == model.best_estimator_.noise_rate_ == rate


def grouped(seed: int) -> tuple[Any, Any]:
    """Clean rows in groups that share ten of sixteen columns, such as several rows of a patient."""
    rng = np.random.default_rng(seed)
    groups, own = rng.standard_normal((150, 10)), rng.standard_normal((1200, 6))
    rows = np.hstack([np.repeat(groups, 8, axis=0), own])
    scores = rows[:, :10].sum(axis=1) / np.sqrt(10) + 0.2 * own[:, 0] + 1.5
    return rows, np.where(scores > 0, 1.0, -1.0)


@pytest.mark.parametrize("seed", range(4))
def test_a_clean_table_of_groups_keeps_its_rows(seed: int) -> None:
    rows, signs = grouped(seed)
    assert not left_out(rows, signs, n_allowed=66.0).any()


def test_a_clean_table_of_few_values_keeps_its_rows() -> None:
    rng = np.random.default_rng(0)
    rows = rng.integers(4, size=(1500, 60)).astype(float)
    signs = np.where(rows[:, 0] + rng.random(1500) < 0.2, 1.0, -1.0)
    assert not left_out(rows, signs, n_allowed=82.0).any()


def test_a_row_of_large_weight_is_not_a_crowd() -> None:
    rows = np.random.default_rng(1).standard_normal((600, 5))
    labels, weights = rows[:, 0] > 0, np.ones(600)
    closest = int(np.argmin(np.abs(rows[:, 0])))
    weights[closest] = 25.0
    model = HalfspaceClassifier("auto", 0.05, final_fit="penalized", schedule=QUICK, random_state=0)
    model.fit(rows, labels, weights)
    assert model.evidence_.n_lost == 0 and model.row_weights_[closest] > 0


def test_no_more_rows_are_left_out_than_planted_rows_and_their_originals() -> None:
    rows, signs = poisoned(0, is_close=True)
    assert left_out(rows, signs, ALLOWED).sum() <= 2 * ALLOWED
    assert not left_out(rows, signs, 0.4 * N_PLANTED).any()
