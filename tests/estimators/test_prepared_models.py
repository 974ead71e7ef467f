"""Models of tables with missing cells, categories and sentences: files, pipelines and ONNX."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from estimators.small import QUICK
from preparation.test_table_preparation import NEW, frame
from thresher import HalfspaceClassifier
from thresher.errors import DamagedFile
from thresher.estimators import HalfspaceModel, load_model, save_model
from thresher.estimators.model_file import check_savable
from thresher.preparation import TablePreparation, columns_of


def model_of(table: pd.DataFrame) -> HalfspaceModel:
    """A model of a whole data frame; who is older than the median has bought."""
    preparation = TablePreparation.for_frame(table)
    rows = preparation.prepare({column.name: column for column in columns_of(table)}).X
    label = np.where(frame()["size"] > 0, "yes", "no")
    classifier = HalfspaceClassifier(sparsity="all", schedule=QUICK, random_state=0)
    model = classifier.fit(rows, label).to_model()
    return replace(model, feature_names=preparation.feature_names, preparation=preparation)


@pytest.fixture(scope="module")
def model() -> HalfspaceModel:
    return model_of(frame())


@pytest.mark.parametrize("table", [frame(), NEW], ids=["learned", "new"])
def test_a_saved_model_and_its_pipeline_predict_the_same(
    model: HalfspaceModel, table: pd.DataFrame, tmp_path: Path
) -> None:
    save_model(model, tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    scores = model.decision_function(table)
    np.testing.assert_array_equal(loaded.decision_function(table), scores)
    pipeline = loaded.to_sklearn()
    assert [type(step).__name__ for step in pipeline] == [
        *("CellReader", "ColumnTransformer", "StandardScaler", "MinMaxScaler", "LinearSVC")
    ]
    np.testing.assert_allclose(pipeline.decision_function(table), scores, atol=1e-12)
    assert pipeline.predict(table).tolist() == model.predict(table).tolist()


@pytest.mark.parametrize("has_slope", [True, False])
@pytest.mark.parametrize("is_prepared", [True, False])
def test_the_version_is_the_first_that_holds_the_model(
    model: HalfspaceModel, is_prepared: bool, has_slope: bool, tmp_path: Path
) -> None:
    saved = model if is_prepared else replace(model, preparation=None)
    saved = saved if has_slope else replace(saved, probability_slope=None)
    save_model(saved, tmp_path / "model.json")
    content = json.loads((tmp_path / "model.json").read_text())
    assert content["version"] == (3 if has_slope else 2 if is_prepared else 1)
    fields = ("preparation", "probability_slope")
    assert [name in content for name in fields] == [is_prepared, has_slope]
    assert load_model(tmp_path / "model.json").probability_slope == saved.probability_slope


def test_features_that_the_preparation_does_not_make_are_refused(
    model: HalfspaceModel, tmp_path: Path
) -> None:
    save_model(model, tmp_path / "model.json")
    content = json.loads((tmp_path / "model.json").read_text())
    content["preparation"] = content["preparation"][1:]
    (tmp_path / "model.json").write_text(json.dumps(content))
    with pytest.raises(DamagedFile, match="feature_names must be those of the prepared columns"):
        load_model(tmp_path / "model.json")
    content["version"] = 1
    (tmp_path / "model.json").write_text(json.dumps(content))
    with pytest.raises(DamagedFile, match="unknown field 'preparation'"):
        load_model(tmp_path / "model.json")


def test_whether_a_model_can_be_saved_is_known_before_it_is_learned(model: HalfspaceModel) -> None:
    assert model.feature_names is not None
    check_savable(model.feature_names, ["no", "yes"], model.preparation)
    with pytest.raises(ValueError, match="those of the prepared columns"):
        check_savable(["a"], ["no", "yes"], model.preparation)


def test_an_array_is_refused(model: HalfspaceModel) -> None:
    with pytest.raises(TypeError, match="X must be a data frame with named columns"):
        model.predict(np.zeros((1, model.n_features)))


def test_onnx_takes_numbers_and_categories_column_by_column() -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    table = frame()[["size", "city", "nr", "member"]].rename(columns={"size": "size (m²)"})
    model = model_of(table)
    content = model.to_onnx().SerializeToString()
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    names = [one.name for one in session.get_inputs()]
    assert names == ["size__m²_", "member", "city"]  # the converter changes odd characters
    size, member = table[["size (m²)"]].to_numpy(), (table[["member"]] == "yes").to_numpy(float)
    inputs = dict(zip(names, [size, member, table[["city"]].to_numpy(dtype=str)]))
    labels, scores = session.run(["label", "scores"], inputs)
    assert labels.tolist() == model.predict(table).tolist()
    np.testing.assert_allclose(scores[:, 1], model.decision_function(table), atol=1e-12)


def test_onnx_refuses_what_the_converter_would_drop(model: HalfspaceModel) -> None:
    pytest.importorskip("skl2onnx")
    with pytest.raises(ValueError, match="no converter for the missing cells of column 'age'"):
        model.to_onnx()
