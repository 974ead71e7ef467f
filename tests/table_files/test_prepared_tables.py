"""Files as they come: `prepare_table` on every format."""

from __future__ import annotations

import datetime
import gzip
import io
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from table_files.written import WRITERS
from thresher.errors import UnreadableTable
from thresher.preparation import Numbers, TablePreparation
from thresher.table_files import LabeledTable, copy_rows, prepare_table, read_table


def dense(X: Any) -> Any:
    return X if isinstance(X, np.ndarray) else X.toarray()


def columns_of(table: LabeledTable) -> dict[str, Any]:
    return dict(zip(table.feature_names, dense(table.X).T.tolist()))


@pytest.mark.parametrize("name", WRITERS)
def test_a_table_of_complete_numbers_needs_no_preparation(name: str, tmp_path: Path) -> None:
    WRITERS[name](tmp_path / name)
    strict, table = read_table(tmp_path / name), prepare_table(tmp_path / name)
    assert table.preparation is None
    assert (table.feature_names, table.label_name) == (strict.feature_names, strict.label_name)
    np.testing.assert_array_equal(dense(table.X), dense(strict.X))
    np.testing.assert_array_equal(table.y, strict.y)


@pytest.mark.parametrize("name", ["t.npz", "t.svm"])
def test_missing_values_of_files_of_numbers_are_filled_in(name: str, tmp_path: Path) -> None:
    X, y = np.array([[1.0, 5.0], [np.nan, 2.0], [3.0, 1.0], [5.0, 4.0]]), [0, 1, 1, 0]
    if name == "t.npz":
        np.savez(tmp_path / name, X=X, y=y, feature_names=["1", "2"])
    else:
        lines = [f"{label} 1:{a} 2:{b}" for label, (a, b) in zip(y, X.tolist())]
        (tmp_path / name).write_text("\n".join(lines))
    table = prepare_table(tmp_path / name)
    assert table.feature_names == ["1", "2", "1 is missing"]
    assert dense(table.X)[1].tolist() == [3.0, 2.0, 1.0]
    again = prepare_table(tmp_path / name, preparation=table.preparation)
    np.testing.assert_array_equal(dense(again.X), dense(table.X))
    copy_rows(tmp_path / name, np.array([False, True, True, False]), tmp_path / "kept.csv")
    assert (tmp_path / "kept.csv").read_text().splitlines()[1] == "nan,2.0,1"


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_is_prepared_for_prediction(name: str, tmp_path: Path) -> None:
    WRITERS[name](tmp_path / name)
    numbers = [Numbers(column, "numbers", n, 0, 5.0) for n, column in enumerate(["3", "1"])]
    preparation = TablePreparation(tuple(numbers))
    table = prepare_table(tmp_path / name, preparation=preparation, with_labels=False)
    strict = read_table(tmp_path / name, features=["3", "1"], with_labels=False)
    assert table.feature_names == ["3", "1", "1 is missing"]
    np.testing.assert_array_equal(dense(table.X)[:, :2], dense(strict.X))
    assert not dense(table.X)[:, 2].any()


def test_every_type_of_parquet_is_prepared(tmp_path: Path) -> None:
    day, moment = datetime.date(1970, 1, 2), datetime.datetime(1970, 1, 3, 12)
    columns = {
        "integers": pa.array([3, None, 5, 4], pa.int8()),
        "decimals": pa.array([Decimal("1.5"), None, Decimal("2.5"), Decimal("2.0")]),
        "booleans": pa.array([True, None, False, True]),
        "days": pa.array([day, None, day, None]),
        "moments": pa.array([moment, moment, None, None], pa.timestamp("ns", "UTC")),
        "times": pa.array([datetime.time(6, 30), None, None, None]),
        "lists": [[1], [2], None, [3]],
        "nothing": pa.nulls(4),
        "y": ["no", "yes", "yes", "no"],
    }
    parquet.write_table(pa.table(columns), tmp_path / "t.parquet")
    table = prepare_table(tmp_path / "t.parquet")
    found = columns_of(table)
    assert found["integers"] == [3, 4, 5, 4]
    assert found["decimals"] == [1.5, 2, 2.5, 2]
    assert found["booleans"] == [1, 1, 0, 1]
    assert found["days"] == [1, 1, 1, 1]
    assert found["days is missing"] == [0, 1, 0, 1]
    assert found["moments"] == [2.5, 2.5, 2.5, 2.5]
    assert found["times"] == [6.5, 6.5, 6.5, 6.5]
    assert table.preparation is not None
    reasons = {column.name: column.reason for column in table.preparation.left_out}
    assert reasons == {"lists": "no single values", "nothing": "no values"}


def test_dictionaries_with_nulls_are_categories(tmp_path: Path) -> None:
    values = pa.array(["u", None, "v", "u", "w"] * 5).dictionary_encode()
    parquet.write_table(pa.table({"a": values, "y": [0, 1, 1, 0, 0] * 5}), tmp_path / "t.parquet")
    found = columns_of(prepare_table(tmp_path / "t.parquet"))
    assert list(found) == ["a is missing", "a=u", "a=v", "a=w"]
    assert found["a=u"] == [1, 0, 0, 1, 0] * 5


def test_a_column_that_changes_its_kind_between_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("thresher.table_files.delimited.BLOCK", 200)
    numbers = [f"{i % 10}.5" for i in range(300)]
    numbers[250], numbers[280] = "unknown", ""
    lines = [f"{a},c{i % 3},{i % 2}" for i, a in enumerate(numbers)]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,y", *lines]))
    table = prepare_table(tmp_path / "t.csv")
    found = columns_of(table)
    assert list(found) == ["a", "a is missing", "b=c0", "b=c1", "b=c2"]
    assert found["a"][:3] == [0.5, 1.5, 2.5]
    assert [i for i, gap in enumerate(found["a is missing"]) if gap] == [250, 280]
    assert (table.filled.missing, table.filled.stray) == ({"a": 1}, {"a": 1})


def test_columns_without_a_name_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(",a,y,\n0,1,p,\n1,5,n,\n")
    table = prepare_table(tmp_path / "t.csv")
    assert (table.feature_names, table.label_name) == (["a"], "y")
    assert table.preparation is not None
    assert [column.name for column in table.preparation.left_out] == ["(no name)"]


def test_a_column_that_training_used_must_be_there_and_hold_single_values(tmp_path: Path) -> None:
    preparation = TablePreparation((Numbers("a", "numbers", 0, 0, 5.0),))
    options: dict[str, Any] = {"preparation": preparation, "with_labels": False}
    (tmp_path / "t.csv").write_text("b\n1\n")
    with pytest.raises(UnreadableTable, match="lacks 1 of 1 required column: 'a'"):
        prepare_table(tmp_path / "t.csv", **options)
    parquet.write_table(pa.table({"a": [[1], [2]]}), tmp_path / "t.parquet")
    with pytest.raises(UnreadableTable, match="lists or other nested values: 'a'"):
        prepare_table(tmp_path / "t.parquet", **options)


@pytest.mark.parametrize(("n_texts", "is_refused"), [(9, False), (10, False), (11, True)])
def test_a_column_of_mostly_other_cells_is_not_the_column_of_training(
    n_texts: int, is_refused: bool, tmp_path: Path
) -> None:
    preparation = TablePreparation((Numbers("a", "numbers", 0, 0, 5.0),))
    (tmp_path / "t.csv").write_text("a\n" + n_texts * "x\n" + 10 * "1\n" + 50 * "NA\n")
    options: dict[str, Any] = {"preparation": preparation, "with_labels": False}
    if is_refused:
        with pytest.raises(UnreadableTable, match="11 of 21 cells in column 'a' that are not"):
            prepare_table(tmp_path / "t.csv", **options)
    else:
        table = prepare_table(tmp_path / "t.csv", **options)
        assert table.filled.stray == {"a": n_texts}


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet", "t.feather", "t.npz"])
def test_standard_input_is_read_in_the_format_of_its_first_bytes(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    WRITERS[name](tmp_path / name)
    content = (tmp_path / name).read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    np.testing.assert_array_equal(prepare_table("-").X, dense(read_table(tmp_path / name).X))


def test_errors_about_standard_input_name_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for content, reason in (
        (b"", "standard input is empty"),
        (gzip.compress(b"a,y\n1,p\n")[:9], "standard input is damaged"),
        (b"a,y\n1,p\n2,p\n", "standard input has 1 distinct label"),
    ):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        with pytest.raises(UnreadableTable, match=reason):
            prepare_table("-")
