"""A journal with damaged lines, made readable again: every valid vote is saved."""

import itertools
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thresher.errors import DamagedFile
from thresher.label_sessions.disk import Disk, SystemDisk, write_file
from thresher.label_sessions.journal import BadLine, Event, event_of, lines_of, write_new
from thresher.label_sessions.ledger import now
from thresher.label_sessions.opening import JOURNAL, locked, require_session
from thresher.label_sessions.state import UNSURE, SessionState
from thresher.wording import count

DAMAGED = ".damaged"
_LINE_START = re.compile(rb"[0-9a-f]{8} [0-9a-f]{32} \{")
_ABOUT_A_ROW = ("vote", "skip", "resolve")


@dataclass(frozen=True)
class Repaired:
    """What a repair did.

    Parameters
    ----------
    n_kept : events that are in the journal now
    dropped : line and byte of each piece that is not a valid line, in the damaged file
    backup : a copy of the damaged file; None if there was nothing to repair
    """

    n_kept: int
    dropped: list[tuple[int, int]]
    backup: Path | None

    def __str__(self) -> str:
        if self.backup is None:
            return f"Nothing to repair: all {count(self.n_kept, 'line')} are valid."
        places = ", ".join(f"line {line:,} (byte {byte:,})" for line, byte in self.dropped[:10])
        more = f" and {len(self.dropped) - 10:,} more" if len(self.dropped) > 10 else ""
        lost = f" Lost: {places}{more}." if places else ""
        return f"Saved {count(self.n_kept, 'event')}.{lost} The damaged file is {self.backup.name}."


def repair(folder: str | Path, disk: Disk | None = None) -> Repaired:
    """Write the journal of a session anew from its valid lines; the damaged one is kept beside it.

    A line is valid if its checksum is. Votes on rows whose question is lost get a question that
    does not count as random, so that the error estimate stays honest. Taking back a vote that is
    lost has no effect.

    Raises
    ------
    FileNotFoundError : there is no session in the folder
    SessionInUse : another process has it open
    DamagedFile : both headers are damaged
    """
    folder, disk = Path(folder), disk or SystemDisk()
    require_session(folder)
    with locked(folder) as lock:
        path = folder / JOURNAL
        content = disk.read(path)
        found = list(_pieces(content))
        dropped = [(line, byte) for line, byte, event in found if event is None]
        events = _sensible([event for _, _, event in found if event is not None], path)
        is_sound = not dropped and lines_of(events) == content
        backup = None if is_sound else _back_up(path, content, disk)
        if backup is not None:
            text = (
                f"repaired: {count(len(dropped), 'line')} lost; the damaged file is {backup.name}"
            )
            events.append({"event": "note", "annotator": "thresher", "text": text, "at": now()})
            write_new(path, events, disk)
        lock.release()
        return Repaired(len(events), dropped, backup)


def _pieces(content: bytes) -> Iterator[tuple[int, int, Event | None]]:
    """Line, byte and event of each piece of a journal; None for an event that is not valid."""
    byte = 0
    for line, piece in enumerate(content.split(b"\n"), start=1):
        if piece:
            starts = sorted({0, *(match.start() for match in _LINE_START.finditer(piece))})
            for start, stop in zip(starts, [*starts[1:], len(piece) + 1]):
                # Where a newline was damaged, another byte is in its place.
                yield line, byte + start, _event_in(piece[start : stop - 1])
        byte += len(piece) + 1


def _event_in(piece: bytes) -> Event | None:
    try:
        return event_of(piece, None)
    except BadLine:
        return None


def _sensible(events: list[Event], path: Path) -> list[Event]:
    """The events in an order that makes sense: a header first, a question before its answers."""
    header = next((event for event in events if event.get("event") == "header"), None)
    if header is None:
        raise DamagedFile(str(path), "both lines of its header are damaged")
    kept, state = [header, header], SessionState.of([header, header])
    others = [event for event in events if event.get("event") != "header"]
    for event in others:
        for one in _with_question(event, state):
            if _takes(state, one):
                kept.append(one)
    return kept


def _with_question(event: Event, state: SessionState) -> list[Event]:
    """The event, after a question if it answers one that is lost."""
    if event.get("request") in state.receipts:  # a line that is there twice
        return []
    row: Any = event.get("row")
    if event.get("event") not in _ABOUT_A_ROW or row is None or row in state.asked:
        return [event]
    ask = {"event": "ask", "rows": [row], "random": [False], "reason": UNSURE, "at": event["at"]}
    return [ask, event]


def _takes(state: SessionState, event: Event) -> bool:
    try:
        state.apply(event)
    except (KeyError, TypeError, ValueError, AttributeError):
        return False
    return True


def _back_up(path: Path, content: bytes, disk: Disk) -> Path:
    for number in itertools.count(1):
        backup = path.with_name(f"{path.name}.{number}{DAMAGED}")
        with suppress(FileExistsError):
            write_file(disk, backup, content)
            break
    return backup
