"""Where a session stands: a function of the events in its journal, and of nothing else."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

from thresher.estimators.model import Label
from thresher.label_sessions.journal import Event
from thresher.label_sessions.plan import Plan
from thresher.label_sessions.votes import Vote, decided_label

RowId = int | str
RANDOM = "random: measures the error"
UNSURE = "the model is least sure here"
OTHER_CLASS = "stands out: may belong to a class without labels"
EXHAUSTED, SPENT = "pool exhausted", "budget spent"


@dataclass(frozen=True)
class Receipt:
    """What is on the disk after a request: the same for every repetition of the request.

    Parameters
    ----------
    request_id : of the request
    event : "vote", "skip", "retract", "resolve" or "note"
    row_id : the row, or None
    line : the line of the journal
    at : when, in UTC as ISO 8601 has it
    """

    request_id: str
    event: str
    row_id: RowId | None
    line: int
    at: str


@dataclass(frozen=True)
class Asked:
    """A row that was chosen to be asked about, and its number among all that were."""

    row_id: RowId
    is_random: bool
    reason: str
    number: int


@dataclass(frozen=True)
class Note:
    """A remark of an annotator, about a row or about the session."""

    annotator: str
    text: str
    row_id: RowId | None
    at: str


class Estimate(NamedTuple):
    """The estimated error of the model with this number of labels, with its interval."""

    n_labels: int
    estimate: float | None
    low: float
    high: float


@dataclass(frozen=True)
class _Undo:
    """What an annotator did to a row, and what stood there before."""

    row_id: RowId
    vote: Vote | None
    was_skipped: bool


@dataclass(eq=False)
class SessionState:
    """The questions, votes and decisions of a session.

    What follows from the votes on a row is kept with them, so that an answer takes as long in a
    session of ten thousand labels as in a new one.

    Attributes
    ----------
    labels : of all rows that have one, also imported ones
    bought : rows asked about that have a label which was not imported
    paid : rows asked about that somebody voted on
    incomplete : rows asked about that need more votes
    disputed : rows asked about that have all votes, and no label

    Examples
    --------
    >>> state = SessionState.of([
    ...     {"event": "header", "plan": {}, "at": ""},
    ...     {"event": "ask", "rows": [7], "random": [True], "reason": "", "at": ""},
    ...     {"event": "vote", "row": 7, "annotator": "ann", "label": "yes", "request": "a",
    ...      "at": ""}])
    >>> state.labels
    {7: 'yes'}
    """

    header: Event = field(default_factory=dict)
    plan: Plan = field(default_factory=Plan)
    batches: list[list[Asked]] = field(default_factory=list)
    asked: dict[RowId, Asked] = field(default_factory=dict)
    votes: dict[RowId, dict[str, Vote]] = field(default_factory=dict)
    skips: dict[RowId, dict[str, str]] = field(default_factory=dict)
    resolved: dict[RowId, Label] = field(default_factory=dict)
    imported: dict[RowId, Label] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    receipts: dict[str, Receipt] = field(default_factory=dict)
    requests: dict[str, Event] = field(default_factory=dict)
    history: list[Estimate] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    stop_reason: str | None = None  # that the last refit found
    n_judged: int = 0  # labels that the last refit had
    n_lines: int = 0
    labels: dict[RowId, Label] = field(default_factory=dict)
    bought: set[RowId] = field(default_factory=set)
    paid: set[RowId] = field(default_factory=set)
    incomplete: set[RowId] = field(default_factory=set)
    disputed: set[RowId] = field(default_factory=set)
    _undo: dict[str, list[_Undo]] = field(default_factory=dict)

    @classmethod
    def of(cls, events: Iterable[Event]) -> Self:
        """The state after these events."""
        state = cls()
        for event in events:
            state.apply(event)
        return state

    def apply(self, event: Event) -> None:
        """Take one more event."""
        self.n_lines += 1
        _APPLY[event["event"]](self, event)
        if (request := event.get("request")) is not None:
            at, row = event["at"], event.get("row")
            self.receipts[request] = Receipt(request, event["event"], row, self.n_lines, at)
            self.requests[request] = event

    # -- one method for each kind of event ---------------------------------------------------

    def _take_header(self, event: Event) -> None:
        if not self.header:
            self.header, self.plan = event, Plan(**event["plan"])

    def _take_plan(self, event: Event) -> None:
        self.plan, self.stop_reason = Plan(**event["plan"]), None
        for row in {*self.votes, *self.asked}:
            self._decide(row)

    def _take_ask(self, event: Event) -> None:
        rows = list(zip(event["rows"], event["random"], strict=True))
        batch = [
            Asked(row, is_random, RANDOM if is_random else event["reason"], number)
            for number, (row, is_random) in enumerate(rows, start=len(self.asked))
        ]
        self.batches.append(batch)
        self.asked |= {one.row_id: one for one in batch}
        for one in batch:
            self._sort_in(one.row_id)

    def _take_vote(self, event: Event) -> None:
        row, annotator = event["row"], event["annotator"]
        self._remember(annotator, row)
        vote = Vote(annotator, event["label"], event["at"], event.get("comment"))
        self.votes.setdefault(row, {})[annotator] = vote
        self.skips.get(row, {}).pop(annotator, None)
        self._decide(row)

    def _take_skip(self, event: Event) -> None:
        row, annotator = event["row"], event["annotator"]
        self._remember(annotator, row)
        self.votes.get(row, {}).pop(annotator, None)
        self.skips.setdefault(row, {})[annotator] = event["at"]
        self._decide(row)

    def _take_retract(self, event: Event) -> None:
        done = self._undo.get(event["annotator"], [])
        if not done or done[-1].row_id != event["row"]:  # its vote was lost, see repair
            return
        last, annotator = done.pop(), event["annotator"]
        votes, skips = (
            self.votes.setdefault(last.row_id, {}),
            self.skips.setdefault(last.row_id, {}),
        )
        skips.pop(annotator, None)
        if last.vote is not None:
            votes[annotator] = last.vote  # in the place of the one that is retracted
        else:
            votes.pop(annotator, None)
        if last.was_skipped:
            skips[annotator] = event["at"]
        self._decide(last.row_id)

    def _take_resolve(self, event: Event) -> None:
        self.resolved[event["row"]] = event["label"]
        self._decide(event["row"])

    def _take_import(self, event: Event) -> None:
        for row, label in zip(event["rows"], event["labels"], strict=True):
            self.imported[row] = label
            self._decide(row)

    def _take_model(self, event: Event) -> None:
        if event["high"] is not None:
            interval = event["estimate"], event["low"], event["high"]
            self.history.append(Estimate(event["n_labels"], *interval))
        self.stop_reason, self.n_judged = event["stop_reason"], event["n_labels"]
        self.doubts += [text for text in event["doubts"] if text not in self.doubts]

    def _take_note(self, event: Event) -> None:
        self.notes.append(Note(event["annotator"], event["text"], event.get("row"), event["at"]))

    def _remember(self, annotator: str, row: RowId) -> None:
        """Keep what a vote or a skip replaces."""
        before = self.votes.get(row, {}).get(annotator)
        was_skipped = annotator in self.skips.get(row, {})
        self._undo.setdefault(annotator, []).append(_Undo(row, before, was_skipped))

    # -- what follows from the events --------------------------------------------------------

    def last_of(self, annotator: str) -> RowId | None:
        """The row of the annotator's last vote or skip that was not retracted."""
        done = self._undo.get(annotator)
        return done[-1].row_id if done else None

    def _decide(self, row: RowId) -> None:
        """Keep `labels` true after the votes on a row have changed."""
        votes = [vote.label for vote in self.votes.get(row, {}).values()]
        plan, label = self.plan, self.resolved.get(row)
        if self.stop_reason != EXHAUSTED:
            self.stop_reason = None
        if label is None:
            label = decided_label(votes, n_wanted=plan.votes_per_row, decision=plan.decision)
        if label is None:
            label = self.imported.get(row)
        if label is None:
            self.labels.pop(row, None)
        else:
            self.labels[row] = label

        self._sort_in(row)

    def _sort_in(self, row: RowId) -> None:
        """Keep the sets of rows true."""
        is_asked, has_label = row in self.asked, row in self.labels
        is_paid, is_complete = bool(self.votes.get(row)), self._is_complete(row)
        is_bought = is_paid or row in self.resolved
        for rows, belongs in (
            (self.bought, is_asked and has_label and is_bought),
            (self.paid, is_asked and is_paid),
            (self.incomplete, is_asked and not is_complete),
            (self.disputed, is_asked and is_paid and is_complete and not has_label),
        ):
            if belongs:
                rows.add(row)
            else:
                rows.discard(row)

    def _is_complete(self, row: RowId) -> bool:
        n_votes = len(self.votes.get(row, {}))
        if row in self.resolved or (row in self.imported and not n_votes):
            return True
        return n_votes >= self.plan.votes_per_row

    def in_order(self, rows: Iterable[RowId]) -> list[RowId]:
        """Rows that were asked about, in the order of the questions."""
        return sorted(rows, key=lambda row: self.asked[row].number)

    @property
    def n_labels(self) -> int:
        """The number of rows asked about that have a label; imported labels are free."""
        return len(self.bought)

    @property
    def n_votes(self) -> int:
        """The number of votes that count."""
        return sum(map(len, self.votes.values()))

    @property
    def n_skipped(self) -> int:
        """The number of rows that were skipped and have no vote."""
        return sum(bool(by) and not self.votes.get(row) for row, by in self.skips.items())


_APPLY: dict[str, Any] = {
    "header": SessionState._take_header,
    "plan": SessionState._take_plan,
    "ask": SessionState._take_ask,
    "vote": SessionState._take_vote,
    "skip": SessionState._take_skip,
    "retract": SessionState._take_retract,
    "resolve": SessionState._take_resolve,
    "import": SessionState._take_import,
    "model": SessionState._take_model,
    "note": SessionState._take_note,
}
