"""Probabilities: calibrated on trusted rows, and of one mind with the predictions."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from sklearn.metrics import log_loss

from estimators.saved import NEW, ROWS, fitted
from estimators.small import QUICK, table
from thresher import HalfspaceClassifier, HalfspaceClassifierCV, TrustedClassifier
from thresher.estimators import load_model, save_model
from thresher.estimators.calibration import fit_slope, log_probabilities, probabilities
from thresher.estimators.trust import trust_by_variance, trust_of_rows

RNG = np.random.default_rng(0)
SCORES = RNG.standard_normal(4000)
SIGNS = np.where(RNG.random(4000) < 1 / (1 + np.exp(-3.0 * SCORES)), 1.0, -1.0)
FITS: dict[str, Any] = {
    "halfspace": HalfspaceClassifier(3, final_fit="hinge", schedule=QUICK, random_state=0),
    "penalized": HalfspaceClassifier(3, final_fit="penalized", schedule=QUICK, random_state=0),
    "chosen halfspace": HalfspaceClassifierCV(
        (2,), final_fit="hinge", cv=2, schedule=QUICK, random_state=0
    ),
    "trusted": TrustedClassifier(schedule=QUICK, random_state=0),
}
TABLE = table()
CACHE: dict[str, Any] = {}


def model(name: str) -> Any:
    """The fitted estimator, fitted once."""
    if name not in CACHE:
        CACHE[name] = FITS[name].fit(TABLE.X, TABLE.y)
    return CACHE[name]


def test_the_slope_of_the_log_odds_is_found() -> None:
    # Its standard error is about 0.09: four of them alarm falsely with probability 6e-5.
    assert fit_slope(SCORES, SIGNS, np.ones(4000)) == pytest.approx(3.0, abs=0.36)


def test_the_slope_minimizes_the_log_loss() -> None:
    weights = RNG.random(4000)

    def loss(slope: float) -> float:
        return float(weights @ np.logaddexp(0, -slope * SIGNS * SCORES))

    best = minimize_scalar(loss, (0.1, 10.0), tol=1e-12).x
    assert fit_slope(SCORES, SIGNS, 1e9 * weights) == pytest.approx(best, rel=1e-5)


def test_rows_without_weight_or_without_a_score_do_not_count() -> None:
    n = 2000
    weights, scores = np.ones(4000), SCORES.copy()
    weights[n : n + 500], scores[n + 500 :] = 0.0, np.nan
    assert fit_slope(scores, SIGNS, weights) == fit_slope(SCORES[:n], SIGNS[:n], np.ones(n))


def test_a_weight_of_two_counts_as_two_rows() -> None:
    twice = [np.concatenate([part, part]) for part in (SCORES, SIGNS, np.ones(4000))]
    assert fit_slope(SCORES, SIGNS, np.full(4000, 2.0)) == pytest.approx(fit_slope(*twice))


def test_slopes_are_in_the_units_of_the_scores() -> None:
    once, scaled = (fit_slope(unit * SCORES, SIGNS, np.ones(4000)) for unit in (1.0, 1e-8))
    assert scaled == pytest.approx(1e8 * once)


@example([(2.3e-311, True, 1.0)])
@given(
    st.lists(st.tuples(st.floats(-1e9, 1e9), st.booleans(), st.floats(0, 10)), max_size=8),
)
def test_every_slope_is_positive_and_finite(rows: list[tuple[float, bool, float]]) -> None:
    scores, signs, weights = np.array([*map(list, rows)], dtype=float).reshape(-1, 3).T
    assert 0 < fit_slope(scores, 2 * signs - 1, weights) < np.inf


def test_log_probabilities_are_finite_where_probabilities_vanish() -> None:
    scores = np.array([-1e300, -1e4, 0.0, 1e4])
    assert np.isfinite(log_probabilities(scores, 1e9)).all()
    assert probabilities(scores, 1.0)[:, 1].tolist() == [0.0, 0.0, 0.5, 1.0]


@pytest.mark.parametrize("name", FITS)
def test_the_more_probable_class_is_the_predicted_one(name: str) -> None:
    rows = np.vstack([TABLE.X, 3 * TABLE.X])
    chances = model(name).predict_proba(rows)
    assert np.allclose(chances.sum(axis=1), 1)
    assert np.array_equal(model(name).classes_[chances.argmax(axis=1)], model(name).predict(rows))
    assert np.allclose(np.exp(model(name).predict_log_proba(rows)), chances)


@pytest.mark.parametrize("name", FITS)
def test_probabilities_survive_a_pickle(name: str) -> None:
    again = pickle.loads(pickle.dumps(model(name)))
    assert np.array_equal(again.predict_proba(TABLE.X), model(name).predict_proba(TABLE.X))


def test_held_out_scores_make_modest_probabilities() -> None:
    rng = np.random.default_rng(1)
    rows, labels = rng.standard_normal((120, 60)), rng.integers(0, 2, 120)
    fit = HalfspaceClassifier("auto", final_fit="penalized", schedule=QUICK, random_state=0)
    chances = fit.fit(rows, labels).predict_proba(rng.standard_normal((500, 60)))
    assert log_loss(rng.integers(0, 2, 500), chances) < 0.8  # 0.69 is that of a coin


def test_planted_rows_hardly_change_the_slope() -> None:
    clean = table(600)
    rows, labels = clean.X.copy(), clean.y.copy()
    rows[:30], labels[:30] = 4.0 * np.sign(clean.target) + (clean.target == 0), -1.0
    fits = [
        HalfspaceClassifier(2, noise_rate=0.05, schedule=QUICK, random_state=0).fit(X, y)
        for X, y in ((clean.X[30:], clean.y[30:]), (rows, labels))
    ]
    losses = [log_loss(clean.y, fit.predict_proba(clean.X)) for fit in fits]
    assert losses[1] < losses[0] + 0.05


def test_rows_left_out_for_their_loss_count_in_the_calibration() -> None:
    fit = model("halfspace")
    trust, by_variance = (f(fit.phases_, 200) for f in (trust_of_rows, trust_by_variance))
    left_out = np.zeros(200, dtype=bool)
    for outcome in fit.phases_:
        left_out[outcome.row_ids[outcome.is_left_out & (outcome.row_weights > 0)]] = True
    assert left_out.any()
    assert (by_variance[left_out] > trust[left_out]).all()
    assert np.array_equal(by_variance[~left_out], trust[~left_out])


def test_files_and_pipelines_have_the_same_probabilities(tmp_path: Path) -> None:
    fit = fitted()
    save_model(fit.to_model(), tmp_path / "model.json")
    loaded, expected = load_model(tmp_path / "model.json"), fit.predict_proba(NEW)
    assert np.array_equal(loaded.predict_proba(NEW), expected)
    pipeline = loaded.to_sklearn(with_probabilities=True)
    assert np.allclose(pipeline.predict_proba(NEW), expected, atol=1e-9)
    assert np.array_equal(pipeline.predict(NEW), fit.predict(NEW))


def test_a_model_without_a_slope_says_so() -> None:
    model = replace(fitted().to_model(), probability_slope=None)
    with pytest.raises(ValueError, match="has no probabilities: it was saved by an earlier"):
        model.predict_proba(ROWS)
    with pytest.raises(ValueError, match="has no probabilities"):
        model.to_sklearn(with_probabilities=True)
