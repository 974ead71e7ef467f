"""The final model: the halfspace of Algorithm 1, or a penalized fit to the rows it trusts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.estimators.agreement import agreement
from thresher.estimators.checks import Settings, check_two_classes, class_weights
from thresher.estimators.evidence import CLEARLY, Evidence, compare_with_chance, improvement
from thresher.estimators.folds import Fold
from thresher.estimators.penalized import (
    Examples,
    PenalizedFit,
    best_penalized,
    with_short_indices,
)
from thresher.estimators.screening import promising_columns
from thresher.estimators.trust import keep_every_class
from thresher.validation import FloatArray, Rows, is_sparse

MOST_DENSE_COLUMNS = 2000  # of a penalized fit to dense rows; to sparse ones, all
FARTHEST = 1e6  # largest entry of a penalized fit: its solver needs ordinary numbers


@dataclass(frozen=True, eq=False)
class Judgment:
    """The trust that the final model is fitted and compared with, and the best penalized fit.

    Parameters
    ----------
    trust : (n,) the weight of each row; all ones if nothing stands out
    agreement : (n,) the factor of that weight for rows that contradict the others
    evidence : what stands out
    penalized : the best penalized fit to the trusted rows
    """

    trust: FloatArray
    agreement: FloatArray
    evidence: Evidence
    penalized: PenalizedFit


class PenalizedFits:
    """Penalized fits to one table, with the scaling of a fitted halfspace.

    Departure: Algorithm 1 ends with its last halfspace.

    Parameters
    ----------
    fitted : a `HalfspaceClassifier` after its phases
    rows, labels : the table that it was fitted to
    folds : to compare fits on
    """

    def __init__(self, fitted: Any, rows: Rows, labels: Any, folds: Sequence[Fold]) -> None:
        self._settings = Settings.of(fitted)
        _, self._signs = check_two_classes(labels)
        self._fitted, self._folds = fitted, folds
        given = self._settings.class_weight
        self._costs = None if given is None else class_weights(given, labels)
        self._columns = self._useful_columns(rows)
        part = rows if self._columns.size == rows.shape[1] else rows[:, self._columns]
        scaling = fitted.scaling_.take(self._columns)
        limited = replace(scaling, reach=min(scaling.reach, FARTHEST))
        self._scaled = with_short_indices(limited.apply(part))

    def _useful_columns(self, rows: Rows) -> NDArray[np.intp]:
        if self._settings.most_features is not None:
            columns: NDArray[np.intp] = self._fitted.columns_
            return columns
        at_most = rows.shape[1] if is_sparse(rows) else MOST_DENSE_COLUMNS
        known = self._fitted.scaling_ if self._settings.scale else None
        promising = promising_columns(rows, self._signs, at_most, known)
        return np.union1d(promising, self._fitted.columns_)

    def fit(self, weights: FloatArray, judge: FloatArray) -> PenalizedFit:
        """The best fit to rows of these weights, compared on held-out rows by those of `judge`."""
        examples = Examples(
            rows=self._scaled,
            signs=self._signs,
            weights=weights if self._costs is None else weights * self._costs,
            judge=judge,
            costs=self._costs,
            folds=self._folds,
            with_intercept=self._settings.fit_intercept,
            seed=self._settings.seed,
        )
        best = best_penalized(examples, self._settings.most_features)
        return replace(best, columns=self._columns)

    def judge(self) -> Judgment:
        """Whether the halfspace's trust is used: only if rows stand out.

        Departure: Algorithm 2 removes the outlier fraction whether or not anything stands out.
        """
        everyone, agreed = np.ones(self._signs.size), self._agreement()
        trust = keep_every_class(self._fitted.row_weights_ * agreed, self._signs)
        plain = self.fit(everyone, everyone)
        trusted = plain if (trust == 1).all() else self.fit(trust, trust)
        clearer = improvement(plain.held_out.wrong, trusted.held_out.wrong, self._signs, trust)
        evidence = self._evidence(clearer)
        if evidence.stands_out:
            return Judgment(trust, agreed, evidence, trusted)
        return Judgment(everyone, everyone, evidence, plain)

    @property
    def _watched(self) -> Rows:
        """The scaled columns that the phases looked at; a copy, which is not kept."""
        return self._scaled[:, np.searchsorted(self._columns, self._fitted.columns_)]

    def _agreement(self) -> FloatArray:
        if not self._settings.label_aware:
            return np.ones(self._signs.size)
        return agreement(
            self._watched,
            self._signs,
            self._fitted.row_weights_,
            self._folds,
            share=self._settings.noise_rate,
            seed=self._settings.seed,
        )

    def _evidence(self, clearer: float) -> Evidence:
        first, seen = self._fitted.phases_[0].phase, self._fitted.columns_
        fraction = first.outlier_fraction
        chance = (np.nan, np.nan, np.nan)
        if clearer <= CLEARLY and fraction > 0:
            chance = compare_with_chance(
                self._watched,
                self._signs,
                l1_ratio=first.removal_l1_radius / first.l2_radius,
                outlier_fraction=fraction,
                seed=self._settings.seed,
            )
        return Evidence(self._signs.size, seen.size, fraction, *chance, clearer)
