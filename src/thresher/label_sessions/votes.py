"""The votes on one row: which label they give, and how often annotators agree."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from thresher.estimators.model import Label

FIRST, MAJORITY = "first", "majority"
DECISIONS = (FIRST, MAJORITY)


@dataclass(frozen=True)
class Vote:
    """What one annotator says about one row.

    Parameters
    ----------
    annotator, label : who says what
    at : when, in UTC as ISO 8601 has it
    comment : what the annotator wrote with it, or None
    """

    annotator: str
    label: Label
    at: str
    comment: str | None = None


def decided_label(labels: Sequence[Label], *, n_wanted: int, decision: str) -> Label | None:
    """The label that votes give to a row; None while they give none.

    Parameters
    ----------
    labels : the votes, in the order in which they came
    n_wanted : votes for each row
    decision : "first": the first vote counts; "majority": what more than half of the wanted votes
        say, or once they are all there, what most say. A tie is for the owner to resolve

    Examples
    --------
    >>> decided_label(["yes", "no"], n_wanted=3, decision="first")
    'yes'
    >>> decided_label(["yes", "no"], n_wanted=3, decision="majority") is None
    True
    >>> decided_label(["yes", "no", "no"], n_wanted=3, decision="majority")
    'no'
    """
    if not labels:
        return None
    if decision == FIRST:
        return labels[0]
    (best, n_best), *others = Counter(labels).most_common()
    if 2 * n_best > n_wanted:
        return best if not others or others[0][1] < n_best else None
    is_complete = len(labels) >= n_wanted
    return best if is_complete and (not others or others[0][1] < n_best) else None


@dataclass(frozen=True)
class Agreement:
    """How often two annotators gave a row the same label.

    Parameters
    ----------
    n_pairs : pairs of votes on the same row
    share : of them that agree; None without any

    Examples
    --------
    >>> Agreement.of([["yes", "yes", "no"], ["no"]])
    Agreement(n_pairs=3, share=0.3333333333333333)
    """

    n_pairs: int
    share: float | None

    @classmethod
    def of(cls, rows: Iterable[Sequence[Label]]) -> "Agreement":
        """The agreement of the votes on these rows."""
        pairs = [one == other for labels in rows for one, other in combinations(labels, 2)]
        return cls(len(pairs), sum(pairs) / len(pairs) if pairs else None)
