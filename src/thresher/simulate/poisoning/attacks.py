"""The attacks on tables by name: what each plants, and the strengths it takes.

An attack by one pattern moves clean rows of one class deeper into it and labels them as the other.
Planted rows start as copies of clean rows of the class that they are not labeled as, drawn from
the quarter that a fitted model is surest of. Copies of rows with the right label would look right
in every column that the attack leaves alone, and a classifier that uses many columns would hardly
notice; copies of rows near the boundary weigh little.
"""

from collections.abc import Callable
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
from thresher.simulate.poisoning.decoys import min_max, model_targeted
from thresher.simulate.poisoning.models import fit
from thresher.validation import FloatArray, Rows, check_number

LABEL_FLIP = "label-flip"  # the one attack that plants no rows
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
    rows = _surest_rows(table, pattern.scores, -signs, rng)
    return _moved(table, rows, signs, (pattern.features, np.outer(signs, step)), rng)


def linf_hijack(table: CleanTable, n_rows: int, strength: float, rng: Generator) -> Planted:
    """Support and decoy columns moved by a share c of the way to an edge of their range.

    To the upper edge where y·(1_J·against − sgn(along)·1_S) is positive, else to the lower edge.
    """
    columns, pattern = table.columns, learned_pattern(table)
    decoys, against = decoy_columns(table, pattern.features)
    features = np.append(pattern.features, decoys)
    signs = random_labels(n_rows, rng)
    rows = _surest_rows(table, pattern.scores, -signs, rng)
    towards = np.outer(signs, np.append(-np.sign(pattern.along), against))
    edges = np.where(towards > 0, columns.highest[features], columns.lowest[features])
    steps = strength * (edges - part_of(rows, features)) / columns.scale[features]
    return _moved(table, rows, signs, (features, steps), rng)


def _surest_rows(table: CleanTable, scores: FloatArray, signs: FloatArray, rng: Generator) -> Rows:
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


def label_flip(table: CleanTable, n_rows: int, strength: float, rng: Generator) -> Planted:
    """Flipped labels of clean rows: a random draw from those a model is surest of.

    With strength 0 the draw is from all rows; with strength 1 the surest rows are taken.
    """
    margins = table.margins(fit(table))
    n_candidates = n_rows + round((1 - strength) * (table.n_rows - n_rows))
    surest = np.argsort(-margins, kind="stable")[:n_candidates]
    flipped = rng.choice(surest, size=n_rows, replace=False)
    return Planted(rows=table.rows[:0], signs=np.zeros(0), flipped=flipped)


@dataclass(frozen=True)
class Attack:
    """How an attack plants its rows, and the strengths it takes.

    Parameters
    ----------
    plant : makes the planted rows from the clean table
    strengths : the strengths to try
    usual : the default strength
    largest : the largest strength that makes sense

    Examples
    --------
    >>> ATTACKS["linf-hijack"].check_strength(None)
    0.1
    """

    plant: Callable[[CleanTable, int, float, Generator], Planted]
    strengths: tuple[float, ...]
    usual: float
    largest: float = np.inf

    def check_strength(self, strength: object | None) -> float:
        """The strength as a number in range; None stands for the usual one."""
        if strength is None:
            return self.usual
        number = check_number(strength, "strength")
        if not 0 <= number <= self.largest:
            top = "" if self.largest == np.inf else f" and at most {self.largest:g}"
            raise ValueError(f"strength must be at least 0{top}, got {number:g}")
        return number


_SHARES = (0.2, 0.4, 0.8)  # of labels that a decoy model gets wrong on purpose
ATTACKS: dict[str, Attack] = {
    "far-clump": Attack(far_clump, (1.0, 2.0, 4.0, 8.0, 16.0), usual=4.0),
    "on-support-tilt": Attack(on_support_tilt, (1.0, 2.0, 4.0, 8.0, 16.0), usual=4.0),
    "linf-hijack": Attack(linf_hijack, (0.03, 0.1, 0.3, 1.0), usual=0.1, largest=1.0),
    LABEL_FLIP: Attack(label_flip, (0.0, 0.5, 1.0), usual=0.0, largest=1.0),
    "model-targeted": Attack(model_targeted, _SHARES, usual=0.4, largest=1.0),
    "min-max": Attack(min_max, _SHARES, usual=0.4, largest=1.0),
}

# By attack, the strengths among which an adversary looks for the worst.
POISON_STRENGTHS: dict[str, tuple[float, ...]] = {
    name: attack.strengths for name, attack in ATTACKS.items()
}
