"""Models in files: the same predictions, and nothing that cannot be read again."""

from __future__ import annotations

import ast
import builtins
import importlib
import inspect
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.pipeline import make_pipeline

from estimators.saved import CONTENT, KINDS, NEW, ROWS, SIGNS, TEXT, fitted, load_text, text_with
from estimators.small import QUICK
from thresher import HalfspaceClassifier, HalfspaceClassifierCV
from thresher.errors import DamagedFile
from thresher.estimators import load_model, model_file, save_model
from thresher.estimators.columns import NARROWEST


def reloaded(model: Any, folder: Path) -> Any:
    """The model after a stay in a file."""
    save_model(model, folder / "model.json")
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
    frame = pd.DataFrame(ROWS, columns=["a", "b", "c", "d", "two\nlines", "ß"])
    model = fitted(X=frame)
    loaded = reloaded(model, tmp_path)
    assert loaded.feature_names == list(frame.columns)
    assert loaded.provenance["n_rows"] == 300
    assert loaded.provenance["parameters"]["sparsity"] == 3
    assert len(loaded.certificates) == model.n_iter_
    assert loaded.certificates[0]["variance_upper"] == model.phases_[0].variance_upper
    assert np.array_equal(model.to_sklearn().predict(frame), model.predict(frame))


def test_the_chosen_model_of_a_cross_validation_can_be_saved(tmp_path: Path) -> None:
    model = HalfspaceClassifierCV((2, 3), cv=2, schedule=QUICK, random_state=0).fit(ROWS, SIGNS)
    assert np.array_equal(reloaded(model, tmp_path).predict(NEW), model.predict(NEW))


def test_a_table_of_another_width_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="X must have 6 columns, got 5"):
        reloaded(fitted(), tmp_path).predict(NEW[:, :5])


def test_the_columns_of_a_frame_must_be_the_ones_learned_from(tmp_path: Path) -> None:
    frame = pd.DataFrame(ROWS, columns=list("abcdef"))
    model = fitted(X=frame)
    loaded = reloaded(model, tmp_path)
    assert np.array_equal(loaded.predict(frame), model.predict(frame))
    assert np.array_equal(loaded.predict(ROWS), model.predict(frame))
    with pytest.raises(ValueError, match="column 1 of X must be 'b', got 'c'"):
        loaded.predict(frame[list("acbdef")])


# -- what cannot be read again is not written ------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"feature_names": ["a"] * 6}, "must be distinct"),
        ({"feature_names": ["a", "b", "c", "d", "e", "\x1b[2J"]}, "control characters"),
        ({"classes": ["a", "\ud800"]}, "surrogates not allowed"),
        ({"classes": [b"a", b"b"]}, "not JSON serializable"),
        ({"provenance": {"mean": np.nan}}, "not JSON compliant"),
        ({"offset": np.inf}, "not JSON compliant"),
        (
            {"feature_names": [f"{i}" + "x" * 4_000_000 for i in range(6)]},
            "more than 16,777,216 bytes",
        ),
    ],
    ids=["repeats", "control", "surrogate", "bytes", "nan", "inf", "long"],
)
def test_what_could_not_be_loaded_is_not_saved(
    changes: dict[str, Any], words: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match="the model cannot be saved") as caught:
        save_model(replace(fitted().to_model(), **changes), tmp_path / "model.json")
    assert words in str(caught.value)
    assert not list(tmp_path.iterdir())


# -- what a file can make happen -------------------------------------------------------------


def test_the_example_is_whole(tmp_path: Path) -> None:
    assert load_text(TEXT, tmp_path).predict(np.zeros((1, 4))).tolist() == ["yes"]


EXTREMES: dict[str, dict[str, Any]] = {
    "narrow": {"scale": [NARROWEST, NARROWEST]},
    "wide": {"scale": [1.7e308, 1.7e308]},
    "narrow without reach": {"scale": [NARROWEST, 1.0], "reach": None, "weights": [1e6, 1e6]},
    "far": {"center": [1.7e308, -1.7e308]},
    "far and narrow": {"center": [1e38, -1.7e308], "scale": [NARROWEST, NARROWEST]},
    "small reach": {"reach": 5e-324},
    "large reach": {"reach": 1.7e308, "weights": [1.0, -1.0]},
    "large weights": {"weights": [2e306, -2e306]},
    "small weights": {"weights": [5e-324, 0.0], "offset": 5e-324},
    "large offset": {"offset": 9e306},
    "no feature": {"support": [], "weights": [], "center": [], "scale": []},
}


@pytest.mark.parametrize("name", EXTREMES)
def test_whatever_loads_gives_finite_scores(name: str, tmp_path: Path) -> None:
    model = load_text(json_of(EXTREMES[name]), tmp_path)
    assert np.isfinite(model.decision_function(rows_of(np.finfo(float).max))).all()


@pytest.mark.parametrize("name", [name for name in EXTREMES if "without" not in name])
def test_the_pipeline_follows_to_the_extremes(name: str, tmp_path: Path) -> None:
    model = replace(load_text(json_of(EXTREMES[name]), tmp_path), feature_names=None)
    rows = rows_of(1e300)
    with np.errstate(all="ignore"):  # sums that scikit-learn checks, and what is clipped later
        scores = model.to_sklearn().decision_function(rows)
    assert np.allclose(scores, model.decision_function(rows), rtol=1e-9, atol=1e-9)


def rows_of(largest: float) -> Any:
    return np.array([[value] * 4 for value in (0.0, 1.0, largest, -largest, 5e-324)])


def json_of(changes: dict[str, Any]) -> str:
    return model_file.json.dumps({**CONTENT, **changes})


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


NUMBERS = st.one_of(
    st.floats(), st.integers(-(10**400), 10**400), st.sampled_from([NARROWEST, 1e300, 1e307])
)


@given(
    values=st.fixed_dictionaries(
        {name: st.lists(NUMBERS, min_size=2, max_size=2) for name in ("weights", "center", "scale")}
        | {"offset": NUMBERS, "reach": st.none() | NUMBERS}
    ),
    row=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=4, max_size=4),
)
def test_any_numbers_give_finite_scores_or_an_error(
    values: dict[str, Any], row: list[float], tmp_path_factory: pytest.TempPathFactory
) -> None:
    try:
        model = load_text(json_of(values), tmp_path_factory.getbasetemp())
    except DamagedFile:
        return
    assert np.isfinite(model.decision_function([row])).all()


# -- nothing in a file is code ---------------------------------------------------------------


class Watch:
    """Notes what this thread imports, evaluates or causes in audit events, while it is on.

    An audit hook cannot be taken away again, only turned off.
    """

    def __init__(self) -> None:
        self.events: list[str] = []
        self.is_on = False
        self.thread = threading.get_ident()
        sys.addaudithook(self.hear)

    def hear(self, event: str, _: object) -> None:
        is_ours = self.is_on and threading.get_ident() == self.thread
        if is_ours and event not in ("open", "object.__getattr__"):
            self.events.append(event)

    def note(self, name: str) -> Any:
        return lambda *_, **__: self.events.append(name)

    def importing(self, name: str, *rest: Any, **named: Any) -> Any:
        if name.split(".")[0] != "numpy":  # which looks up its own parts
            self.events.append(f"import {name}")
        return importlib.__import__(name, *rest, **named)

    def during(self, work: Callable[[], Any]) -> tuple[Any, list[str]]:
        """What the work gives, and what was noted."""
        self.events.clear()
        with pytest.MonkeyPatch.context() as patch:
            for name in ("eval", "exec", "compile"):
                patch.setattr(builtins, name, self.note(name))
            patch.setattr(builtins, "__import__", self.importing)
            self.is_on = True
            try:
                answer = work()
            finally:
                self.is_on = False
        return answer, list(self.events)


@pytest.fixture(scope="module")
def watch() -> Watch:
    return Watch()


def answer(path: Path) -> Any:
    try:
        return load_model(path).predict(np.zeros((1, 4))).tolist()
    except DamagedFile:
        return "refused"


def misbehave() -> None:
    import marshal
    import pickle

    eval("1")
    pickle.loads(pickle.dumps(np.float64))
    marshal.loads(marshal.dumps(1))


CODE = "__import__('os').system('touch ran')"
NOTICED = {"eval", "import marshal", "import pickle", "marshal.loads", "pickle.find_class"}


def test_loading_imports_nothing_and_runs_no_code(tmp_path: Path, watch: Watch) -> None:
    contents: list[str | bytes] = [
        TEXT,
        b"\x80\x04\x95" + TEXT.encode(),
        b"cos\nsystem\n(S'touch ran'\ntR.",
        CODE,
        text_with("offset", CODE),
        text_with("offset", f'"{CODE}"'),
        text_with("provenance", '{"__reduce__": "os.system", "__class__": "os.system"}'),
        text_with("classes", f'["{CODE}", "{CODE}2"]'),
    ]
    paths = [tmp_path / f"{i}.json" for i in range(len(contents))]
    for path, content in zip(paths, contents):
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    answers, deeds = watch.during(lambda: [answer(path) for path in paths])
    assert answers == [["yes"], *["refused"] * 5, ["yes"], [f"{CODE}2"]]
    assert deeds == []
    assert set(watch.during(misbehave)[1]) >= NOTICED  # or the watch was blind


def test_the_module_names_nothing_that_unpickles_or_evaluates() -> None:
    tree = ast.parse(inspect.getsource(model_file))
    names = {
        word
        for node in ast.walk(tree)
        for word in (
            [alias.name for alias in node.names]
            if isinstance(node, (ast.Import, ast.ImportFrom))
            else [node.id]
            if isinstance(node, ast.Name)
            else []
        )
    }
    assert "json" in names
    assert not names & {"pickle", "marshal", "shelve", "joblib", "eval", "exec", "compile"}


def test_a_model_is_short_on_the_screen(tmp_path: Path) -> None:
    model = fitted()
    shown = repr(reloaded(model, tmp_path))
    assert shown == repr(model.to_model())
    assert shown.startswith(f"HalfspaceModel({model.support_.size} of 6 features, classes [")
    assert shown.endswith(f"trained on {len(ROWS):,} rows)")


@pytest.mark.parametrize("other", [make_pipeline(HalfspaceClassifier()), None])
def test_what_is_not_a_halfspace_is_not_saved(other: Any, tmp_path: Path) -> None:
    kind = type(other).__name__
    with pytest.raises(TypeError, match=f"got {kind}; save other estimators with joblib"):
        save_model(other, tmp_path / "model.json")
