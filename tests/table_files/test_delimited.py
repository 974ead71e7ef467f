"""CSV files: labels, ids, one-hot columns, and any table that can be written."""

from __future__ import annotations

import csv
import io
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from thresher.errors import UnreadableTable
from thresher.table_files import LabeledTable, prepare_table, read_table
from thresher.table_files.arrow_cells import Kind, look_at
from thresher.table_files.delimited import CsvFile, _look_like_data
from thresher.table_files.table import TableRequest

MAIL = "nr,words,from,urgent,spam\nm1,12,home,true,no\nm2,7,work,false,yes\nm3,7,home,True,no\n"


@pytest.fixture
def mail(tmp_path: Path) -> Path:
    path = tmp_path / "mail.csv"
    path.write_text(MAIL)
    return path


def test_one_hot_features_are_those_that_are_named(mail: Path) -> None:
    features = ["words", "from=home", "from=work", "urgent"]
    table = read_table(mail, id_column="nr", one_hot=True, features=features)
    assert table.feature_names == features
    np.testing.assert_array_equal(table.X, [[12, 1, 0, 1], [7, 0, 1, 0], [7, 1, 0, 1]])
    assert table.ids.tolist() == ["m1", "m2", "m3"]
    assert table.y is not None
    assert table.y.tolist() == ["no", "yes", "no"]


def test_prediction_uses_the_values_that_were_learned(mail: Path) -> None:
    wanted = ["from=sea", "from=work", "words"]
    table = read_table(mail, features=wanted, one_hot=True, with_labels=False)
    np.testing.assert_array_equal(table.X, [[0, 0, 12], [0, 1, 7], [0, 0, 7]])


def test_a_value_may_have_an_equals_sign_and_look_like_a_number(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a=b,c,y\nx=1,1,0\n2,1,1\n")
    features = ["a=b=2", "a=b=x=1", "c"]
    table = read_table(path, one_hot=True, features=features, with_labels=False)
    np.testing.assert_array_equal(table.X, [[0, 1, 1], [1, 0, 1]])


def test_the_label_may_be_any_column(mail: Path) -> None:
    table = prepare_table(mail, label="from", id_column="nr")
    assert table.label_name == "from"
    assert table.feature_names == ["words", "urgent", "spam"]


def test_a_label_that_is_not_read_is_no_feature_either(mail: Path) -> None:
    table = prepare_table(mail, label="spam", id_column="nr", with_labels=False)
    assert table.y is None
    assert "spam" not in table.feature_names


def test_labels_of_a_test_file_may_be_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,y\n1,yes\n2,yes\n")
    table = read_table(tmp_path / "t.csv", features=["a"])
    assert table.y is not None
    assert table.y.tolist() == ["yes", "yes"]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (["+1", "-1"], [1, -1]),
        ([" 0", "1 "], [0, 1]),
        (["0.0", "1"], [0.0, 1.0]),
        (["007", "7"], ["007", "7"]),
        (["true", "false"], ["true", "false"]),
        (["1", "inner, outer"], ["1", "inner, outer"]),
    ],
)
def test_labels_are_what_they_are_in_the_file(
    tmp_path: Path, written: list[str], read: list[Any]
) -> None:
    (tmp_path / "t.csv").write_text(f'a,y\n1,"{written[0]}"\n2,"{written[1]}"\n')
    table = read_table(tmp_path / "t.csv")
    assert table.y is not None
    assert table.y.tolist() == read
    assert type(table.y.tolist()[0]) is type(read[0])


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbfa,b\r\n1,p\r\n2,n\r\n",
        b"a,b\n1,p\n\n\n2,n",
        b"a,b\r1,p\r2,n\r",
        b'"a","b"\n"1","p"\n" 2 ","n"\n',
        b"a,b\n1e0,p\n+2.,n\n",
    ],
)
def test_the_same_table_in_other_spellings(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "t.csv").write_bytes(content)
    table = read_table(tmp_path / "t.csv")
    np.testing.assert_array_equal(table.X, [[1], [2]])
    assert table.feature_names == ["a"]


def test_columns_that_are_called_by_numbers_are_names(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("0,1\n5,1\n6,0\n")
    assert read_table(tmp_path / "t.csv").feature_names == ["0"]


def test_a_column_that_changes_its_kind_after_many_rows_is_read_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("thresher.table_files.delimited.BLOCK", 200)
    lines = [f"{i % 9},{i % 2}" for i in range(500)] + ["many,1"]
    (tmp_path / "t.csv").write_text("a,y\n" + "\n".join(lines) + "\n")
    features = [*(f"a={i}" for i in range(9)), "a=many"]
    table = read_table(tmp_path / "t.csv", one_hot=True, features=features)
    np.testing.assert_array_equal(table.X.sum(axis=1), np.ones(501))
    assert table.X[:, 3].sum() == len([i for i in range(500) if i % 9 == 3])


def test_rows_may_be_longer_than_a_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thresher.table_files.delimited.BLOCK", 100)
    names = ",".join(f"c{i}" for i in range(300))
    rows = "\n".join(",".join([str(i)] * 300) for i in range(2))
    (tmp_path / "t.csv").write_text(f"{names}\n{rows}\n")
    assert read_table(tmp_path / "t.csv").X.shape == (2, 299)


def test_the_place_of_a_row_is_its_number_and_its_line(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('a,b\n"x\ny",1\n\n2,3\n')
    file = CsvFile(path, TableRequest())
    assert (file.place(0), file.place(1)) == ("row 0 (line 2)", "row 1 (line 5)")
    assert file.place(99) == "row 99"


@pytest.mark.parametrize(
    ("cell", "kind"),
    [
        *((date, Kind.DATE) for date in ("2024-01-31", "31.1.2024", "2024/1/3 10:00", "10:30")),
        ("2024-01-31T10:00Z", Kind.DATE),
        *((text, Kind.TEXT) for text in ("3-4", "1.2.3", "home", "12:3", "1,5")),
        *((number, Kind.NUMBER) for number in ("31.1", "-1e-3", ".5", "+7")),
        *((truth, Kind.BOOLEAN) for truth in ("true", "FALSE")),
    ],
)
def test_dates_numbers_and_text_are_told_apart(cell: str, kind: Kind) -> None:
    assert look_at(pa.array([cell, None])).kind is kind


names = st.text(st.characters(codec="utf-8", exclude_characters="\0\r\n"), min_size=1, max_size=8)
numbers = st.floats(-1e99, 1e99)
texts = st.text("abcäß, \"'\n\t=;", min_size=1, max_size=6).map(lambda text: f"x{text}x")


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[str], list[list[float]], list[str]]:
    columns = draw(st.lists(names, min_size=2, max_size=5, unique=True))
    values = draw(st.lists(texts, min_size=2, max_size=2, unique=True))
    extra = draw(st.lists(st.sampled_from(values), max_size=6))
    labels = [*values, *extra]
    width = len(columns) - 1
    row = st.lists(numbers, min_size=width, max_size=width)
    return columns, [draw(row) for _ in labels], labels


def written(columns: list[str], rows: list[list[float]], labels: list[str]) -> str:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(columns)
    writer.writerows([*row, label] for row, label in zip(rows, labels))
    return text.getvalue()


def same(table: LabeledTable, rows: list[list[float]], labels: list[str]) -> bool:
    return np.array_equal(table.X, rows) and table.y is not None and table.y.tolist() == labels


@given(tables())
def test_what_is_written_is_read(content: tuple[list[str], list[list[float]], list[str]]) -> None:
    columns, rows, labels = content
    assume(not _look_like_data(columns))  # a file without names is refused
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "t.csv")
        path.write_text(written(columns, rows, labels), encoding="utf-8", newline="")
        table = read_table(path)
    assert table.feature_names == columns[:-1]
    assert same(table, rows, labels)


def test_another_table_is_not_the_same() -> None:
    table = LabeledTable(np.ones((1, 1)), np.array(["a"]), ["x"], np.array([1]), "y")
    assert same(table, [[1.0]], ["a"])
    assert not same(table, [[2.0]], ["a"])
    assert not same(table, [[1.0]], ["b"])


@pytest.mark.parametrize("cell", ["", " ", "NA", "N/A", "NaN", "nan", "null", "NULL", "None"])
def test_what_stands_for_nothing_is_missing(tmp_path: Path, cell: str) -> None:
    (tmp_path / "t.csv").write_text(f"a,b,y\n1,2,p\n{cell},3,n\n")
    with pytest.raises(UnreadableTable, match=r"missing values in 1 column: 'a' \(1\)"):
        read_table(tmp_path / "t.csv")
