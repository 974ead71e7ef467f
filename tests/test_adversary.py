"""The bound on the adversary: it holds, and its checker refuses what is not proven."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks.adversary_bound import Case, cases, drop, fit, measure, second_form, worst_drop
from estimators.small import QUICK
from thresher import HalfspaceClassifier, HalfspaceClassifierCV
from thresher.adversary import Proof, bound_adversary
from thresher.adversary_checker import accepts_adversary_bound
from thresher.estimators.adversary import bound_on_adversary, halfspace_of

measured = cache(measure)
ASKED = {"n_planted": 12, "hinge_scale": 0.6, "distance": 0.2, "l1_ratio": 1.8}


def table(seed=0, n=240, d=6):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n, d))
    labels = np.where(rows[:, 0] + 0.3 * rng.standard_normal(n) > 0, 1.0, -1.0)
    point = np.zeros(d)
    point[:2] = 0.8, 0.6
    return rows, labels, point, rng.choice([0.0, 0.3, 1.0], size=n, p=[0.1, 0.1, 0.8])


def bound_of(seed=0, **changes):
    rows, labels, point, weights = table(seed)
    return (
        rows,
        labels,
        point,
        bound_adversary(rows, labels, point, **{"weights": weights, **ASKED, **changes}),
    )


# -- it is true --------------------------------------------------------------------------------


def random_point(rng, center, distance, ratio):
    """A point that the bound speaks of, often at its edge."""
    step = rng.standard_normal(center.size) * (rng.random(center.size) < 0.5)
    size = max(np.linalg.norm(step), np.abs(step).sum() / ratio) or 1.0
    point = center + step * distance * rng.choice([0.3, 1 - 1e-12]) / size
    return point if np.linalg.norm(point) <= np.linalg.norm(center) else 2 * center - point


def exact_drop(rows, labels, center, point, tau, is_clean):
    """Σ over clean rows of ℓ(v) − ℓ(u), over n, in rational numbers."""

    def loss(x, y, w):
        margin = sum(Fraction(a) * Fraction(b) for a, b in zip(x, w))
        return max(Fraction(0), 1 - Fraction(y) * margin / Fraction(tau))

    total = sum(
        loss(x, y, center.tolist()) - loss(x, y, point.tolist())
        for x, y in zip(rows[is_clean].tolist(), labels[is_clean].tolist())
    )
    return total / len(rows)


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(n, marks=pytest.mark.slow) for n in (2, 3))])
@pytest.mark.parametrize("size", [1.0, 1e-7, 1e7])
def test_no_point_and_no_set_of_planted_rows_violates_it(seed, size):
    rows, labels, center, weights = table(seed)
    rows, rng, tau = rows * size, np.random.default_rng(seed), ASKED["hinge_scale"] * size
    asked = {**ASKED, "hinge_scale": tau, "weights": weights}
    bound = bound_adversary(rows, labels, center, **asked)
    before = np.maximum(1 - labels * (rows @ center) / tau, 0)
    for i in range(200):
        point = random_point(rng, center, bound.distance, bound.l1_ratio)
        if np.linalg.norm(point) > np.linalg.norm(center):
            continue
        changes = before - np.maximum(1 - labels * (rows @ point) / tau, 0)
        is_clean = np.ones(labels.size, dtype=bool)
        is_clean[np.argsort(changes)[: bound.n_planted]] = False
        distance = max(
            np.linalg.norm(point - center), np.abs(point - center).sum() / bound.l1_ratio
        )
        limit = bound.at(min(distance * (1 + 1e-9), bound.distance))
        assert changes[is_clean].sum() / labels.size <= limit
        if i % 50 == 0:
            assert exact_drop(rows, labels, center, point, tau, is_clean) <= Fraction(limit)


def test_the_second_form_holds_where_its_assumption_does():
    found = fit(Case("gauss20", "far-clump", 0.1, "reach 30", 0))
    bound = bound_on_adversary(found.model, found.X, found.y, noise_rate=found.rate)
    second = second_form(found, bound)
    assert second.clean_variance is not None
    assert worst_drop(found, second, any_rows=False) <= second.value


def some_cases():
    """Every attack once; the fast tests have two that are far apart."""
    return [
        case
        if case.attack in ("label-flip", "linf-hijack")
        else pytest.param(case, marks=pytest.mark.slow)
        for case in cases(36)[::6]
    ]


@pytest.mark.parametrize("case", some_cases(), ids=str)
def test_a_fit_whose_clean_rows_are_known_does_not_violate_it(case):
    assert not measured(case)["is_violated"]


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, 500, 50))
def test_five_hundred_fits_do_not_violate_it(start):
    assert not [case for case in cases(500)[start : start + 50] if measure(case)["is_violated"]]


def test_the_search_for_violations_finds_one_where_there_is_one():
    found = fit(Case("gauss20", "far-clump", 0.1, "reach 2", 0))
    bound = bound_on_adversary(found.model, found.X, found.y, noise_rate=found.rate)
    assert worst_drop(found, bound, any_rows=True) > 0.25 * bound.value
    center = halfspace_of(found.model)
    assert drop(found, center, bound) == 0


# -- its checker -------------------------------------------------------------------------------


def test_what_is_returned_is_accepted():
    for variance in (None, 1.2):
        rows, labels, point, bound = bound_of(clean_variance=variance)
        assert accepts_adversary_bound(rows, labels, point, bound)
        assert accepts_adversary_bound(sp.csr_array(rows), labels, point, bound)


def test_sparse_rows_get_the_same_bound():
    rows, labels, point, weights = table()
    rows = rows * (np.abs(rows) > 1)
    asked = {"weights": weights, **ASKED}
    dense = bound_adversary(rows, labels, point, **asked)
    assert bound_adversary(sp.csr_array(rows), labels, point, **asked).value == pytest.approx(
        dense.value, rel=1e-3
    )


LESS = 1 - 1e-6
FORGERIES = {
    "a smaller value": lambda b: {"value": b.value * LESS},
    "a smaller gap": lambda b: {"gap": b.gap * LESS},
    "smaller planted": lambda b: {"planted": b.planted * LESS},
    "smaller removed": lambda b: {"removed": b.removed * LESS},
    "a smaller fixed part": lambda b: {"fixed": b.fixed * LESS},
    "one more planted row": lambda b: {"n_planted": b.n_planted + 1},
    "a fraction of a row": lambda b: {"n_planted": b.n_planted - 0.5},
    "a larger distance": lambda b: {"distance": b.distance * 1.01},
    "a larger l1 ratio": lambda b: {"l1_ratio": b.l1_ratio * 1.01},
    "a smaller hinge scale": lambda b: {"hinge_scale": b.hinge_scale * 0.99},
    "another dual": lambda b: {"dual": 1 - b.dual},
    "negative growth": lambda b: {"growth": -b.growth},
    "no growth": lambda _: {"growth": 0.0},
    "weights beyond 1": lambda b: {"weights": b.weights * 1.5},
    "other weights": lambda b: {"weights": b.weights[::-1].copy()},
    "fewer weights": lambda b: {"weights": b.weights[1:]},
    "a smaller variance": lambda b: {
        "planted_proof": replace(b.planted_proof, variance=b.planted_proof.variance * LESS)
    },
    "no multiplier": lambda b: {"planted_proof": Proof(b.planted_proof.level, 1e-3)},
    "an asymmetric multiplier": lambda b: {
        "planted_proof": replace(b.planted_proof, multiplier=np.eye(6, k=1))
    },
    "a negative level": lambda _: {"planted_proof": Proof(-1.0)},
    "a level of zero": lambda _: {"removed_proof": Proof(0.0)},
    "a level that is not a number": lambda _: {"removed_proof": Proof(float("nan"))},
    "a value that is not a number": lambda _: {"value": float("nan")},
    "negative variance of clean rows": lambda _: {"clean_variance": -1.0},
}


@pytest.fixture(scope="module")
def honest():
    """A table, and a bound on it that is accepted."""
    rows, labels, point, bound = bound_of(n_planted=50)
    assert accepts_adversary_bound(rows, labels, point, bound)
    assert bound.planted_proof.variance > 0
    assert bound.growth > 0
    return rows, labels, point, bound


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forgery_is_refused(name, honest):
    rows, labels, point, bound = honest
    assert not accepts_adversary_bound(
        rows, labels, point, replace(bound, **FORGERIES[name](bound))
    )


def test_a_bound_for_another_table_is_refused():
    rows, labels, point, bound = bound_of()
    assert not accepts_adversary_bound(rows * 1.01, labels, point, bound)
    assert not accepts_adversary_bound(rows, -labels, point, bound)
    assert not accepts_adversary_bound(rows, np.zeros_like(labels), point, bound)
    assert not accepts_adversary_bound(rows, labels, np.roll(point, 1), bound)
    assert not accepts_adversary_bound(rows[1:], labels, point, bound)
    assert not accepts_adversary_bound(
        np.where(rows == rows[0, 0], np.inf, rows), labels, point, bound
    )


# -- what it says ------------------------------------------------------------------------------


def test_without_planted_or_removed_rows_only_the_gap_is_left():
    bound = bound_of(weights=np.ones(240), n_planted=0)[-1]
    assert (bound.planted, bound.removed) == pytest.approx((0, 0), abs=1e-300)
    assert bound.value == pytest.approx(bound.gap)


def test_rows_without_any_weight_prove_only_what_is_trivial():
    bound = bound_of(weights=np.zeros(240))[-1]
    assert bound.removed == pytest.approx(bound.trivial, rel=1e-3)
    assert not bound.is_useful
    assert "nothing useful is proven" in bound.sentence()


def test_it_is_tighter_than_cauchy_and_schwarz():
    record = measured(Case("gauss20", "label-flip", 0.02, "reach 2", 0))
    assert record["value"] < record["first_of_trust"] < record["plain"]


def test_it_falls_with_the_distance_and_with_fewer_planted_rows():
    bound = bound_of()[-1]
    assert bound.at(bound.distance) == pytest.approx(bound.value)
    assert bound.at(0.0) == bound.fixed < bound.at(0.1) < bound.value
    assert bound_of(n_planted=3)[-1].value < bound.value
    with pytest.raises(ValueError, match=r"between 0 and 0\.2, got 0\.3"):
        bound.at(0.3)


def test_the_mean_over_clean_rows_is_larger_than_over_all():
    bound = bound_of()[-1]
    assert bound.per_clean_row == pytest.approx(bound.value / 0.95)


def test_a_fitted_classifier_gets_a_sentence():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 8))
    y = np.where(X[:, 0] > 0, "yes", "no")
    one = HalfspaceClassifier(2, noise_rate=0.05, random_state=0, schedule=QUICK).fit(X, y)
    many = HalfspaceClassifierCV((2,), random_state=0, cv=2, schedule=QUICK).fit(X, y)
    for model in (one, many):
        sentence = bound_on_adversary(model, X, y).sentence()
        assert sentence.startswith("Whichever 20 of these 400 rows were planted, no halfspace")
    assert bound_on_adversary(one, X, y, noise_rate=0.0).sentence().startswith("If no row")
    far = bound_on_adversary(one, X, y, noise_rate=0.4, hinge_scale=0.05)
    assert "nothing useful" in far.sentence()


def test_an_assumption_never_makes_it_weaker():
    found = fit(Case("gauss20", "min-max", 0.1, "reach 30", 1))
    asked = {"noise_rate": found.rate, "distance": 0.4}
    plain = bound_on_adversary(found.model, found.X, found.y, **asked)
    assumed = bound_on_adversary(found.model, found.X, found.y, clean_variance=1.3, **asked)
    assert assumed.value <= plain.value
