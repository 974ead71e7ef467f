"""The final model: the last halfspace, or a penalized fit to the rows that deserve trust."""

from __future__ import annotations

import tracemalloc
import warnings
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import thresher.rendering.progress
from estimators.small import QUICK, planted, quick, spread_out, table
from thresher import HalfspaceClassifier, HalfspaceClassifierCV, load_model, save_model
from thresher.errors import DistrustedClass
from thresher.estimators.comparison import PathPoint, choose
from thresher.estimators.cross_validation import fit_to_folds
from thresher.estimators.final_fit import PenalizedFits
from thresher.estimators.folds import make_folds
from thresher.estimators.trust import trust_of_rows
from thresher.geometry import hard_threshold

TABLE = table()
FINAL_FITS = ["auto", "hinge", "penalized"]


@cache
def model(final_fit: str) -> HalfspaceClassifier:
    """A model of the small table."""
    return quick(TABLE.X, TABLE.y, final_fit=final_fit)


# -- columns ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_columns", "sparsity"), [(2500, "auto"), (900, 5)])
def test_columns_that_suit_held_out_rows_by_chance_do_not_lower_the_error(
    n_columns: int, sparsity: int | str
) -> None:
    # Chosen on all 60 rows, the columns predict held-out labels of a coin almost without an error.
    errors = []
    for seed in range(4):
        rows = np.random.default_rng(seed).standard_normal((60, n_columns))
        chosen = HalfspaceClassifierCV((sparsity,), schedule=QUICK, random_state=0)
        errors.append(chosen.fit(rows, np.arange(60) % 2).path_[0].error)
    assert np.mean(errors) > 0.3


def test_ties_of_trust_do_not_depend_on_the_order_of_rows() -> None:
    trust = np.repeat([0.0, 0.0, 0.5, 1.0], 50)
    fits = PenalizedFits(model("penalized"), TABLE.X, TABLE.y, make_folds(2, TABLE.X, TABLE.y, 0))
    for share in (0.1, 0.25, 0.4):
        fits._settings = replace(fits._settings, noise_rate=share)
        judging = fits._hardly_planted(trust)
        assert judging.sum() == pytest.approx(200 * (1 - share))
        assert all(np.unique(judging[trust == value]).size == 1 for value in (0.0, 0.5, 1.0))


# -- hinge: as the algorithm ends ------------------------------------------------------------


def test_hinge_is_the_last_halfspace_to_the_last_bit() -> None:
    made = model("hinge")
    halfspace = made.phases_[-1].halfspace
    weights = hard_threshold(halfspace[:8], 2)
    assert made._weights.tobytes() == weights[made.support_].tobytes()
    assert made._offset == halfspace[-1]
    assert made.coef_[0].tobytes() == (weights / made.scaling_.scale).tobytes()
    assert (made.final_fit_, made.penalized_fit_, made.evidence_) == ("hinge", None, None)


def test_hinge_has_the_trust_of_its_phases() -> None:
    trust = trust_of_rows(model("hinge").phases_, 200)
    assert model("hinge").row_weights_.tobytes() == trust.tobytes()


@pytest.mark.parametrize("final_fit", ["auto", "penalized"])
def test_the_phases_are_the_same_whatever_the_final_fit(final_fit: str) -> None:
    for one, other in zip(model(final_fit).phases_, model("hinge").phases_, strict=True):
        assert one.halfspace.tobytes() == other.halfspace.tobytes()


def test_a_choice_of_halfspaces_compares_them_by_the_trust_of_the_widest() -> None:
    options = {"final_fit": "hinge", "schedule": QUICK, "random_state": 0}
    chosen = HalfspaceClassifierCV((1, 2), (0.02,), cv=2, **options).fit(TABLE.X, TABLE.y)
    trust = HalfspaceClassifier(2, 0.02, **options).fit(TABLE.X, TABLE.y).row_weights_
    folds = make_folds(2, TABLE.X, TABLE.y, 0)
    for point in chosen.path_:
        fits = ((HalfspaceClassifier(point.sparsity, 0.02, **options), fold) for fold in folds)
        errors = [result.error for result in fit_to_folds(fits, TABLE.X, TABLE.y, trust, None)]
        expected = PathPoint.of((point.sparsity, 0.02), errors, "hinge", point.balanced_error)
        assert point == expected


# -- penalized -------------------------------------------------------------------------------


def test_a_penalized_fit_is_the_model() -> None:
    made = model("penalized")
    fit = made.penalized_fit_
    assert made.final_fit_ == "penalized"
    scores = made.scaling_.apply(TABLE.X)[:, fit.columns] @ fit.coef + fit.offset
    length = np.hypot(np.linalg.norm(fit.coef), fit.offset)
    assert np.allclose(made.decision_function(TABLE.X), scores / length)
    assert fit.is_certified
    assert made.score(TABLE.X, TABLE.y) > 0.95


@pytest.mark.parametrize("final_fit", FINAL_FITS)
@pytest.mark.parametrize("sparsity", [1, 3])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_number_for_the_sparsity_is_never_exceeded(
    sparsity: int, final_fit: str, fit_intercept: bool
) -> None:
    made = quick(
        TABLE.X, TABLE.y, sparsity=sparsity, final_fit=final_fit, fit_intercept=fit_intercept
    )
    assert np.count_nonzero(made.coef_) <= sparsity
    assert fit_intercept or made._offset == 0


def test_auto_sparsity_does_not_limit_the_penalized_fit() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 60))
    y = X.sum(axis=1) > 0
    made = quick(X, y, sparsity="auto", final_fit="penalized")
    assert made.support_.size > 40
    assert np.count_nonzero(made.phases_[-1].halfspace) <= 40 + 1  # with the intercept


@pytest.mark.parametrize("final_fit", ["hinge", "penalized"])
def test_auto_is_one_of_the_two(final_fit: str) -> None:
    made = model("auto")
    same = made.coef_.tobytes() == model(final_fit).coef_.tobytes()
    assert same == (made.final_fit_ == final_fit)


@pytest.mark.parametrize("final_fit", ["best", None, 1, "Hinge"])
def test_another_final_fit_is_refused(final_fit: Any) -> None:
    with pytest.raises(ValueError, match=r"final_fit must be one of auto, hinge, penalized, got"):
        quick(TABLE.X, TABLE.y, final_fit=final_fit)


@pytest.mark.parametrize(("value", "error"), [(0, ValueError), (-3, ValueError), (2.5, TypeError)])
def test_max_columns_must_be_a_count(value: Any, error: type) -> None:
    with pytest.raises(error, match="max_columns"):
        quick(TABLE.X, TABLE.y, max_columns=value)


# -- trust -----------------------------------------------------------------------------------


def test_where_nothing_stands_out_every_row_is_trusted() -> None:
    X = np.random.default_rng(3).standard_normal((200, 8))
    made = quick(X, X[:, 0] > 0, final_fit="penalized", noise_rate=0.05)
    assert not made.evidence_.stands_out
    assert (made.row_weights_ == 1).all()
    assert made.evidence_.sentence().startswith("Nothing stands out above what 200 rows and 8")


def test_planted_rows_stand_out_and_lose_their_trust() -> None:
    poisoned, is_planted = planted()
    made = quick(poisoned.X, poisoned.y, final_fit="auto", noise_rate=0.06)
    assert made.evidence_.stands_out
    assert made.row_weights_[is_planted].max() < 0.5 < made.row_weights_[~is_planted].mean()
    assert made.score(poisoned.X[~is_planted], poisoned.y[~is_planted]) > 0.95


def test_trust_that_does_not_help_to_predict_all_rows_is_not_used() -> None:
    X, y = spread_out()
    asked = {"sparsity": "auto", "final_fit": "penalized"}
    made = quick(X, y, noise_rate=0.1, **asked)
    assert made.evidence_.is_clear and not made.evidence_.helps
    assert made.row_weights_.mean() < 0.9  # it is reported all the same
    assert np.array_equal(made.coef_, quick(X, y, noise_rate=0.0, **asked).coef_)


def test_then_every_choice_is_compared_on_all_rows() -> None:
    X, y = spread_out()
    asked: dict[str, Any] = {"final_fit": "penalized", "schedule": QUICK, "random_state": 0}
    made, without = (
        HalfspaceClassifierCV(("auto", 10), noise_rates=(rate,), **asked).fit(X, y)
        for rate in (0.1, 0.0)
    )
    assert not made.evidence_.helps
    assert [p.error for p in made.path_] == [p.error for p in without.path_]


def test_a_small_class_is_not_lost() -> None:
    X = np.random.default_rng(0).standard_normal((1000, 5))
    y = X[:, 0] > np.quantile(X[:, 0], 0.98)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DistrustedClass)
        kept = quick(X, y, noise_rate=0.1, reach=4.0, final_fit="auto")
        lost = quick(X, y, noise_rate=0.1, reach=4.0, final_fit="hinge")
    assert kept.row_weights_[y].mean() >= 0.5 - 1e-9
    assert kept.predict(X)[y].mean() > 0.8
    assert not lost.predict(X).any()  # what the default saves


# -- the choice by cross-validation ----------------------------------------------------------


def chosen(sparsities: Any = "auto", **changes: Any) -> HalfspaceClassifierCV:
    options = {"noise_rates": (0.02,), "cv": 2, "schedule": QUICK, "random_state": 0, **changes}
    return HalfspaceClassifierCV(sparsities, **options).fit(TABLE.X, TABLE.y)


def test_the_default_choice_is_auto_alone() -> None:
    made = chosen()
    assert HalfspaceClassifierCV().sparsities == "auto"
    assert [point.sparsity for point in made.path_] == ["auto"]
    assert (made.sparsity_, made.final_fit_) == ("auto", made.path_[0].final_fit)
    assert made.score(TABLE.X, TABLE.y) > 0.95


def test_auto_comes_after_all_numbers() -> None:
    choices = HalfspaceClassifierCV(("auto", 4, 2))._choices(8, (0.05,))
    assert [sparsity for sparsity, _ in choices] == [2, 4, "auto"]


def test_a_number_is_preferred_to_auto_if_it_is_about_as_good() -> None:
    path = [PathPoint(4, 0.05, 0.11, 0.01), PathPoint("auto", 0.05, 0.1, 0.02)]
    assert choose(path).sparsity == 4


def test_every_choice_has_the_final_fit_with_the_smaller_error() -> None:
    for either, penalized in zip(chosen((1, 2)).path_, chosen((1, 2), final_fit="penalized").path_):
        assert penalized.final_fit == "penalized"
        if either.final_fit == "penalized":
            assert either == penalized
        else:
            assert either.error <= penalized.error


def test_the_number_of_tasks_is_that_of_the_fits_made(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(thresher.rendering.progress, "LINE_EVERY", 0.0)
    chosen(final_fit="penalized", verbose=True)
    assert capsys.readouterr().err.splitlines()[-1].startswith("2 of 2 fits")


# -- wide tables -----------------------------------------------------------------------------

N_WIDE, N_GENES = 80, 2000


def wide(n_planted: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A table with far more columns than rows, 30 of which tell the classes apart.

    Planted rows lie far out in them, on the wrong side.
    """
    rng = np.random.default_rng(0)
    y = np.where(np.arange(N_WIDE) % 2, 1, -1)
    X = rng.standard_normal((N_WIDE, N_GENES))
    X[:, :30] += y[:, None]
    X[:n_planted, :30] = -8.0 * y[:n_planted, None]
    return X, y, np.arange(N_WIDE) < n_planted


@cache
def wide_model(n_planted: int) -> HalfspaceClassifier:
    X, y, _ = wide(n_planted)
    model = HalfspaceClassifier("auto", 0.1, schedule=QUICK, max_columns=60, random_state=0)
    return model.fit(X, y)


def test_far_rows_do_not_turn_the_model_of_a_wide_table_around() -> None:
    new = np.random.default_rng(1).standard_normal((200, N_GENES))
    y = np.where(np.arange(200) % 2, 1, -1)
    new[:, :30] += y[:, None]
    assert wide_model(8).score(new, y) > 0.9


def test_in_a_clean_wide_table_nothing_stands_out() -> None:
    assert not wide_model(0).evidence_.stands_out
    assert (wide_model(0).row_weights_ == 1).all()


def test_phases_speak_of_the_promising_columns() -> None:
    made = wide_model(0)
    assert made.columns_.size == 60
    assert (np.diff(made.columns_) > 0).all()
    assert set(range(30)) <= set(made.columns_.tolist())
    assert {phase.halfspace.size for phase in made.phases_} == {61}
    assert made.coef_.shape == (1, N_GENES)
    assert made.evidence_.n_columns == 60


def test_a_saved_model_of_a_wide_table_predicts_the_same(tmp_path: Any) -> None:
    X, _, _ = wide(0)
    save_model(wide_model(0).to_model(), tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    assert np.allclose(loaded.decision_function(X), wide_model(0).decision_function(X))


def test_a_sparsity_above_max_columns_widens_them() -> None:
    X, y, _ = wide(0)
    made = quick(X[:, :50], y, sparsity=20, max_columns=10)
    assert made.columns_.size == 20


def test_without_a_limit_all_columns_are_looked_at() -> None:
    X, y, _ = wide(0)
    made = quick(X[:, :50], y, max_columns=None)
    assert made.columns_.tolist() == list(range(50))
    limited = quick(X[:, :50], y, max_columns=50)
    assert limited.coef_.tobytes() == made.coef_.tobytes()


def test_a_halfspace_over_some_columns_is_that_of_the_table_of_them() -> None:
    X, y, _ = wide(0)
    made = quick(X[:, :120], y, max_columns=40)
    alone = quick(X[:, made.columns_], y)
    assert made.coef_[0, made.columns_].tobytes() == alone.coef_[0].tobytes()
    assert np.array_equal(made.predict(X[:, :120]), alone.predict(X[:, made.columns_]))


def test_sparse_rows_are_never_dense_at_full_width() -> None:
    rng = np.random.default_rng(0)
    X = sp.csr_array(sp.random(200, 20_000, density=0.002, random_state=0, format="csr"))
    y = np.where(np.arange(200) % 2, 1, -1)
    X = sp.hstack([X, sp.csr_array(np.maximum(y, 0)[:, None] * rng.random((200, 3)))], format="csr")
    tracemalloc.start()
    made = quick(X, y, sparsity="auto", final_fit="penalized", max_columns=40)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 200 * 20_000 / 4
    assert made.score(X, y) > 0.95
