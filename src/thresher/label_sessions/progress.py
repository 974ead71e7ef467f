"""Where a session stands, as it is shown to people."""

from dataclasses import dataclass, field
from typing import Self

from thresher.label_sessions.state import Estimate, RowId, SessionState
from thresher.label_sessions.votes import Agreement
from thresher.labeling import ErrorEstimate


@dataclass(frozen=True)
class Progress:
    """Numbers of a session.

    Parameters
    ----------
    n_labels : rows asked about that have a label
    n_votes : votes that count, of all annotators
    n_own_votes : of the annotator that was asked for, or None
    n_skipped : rows that were skipped and have no vote
    n_imported : imported labels
    label_budget : largest number of labels, or None
    error_estimate : (estimate, low, high) of the last refit; None before the first model
    stop_reason : why there are no more questions; None while there are
    refitting : whether the model is being refitted
    history : (n_labels, estimate, low, high) of every refit so far
    agreement : of annotators who voted on the same rows
    votes_by : how many votes each annotator has
    disputed : rows whose votes give no label, for the owner to resolve
    doubts : what looks wrong with the labels, one sentence each
    """

    n_labels: int
    n_votes: int
    n_own_votes: int | None
    n_skipped: int
    n_imported: int
    label_budget: int | None
    error_estimate: ErrorEstimate | None
    stop_reason: str | None
    refitting: bool
    history: list[Estimate]
    agreement: Agreement
    votes_by: dict[str, int] = field(default_factory=dict)
    disputed: list[RowId] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        state: SessionState,
        *,
        stop_reason: str | None,
        refitting: bool,
        annotator: str | None,
    ) -> Self:
        """The progress of a state."""
        by: dict[str, int] = {}
        for votes in state.votes.values():
            for name in votes:
                by[name] = by.get(name, 0) + 1
        last = state.history[-1] if state.history else None
        error = None
        if last is not None:
            estimate = float("nan") if last.estimate is None else last.estimate
            error = ErrorEstimate(estimate, last.low, last.high)
        return cls(
            n_labels=state.n_labels,
            n_votes=state.n_votes,
            n_own_votes=None if annotator is None else by.get(annotator, 0),
            n_skipped=state.n_skipped,
            n_imported=len(state.imported),
            label_budget=state.plan.label_budget,
            error_estimate=error,
            stop_reason=stop_reason,
            refitting=refitting,
            history=[*state.history],
            agreement=Agreement.of([v.label for v in by.values()] for by in state.votes.values()),
            votes_by=by,
            disputed=state.in_order(state.disputed),
            doubts=[*state.doubts],
        )
