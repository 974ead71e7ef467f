"""`HalfspaceClassifier`: what goes in, what comes out, and how it lives among scikit-learn."""

from __future__ import annotations

import copy
import pickle
import tracemalloc
import warnings
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import thresher.memory
from estimators.small import QUICK, angle, fitted, planted, quick, table
from thresher import HalfspaceClassifier, HalfspaceClassifierCV
from thresher.errors import DistrustedClass, NotEnoughMemory
from thresher.estimators.columns import ColumnScaling, HomogeneousRows
from thresher.learning import TheorySchedule
from thresher.validation import seed_from

TABLE = table()
NAMES = [f"column {j}" for j in range(8)]


@cache
def reference() -> HalfspaceClassifier:
    """A model that many tests look at, fitted once."""
    return quick(TABLE.X, TABLE.y)


def same(one: HalfspaceClassifier, other: HalfspaceClassifier) -> bool:
    """Whether two models are the same to the last bit."""
    pairs = [(one.coef_, other.coef_), (one.intercept_, other.intercept_)]
    pairs.append((one.row_weights_, other.row_weights_))
    return all(a.tobytes() == b.tobytes() for a, b in pairs)


def test_models_of_different_rows_are_not_the_same() -> None:
    assert not same(reference(), quick(TABLE.X[1:], TABLE.y[1:]))


# -- what is learned -------------------------------------------------------------------------


def test_the_features_that_matter_are_found() -> None:
    assert reference().support_.tolist() == np.flatnonzero(TABLE.target).tolist()


def test_training_rows_are_classified() -> None:
    assert reference().score(TABLE.X, TABLE.y) > 0.95


def test_an_intercept_is_learned() -> None:
    shifted = np.where(TABLE.X[:, 0] > 0.6, 1, -1)
    assert quick(TABLE.X, shifted, sparsity=1).score(TABLE.X, shifted) > 0.95


def test_without_an_intercept_the_boundary_passes_through_the_medians() -> None:
    model = quick(TABLE.X, TABLE.y, fit_intercept=False)
    assert model.decision_function(np.median(TABLE.X, axis=0)[None]) == pytest.approx(0, abs=1e-12)


def test_the_decision_is_linear_within_the_reach() -> None:
    near = np.clip(TABLE.X, -0.9, 0.9)
    expected = near @ reference().coef_[0] + reference().intercept_[0]
    assert np.allclose(reference().decision_function(near), expected, atol=1e-12)


def test_an_entry_beyond_the_reach_counts_as_the_nearest_within() -> None:
    far, farther = (np.full((1, 8), size) for size in (1e3, 1e300))
    assert reference().decision_function(far) == reference().decision_function(farther)


def test_without_scaling_the_decision_is_linear_everywhere() -> None:
    model = quick(TABLE.X, TABLE.y, scale=False)
    far = 100 * TABLE.X
    assert np.allclose(model.decision_function(far), far @ model.coef_[0] + model.intercept_[0])


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_without_scaling_a_table_of_another_size_is_learned_all_the_same(factor: float) -> None:
    model = quick(factor * TABLE.X, TABLE.y, scale=False)
    assert model.support_.tolist() == reference().support_.tolist()
    assert model.score(factor * TABLE.X, TABLE.y) > 0.9


@pytest.mark.parametrize("sparsity", [1, 3, 7])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_no_more_features_are_used_than_allowed(sparsity: int, fit_intercept: bool) -> None:
    model = quick(TABLE.X, TABLE.y, sparsity=sparsity, fit_intercept=fit_intercept)
    assert model.support_.size <= sparsity
    assert np.flatnonzero(model.coef_[0]).tolist() == model.support_.tolist()


@pytest.mark.parametrize("sparsity", [8, 9, 1000])
def test_all_means_as_many_features_as_there_are(sparsity: int) -> None:
    assert same(quick(TABLE.X, TABLE.y, sparsity="all"), quick(TABLE.X, TABLE.y, sparsity=sparsity))


# -- labels ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "labels",
    [("no", "yes"), (False, True), (0, 1), (7, 12), (-1.0, 1.0)],
    ids=str,
)
def test_any_two_labels_will_do(labels: tuple[Any, Any]) -> None:
    y = np.array(labels)[(TABLE.y > 0).astype(int)]
    model = quick(TABLE.X, y)
    assert model.coef_.tobytes() == reference().coef_.tobytes()
    assert model.classes_.tolist() == list(labels)
    assert (model.predict(TABLE.X) == y).mean() > 0.95


def test_labels_of_a_frame_keep_their_kind() -> None:
    y = pd.Series(np.where(TABLE.y > 0, "yes", "no"))
    assert set(quick(TABLE.X, y).predict(TABLE.X)) == {"yes", "no"}


def test_the_second_label_is_the_positive_side() -> None:
    y = np.where(TABLE.y > 0, "a", "b")
    assert angle(quick(TABLE.X, y).coef_, -reference().coef_) < 1e-6


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.ones(200), "only one class is present: every label in y is 1.0"),
        (np.arange(200) % 3, "y has 3 distinct labels"),
        (TABLE.X[:, 0], "Unknown label type: continuous. y must hold two labels, but it holds"),
        (np.array([None, "a"] * 100, dtype=object), "Unknown label type: unknown"),
    ],
    ids=["one", "three", "numbers", "none"],
)
def test_labels_that_are_not_of_two_kinds_are_refused(y: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        quick(TABLE.X, y)


# -- tables ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind",
    [
        lambda X: pd.DataFrame(X, columns=NAMES),
        lambda X: pl.DataFrame(X, schema=NAMES),
        lambda X: X.tolist(),
        np.asfortranarray,
    ],
    ids=["pandas", "polars", "list", "fortran"],
)
def test_every_kind_of_table_gives_the_same_model(kind: Any) -> None:
    assert same(quick(kind(TABLE.X), TABLE.y), reference())


def test_single_precision_gives_about_the_same_model() -> None:
    assert angle(quick(TABLE.X.astype(np.float32), TABLE.y).coef_, reference().coef_) < 1e-3


def test_without_scaling_a_sparse_table_gives_the_same_model() -> None:
    # Only dense rows are seen from the medians of their classes.
    options = {"scale": False, "label_aware": False}
    dense, sparse = (quick(X, TABLE.y, **options) for X in (TABLE.X, TABLE.csr))
    assert angle(dense.coef_, sparse.coef_) < 1e-6
    assert np.allclose(dense.row_weights_, sparse.row_weights_, atol=1e-6)


def test_with_scaling_a_sparse_table_is_centered_at_zero() -> None:
    assert not quick(TABLE.csr, TABLE.y).scaling_.center.any()


def test_with_scaling_a_sparse_table_gives_the_same_features() -> None:
    model = quick(TABLE.csr, TABLE.y)
    assert model.support_.tolist() == reference().support_.tolist()
    assert angle(model.coef_, reference().coef_) < 0.1


@pytest.mark.parametrize("scale", [True, False])
def test_predictions_for_sparse_and_dense_rows_are_the_same(scale: bool) -> None:
    model = quick(TABLE.csr, TABLE.y, scale=scale)
    assert np.allclose(model.decision_function(TABLE.csr), model.decision_function(TABLE.X))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_feature_names_are_kept(frame: Any) -> None:
    X = frame(dict(zip(NAMES, TABLE.X.T)))
    assert quick(X, TABLE.y).feature_names_in_.tolist() == NAMES


def test_feature_names_are_checked() -> None:
    X = pd.DataFrame(TABLE.X, columns=NAMES)
    with pytest.raises(ValueError, match="feature names should match"):
        quick(X, TABLE.y).predict(X[NAMES[::-1]])


def test_another_number_of_columns_is_refused() -> None:
    with pytest.raises(ValueError, match=r"X has 7 features, but .* expecting 8"):
        reference().predict(TABLE.X[:, :7])


def test_missing_values_are_counted_by_the_name_of_their_column() -> None:
    X = pd.DataFrame(TABLE.X.copy(), columns=NAMES)
    X.iloc[[3, 9], 2] = np.nan
    X.iloc[50, 5] = np.inf
    with pytest.raises(ValueError, match=r"'column 2' \(2\), 'column 5' \(1\); .* X\[3, 2\] = nan"):
        quick(X, TABLE.y)


def test_missing_values_of_a_sparse_table_are_named_too() -> None:
    X = TABLE.csr
    X[17, 4] = np.nan
    with pytest.raises(ValueError, match=r"by column: 4 \(1\); the first is X\[17, 4\] = nan"):
        quick(X, TABLE.y)


def test_of_many_columns_with_missing_values_the_first_are_named() -> None:
    X = np.where(np.arange(200)[:, None] == 9, np.nan, TABLE.X)
    with pytest.raises(ValueError, match=r"4 \(1\) and 3 more; the first is X\[9, 0\]"):
        quick(X, TABLE.y)


def test_text_in_a_column_is_named() -> None:
    X = pd.DataFrame(TABLE.X, columns=NAMES).astype({"column 6": object})
    X.iloc[30, 6] = "unknown"
    with pytest.raises(ValueError, match=r"X\[30, 'column 6'\] is 'unknown'"):
        quick(X, TABLE.y)


@pytest.mark.parametrize("scale", [True, False])
def test_fitting_leaves_the_table_alone(scale: bool) -> None:
    X, y = TABLE.X.copy(), TABLE.y.copy()
    X.flags.writeable = y.flags.writeable = False
    quick(X, y, scale=scale).predict(X)
    assert np.array_equal(X, TABLE.X)


@pytest.mark.filterwarnings("ignore::thresher.errors.UncertifiedPhase")
@pytest.mark.parametrize("n_rows", range(2, 11))
@pytest.mark.parametrize("n_features", [1, 3])
def test_a_tiny_table_is_learned_without_a_crash(n_rows: int, n_features: int) -> None:
    X, y = TABLE.X[:n_rows, :n_features], np.arange(n_rows) % 2
    model = HalfspaceClassifier(random_state=0).fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert set(model.predict(X)) <= {0, 1}


# -- trust -----------------------------------------------------------------------------------


def test_trust_is_one_number_from_zero_to_one_for_each_row() -> None:
    assert reference().row_weights_.shape == (200,)
    assert reference().row_weights_.min() >= 0
    assert reference().row_weights_.max() <= 1


def test_planted_rows_are_trusted_less() -> None:
    poisoned, is_planted = planted()
    trust = fitted(poisoned.X, poisoned.y, noise_rate=0.06).row_weights_
    assert trust[is_planted].max() < 0.4 < 0.75 < trust[~is_planted].mean()


def test_planted_rows_do_not_steer_the_model() -> None:
    poisoned, is_planted = planted()
    model = fitted(poisoned.X, poisoned.y, noise_rate=0.06)
    assert model.score(poisoned.X[~is_planted], poisoned.y[~is_planted]) > 0.95


def test_a_pruned_row_is_not_trusted_at_all() -> None:
    X = TABLE.X.copy()
    X[[4, 90]] = 1e6
    assert quick(X, TABLE.y, scale=False).row_weights_[[4, 90]].tolist() == [0, 0]


# -- parameters ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameter", "value", "error"),
    [
        ("sparsity", 0, ValueError),
        ("sparsity", 2.0, TypeError),
        ("sparsity", True, TypeError),
        ("sparsity", "some", TypeError),
        ("sparsity", None, TypeError),
        ("noise_rate", 0.5, ValueError),
        ("noise_rate", -0.01, ValueError),
        ("noise_rate", np.nan, ValueError),
        ("noise_rate", "low", TypeError),
        ("noise_rate", "none", TypeError),
        ("fit_intercept", 2, TypeError),
        ("fit_intercept", 1.0, TypeError),
        ("fit_intercept", "no", TypeError),
        ("label_aware", -1, TypeError),
        ("scale", None, TypeError),
        ("scale", "robust", TypeError),
        ("reach", 0, ValueError),
        ("reach", np.inf, ValueError),
        ("reach", "far", TypeError),
        ("schedule", "quick", TypeError),
        ("schedule", type(QUICK), TypeError),
        ("schedule", TheorySchedule(sparsity=2, n_features=8, target_error=0.1), TypeError),
        ("random_state", "today", TypeError),
        ("random_state", -1, ValueError),
        ("random_state", 0.5, TypeError),
    ],
)
def test_a_parameter_outside_its_range_is_named(parameter: str, value: Any, error: type) -> None:
    with pytest.raises(error, match=parameter):
        quick(TABLE.X, TABLE.y, **{parameter: value})


@pytest.mark.parametrize("name", ["fit_intercept", "scale", "label_aware"])
def test_zero_means_false(name: str) -> None:
    assert same(*(quick(TABLE.X, TABLE.y, **{name: off}) for off in (0, False)))


@pytest.mark.parametrize(
    "random_state",
    [3, np.int64(3), np.random.default_rng(3), np.random.RandomState(3), None, np.random],
    ids=["int", "numpy int", "Generator", "RandomState", "None", "numpy.random"],
)
def test_every_source_of_randomness_is_accepted(random_state: Any) -> None:
    model = quick(TABLE.X, TABLE.y, random_state=random_state)
    assert model.support_.tolist() == reference().support_.tolist()


@pytest.mark.parametrize(
    "make", [int, np.random.default_rng, np.random.RandomState], ids=lambda make: make.__name__
)
def test_equal_seeds_give_equal_bits(make: Any) -> None:
    first, second = (quick(TABLE.X, TABLE.y, random_state=make(5)) for _ in range(2))
    assert same(first, second)


def test_a_generator_is_drawn_from_once_in_a_fit() -> None:
    used, expected = np.random.default_rng(5), np.random.default_rng(5)
    model = quick(TABLE.X, TABLE.y, random_state=used)
    assert same(model, quick(TABLE.X, TABLE.y, random_state=seed_from(expected)))
    assert used.bit_generator.state == expected.bit_generator.state


def test_predicting_before_fitting_is_refused() -> None:
    with pytest.raises(NotFittedError):
        HalfspaceClassifier().predict(TABLE.X)


# -- among scikit-learn ----------------------------------------------------------------------


def test_a_pickled_model_predicts_the_same() -> None:
    again = pickle.loads(pickle.dumps(reference()))
    assert same(again, reference())
    assert np.array_equal(again.predict(TABLE.X), reference().predict(TABLE.X))


def test_a_clone_has_the_parameters_alone() -> None:
    copied = clone(reference())
    assert copied.get_params() == reference().get_params()
    assert not hasattr(copied, "coef_")


def test_a_copy_is_a_model_of_its_own() -> None:
    copied = copy.deepcopy(reference())
    copied.fit(-TABLE.X, TABLE.y)
    assert angle(copied.coef_, -reference().coef_) < 1e-6


def test_it_ends_a_pipeline() -> None:
    pipeline = make_pipeline(
        FunctionTransformer(np.negative), HalfspaceClassifier(2, 0.02, schedule=QUICK)
    )
    assert pipeline.fit(TABLE.X, TABLE.y).score(TABLE.X, TABLE.y) > 0.95


def test_a_grid_is_searched() -> None:
    search = GridSearchCV(
        HalfspaceClassifier(final_fit="hinge", schedule=QUICK, random_state=0),
        {"sparsity": [1, 2]},
        cv=2,
    )
    assert search.fit(TABLE.X, TABLE.y).best_params_ == {"sparsity": 2}


@pytest.mark.parametrize("routing", [True, False])
def test_it_is_cross_validated_with_and_without_metadata_routing(routing: bool) -> None:
    model = HalfspaceClassifier(2, 0.02, final_fit="hinge", schedule=QUICK, random_state=0)
    with sklearn.config_context(enable_metadata_routing=routing):
        scores = cross_val_score(model, TABLE.X, TABLE.y, cv=2, params={})  # 1.6 fails on None
        assert scores.min() > 0.8


@pytest.mark.parametrize("make", [HalfspaceClassifier, reference], ids=["new", "fitted"])
def test_it_has_a_page_of_its_own_in_notebooks(make: Any) -> None:
    assert "HalfspaceClassifier" in make()._repr_html_()


@pytest.mark.parametrize("estimator", [HalfspaceClassifier(), HalfspaceClassifierCV()])
def test_a_lazy_frame_has_to_be_collected(estimator: Any) -> None:
    lazy = pl.DataFrame(TABLE.X, schema=NAMES).lazy()
    with pytest.raises(TypeError, match="X must be in memory, got a LazyFrame"):
        estimator.fit(lazy, TABLE.y)
    with pytest.raises(TypeError, match="collect the lazy frame first"):
        reference().predict(lazy)


@pytest.mark.parametrize("sparsity", [2, "all"])
def test_a_constant_column_of_a_sparse_table_is_no_feature(sparsity: Any) -> None:
    def with_columns(constant: float) -> Any:
        return sp.csr_array(np.hstack([TABLE.X, np.full((200, 2), constant)]))

    model = quick(with_columns(3.0), TABLE.y, sparsity=sparsity)
    assert model.support_.max() < 8
    without = quick(with_columns(0.0), TABLE.y, sparsity=sparsity)
    assert model.coef_.tobytes() == without.coef_.tobytes()
    assert np.isfinite(model.intercept_).all()


# -- memory ----------------------------------------------------------------------------------


@pytest.mark.parametrize("sparse", [False, True])
def test_a_table_that_would_not_fit_is_refused_with_what_would(
    sparse: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thresher.memory, "available_memory", lambda: 30_000)
    with pytest.raises(
        NotEnoughMemory, match=r"200 rows of 8 features \(about \d+ rows would .* fewer rows"
    ):
        quick(TABLE.csr if sparse else TABLE.X, TABLE.y)


def test_the_table_is_scaled_and_widened_in_one_copy() -> None:
    big = table(10_000, 50)
    rows = HomogeneousRows(big.X, ColumnScaling.of(big.X, reach=2.0), with_ones=True)
    tracemalloc.start()
    assert rows[:].shape == (10_000, 51)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.2 * big.X.nbytes


def test_a_fit_takes_no_more_memory_than_it_reckons_with() -> None:
    big = table(2000, 100)
    tracemalloc.start()
    fitted(big.X, big.y, schedule=QUICK)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4.6 * big.X.nbytes


# -- classes that are hardly larger than the noise rate --------------------------------------


def small_class() -> tuple[np.ndarray, np.ndarray]:
    """Clean rows; one in fifty belongs to the second class."""
    rows = np.random.default_rng(0).standard_normal((1000, 5))
    return rows, rows[:, 0] > np.quantile(rows[:, 0], 0.98)


def test_a_class_that_loses_its_trust_is_warned_about() -> None:
    with pytest.warns(
        DistrustedClass, match=r"class True \(20 of 1000 rows\) has a mean trust"
    ) as caught:
        HalfspaceClassifier(2, 0.1, final_fit="hinge", random_state=0).fit(*small_class())
    assert caught[0].filename == __file__


def test_a_small_class_is_found_where_nothing_must_be_borne() -> None:
    X, y = small_class()
    model = HalfspaceClassifier(2, 0.0, reach=4.0, final_fit="hinge", random_state=0).fit(X, y)
    assert model.predict(X)[y].mean() > 0.8


def test_a_cross_validation_does_not_gain_by_erasing_a_class() -> None:
    X, y = small_class()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DistrustedClass)
        model = HalfspaceClassifierCV(
            (2,), noise_rates=(0.0, 0.1), final_fit="hinge", random_state=0
        ).fit(X, y)
    assert model.noise_rate_ == 0.0
