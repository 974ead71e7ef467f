"""Labeled rows that the owner of a session should look at again."""

from collections.abc import Mapping
from dataclasses import dataclass

from thresher.estimators.model import Label
from thresher.label_sessions.state import RowId, SessionState
from thresher.labeling.trust import LEAST_TRUST

IMPROBABLE = 0.1  # of a label, by a model that was fitted without it


@dataclass(frozen=True)
class Suspect:
    """A row to look at again.

    Parameters
    ----------
    row_id, label : the row and its label; None if its votes give none
    votes : who said what
    reason : why it is a suspect
    probability : of its label, by a model fitted without it; None without a model or a label
    """

    row_id: RowId
    label: Label | None
    votes: dict[str, Label]
    reason: str
    probability: float | None


def suspects_of(
    state: SessionState, chances: Mapping[RowId, float], trust: Mapping[RowId, float]
) -> list[Suspect]:
    """Disputed rows first, then improbable labels, then rows that stand out in the pool.

    Parameters
    ----------
    state : of the session
    chances : how probable labels are to a model that was fitted without them
    trust : in each row of the pool
    """
    found: dict[RowId, Suspect] = {}
    for reason, rows in {
        "the votes give no label": state.in_order(state.disputed),
        "annotators disagree": [row for row in state.votes if _is_split(state, row)],
        "the model expects the other label": _improbable(chances),
        "stands out in the pool": [row for row in state.labels if trust[row] <= LEAST_TRUST],
    }.items():
        for row in rows:
            votes = {who: vote.label for who, vote in state.votes.get(row, {}).items()}
            suspect = Suspect(row, state.labels.get(row), votes, reason, chances.get(row))
            found.setdefault(row, suspect)
    return list(found.values())


def _is_split(state: SessionState, row: RowId) -> bool:
    labels = {vote.label for vote in state.votes[row].values()}
    return len(labels) > 1 and row not in state.resolved


def _improbable(chances: Mapping[RowId, float]) -> list[RowId]:
    rows = [row for row, chance in chances.items() if chance < IMPROBABLE]
    return sorted(rows, key=lambda row: chances[row])
