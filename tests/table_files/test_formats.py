"""The same table comes out of every format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
import scipy.sparse as sp

from table_files.written import NAMES, WRITERS, X, Y, csr_parts
from thresher.table_files import find_table, read_table


def dense(rows: Any) -> Any:
    return rows.toarray() if sp.issparse(rows) else rows


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_table(tmp_path: Path, name: str) -> None:
    WRITERS[name](tmp_path / name)
    table = read_table(tmp_path / name)
    np.testing.assert_array_equal(dense(table.X), X)
    np.testing.assert_array_equal(table.y, Y)
    assert table.y is not None
    assert table.y.dtype == np.int64
    assert table.X.dtype == np.float64
    assert table.feature_names == NAMES
    assert table.ids.tolist() == [0, 1, 2, 3]
    assert table.n_rows == 4
    assert table.label_name == ("y" if name.endswith("npz") else "label")


@pytest.mark.parametrize("name", WRITERS)
def test_features_are_taken_in_the_order_asked_for(tmp_path: Path, name: str) -> None:
    WRITERS[name](tmp_path / name)
    table = read_table(tmp_path / name, features=["3", "1"], with_labels=False)
    np.testing.assert_array_equal(dense(table.X), X[:, [2, 0]])
    assert table.feature_names == ["3", "1"]
    assert table.y is None
    assert table.label_name is None


@pytest.mark.parametrize("name", WRITERS)
def test_progress_goes_up_to_the_size_of_the_file(tmp_path: Path, name: str) -> None:
    WRITERS[name](tmp_path / name)
    reported: list[tuple[int, int]] = []
    read_table(tmp_path / name, progress=lambda done, total: reported.append((done, total)))
    size = (tmp_path / name).stat().st_size
    assert reported == sorted(reported)
    assert reported[-1] == (size, size)
    assert {total for _, total in reported} == {size}


def test_sparse_formats_stay_sparse(tmp_path: Path) -> None:
    for name in ("t.svm", "csr.npz"):
        WRITERS[name](tmp_path / name)
        assert sp.issparse(read_table(tmp_path / name).X)


def test_arrow_types_become_numbers(tmp_path: Path) -> None:
    columns = {
        "half": pa.array(np.array([0.5, 1.5], dtype=np.float16)),
        "large": pa.array([2**63, 3], pa.uint64()),
        "truth": pa.array([True, False]),
        "decimal": pa.array(["1.25", "2.50"]).cast(pa.decimal128(5, 2)),
        "a.b": pa.array([1, 2], pa.int8()),
        "words": pa.array([" 7", "8 "], pa.large_string()),
        "category": pa.array(["1", "2"]).dictionary_encode(),
        "y": pa.array([True, False]),
    }
    parquet.write_table(pa.table(columns), tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet")
    expected = [[0.5, 2.0**63, 1, 1.25, 1, 7, 1], [1.5, 3, 0, 2.5, 2, 8, 2]]
    np.testing.assert_array_equal(table.X, expected)
    assert table.y is not None
    assert table.y.tolist() == ["true", "false"]


def test_views_of_strings_become_numbers(tmp_path: Path) -> None:
    columns = {"view": pa.array(["1", "2"], pa.string_view()), "y": pa.array([True, False])}
    try:
        parquet.write_table(pa.table(columns), tmp_path / "t.parquet")
    except pa.ArrowNotImplementedError:  # before 20 or so
        pytest.skip("this PyArrow has hardly any views")
    np.testing.assert_array_equal(read_table(tmp_path / "t.parquet").X, [[1], [2]])


def test_the_index_that_pandas_writes_is_no_column(tmp_path: Path) -> None:
    import pandas as pd

    frame = pd.DataFrame({"a": [1.0, 2.0], "y": ["n", "p"]}, index=["r1", "r2"])
    frame.to_parquet(tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet")
    assert (table.feature_names, table.label_name) == (["a"], "y")


def test_an_svmlight_feature_is_called_by_its_number_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "t.svm"
    path.write_text("# from zero\n1 0:5 2:7 # a comment\n\n-1 2:1\n")
    assert read_table(path).feature_names == ["0", "1", "2"]
    path.write_text("1 2:7\n-1 2:1\n")  # nothing says from where this one counts
    chosen = read_table(path, features=["0", "2", "9"], with_labels=False)
    np.testing.assert_array_equal(chosen.X.toarray(), [[0, 7, 0], [0, 1, 0]])


def test_svmlight_labels_that_are_no_integers_stay_what_they_are(tmp_path: Path) -> None:
    (tmp_path / "t.svm").write_text("0.5 1:1\n-1 1:2\n")
    table = read_table(tmp_path / "t.svm")
    assert table.y is not None
    assert table.y.tolist() == [0.5, -1.0]


def test_npz_features_without_names_are_numbered(tmp_path: Path) -> None:
    np.savez(tmp_path / "t.npz", X=X.astype(np.float32), y=np.array(list("pnnp")), nr=[9, 8, 7, 6])
    table = read_table(tmp_path / "t.npz", id_column="nr")
    assert table.feature_names == ["x0", "x1", "x2"]
    assert table.ids.tolist() == [9, 8, 7, 6]
    np.testing.assert_array_equal(table.X, X.astype(np.float32))


@pytest.mark.parametrize("rows", [{"X": 4 * X}, csr_parts(4 * X)], ids=["dense", "sparse"])
def test_npz_entries_have_the_scale_of_the_file(tmp_path: Path, rows: dict[str, Any]) -> None:
    np.savez(tmp_path / "t.npz", **{"y": Y, **rows}, X_scale=np.float32(0.25))
    np.testing.assert_array_equal(dense(read_table(tmp_path / "t.npz").X), X)


def test_npz_names_may_be_one_text_of_lines(tmp_path: Path) -> None:
    text = np.frombuffer("\n".join(["one", "zwei", "трі"]).encode(), dtype=np.uint8)
    np.savez(tmp_path / "t.npz", X=X, y=Y, feature_names=text)
    assert read_table(tmp_path / "t.npz").feature_names == ["one", "zwei", "трі"]


def test_a_fortran_ordered_array_and_booleans_in_npz_are_read(tmp_path: Path) -> None:
    np.savez(tmp_path / "t.npz", X=np.asfortranarray(X > 0), y=Y > 0)
    table = read_table(tmp_path / "t.npz")
    np.testing.assert_array_equal(table.X, X > 0)
    assert table.y is not None
    assert table.y.tolist() == ["true", "false", "false", "true"]


def test_csr_parts_without_labels_are_enough_for_prediction(tmp_path: Path) -> None:
    np.savez(tmp_path / "t.npz", **csr_parts())
    table = read_table(tmp_path / "t.npz", features=["x2"], with_labels=False)
    np.testing.assert_array_equal(table.X.toarray(), X[:, [2]])


def test_unsorted_and_repeated_csr_entries_mean_what_scipy_means(tmp_path: Path) -> None:
    parts = {"X_data": [1.0, 2.0, 3.0], "X_indices": [1, 0, 1], "X_indptr": [0, 3, 3]}
    np.savez(tmp_path / "t.npz", **parts, X_shape=[2, 2], y=[0, 1])
    np.testing.assert_array_equal(read_table(tmp_path / "t.npz").X.toarray(), [[2, 4], [0, 0]])


def test_a_table_is_found_by_its_name_whatever_its_format(tmp_path: Path) -> None:
    WRITERS["t.tsv.gz"](tmp_path / "t.tsv.gz")
    assert find_table(tmp_path, "t") == tmp_path / "t.tsv.gz"
    assert find_table(tmp_path, "u") is None
    assert find_table(tmp_path / "missing", "t") is None


@pytest.mark.parametrize("encoding", ["PLAIN", "DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY", None])
def test_texts_in_parquet_are_read_in_every_encoding(tmp_path: Path, encoding: str | None) -> None:
    path, n_rows = tmp_path / "t.parquet", 1000
    columns = {
        "text": ["red", "green"] * (n_rows // 2),
        "id": [f"row {i:04}" for i in range(n_rows)],
        "y": ["no", "yes"] * (n_rows // 2),
    }
    encodings = {} if encoding is None else dict.fromkeys(columns, encoding)
    parquet.write_table(
        pa.table(columns),
        path,
        use_dictionary=encoding is None,
        column_encoding=encodings or None,
        row_group_size=300,
    )
    features = ["text=green", "text=red"]
    table = read_table(path, one_hot=True, id_column="id", features=features)
    assert np.array_equal(table.X[:, 1], [1.0, 0.0] * (n_rows // 2))
    assert table.ids.tolist() == columns["id"]
    assert table.y is not None
    assert table.y.tolist() == columns["y"]
