"""Some rows of a file, as they stand in it."""

from __future__ import annotations

import gzip

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from thresher.table_files import copy_rows

KEPT = np.array([True, False, True])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a,y\n1.50,no\n2,yes\n 3,no\n", "a,y\n1.50,no\n 3,no\n"),
        ('a,y\n"x, ""y""",no\n2,yes\n\n"two\nlines",no\n', None),
        ("a;y\n1,5;no\n2,5;yes\n3,5;no\n", "a;y\n1,5;no\n3,5;no\n"),
        ("sep=;\na;y\n1;no\n2;yes\n3;no\n", "a;y\n1;no\n3;no\n"),
        ("a,y\r\n1,no\r\n2,yes\r\n3,no\r\n", "a,y\n1,no\n3,no\n"),
    ],
)
def test_cells_of_a_csv_file_stay_as_they_are(text, expected, tmp_path):
    path, out = tmp_path / "table.csv", tmp_path / "kept.csv"
    path.write_bytes(text.encode())
    copy_rows(path, KEPT, out)
    written = out.read_bytes().decode()
    assert written == (expected or 'a,y\n"x, ""y""",no\n"two\nlines",no\n')


def test_a_packed_file_in_another_encoding_is_written_in_utf_8(tmp_path):
    path, out = tmp_path / "table.csv.gz", tmp_path / "kept.csv"
    path.write_bytes(gzip.compress("größe,y\n1,no\n2,yes\n3,nö\n".encode("latin-1")))
    copy_rows(path, KEPT, out)
    assert out.read_text(encoding="utf-8") == "größe,y\n1,no\n3,nö\n"


def test_parquet_and_npz_become_csv(tmp_path):
    out = tmp_path / "kept.csv"
    parquet.write_table(
        pa.table({"a": [1, None, 3], "y": ["no", "yes", "no"]}), tmp_path / "t.parquet"
    )
    copy_rows(tmp_path / "t.parquet", KEPT, out)
    assert out.read_text() == "a,y\n1,no\n3,no\n"
    np.savez(tmp_path / "t.npz", X=np.array([[1.5], [2.0], [3.0]]), y=np.array([0, 1, 0]))
    copy_rows(tmp_path / "t.npz", KEPT, out)
    assert out.read_text().splitlines()[1:] == ["1.5,0", "3.0,0"]
