"""A damaged journal is refused, and its repair saves every valid vote."""

from __future__ import annotations

from pathlib import Path

import pytest

from label_sessions.pools import X, answer, bits, make
from thresher import LabelSession
from thresher.errors import DamagedFile, DamagedJournal, SessionInUse
from thresher.label_sessions.opening import read_folder
from thresher.label_sessions.repair import repair


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The journal of a session with votes, a skip, a note and a retraction."""
    folder = tmp_path_factory.mktemp("written") / "s"
    with make(folder) as session:
        answer(session, 6)
        session.skip("ann", session.next_question("ann").row_id, request_id="skip")
        session.note("ann", "doubtful", request_id="note")
        answer(session, 2)
        session.retract("ann", request_id="undo")
    return (folder / "journal.txt").read_bytes()


def folder_with(tmp_path: Path, content: bytes) -> Path:
    folder = tmp_path / "s"
    make(folder).close()
    (folder / "journal.txt").write_bytes(content)
    return folder


def damaged(line: bytes) -> bytes:
    return line[:-10] + b"?" + line[-9:]


def votes_in(content: bytes) -> int:
    return content.count(b'"event":"vote"')


def test_a_sound_journal_is_left_alone(tmp_path: Path, written: bytes) -> None:
    folder = folder_with(tmp_path, written)
    done = repair(folder)
    assert (done.dropped, done.backup) == ([], None)
    assert str(done).startswith("Nothing to repair: all ")
    assert (folder / "journal.txt").read_bytes() == written
    assert not list(folder.glob("*.damaged"))


def test_every_line_can_be_the_damaged_one(tmp_path: Path, written: bytes) -> None:
    lines = written.splitlines(keepends=True)
    folder = folder_with(tmp_path, written)
    (folder / "journal.txt").write_bytes(written)
    state, n_votes = read_folder(folder), votes_in(written)
    for place, line in enumerate(lines):
        content = b"".join([*lines[:place], damaged(line), *lines[place + 1 :]])
        (folder / "journal.txt").write_bytes(content)
        with pytest.raises(DamagedJournal, match=f"line {place + 1},"):
            read_folder(folder)
        done = repair(folder)
        assert done.dropped == [(place + 1, len(b"".join(lines[:place])))]
        assert f"Lost: line {place + 1} " in str(done)
        assert done.backup is not None and done.backup.read_bytes() == content
        repaired = read_folder(folder)
        assert votes_in((folder / "journal.txt").read_bytes()) == n_votes - votes_in(line)
        assert repaired.header == state.header
        kept = {row: by for row, by in repaired.votes.items() if by}
        expected = {row: by for row, by in state.votes.items() if by}
        lost = b'"event":"vote"' in line
        assert (
            len(kept.keys() ^ expected.keys()) <= 1
            if lost or b"retract" in line
            else (kept == expected)
        )
    assert len(list(folder.glob("*.damaged"))) == len(lines)


@pytest.mark.parametrize("byte", [b"\x0b", b"\x8a", b" "])
def test_lines_whose_newline_is_damaged_are_both_saved(tmp_path, written, byte) -> None:
    place = written.index(b"\n", len(written) // 2)
    folder = folder_with(tmp_path, written[:place] + byte + written[place + 1 :])
    done = repair(folder)
    assert done.dropped == []
    assert done.backup is not None
    assert votes_in((folder / "journal.txt").read_bytes()) == votes_in(written)


def test_a_torn_line_is_dropped(tmp_path: Path, written: bytes) -> None:
    folder = folder_with(tmp_path, written + b"0badf00d 1")
    assert repair(folder).dropped == [(written.count(b"\n") + 1, len(written))]
    assert votes_in((folder / "journal.txt").read_bytes()) == votes_in(written)


def test_a_line_whose_end_alone_reached_the_disk_is_dropped(tmp_path: Path, written: bytes) -> None:
    *lines, last = written.splitlines(keepends=True)
    half = len(last) // 2
    folder = folder_with(tmp_path, b"".join(lines) + b"\0" * half + last[half:])
    with pytest.raises(DamagedJournal, match=f"line {len(lines) + 1},"):
        read_folder(folder)
    assert repair(folder).dropped == [(len(lines) + 1, len(b"".join(lines)))]
    assert votes_in((folder / "journal.txt").read_bytes()) == votes_in(b"".join(lines))


def test_lines_in_another_order_or_twice_are_saved_once(tmp_path: Path, written: bytes) -> None:
    lines = written.splitlines(keepends=True)
    folder = folder_with(tmp_path, b"".join([*lines, *lines[::-1]]))
    assert repair(folder).dropped == []
    assert votes_in((folder / "journal.txt").read_bytes()) == votes_in(written)


def test_a_repaired_session_goes_on_with_the_same_model(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    with make(folder) as session:
        answer(session, 20)
        before = bits(session)
    content = (folder / "journal.txt").read_bytes()
    lines = content.splitlines(keepends=True)
    place = next(i for i, line in enumerate(lines) if b'"event":"ask"' in line)
    lines[place] = damaged(lines[place])
    (folder / "journal.txt").write_bytes(b"".join(lines))
    repair(folder)
    with LabelSession.open(folder, X) as session:
        assert bits(session) == before
        rows = answer(session, 3)
        assert not set(rows) & {row for row in session._state.labels if row not in rows}
        assert session._state.notes[0].text.startswith("repaired: 1 line lost")


def test_without_any_header_nothing_is_changed(tmp_path: Path, written: bytes) -> None:
    lines = written.splitlines(keepends=True)
    content = b"".join([*map(damaged, lines[:2]), *lines[2:]])
    folder = folder_with(tmp_path, content)
    with pytest.raises(DamagedFile, match="both lines of its header are damaged"):
        repair(folder)
    assert (folder / "journal.txt").read_bytes() == content


def test_an_open_session_is_not_repaired(tmp_path: Path) -> None:
    with make(tmp_path / "s"), pytest.raises(SessionInUse):
        repair(tmp_path / "s")


def test_a_repair_releases_the_session(tmp_path: Path, written: bytes) -> None:
    folder = folder_with(tmp_path, written + b"x")
    repair(folder)
    LabelSession.open(folder, X).close()


def test_events_that_make_no_sense_are_refused_and_dropped_by_a_repair(tmp_path: Path) -> None:
    from thresher.label_sessions.journal import lines_of, read_lines

    folder = tmp_path / "s"
    make(folder).close()
    path = folder / "journal.txt"
    events = read_lines(path.read_bytes()).events
    for strange in ({"event": "dance"}, {"event": "vote"}, {}):
        path.write_bytes(lines_of([*events, {**strange, "at": ""}]))
        with pytest.raises(DamagedFile, match="line 3: KeyError"):
            read_folder(folder)
        assert repair(folder).n_kept == 3
        assert read_folder(folder).n_lines == 3
