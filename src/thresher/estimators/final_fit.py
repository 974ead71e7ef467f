"""The final model: the halfspace of Algorithm 1, or a penalized fit to rows with its trust."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.estimators.agreement import WeakModels, agreement
from thresher.estimators.checks import Settings, check_two_classes, class_weights
from thresher.estimators.disputes import TrainingTable
from thresher.estimators.evidence import CLEARLY, Evidence, compare_with_chance, improvement
from thresher.estimators.examples import ALL_ROWS, Columns, Examples, HeldOut, taken
from thresher.estimators.folds import Fold, renumbered
from thresher.estimators.penalized import choose_penalty, with_short_indices
from thresher.estimators.penalized_fit import PenalizedFit
from thresher.estimators.screening import promising_by_fold, promising_columns
from thresher.estimators.trust import keep_every_class
from thresher.validation import FloatArray, Rows, is_sparse

MOST_DENSE_COLUMNS = 2000  # of a penalized fit to dense rows; to sparse ones, all
ROWS_PER_BLOCK = 2000  # that are judged at a time by models of a sample
FARTHEST = 1e6  # largest entry of a penalized fit: its solver needs ordinary numbers


@dataclass(frozen=True, eq=False)
class Judgment:
    """The trust in each row, whether the final model uses it, and the best penalized fit.

    Parameters
    ----------
    trust : (n,) in each row; all ones if nothing stands out
    agreement : (n,) the factor of that trust for rows that contradict the others
    evidence : what stands out
    scores : (n,) of penalized fits to rows of that trust when a row was held out; NaN: it was not
    weights : (n,) with which the final model is fitted and compared: the trust, or ones
    penalized : the best penalized fit to rows of these weights
    """

    trust: FloatArray
    agreement: FloatArray
    evidence: Evidence
    scores: FloatArray
    weights: FloatArray
    penalized: "PenalizedChoice"


@dataclass(frozen=True, eq=False)
class PenalizedChoice:
    """What penalized fits did on held-out rows, and how to fit the best one to all rows.

    Parameters
    ----------
    held_out : for all rows of the table; scores are NaN for those that were not held out
    fit : makes the fit
    """

    held_out: HeldOut
    fit: Callable[[], PenalizedFit]


class PenalizedFits:
    """Penalized fits to one table, with the scaling of a fitted halfspace.

    Departure: Algorithm 1 ends with its last halfspace.

    Parameters
    ----------
    fitted : a `HalfspaceClassifier` after its phases
    rows, labels : the table that it was fitted to
    folds : to compare fits on
    seen : positions of the rows that fits are compared on; the folds have no others
    groups : (n,) a number for each set of equal rows; None: all differ
    """

    def __init__(
        self,
        fitted: Any,
        rows: Rows,
        labels: Any,
        folds: Sequence[Fold],
        seen: NDArray[np.intp] | None = None,
        groups: NDArray[np.intp] | None = None,
    ) -> None:
        self._settings = replace(Settings.of(fitted), noise_rate=fitted.noise_rate_)
        self._rows = rows
        _, self._signs = check_two_classes(labels)
        self._fitted = fitted
        given = self._settings.class_weight
        self._costs = np.ones(len(labels)) if given is None else class_weights(given, labels)
        self._seen = np.arange(len(labels)) if seen is None else seen
        self._groups = groups
        self._folds = renumbered(folds, self._seen)
        useful = self._useful_columns(folds)
        self._columns = np.unique(np.concatenate([*useful.values()]))
        self._may_use = {
            number: np.searchsorted(self._columns, own)
            for number, own in useful.items()
            if own.size < self._columns.size
        }
        self._scaled = self._scaled_rows(self._seen, self._columns)

    @property
    def _sees_all(self) -> bool:
        return self._seen.size == self._signs.size

    def _scaled_rows(self, places: NDArray[np.intp], columns: NDArray[np.intp]) -> Rows:
        n_rows, n_columns = self._rows.shape
        part = taken(
            self._rows,
            None if columns.size == n_columns else columns,
            slice(None) if places.size == n_rows else places,
        )
        scaling = self._fitted.scaling_.take(columns)
        limited = replace(scaling, reach=min(scaling.reach, FARTHEST))
        is_own = part is not self._rows and not is_sparse(part)
        return with_short_indices(limited.apply(part, out=part if is_own else None))

    def _useful_columns(self, folds: Sequence[Fold]) -> Columns:
        """Of the table: what the fit to all rows, and the fit to each fold, may use."""
        rows, watched, limit = self._rows, self._fitted.columns_, self._settings.most_features
        usual = rows.shape[1] if is_sparse(rows) else MOST_DENSE_COLUMNS
        at_most = usual if limit is None else watched.size
        if at_most >= rows.shape[1]:
            return {ALL_ROWS: np.arange(rows.shape[1])}
        scaling = self._fitted.scaling_ if self._settings.scale else None
        everyone = watched
        if limit is None:
            everyone = np.union1d(promising_columns(rows, self._signs, at_most, scaling), watched)
        by_fold = promising_by_fold(rows, self._signs, folds, at_most, scaling)
        return {**by_fold, ALL_ROWS: everyone}

    def choose(self, weights: FloatArray, judge: FloatArray) -> PenalizedChoice:
        """The best fit to rows of these weights, compared on held-out rows by those of `judge`."""
        examples = self._examples(self._scaled, self._seen, weights, judge)
        chosen = choose_penalty(examples, self._settings.most_features)

        held_out = chosen.held_out.spread(self._seen, self._signs.size)

        def fit() -> PenalizedFit:
            if self._sees_all:
                return replace(chosen.fitted(), columns=self._columns)
            places, own = np.arange(self._signs.size), chosen.columns
            columns = self._columns if own is None else self._columns[own]
            everyone = self._examples(self._scaled_rows(places, columns), places, weights, judge)
            fitted = chosen.fitted_to(replace(everyone, columns={}))
            return replace(fitted, columns=columns, held_out=held_out)

        return PenalizedChoice(held_out, fit)

    def _examples(
        self, rows: Rows, places: NDArray[np.intp], weights: FloatArray, judge: FloatArray
    ) -> Examples:
        return Examples(
            rows=rows,
            signs=self._signs[places],
            weights=(weights * self._costs)[places],
            judge=judge[places],
            costs=None if self._settings.class_weight is None else self._costs[places],
            folds=self._folds,
            with_intercept=self._settings.fit_intercept,
            seed=self._settings.seed,
            columns=self._may_use,
            groups=None if self._groups is None else self._groups[places],
        )

    def judge(self, table: TrainingTable) -> Judgment:
        """Trust only if rows stand out, and a model that uses it only if that helps.

        Rows that were left out of the table do not count: without them, little may be wrong. Equal
        rows count as one: they are all right, or all wrong.

        Departure: Algorithm 2 removes the outlier fraction whether or not anything stands out.
        """
        everyone, agreed = np.ones(self._signs.size), self._agreement()
        trust = keep_every_class(self._fitted.row_weights_ * agreed, self._signs)
        plain = self.choose(everyone, everyone)
        trusted = plain if (trust == 1).all() else self.choose(trust, trust)
        clearer, clearer_of_most = (
            improvement(
                plain.held_out.wrong[self._seen],
                trusted.held_out.wrong[self._seen],
                self._signs[self._seen],
                judge[self._seen],
                None if self._groups is None else self._groups[self._seen],
            )
            for judge in (trust, self._hardly_planted(trust))
        )
        evidence = replace(
            self._evidence(clearer),
            n_lost=table.n_lost,
            improvement_of_most=clearer_of_most,
            n_distinct=table.n_distinct,
        )
        if not evidence.is_clear:
            trust, trusted = everyone, plain
        uses_trust = evidence.helps or self._fitted._always_uses_trust
        weights, used = (trust, trusted) if uses_trust else (everyone, plain)
        return Judgment(trust, agreed, evidence, trusted.held_out.scores, weights, used)

    def _hardly_planted(self, trust: FloatArray) -> FloatArray:
        """One for each row but those of least trust, as many as can be planted: zero for these.

        Where some of equal trust would be among them, all of these have the same share.
        """
        n_planted = int(np.ceil(self._settings.noise_rate * trust.size))
        most = np.sort(trust)[n_planted - 1] if n_planted else -np.inf
        is_less, is_equal = trust < most, trust == most
        share = (n_planted - is_less.sum()) / max(is_equal.sum(), 1)
        others = np.where(is_less, 0.0, np.where(is_equal, 1.0 - share, 1.0))
        return keep_every_class(others, self._signs)

    @property
    def _watched(self) -> Rows:
        """The scaled columns that the phases looked at; a copy, which is not kept."""
        return self._scaled[:, np.searchsorted(self._columns, self._fitted.columns_)]

    def _agreement(self) -> FloatArray:
        n_rows, share = self._signs.size, self._settings.noise_rate
        if not self._settings.label_aware or int(share * n_rows) == 0:
            return np.ones(n_rows)
        models = WeakModels(
            self._watched,
            self._signs[self._seen],
            self._fitted.row_weights_[self._seen],
            self._folds,
            share=share,
            seed=self._settings.seed,
        )
        margins = np.empty(n_rows)
        margins[self._seen] = models.held_out
        others = np.setdiff1d(np.arange(n_rows), self._seen, assume_unique=True)
        for start in range(0, others.size, ROWS_PER_BLOCK):
            block = others[start : start + ROWS_PER_BLOCK]
            rows = self._scaled_rows(block, self._fitted.columns_)
            margins[block] = self._signs[block] * (rows @ models.mean.coef + models.mean.offset)
        return agreement(margins, share)

    def _evidence(self, clearer: float) -> Evidence:
        first, seen = self._fitted.phases_[0].phase, self._fitted.columns_
        fraction = first.outlier_fraction
        chance = (np.nan, np.nan, np.nan)
        if clearer <= CLEARLY and fraction > 0:
            chance = compare_with_chance(
                self._watched,
                self._signs[self._seen],
                l1_ratio=first.removal_l1_radius / first.l2_radius,
                outlier_fraction=fraction,
                seed=self._settings.seed,
            )
        return Evidence(self._signs.size, seen.size, fraction, *chance, clearer)
