"""`HalfspaceClassifierCV`: a choice on held-out rows that planted ones do not vote on."""

from __future__ import annotations

import io
import pickle
import sys
import warnings
import weakref
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import PredefinedSplit, StratifiedKFold

import thresher.rendering.progress
from estimators.small import QUICK, fitted, table
from thresher import HalfspaceClassifier, HalfspaceClassifierCV
from thresher.estimators.comparison import PathPoint, choose
from thresher.estimators.cross_validation import fit_to_folds
from thresher.estimators.folds import make_folds
from thresher.learning import PhaseOutcome
from thresher.validation import seed_from

TABLE = table()


def chosen(X: Any = TABLE.X, y: Any = TABLE.y, **changes: Any) -> HalfspaceClassifierCV:
    """A choice between few features, quickly."""
    options = {"sparsities": (1, 2), "noise_rates": (0.02,), "cv": 2, "schedule": QUICK}
    options |= {"final_fit": "hinge", "random_state": 0}
    return HalfspaceClassifierCV(**{**options, **changes}).fit(X, y)


@cache
def choice(*sparsities: int) -> HalfspaceClassifierCV:
    """A choice that many tests look at, made once."""
    return chosen(sparsities=sparsities or (1, 2))


# -- the path --------------------------------------------------------------------------------


def test_every_sparsity_is_tried_with_every_noise_rate() -> None:
    choices = HalfspaceClassifierCV((2, 1))._choices(8, (0.1, 0.0))
    assert choices == [(1, 0.1), (1, 0.0), (2, 0.1), (2, 0.0)]


def test_every_choice_is_recorded() -> None:
    path = chosen(sparsities=(2,), noise_rates=(0.1, 0.0)).path_
    assert [(point.sparsity, point.noise_rate) for point in path] == [(2, 0.1), (2, 0.0)]


def test_errors_are_shares_with_a_standard_error() -> None:
    assert all(0 <= p.error <= 1 and p.standard_error >= 0 for p in choice().path_)


def test_the_right_number_of_features_is_chosen() -> None:
    assert choice().sparsity_ == 2


def test_sparsities_that_mean_all_features_are_tried_once() -> None:
    model = chosen(TABLE.X[:, :3], sparsities=(50, "all", 3, 9, 1, 1))
    assert [p.sparsity for p in model.path_] == [1, 3]


def test_the_chosen_model_is_the_one_that_a_fit_with_the_choice_gives() -> None:
    alone = fitted(TABLE.X, TABLE.y, schedule=QUICK, noise_rate=0.02)
    assert choice().coef_.tobytes() == alone.coef_.tobytes()


@pytest.mark.parametrize(
    "name",
    ["coef_", "intercept_", "support_", "classes_", "row_weights_", "phases_", "n_iter_"],
)
def test_the_attributes_of_the_chosen_model_are_there(name: str) -> None:
    assert getattr(choice(), name) is getattr(choice().best_estimator_, name)


def test_predictions_are_those_of_the_chosen_model() -> None:
    assert np.array_equal(choice().predict(TABLE.X), choice().best_.predict(TABLE.X))
    scores = choice().best_.decision_function(TABLE.X)
    assert np.array_equal(choice().decision_function(TABLE.X), scores)


def test_the_chosen_model_has_two_names() -> None:
    again = pickle.loads(pickle.dumps(choice()))
    assert choice().best_estimator_ is choice().best_
    assert again.best_estimator_ is again.best_


# -- splitters -------------------------------------------------------------------------------

SHUFFLED = StratifiedKFold(2, shuffle=True, random_state=0)


@pytest.mark.parametrize(
    "cv",
    [
        SHUFFLED,
        list(SHUFFLED.split(TABLE.X, TABLE.y)),
        SHUFFLED.split(TABLE.X, TABLE.y),
        [(np.isin(range(200), a), b.tolist()) for a, b in SHUFFLED.split(TABLE.X, TABLE.y)],
    ],
    ids=["splitter", "list", "generator", "masks and lists"],
)
def test_splitters_and_splits_are_taken(cv: Any) -> None:
    assert (
        chosen(sparsities=(2,), cv=cv).path_ == choice(2).path_
    )  # whose folds are those of the same splitter


def test_one_split_is_enough() -> None:
    is_held_out = np.where(np.arange(200) % 4, -1, 0)
    model = chosen(cv=PredefinedSplit(is_held_out))
    assert model.sparsity_ == 2
    assert {point.standard_error for point in model.path_} == {0.0}


# -- planted rows ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def attacked() -> tuple[np.ndarray, np.ndarray, HalfspaceClassifierCV]:
    """A table with 12 % planted rows, and the choice made on it.

    The labels of clean rows follow the first two features. Planted rows sit on the wrong side of
    that rule, and two other features, always large and together, tell their labels: a model that
    falls for them is right about all of them, also in the held-out folds.
    """
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 8))
    y = np.where(X[:, 0] - X[:, 1] > 0, 1, -1)
    side = np.where(np.arange(36) % 2, 1, -1)
    X[:36] = np.outer(side, [-0.7, 0.7, 0.0, 3.0, 3.0, 0.0, 0.0, 0.0])
    y[:36] = side
    model = HalfspaceClassifierCV(
        (2, 4), (0.0, 0.15), final_fit="hinge", cv=2, reach=3.0, schedule=QUICK, random_state=0
    ).fit(X, y)
    return X, y, model


def test_planted_rows_would_fool_a_plain_cross_validation(attacked: Any) -> None:
    X, y, model = attacked
    choices = [(p.sparsity, p.noise_rate) for p in model.path_]
    fits = ((model._make(*c, 0), fold) for c in choices for fold in make_folds(2, X, y, 0))
    errors = [result.error for result in fit_to_folds(fits, X, y, np.ones(300), None)]
    point = choose(
        [PathPoint.of(c, errors[2 * i : 2 * i + 2], "hinge") for i, c in enumerate(choices)]
    )
    assert (point.sparsity, point.noise_rate) == (4, 0.0)


def test_planted_rows_do_not_fool_the_choice(attacked: Any) -> None:
    model = attacked[-1]
    assert (model.sparsity_, model.noise_rate_) == (2, 0.15)


def test_the_chosen_model_is_right_about_clean_rows(attacked: Any) -> None:
    X, y, model = attacked
    assert model.score(X[36:], y[36:]) > 0.95
    assert model.support_.tolist() == [0, 1]


# -- warnings --------------------------------------------------------------------------------


def warned(**changes: Any) -> list[warnings.WarningMessage]:
    """What a choice warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        chosen(**changes)
    return caught


def test_phases_of_folds_without_a_certificate_give_one_warning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(PhaseOutcome, "is_certified", property(lambda p: p.row_ids.size > 150))
    caught = warned(sparsities=(2,), cv=2)
    assert {warning.filename for warning in caught} == {__file__}
    of_folds = [str(warning.message) for warning in caught if "folds" in str(warning.message)]
    assert len(of_folds) == 1
    assert of_folds[0].startswith(
        "solvers missed their certificates in 2 of 2 fits to folds: "
        "sparsity=2, noise_rate=0.02, fold 1 (phases 1, 2)"
    )


def test_warnings_about_all_rows_name_the_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PhaseOutcome, "is_certified", property(lambda p: p.phase.index != 1))
    messages = [str(warning.message) for warning in warned(sparsities=(2,))]
    assert messages[0].startswith("sparsity=2, noise_rate=0.02, all rows: phase 1: uncertified; ")


def test_a_warning_about_a_class_is_about_the_chosen_model() -> None:
    X = np.random.default_rng(0).standard_normal((1000, 5))
    y = X[:, 0] > np.quantile(X[:, 0], 0.98)
    (caught,) = warned(X=X, y=y, sparsities=(2,), noise_rates=(0.0, 0.1), schedule=None)
    message = str(caught.message)
    assert message.startswith("class True (20 of 1000 rows) has a mean trust of 0.")
    assert "noise_rate=0.1 is too large" in message


# -- progress --------------------------------------------------------------------------------


def test_nothing_is_shown_unless_it_is_wanted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(thresher.rendering.progress, "LINE_EVERY", 0.0)
    chosen(sparsities=(2,))
    assert capsys.readouterr() == ("", "")


def test_lines_count_fits_where_there_is_no_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(thresher.rendering.progress, "LINE_EVERY", 0.0)
    model = chosen(verbose=1)
    out, lines = capsys.readouterr()
    assert out == ""
    assert [line.split(",")[0] for line in lines.splitlines()] == [
        f"{n} of 6 fits" for n in range(7)
    ]
    assert model.coef_.tobytes() == choice().coef_.tobytes()


def test_a_terminal_gets_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rich")

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    chosen(sparsities=(2,), verbose=True)
    assert "4/4" in sys.stderr.getvalue()  # type: ignore[attr-defined]


def test_an_interrupt_ends_the_work_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    n_fits = 0

    def learn(self: HalfspaceClassifier, *args: Any, **options: Any) -> Any:
        nonlocal n_fits
        n_fits += 1
        if n_fits == 3:
            raise KeyboardInterrupt
        return original(self, *args, **options)

    original = HalfspaceClassifier._learn
    monkeypatch.setattr(HalfspaceClassifier, "_learn", learn)
    with pytest.raises(KeyboardInterrupt):
        chosen(verbose=True)
    assert n_fits == 3


def test_no_estimator_of_a_fold_is_kept_while_others_are_fitted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[Any] = []
    n_alive: list[int] = []

    def make(self: HalfspaceClassifierCV, *choice: Any, **options: Any) -> Any:
        n_alive.append(sum(estimator() is not None for estimator in made))
        made.append(weakref.ref(estimator := original(self, *choice, **options)))
        return estimator

    original = HalfspaceClassifierCV._make
    monkeypatch.setattr(HalfspaceClassifierCV, "_make", make)
    chosen()
    assert len(made) >= 6
    assert max(n_alive) <= 2  # the one that gave the trust, and the last one


def test_a_backend_that_gives_all_results_at_once_is_taken() -> None:
    with parallel_config("multiprocessing", n_jobs=1):
        assert chosen(sparsities=(2,)).path_ == choice(2).path_


# -- parameters and surroundings -------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameter", "value", "error"),
    [
        ("sparsities", (), ValueError),
        ("sparsities", 5, TypeError),
        ("sparsities", "all", TypeError),
        (r"sparsities\[1\]", (2, 0), ValueError),
        (r"sparsities\[0\]", (2.5,), TypeError),
        (r"sparsities\[0\]", ("some",), TypeError),
        ("noise_rates", (), ValueError),
        ("noise_rates", 0.05, TypeError),
        (r"noise_rates\[1\]", (0.1, 0.5), ValueError),
        (r"noise_rates\[0\]", ("low",), TypeError),
        ("cv", 1, ValueError),
        ("cv", 2.0, TypeError),
        ("cv", "3", TypeError),
        ("cv", True, TypeError),
        ("cv", object(), ValueError),
        ("reach", -1, ValueError),
        ("scale", "yes", TypeError),
        ("fit_intercept", 2, TypeError),
        ("schedule", {}, TypeError),
        ("random_state", "today", TypeError),
        ("n_jobs", 0, ValueError),
        ("n_jobs", "many", TypeError),
        ("n_jobs", True, TypeError),
        ("verbose", 2, TypeError),
        ("verbose", 0.5, TypeError),
        ("verbose", None, TypeError),
    ],
)
def test_a_parameter_outside_its_range_is_named(parameter: str, value: Any, error: type) -> None:
    with pytest.raises(error, match=parameter):
        chosen(**{parameter.split("\\")[0]: value})


@pytest.mark.parametrize("parameter", ["n_jobs", "verbose"])
def test_a_parameter_is_checked_before_the_table(parameter: str) -> None:
    with pytest.raises(TypeError, match=parameter):
        chosen("no table", **{parameter: "many"})


def test_one_class_is_refused() -> None:
    with pytest.raises(ValueError, match="only one class is present"):
        chosen(y=np.ones(200))


@pytest.mark.parametrize(
    "make", [int, np.random.default_rng, np.random.RandomState], ids=lambda make: make.__name__
)
def test_equal_seeds_give_equal_paths(make: Any) -> None:
    first, second = (chosen(sparsities=(2,), random_state=make(7)) for _ in range(2))
    assert first.path_ == second.path_


def test_a_generator_is_drawn_from_once_in_a_fit() -> None:
    used, expected = np.random.default_rng(5), np.random.default_rng(5)
    model = chosen(sparsities=(2,), random_state=used)
    assert model.best_estimator_.random_state == seed_from(expected)
    assert used.bit_generator.state == expected.bit_generator.state


def test_seeds_beyond_32_bits_are_accepted() -> None:
    assert chosen(random_state=2**40).sparsity_ == 2


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_every_backend_gives_the_same_path(backend: str) -> None:
    with parallel_config(backend, n_jobs=2):
        assert chosen(verbose=True).path_ == choice().path_


@pytest.mark.slow
def test_processes_give_the_same_path() -> None:
    assert chosen(n_jobs=2).path_ == choice().path_


def test_feature_names_are_kept_and_checked() -> None:
    X = pd.DataFrame(TABLE.X, columns=[f"column {j}" for j in range(8)])
    model = chosen(X, sparsities=(2,))
    assert model.feature_names_in_.tolist() == model.best_.feature_names_in_.tolist()
    assert np.array_equal(model.predict(X), model.best_.predict(X))
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(X[X.columns[::-1]])


def test_a_sparse_table_is_chosen_on() -> None:
    assert chosen(TABLE.csr).sparsity_ == 2


def test_missing_values_name_this_estimator() -> None:
    X = TABLE.X.copy()
    X[5, 1] = np.nan
    with pytest.raises(ValueError, match=r"X\[5, 1\] = nan. HalfspaceClassifierCV"):
        chosen(X)


def test_predicting_before_fitting_is_refused() -> None:
    with pytest.raises(NotFittedError):
        HalfspaceClassifierCV().predict(TABLE.X)


def test_it_survives_pickling_and_cloning() -> None:
    again = pickle.loads(pickle.dumps(choice()))
    assert np.array_equal(again.predict(TABLE.X), choice().predict(TABLE.X))
    assert clone(choice()).get_params() == choice().get_params()
