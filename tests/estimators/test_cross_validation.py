"""Folds as scikit-learn's `cv` gives them, and the rule that chooses from a path."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

from estimators.small import table
from thresher.errors import UncertifiedPhase
from thresher.estimators.cross_validation import (
    FoldResult,
    PathPoint,
    choose,
    make_folds,
    warn_of_uncertified,
)

TABLE = table()

# -- folds -----------------------------------------------------------------------------------

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
    with pytest.raises(ValueError, match=r"cv must be at most 2, .* rows of class .*rare"):
        make_folds(3, TABLE.X, y, 0)


# -- the rule --------------------------------------------------------------------------------


def points(*errors: tuple[int, float, float]) -> list[PathPoint]:
    """A path without noise rates."""
    return [PathPoint(s, 0.0, error, spread) for s, error, spread in errors]


def test_the_best_is_chosen_if_the_rest_is_clearly_worse() -> None:
    assert choose(points((1, 0.4, 0.01), (2, 0.1, 0.01), (3, 0.2, 0.01))).sparsity == 2


def test_the_sparsest_within_one_standard_error_is_chosen() -> None:
    assert choose(points((1, 0.4, 0.01), (2, 0.11, 0.2), (3, 0.1, 0.01))).sparsity == 2


def test_the_standard_error_is_that_of_the_best() -> None:
    assert choose(points((1, 0.2, 0.5), (3, 0.1, 0.01))).sparsity == 3


def test_of_the_noise_rates_at_that_sparsity_the_best_is_chosen() -> None:
    path = [PathPoint(1, 0.0, 0.12, 0), PathPoint(1, 0.1, 0.11, 0), PathPoint(9, 0.0, 0.1, 0.05)]
    assert choose(path) == path[1]


def test_the_order_of_the_path_does_not_matter() -> None:
    path = points((1, 0.4, 0.01), (2, 0.11, 0.2), (3, 0.1, 0.01))
    assert choose(path[::-1]) == choose(path)


# -- warnings --------------------------------------------------------------------------------


def test_at_most_five_fits_are_named() -> None:
    results = [FoldResult(f"fold {k}", 0.1, (1,)) for k in range(1, 8)]
    with pytest.warns(UncertifiedPhase, match=r"in 7 of 7 .* fold 5 \(phases 1\); and 2 more$"):
        warn_of_uncertified(results)
