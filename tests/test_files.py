"""A file is written whole or not at all."""

import os
import resource
import stat
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from thresher.files import UNFINISHED, inert, other_than_file, replacing, write_csv, write_text
from thresher.table_files import read_table
from thresher.table_files.reading import READERS


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


# What lies beside the file


def test_a_part_file_of_the_user_is_neither_written_nor_removed(tmp_path: Path) -> None:
    path, part = tmp_path / "w.csv", tmp_path / "w.csv.part"
    part.write_text("mine")
    write_text(path, "new")
    with pytest.raises(KeyboardInterrupt), replacing(path) as file:
        file.write(b"half")
        raise KeyboardInterrupt
    assert (path.read_text(), part.read_text()) == ("new", "mine")


def test_a_link_beside_the_file_is_not_written_through(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("untouched")
    (tmp_path / "w.csv.part").symlink_to(victim)
    write_text(tmp_path / "w.csv", "new")
    assert victim.read_text() == "untouched"
    assert (tmp_path / "w.csv.part").is_symlink()


def test_an_unfinished_file_has_a_random_name_that_no_reader_takes(tmp_path: Path) -> None:
    names = set()
    for _ in range(2):
        with replacing(tmp_path / "w.csv"):
            names |= {path.name for path in tmp_path.iterdir()} - {"w.csv"}
    assert len(names) == 2
    for name in names:
        assert name.startswith(".thresher-")
        assert name.endswith(UNFINISHED)
        assert not name.endswith(tuple(READERS))


# Permissions and links


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444])
def test_the_permissions_of_an_existing_file_are_kept(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "model.json"
    path.write_text("old")
    path.chmod(mode)
    write_text(path, "new")
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_a_new_file_has_the_permissions_that_the_umask_leaves(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        write_text(tmp_path / "model.json", "new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "model.json").stat().st_mode) == 0o666 & ~umask


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_stays_a_link_to_the_new_content(tmp_path: Path, exists: bool) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    target, link = folder / "model.json", tmp_path / "model.json"
    if exists:
        target.write_text("old")
    link.symlink_to(target)
    write_text(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert list(folder.iterdir()) == [target]


def test_a_link_to_itself_is_refused(tmp_path: Path) -> None:
    link = tmp_path / "model.json"
    link.symlink_to(link)
    with pytest.raises(OSError, match=r"model\.json"):
        write_text(link, "new")
    assert list(tmp_path.iterdir()) == [link]


# Several writers


def test_of_several_writers_one_wins_with_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    contents = {str(digit) * 200_000 for digit in range(4)}

    def write(content: str) -> set[str]:
        seen = set()
        for _ in range(15):
            write_text(path, content)
            seen.add(path.read_text())
        return seen

    with ThreadPoolExecutor(4) as threads:
        seen = set().union(*threads.map(write, contents))
    assert seen <= contents
    assert list(tmp_path.iterdir()) == [path]


# A full disk


@contextmanager
def files_of_at_most(n_bytes: int) -> Iterator[None]:
    """Whatever this process writes, no file gets longer: the system refuses the rest."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


WRITERS: list[Callable[[Path], None]] = [
    lambda path: write_text(path, "new" * 10_000),
    lambda path: write_csv(path, ["id"], [(i,) for i in range(10_000)]),
]


@pytest.mark.parametrize("write", WRITERS, ids=["text", "csv"])
def test_a_full_disk_is_said_with_the_file_and_keeps_the_old_one(
    tmp_path: Path, write: Callable[[Path], None]
) -> None:
    path = tmp_path / "w.csv"
    path.write_text("old")
    with files_of_at_most(1000), pytest.raises(OSError, match=r"too large: '.*w\.csv'"):
        write(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_errors_about_other_files_keep_their_names(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="another"), replacing(tmp_path / "w.csv"):
        (tmp_path / "another").read_text()


# What is not a file


def test_folders_devices_and_pipes_are_not_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").touch()
    kinds = [other_than_file(tmp_path / name) for name in ("", "pipe", "file")]
    assert kinds == ["a folder", "a device or a pipe", None]
    assert other_than_file("/dev/zero") == "a device or a pipe"


# Spreadsheets


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
