"""A file is written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from thresher.files import inert, replacing, write_csv, write_text
from thresher.table_files import read_table


def test_the_new_content_takes_the_place_of_the_old(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("the old content, which is longer")
    write_text(path, "né\n")
    assert path.read_bytes() == b"n\xc3\xa9\n"
    assert list(tmp_path.iterdir()) == [path]


def test_until_the_block_ends_the_old_content_is_there(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("old")
    with replacing(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_text() == "old"
    assert path.read_text() == "new"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_keeps_the_old_content_and_leaves_no_part(
    tmp_path: Path, error: type[BaseException]
) -> None:
    path = tmp_path / "page.html"
    path.write_text("old")
    with pytest.raises(error), replacing(path) as file:
        file.write(b"half of the new")
        raise error
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_disk_that_cannot_sync_leaves_no_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space left"):
        write_text(tmp_path / "page.html", "new")
    assert not list(tmp_path.iterdir())


def test_a_text_that_has_no_bytes_touches_nothing(tmp_path: Path) -> None:
    with pytest.raises(UnicodeEncodeError):
        write_text(tmp_path / "page.html", "\ud800")
    assert not list(tmp_path.iterdir())


def test_a_folder_is_refused_and_kept(tmp_path: Path) -> None:
    folder = tmp_path / "page.html"
    folder.mkdir()
    with pytest.raises(OSError, match=r"page\.html"):
        write_text(folder, "new")
    assert list(tmp_path.iterdir()) == [folder]


def test_a_missing_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_text(tmp_path / "missing" / "page.html", "new")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with a name")
def test_a_pipe_is_written_and_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_text(path, "new")
        assert os.read(reader, 10) == b"new"
    finally:
        os.close(reader)
    assert path.is_fifo()


EXECUTED = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "＝1+1", "-", "+-1"]
HARMLESS = ["", "a=b", "-1.5", "+3", "1e-3", "-.5E+7", "' =1", "0"]


@pytest.mark.parametrize("text", EXECUTED)
def test_text_that_a_spreadsheet_would_execute_is_made_inert(text: str) -> None:
    assert inert(text) == f"'{text}"


@pytest.mark.parametrize("cell", [*HARMLESS, -1, -2.5, None])
def test_numbers_and_other_text_stay_as_they_are(cell: object) -> None:
    assert inert(cell) == cell


@pytest.mark.parametrize("raw_csv", [False, True])
def test_csv_is_read_back_as_written_or_with_the_apostrophe(tmp_path: Path, raw_csv: bool) -> None:
    ids = [text for text in (*EXECUTED, *HARMLESS[1:], "a\rb") if text == text.strip()]
    lines = [(name, i % 3, "yes" if i % 2 else "no") for i, name in enumerate(ids)]
    write_csv(tmp_path / "t.csv", ["id", "=a", "y"], lines, raw_csv=raw_csv)
    table = read_table(tmp_path / "t.csv", id_column="id")
    wanted = ids if raw_csv else [inert(name) for name in ids]
    assert table.ids.tolist() == wanted
    assert list(table.feature_names) == ["=a" if raw_csv else "'=a"]
