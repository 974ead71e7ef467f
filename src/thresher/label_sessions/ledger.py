"""A journal and the state that its events make, kept equal; each request is recorded once."""

import uuid
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from thresher.errors import DamagedFile, LearningStopped
from thresher.label_sessions.checks import check_name
from thresher.label_sessions.disk import Disk
from thresher.label_sessions.journal import Event, Journal
from thresher.label_sessions.state import Receipt, SessionState
from thresher.wording import one_line, visible


class Ledger:
    """The journal of a session, open for writing, and what follows from it.

    Not safe for several threads by itself: the session has the lock.

    Attributes
    ----------
    state : after all events
    messages : what was noticed when the journal was opened
    """

    def __init__(self, path: Path, disk: Disk | None = None) -> None:
        self._journal = Journal(path, disk)
        try:
            self.state = state_of(self._journal.reading.events, path)
        except BaseException:
            self._journal.close()
            raise
        self.messages = _messages(self._journal)
        self._is_closed = False

    def record(self, event: Event) -> None:
        """Write an event with the time; when it is on the disk, let it take effect."""
        self.require_open()
        if self._journal.n_lines != self.state.n_lines:  # an interrupt came in between
            self.state = state_of(self._journal.read_again(), self._journal.path)
        stamped = {**event, "at": now()}
        self._journal.append(stamped)
        self.state.apply(stamped)

    def request(self, event: Event, request_id: str | None) -> Receipt:
        """Record an event, once for each request id; the receipt is the same every time.

        Raises
        ------
        ValueError : the request id was used for something else
        """
        request = uuid.uuid4().hex if request_id is None else check_name(request_id, "request_id")
        known = self.state.requests.get(request)
        if known is None:
            self.record({**event, "request": request})
        elif {**known, "at": None} != {**event, "request": request, "at": None}:
            raise ValueError(f"request_id {request!r} was used for something else")
        return self.state.receipts[request]

    def require_open(self) -> None:
        """Raise if the ledger is closed."""
        if self._is_closed:
            raise LearningStopped("the session is closed: open it again")

    def close(self) -> bool:
        """Close the journal; False if that was done before."""
        if self._is_closed:
            return False
        self._is_closed = True
        self._journal.close()
        return True


def state_of(events: Iterable[Event], path: Path) -> SessionState:
    """The state after the events of a journal.

    Raises
    ------
    DamagedFile : an event makes no sense: a later version wrote it, or somebody else
    """
    state = SessionState()
    for event in events:
        try:
            state.apply(event)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            reason = f"line {state.n_lines:,}: {type(error).__name__}: {one_line(error, 100)}"
            raise DamagedFile(str(path), reason) from error
    if not state.header:
        raise DamagedFile(str(path), "it has no header")
    return state


def now() -> str:
    """The time in UTC, as ISO 8601 has it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _messages(journal: Journal) -> tuple[str, ...]:
    if not (torn := journal.reading.torn):
        return ()
    return (
        f"the last line of {visible(journal.path)} was torn ({len(torn):,} bytes). It was never "
        "acknowledged; it is set aside in a file beside the journal",
    )
