"""The attacks on tables by name: what each plants, and the strengths it takes.

An attack by one pattern moves clean rows of one class deeper into it and labels them as the other.
Planted rows start as copies of clean rows of the class that they are not labeled as, drawn from
the quarter that a fitted model is surest of. Copies of rows with the right label would look right
in every column that the attack leaves alone, and a classifier that uses many columns would hardly
notice; copies of rows near the boundary weigh little.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from thresher.simulate.adversaries.base import random_labels
from thresher.simulate.poisoning.clean_table import CleanTable, Planted, part_of, replaced
from thresher.simulate.poisoning.decoys import min_max, model_targeted
from thresher.simulate.poisoning.models import decoy_columns, fit, learned_pattern
from thresher.validation import FloatArray, Rows, check_number

Planter: TypeAlias = Callable[[CleanTable, int, float, np.random.Generator], Planted]

LABEL_FLIP = "label-flip"  # the one attack that plants no rows
_SUREST_SHARE = 0.25


def far_clump(table: CleanTable, n_rows: int, strength: float, rng: np.random.Generator) -> Planted:
    """Rows far out on the wrong side: moved by −y·c·(pattern along the score)."""
    pattern, signs = learned_pattern(table), random_labels(n_rows, rng)
    rows = _surest_rows(table, pattern.scores, -signs, rng)
    steps = np.outer(signs, -strength * pattern.along)
    return _moved(table, Planted(rows=rows, signs=signs), pattern.features, steps, rng)


def on_support_tilt(
    table: CleanTable, n_rows: int, strength: float, rng: np.random.Generator
) -> Planted:
    """Rows that tilt the halfspace within its own columns: moved by y·c·(across − along)/√2."""
    pattern, signs = learned_pattern(table), random_labels(n_rows, rng)
    rows = _surest_rows(table, pattern.scores, -signs, rng)
    steps = np.outer(signs, strength * (pattern.across - pattern.along) / np.sqrt(2))
    return _moved(table, Planted(rows=rows, signs=signs), pattern.features, steps, rng)


def linf_hijack(
    table: CleanTable, n_rows: int, strength: float, rng: np.random.Generator
) -> Planted:
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
    return _moved(table, Planted(rows=rows, signs=signs), features, steps, rng)


def _surest_rows(
    table: CleanTable, scores: FloatArray, signs: FloatArray, rng: np.random.Generator
) -> Rows:
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
    copied: Planted,
    features: NDArray[np.intp],
    steps: FloatArray,
    rng: np.random.Generator,
) -> Planted:
    own = part_of(copied.rows, features)
    entries = table.columns.moved(own, steps, features, rng)
    return Planted(rows=replaced(copied.rows, features, entries), signs=copied.signs)


def flipped_rows(
    table: CleanTable, n_rows: int, strength: float, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Clean rows whose labels are to be flipped: a draw from those a model is surest of.

    With strength 0 the draw is from all rows; with strength 1 the surest rows are taken.
    """
    model = fit(table)
    margins = table.signs * (table.scores(model.weights) + model.intercept)
    n_candidates = n_rows + round((1 - strength) * (table.n_rows - n_rows))
    surest = np.argsort(-margins, kind="stable")[:n_candidates]
    return rng.choice(surest, size=n_rows, replace=False)


@dataclass(frozen=True)
class StrengthRange:
    """The strengths to try, the usual one, and the largest that means anything.

    Examples
    --------
    >>> StrengthRange(grid=(1.0, 2.0), usual=2.0).checked(None)
    2.0
    """

    grid: tuple[float, ...]
    usual: float
    largest: float = np.inf

    def checked(self, strength: object | None) -> float:
        """The strength as a number in range; the usual one if there is none."""
        if strength is None:
            return self.usual
        number = check_number(strength, "strength")
        if not 0 <= number <= self.largest:
            top = "" if self.largest == np.inf else f" and at most {self.largest:g}"
            raise ValueError(f"strength must be at least 0{top}, got {number:g}")
        return number


PLANTERS: dict[str, Planter] = {
    "far-clump": far_clump,
    "on-support-tilt": on_support_tilt,
    "linf-hijack": linf_hijack,
    "model-targeted": model_targeted,
    "min-max": min_max,
}

STRENGTHS: dict[str, StrengthRange] = {
    "far-clump": StrengthRange(grid=(1.0, 2.0, 4.0, 8.0, 16.0), usual=4.0),
    "on-support-tilt": StrengthRange(grid=(1.0, 2.0, 4.0, 8.0, 16.0), usual=4.0),
    "linf-hijack": StrengthRange(grid=(0.03, 0.1, 0.3, 1.0), usual=0.1, largest=1.0),
    LABEL_FLIP: StrengthRange(grid=(0.0, 0.5, 1.0), usual=0.0, largest=1.0),
    "model-targeted": StrengthRange(grid=(0.2, 0.4, 0.8), usual=0.4, largest=1.0),
    "min-max": StrengthRange(grid=(0.2, 0.4, 0.8), usual=0.4, largest=1.0),
}

# By attack, the strengths among which an adversary looks for the worst.
POISON_STRENGTHS: dict[str, tuple[float, ...]] = {
    name: strengths.grid for name, strengths in STRENGTHS.items()
}
