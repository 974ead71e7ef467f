"""The file of records: what a kill tears, what a hand damages, and who may write."""

from __future__ import annotations

import json
import os
import resource
from collections.abc import Callable
from pathlib import Path

import pytest

from thresher.errors import DamagedFile, ThresherError
from thresher.experiments.arena.run import RecordFile, read_records

RECORDS = [{"run": name, "status": "finished", "error": 0.125, "message": "ü"} for name in "abc"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file of three records."""
    path = tmp_path / "records.jsonl"
    with RecordFile(path) as file:
        for record in RECORDS:
            file.append(record)
    return path


def test_a_file_gives_back_its_records_in_order(path: Path) -> None:
    assert read_records(path) == RECORDS


def test_a_reopened_file_knows_what_is_in_it(path: Path) -> None:
    with RecordFile(path) as file:
        assert file.records == RECORDS


def test_a_record_can_be_read_as_soon_as_it_is_appended(path: Path) -> None:
    with RecordFile(path) as file:
        file.append({"run": "d", "status": "died"})
        assert read_records(path)[-1]["run"] == "d"


def test_a_last_line_cut_at_any_byte_is_cut_off_and_the_rest_is_kept(path: Path) -> None:
    content = path.read_bytes()
    whole = content.rstrip(b"\n").rfind(b"\n") + 1
    assert 0 < whole < len(content)
    for n_bytes in range(whole, len(content)):
        path.write_bytes(content[:n_bytes])
        assert read_records(path) == RECORDS[:2]
        with RecordFile(path) as file:
            assert file.records == RECORDS[:2]
            file.append(RECORDS[2])
        assert path.read_bytes() == content


@pytest.mark.parametrize(
    "damage",
    [
        b'{"run": "b", "sta',
        b"",
        b"null",
        b"[1, 2]",
        b'{"run": "b"}',
        b'{"status": "finished"}',
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"n": ' + b"9" * 5000 + b"}",
        b'{"run": ["b"], "status": "finished"}',
        b'{"run": null, "status": "finished"}',
        b'{"run": "b", "status": {}}',
        b'{"run": "b", "status": "finished", "learner": [1]}',
        b'{"run": "b", "status": "finished", "error": "small"}',
        b'{"run": "b", "status": "finished", "error": NaN}',
        b'{"run": "b", "status": "finished", "seed": true}',
        b'{"run": "b", "status": "finished", "n_labels": 1' + b"0" * 400 + b"}",
        b'{"run": "b", "status": "finished", "schedule.shrink": {"a": 1}}',
        b'{"run": "b", "status": "finished", "anything": []}',
    ],
    ids=[
        *("cut", "empty", "null", "list", "no status", "no run", "bytes", "deep", "long"),
        *("list as run", "null as run", "dict as status", "list as text", "text as number"),
        *("not a number", "truth as number", "huge", "dict as option", "list as anything"),
    ],
)
def test_a_damaged_line_is_named_and_the_file_is_left_alone(path: Path, damage: bytes) -> None:
    lines = path.read_bytes().split(b"\n")
    lines[1] = damage
    path.write_bytes(b"\n".join(lines) + b'{"run": "torn')
    before = path.read_bytes()
    with pytest.raises(DamagedFile, match=r"records\.jsonl.*line 2 is not"):
        RecordFile(path)
    with pytest.raises(DamagedFile, match=r"records\.jsonl.*line 2 is not"):
        read_records(path)
    assert path.read_bytes() == before


def test_a_wrong_value_is_named(path: Path) -> None:
    path.write_bytes(b'{"run": "b", "status": "finished", "error": "\\u001b[2J"}\n')
    with pytest.raises(DamagedFile, match=r"line 1 is not a record: 'error' is '\\x1b\[2J'"):
        read_records(path)


def test_half_of_a_surrogate_pair_becomes_an_escape(path: Path) -> None:
    with RecordFile(path) as file:
        file.append({"run": "d", "status": "died", "message": "\udcff.csv"})
    assert read_records(path)[-1]["message"] == "\\udcff.csv"


@pytest.mark.parametrize("open_file", [read_records, RecordFile])
def test_a_pipe_or_a_folder_is_refused_and_not_waited_for(
    tmp_path: Path, open_file: Callable[[Path], object]
) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name, words in {"pipe": "a device or a pipe", ".": "a folder"}.items():
        with pytest.raises(DamagedFile, match=words):
            open_file(tmp_path / name)


def test_on_a_full_disk_the_file_is_named_and_keeps_whole_lines(path: Path) -> None:
    before = path.read_bytes()
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    with RecordFile(path) as file:
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 10, limit[1]))
        try:
            with pytest.raises(OSError, match=r"too large: '.*records\.jsonl'"):
                file.append({"run": "d", "status": "died"})
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        assert path.read_bytes() == before
        file.append({"run": "e", "status": "died"})
    assert [record["run"] for record in read_records(path)] == ["a", "b", "c", "e"]


def test_after_a_refusal_the_file_can_be_opened_once_it_is_repaired(path: Path) -> None:
    good = path.read_bytes()
    path.write_bytes(b"damaged\n" + good)
    with pytest.raises(DamagedFile):
        RecordFile(path)
    path.write_bytes(good)
    with RecordFile(path) as file:
        assert file.records == RECORDS


def test_a_second_writer_is_refused_and_the_first_goes_on(path: Path) -> None:
    with RecordFile(path) as first:
        with pytest.raises(ThresherError, match=r"another run of the arena.*choose another"):
            RecordFile(path)
        first.append({"run": "d", "status": "died"})
    assert len(read_records(path)) == 4


def test_a_reader_is_not_kept_out_by_a_writer(path: Path) -> None:
    with RecordFile(path):
        assert read_records(path) == RECORDS


def test_a_record_that_is_no_json_is_refused_and_leaves_no_trace(path: Path) -> None:
    before = path.read_bytes()
    with RecordFile(path) as file:
        with pytest.raises(ValueError, match="Out of range"):
            file.append({"run": "d", "status": "finished", "error": float("nan")})
        assert file.records == RECORDS
    assert path.read_bytes() == before


def test_a_line_of_the_file_is_a_record_for_any_reader(path: Path) -> None:
    assert [json.loads(line) for line in path.read_text().splitlines()] == RECORDS
