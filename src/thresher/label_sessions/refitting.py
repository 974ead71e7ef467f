"""Refits in the background: the next questions and the error, while people go on labeling."""

import threading
from collections.abc import Callable
from typing import Any

from thresher.errors import LearningStopped, ThresherError
from thresher.label_sessions.journal import Event
from thresher.label_sessions.learner import Snapshot

Record = Callable[[Event], None]  # writes an event to the journal, under the session's lock


class Refitter:
    """At most one refit at a time, in a thread of its own.

    Parameters
    ----------
    record : called with each event that a refit finds
    ids_of : the ids of the rows at these positions
    changed : notified when a refit has found something; its lock is the session's
    """

    def __init__(
        self, record: Record, ids_of: Callable[[Any], list[Any]], changed: threading.Condition
    ) -> None:
        self._record, self._ids_of, self._changed = record, ids_of, changed
        self._thread: threading.Thread | None = None
        self._error: Exception | None = None
        self.is_running = self.is_choosing = False

    def start(self, snapshot: Snapshot, *, with_questions: bool) -> None:
        """Begin a refit unless one is running; call it under the session's lock."""
        if self.is_running:
            return
        self.is_running, self.is_choosing = True, with_questions
        self._thread = threading.Thread(target=self._run, args=(snapshot,), daemon=True)
        self._thread.start()

    def _run(self, snapshot: Snapshot) -> None:
        try:
            reason = self._choose(snapshot) if self.is_choosing else snapshot.stop_reason()
            self._record(_model_event(snapshot, reason))
        except Exception as error:
            self._error = error
        finally:
            with self._changed:
                self.is_running = self.is_choosing = False
                self._changed.notify_all()

    def _choose(self, snapshot: Snapshot) -> str | None:
        """Record the next questions first: somebody may be waiting for them."""
        reason = snapshot.stop_reason()
        if reason is None:
            batch = snapshot.next_batch()
            if batch.rows:
                rows, is_random = self._ids_of(list(batch.rows)), list(batch.is_random)
                event = {"rows": rows, "random": is_random, "reason": snapshot.reason}
                self._record({"event": "ask", **event})
            else:
                reason = "pool exhausted"
        with self._changed:
            self.is_choosing = False
            self._changed.notify_all()
        return reason

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
