"""What cannot be read as a table is refused with the file, the place and what to do."""

from __future__ import annotations

import builtins
import importlib
import os
import pathlib
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as parquet
import pytest

from table_files.written import WRITERS, X, Y, arrow_table, csr_parts
from thresher import memory
from thresher.errors import NotEnoughMemory, ThresherError, UnreadableTable
from thresher.table_files import LabeledTable, read_table, refuse_controls
from thresher.table_files.arrow_cells import arrow

Make = Callable[[Path], object]


@dataclass(frozen=True)
class Case:
    """A file, how it is read, and the words in which it is refused."""

    name: str
    make: Make
    words: tuple[str, ...]
    options: dict[str, Any] = field(default_factory=dict)


def holding(content: bytes | str) -> Make:
    data = content.encode() if isinstance(content, str) else content
    return lambda path: path.write_bytes(data)


def text(content: bytes | str, *words: str, name: str = "t.csv", **options: Any) -> Case:
    return Case(name, holding(content), words, options)


def arrays(*words: str, options: dict[str, Any] | None = None, **content: Any) -> Case:
    return Case("t.npz", lambda path: np.savez(path, **content), words, options or {})


def columns(*words: str, options: dict[str, Any] | None = None, **content: Any) -> Case:
    def make(path: Path) -> None:
        parquet.write_table(pa.table(content), path)

    return Case("t.parquet", make, words, options or {})


def parts(*words: str, **changed: Any) -> Case:
    return arrays("CSR", *words, y=Y, **{**csr_parts(), **changed})


def cut(name: str, share: float) -> Make:
    def make(path: Path) -> None:
        WRITERS[name](path)
        whole = path.read_bytes()
        path.write_bytes(whole[: int(share * len(whole))])

    return make


def duplicates(path: Path) -> None:
    feather.write_feather(pa.table([[1, 2], [1, 2], [0, 1]], names=["a", "a", "y"]), str(path))


def long_header(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (4000000000, 9)}"
        header += b" " * (117 - len(header)) + b"\n"
        archive.writestr("X.npy", b"\x93NUMPY\x01\x00v\x00" + header + bytes(64))


CASES = {
    "not found": Case("t.csv", lambda _: None, ("was not found", "check its name")),
    "not found beside others": Case(
        "t.csv",
        lambda path: path.with_name("u.csv").write_text("x"),
        ("was not found", "in its folder: u.csv"),
    ),
    "a folder": Case("t.csv", lambda path: path.mkdir(), ("is a folder",)),
    "a folder without ending": Case("t", lambda path: path.mkdir(), ("is a folder",)),
    "a pipe": Case("t.csv", os.mkfifo, ("device or a pipe", "save it first")),
    "empty": text("", "is empty"),
    "empty parquet": text("", "is empty", name="t.parquet"),
    "blank": text("\n\n", "is blank"),
    "header only": text("a,b\n", "columns but no rows"),
    "header without end": text("a,b", "columns but no rows"),
    "wrong suffix": text("a", "'.xlsx'", ".csv", ".parquet", ".npz", name="t.xlsx"),
    "no suffix": text("a", "no extension", ".csv", name="table"),
    "latin-1": text(b"a,y\n1,p\n2,caf\xe9\n", "is not UTF-8", "line 3", "0xe9"),
    "latin-1 in the names": text(b"caf\xe9,y\n1,p\n2,n\n", "is not UTF-8", "line 1"),
    "utf-16": text("a,y\n1,p\n".encode("utf-16"), "is not UTF-8", "line 1"),
    "a short row": text('a,b,y\n"1\n1",2,p\n3,n\n', "2 cells on line 4", "3 columns"),
    "a long row": text("a,y\n1,p\n2,n,5\n", "3 cells on line 3", "2 columns"),
    "duplicate names": text("a,b,a,y\n1,2,3,p\n", "duplicate column names: 'a'"),
    "duplicate names in arrow": Case("t.arrow", duplicates, ("duplicate column names: 'a'",)),
    "no name": text(",a,y\n1,2,p\n", "without a name, number 1 of 3", "index=False"),
    "no names": text("1.5,2,0\n2.5,3,1\n", "numbers where the column names", "first line"),
    "semicolons": text("a;y\n1;0\n2;1\n", "only one column, named 'a;y'", "--sep"),
    "label not found": text(
        "a,Label\n1,2\n", "no label column 'lable'", "did you mean 'Label'", label="lable"
    ),
    "label far off": text("a,b\n1,2\n", "no label column 'zz'", "it has 'a', 'b'", label="zz"),
    "only the label": text("y\n1\n0\n", "no feature"),
    "only label and id": text("nr,y\n1,1\n2,0\n", "no feature", id_column="nr"),
    "one label": text("a,y\n1,p\n2,p\n", "1 distinct label in column 'y'", "'p' (2)", "--label"),
    "three labels": text(
        "a,y\n1,p\n2,n\n3,n\n4,u\n", "3 distinct labels", "'n' (2), 'p' (1), 'u' (1)"
    ),
    "many labels": columns("100 distinct", "and 95 more", a=np.ones(100), y=np.arange(100)),
    "missing labels": text(
        "a,y\n1,p\n2,\n3,NA\n", "no label (column 'y') in 2 rows", "row 1 (line 3)"
    ),
    "missing labels as nan": columns("no label", "in 1 row", "row 1", a=[1, 2], y=[1.0, np.nan]),
    "infinite labels": columns("infinite label in row 0", a=[1, 2], y=[np.inf, 0.0]),
    "lists as labels": columns("list<", "'y'", a=[1, 2], y=[[1], [2]]),
    "text": text(
        "a,b,c,y\n1,2,5,0\nx,2,5,1\n2,u,5,1\n",
        *(
            "2 columns of text: 'a', 'b'",
            "'x' in column 'a', row 1 (line 3)",
            "omit --strict",
            "drop",
        ),
    ),
    "decimal commas": text(
        'a,y\n"1,5",0\n"2,5",1\n', "of text: 'a'", "'1,5' in column 'a', row 0 (line 2)"
    ),
    "dates": text("d,y\n2024-01-31,0\n2024-02-01,1\n", "dates or times: 'd'", "days since"),
    "dates in parquet": columns(
        "dates or times: 'd'", "row 0", d=pa.array([1, 2], pa.timestamp("ns", "UTC")), y=[0, 1]
    ),
    "the first of several problems is text": text(
        "d,b,y\n2,3,0\nx,,1\nu,,0\n", "1 column of text: 'd'", "'x' in column 'd', row 1 (line 3)"
    ),
    "the first of several problems is a gap": text(
        "a,b,y\n1,,0\nx,1,1\n", "missing values in 1 column: 'b' (1)", "'b', row 0 (line 2)"
    ),
    "the first of several problems is a date": text(
        "t,d,y\n1,2024-01-31,0\nx,2024-01-31,1\n", "1 column of dates or times: 'd'", "row 0"
    ),
    "lists": columns("lists or other", "'a'", "row 1", a=[None, [1]], y=[0, 1]),
    "lists one-hot": columns(
        "lists", a=[[1], [2]], y=[0, 1], options={"one_hot": True, "features": ["a=1"]}
    ),
    "missing values": text(
        "a,b,c,y\n1,,3,0\n1,NA,3,1\nNaN,5,3,1\n",
        *("2 columns: 'b' (2), 'a' (1)", "'b', row 0 (line 2)", "fill them in"),
    ),
    "missing text": text(
        "a,y\nu,0\n,1\n", "'a' (1)", "row 1 (line 3)", one_hot=True, features=["a=u"]
    ),
    "many with missing values": Case(
        "t.parquet",
        lambda path: parquet.write_table(
            pa.table(
                {
                    **{f"c{i}": [None] * i + [1.0] * (15 - i) for i in range(15)},
                    "y": [i % 2 for i in range(15)],
                }
            ),
            path,
        ),
        ("14 columns: 'c14' (14), 'c13' (13)", "'c5' (5) and 4 more"),
    ),
    "an empty column": columns("'a' (2)", a=pa.nulls(2), y=[0, 1]),
    "infinite": text("a,b,y\n1,-inf,0\n2,1e999,1\n", "infinite", "'b' (2)", "row 0 (line 2)"),
    "too large": text("a,y\n1,0\n1e101,1\n", "beyond ±1e+100", "'a' (1)", "row 1 (line 3)"),
    "no id": text("nr,a,y\n1,2,0\n", "no id column 'id'", "it has", id_column="id"),
    "id is the label": text("a,y\n1,0\n", "as both label and id", label="y", id_column="y"),
    "missing ids": text(
        "nr,a,y\n,2,0\n2,3,1\n", "no id (column 'nr')", "row 0 (line 2)", id_column="nr"
    ),
    "missing features": text(
        "a,b,y\n1,2,0\n", "lacks 2 of 3 required columns", "'c', 'd'", features=["a", "c", "d"]
    ),
    "missing one-hot": text("a,y\nu,0\n", "'a=u'", "one_hot", features=["a=u"]),
    "features with text": text(
        "a,y\nu,0\n", "of text: 'a'", features=["a"], one_hot=True, with_labels=False
    ),
    "a feature as label": text("a,b\n1,0\n", "the feature 'b'", "--label", features=["b"]),
    "no gzip": text("a,y\n1,0\n", "damaged, truncated", name="t.csv.gz"),
    "cut gzip": Case("t.csv.gz", cut("t.csv.gz", 0.6), ("damaged, truncated",)),
    "cut parquet": Case("t.parquet", cut("t.parquet", 0.7), ("damaged, truncated",)),
    "cut arrow": Case("t.arrow", cut("t.arrow", 0.7), ("damaged, truncated",)),
    "cut feather": Case("t.feather", cut("t.feather", 0.5), ("damaged, truncated",)),
    "cut npz": Case("t.npz", cut("t.npz", 0.7), ("damaged, truncated", "numpy.savez")),
    "no parquet": text("a,y\n1,0\n", "damaged, truncated", name="t.parquet"),
    "no npz": text("a,y\n1,0\n", "damaged, truncated", name="t.npz"),
    "an open quote": text('a,y\n"1,p\n' + "2,n\n" * 1500000, "too long", "quotation mark"),
    "a row beyond a block": text("a,y\n2,n\n" + "1" * 5_000_000 + ",p\n", "too long", "Parquet"),
    "no svmlight": text("1 1:2\nyes 1:3\n", "line 2", "'yes 1:3'", name="t.svm"),
    "svmlight unsorted": text("1 1:2\n# c\n0 3:1 2:1\n", "line 3", "ascending", name="t.svm"),
    "svmlight far index": text("1 1:2\n0 99999999:1\n", "100,000,000 features", name="t.svm"),
    "svmlight absurd index": text("1 1:2\n0 99999999999999999999:1\n", "line 2", name="t.svm"),
    "svmlight negative index": text("1 1:2\n0 -3:1\n", "line 2", name="t.svm"),
    "svmlight nan": text("1 1:2\n\n0 2:nan\n", "'2' (1)", "row 1 (line 3)", name="t.svm"),
    "svmlight infinite": text("1 1:2\n0 2:inf\n", "infinite", "row 1 (line 2)", name="t.svm"),
    "svmlight label": text("1 1:2\nnan 2:1\n", "label", "row 1 (line 2)", name="t.svm"),
    "svmlight one label": text("1 1:2\n1 2:1\n", "1 distinct label", name="t.svm"),
    "svmlight comments only": text("# nothing\n", "no rows", name="t.svm"),
    "svmlight id": text("1 1:2\n", "no id column", name="t.svm", id_column="nr"),
    "svmlight other label": text("1 1:2\n", "no label column", name="t.svm", label="y"),
    "svmlight names": text("1 1:2\n", "'age'", name="t.svm", features=["age"]),
    "pickled X": arrays("pickled objects in 'X'", X=np.array([[1, None]]), y=[1]),
    "pickled y": arrays("pickled objects in 'y'", X=X, y=np.array(["a", None, "b", 1], object)),
    "npz nan": arrays("missing values", "'x1' (1)", "row 1", X=[[0, 1], [0, np.nan]], y=[0, 1]),
    "npz infinite": arrays("infinite", "'x0' (2)", X=[[np.inf], [-np.inf]], y=[0, 1]),
    "npz large": arrays("beyond ±1e+100", "row 0", X=[[1e200], [0]], y=[0, 1]),
    "npz scales": arrays("'X_scale' with shape (2,)", X=[[0], [1]], y=[0, 1], X_scale=[1, 2]),
    "npz no scale": arrays("one finite number", X=[[0], [1]], y=[0, 1], X_scale=np.nan),
    "npz large scale": arrays("infinite", X=[[0], [1e99]], y=[0, 1], X_scale=1e300),
    "npz lines": arrays(
        "'feature_names' with shape (3,)",
        X=[[0], [1]],
        y=[0, 1],
        feature_names=np.array([97, 10, 98], dtype=np.uint8),
    ),
    "npz text": arrays("'X' with shape", "matrix of numbers", X=[["a"], ["b"]], y=[0, 1]),
    "npz complex": arrays("matrix of numbers", X=[[1j], [0]], y=[0, 1]),
    "npz vector": arrays("matrix of numbers", X=[1.0, 2.0], y=[0, 1]),
    "npz no rows": arrays("no rows", X=np.empty((0, 2)), y=[]),
    "npz no columns": arrays("0 features", X=np.empty((2, 0)), y=[0, 1]),
    "npz nothing": arrays("neither 'X' nor", "'Z'", Z=X),
    "npz no labels": arrays("no array 'y'", X=X),
    "npz short labels": arrays("'y' with shape (3,)", "must hold 4 labels", X=X, y=Y[:3]),
    "npz missing labels": arrays("no label in 1 row", "row 1", X=X, y=[1, np.nan, 0, 0]),
    "npz three labels": arrays("4 distinct labels", X=X, y=[1, 2, 3, 4]),
    "npz names": arrays("'feature_names' with shape (1,)", X=X, y=Y, feature_names=["a"]),
    "npz repeated names": arrays("duplicate names", X=X, y=Y, feature_names=["a", "a", "b"]),
    "npz id": arrays("no id array 'nr'", X=X, y=Y, options={"id_column": "nr"}),
    "npz other label": arrays("no label column 'z'", X=X, y=Y, options={"label": "z"}),
    "npz missing features": arrays(
        "lacks 1 of 1 required column", X=X, y=Y, options={"features": ["zz"]}
    ),
    "npz header that lies": Case("t.npz", long_header, ("shorter than its header says",)),
    "csr outside": parts("must be < 2", X_shape=[4, 2]),
    "csr negative": parts("must be >= 0", X_indices=csr_parts()["X_indices"] - 1),
    "csr huge index": parts("must be", X_indices=np.full(9, 2**64 - 1, dtype=np.uint64)),
    "csr short indptr": parts("index pointer size", X_indptr=[0, 1, 9]),
    "csr long shape": parts("index pointer size", X_shape=[2**61, 3]),
    "csr falling indptr": parts("non-decreasing", X_indptr=[0, 5, 3, 6, 9]),
    "csr late start": parts("start with 0", X_indptr=[1, 2, 3, 6, 9]),
    "csr wrong end": parts("9 entries", X_indptr=[0, 1, 2, 3, 99]),
    "csr too many entries": parts("9 entries", X_indptr=[0, 1, 2, 3, 4]),
    "csr indptr that wraps around": parts("9 entries", X_indptr=[0, 2**63 - 1, -2, 3, 9]),
    "csr indptr without entries": parts(
        "0 entries", X_data=[], X_indices=np.zeros(0, int), X_indptr=[0, 5, 5, 5, 0]
    ),
    "csr lengths": parts("same size", X_indices=[0, 1]),
    "csr float indices": parts("must hold integers", X_indices=[0.5]),
    "csr matrix of indices": parts("1-D", X_indices=[[0, 1, 2]]),
    "csr text": parts("X_data must hold numbers", X_data=["a"]),
    "csr negative shape": parts("negative", X_shape=[4, -3]),
    "csr one dimension": parts("X_shape two", X_shape=[4]),
    "csr wide": Case(
        "t.npz",
        lambda path: np.savez(path, y=Y, **{**csr_parts(), "X_shape": [4, 10**9]}),
        ("1,000,000,000 features",),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_refusal_names_the_file_the_place_and_what_to_do(tmp_path: Path, name: str) -> None:
    case = CASES[name]
    path = tmp_path / case.name
    case.make(path)
    with pytest.raises(UnreadableTable) as caught:
        read_table(path, **case.options)
    message = str(caught.value)
    assert str(path) in message
    assert "\n" not in message
    assert [words for words in case.words if words not in message] == [], message


def test_a_file_that_may_not_be_opened_is_unreadable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied")

    (tmp_path / "t.csv").write_text("a,y\n1,2\n")
    monkeypatch.setattr(pathlib.Path, "open", refuse)
    with pytest.raises(UnreadableTable, match=r"cannot be opened \(Permission denied\)"):
        read_table(tmp_path / "t.csv")


@pytest.mark.parametrize("suffix", [".csv", ".npz"])
def test_a_name_that_no_report_can_have_is_unreadable(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"t\udcff{suffix}"
    path.write_bytes(b"a,y\n1,2\n")
    with pytest.raises(UnreadableTable, match="not valid Unicode; rename it"):
        read_table(path)


def test_a_name_that_no_file_can_have_is_unreadable(tmp_path: Path) -> None:
    with pytest.raises(UnreadableTable):
        read_table(tmp_path / "t\0.csv")


CONTROLS = {
    "a name": LabeledTable(X, Y, ["a", "b\x1b[2J", "c"], Y, "y"),
    "the name of the label": LabeledTable(X, Y, ["a", "b", "c"], Y, "\x1b"),
    "a label": LabeledTable(X, np.array(["\x07", "a"] * 2), ["a", "b", "c"], Y, "y"),
}


@pytest.mark.parametrize("where", CONTROLS)
def test_control_characters_that_no_model_may_have_are_refused(where: str) -> None:
    with pytest.raises(UnreadableTable, match=r"t\.csv has control characters in the") as caught:
        refuse_controls(CONTROLS[where], "t.csv")
    assert str(caught.value).isprintable()
    refuse_controls(LabeledTable(X, Y, ["a", "b\n", "é"], Y, "y"), "t.csv")


@pytest.mark.parametrize("name", WRITERS)
def test_memory_is_asked_for_before_it_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    WRITERS[name](tmp_path / name)
    monkeypatch.setattr(memory, "available_memory", lambda: 10)
    with pytest.raises(NotEnoughMemory, match="needs about"):
        read_table(tmp_path / name)


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.arrow"])
def test_without_pyarrow_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    WRITERS[name](tmp_path / name)

    def missing(module: str) -> None:
        raise ModuleNotFoundError(f"No module named {module!r}", name=module)

    arrow.cache_clear()
    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(ThresherError, match=r"thresher\[files\]") as caught:
        read_table(tmp_path / name)
    assert "\n" not in str(caught.value)


def test_npz_and_svmlight_need_no_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **named: Any) -> Any:
        assert not name.startswith("pyarrow")
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    for name in ("t.npz", "t.svm"):
        WRITERS[name](tmp_path / name)
        assert read_table(tmp_path / name).n_rows == 4


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    WRITERS["t.parquet"](path)
    shorter = tmp_path / "u.parquet"
    parquet.write_table(arrow_table().slice(0, 2), shorter)

    def replace(_: int, __: int) -> None:
        if shorter.exists():
            shorter.replace(path)

    with pytest.raises(UnreadableTable, match="changed while it was being read"):
        read_table(path, progress=replace)


@pytest.mark.parametrize("options", [{"label": 3}, {"id_column": 3}, {"features": "abc"}])
def test_misuse_of_a_parameter_is_a_type_error(tmp_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=next(iter(options))):
        read_table(tmp_path / "t.csv", **options)


@pytest.mark.parametrize("features", [[], ["a", "a"]])
def test_features_are_different_and_at_least_one(tmp_path: Path, features: list[str]) -> None:
    with pytest.raises(ValueError, match="features must be one or more distinct names"):
        read_table(tmp_path / "t.csv", features=features)
