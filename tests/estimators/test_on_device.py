"""The classifier on arrays of CuPy and Torch: the model that NumPy's give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from elsewhere import LIBRARIES, put, same_place
from thresher import HalfspaceClassifier, HalfspaceClassifierCV, TrustedClassifier
from thresher.arrays import DeviceRows, column_medians, to_host
from thresher.auditing.examination import examine
from thresher.estimators.columns import ColumnScaling, HomogeneousRows
from thresher.learning.steps import around_class_medians
from thresher.table_files import LabeledTable

library = pytest.mark.parametrize("library", LIBRARIES)


def table() -> tuple[np.ndarray, np.ndarray]:
    """Rows with a column of rare ones and a constant one, labels, and a few planted rows."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 8))
    y = np.where(X[:, 3] - X[:, 5] > 0, 1, -1)
    X[:5, 3], y[:5] = 6.0, -1
    X[:, 6], X[:, 7] = X[:, 6] > 1, 2.5
    return X, y


@library
@pytest.mark.parametrize(
    "options", [{}, {"label_aware": False, "scale": False, "fit_intercept": False}]
)
def test_the_model_is_the_one_that_numpy_gives(library: str, options: dict[str, Any]) -> None:
    X, y = table()
    asked = {"sparsity": 2, "noise_rate": 0.05, "random_state": 0, **options}
    given = put(library, X)
    model = HalfspaceClassifier(**asked).fit(given, put(library, y))
    expected = HalfspaceClassifier(**asked, final_fit="hinge").fit(X, y)
    assert isinstance(model.coef_, np.ndarray)
    np.testing.assert_array_equal(model.support_, expected.support_)
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-3)
    np.testing.assert_allclose(model.row_weights_, expected.row_weights_, atol=1e-2)
    assert [p.is_certified for p in model.phases_] == [p.is_certified for p in expected.phases_]
    scores = model.decision_function(given)
    assert same_place(scores, given)
    np.testing.assert_allclose(to_host(scores), model.decision_function(X), atol=1e-12)
    np.testing.assert_array_equal(model.predict(given), model.predict(X))


@library
def test_cross_validation_chooses_as_on_the_host(library: str) -> None:
    X, y = (part[:60] for part in table())
    split = np.arange(40), np.arange(40, 60)
    asked: dict[str, Any] = {"sparsities": (1, 2), "cv": [split], "random_state": 0}
    asked |= {"label_aware": False, "scale": False}
    model = HalfspaceClassifierCV(**asked, n_jobs=2).fit(put(library, X), y)
    expected = HalfspaceClassifierCV(**asked, final_fit="hinge").fit(X, y)
    assert model.sparsity_ == expected.sparsity_
    assert model.final_fit_ == "hinge"
    errors = [point.error for point in expected.path_]
    assert [point.error for point in model.path_] == pytest.approx(errors, abs=1e-2)
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-3)
    np.testing.assert_array_equal(model.predict(put(library, X)), expected.predict(X))


def test_what_needs_the_host_says_so() -> None:
    X, y = table()
    given = put("array_api_strict", X)
    message = "must be in the memory of the host, got a array_api_strict.*to_host"
    with pytest.raises(TypeError, match=message):
        TrustedClassifier().fit(given, y)
    with pytest.raises(TypeError, match=message):
        examine(LabeledTable(given, y, list("abcdefgh"), np.arange(120), "label"))
    with pytest.raises(ValueError, match='final_fit="penalized" needs rows in NumPy arrays'):
        HalfspaceClassifierCV(final_fit="penalized").fit(given, y)


def test_labels_can_be_words_and_must_be_as_many_as_rows() -> None:
    X, y = table()
    given = put("array_api_strict", X)
    words = np.where(y > 0, "yes", "no")
    model = HalfspaceClassifier(2, label_aware=False, random_state=0).fit(given, words)
    assert model.predict(given)[20] in ("yes", "no")
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        HalfspaceClassifier().fit(given, y[:-1])
    with pytest.raises(ValueError, match=r"X has 7 features, but .* is expecting 8"):
        model.predict(put("array_api_strict", X[:, :7]))


@library
def test_columns_are_scaled_as_on_the_host(library: str) -> None:
    X, _ = table()
    X[0, 0] = 1e308
    rows = DeviceRows(put(library, X))
    scaling, expected = ColumnScaling.of(rows, 2.0), ColumnScaling.of(X, 2.0)
    np.testing.assert_allclose(scaling.center, expected.center, rtol=1e-12)
    np.testing.assert_allclose(scaling.scale, expected.scale, rtol=1e-12)
    places = np.array([4, 0, 9])
    for with_ones in (True, False):
        ours = HomogeneousRows(rows, expected, with_ones)[places]
        theirs = HomogeneousRows(X, expected, with_ones)[places]
        np.testing.assert_allclose(to_host(ours.array), theirs, atol=1e-12)


@library
def test_rows_are_centered_at_their_class_as_on_the_host(library: str) -> None:
    X, y = table()
    ours = around_class_medians(DeviceRows(put(library, X)), y)
    np.testing.assert_allclose(to_host(ours.array), around_class_medians(X, y), atol=1e-12)
    one_class = around_class_medians(DeviceRows(put(library, X)), np.ones(len(y)))
    np.testing.assert_allclose(
        to_host(one_class.array), around_class_medians(X, np.ones(len(y))), atol=1e-12
    )


@library
@pytest.mark.parametrize("n_rows", [1, 6, 7])
def test_medians_of_columns(library: str, n_rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thresher.arrays.SORTED_SIZE", 14)
    X = np.random.default_rng(n_rows).standard_normal((n_rows, 5))
    given, center = put(library, X), np.arange(5.0)
    np.testing.assert_array_equal(column_medians(given), np.median(X, axis=0))
    distances = np.median(abs(X - center), axis=0)
    np.testing.assert_array_equal(column_medians(given, center), distances)
