"""Refits in the background: the next questions and the error, while people go on labeling."""

import threading
from collections.abc import Callable

from thresher.errors import LearningStopped, ThresherError
from thresher.estimators.model import HalfspaceModel
from thresher.label_sessions.journal import Event
from thresher.label_sessions.learner import Snapshot

Record = Callable[[Event], None]  # writes an event to the journal, under the session's lock


class Refitter:
    """At most one refit at a time, in a thread of its own.

    Parameters
    ----------
    record : called with each event that a refit finds
    changed : notified when a refit has found something; its lock is the session's

    Attributes
    ----------
    model : of the last refit, or None
    """

    def __init__(self, record: Record, changed: threading.Condition) -> None:
        self._record, self._changed = record, changed
        self._thread: threading.Thread | None = None
        self._error: Exception | None = None
        self.is_running = False
        self.model: HalfspaceModel | None = None

    def start(self, snapshot: Snapshot, *, with_questions: bool) -> None:
        """Begin a refit unless one is running; call it under the session's lock."""
        if self.is_running:
            return
        self.is_running = True
        what = (snapshot, with_questions)
        self._thread = threading.Thread(target=self._run, args=what, daemon=True)
        self._thread.start()

    def _run(self, snapshot: Snapshot, with_questions: bool) -> None:
        try:
            reason = snapshot.stop_reason()
            if with_questions and reason is None:  # these first: somebody may be waiting for them
                reason = self._ask(snapshot)
            if snapshot.has_model:
                self.model = snapshot.answered.to_model()
            self._record(_model_event(snapshot, reason))
        except Exception as error:
            self._error = error
        finally:
            with self._changed:
                self.is_running = False
                self._changed.notify_all()

    def _ask(self, snapshot: Snapshot) -> str | None:
        """Record the next questions, or say that there are none."""
        rows, is_random = snapshot.next_rows()
        if not rows:
            return "pool exhausted"
        self._record({"event": "ask", "rows": rows, "random": is_random, "reason": snapshot.reason})
        return None

    def raise_error(self) -> None:
        """Raise what the last refit failed with, once."""
        error, self._error = self._error, None
        if isinstance(error, ThresherError):
            raise error
        if error is not None:
            raise LearningStopped(
                f"the model cannot be fitted: {error}. All votes are safe"
            ) from error

    def wait(self) -> None:
        """Wait until no refit is running."""
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()


def _model_event(snapshot: Snapshot, stop_reason: str | None) -> Event:
    error = snapshot.error()
    estimate = None if error is None or error.estimate != error.estimate else error.estimate
    return {
        "event": "model",
        "n_labels": snapshot.n_labels,
        "estimate": estimate,
        "low": None if error is None else error.low,
        "high": None if error is None else error.high,
        "stop_reason": stop_reason,
        "doubts": snapshot.doubts(),
    }
