"""Refits in the background: the next questions and the error, while people go on labeling."""

import threading
from collections.abc import Callable

from thresher.errors import LearningStopped, ThresherError
from thresher.estimators.model import HalfspaceModel
from thresher.label_sessions.journal import Event
from thresher.label_sessions.learner import Snapshot
from thresher.label_sessions.state import EXHAUSTED

Record = Callable[[Event], None]  # writes an event to the journal, under the session's lock


class Refitter:
    """One refit at a time, in a thread of its own, and at most one that waits for it.

    Parameters
    ----------
    record : called with each event that a refit finds
    changed : notified when a refit has found something; its lock is the session's

    Attributes
    ----------
    is_running : whether a refit is running
    model : of the last refit, or None
    """

    def __init__(self, record: Record, changed: threading.Condition) -> None:
        self._record, self._changed = record, changed
        self._thread: threading.Thread | None = None
        self._next: tuple[Snapshot, bool] | None = None
        self._error: Exception | None = None
        self._is_choosing = False
        self.is_running = False
        self.model: HalfspaceModel | None = None

    def start(self, snapshot: Callable[[], Snapshot], *, with_questions: bool) -> None:
        """Refit with the labels of this moment, now or after a refit that is running.

        Nothing is done while questions are being chosen, or when a refit is waiting already. Call
        it under the session's lock.
        """
        if self._is_choosing or self._next is not None:
            return
        self._next = snapshot(), with_questions
        if not self.is_running:
            self.is_running = True
            self._thread = threading.Thread(target=self._run, daemon=True)
            self._thread.start()

    def _run(self) -> None:
        try:
            while (job := self._take()) is not None:
                self._refit(*job)
        except Exception as error:
            with self._changed:
                self._error, self._next = error, None
                self._take()

    def _take(self) -> tuple[Snapshot, bool] | None:
        """The next refit; without one, this thread has nothing more to do."""
        with self._changed:
            job, self._next = self._next, None
            self.is_running = job is not None
            self._is_choosing = job is not None and job[1]
            self._changed.notify_all()
            return job

    def _refit(self, snapshot: Snapshot, with_questions: bool) -> None:
        reason = snapshot.stop_reason()
        if with_questions and reason is None:  # these first: somebody may be waiting for them
            reason = self._ask(snapshot)
        with self._changed:
            self._is_choosing = False
        if snapshot.has_model:
            self.model = snapshot.answered.to_model()
        self._record(_model_event(snapshot, reason))

    def _ask(self, snapshot: Snapshot) -> str | None:
        """Record the next questions, or say that there are none."""
        rows, is_random = snapshot.next_rows()
        if not rows:
            return EXHAUSTED
        event = {"event": "ask", "rows": rows, "random": is_random, "reason": snapshot.reason}
        with self._changed:  # in one step, so that no vote in between asks for more
            self._record(event)
            self._is_choosing = False
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
