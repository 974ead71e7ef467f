"""The lines of a journal: what is read back, what is torn, what is refused, and where."""

from __future__ import annotations

import hashlib
import json
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from label_sessions.simulated_disk import SimulatedDisk
from thresher.errors import DamagedJournal, NotSaved
from thresher.label_sessions.journal import (
    N_HEAD,
    START,
    BadLine,
    Journal,
    event_of,
    line_of,
    lines_of,
    read_lines,
    write_new,
)

N_LINES = 200


def events(n_events: int = N_LINES) -> list[dict[str, object]]:
    return [
        {
            "event": "vote",
            "annotator": f"ann{number % 8}",
            "row": 7919 * number,
            "label": "spam" if number % 3 else "häm\n",
        }
        for number in range(n_events)
    ]


CONTENT = lines_of(events())
STARTS = [0]
for _line in CONTENT.splitlines(keepends=True):
    STARTS.append(STARTS[-1] + len(_line))


LENGTHS = [*range(0, len(CONTENT), 1501), *range(len(CONTENT) - 5, len(CONTENT) + 1)]


def line_at(byte: int) -> int:
    """The number of the line, from 1, in which a byte is."""
    return next(number for number, start in enumerate(STARTS) if start > byte)


def check_truncated(length: int) -> None:
    """All lines that are whole are read, what follows is torn, and nothing is refused."""
    reading = read_lines(CONTENT[:length])
    is_whole = length + 1 in STARTS  # only the newline is missing
    n_whole = sum(start <= length for start in STARTS[1:]) + is_whole
    assert reading.events == events()[:n_whole]
    assert reading.lacks_newline == is_whole
    assert reading.torn == (b"" if is_whole else CONTENT[STARTS[n_whole] : length])
    assert reading.end.n_lines == n_whole


def check_flipped(byte: int, bit: int) -> None:
    """A flipped bit is refused, with the line and where it begins."""
    content = bytearray(CONTENT)
    content[byte] ^= 1 << bit
    with pytest.raises(DamagedJournal) as caught:
        read_lines(bytes(content))
    line = line_at(byte)
    assert (caught.value.line, caught.value.byte) == (line, STARTS[line - 1])


@pytest.mark.parametrize("length", LENGTHS)
def test_a_truncated_journal_gives_every_whole_line(length: int) -> None:
    check_truncated(length)


@pytest.mark.slow
def test_a_journal_truncated_anywhere_gives_every_whole_line() -> None:
    for length in range(len(CONTENT) + 1):
        check_truncated(length)


@pytest.mark.parametrize("bit", range(8))
def test_a_flipped_bit_is_refused_with_its_line_and_byte(bit: int) -> None:
    last = len(CONTENT) - 1
    for byte in (0, 7, 8, 9, N_HEAD - 1, N_HEAD, STARTS[1] - 1, STARTS[100] + 3 * bit, last):
        check_flipped(byte, bit)


@pytest.mark.slow
@pytest.mark.parametrize("bit", range(8))
def test_every_flipped_bit_is_refused_with_its_line_and_byte(bit: int) -> None:
    for byte in range(len(CONTENT)):
        check_flipped(byte, bit)


def test_events_come_back_as_they_were() -> None:
    reading = read_lines(CONTENT)
    assert (reading.events, reading.torn, reading.lacks_newline) == (events(), b"", False)
    assert (reading.end.n_lines, reading.end.n_bytes) == (N_LINES, len(CONTENT))


def test_a_line_is_what_the_document_says() -> None:
    line = line_of({"event": "note", "text": "\u00e9\n"}, START)
    crc, chain, content = line.rstrip(b"\n").split(b" ", 2)
    assert line.endswith(b"\n") and line.count(b"\n") == 1
    assert int(crc, 16) == zlib.crc32(chain + b" " + content)
    assert (len(crc), len(chain), len(line)) == (8, 32, N_HEAD + len(content) + 1)
    assert json.loads(content) == {"event": "note", "text": "\u00e9\n"}


def test_the_hash_of_a_line_is_what_the_document_says() -> None:
    before = "0" * 32
    for line in lines_of(events(4)).decode("ascii").splitlines():
        _, chain, content = line.split(" ", 2)
        assert chain == hashlib.sha256((before + content).encode()).hexdigest()[:32]
        before = chain


def test_the_chain_depends_on_every_line_before() -> None:
    one, other = lines_of(events(3)), lines_of([{"event": "note"}, *events(3)[1:]])
    assert one.splitlines()[2][9:41] != other.splitlines()[2][9:41]


def lines() -> list[bytes]:
    return lines_of(events(5)).splitlines(keepends=True)


@pytest.mark.parametrize(
    ("content", "line"),
    [
        pytest.param(lines()[1] + lines()[0], 1, id="swapped"),
        pytest.param(b"".join(lines()[:2] + lines()[3:]), 3, id="one removed"),
        pytest.param(b"".join([*lines()[:2], lines()[1], *lines()[2:]]), 3, id="one repeated"),
        pytest.param(b"".join(lines()[1:]), 1, id="the first removed"),
        pytest.param(lines()[0] + b"\n" + lines()[1], 2, id="an empty line"),
        pytest.param(b"\n" + lines()[0], 1, id="an empty first line"),
        pytest.param(lines()[0] + b"hello\n", 2, id="a line of another kind"),
        pytest.param(lines()[0] + lines()[1].replace(b"\n", b"\r\n"), 2, id="other line ends"),
        pytest.param(lines()[0] + lines()[1].upper(), 2, id="upper case"),
        pytest.param(lines()[0] + lines()[2].rstrip(b"\n"), 2, id="another last line"),
        pytest.param(lines()[0] + lines()[1].rstrip(b"\n") + b" ", 2, id="a blank for a newline"),
    ],
)
def test_a_journal_that_was_edited_is_refused(content: bytes, line: int) -> None:
    with pytest.raises(DamagedJournal) as caught:
        read_lines(content, "s/journal.txt")
    assert (caught.value.line, caught.value.byte) == (line, len(b"".join(lines()[: line - 1])))
    assert f"line {line}, byte {caught.value.byte:,}" in str(caught.value)
    assert "s/journal.txt" in str(caught.value)


def with_crc(rest: bytes) -> bytes:
    return b"%08x " % zlib.crc32(rest) + rest


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"", "the checksum does not match"),
        (b"0" * N_HEAD, "the checksum does not match"),
        (with_crc(START + b" "), "the checksum does not match"),
        (with_crc(START + b"_{}"), "it is not a line of a journal"),
        (with_crc(START + b" {}").replace(b" ", b"_", 1), "it is not a line of a journal"),
        (with_crc(START + b" {}"), "it does not follow the line before"),
    ],
)
def test_a_line_that_was_not_written_is_refused(line: bytes, reason: str) -> None:
    with pytest.raises(BadLine, match=f"^{reason}$"):
        event_of(line, START)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"{", "it is not valid JSON"),
        (b"\xff", "it is not valid JSON"),
        (b"[" * 100_000, "it is not valid JSON"),
        (b"[]", "it is not an event"),
    ],
)
def test_a_line_without_an_event_is_refused(content: bytes, reason: str) -> None:
    with pytest.raises(BadLine, match=f"^{reason}$"):
        event_of(with_crc(START + b" " + content), None)


def test_what_json_cannot_hold_is_not_written() -> None:
    disk = SimulatedDisk()
    write_new(Path("/j"), events(1), disk)
    journal = Journal(Path("/j"), disk)
    with pytest.raises(ValueError, match="not JSON compliant"):
        journal.append({"event": "note", "value": float("nan")})
    assert journal.append(events(2)[1]) == 2
    assert read_lines(disk.read(Path("/j"))).events == events(2)


PIECES = st.one_of(
    st.binary(max_size=60),
    st.sampled_from([*lines(), b"\n", b" ", b"0" * 32, b"{}", b"\0" * 50]),
    st.builds(lambda line, n: line[:n], st.sampled_from(lines()), st.integers(0, 150)),
)


@given(st.lists(PIECES, max_size=8).map(b"".join))
def test_whatever_a_file_holds_it_is_read_or_refused(content: bytes) -> None:
    try:
        reading = read_lines(content)
    except DamagedJournal as error:
        good = content[: error.byte]
        assert read_lines(good).end.n_lines == error.line - 1
    else:
        whole = lines_of(reading.events)
        assert content == whole[: len(whole) - reading.lacks_newline] + reading.torn


# -- a journal that is open ------------------------------------------------------------------------


def opened(content: bytes) -> tuple[Journal, SimulatedDisk]:
    disk = SimulatedDisk()
    disk.open(Path("/j"), is_new=True).write(content)
    return Journal(Path("/j"), disk), disk


def test_a_torn_line_is_set_aside_and_the_journal_goes_on() -> None:
    whole = lines_of(events(3))
    journal, disk = opened(whole + b"0badf00d 12")
    assert journal.append({"event": "note"}) == 4
    assert read_lines(disk.read(Path("/j"))).events == [*events(3), {"event": "note"}]
    (aside,) = (path for path in disk.names if path.name.endswith(".torn"))
    assert aside.name.startswith(f"j.{len(whole)}-")
    assert disk.names[aside].synced == b"0badf00d 12"


def test_a_missing_newline_is_added() -> None:
    journal, disk = opened(lines_of(events(3))[:-1])
    assert (journal.n_lines, journal.reading.events) == (3, events(3))
    assert disk.names[Path("/j")].synced == lines_of(events(3))
    assert journal.append({"event": "note"}) == 4
    assert read_lines(disk.read(Path("/j"))).end.n_lines == 4
    assert [*disk.names] == [Path("/j")]


def test_a_full_disk_after_a_missing_newline_leaves_the_newline() -> None:
    journal, disk = opened(lines_of(events(3))[:-1])
    disk.room = 5
    with pytest.raises(NotSaved, match="3 journal lines"):
        journal.append({"event": "note"})
    assert disk.read(Path("/j")) == lines_of(events(3))


def test_what_is_read_is_on_the_disk_before_it_is_used() -> None:
    content = lines_of(events(3))  # whose writer was killed between write and sync
    _, disk = opened(content)
    assert disk.names[Path("/j")].synced == content
    assert Path("/j") in disk.synced_names


def test_a_damaged_journal_is_not_changed() -> None:
    disk = SimulatedDisk()
    disk.open(Path("/j"), is_new=True).write(b"hello\n")
    with pytest.raises(DamagedJournal):
        Journal(Path("/j"), disk)
    assert ({path: node.content for path, node in disk.names.items()}) == {Path("/j"): b"hello\n"}


def test_a_line_takes_one_write_and_one_sync() -> None:
    journal, disk = opened(lines_of(events(2)))
    for room in (None, 0, None, None):  # also after a disk that was full
        before, disk.room = disk.n_steps, room
        if room is None:
            journal.append({"event": "note"})
            assert disk.n_steps == before + 2
        else:
            with pytest.raises(NotSaved):
                journal.append({"event": "note"})


def test_a_journal_is_closed_if_it_cannot_be_used() -> None:
    disk = SimulatedDisk()
    disk.open(Path("/j"), is_new=True).write(lines_of(events(2)))
    n_open, disk.sync_fails = disk.n_open, True
    with pytest.raises(OSError, match="Input/output"):
        Journal(Path("/j"), disk)
    assert disk.n_open == n_open
    disk.sync_fails = False
    Journal(Path("/j"), disk).close()
    assert disk.n_open == n_open


@pytest.mark.parametrize("place", range(3))
def test_a_line_that_is_not_an_event_is_refused_with_its_place(place: int) -> None:
    chain, content, starts = START, b"", []
    for number in range(3):
        starts.append(len(content))
        text = b"nonsense" if number == place else b"{}"
        chain = hashlib.sha256(chain + text).hexdigest()[:32].encode()
        content += with_crc(chain + b" " + text) + b"\n"
    with pytest.raises(DamagedJournal, match="it is not valid JSON") as caught:
        read_lines(content)
    assert (caught.value.line, caught.value.byte) == (place + 1, starts[place])


def test_the_events_on_the_disk_can_be_read_again() -> None:
    journal, _ = opened(lines_of(events(2)))
    journal.append({"event": "note"})
    assert journal.read_again() == [*events(2), {"event": "note"}]


def test_a_new_journal_replaces_an_old_one_at_once() -> None:
    disk = SimulatedDisk()
    write_new(Path("/j"), events(2), disk)
    write_new(Path("/j"), events(3), disk)
    assert disk.read(Path("/j")) == lines_of(events(3))
    assert [*disk.names] == [Path("/j")]


def test_a_real_file_is_written_line_by_line_and_closed(tmp_path: Path) -> None:
    from thresher.label_sessions.disk import SystemDisk

    path = tmp_path / "journal.txt"
    write_new(path, events(1), SystemDisk())
    journal = Journal(path)
    for number, event in enumerate(events(4)[1:], start=2):
        assert journal.append(event) == number
        assert path.read_bytes() == lines_of(events(number))
    journal.close()
    with pytest.raises(OSError, match="descriptor"):
        journal._file.sync()
    assert [one.name for one in tmp_path.iterdir()] == ["journal.txt"]
