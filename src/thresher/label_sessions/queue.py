"""Who gets which row: rows in the order of the questions, with leases that expire."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Self

from thresher.label_sessions.state import RowId, SessionState


@dataclass(frozen=True)
class Lease:
    """A row that an annotator has on the screen, until a time in seconds since 1970."""

    row_id: RowId
    until: float


@dataclass(eq=False)
class Leases:
    """The rows that are out. Leases are not recorded: they do not outlive the process.

    Parameters
    ----------
    clock : the time, in seconds since 1970
    """

    clock: Callable[[], float]
    by_annotator: dict[str, Lease] = field(default_factory=dict)

    def of(self, annotator: str) -> Lease | None:
        """The lease of an annotator, unless it has expired."""
        lease = self.by_annotator.get(annotator)
        return lease if lease is not None and lease.until > self.clock() else None

    def has(self, annotator: str) -> bool:
        """Whether an annotator has a row on the screen."""
        return self.of(annotator) is not None

    def give(self, annotator: str, row_id: RowId, seconds: float) -> Lease:
        """A new lease, in place of the annotator's last one."""
        lease = self.by_annotator[annotator] = Lease(row_id, self.clock() + seconds)
        return lease

    def end(self, annotator: str, row_id: RowId | None = None) -> None:
        """The annotator is done with this row, or with any; a lease of another row stays."""
        lease = self.by_annotator.get(annotator)
        if lease is not None and row_id in (None, lease.row_id):
            del self.by_annotator[annotator]

    def live(self) -> dict[RowId, list[str]]:
        """The rows that are out, and who has each."""
        now, found = self.clock(), dict[RowId, list[str]]()
        for annotator, lease in self.by_annotator.items():
            if lease.until > now:
                found.setdefault(lease.row_id, []).append(annotator)
        return found


@dataclass(frozen=True)
class Queue:
    """What one annotator can be asked about now.

    Parameters
    ----------
    begun : rows that somebody has voted on or has on the screen, and that need this annotator
    fresh : rows that were chosen, and that nobody was asked about, in the order of the questions
    n_may_begin : how many of the fresh rows the budget allows

    Examples
    --------
    >>> state = SessionState.of([
    ...     {"event": "header", "plan": {"label_budget": 1}, "at": ""},
    ...     {"event": "ask", "rows": [7, 9], "random": [True, True], "reason": "", "at": ""}])
    >>> Queue.of(state, "ann", leased={}).rows
    [7]
    >>> Queue.of(state, "bob", leased={7: ["ann"]}).rows
    []
    """

    begun: list[RowId]
    fresh: list[RowId]
    n_may_begin: int

    @classmethod
    def of(cls, state: SessionState, annotator: str, leased: Mapping[RowId, list[str]]) -> Self:
        """The queue of an annotator, with who has which row on the screen."""
        budget = state.plan.label_budget
        n_begun = len(state.paid) + len(leased.keys() - state.paid)
        n_may_begin = sys.maxsize if budget is None else max(budget - n_begun, 0)
        rows = state.in_order(state.incomplete)
        wanted = [row for row in rows if _is_wanted(state, annotator, row, leased)]
        is_begun = [row in state.paid or row in leased for row in wanted]
        begun = [row for row, begun in zip(wanted, is_begun) if begun]
        fresh = [row for row, begun in zip(wanted, is_begun) if not begun]
        return cls(begun, fresh, n_may_begin)

    @property
    def rows(self) -> list[RowId]:
        """The rows in the order of the questions: those that are begun are finished first."""
        return self.begun + self.fresh[: self.n_may_begin]

    def is_short(self, n_ahead: int) -> bool:
        """Whether fewer fresh rows are there than should be."""
        return len(self.fresh) < min(n_ahead, self.n_may_begin)


def _is_wanted(
    state: SessionState, annotator: str, row: RowId, leased: Mapping[RowId, list[str]]
) -> bool:
    """Whether this annotator's vote on a row that is not complete is wanted."""
    votes = state.votes.get(row, {})
    if annotator in votes or annotator in state.skips.get(row, {}):
        return False
    others = [name for name in leased.get(row, ()) if name != annotator]
    return len(votes) + len(others) < state.plan.votes_per_row
