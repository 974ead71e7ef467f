"""Tests of the agreement of rows with weak models."""

import numpy as np
import pytest
import scipy.sparse as sp

from thresher import HalfspaceClassifier
from thresher.estimators.agreement import LEAST_AGREEMENT, WeakModels, agreement
from thresher.estimators.folds import usual_folds


def make_table(n=600, d=30, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n, d))
    return rows, np.where(rows.sum(axis=1) > 0, 1.0, -1.0)


def agreement_of(rows, signs, *, trust=None, share=0.1, seed=0):
    trust = np.ones(signs.size) if trust is None else trust
    models = WeakModels(rows, signs, trust, usual_folds(signs, 0), share=share, seed=seed)
    return agreement(models.held_out, share)


def with_flips_of_surest(rows, signs, n_flips):
    surest = np.argsort(-np.abs(rows.sum(axis=1)))[:n_flips]
    flipped = signs.copy()
    flipped[surest] *= -1
    return surest, flipped


def test_flipped_labels_of_the_surest_rows_contradict():
    rows, signs = make_table()
    surest, flipped = with_flips_of_surest(rows, signs, 50)
    found = agreement_of(rows, flipped)
    assert (found[surest] == LEAST_AGREEMENT).mean() > 0.95
    others = np.setdiff1d(np.arange(signs.size), surest)
    assert (found[others] == 1.0).mean() > 0.97


def test_sparse_rows_give_the_same_answer():
    rows, signs = make_table()
    rows[np.abs(rows) < 1] = 0.0
    _, flipped = with_flips_of_surest(rows, signs, 50)
    np.testing.assert_array_equal(
        agreement_of(sp.csr_array(rows), flipped), agreement_of(rows, flipped)
    )


def test_no_more_rows_contradict_than_the_share():
    rows, signs = make_table()
    coin = np.random.default_rng(1).choice([-1.0, 1.0], signs.size)
    assert (agreement_of(rows, coin, share=0.05) < 1).sum() == 30
    assert (agreement_of(rows, coin, share=0.0) == 1).all()


def test_a_small_class_is_not_taken_for_the_contradiction():
    rows, _ = make_table(1000)
    signs = np.where(rows.sum(axis=1) > 1.6 * np.sqrt(30), 1.0, -1.0)
    found = agreement_of(rows, signs)
    assert signs[signs > 0].size < 80
    assert (found[signs > 0] == 1).mean() > 0.9


def test_no_trust_in_any_row_is_no_trouble():
    rows, signs = make_table(60, 3)
    assert np.isfinite(agreement_of(rows, signs, trust=np.zeros(60))).all()


@pytest.mark.parametrize(("label_aware", "is_used"), [(True, True), (False, False)])
def test_labels_are_used_only_if_the_classifier_may_use_them(label_aware, is_used):
    rows, signs = make_table(300, 8)
    surest, flipped = with_flips_of_surest(rows, signs, 30)
    model = HalfspaceClassifier(
        8, 0.1, final_fit="penalized", label_aware=label_aware, random_state=0
    ).fit(rows, flipped)
    kept = model.row_weights_[surest].mean() / model.row_weights_.mean()
    assert (kept < 0.4) == is_used
