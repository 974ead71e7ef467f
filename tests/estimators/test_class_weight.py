"""Classes of unlike size: their weights, and what becomes of a class near the noise rate."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import recall_score

from estimators.small import QUICK
from thresher import HalfspaceClassifier, HalfspaceClassifierCV, TrustedClassifier
from thresher.errors import DistrustedClass
from thresher.estimators.checks import class_weights
from thresher.estimators.trust import balanced_error, weighted_error

OPTIONS: dict[str, Any] = {"schedule": QUICK, "random_state": 0}
KINDS: dict[str, Any] = {
    "halfspace": lambda **given: HalfspaceClassifier(2, final_fit="hinge", **OPTIONS, **given),
    "penalized": lambda **given: HalfspaceClassifier(2, final_fit="penalized", **OPTIONS, **given),
    "chosen": lambda **given: HalfspaceClassifierCV(
        (2,), final_fit="hinge", cv=2, **OPTIONS, **given
    ),
    "trusted": lambda **given: TrustedClassifier(LogisticRegression(), **OPTIONS, **given),
}


def uneven(n_rows: int, seed: int, distance: float = 2.0) -> tuple[Any, Any]:
    """A table with 5 % of rare rows, which differ in two of six columns."""
    rng = np.random.default_rng(seed)
    labels = np.where(np.arange(n_rows) % 20 == 0, "rare", "usual")
    rows = rng.standard_normal((n_rows, 6))
    rows[labels == "rare", :2] += distance / np.sqrt(2)
    return rows, labels


NEW = uneven(4000, 1)


@cache
def recall(kind: str, class_weight: str | None) -> float:
    """The share of new rare rows that are found."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DistrustedClass)
        model = KINDS[kind](class_weight=class_weight).fit(*uneven(600, 0))
    return float(recall_score(NEW[1], model.predict(NEW[0]), pos_label="rare"))


@pytest.mark.parametrize("kind", KINDS)
def test_balanced_classes_raise_the_recall_of_the_rare_one(kind: str) -> None:
    assert recall(kind, "balanced") > max(0.65, recall(kind, None) + 0.2)


def test_a_class_at_the_noise_rate_keeps_its_recall() -> None:
    table, (new, truth) = uneven(600, 0, distance=4.0), uneven(4000, 1, distance=4.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DistrustedClass)
        fits = [LogisticRegression().fit(*table), HalfspaceClassifier(**OPTIONS).fit(*table)]
    plain, ours = (recall_score(truth, fit.predict(new), pos_label="rare") for fit in fits)
    assert ours > plain - 0.1 > 0.7


@pytest.mark.parametrize("kind", KINDS)
def test_a_dict_is_as_good_as_a_word(kind: str) -> None:
    rows, labels = uneven(600, 0)
    given = {"rare": 10.0, "usual": 10 / 19}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DistrustedClass)
        fits = [KINDS[kind](class_weight=w).fit(rows, labels) for w in (given, "balanced")]
    first, second = (fit.decision_function(rows) for fit in fits)
    np.testing.assert_allclose(first, second, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("even", 'class_weight must be a dict, "balanced" or None'),
        ({"rare": -1.0}, "class_weight must have finite positive weights"),
        ({"unknown": 2.0}, "class_weight has 'unknown', which is not a label in y"),
    ],
    ids=str,
)
def test_unusable_class_weights_are_refused(given: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        KINDS["halfspace"](class_weight=given).fit(*uneven(100, 0))


def test_balanced_weights_add_up_to_the_number_of_rows() -> None:
    weights = class_weights("balanced", uneven(100, 0)[1])
    assert weights.sum() == pytest.approx(100)
    assert weights[0] * 5 == pytest.approx(weights[1] * 95)


def test_the_costs_of_an_error_are_shares_of_the_classes() -> None:
    labels = np.repeat([0, 1], [90, 10])
    wrong = labels == 1
    ones = np.ones(100)
    assert weighted_error(wrong, labels, ones) == pytest.approx(0.1)
    costs = class_weights("balanced", labels)
    assert weighted_error(wrong, labels, ones, costs) == pytest.approx(0.5)
    assert weighted_error(wrong, labels, ones, ones) == weighted_error(wrong, labels, ones)


def test_the_balanced_error_is_the_mean_of_both_classes() -> None:
    signs = np.repeat([-1.0, 1.0], [90, 10])
    scores = np.where(np.arange(100) % 10 == 0, -signs, signs)
    scores[90:95] = -1.0
    assert balanced_error(scores, signs, np.ones(100)) == pytest.approx((0.1 + 0.5) / 2)


def test_the_path_has_the_balanced_error() -> None:
    rows, labels = uneven(600, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DistrustedClass)
        point = KINDS["chosen"]().fit(rows, labels).path_[0]
    assert 2 * point.error < point.balanced_error <= 1


def test_probabilities_are_those_of_the_weighted_classes() -> None:
    rows, labels = uneven(600, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DistrustedClass)
        model = KINDS["penalized"](class_weight="balanced").fit(rows, labels)
    chances = model.predict_proba(NEW[0])
    assert np.array_equal(model.classes_[chances.argmax(axis=1)], model.predict(NEW[0]))
    assert chances[:, 0].mean() > 0.15  # 0.05 of the rows are rare
