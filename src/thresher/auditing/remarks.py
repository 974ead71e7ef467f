"""How to read a report: which rows it shows, what its reasons mean, how far its numbers go."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.auditing.examination import Findings
from thresher.auditing.suspects import Places
from thresher.auditing.table_audit import Audit
from thresher.estimators.evidence import CLEARLY

CLEAR = 2.0  # standard errors from which evidence is not called weak
MANY = 10  # features from which a reader may want fewer
MEANINGS = {
    "steers": '"steers the model": its label is probably wrong, and it stands out among the rows '
    "with that label, so that it would move the boundary. Learning gave it little trust.",
    "disagrees": '"label disagrees": models that have not seen the row are confident in the other '
    "label.",
    "data_error": "A reason about values is a data error: they are wrong by themselves, "
    "whatever the label.",
}


def some_of_each(keys: Sequence[Any] | NDArray[Any], limit: int) -> Places:
    """Up to `limit` positions, in order: the first of every key, the second of every key, ….

    Examples
    --------
    >>> some_of_each(["a", "a", "a", "b", "a"], 3)
    array([0, 1, 3])
    """
    seen: dict[Any, int] = {}
    rounds = []
    for key in keys:
        rounds.append(seen.get(key, 0))
        seen[key] = rounds[-1] + 1
    return np.sort(np.argsort(np.array(rounds, dtype=int), kind="stable")[:limit])


def shown_suspects(audit: Audit, limit: int) -> Places:
    """The suspects that a report shows, the most suspicious first, with some of every kind."""
    distinct = audit.distinct_suspects
    return distinct[some_of_each(audit.suspicions.kinds[distinct].tolist(), limit)]


def meanings(audit: Audit) -> list[str]:
    """What the reasons of the suspects mean, one sentence for each kind that occurs."""
    occurring = set(audit.suspicions.kinds[audit.suspicions.suspects].tolist())
    return [meaning for kind, meaning in MEANINGS.items() if kind in occurring]


def held_out_rows(findings: Findings) -> str:
    """How held-out rows count in the errors of the model."""
    if findings.counts_by_trust:
        return "These errors count held-out rows by their trust."
    kept = " that were not left out" if findings.classifier.evidence_.n_lost else ""
    return f"These errors count all held-out rows{kept} alike, planted or not."


def larger_error(findings: Findings) -> str:
    """That the error on new rows is larger than the held-out one, if some rows count less."""
    if not findings.counts_by_trust or (findings.classifier.row_weights_ == 1).all():
        return ""
    return (
        "Expect a larger error on new rows: rows that are hard to classify have little trust, and "
        "count little here."
    )


def weak_evidence(findings: Findings) -> str:
    """A warning if little more than chance stands out; else empty."""
    evidence = findings.classifier.evidence_
    if evidence is None or not CLEARLY < evidence.improvement < CLEAR:
        return ""
    return (
        f"The evidence is weak: less than {CLEAR:g} standard errors may be chance, though "
        f"{CLEARLY:g} is enough for rows to lose trust."
    )


def fewer_features(findings: Findings) -> str:
    """How to get a model of fewer features, if their number was not limited; else empty."""
    if not isinstance(findings.chosen.sparsity, str) or findings.classifier.support_.size <= MANY:
        return ""
    return f"Their number was not limited; --sparsity {MANY} allows {MANY} features at most."
