"""How much of the trust an estimator uses: the least distrust that predicts held-out rows well."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from thresher import HalfspaceClassifier
from thresher.estimators.use_of_trust import (
    FAR,
    FEW,
    FEWEST,
    IMPROBABLE,
    N_FOLDS,
    N_FOLDS_OF_FEW,
    Filtered,
    Judged,
    UseOfTrust,
)

RNG = np.random.default_rng(0)
N = 600
X = RNG.standard_normal((N, 2))
TRUTH = X[:, 0] > 0
ONES = np.ones(N)
RARE = 0.9  # a smaller class lies beyond this
IS_FLIPPED = np.arange(N) < N // 4
FLIPPED = np.where(IS_FLIPPED & TRUTH, "no", np.where(TRUTH, "yes", "no"))
TRUST = np.where(IS_FLIPPED & TRUTH, 0.0, 1.0)
MARGINS = np.where(FLIPPED == "yes", 2.0, -2.0) * X[:, 0]  # by linear fits that are right
ODDS = np.full(N, 0.5)  # of every label, by a forest that knows nothing


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


class Steered(Weighed):
    """Right with probability .9, or .6 if one of some rows has weight; all rows differ."""

    def __init__(self, rows: Any) -> None:
        self.steered, self.rows = 0.6, rows

    def fit(self, X_fit: Any, y: Any, sample_weight: Any = None) -> Any:
        steering = np.isin(X_fit[:, 0], X[: self.rows.size][self.rows][:, 0])
        super().fit(X_fit, y, sample_weight)
        self.right_ = 0.6 if (sample_weight[steering] > 0).any() else 0.9
        return self


def use(
    estimator: Any,
    labels: Any = FLIPPED,
    trust: Any = TRUST,
    *,
    n_lost: int = 0,
    rate: float = 0.2,
    odds: Any = None,
) -> Any:
    """What is used of a trust; the first rows lost a dispute."""
    n_rows = len(labels)
    looked_at = np.where(np.arange(n_rows) < n_lost, 0.0, 1.0)
    margins = np.where(labels == FLIPPED[:n_rows], 1, -1) * MARGINS[:n_rows]
    filtered = SimpleNamespace(
        trust=trust,
        looked_at=looked_at,
        noise_rate=rate,
        undisputed=lambda: looked_at,
        margins=lambda: margins,
        plausibility=lambda chosen: np.where(chosen, ODDS[:n_rows] if odds is None else odds, 1.0),
    )
    return Judged(estimator, X[:n_rows], labels, ONES[:n_rows], filtered).use()


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


def test_an_estimator_that_they_steer_goes_without_rows_that_contradict() -> None:
    used = use(Weighed(0.6))
    assert used.name == "labels"
    assert np.array_equal(used.weights == 0, MARGINS < -FAR)


def test_no_more_rows_contradict_than_could_be_planted() -> None:
    used = use(Weighed(0.6), rate=0.01)
    assert np.array_equal(used.weights == 0, np.sort(MARGINS)[5] >= MARGINS)


def test_half_of_a_class_is_kept_though_all_of_it_contradicts() -> None:
    labels = np.where(IS_FLIPPED & TRUTH, "no", "yes")
    judged = Judged(None, X, labels, ONES, SimpleNamespace(noise_rate=0.45))
    margins = np.where(labels == "no", -2.0, 2.0)
    used = judged._without_contradicting(UseOfTrust("none", ONES), "labels", margins, -FAR)
    assert used.weights[labels == "no"].mean() == pytest.approx(0.5)
    assert (used.weights[labels == "yes"] == 1).all()


def test_of_two_ways_to_contradict_the_one_that_predicts_better_counts() -> None:
    is_wrong = (FLIPPED == "yes") != TRUTH
    odds = np.where(is_wrong, IMPROBABLE - 0.1, IMPROBABLE)
    used = use(Steered(is_wrong), odds=odds)
    assert used.name == "improbable"
    assert np.array_equal(used.weights == 0, is_wrong)


def test_improbable_labels_do_not_count_if_all_of_the_trust_predicts_better() -> None:
    planted, improbable = np.arange(N) < 20, np.arange(N) >= N - 20

    class HardlyHelped(Steered):
        def fit(self, X_fit: Any, y: Any, sample_weight: Any = None) -> Any:
            super().fit(X_fit, y, sample_weight)
            is_odd = np.isin(X_fit[:, 0], X[improbable][:, 0])
            if not sample_weight[is_odd].any():
                self.right_ = max(self.right_, 0.89)  # almost as good as without planted rows
            return self

    labels, trust = np.where(TRUTH, "yes", "no"), np.where(planted, 0.0, 1.0)
    odds = np.where(improbable, IMPROBABLE - 0.1, 1.0)
    assert use(HardlyHelped(planted), labels, trust, odds=odds).name == "all"
    assert use(HardlyHelped(planted | improbable), labels, ONES / 2, odds=odds).name == "improbable"


def test_of_improbable_labels_no_more_are_left_out_than_could_be_planted() -> None:
    is_wrong = (FLIPPED == "yes") != TRUTH
    odds = np.where(is_wrong, np.arange(N) / N * IMPROBABLE, 1.0)
    n_most = int(0.05 * N) - 10  # ten have lost a dispute
    lowest = np.flatnonzero(is_wrong & (np.arange(N) >= 10))[:n_most]
    used = use(Steered(np.isin(np.arange(N), lowest)), odds=odds, rate=0.05, n_lost=10)
    assert used.name == "improbable"
    assert np.array_equal(np.flatnonzero(used.weights == 0), np.append(np.arange(10), lowest))


def test_all_of_the_trust_is_used_where_rows_with_the_right_label_steer() -> None:
    distrusted = np.where(np.arange(N) < 60, 0.0, 1.0)
    used = use(Weighed(0.6), labels=np.where(TRUTH, "yes", "no"), trust=distrusted)
    assert used.name == "all"
    assert np.array_equal(used.weights, distrusted)


class Unbalanced(Weighed):
    """Right with probability .7; without some rows .95 for one class, and .35 for the rare one."""

    def predict_proba(self, X: Any) -> Any:
        rare = np.where(X[:, 0] > RARE, 0.7, 0.3)
        if self.right_ == 0.9:  # some rows have no weight
            rare = np.where(X[:, 0] > RARE, 0.35, 0.05)
        return np.stack([1 - rare, rare], axis=1)


def test_a_rare_class_is_not_given_up_for_the_other_one() -> None:
    labels = np.where(X[:, 0] > RARE, "yes", "no")
    distrusted = np.where(np.arange(N) < 30, 0.0, 1.0)
    assert (labels == "yes").sum() >= FEWEST
    assert use(Unbalanced(0.6), labels, distrusted).name == "none"


@pytest.mark.parametrize("error", [ValueError, IndexError])
def test_all_of_the_trust_is_used_by_an_estimator_that_no_part_of_the_rows_suits(
    error: type[Exception],
) -> None:
    class Picky(Weighed):
        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
            if len(y) < N:
                raise error("a column has one value only")
            return super().fit(X, y, sample_weight)

    used = use(Picky())
    assert used.name == "all"
    assert np.array_equal(used.weights, TRUST)


def test_a_fit_whose_predictions_fail_is_as_good_as_none() -> None:
    class Failing(Weighed):
        def predict_proba(self, X: Any) -> Any:
            raise IndexError(f"a category is new in {len(X)} rows")

    assert use(Failing()).name == "all"


def test_probabilities_that_are_no_numbers_count_as_wrong() -> None:
    class Unsure(Steered):
        def predict_proba(self, X: Any) -> Any:
            return super().predict_proba(X) * (1.0 if self.right_ == 0.9 else np.nan)

    steering = MARGINS < -FAR
    assert use(Unsure(steering)).name == "labels"


def test_flips_are_distrusted_by_a_regression_that_they_would_steer() -> None:
    used = use(LogisticRegression())
    assert used.name != "none"
    steered, trusted = (
        LogisticRegression().fit(X, FLIPPED, w).predict(X) == "yes" for w in (ONES, used.weights)
    )
    assert (trusted == TRUTH).mean() > (steered == TRUTH).mean()


class Counting(Weighed):
    """Keeps how many rows each fit had."""

    def __init__(self, sizes: list[int]) -> None:
        self.sizes, self.steered = sizes, 0.9

    def __sklearn_clone__(self) -> Any:
        return self

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        self.sizes.append(len(y))
        return super().fit(X, y, sample_weight)


def alternating(n_per_class: int) -> Any:
    return np.where(np.arange(2 * n_per_class) % 2, "yes", "no")


def test_very_small_classes_use_all_of_the_trust_without_a_fit() -> None:
    sizes: list[int] = []
    labels = alternating(FEWEST - 1)
    assert use(Counting(sizes), labels, np.full(labels.size, 0.5)).name == "all"
    assert sizes == []
    assert use(Counting(sizes), alternating(FEWEST), np.full(2 * FEWEST, 0.5)).name == "none"
    assert sizes


@pytest.mark.parametrize(
    ("n_per_class", "n_folds"),
    [(FEW - 1, N_FOLDS_OF_FEW), (FEW, N_FOLDS), (FEWEST, N_FOLDS_OF_FEW)],
)
def test_fits_to_few_rows_see_four_fifths_of_them(n_per_class: int, n_folds: int) -> None:
    sizes: list[int] = []
    labels = alternating(n_per_class)
    use(Counting(sizes), labels, np.full(labels.size, 0.5), rate=0.0)
    assert len(sizes) == 2 * n_folds  # three of the four uses are equal: no label contradicts
    share = 1 - 1 / n_folds
    assert sizes == pytest.approx([share * labels.size] * len(sizes), abs=1)


def test_an_estimator_without_probabilities_is_judged_by_its_errors() -> None:
    assert use(LinearSVC()).name in ("labels", "all")
    assert use(LinearSVC(), labels=np.where(TRUTH, 1, 0), trust=np.full(N, 0.5)).name == "none"


# -- what the filter makes of labels ---------------------------------------------------------


def test_flips_of_the_surest_rows_contradict_though_each_keeps_some_trust() -> None:
    surest = np.argsort(-np.abs(X[:, 0]))[: N // 10]
    labels = np.where(TRUTH, "yes", "no")
    labels[surest] = np.where(TRUTH[surest], "no", "yes")
    filter_ = HalfspaceClassifier(noise_rate=0.1, random_state=0).fit(X, labels)
    filter_.row_weights_ = np.where(np.isin(np.arange(N), surest), 0.3, 1.0)
    margins = Filtered(filter_, X, labels).margins()
    assert (margins[surest] < -FAR).all()
    assert np.median(margins) > 0


def test_the_scale_of_the_weights_does_not_matter() -> None:
    labels = np.where(TRUTH, "yes", "no")
    filter_ = HalfspaceClassifier(random_state=0).fit(X, labels)
    weights = RNG.uniform(1, 2, N)
    for look in (Filtered.margins, lambda filtered: filtered.plausibility(np.arange(N) > 9)):
        found = [look(Filtered(filter_, X, labels, w)) for w in (weights, weights / 300)]
        assert found[0] == pytest.approx(found[1], rel=1e-5)


def test_rows_that_lost_a_dispute_teach_the_linear_fits_nothing() -> None:
    rows, labels = X + np.outer(np.where(TRUTH, 2, -2), [1, 0]), np.where(TRUTH, "yes", "no")
    filter_ = HalfspaceClassifier(random_state=0).fit(rows, labels)
    lost = np.arange(N) < 0.6 * N
    filter_.phases_ = (SimpleNamespace(row_ids=np.flatnonzero(~lost)),)
    wrong = np.where(lost, np.where(TRUTH, "no", "yes"), labels)
    assert np.array_equal(Filtered(filter_, rows, wrong).margins() < 0, lost)


@pytest.mark.parametrize(("n_copies", "n_left_out"), [(20, 20), (200, 0), (5, 0)])
def test_of_equal_rows_the_side_that_the_filter_contradicts_is_left_out(
    n_copies: int, n_left_out: int
) -> None:
    labels = np.where(TRUTH, "yes", "no")
    filter_ = HalfspaceClassifier(noise_rate=0.1, random_state=0).fit(X, labels)
    far = np.argsort(-np.abs(X[:, 0]))[:n_copies]
    rows = np.vstack([X, X[far]])
    copies = np.where(TRUTH[far], "no", "yes")
    filter_.row_weights_ = np.ones(N + n_copies)
    filter_.phases_ = (SimpleNamespace(row_ids=np.arange(N + n_copies)),)
    undisputed = Filtered(filter_, rows, np.append(labels, copies)).undisputed()
    assert (undisputed[:N] == 1).all()
    assert (undisputed[N:] == 0).sum() == n_left_out
