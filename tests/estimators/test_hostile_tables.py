"""Hostile tables: a typed error that says where, or a certified and finite result; nothing else."""

from __future__ import annotations

import re
import time
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from estimators.hostile import (
    CASES,
    FOR_ROWS,
    FRAMES,
    N_FEATURES,
    NUMBERS,
    SHAPES,
    TYPES,
    Case,
    X,
    Y,
)
from estimators.small import QUICK, TYPED, angle, fitted, outcome, quick, table
from thresher import HalfspaceClassifier
from thresher.errors import LearningStopped, UncertifiedPhase

MOST_SECONDS = 5.0


def classifier(**parameters: Any) -> HalfspaceClassifier:
    """Two phases, two features."""
    options = {"sparsity": 2, "schedule": QUICK, "random_state": 0}
    return HalfspaceClassifier(**{**options, **parameters})


def test_every_case_has_a_name_of_its_own() -> None:
    assert len({case.name for case in CASES}) == len(CASES)


# -- the named cases -------------------------------------------------------------------------


def is_fast(case: Case, scale: bool, final_fit: str) -> bool:
    """Every case scaled, and those of numbers and shapes also unscaled; the rest is slow.

    Where checks alone decide, and in tables that are not scaled, the halfspace has to suffice.
    """
    if scale:
        return final_fit == ("hinge" if case in TYPES or case in FRAMES else "auto")
    return final_fit == "hinge" and (case in NUMBERS or case in SHAPES)


def scaled_or_not() -> list[Any]:
    """Every case, scaled or not, with and without a choice of the final model."""
    return [
        pytest.param(
            case,
            scale,
            final_fit,
            id=f"{case}-{'scaled' if scale else 'unscaled'}-{final_fit}",
            marks=() if is_fast(case, scale, final_fit) else pytest.mark.slow,
        )
        for case in CASES
        for scale in (True, False)
        for final_fit in ("auto", "hinge")
    ]


@pytest.mark.parametrize(("case", "scale", "final_fit"), scaled_or_not())
def test_fitting_ends_in_the_expected_error_or_a_certified_model(
    case: Case, scale: bool, final_fit: str
) -> None:
    X, y = case.table(), case.y
    start = time.process_time()
    result = outcome(classifier(scale=scale, final_fit=final_fit, **case.parameters), X, y)
    assert time.process_time() - start < MOST_SECONDS
    if case.error is None:
        assert isinstance(result, HalfspaceClassifier), repr(result)
    else:
        assert isinstance(result, TYPED), "was learned"
        assert re.search(case.error, str(result)), str(result)


@pytest.fixture(scope="module", params=[True, False], ids=["scaled", "unscaled"])
def model(request: pytest.FixtureRequest) -> HalfspaceClassifier:
    """A model of the ordinary table."""
    return classifier(scale=request.param).fit(X, Y)


@pytest.mark.parametrize("case", FOR_ROWS, ids=str)
def test_predicting_ends_in_the_expected_error_or_a_label(
    case: Case, model: HalfspaceClassifier
) -> None:
    rows = case.table()
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", UserWarning)  # names that were not there in training
        try:
            labels, scores = model.predict(rows), model.decision_function(rows)
        except TYPED as error:
            is_narrow = getattr(rows, "shape", (0, 0))[-1] != N_FEATURES
            expected = case.error if case.in_rows and case.error else "features"
            assert re.search(expected, str(error)) or is_narrow, str(error)
            assert case.error is not None or is_narrow, str(error)
            return
    assert time.process_time() - start < MOST_SECONDS
    assert case.error is None or not case.in_rows
    assert np.isfinite(scores).all()
    assert set(labels) <= {-1, 1}


# -- any table at all ------------------------------------------------------------------------

ANY_FLOAT = st.floats(width=64) | st.sampled_from([0.0, 1.0, -1.0, 1e308, -1e308, 5e-324, 1e154])
ANY_TABLE = hnp.arrays(
    np.float64, hnp.array_shapes(min_dims=1, max_dims=3, max_side=9), elements=ANY_FLOAT
) | hnp.arrays(
    np.float64,
    st.tuples(st.integers(2, 12), st.integers(1, 4)),
    elements=st.floats(allow_nan=False, allow_infinity=False),
)
PARAMETERS = st.fixed_dictionaries(
    {
        "sparsity": st.integers(0, 6) | st.just("all"),
        "noise_rate": st.floats(0, 0.49) | st.floats(),
        "fit_intercept": st.booleans(),
        "scale": st.booleans(),
        "reach": st.floats(0.1, 10) | st.floats(),
    }
)


def learn_anything(table: np.ndarray, parameters: dict[str, Any], data: st.DataObject) -> None:
    """Fit to any table with any parameters: what is valid is learned, and the rest is refused."""
    n_rows = table.shape[0]
    y = data.draw(hnp.arrays(np.int64, n_rows, elements=st.integers(0, 1)))
    result = outcome(classifier(**parameters), table, y)
    if is_valid(table, y, parameters):
        is_learned = isinstance(result, HalfspaceClassifier | LearningStopped)
        assert is_learned or "rescale X" in str(result), repr(result)  # entries of 1e-300
    else:
        assert isinstance(result, TypeError | ValueError), "was learned"
    if isinstance(result, HalfspaceClassifier):
        assert np.isfinite(result.decision_function(table)).all()
        assert set(result.predict(table)) <= {0, 1}


def is_valid(table: np.ndarray, y: np.ndarray, parameters: dict[str, Any]) -> bool:
    """Whether there is something to learn from, with parameters in their ranges."""
    is_table = table.ndim == 2 and np.isfinite(table).all() and len(set(y)) == 2
    rate, reach = parameters["noise_rate"], parameters["reach"]
    return bool(is_table and parameters["sparsity"] and 0 <= rate < 0.5 and 0 < reach < np.inf)


HOSTILE = {"deadline": None, "suppress_health_check": list(HealthCheck)}


def test_a_fold_in_which_no_row_has_trust_does_not_stop_the_fit() -> None:
    rows = np.array([[5.0, 2, 2], [2, 2, 2], [2, 2, 2], [2, 2, 8], [2, 2, 2]])
    options = {"sparsity": "all", "noise_rate": 0.0, "fit_intercept": False, "scale": False}
    two_rows = 5.0 * np.eye(4, 3)[[0, 3, 3, 0]]
    for X_tiny, labels in ((rows, [0, 0, 1, 1, 1]), (two_rows, [0, 0, 1, 1])):
        model = classifier(**options, reach=1.0).fit(X_tiny, labels)
        assert np.isfinite(model.coef_).all()


@settings(max_examples=25, **HOSTILE)
@given(ANY_TABLE, PARAMETERS, st.data())
def test_any_table_is_refused_or_learned(
    table: np.ndarray, parameters: dict[str, Any], data: st.DataObject
) -> None:
    learn_anything(table, parameters, data)


@pytest.mark.slow
@settings(max_examples=500, **HOSTILE)
@given(ANY_TABLE, PARAMETERS, st.data())
def test_any_of_500_tables_is_refused_or_learned(
    table: np.ndarray, parameters: dict[str, Any], data: st.DataObject
) -> None:
    learn_anything(table, parameters, data)


def test_the_check_of_a_result_notices_a_missing_certificate() -> None:
    class Silent(HalfspaceClassifier):
        def fit(self, X: Any, y: Any) -> Silent:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UncertifiedPhase)
                super().fit(X, y)
            self.phases_ = [Uncertified()]
            return self

    class Uncertified:
        is_certified = False

    with pytest.raises(AssertionError):
        outcome(Silent(2, final_fit="hinge", schedule=QUICK), X, Y)


# -- one poison row --------------------------------------------------------------------------

CLEAN = table(800, 10, seed=1)
MAGNITUDES = np.logspace(2, 308, 24).tolist()
USED = np.flatnonzero(CLEAN.target)
PLACES = {
    "a feature that matters": np.eye(10)[USED[0]],
    "a feature that does not": np.eye(10)[np.flatnonzero(CLEAN.target == 0)[0]],
    "all features": np.ones(10),
    "against the target": -np.sign(CLEAN.target),
    "signs in turn": np.where(np.arange(10) % 2, 1.0, -1.0),
}
FAST = {(MAGNITUDES[0], "all features"), (MAGNITUDES[-1], "against the target")}


@pytest.fixture(scope="module")
def unpoisoned() -> HalfspaceClassifier:
    """The model of the clean rows alone."""
    return fitted(CLEAN.X, CLEAN.y)


@pytest.mark.parametrize(
    ("magnitude", "place"),
    [
        pytest.param(size, place, marks=[] if (size, place) in FAST else pytest.mark.slow)
        for size in MAGNITUDES
        for place in PLACES
    ],
)
def test_one_poison_row_changes_almost_nothing(
    magnitude: float, place: str, unpoisoned: HalfspaceClassifier
) -> None:
    row = PLACES[place]
    wrong = -1.0 if row @ CLEAN.target >= 0 else 1.0
    poisoned = fitted(np.vstack([CLEAN.X, magnitude * row]), np.append(CLEAN.y, wrong))
    assert poisoned.support_.tolist() == unpoisoned.support_.tolist()
    assert angle(poisoned.coef_, unpoisoned.coef_) <= 0.01


def test_how_large_a_poison_row_is_does_not_matter_at_all() -> None:
    y = np.append(CLEAN.y[:200], -1.0)
    models = [quick(np.vstack([CLEAN.X[:200], np.full(10, size)]), y) for size in (1e2, 1e308)]
    assert models[0].coef_.tobytes() == models[1].coef_.tobytes()
