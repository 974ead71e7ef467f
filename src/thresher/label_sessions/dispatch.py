"""The next row for an annotator, and refits that keep some rows ahead of everybody."""

import threading
import time

from thresher.label_sessions.features import columns_that_matter
from thresher.label_sessions.learner import Snapshot
from thresher.label_sessions.ledger import Ledger
from thresher.label_sessions.pool import SessionPool
from thresher.label_sessions.queue import Lease, Leases, Queue
from thresher.label_sessions.refitting import Refitter
from thresher.label_sessions.state import EXHAUSTED, SPENT, RowId
from thresher.labeling import ActiveClassifier


class Dispatcher:
    """Hands out rows; all methods are called under the lock of `changed`.

    A refit begins when few rows are left, with the labels of that moment. What is asked therefore
    depends on the answers and their order, not on how fast the machine is, as long as one annotator
    is at work.

    Parameters
    ----------
    ledger : of the session
    pool : of the session
    changed : notified whenever there may be a new row
    """

    def __init__(self, ledger: Ledger, pool: SessionPool, changed: threading.Condition) -> None:
        self._ledger, self._changed = ledger, changed
        self.leases = Leases(time.time)
        self.refitter = Refitter(self._record, changed)
        self.use(pool)
        if (snapshot := self.snapshot()).has_model:  # a session that goes on
            self.refitter.model = snapshot.answered.to_model()

    def use(self, pool: SessionPool) -> None:
        """Take rows from this pool from now on."""
        state = self._ledger.state
        noise_rate, seed = state.plan.noise_rate, state.header["seed"]
        self.pool = pool
        self._base = ActiveClassifier(pool.X, noise_rate=noise_rate, random_state=seed)

    def _record(self, event: dict[str, object]) -> None:
        with self._changed:
            self._ledger.record(event)
            self._changed.notify_all()

    def next_lease(self, annotator: str, *, wait: bool) -> Lease | None:
        """The row for an annotator; None if there is none, or none yet."""
        while True:
            self._ledger.require_open()
            self.refitter.raise_error()
            lease = self._lease(annotator)
            self.refit_if_needed(annotator)
            if lease is not None or not (wait and self.refitter.is_running):
                return lease
            self._changed.wait()

    def _lease(self, annotator: str) -> Lease | None:
        if self.stop_reason not in (None, EXHAUSTED):  # others may have skipped the last rows
            return None
        state, current = self._ledger.state, self.leases.of(annotator)
        rows = Queue.of(state, annotator, self.leases.live()).rows
        if not rows:
            return None
        row = current.row_id if current is not None and current.row_id in rows else rows[0]
        return self.leases.give(annotator, row, state.plan.lease_seconds)

    def go_back(self, annotator: str, row_id: RowId) -> None:
        """Give an annotator the row again whose answer was undone, unless the budget is spent."""
        self.leases.end(annotator)
        state = self._ledger.state
        queue = Queue.of(state, annotator, self.leases.live())
        if row_id in queue.begun or (row_id in queue.fresh and queue.n_may_begin > 0):
            self.leases.give(annotator, row_id, state.plan.lease_seconds)

    @property
    def stop_reason(self) -> str | None:
        """Why there are no more questions; None while there are."""
        state = self._ledger.state
        budget = state.plan.label_budget
        if budget is not None and len(state.paid - state.incomplete) >= budget:
            return SPENT
        if state.stop_reason == EXHAUSTED and not all(map(state.skips.get, state.incomplete)):
            return None
        return state.stop_reason

    def refit_if_needed(self, annotator: str) -> None:
        """Choose more rows when few are left for this annotator; estimate the error at the end."""
        state, reason = self._ledger.state, self.stop_reason
        is_at_end = reason is not None and state.n_judged != state.n_labels
        if reason is None and state.stop_reason != EXHAUSTED:
            leased = self.leases.live()
            n_others = sum(len(names) for names in leased.values()) - self.leases.has(annotator)
            n_ahead = max(state.plan.batch_size // 2, 1 + n_others)
            if Queue.of(state, annotator, leased).is_short(n_ahead):
                self.refitter.start(self.snapshot, with_questions=True)
        elif is_at_end:
            self.refitter.start(self.snapshot, with_questions=reason == EXHAUSTED)

    def columns_that_matter(self, row_id: RowId) -> tuple[str, ...]:
        """The columns to show first, by the model of the last refit."""
        return columns_that_matter(self.refitter.model, self.pool, self.pool.position(row_id))

    def snapshot(self) -> Snapshot:
        """The session as the learner sees it now."""
        return Snapshot.of(self._base, self.pool, self._ledger.state)
