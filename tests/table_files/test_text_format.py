"""Separators, decimal signs and encodings, recognized or given."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from thresher.errors import UnreadableTable
from thresher.table_files import TextFormat, prepare_table, read_table
from thresher.table_files.text_format import recognized

USUAL = TextFormat(",", ".", "utf-8")
LONG = "".join(f"{i},{'x' * 900},p\n" for i in range(1500))
FORMATS: dict[str, tuple[str | bytes, TextFormat]] = {
    "usual": ("a,y\n1.5,p\n", USUAL),
    "semicolons": ("a;y\n1.5;p\n", TextFormat(";", ".", "utf-8")),
    "decimal commas": ("a;y\n1,5;p\n", TextFormat(";", ",", "utf-8")),
    "thousands": ("a;y\n1.234,5;p\n", TextFormat(";", ",", "utf-8")),
    "thousands only": ("a;y\n1.234;p\n", TextFormat(";", ".", "utf-8")),
    "quoted decimal commas": ('a,y\n"1,5",p\n"2,5",n\n', TextFormat(",", ",", "utf-8")),
    "quoted thousands": ('a,y\n"1,500",p\n"2,500",n\n', USUAL),
    "three decimals": ("a;y\n0,126;p\n1,234;n\n", TextFormat(";", ",", "utf-8")),
    "a line that names it": ("sep=;\na, b;y\n1,5;p\n", TextFormat(";", ",", "utf-8")),
    "a tab in that line": ("\ufeffsep=\t\r\na\ty\r\n1\tp\r\n", TextFormat("\t", ".", "utf-8")),
    "tabs": ("a\ty\n1\tp\n", TextFormat("\t", ".", "utf-8")),
    "pipes": ("a|b|y\n1|2,5|p\n", TextFormat("|", ",", "utf-8")),
    "commas in names": ("a, b;y\n1;p\n2;n\n", TextFormat(";", ".", "utf-8")),
    "semicolons in cells": ("a,y\nu;v,p\n;,n\n", USUAL),
    "ragged": ("a;b;y\n1;2;p\n3;n\n", TextFormat(";", ".", "utf-8")),
    "one column": ("y\np\n", USUAL),
    "dates with dots": ("d;y\n1.2.2024;p\n", TextFormat(";", ".", "utf-8")),
    "carriage returns": ("a;y\r1,5;p\r", TextFormat(";", ",", "utf-8")),
    "line breaks in cells": ('a;y\n"1;\n2,5";p\n3;n\n', TextFormat(";", ".", "utf-8")),
    "latin-1": ("grö,y\n1,p\n".encode("latin-1"), TextFormat(",", ".", "cp1252")),
    "beyond Windows": (b"a\x81,y\n1,p\n", TextFormat(",", ".", "latin-1")),
    "latin-1 at the end": ((LONG + "é,y,n\n").encode("latin-1"), TextFormat(",", ".", "cp1252")),
    "half a character": ("a,y\n1,é".encode()[:-1], TextFormat(",", ".", "cp1252")),
    "utf-16": ("a;y\n1,5;é\n".encode("utf-16"), TextFormat(";", ",", "utf-16")),
    "a mark": ("\ufeffa;y\n1,5;p\n".encode(), TextFormat(";", ",", "utf-8")),
    "no text": (b"\xff\0\x81" * 9, USUAL),
    "nothing": ("", USUAL),
}


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_is_recognized(name: str, tmp_path: Path) -> None:
    content, expected = FORMATS[name]
    data = content if isinstance(content, bytes) else content.encode()
    (tmp_path / "t.csv").write_bytes(data)
    assert recognized(tmp_path / "t.csv", TextFormat(), ",") == expected
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(data))
    assert recognized(tmp_path / "t.csv.gz", TextFormat(), ",") == expected


def test_a_line_that_names_the_separator_is_not_part_of_the_table(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("sep=;\na;y\n1,5;p\n;n\n2,5;p\n")
    table = prepare_table(tmp_path / "t.csv")
    assert table.feature_names == ["a", "a is missing"]
    assert table.X[:, 0].tolist() == [1.5, 2.0, 2.5]
    (tmp_path / "t.csv").write_text("sep=;\na;y\n1,5;p\n1;2;n\n")
    with pytest.raises(UnreadableTable, match="has 3 cells on line 4 but 2 columns"):
        prepare_table(tmp_path / "t.csv")


def test_what_is_given_is_not_recognized(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a;y\n1,5;p\n")
    given = TextFormat("|", ".", "latin-1")
    assert recognized(tmp_path / "t.csv", given, ",") == given


@pytest.mark.parametrize("encoding", ["cp1252", "utf-8", "utf-16"])
def test_cells_and_messages_are_in_the_given_encoding(encoding: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes("größe;y\n1,5;ä\n2.000,25;ö\n".encode(encoding))
    form = TextFormat(";", ",", encoding)
    for read in (read_table, prepare_table):
        table = read(tmp_path / "t.csv", text_format=form)
        np.testing.assert_array_equal(table.X, [[1.5], [2000.25]])
        assert (table.feature_names, list(table.y)) == (["größe"], ["ä", "ö"])
    (tmp_path / "t.csv").write_bytes("größe;y\n1;ä\nx;ö\n".encode(encoding))
    with pytest.raises(UnreadableTable, match=r"'x' in column 'größe', row 1 \(line 3\)"):
        read_table(tmp_path / "t.csv", text_format=form)


def test_ids_keep_their_points(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id;a;y\n1.000;1,5;p\n2.000;2,5;n\n")
    table = prepare_table(tmp_path / "t.csv", id_column="id")
    assert table.ids.tolist() == ["1.000", "2.000"]
    np.testing.assert_array_equal(table.X, [[1.5], [2.5]])


def test_an_encoding_that_does_not_fit_is_refused_with_the_line(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes("a,y\n1,p\n2,ä\n".encode())
    with pytest.raises(UnreadableTable, match="is not ascii: line 3 has the byte 0xc3"):
        prepare_table(tmp_path / "t.csv", text_format=TextFormat(encoding="ascii"))


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"separator": ";;"}, "separator must be one character, got ';;'"),
        ({"separator": ""}, "separator must be one character"),
        ({"decimal": "'"}, "decimal must be '.' or ','"),
        ({"encoding": "klingon"}, "unknown encoding 'klingon'"),
        ({"encoding": "hex"}, "unknown encoding 'hex'"),
        ({"encoding": "a\0b"}, "unknown encoding"),
    ],
)
def test_a_format_that_no_file_has_is_refused(options: dict[str, str], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        TextFormat(**options)
