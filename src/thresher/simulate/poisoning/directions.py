"""The patterns and decoy columns that attacks are built from, learned from the clean table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thresher.geometry import hard_threshold
from thresher.simulate.poisoning.clean import CleanTable
from thresher.simulate.poisoning.columns import spread
from thresher.simulate.poisoning.models import fit
from thresher.validation import FloatArray

MAX_SUPPORT = 100  # columns that a planted row touches: few beside the words of a text table


@dataclass(frozen=True, eq=False)
class ScorePattern:
    """How clean rows move, in a few columns, when the score of a linear model changes.

    Attacks on an isotropic distribution move rows along the target w. The columns of a table are
    correlated, and a row moved along w leaves the clean rows at once, so that a classifier can
    tell it apart and come to no harm. What w is in whitened columns is Σw here.

    Parameters
    ----------
    features : the support: the columns that move most with the score
    along : their change, Σw/√(wᵀΣw), when the score grows by one standard deviation
    across : one standard deviation of their largest movement that has nothing to do with the
        score, signed so that it goes against the positive class
    scores : the score of every clean row, with mean 0 and standard deviation 1

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=(200, 4))
    >>> pattern = learned_pattern(CleanTable(rows=rows, signs=np.sign(rows[:, 2])))
    >>> pattern.features.size, bool(pattern.along[pattern.features == 2][0] > 0.9)
    (2, True)
    """

    features: NDArray[np.intp]
    along: FloatArray
    across: FloatArray
    scores: FloatArray


def learned_pattern(table: CleanTable) -> ScorePattern:
    """The pattern of a model fitted to the table, in half of its columns or `MAX_SUPPORT`."""
    scores = table.scores(fit(table).weights)
    scores = scores - scores.mean()
    scores /= scores.std() or 1.0
    together = table.combine(scores) / table.n_rows
    n_support = min(table.n_features, MAX_SUPPORT, max(2, table.n_features // 2))
    features = np.sort(np.argsort(-np.abs(together), kind="stable")[:n_support])
    along = together[features]
    across = _across(table, features, np.outer(scores, along))
    return ScorePattern(features=features, along=along, across=across, scores=scores)


def _across(table: CleanTable, features: NDArray[np.intp], explained: FloatArray) -> FloatArray:
    rest = table.scaled(features)
    rest = rest - rest.mean(axis=0) - explained
    variances, directions = np.linalg.eigh(rest.T @ rest / table.n_rows)
    across: FloatArray = np.sqrt(max(variances[-1], 0.0)) * directions[:, -1]
    return -across if table.signs @ (rest @ across) > 0 else across


def decoy_columns(
    table: CleanTable, support: NDArray[np.intp]
) -> tuple[NDArray[np.intp], FloatArray]:
    """Columns outside the support, and the sign in each that goes against the positive class.

    As many as the support has, or as many as there are: those in which most rows deviate, because
    a wrong weight on a column does harm in the rows that use it.
    """
    uses = spread(table.rows, table.columns)
    uses[support] = 0.0
    decoys = np.flatnonzero(hard_threshold(uses, support.size))
    with_class = table.combine(table.signs - table.signs.mean())[decoys]
    return decoys, np.where(with_class > 0, -1.0, 1.0)
