"""Tests of the sample of rows on which the fits to a large table are compared."""

import numpy as np
import pytest
import scipy.sparse as sp

from thresher import HalfspaceClassifier, HalfspaceClassifierCV
from thresher.estimators import comparison, samples
from thresher.estimators.samples import FEWEST_OF_A_CLASS, sample_of_rows

N_ROWS, N_COLUMNS = 1200, 8


@pytest.fixture
def few_rows(monkeypatch):
    """A table of 1,200 rows counts as large; 300 of them are compared on."""
    monkeypatch.setattr(samples, "MOST_ENTRIES", 0)
    monkeypatch.setattr(samples, "FEWEST_ROWS", 300)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((N_ROWS, N_COLUMNS))
    return rows, np.where(rows @ np.arange(N_COLUMNS) > 0, "yes", "no")


def signs_with(n_positive, n_rows=N_ROWS):
    return np.where(np.arange(n_rows) < n_positive, 1.0, -1.0)


@pytest.mark.usefixtures("few_rows")
def test_a_sample_depends_on_its_seed_and_is_ordered():
    signs, rows = signs_with(600), np.zeros((N_ROWS, N_COLUMNS))
    first, again, other = (sample_of_rows(signs, rows, N_COLUMNS, seed) for seed in (0, 0, 1))
    assert np.array_equal(first, again) and not np.array_equal(first, other)
    assert first.size == 300 and (np.diff(first) > 0).all()


@pytest.mark.usefixtures("few_rows")
def test_a_small_class_makes_the_sample_larger():
    rows, n_rare = np.zeros((N_ROWS, N_COLUMNS)), 120
    seen = sample_of_rows(signs_with(n_rare), rows, N_COLUMNS, seed=0)
    assert seen.size == N_ROWS * FEWEST_OF_A_CLASS // n_rare
    assert sample_of_rows(signs_with(20), rows, N_COLUMNS, seed=0).size == N_ROWS


def test_sparse_rows_count_by_their_entries(monkeypatch):
    monkeypatch.setattr(samples, "FEWEST_ROWS", 10)
    monkeypatch.setattr(samples, "MOST_ENTRIES", 1000)
    signs, rows = signs_with(600), sp.csr_array(np.eye(N_ROWS, 500))  # less than one in each
    assert sample_of_rows(signs, rows, 500, seed=0).size == 1000


@pytest.mark.usefixtures("few_rows")
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("final_fit", ["auto", "penalized"])
def test_the_chosen_model_is_fitted_to_all_rows(table, kind, final_fit):
    rows, labels = table
    model = HalfspaceClassifier("auto", final_fit=final_fit, random_state=0)
    model.fit(kind(rows), labels)
    assert model.score(rows, labels) > 0.95
    assert model.row_weights_.size == N_ROWS
    fit = model.penalized_fit_
    assert fit.is_certified
    assert np.isfinite(fit.held_out.scores).sum() == 300


@pytest.mark.usefixtures("few_rows")
def test_a_limit_of_features_also_holds_for_all_rows(table):
    rows, labels = table
    for limit in (1, 2, 3):
        model = HalfspaceClassifier(limit, final_fit="penalized", random_state=0)
        assert model.fit(rows, labels).support_.size <= limit


@pytest.mark.usefixtures("few_rows")
def test_flips_outside_the_sample_are_found(table):
    rows, labels = table
    scores = rows @ np.arange(N_COLUMNS)
    flipped = np.argsort(-scores)[:60]
    labels = labels.copy()
    labels[flipped] = "no"
    model = HalfspaceClassifier("auto", 0.1, final_fit="penalized", random_state=0)
    trust = model.fit(rows, labels).row_weights_
    assert trust[flipped].mean() < 0.35 < trust.mean()


@pytest.mark.usefixtures("few_rows")
def test_halfspaces_of_folds_are_left_out_if_the_answer_is_known(table, monkeypatch):
    def refuse(*_):
        raise AssertionError("no fold should be fitted to")

    monkeypatch.setattr(comparison, "fit_to_folds", refuse)
    model = HalfspaceClassifierCV(random_state=0).fit(*table)
    (point,) = model.path_
    assert point.error < 0.1


@pytest.mark.usefixtures("few_rows")
def test_several_choices_are_compared_on_all_rows(table):
    rows, labels = table
    model = HalfspaceClassifierCV((1, 8), final_fit="penalized", random_state=0)
    held_out = model.fit(rows, labels).penalized_fit_.held_out
    assert np.isfinite(held_out.scores).all()
