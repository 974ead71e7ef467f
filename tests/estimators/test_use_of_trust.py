"""How much of the trust an estimator uses: the least distrust that predicts held-out rows well."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from thresher.estimators.use_of_trust import FEWEST, Judged

RNG = np.random.default_rng(0)
N = 600
X = RNG.standard_normal((N, 2))
TRUTH = X[:, 0] > 0
SCORES = X[:, 0]  # of a filter that is right
ONES = np.ones(N)
IS_FLIPPED = np.arange(N) < N // 4
FLIPPED = np.where(IS_FLIPPED & TRUTH, "no", np.where(TRUTH, "yes", "no"))
TRUST = np.where(IS_FLIPPED & TRUTH, 0.0, 1.0)


class Weighed(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Right with probability .9, or with `steered` if rows of no trust have weight."""

    def __init__(self, steered: float = 0.9) -> None:
        self.steered = steered

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        self.classes_, self.n_features_in_ = np.unique(y), X.shape[1]
        self.right_ = 0.9 if (sample_weight == 0).any() else self.steered
        return self

    def predict_proba(self, X: Any) -> Any:
        share = np.where(X[:, 0] > 0, self.right_, 1 - self.right_)
        return np.stack([1 - share, share], axis=1)


def use(
    estimator: Any, labels: Any = FLIPPED, trust: Any = TRUST, scores: Any = SCORES, n_lost: int = 0
) -> Any:
    """What is used of a trust; the first rows lost a dispute."""
    n_rows = len(labels)
    looked_at = SimpleNamespace(row_ids=np.arange(n_lost, n_rows))
    filter_ = SimpleNamespace(row_weights_=trust, phases_=[looked_at])
    return Judged(estimator, X[:n_rows], labels, ONES[:n_rows], filter_, scores).use()


def test_an_estimator_that_planted_rows_do_not_steer_needs_no_trust() -> None:
    used = use(Weighed(0.9))
    assert used.name == "none"
    assert (used.weights == 1).all()


def test_rows_that_lost_a_dispute_are_left_out_in_any_case() -> None:
    trust = np.where(np.arange(N) < 5, 0.0, 0.5)
    used = use(Weighed(0.9), trust=trust, n_lost=5)
    assert used.name == "none"
    assert np.flatnonzero(used.weights == 0).tolist() == [0, 1, 2, 3, 4]
    assert (used.weights[5:] == 1).all()


def test_where_nothing_stands_out_no_trust_is_used_without_a_fit() -> None:
    assert use(None, trust=ONES).name == "none"


def test_an_estimator_that_they_steer_distrusts_what_contradicts_the_filter() -> None:
    used = use(Weighed(0.6))
    assert used.name == "confirmed"
    assert used.weights[IS_FLIPPED & TRUTH & (np.abs(SCORES) > 1)].max() == 0
    assert (used.weights[~IS_FLIPPED] == 1).all()


def test_all_of_the_trust_is_used_where_rows_with_the_right_label_steer() -> None:
    distrusted = np.where(np.arange(N) < 60, 0.0, 1.0)
    used = use(Weighed(0.6), labels=np.where(TRUTH, "yes", "no"), trust=distrusted)
    assert used.name == "all"
    assert np.array_equal(used.weights, distrusted)


def test_flips_are_distrusted_by_a_regression_that_they_would_steer() -> None:
    used = use(LogisticRegression())
    assert used.name != "none"
    steered, trusted = (
        LogisticRegression().fit(X, FLIPPED, w).predict(X) == "yes" for w in (ONES, used.weights)
    )
    assert (trusted == TRUTH).mean() > (steered == TRUTH).mean()


@pytest.mark.parametrize("n_rows", [FEWEST, 4 * FEWEST])
def test_small_classes_use_all_of_the_trust_without_a_fit(n_rows: int) -> None:
    labels, trust = np.where(np.arange(n_rows) % 2, "yes", "no"), np.full(n_rows, 0.5)
    used = use(Weighed(0.9), labels, trust, SCORES[:n_rows])
    assert (used.name == "all") == (n_rows == FEWEST)


def test_an_estimator_without_probabilities_is_judged_by_its_errors() -> None:
    assert use(LinearSVC()).name in ("confirmed", "all")
    assert use(LinearSVC(), labels=np.where(TRUTH, 1, 0), trust=np.full(N, 0.5)).name == "none"
