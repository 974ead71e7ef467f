"""Nothing acknowledged is lost when the power fails, the disk fills up, or a sync fails.

Every operation on the disk is a place where the power can fail, and every state that the disk can
then be in is tried. The same search finds the loss in six broken variants, so it can fail.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

import pytest

from label_sessions.simulated_disk import PowerCut, SimulatedDisk, SimulatedFile
from thresher.errors import DamagedJournal, NotSaved, SessionStopped
from thresher.label_sessions import journal as module
from thresher.label_sessions.journal import Journal, read_lines, write_new

PATH = Path("/s/journal.txt")
N_EVENTS = 3


class Lost(AssertionError):
    """An acknowledged event is gone, or the journal cannot be read."""


def event(number: int) -> dict[str, object]:
    return {"event": "vote", "row": number, "label": "spam\n\u2028é"}


def write_some(disk: SimulatedDisk, known: list[object]) -> None:
    """A session: created, written, opened again, and written. Appends to `known` what is saved."""
    write_new(PATH, [event(0)], disk)
    known.append(event(0))
    for start in (1, 1 + N_EVENTS):
        journal = Journal(PATH, disk)
        for number in range(start, start + N_EVENTS):
            journal.append(event(number))
            known.append(event(number))
        journal.close()


def check(disk: SimulatedDisk, known: list[object]) -> None:
    """What was acknowledged is there, in order, and the journal can be continued."""
    if PATH not in disk.names and not known:
        return
    try:
        found = Journal(PATH, disk)
        events = found.reading.events
        found.append(event(99))
        again = read_lines(disk.read(PATH)).events
    except (FileNotFoundError, DamagedJournal) as error:
        raise Lost(str(error)) from error
    if events[: len(known)] != known or again != [*events, event(99)]:
        raise Lost(f"{len(known)} events were acknowledged, {len(events)} are there")


def search(
    disk_type: type[SimulatedDisk] = SimulatedDisk,
    write: Callable[[SimulatedDisk, list[object]], None] = write_some,
) -> int:
    """Cut the power before every operation, and look at every disk that can be found then."""
    n_cases = 0
    whole = disk_type()
    write(whole, [])
    for cut_at in range(1, whole.n_steps + 2):
        disk, known = disk_type(cut_at=cut_at), []
        with contextlib.suppress(PowerCut):
            write(disk, known)
        for remains in disk.after_power_cuts():
            check(remains, known)
            n_cases += 1
    return n_cases


def test_nothing_acknowledged_is_lost_wherever_the_power_fails() -> None:
    assert search() > 100


def test_a_second_power_cut_while_the_torn_line_is_set_aside_loses_nothing() -> None:
    first, known = SimulatedDisk(), []
    write_some(first, known)
    first.names[PATH].synced += b"12345678 torn"

    def recover(disk: SimulatedDisk, acknowledged: list[object]) -> None:
        disk.names = {PATH: type(first.names[PATH])(first.names[PATH].content)}
        disk.synced_names = dict(disk.names)
        acknowledged += known
        Journal(PATH, disk).append(event(7))
        acknowledged.append(event(7))

    assert search(write=recover) > 10


# -- variants that lose something ------------------------------------------------------------------


class FileWithoutSync(SimulatedFile):
    def sync(self) -> None:
        self._disk.step()


class DiskWithoutSync(SimulatedDisk):
    file_type = FileWithoutSync


class DiskWithoutFolderSync(SimulatedDisk):
    def sync_folder(self, folder: Path) -> None:  # noqa: ARG002
        self.step()


def acknowledge_first(disk: SimulatedDisk, known: list[object]) -> None:
    write_new(PATH, [event(0)], disk)
    known.append(event(0))
    journal = Journal(PATH, disk)
    known.append(event(1))
    journal.append(event(1))


def acknowledge_before_creation(disk: SimulatedDisk, known: list[object]) -> None:
    known.append(event(0))
    write_new(PATH, [event(0)], disk)


def test_a_journal_that_does_not_sync_is_caught() -> None:
    with pytest.raises(Lost):
        search(DiskWithoutSync)


def test_a_journal_whose_folder_is_not_synced_is_caught() -> None:
    with pytest.raises(Lost):
        search(DiskWithoutFolderSync)


@pytest.mark.parametrize("write", [acknowledge_first, acknowledge_before_creation])
def test_an_acknowledgement_before_the_write_is_caught(write) -> None:
    with pytest.raises(Lost):
        search(write=write)


def test_a_sync_before_the_write_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    class Hasty(Journal):
        def append(self, one):
            self._file.sync()
            line = module.line_of(one, self._end.chain)
            self._file.write(line)
            self._end = self._end.after(line)

    monkeypatch.setitem(globals(), "Journal", Hasty)
    with pytest.raises(Lost):
        search()


def test_lines_after_a_torn_one_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SimulatedFile, "truncate", lambda *_: None)
    with pytest.raises(Lost):
        search()


# -- a full disk, and a disk that fails ------------------------------------------------------------


def test_a_full_disk_refuses_the_answer_and_nothing_else_at_every_length() -> None:
    disk = SimulatedDisk()
    write_new(PATH, [event(0)], disk)
    length = len(disk.read(PATH))
    for room in range(length + 20):
        disk = SimulatedDisk()
        write_new(PATH, [event(0)], disk)
        journal, disk.room = Journal(PATH, disk), room
        try:
            journal.append(event(1))
            known = [event(0), event(1)]
        except NotSaved as error:
            assert "No space left" in str(error) and "1 journal lines" in str(error)
            known = [event(0)]
        disk.room = None
        assert journal.append(event(2)) == len(known) + 1
        assert read_lines(disk.read(PATH)).events == [*known, event(2)]


def test_a_failed_sync_stops_the_journal_and_says_what_is_safe() -> None:
    disk = SimulatedDisk()
    write_new(PATH, [event(0)], disk)
    journal = Journal(PATH, disk)
    journal.append(event(1))
    disk.sync_fails = True
    with pytest.raises(SessionStopped, match=r"The first 2 lines of /s/journal\.txt are safe"):
        journal.append(event(2))
    disk.sync_fails = False  # that it works again is not to be trusted
    with pytest.raises(SessionStopped, match="Input/output error"):
        journal.append(event(3))
    for remains in disk.after_power_cuts():
        check(remains, [event(0), event(1)])
    check(disk, [event(0), event(1)])


def test_a_full_disk_whose_repair_fails_stops_the_journal() -> None:
    disk = SimulatedDisk()
    write_new(PATH, [event(0)], disk)
    journal, disk.room, disk.sync_fails = Journal(PATH, disk), 10, True
    with pytest.raises(SessionStopped, match="The first 1 lines"):
        journal.append(event(1))
    with pytest.raises(SessionStopped):
        journal.append(event(2))


def test_a_journal_that_cannot_be_truncated_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    disk = SimulatedDisk()
    write_new(PATH, [event(0)], disk)
    journal, disk.room = Journal(PATH, disk), 10

    def fail(*_: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(SimulatedFile, "truncate", fail)
    with pytest.raises(SessionStopped, match="Read-only"):
        journal.append(event(1))


@pytest.mark.parametrize("call", ["write", "sync"])
def test_an_interrupt_in_the_middle_leaves_a_journal_that_goes_on(call, monkeypatch) -> None:
    disk = SimulatedDisk()
    write_new(PATH, [event(0)], disk)
    journal = Journal(PATH, disk)
    works = getattr(SimulatedFile, call)

    def interrupt(file: SimulatedFile, *data: bytes) -> None:
        works(file, *(one[:-5] for one in data))
        raise KeyboardInterrupt

    monkeypatch.setattr(SimulatedFile, call, interrupt)
    with pytest.raises(KeyboardInterrupt):
        journal.append(event(1))
    monkeypatch.undo()
    assert journal.append(event(2)) == 2
    assert read_lines(disk.read(PATH)).events == [event(0), event(2)]
