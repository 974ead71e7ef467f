"""Weighted rows: a weight of k means k copies of the row, and zero means none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold

from estimators.small import QUICK, planted, table
from thresher import HalfspaceClassifier, HalfspaceClassifierCV, TrustedClassifier
from thresher.estimators import bound_on_adversary
from thresher.estimators.copies import MOST_ROWS, Copies, n_copies
from thresher.estimators.folds import make_folds, usual_folds

TABLE = table(90)
WEIGHTS = np.random.default_rng(0).integers(0, 4, 90).astype(float)
REPEATED = np.repeat(np.arange(90), WEIGHTS.astype(int))
OPTIONS: dict[str, Any] = {"schedule": QUICK, "random_state": 0}
FITS: dict[str, Any] = {
    "halfspace": HalfspaceClassifier(2, final_fit="hinge", **OPTIONS),
    "penalized": HalfspaceClassifier(2, final_fit="penalized", **OPTIONS),
    "unscaled": HalfspaceClassifier(2, final_fit="hinge", scale=False, **OPTIONS),
    "chosen": HalfspaceClassifierCV((1, 2), final_fit="hinge", cv=2, **OPTIONS),
    "trusted": TrustedClassifier(LogisticRegression(), **OPTIONS),
}
KINDS: dict[str, Any] = {"dense": np.asarray, "sparse": sp.csr_array}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FITS)
def test_a_weight_is_a_number_of_copies(name: str, kind: str) -> None:
    rows = KINDS[kind](TABLE.X)
    scores = FITS[name].fit(rows[REPEATED], TABLE.y[REPEATED]).decision_function(rows)
    order = np.random.default_rng(1).permutation(90)
    weighted = FITS[name].fit(rows[order], TABLE.y[order], sample_weight=WEIGHTS[order])
    np.testing.assert_allclose(weighted.decision_function(rows), scores, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", FITS)
def test_ones_change_nothing(name: str) -> None:
    plain = FITS[name].fit(TABLE.X, TABLE.y).decision_function(TABLE.X)
    ones = FITS[name].fit(TABLE.X, TABLE.y, sample_weight=np.ones(90))
    assert np.array_equal(ones.decision_function(TABLE.X), plain)


@pytest.mark.parametrize("name", FITS)
def test_every_row_has_a_trust_and_rows_without_weight_have_none(name: str) -> None:
    trust = FITS[name].fit(TABLE.X, TABLE.y, sample_weight=WEIGHTS).row_weights_
    assert trust.shape == (90,)
    assert (trust[WEIGHTS == 0] == 0).all()
    assert trust[WEIGHTS > 0].mean() > 0.5


def test_phases_speak_of_rows_of_the_table() -> None:
    model = FITS["halfspace"].fit(TABLE.X, TABLE.y, sample_weight=WEIGHTS)
    first = model.phases_[0]
    assert np.array_equal(first.row_ids, np.flatnonzero(WEIGHTS))
    assert first.row_weights.shape == first.is_left_out.shape == first.row_ids.shape
    assert ((first.row_weights >= 0) & (first.row_weights <= 1)).all()
    assert first.n_kept == REPEATED.size


def test_the_noise_rate_is_a_share_of_the_weight() -> None:
    poisoned, is_planted = planted(400, 24)
    kept = np.r_[0:6, 24:400]  # the planted rows are copies of one row
    weights = np.where(is_planted[kept], 4.0, 1.0)
    model = HalfspaceClassifier(2, 24 / 400, final_fit="hinge", **OPTIONS)
    weighted = model.fit(poisoned.X[kept], poisoned.y[kept], sample_weight=weights)
    assert weighted.row_weights_[:6].max() < 0.2 < weighted.row_weights_[6:].mean()


def test_the_bound_on_the_adversary_counts_copies() -> None:
    model = FITS["halfspace"].fit(TABLE.X, TABLE.y, sample_weight=WEIGHTS)
    bound = bound_on_adversary(model, TABLE.X, TABLE.y, sample_weight=WEIGHTS)
    assert bound.n_rows == REPEATED.size


# -- numbers of copies -----------------------------------------------------------------------


@given(st.lists(st.integers(0, 50), min_size=1, max_size=20).filter(any))
def test_integers_are_numbers_of_copies(weights: list[int]) -> None:
    assert n_copies(np.array(weights, dtype=float)).tolist() == weights


@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=50))
def test_other_weights_are_copied_in_proportion(weights: list[float]) -> None:
    given, numbers = np.array(weights), n_copies(np.array(weights))
    unit = given.sum() / numbers.sum()
    assert numbers.sum() <= MOST_ROWS + 1
    assert np.abs(np.cumsum(numbers - given / unit)).max() <= 1 + 1e-6 * numbers.sum()


def test_there_is_a_limit_to_copies() -> None:
    assert n_copies(np.array([1.0, 1.0, 1.0, 1e12])).sum() == MOST_ROWS


# -- equal rows ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@given(cells=st.lists(st.sampled_from([-1.0, -0.0, 0.0, 2.5]), min_size=30, max_size=30))
def test_groups_are_rows_with_equal_features_and_labels(kind: str, cells: list[float]) -> None:
    rows, labels = np.array(cells).reshape(10, 3), np.arange(10) % 2
    copies = Copies.of(KINDS[kind](rows), labels, np.ones(10))
    assert copies is not None
    _, expected = np.unique(
        np.column_stack([rows + 0.0, labels])[copies.places], axis=0, return_inverse=True
    )
    same = copies.groups[:, None] == copies.groups
    assert np.array_equal(same, np.ravel(expected)[:, None] == np.ravel(expected))


def test_a_table_without_equal_rows_is_used_as_it_is() -> None:
    assert Copies.of(TABLE.X, TABLE.y, None) is None
    twice = np.r_[0:90, 3]
    assert Copies.of(TABLE.X[twice], TABLE.y[twice], None) is not None
    other = np.where(np.arange(91) == 90, "third", "x")
    assert Copies.of(TABLE.X[twice], other, None) is None


def test_copies_are_held_out_together() -> None:
    copies = Copies.of(TABLE.X, TABLE.y, WEIGHTS)
    assert copies is not None
    labels = TABLE.y[copies.places]
    for folds in (
        make_folds(3, TABLE.X, TABLE.y, 0, copies),
        usual_folds(labels, 0, copies),
    ):
        held_out = np.concatenate([fold.test for fold in folds])
        assert np.array_equal(np.sort(held_out), np.arange(REPEATED.size))
        for fold in folds:
            assert not set(copies.groups[fold.train]) & set(copies.groups[fold.test])


def test_copies_of_a_class_with_few_distinct_rows_are_split() -> None:
    rows, labels = np.arange(10.0)[:, None], np.repeat([0, 1], [9, 1])
    weights = np.where(labels == 1, 4.0, 1.0)
    copies = Copies.of(rows, labels, weights)
    assert copies is not None
    assert len(usual_folds(labels[copies.places], 0, copies)) == 3


def test_given_splits_are_of_rows_of_the_table() -> None:
    copies = Copies.of(TABLE.X, TABLE.y, WEIGHTS)
    assert copies is not None
    folds = make_folds(KFold(2), TABLE.X, TABLE.y, 0, copies)
    for fold, (train, test) in zip(folds, KFold(2).split(TABLE.X)):
        assert set(copies.places[fold.train]) == set(train[WEIGHTS[train] > 0])
        assert set(copies.places[fold.test]) == set(test[WEIGHTS[test] > 0])
        assert fold.train.size == WEIGHTS[train].sum()


# -- misuse ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FITS)
@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.where(np.arange(90) == 7, -1.0, 1.0), r"not negative, got sample_weight\[7\] = -1.0"),
        (np.where(np.arange(90) == 7, np.nan, 1.0), r"be finite .* sample_weight\[7\] = nan"),
        (np.ones(89), r"sample_weight must have shape \(90,\), got shape \(89,\)"),
        (np.ones((90, 1)), r"sample_weight must have shape \(90,\)"),
        (2.0, "sample_weight must have shape .* got a number"),
        (np.zeros(90), "sample_weight must not be all zero"),
        (np.where(TABLE.y > 0, 1.0, 0.0), "only one class is present"),
    ],
    ids=["negative", "missing", "short", "two axes", "number", "zero", "one class"],
)
def test_unusable_weights_are_refused(name: str, weights: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FITS[name].fit(TABLE.X, TABLE.y, sample_weight=weights)
