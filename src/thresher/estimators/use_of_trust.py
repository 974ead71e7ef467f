"""How much of the trust an estimator needs: as little distrust as predicts held-out rows well."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import _safe_indexing

from thresher.estimators.checks import check_table, class_weights
from thresher.estimators.contradictions import held_out_margins, scaled_rows
from thresher.estimators.copies import Copies
from thresher.estimators.disputes import Disputes
from thresher.estimators.folds import usual_folds
from thresher.estimators.penalized import with_short_indices
from thresher.estimators.planted_copies import can_be_planted
from thresher.estimators.plausibility import plausibility
from thresher.estimators.trust import keep_every_class, weighted_error
from thresher.validation import FloatArray

# By round of linear fits, in median distances from the boundary: a row that is farther on the wrong
# side is left out of the next round. Flipped rows that keep a little trust still steer the first
# fit, so its border is the strictest.
BORDERS = (0.25, 0.5, 0.5, 0.5, 0.5)
FAR = 1.0  # in the same units: a row that is farther on the wrong side contradicts
IMPROBABLE = 0.3  # a row whose label is less probable than this contradicts other rows like it
SLIGHT = 0.003  # by which the squared error of probabilities may exceed the smallest one
FEWEST = 10  # rows of each class: with fewer, nothing is compared
FEW = 100  # rows of each class: with fewer, an estimator needs more than half of them
N_FOLDS, N_FOLDS_OF_FEW = 2, 5


class Filtered:
    """What a fitted filter makes of the rows of its table, and of their labels.

    Parameters
    ----------
    filter_ : a fitted `HalfspaceClassifier`
    rows, labels : the table that it was fitted to
    weights : (n,) of the rows, besides their trust; ones if None. Their scale does not matter

    Attributes
    ----------
    trust : (n,) of each row; one if it weighs so little that no copy stood for it in the filter
    looked_at : (n,) zero for rows that lost a dispute before the phases, and one for the others
    noise_rate : that the filter withstands

    Examples
    --------
    >>> from thresher import HalfspaceClassifier
    >>> rows = np.random.default_rng(0).standard_normal((400, 5))
    >>> labels = rows[:, 0] > 0
    >>> surest = np.argsort(-rows[:, 0])[:20]
    >>> labels[surest] = False  # flipped
    >>> filtered = Filtered(HalfspaceClassifier(random_state=0).fit(rows, labels), rows, labels)
    >>> bool((filtered.margins()[surest] < -FAR).all())
    True
    """

    def __init__(
        self, filter_: Any, rows: Any, labels: NDArray[Any], weights: FloatArray | None = None
    ) -> None:
        self._filter, self._given, self._rows = filter_, rows, check_table(filter_, rows)
        self._weights = np.ones(labels.size) if weights is None else weights / weights.mean()
        self._signs: FloatArray = np.where(labels == filter_.classes_[1], 1.0, -1.0)
        self.noise_rate: float = filter_.noise_rate_
        is_copied = np.ones(labels.size, dtype=np.bool_)
        if weights is not None:
            copies = Copies.of(self._rows, labels, weights)
            assert copies is not None
            is_copied = np.isin(np.arange(labels.size), copies.places)
        self.trust: FloatArray = np.where(is_copied, filter_.row_weights_, 1.0)
        self.looked_at: FloatArray = np.where(is_copied, 0.0, 1.0)
        self.looked_at[filter_.phases_[0].row_ids] = 1.0

    def undisputed(self) -> FloatArray:
        """Zero for rows that lost a dispute, or lose one by the filter's score; else one.

        One of two equal rows with different labels is wrong. A forest cannot tell them apart, and a
        linear model can say which label suits the rows around them. Very few do not matter.
        """
        kept, undisputed = np.flatnonzero(self.looked_at), self.looked_at.copy()
        rows, signs = self._rows, self._signs
        disputes = Disputes.of(rows[kept], signs[kept], self.noise_rate)
        if disputes is not None:
            wrong = signs * self._filter.decision_function(self._given) < 0
            lost = disputes.contested(signs[kept]) & wrong[kept]
            if can_be_planted(lost, signs[kept], disputes.n_allowed):
                undisputed[kept[lost]] = 0.0
        return undisputed

    def margins(self) -> FloatArray:
        """How far each row is on the side of its label, in median distances; negative: not on it.

        By linear fits to other rows. The first is to rows weighted by their trust. Each further one
        is to all rows that do not contradict the one before, trusted or not: flipped labels keep
        some trust, and many honest rows have none.
        """
        scaled = scaled_rows(self._filter, self._rows)
        base = self.looked_at * self._weights
        trust, folds = self.trust, usual_folds(self._signs, seed=0)
        for border in BORDERS:
            margins = held_out_margins(scaled, self._signs, base * trust, folds)
            margins /= float(np.median(np.abs(margins))) or 1.0
            trust = keep_every_class((margins >= -border).astype(np.float64), self._signs)
        return margins

    def plausibility(self, chosen: NDArray[np.bool_]) -> FloatArray:
        """The probability of its own label for each chosen row; 1 for the others.

        From the columns that the phases looked at.
        """
        rows = self._rows[:, self._filter.columns_]
        found: FloatArray = np.ones(chosen.size)
        found[chosen] = plausibility(
            with_short_indices(rows[chosen]), self._signs[chosen], self._weights[chosen]
        )
        return found


class UseOfTrust(NamedTuple):
    """What is made of the trust (see `TrustedClassifier.use_of_trust_`): a weight for each row."""

    name: str
    weights: FloatArray

    @property
    def slack(self) -> float:
        """By how much its loss may exceed the smallest one."""
        # Planted rows that lie together find each other probable: "improbable" must be the best.
        return 0.0 if self.name == "improbable" else SLIGHT


class Losses(NamedTuple):
    """A loss with each class weighted as the estimator's rows are, and with equal classes."""

    rows: float
    classes: float
    n_fits: int  # that it comes from


class Judged:
    """A classifier that is fitted with weights, judged by the rows that do not contradict.

    An attack on linear models may not concern a forest, and a row that a linear model gets wrong
    may be one that the forest needs. So an estimator is fitted to half of the rows and judged on
    the other half, with less and less trust: in all rows; in those whose labels do not contradict
    others; in each row as much as the filter has. The first that is hardly worse than the best is
    taken. What makes the estimator worse where both classes count alike is not considered: a rare
    class must not be lost for the sake of the other one. Of few rows, the fits see four fifths.

    Labels contradict linear fits, which see flips that lie together, or learners that need not be
    linear, which see single ones. The latter count only if nothing predicts better: they see no
    planted rows that lie together. The rows that judge take part in finding labels that contradict,
    so leaving these rows out looks somewhat better than it is.

    Parameters
    ----------
    estimator : unfitted, takes `sample_weight`
    rows, labels : of the table
    base : (n,) weights to be multiplied by the trust
    filtered : what the filter makes of the table. Rows that lose a dispute are left out in any
        case, if anything stands out. At most its noise rate of the rows contradict
    """

    def __init__(
        self, estimator: Any, rows: Any, labels: NDArray[Any], base: FloatArray, filtered: Any
    ) -> None:
        self._estimator, self._rows, self._labels = estimator, rows, labels
        self._base, self._filtered = base, filtered
        self._costs = (base, class_weights("balanced", labels))
        self._n_fewest = int(np.unique(labels, return_counts=True)[1].min())

    def use(self) -> UseOfTrust:
        """As little distrust as possible."""
        filtered = self._filtered
        if np.array_equal(filtered.trust, filtered.looked_at):
            return UseOfTrust("none", filtered.looked_at)
        everything = UseOfTrust("all", filtered.trust)
        if self._n_fewest < FEWEST:
            return everything
        none = UseOfTrust("none", filtered.undisputed())
        linear = self._without_contradicting(none, "labels", filtered.margins(), -FAR)
        likely = filtered.plausibility(none.weights > 0)
        improbable = self._without_contradicting(none, "improbable", likely, IMPROBABLE)
        uses = [none, improbable, linear, everything]
        losses = self._losses(uses, self._base * linear.weights)
        if not any(loss.n_fits for loss in losses.values()):
            return everything
        uses = [use for use in uses if losses[use.name].classes <= losses["none"].classes]
        least = min(losses[use.name].rows for use in uses)
        return next(use for use in uses if losses[use.name].rows <= least + use.slack)

    def _without_contradicting(
        self, none: UseOfTrust, name: str, scores: FloatArray, border: float
    ) -> UseOfTrust:
        """Also without the rows whose score is below the border, the lowest first.

        With those that lost a dispute, at most the noise rate of all rows are left out. A class of
        which more than half would go keeps some weight on these rows.
        """
        most = int(np.ceil(self._filtered.noise_rate * scores.size))
        most = max(most - int((none.weights == 0).sum()), 0)
        lowest = np.argsort(np.where(none.weights > 0, scores, np.inf), kind="stable")[:most]
        agreeing = np.ones(scores.size)
        agreeing[lowest[scores[lowest] < border]] = 0.0
        return UseOfTrust(name, none.weights * keep_every_class(agreeing, self._labels))

    def _losses(self, uses: Sequence[UseOfTrust], judge: FloatArray) -> dict[str, Losses]:
        """The squared errors of the probabilities of the judging rows, by fits to other rows."""
        different = {use.weights.tobytes(): use.weights for use in uses}
        losses = {key: self._loss(weights, judge) for key, weights in different.items()}
        return {use.name: losses[use.weights.tobytes()] for use in uses}

    def _loss(self, weights: FloatArray, judge: FloatArray) -> Losses:
        right, n_fits = self._held_out(weights)
        wrong = (1 - right) ** 2
        rows, classes = (weighted_error(wrong, self._labels, judge, costs) for costs in self._costs)
        return Losses(rows, classes, n_fits)

    def _held_out(self, weights: FloatArray) -> tuple[FloatArray, int]:
        """The probability of its own label for each row, by fits to other folds; 0 without one.

        And the number of fits that gave one.
        """
        right, n_fits = np.zeros(self._labels.size), 0
        n_folds = N_FOLDS if self._n_fewest >= FEW else N_FOLDS_OF_FEW
        folds = StratifiedKFold(n_folds, shuffle=True, random_state=0)
        for train, test in folds.split(np.empty((self._labels.size, 1)), self._labels):
            fitted = clone(self._estimator)
            try:
                fitted.fit(
                    _safe_indexing(self._rows, train),
                    self._labels[train],
                    sample_weight=(self._base * weights)[train],
                )
                found = _probability(fitted, _safe_indexing(self._rows, test), self._labels[test])
            except Exception:  # these rows may be too few: a category can be missing from them
                continue
            right[test] = np.nan_to_num(found)
            n_fits += 1
        return right, n_fits


def _probability(fitted: Any, rows: Any, labels: NDArray[Any]) -> FloatArray:
    """Of the label of each row; 0 or 1 by an estimator without probabilities."""
    if not hasattr(fitted, "predict_proba"):
        return np.asarray(fitted.predict(rows) == labels, dtype=np.float64)
    probabilities: FloatArray = np.asarray(fitted.predict_proba(rows), dtype=np.float64)
    return probabilities[np.arange(labels.size), np.searchsorted(fitted.classes_, labels)]
