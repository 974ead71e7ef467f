"""`estimate_noise_rate`, and `noise_rate=None` in the estimators."""

import numpy as np
import pytest
import scipy.sparse as sp

from thresher import (
    HalfspaceClassifier,
    HalfspaceClassifierCV,
    TrustedClassifier,
    estimate_noise_rate,
)
from thresher.estimators import NoiseRate
from thresher.estimators.contradictions import LEAST


def table(n_planted=0, n_rows=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, 5))
    y = np.where(X[:, 0] + X[:, 1] + 0.3 * rng.standard_normal(n_rows) > 0, "yes", "no")
    X[:n_planted] = [3, 3, 0, 0, 0] + 0.1 * rng.standard_normal((n_planted, 5))
    y[:n_planted] = "no"
    return X, y


@pytest.mark.parametrize("n_planted", [20, 40])
def test_the_interval_covers_the_share_of_planted_rows(n_planted):
    found = estimate_noise_rate(*table(n_planted))
    assert 0 < found.low <= found.estimate <= found.high
    assert found.low <= n_planted / 400 <= found.high
    assert abs(found.estimate - n_planted / 400) < 0.015


MORE_SEEDS = [pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 5)]


@pytest.mark.parametrize("seed", [0, *MORE_SEEDS])
def test_a_clean_table_has_almost_no_noise(seed):
    found = estimate_noise_rate(*table(seed=seed))
    assert found.low == 0
    assert found.estimate <= 0.02
    assert found.high <= 0.04


def test_flipped_labels_are_undercounted():
    X, y = table()
    y[:80] = np.where(y[:80] == "yes", "no", "yes")
    assert estimate_noise_rate(X, y).estimate < 0.15


def test_the_message_says_what_was_seen_and_what_cannot_be():
    assert NoiseRate.of(0.05, 0.03, 0.07).message.startswith("About 5.0% of the rows (3.0% to 7.0%")
    clean = NoiseRate.of(0.001, 0.0, 0.012).message
    assert clean.startswith("An estimated 0.1% of the rows (up to 1.2%)")
    assert "does not see" in clean
    assert "flipped labels" in clean


def test_a_fit_withstands_the_upper_end_within_limits():
    seen = [NoiseRate.of(high / 2, high / 3, high) for high in (0.001, 0.1, 0.6)]
    assert [rate.to_withstand for rate in seen] == [LEAST, 0.1, 0.4]
    assert NoiseRate.of(0.1, 0.0, 0.3).to_withstand == 0.05


def test_labels_drawn_by_coin_are_called_unpredictable():
    X, _ = table()
    found = estimate_noise_rate(X, np.random.default_rng(1).integers(0, 2, 400))
    assert "can hardly be predicted" in found.message
    assert found.low == 0
    assert "hardly" not in estimate_noise_rate(*table()).message


@pytest.mark.parametrize("n_columns", [300, 900])
def test_among_many_columns_some_suit_labels_by_chance_and_predict_nothing(n_columns):
    rows = np.random.default_rng(0).standard_normal((120, n_columns))
    assert "can hardly be predicted" in estimate_noise_rate(rows, np.arange(120) % 2).message


def test_sparse_rows_and_their_dense_form_are_both_taken():
    X, y = table(40)
    X[np.abs(X) < 0.5] = 0
    for rows in (X, sp.csr_array(X)):
        found = estimate_noise_rate(rows, y.tolist())
        assert found.low <= 0.1 <= found.high < 0.15


def test_the_caller_sees_no_warning_about_the_wary_fit(recwarn):
    estimate_noise_rate(*table(n_rows=30))
    assert not recwarn.list


def test_misuse_is_refused_as_in_fit():
    X, _ = table()
    with pytest.raises(ValueError, match="one class"):
        estimate_noise_rate(X, np.zeros(400))


def test_a_classifier_without_a_noise_rate_estimates_it():
    X, y = table(20, n_rows=200)
    how = {"final_fit": "penalized", "random_state": 0}
    model = HalfspaceClassifier(2, noise_rate=None, **how).fit(X, y)
    found = estimate_noise_rate(X, y)
    assert model.estimated_noise_rate_ == found
    assert model.noise_rate_ == found.high
    assert model.noise_rate is None
    given = HalfspaceClassifier(2, noise_rate=found.high, **how).fit(X, y)
    np.testing.assert_array_equal(given.coef_, model.coef_)
    np.testing.assert_array_equal(given.row_weights_, model.row_weights_)
    assert given.estimated_noise_rate_ is None


def test_a_second_fit_estimates_anew():
    model = HalfspaceClassifier(2, noise_rate=None, final_fit="hinge", random_state=0)
    dirty = model.fit(*table(15, n_rows=150)).noise_rate_
    clean = model.fit(*table(n_rows=150)).noise_rate_
    assert LEAST <= clean < 0.03 < dirty


def test_cross_validation_without_noise_rates_estimates_one():
    X, y = table(40)
    how = {"final_fit": "hinge", "cv": 2, "random_state": 0}
    model = HalfspaceClassifierCV((2,), noise_rates=None, **how).fit(X, y)
    assert model.noise_rate_ == estimate_noise_rate(X, y).high
    assert {point.noise_rate for point in model.path_} == {model.noise_rate_}
    assert model.to_model().provenance["parameters"]["noise_rate"] == model.noise_rate_


def test_trust_for_other_classifiers_needs_no_noise_rate():
    X, y = table(40)
    model = TrustedClassifier(noise_rate=None, random_state=0).fit(X, y)
    assert model.filter_.noise_rate_ == estimate_noise_rate(X, y).high
    assert model.row_weights_[:40].max() < 0.1


def test_missing_cells_are_refused_in_its_own_name():
    X, y = table()
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"= nan\. estimate_noise_rate does not") as caught:
        estimate_noise_rate(X, y)
    assert "thresher.audit(X, y).noise_rate" in str(caught.value)
    assert "HalfspaceClassifier" not in str(caught.value)
