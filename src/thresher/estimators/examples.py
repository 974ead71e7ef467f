"""Examples: scaled rows with their signs and weights, and what fits do on those held out."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning

from thresher.estimators.folds import Fold
from thresher.estimators.trust import weighted_error
from thresher.validation import FloatArray, Rows, is_sparse

ALL_ROWS = 0  # the number of the fit to all rows; folds count from 1
Columns = dict[int, NDArray[np.intp]]  # of the fit to each fold, and to all rows
Places = NDArray[np.intp] | slice
Scores = Callable[[Rows], FloatArray]  # of rows, by a fitted model


@dataclass(frozen=True, eq=False)
class Examples:
    """Scaled rows with their signs, the trust to fit with, and the folds to compare fits on.

    Parameters
    ----------
    rows : (n, d) dense or CSR, scaled and clipped
    signs : (n,) of -1 and +1
    weights : (n,) the weight of each row in a fit
    judge : (n,) the weight of each row when it is held out
    folds : to compare fits on
    with_intercept : whether to fit an intercept
    seed : of the solver
    costs : (n,) of the class of each row, which multiply both weights; ones if None
    columns : that the fit to each fold, and to all rows, may use; all if it is not named
    groups : (n,) a number for each set of equal rows; None: all differ
    """

    rows: Rows
    signs: FloatArray
    weights: FloatArray
    judge: FloatArray
    folds: Sequence[Fold]
    with_intercept: bool = True
    seed: int = 0
    costs: FloatArray | None = None
    columns: Columns = field(default_factory=dict)
    groups: NDArray[np.intp] | None = None

    def n_distinct(self, chosen: Places | NDArray[np.bool_] = slice(None)) -> int:
        """The number of these rows; equal ones count as one."""
        numbers = np.arange(self.signs.size) if self.groups is None else self.groups
        return int(np.unique(numbers[chosen]).size)

    def fit(
        self, model: Any, train: Places = slice(None), columns: NDArray[np.intp] | None = None
    ) -> Any:
        """The model, fitted to these rows with their weights; columns: all if None."""
        checked = {"assume_finite": True, "skip_parameter_validation": True}
        with warnings.catch_warnings(), config_context(**checked):
            warnings.simplefilter("ignore", ConvergenceWarning)  # it ends the path
            rows = taken(self.rows, columns, train)
            return model.fit(rows, self.signs[train], self.weights_of(train))

    def weights_of(self, train: Places) -> FloatArray:
        """The weights of these rows; ones if none of them has any."""
        weights = self.weights[train]
        return weights if weights.any() else np.ones(weights.size)

    def held_out(self, fit: Callable[[Fold], Scores]) -> "HeldOut":
        """What models that are fitted to the training rows of each fold do on the others."""
        wrong, errors = np.zeros(self.signs.size, dtype=np.bool_), []
        scores = np.full(self.signs.size, np.nan)
        for fold in self.folds:
            signs = self.signs[fold.test]
            scores[fold.test] = fit(fold)(self.rows[fold.test])
            wrong[fold.test] = np.where(scores[fold.test] > 0, 1.0, -1.0) != signs
            costs = None if self.costs is None else self.costs[fold.test]
            errors.append(weighted_error(wrong[fold.test], signs, self.judge[fold.test], costs))
        return HeldOut(tuple(errors), wrong, scores)


@dataclass(frozen=True, eq=False)
class HeldOut:
    """The trust-weighted error on each fold, and what came out for the rows when held out.

    `wrong` says which rows were wrong; `scores` is the decision function, NaN for rows that were
    never held out.
    """

    errors: tuple[float, ...]
    wrong: NDArray[np.bool_]
    scores: FloatArray

    def spread(self, places: NDArray[np.intp], n_rows: int) -> "HeldOut":
        """The same for a table in which these rows have the given places."""
        wrong, scores = np.zeros(n_rows, dtype=np.bool_), np.full(n_rows, np.nan)
        wrong[places], scores[places] = self.wrong, self.scores
        return replace(self, wrong=wrong, scores=scores)

    @property
    def error(self) -> float:
        """The mean over the folds."""
        return float(np.mean(self.errors))


def taken(rows: Rows, columns: NDArray[np.intp] | None, places: Places = slice(None)) -> Rows:
    """These columns and places of the rows; all columns if they are None."""
    if columns is not None and not is_sparse(rows):
        return rows[np.ix_(np.arange(rows.shape[0])[places], columns)]
    is_all = isinstance(places, slice) and places == slice(None)
    part = rows if is_all else rows[places]
    return part if columns is None else part[:, columns]
