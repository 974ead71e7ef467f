"""Attacks by one pattern: clean rows of one class, moved deeper into it, labeled as the other.

Planted rows start as copies of clean rows of the class that they are not labeled as, drawn from
the quarter that a fitted model is surest of. Copies of rows with the right label would look right
in every column that the attack leaves alone, and a classifier that uses many columns would hardly
notice; copies of rows near the boundary weigh little.
"""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from thresher.geometry import hard_threshold
from thresher.simulate.adversaries.base import random_labels
from thresher.simulate.poisoning.clean_table import (
    CleanTable,
    Planted,
    part_of,
    replaced,
    spread,
)
from thresher.simulate.poisoning.models import fit
from thresher.validation import FloatArray, Rows

MAX_SUPPORT = 100  # columns that a planted row touches: few beside the words of a text table
_SUREST_SHARE = 0.25


@dataclass(frozen=True, eq=False)
class ScorePattern:
    """How clean rows move, in a few columns, when the score of a linear model changes.

    Attacks on an isotropic distribution move rows along the target w. The columns of a table are
    correlated, and a row moved along w leaves the clean rows at once, so that a classifier can
    tell it apart and is not harmed. What w is in whitened columns is Σw here.

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
    scores = table.scores(fit(table)[:-1])
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

    As many columns as the support has, if there are enough: those in which most rows deviate,
    because a wrong weight on a column does harm in the rows that use it.
    """
    uses = spread(table.rows, table.columns)
    uses[support] = 0.0
    decoys = np.flatnonzero(hard_threshold(uses, support.size))
    with_class = table.combine(table.signs - table.signs.mean())[decoys]
    return decoys, np.where(with_class > 0, -1.0, 1.0)


def far_clump(table: CleanTable, n_rows: int, strength: float, rng: Generator) -> Planted:
    """Rows far out on the wrong side: moved by −y·c·(pattern along the score)."""
    pattern = learned_pattern(table)
    return _moved_along(table, n_rows, pattern, -strength * pattern.along, rng)


def on_support_tilt(table: CleanTable, n_rows: int, strength: float, rng: Generator) -> Planted:
    """Rows that tilt the halfspace within its own columns: moved by y·c·(across − along)/√2."""
    pattern = learned_pattern(table)
    step = strength * (pattern.across - pattern.along) / np.sqrt(2)
    return _moved_along(table, n_rows, pattern, step, rng)


def _moved_along(
    table: CleanTable,
    n_rows: int,
    pattern: ScorePattern,
    step: FloatArray,
    rng: Generator,
) -> Planted:
    signs = random_labels(n_rows, rng)
    rows = surest_rows(table, pattern.scores, -signs, rng)
    return _moved(table, rows, signs, (pattern.features, np.outer(signs, step)), rng)


def linf_hijack(table: CleanTable, n_rows: int, strength: float, rng: Generator) -> Planted:
    """Support and decoy columns moved by a share c of the way to an edge of their range.

    To the upper edge where y·(1_J·against − sgn(along)·1_S) is positive, else to the lower edge.
    """
    columns, pattern = table.columns, learned_pattern(table)
    decoys, against = decoy_columns(table, pattern.features)
    features = np.append(pattern.features, decoys)
    signs = random_labels(n_rows, rng)
    rows = surest_rows(table, pattern.scores, -signs, rng)
    towards = np.outer(signs, np.append(-np.sign(pattern.along), against))
    edges = np.where(towards > 0, columns.highest[features], columns.lowest[features])
    steps = strength * (edges - part_of(rows, features)) / columns.scale[features]
    return _moved(table, rows, signs, (features, steps), rng)


def surest_rows(table: CleanTable, scores: FloatArray, signs: FloatArray, rng: Generator) -> Rows:
    """A copy of a random row of the wanted class, among its surest, for each of the signs."""
    copied = np.empty(signs.size, dtype=np.intp)
    for sign in (-1.0, 1.0):
        members, places = np.flatnonzero(table.signs == sign), np.flatnonzero(signs == sign)
        surest = members[np.argsort(-sign * scores[members], kind="stable")]
        n_candidates = int(np.ceil(_SUREST_SHARE * members.size))
        copied[places] = rng.choice(surest[:n_candidates], size=places.size)
    return table.rows[copied]


def _moved(
    table: CleanTable,
    rows: Rows,
    signs: FloatArray,
    move: tuple[NDArray[np.intp], FloatArray],
    rng: Generator,
) -> Planted:
    features, steps = move
    entries = table.columns.moved(part_of(rows, features), steps, features, rng)
    return Planted(rows=replaced(rows, features, entries), signs=signs)
