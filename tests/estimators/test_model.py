"""Models as scikit-learn pipelines and as ONNX models: the same predictions, in any precision."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest
import scipy.sparse as sp
from skl2onnx import convert_sklearn
from skl2onnx.common.data_types import FloatTensorType

from estimators import saved
from estimators.saved import KINDS, NEW, ROWS, SIGNS
from estimators.small import QUICK
from thresher.estimators import HalfspaceModel

TOLERANCE = 1e-5
SHIFTS = [0.0, 0.1, 1e3, 1e6 + 0.3, -1e6 - 0.3, 1e9 + 0.3]


def fitted(*table: Any, **changes: Any) -> Any:
    """A small model, in two phases."""
    return saved.fitted(*table, **{"schedule": QUICK, **changes})


def run(model: Any, X: Any) -> tuple[Any, Any]:
    """The labels and the scores that an ONNX model gives."""
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    labels, scores = session.run(None, {"X": X})
    assert np.array_equal(scores[:, 0], -scores[:, 1])
    return labels, scores[:, 1]


def single(pipeline: Any, n_features: int) -> Any:
    """The ONNX model of a pipeline for numbers of single precision."""
    return convert_sklearn(
        pipeline,
        initial_types=[("X", FloatTensorType([None, n_features]))],
        options={id(pipeline[-1]): {"raw_scores": True}},
    )


def agree(found: tuple[Any, Any], estimator: Any, X: Any) -> bool:
    """Whether scores differ by no more than the tolerance, and labels only where it explains it."""
    labels, scores = found
    expected = estimator.decision_function(X)
    is_clear = np.abs(expected) > TOLERANCE
    close = np.abs(scores - expected) <= TOLERANCE * np.maximum(1, np.abs(expected))
    return bool(close.all() and (labels == estimator.predict(X))[is_clear].all())


def test_another_score_or_label_is_noticed() -> None:
    model = fitted(KINDS["integers"])
    labels, scores = model.predict(NEW), model.decision_function(NEW)
    assert agree((labels, scores), model, NEW)
    assert not agree((labels, scores + 3 * TOLERANCE * np.abs(scores).max()), model, NEW)
    assert not agree((np.roll(labels, 1), scores), model, NEW)


@pytest.mark.parametrize("changes", [{}, {"scale": False}, {"fit_intercept": False}], ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_onnx_predicts_the_same(kind: str, changes: Any) -> None:
    model = fitted(KINDS[kind], **changes)
    assert agree(run(model.to_model().to_onnx(), NEW), model, NEW)


@pytest.mark.parametrize("shift", SHIFTS)
def test_columns_far_from_zero_lose_nothing(shift: float) -> None:
    X, new = (np.random.default_rng(seed).standard_normal((300, 5)) * 2 + shift for seed in (0, 1))
    model = fitted(np.where(X[:, 0] > X[:, 3], "yes", "no"), X)
    pipeline = model.to_sklearn()
    assert np.allclose(pipeline.decision_function(new), model.decision_function(new), atol=1e-9)
    assert agree(run(model.to_model().to_onnx(), new), model, new)


@pytest.mark.parametrize("shift", SHIFTS)
def test_single_precision_is_enough_for_what_it_can_tell_apart(shift: float) -> None:
    X, new = (np.random.default_rng(seed).standard_normal((300, 5)) * 2 + shift for seed in (0, 1))
    model = fitted(np.where(X[:, 0] > X[:, 3], "yes", "no"), X)
    pipeline, rounded = model.to_sklearn(), new.astype(np.float32)
    scores = pipeline.decision_function(rounded), model.decision_function(rounded)
    assert np.allclose(*scores, atol=1e-6)
    assert agree(run(single(pipeline, 5), rounded), model, rounded)


def test_the_pipeline_offers_no_probabilities() -> None:
    pipeline = fitted(KINDS["text"]).to_sklearn()
    assert not hasattr(pipeline, "predict_proba")
    assert not hasattr(pipeline, "predict_log_proba")


def test_what_lies_beyond_the_reach_counts_as_if_it_lay_there() -> None:
    model = fitted(KINDS["text"])
    far = np.array([[1e300] * 6, [-1e300] * 6, [1e20, -1e20] * 3])
    with np.errstate(over="ignore"):  # scikit-learn says so on the way
        assert np.allclose(model.to_sklearn().decision_function(far), model.decision_function(far))
    assert agree(run(model.to_model().to_onnx(), far), model, far)


def test_a_model_of_sparse_rows_predicts_dense_ones() -> None:
    rows = sp.csr_array(np.where(np.abs(ROWS - 3) > 1, ROWS, 0))
    model = fitted(X=rows)
    assert agree(run(model.to_model().to_onnx(), rows.toarray()), model, rows)


def test_names_of_features_are_no_obstacle() -> None:
    frame = pd.DataFrame(ROWS, columns=["a", "b b", "c\n", "ä", "", "x[1]"])
    model = fitted(X=frame)
    assert agree(run(model.to_model().to_onnx(), ROWS), model, frame)
    assert np.array_equal(model.to_sklearn().predict(frame), model.predict(frame))


def test_the_model_is_valid_and_the_same_each_time() -> None:
    first, second = (fitted(SIGNS).to_model().to_onnx() for _ in range(2))
    onnx.checker.check_model(first)
    assert first.SerializeToString() == second.SerializeToString()
    assert [one.name for one in first.graph.output] == ["label", "scores"]


def test_a_model_of_no_feature_gives_its_offset() -> None:
    model = without_features()
    assert model.to_sklearn().decision_function(NEW).tolist() == [-0.5] * len(NEW)
    labels, scores = run(model.to_onnx(), NEW)
    assert set(labels) == {"ham"} and set(scores) == {-0.5}


def without_features() -> HalfspaceModel:
    none = np.zeros(0)
    return replace(
        fitted().to_model(),
        support=none.astype(np.intp),
        weights=none,
        center=none,
        scale=none,
        offset=-0.5,
    )


@pytest.mark.parametrize("classes", [[0.5, 1.5], [1, 2**31], [-(2**40), 0], [1e300, 2e300]])
def test_labels_that_the_converter_would_cut_off_are_refused(classes: list[Any]) -> None:
    model = replace(without_features(), classes=classes)
    with pytest.raises(ValueError, match="must be strings or 32-bit integers"):
        model.to_onnx()


@pytest.mark.parametrize("classes", [[-(2**31), 2**31 - 1], [-1.0, 7.0], [False, True]])
def test_whole_numbers_stay_what_they_are(classes: list[Any]) -> None:
    labels, _ = run(replace(without_features(), classes=classes).to_onnx(), NEW)
    assert set(labels.tolist()) == {classes[0]}


def test_without_the_converter_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    with pytest.raises(ImportError, match=r'pip install "thresher\[onnx\]"'):
        without_features().to_onnx()
