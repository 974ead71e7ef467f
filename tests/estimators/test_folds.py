"""Folds as scikit-learn's `cv` gives them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

from estimators.small import table
from thresher.estimators.folds import make_folds, usual_folds

TABLE = table()
ORDERED = np.sort(TABLE.y)


def test_three_folds_are_the_default() -> None:
    folds = [make_folds(cv, TABLE.X, TABLE.y, 5) for cv in (None, 3, np.int64(3))]
    expected = StratifiedKFold(3, shuffle=True, random_state=5).split(TABLE.X, TABLE.y)
    for *same, (train, test) in zip(*folds, expected):
        assert all(np.array_equal(fold.train, train) for fold in same)
        assert all(np.array_equal(fold.test, test) for fold in same)


@pytest.mark.parametrize(
    ("cv", "y", "message"),
    [
        (KFold(2), ORDERED, r"training rows of split 1 lack class -1.0; use stratified"),
        ([(range(50), range(50, 200))], ORDERED[::-1], "split 1 lack class -1.0"),
        ([(range(200), [])], TABLE.y, "split 1 holds out no rows"),
        ([(range(200), [200])], TABLE.y, "index 200 is out of bounds"),
        ([range(200)], TABLE.y, "pairs of training and test rows"),
        ([], TABLE.y, "at least one split"),
        (GroupKFold(2), TABLE.y, "groups"),
    ],
    ids=["KFold", "list", "empty", "beyond", "no pair", "none", "groups"],
)
def test_splits_that_cannot_be_used_are_refused(cv: Any, y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"cv.*{message}"):
        make_folds(cv, TABLE.X, y, 0)


def test_a_class_with_fewer_rows_than_folds_is_refused() -> None:
    y = np.where(np.arange(200) < 2, "rare", "usual")
    with pytest.raises(
        ValueError, match=r"cv=3 needs 3 rows .* class 'rare' has 2 rows: pass cv=2"
    ):
        make_folds(3, TABLE.X, y, 0)


@pytest.mark.parametrize("n_rare", range(1, 6))
def test_a_small_class_gets_fewer_of_the_usual_folds_and_is_in_all_training_rows(
    n_rare: int,
) -> None:
    y = np.where(np.arange(40) < n_rare, "rare", "usual")
    folds = usual_folds(y, seed=0)
    assert len(folds) == min(n_rare, 3)
    assert all("rare" in y[fold.train] for fold in folds)
    assert np.array_equal(np.sort(np.concatenate([fold.test for fold in folds])), np.arange(40))


def test_the_usual_folds_are_those_of_cross_validation() -> None:
    for usual, made in zip(usual_folds(TABLE.y, 7), make_folds(None, TABLE.X, TABLE.y, 7)):
        assert np.array_equal(usual.test, made.test)
