"""What is wrong with each row, how likely, and what can be said about the whole table."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from thresher.auditing.data_errors import DataErrors
from thresher.auditing.disagreement import View
from thresher.auditing.suspects import Places
from thresher.validation import FloatArray

SUSPECT = 0.5  # suspicion from which a row is named
MOST_ERROR = 0.15  # of a model that can tell wrong labels from its own errors
UNTRUSTED = 2.0  # times the error in trusted rows: honest rows lost trust too
HARDLY_BETTER = 0.85  # of a constant's error: a model with more says nothing about labels
# Evidence of wrong labels from which rows are named. No curve fits a model's scores perfectly, and
# the more rows there are, the more that shows.
SURE_BY_SCORES, SURE_PER_ROW, SURE_PER_ERROR = 6.0, 0.005, 0.2
ALMOST = 1.5  # times the smallest error: a model with a larger one names no wrong labels
SURE_BY_SIGNS = 0.07  # evidence per row that lost trust and unusual values add to it
MANY_COPIES = 5  # of a row with a wrong label, which are named in any case
DOUBTFUL, LEAST_SURE = 0.499, 0.5  # what a probability counts otherwise, at most and at least
MOST_REPEATED = 0.1  # share of repeated rows beyond which repeating is the table's nature
REPEATED = 0.3  # suspicion of a repeated row


@dataclass(frozen=True, eq=False)
class Suspicions:
    """How suspicious each row is, by kind. Every probability is from 0 to 1.

    Parameters
    ----------
    steers : that the label is wrong and that the row lost its trust because of it
    disagrees : that the label is wrong, by models that have not seen it
    data_error : that a value is wrong, whatever the label
    repeated : below ½ for a row that stands in the table more than once
    can_tell : whether a model is good enough to doubt labels
    """

    steers: FloatArray
    disagrees: FloatArray
    data_error: FloatArray
    repeated: FloatArray
    can_tell: bool

    @property
    def suspicion(self) -> FloatArray:
        """The largest of the kinds."""
        return np.max([self.steers, self.disagrees, self.data_error, self.repeated], axis=0)

    @cached_property
    def kinds(self) -> NDArray[np.str_]:
        """(n,) what each row is suspected of most: "data_error", "steers" or "disagrees"."""
        parts = [self.data_error, self.steers, self.disagrees]
        return np.array(["data_error", "steers", "disagrees"])[np.argmax(parts, axis=0)]

    @property
    def order(self) -> Places:
        """The positions of all rows, the most suspicious first; ties in table order."""
        return np.argsort(-self.suspicion, kind="stable")

    @property
    def suspects(self) -> Places:
        """The positions of the rows that are named, the most suspicious first."""
        order = self.order
        return order[self.suspicion[order] >= SUSPECT]


def weigh(
    views: tuple[View, ...],
    data: DataErrors,
    signs: FloatArray,
    trust: FloatArray,
    counts: Places,
) -> Suspicions:
    """How suspicious each row is.

    A probability of a wrong label counts less than half if there is no good evidence of wrong
    labels in the whole table: then no row is named, and the order of the rows stays. So it does if
    the models hardly predict better than a constant.

    Parameters
    ----------
    views : of the labels; the first is that of the linear model
    data : the data errors
    signs : (n,) -1 or +1 for each row
    trust : (n,) in each row
    counts : (n,) how often each row stands in the table
    """
    share = float((signs > 0).mean())
    limit = min(HARDLY_BETTER * min(share, 1 - share), MOST_ERROR)
    useful = [v for v in views if min(v.error, UNTRUSTED * v.trusted_error) < limit]
    best = min(view.error for view in views)
    can_tell = bool(useful)
    is_contradicted = np.all([view.scores * signs < 0 for view in useful or views], axis=0)
    is_copied = counts >= MANY_COPIES
    lost = np.minimum(2 * (1 - trust), 1.0)
    steers, disagrees = np.zeros(trust.size), np.zeros(trust.size)
    for view in views:
        scores, by_signs = view.by_scores, view.by_signs
        needed = SURE_BY_SCORES + (SURE_PER_ROW + SURE_PER_ERROR * view.honest_error) * trust.size
        sure, is_good = scores.evidence / needed, view.error <= ALMOST * best
        clear = (by_signs.evidence - scores.evidence) / (SURE_BY_SIGNS * trust.size)
        is_named = can_tell & is_good & is_contradicted & ((sure > 1) | is_copied)
        disagrees = np.maximum(disagrees, _counted(scores.probability, sure, is_named))
        is_named = can_tell & (lost > 0) & (clear > 1)
        steers = np.maximum(steers, lost * _counted(by_signs.probability, clear, is_named))
    is_repeated = counts > 1
    is_nature = is_repeated.mean() > MOST_REPEATED
    repeated = np.where(is_repeated & (not is_nature), REPEATED, 0.0)
    return Suspicions(steers, disagrees, data.probability, repeated, can_tell)


def _counted(probability: FloatArray, sure: FloatArray, is_named: NDArray[np.bool_]) -> FloatArray:
    """The probability in rows that may be named; in others less, by the evidence."""
    return probability * np.where(is_named, 1.0, DOUBTFUL * np.clip(sure, LEAST_SURE, 1.0))
