"""`TrustedClassifier`: trust for other classifiers, inside and around pipelines."""

from __future__ import annotations

import pickle
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from estimators.small import QUICK, planted, quick, spread_out, table
from thresher import HalfspaceClassifier, TrustedClassifier

TABLE = table()
POISONED, IS_PLANTED = planted(300, 24)
TREE = DecisionTreeClassifier(max_depth=3, random_state=0)


def trusted(estimator: Any = None, **changes: Any) -> TrustedClassifier:
    """A quick one that may find all of the planted rows."""
    options = {"noise_rate": 0.08, "schedule": QUICK, "random_state": 0}
    return TrustedClassifier(estimator, **{**options, **changes})


@cache
def regression() -> TrustedClassifier:
    """Fitted to the poisoned table."""
    return trusted(LogisticRegression()).fit(POISONED.X, POISONED.y)


# -- what is learned -------------------------------------------------------------------------


def test_planted_rows_lose_their_trust() -> None:
    trust = regression().row_weights_
    assert trust[IS_PLANTED].max() < 0.5 < trust[~IS_PLANTED].mean()
    assert regression().evidence_.stands_out


def test_the_estimator_is_fitted_with_the_trust() -> None:
    alone = LogisticRegression().fit(POISONED.X, POISONED.y, regression().row_weights_)
    assert np.array_equal(regression().estimator_.coef_, alone.coef_)


def test_planted_rows_do_not_steer_the_estimator() -> None:
    X, y = POISONED.X[~IS_PLANTED], POISONED.y[~IS_PLANTED]
    steered = LogisticRegression().fit(POISONED.X, POISONED.y)
    assert steered.score(X, y) < 0.9 < regression().score(X, y)


def test_where_nothing_stands_out_the_estimator_is_the_undefended_one() -> None:
    X = np.random.default_rng(3).standard_normal((200, 8))
    y = X[:, 0] > 0
    model = trusted(TREE, noise_rate=0.05).fit(X, y)
    assert (model.row_weights_ == 1).all()
    assert np.array_equal(model.predict(X), clone(TREE).fit(X, y).predict(X))


def test_without_an_estimator_it_is_the_penalized_fit() -> None:
    model = trusted().fit(POISONED.X, POISONED.y)
    alone = HalfspaceClassifier(
        "auto", 0.08, final_fit="penalized", schedule=QUICK, random_state=0
    ).fit(POISONED.X, POISONED.y)
    scores = model.decision_function(POISONED.X)
    assert np.array_equal(scores, alone.decision_function(POISONED.X))


# -- what is delegated -----------------------------------------------------------------------


def test_probabilities_are_those_of_the_estimator() -> None:
    for name in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        own, other = getattr(regression(), name), getattr(regression().estimator_, name)
        assert np.array_equal(own(TABLE.X), other(TABLE.X))


@pytest.mark.parametrize(
    ("estimator", "name"),
    [(LinearSVC(), "predict_proba"), (TREE, "decision_function")],
    ids=str,
)
def test_what_the_estimator_does_not_have_is_not_there(estimator: Any, name: str) -> None:
    assert not hasattr(TrustedClassifier(estimator), name)


def test_predicting_before_fitting_is_refused() -> None:
    with pytest.raises(NotFittedError):
        TrustedClassifier(TREE).predict(TABLE.X)


def test_an_estimator_without_sample_weight_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match=r"take sample_weight in fit, and KNeighborsClassifier"):
        trusted(KNeighborsClassifier()).fit(TABLE.X, TABLE.y)


def test_a_pipeline_in_a_pipeline_is_refused_with_advice() -> None:
    nested = make_pipeline(StandardScaler(), make_pipeline(TREE))
    with pytest.raises(TypeError, match="one pipeline with all steps instead of a pipeline in a"):
        trusted(nested).fit(TABLE.X, TABLE.y)


def test_a_pipeline_of_the_classifier_alone_is_taken() -> None:
    model = trusted(make_pipeline(TREE)).fit(POISONED.X, POISONED.y)
    assert list(model.estimator_.named_steps) == ["decisiontreeclassifier"]
    alone = trusted(TREE).fit(POISONED.X, POISONED.y)
    assert np.array_equal(model.predict(TABLE.X), alone.predict(TABLE.X))


def test_three_classes_are_refused() -> None:
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        trusted(TREE).fit(TABLE.X, np.arange(200) % 3)


def test_the_given_estimator_is_left_alone() -> None:
    regression()
    assert not hasattr(regression().estimator, "coef_")


# -- pipelines -------------------------------------------------------------------------------


def test_it_ends_a_pipeline() -> None:
    pipeline = make_pipeline(StandardScaler(), trusted(TREE)).fit(POISONED.X, POISONED.y)
    assert pipeline.score(POISONED.X[~IS_PLANTED], POISONED.y[~IS_PLANTED]) > 0.8


def frame() -> tuple[pd.DataFrame, np.ndarray]:
    """The poisoned table with names, a column of text, and gaps in the first column."""
    X = pd.DataFrame(POISONED.X.copy(), columns=[f"x{j}" for j in range(8)])
    X["x7"] = np.where(X["x7"] > 0, "high", "low")
    X.loc[30::40, "x0"] = np.nan
    return X, np.where(POISONED.y > 0, "yes", "no")


def test_it_goes_around_a_pipeline_that_imputes_and_encodes() -> None:
    X, y = frame()
    numbers = [f"x{j}" for j in range(7)]
    prepare = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), numbers), (OneHotEncoder(), ["x7"])
    )
    model = trusted(make_pipeline(prepare, LogisticRegression())).fit(X, y)
    assert model.row_weights_[IS_PLANTED].max() < 0.5
    assert model.score(X[~IS_PLANTED], y[~IS_PLANTED]) > 0.85
    assert model.n_features_in_ == 8
    assert model.feature_names_in_.tolist() == X.columns.tolist()
    assert list(model.estimator_.named_steps) == ["columntransformer", "logisticregression"]
    assert model.filter_.n_features_in_ == 9


@pytest.mark.parametrize(
    "estimator",
    [
        RandomForestClassifier(5, random_state=0),
        HistGradientBoostingClassifier(max_iter=5),
    ],
    ids=["forest", "boosting"],
)
def test_missing_values_go_to_estimators_that_take_them(estimator: Any) -> None:
    X, y = POISONED.X.copy(), POISONED.y
    X[30::17, 2] = np.nan
    X[40::23, 5] = np.nan
    model = trusted(estimator).fit(X, y)
    assert model.row_weights_[IS_PLANTED].max() < 0.5
    assert model.score(X[~IS_PLANTED], y[~IS_PLANTED]) > 0.8


def test_missing_values_are_refused_where_the_estimator_takes_none() -> None:
    X = TABLE.X.copy()
    X[5, 1] = np.nan
    with pytest.raises(ValueError, match=r"X\[5, 1\] = nan") as caught:
        trusted(LogisticRegression()).fit(X, TABLE.y)
    assert "TrustedClassifier(LogisticRegression()) does not accept" in str(caught.value)
    with pytest.raises(ValueError, match=r"add_indicator=True\), TrustedClassifier\(\)\)"):
        trusted(None).fit(X, TABLE.y)


FORGIVING = [RandomForestClassifier(5), HistGradientBoostingClassifier(max_iter=5)]


@pytest.mark.parametrize("estimator", FORGIVING)
def test_infinite_cells_are_named_though_missing_ones_are_taken(estimator: Any) -> None:
    X = pd.DataFrame(TABLE.X, columns=list("abcdefgh"))
    X.loc[5, "b"] = np.inf
    with pytest.raises(ValueError, match=r"infinity in 1 cell; .* X\[5, 'b'\] = inf") as caught:
        trusted(estimator).fit(X, TABLE.y)
    assert "np.where(np.isfinite(X), X, np.nan)" in str(caught.value)


@pytest.mark.parametrize("estimator", FORGIVING)
def test_texts_are_named_though_missing_cells_are_taken(estimator: Any) -> None:
    X = pd.DataFrame(TABLE.X, columns=list("abcdefgh")).assign(c="Bonn")
    with pytest.raises(ValueError, match=r"X\[0, 'c'\] is 'Bonn'.* OneHotEncoder"):
        trusted(estimator).fit(X, TABLE.y)


def test_rows_of_little_weight_are_not_left_out() -> None:
    light = np.arange(200) < 80  # the filter sees no copy of most of these
    weights = np.where(light, 0.05, 1.0 + 0.01 * np.random.default_rng(0).random(200))
    model = trusted(LogisticRegression()).fit(TABLE.X, TABLE.y, weights)
    assert model.evidence_.n_lost == 0
    assert (model.row_weights_ > 0).all()
    assert (model.filter_.row_weights_[light] == 0).mean() > 0.5


def test_the_filter_uses_its_trust_whether_or_not_that_helps_it() -> None:
    X, y = spread_out()
    model = trusted(LogisticRegression(), noise_rate=0.1).fit(X, y)
    assert model.evidence_.is_clear and not model.evidence_.helps
    alone = quick(X, y, sparsity="auto", noise_rate=0.1, final_fit="penalized")
    assert np.array_equal(model.filter_.row_weights_, alone.row_weights_)
    assert not np.array_equal(model.filter_.coef_, alone.coef_)


def test_a_column_without_values_is_passed_on() -> None:
    X = POISONED.X.copy()
    X[:, 6] = np.nan
    model = trusted(RandomForestClassifier(5, random_state=0)).fit(X, POISONED.y)
    assert set(model.predict(X)) == {-1.0, 1.0}


def test_sparse_rows_are_taken_where_the_estimator_takes_them() -> None:
    X = sp.csr_array(POISONED.X)
    model = trusted(LogisticRegression()).fit(X, POISONED.y)
    assert model.score(X[np.flatnonzero(~IS_PLANTED)], POISONED.y[~IS_PLANTED]) > 0.85


def test_sparse_rows_are_refused_by_an_estimator_that_takes_none() -> None:
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        trusted(HistGradientBoostingClassifier()).fit(sp.csr_array(TABLE.X), TABLE.y)


# -- among scikit-learn ----------------------------------------------------------------------


def test_parameters_of_the_estimator_are_its_own() -> None:
    model = trusted(LogisticRegression(C=3.0))
    assert model.get_params()["estimator__C"] == 3.0
    assert clone(model).set_params(estimator__C=5.0).estimator.C == 5.0
    assert model.estimator.C == 3.0


def test_a_grid_is_searched() -> None:
    grid = {"estimator__C": [1e-6, 1.0], "noise_rate": [0.08]}
    search = GridSearchCV(trusted(LogisticRegression()), grid, cv=2)
    assert search.fit(TABLE.X, TABLE.y).best_params_["estimator__C"] == 1.0


def test_it_survives_pickling() -> None:
    again = pickle.loads(pickle.dumps(regression()))
    assert np.array_equal(again.predict_proba(TABLE.X), regression().predict_proba(TABLE.X))


@pytest.mark.parametrize(
    ("parameter", "value"), [("noise_rate", 0.5), ("max_columns", 0), ("label_aware", "no")]
)
def test_a_parameter_outside_its_range_is_named(parameter: str, value: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=parameter):
        trusted(TREE, **{parameter: value}).fit(TABLE.X, TABLE.y)
