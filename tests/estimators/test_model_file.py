"""Models in files: the same predictions, and no trust in what a file says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from thresher import HalfspaceClassifier, HalfspaceClassifierCV
from thresher.errors import DamagedFile
from thresher.estimators import load_model, save_model

RNG = np.random.default_rng(0)
ROWS = RNG.standard_normal((300, 6)) * np.array([1, 1e-3, 1e4, 1, 5, 1]) + 3
SIGNS = ROWS[:, 0] - ROWS[:, 3] > 0
NEW = RNG.standard_normal((100, 6)) * np.array([3, 3e-3, 3e4, 3, 15, 3]) + 3
KINDS: dict[str, Any] = {
    "booleans": SIGNS,
    "integers": np.where(SIGNS, 7, 2),
    "numbers": np.where(SIGNS, 2.0, -1.0),
    "text": np.where(SIGNS, "spam", "ham"),
}


def fitted(y: Any = KINDS["text"], X: Any = ROWS, **changes: Any) -> HalfspaceClassifier:
    """A small model."""
    return HalfspaceClassifier(**{"sparsity": 3, "random_state": 0, **changes}).fit(X, y)


def reloaded(model: Any, folder: Path) -> Any:
    """The model after a stay in a file."""
    save_model(model.to_model(), folder / "model.json")
    return load_model(folder / "model.json")


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_predicts_the_same(kind: str, tmp_path: Path) -> None:
    model = fitted(KINDS[kind])
    loaded = reloaded(model, tmp_path)
    assert np.array_equal(loaded.predict(NEW), model.predict(NEW))
    assert np.array_equal(loaded.decision_function(NEW), model.decision_function(NEW))


@pytest.mark.parametrize("changes", [{}, {"scale": False}, {"fit_intercept": False}], ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_the_pipeline_predicts_the_same(kind: str, changes: Any) -> None:
    model = fitted(KINDS[kind], **changes)
    pipeline = model.to_sklearn()
    assert np.array_equal(pipeline.predict(NEW), model.predict(NEW))
    assert np.allclose(
        pipeline.decision_function(NEW), model.decision_function(NEW), rtol=1e-9, atol=1e-9
    )


def test_sparse_rows_are_predicted_too(tmp_path: Path) -> None:
    rows = sp.csr_array(np.where(np.abs(ROWS - 3) > 1, ROWS, 0))
    model = fitted(X=rows)
    assert np.array_equal(reloaded(model, tmp_path).predict(rows), model.predict(rows))


def test_names_and_provenance_are_kept(tmp_path: Path) -> None:
    frame = pd.DataFrame(ROWS, columns=list("abcdef"))
    model = fitted(X=frame)
    loaded = reloaded(model, tmp_path)
    assert loaded.feature_names == list("abcdef")
    assert loaded.provenance["n_rows"] == 300
    assert loaded.provenance["parameters"]["sparsity"] == 3
    assert len(loaded.certificates) == model.n_iter_
    assert loaded.certificates[0]["variance_upper"] == model.phases_[0].variance_upper
    assert np.array_equal(model.to_sklearn().predict(frame), model.predict(frame))


def test_the_chosen_model_of_a_cross_validation_can_be_saved(tmp_path: Path) -> None:
    model = HalfspaceClassifierCV(sparsities=(2, 3), random_state=0).fit(ROWS, SIGNS)
    assert np.array_equal(reloaded(model, tmp_path).predict(NEW), model.predict(NEW))


def test_a_table_of_another_width_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="X must have 6 columns, got 5"):
        reloaded(fitted(), tmp_path).predict(NEW[:, :5])


# -- files that are not what they should be --------------------------------------------------

TEXT = json.dumps(
    {
        "format": "thresher-model",
        "version": 1,
        "n_features": 4,
        "feature_names": ["a", "b", "c", "d"],
        "classes": ["no", "yes"],
        "support": [1, 3],
        "weights": [0.5, -0.5],
        "offset": 0.25,
        "center": [0.0, 1.0],
        "scale": [1.0, 2.0],
        "reach": 2.0,
        "provenance": {},
        "certificates": [{}],
    }
)


def load_text(text: str | bytes, folder: Path) -> Any:
    """The model in a file with this content."""
    path = folder / "model.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load_model(path)


def test_the_example_is_whole(tmp_path: Path) -> None:
    assert load_text(TEXT, tmp_path).predict(np.zeros((1, 4))).tolist() == ["yes"]


WRONG: dict[str, list[Any]] = {
    "format": ["other", None, 1],
    "version": [0, 2, "1", None, 1.5],
    "n_features": [0, -1, 3, 5, 10**12, 4.0, "4", True, None, [4]],
    "feature_names": [
        [],
        ["a"] * 4,
        ["a", "b", "c", 4],
        "abcd",
        {"a": 1},
        ["a", "b", "c", "d" * 20_000],
    ],
    "classes": [
        [],
        ["no"],
        ["a", "b", "c"],
        ["yes", "no"],
        ["x", "x"],
        [1, "a"],
        [None, 1],
        [[1], [2]],
        "no",
        [0, True],
    ],
    "support": [
        [3, 1],
        [1, 1],
        [-1, 3],
        [1, 4],
        [1],
        [1, 2, 3],
        [1.0, 3.0],
        ["b", "d"],
        [True, 3],
        None,
        "13",
    ],
    "weights": [
        [0.5],
        [0.5, 0.5, 0.5],
        [0.5, None],
        [0.5, "1"],
        [0.5, True],
        [10**400, 1],
        None,
        {},
    ],
    "offset": [None, "0", [0], True, 10**400],
    "center": [[0.0], [0.0, "x"], None, 0.0],
    "scale": [[1.0, 0.0], [1.0, -2.0], [1.0], [1.0, None], None],
    "reach": [0, -1.0, "2", [2], True],
    "provenance": [None, [], "x"],
    "certificates": [None, {}, [1], [None], "x"],
}
CASES = [(name, value) for name, values in WRONG.items() for value in values]


@pytest.mark.parametrize("name, value", CASES, ids=[f"{n}={str(v)[:20]}" for n, v in CASES])
def test_a_wrong_value_is_refused(name: str, value: Any, tmp_path: Path) -> None:
    with pytest.raises(DamagedFile, match=r"model\.json is not a file that Thresher can read"):
        load_text(json.dumps({**json.loads(TEXT), name: value}), tmp_path)


@pytest.mark.parametrize("name", json.loads(TEXT))
def test_a_missing_value_is_refused(name: str, tmp_path: Path) -> None:
    content = json.loads(TEXT)
    del content[name]
    with pytest.raises(DamagedFile):
        load_text(json.dumps(content), tmp_path)


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity"])
@pytest.mark.parametrize("name", ["offset", "reach", "n_features"])
def test_what_is_no_number_is_refused(name: str, constant: str, tmp_path: Path) -> None:
    text = json.dumps({**json.loads(TEXT), name: "HERE"}).replace('"HERE"', constant)
    with pytest.raises(DamagedFile, match=f"{constant} is no number"):
        load_text(text, tmp_path)


@pytest.mark.parametrize("n_bytes", range(0, len(TEXT), 7))
def test_a_torn_file_is_refused(n_bytes: int, tmp_path: Path) -> None:
    with pytest.raises(DamagedFile):
        load_text(TEXT[:n_bytes], tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe",
        b"\x80\x04\x95",
        b"[" * 100_000,
        b"null",
        b"[]",
        b'"x"',
        b"{}",
        b"1" * 10_000,
    ],
    ids=[
        "empty",
        "not utf-8",
        "a pickle",
        "deep",
        "null",
        "list",
        "text",
        "nothing",
        "long number",
    ],
)
def test_what_is_no_model_is_refused(content: bytes, tmp_path: Path) -> None:
    with pytest.raises(DamagedFile):
        load_text(content, tmp_path)


def test_a_file_larger_than_any_model_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    with path.open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(DamagedFile, match="more than any model has"):
        load_model(path)


def test_a_folder_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DamagedFile, match="it is a folder"):
        load_model(tmp_path)
    with pytest.raises(FileNotFoundError):
        load_model(tmp_path / "none.json")


@given(position=st.integers(0, len(TEXT) - 1), byte=st.integers(0, 255))
def test_a_changed_byte_gives_a_model_or_an_error(
    position: int, byte: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    content = bytearray(TEXT.encode())
    content[position] = byte
    try:
        model = load_text(bytes(content), tmp_path_factory.getbasetemp())
    except DamagedFile:
        return
    assert np.isfinite(model.decision_function(np.ones((1, 4)))).all()
