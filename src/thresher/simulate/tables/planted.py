"""Attacks by one pattern: clean rows of one class, moved deeper into it and labeled as the other.

Planted rows start as copies of clean rows of the class that they are not labeled as. Copies of the
other class would look right in every column that the attack leaves alone, and a classifier that
uses many columns would hardly notice.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thresher.simulate.adversaries.directions import random_labels
from thresher.simulate.tables.clean import CleanTable, part_of, replaced
from thresher.simulate.tables.directions import decoy_columns, learned_pattern
from thresher.simulate.tables.models import fit
from thresher.validation import FloatArray, Rows


@dataclass(frozen=True, eq=False)
class Planted:
    """Rows to be added to a table, dense or CSR as the table is, and their labels of ±1."""

    rows: Rows
    signs: FloatArray


def far_clump(table: CleanTable, n_rows: int, strength: float, rng: np.random.Generator) -> Planted:
    """Rows far out on the wrong side: moved by −y·c·(pattern along the score)."""
    pattern = learned_pattern(table)
    return _moved(table, n_rows, pattern.features, -strength * pattern.along, rng)


def on_support_tilt(
    table: CleanTable, n_rows: int, strength: float, rng: np.random.Generator
) -> Planted:
    """Rows that tilt the halfspace within its own columns: moved by y·c·(across − along)/√2."""
    pattern = learned_pattern(table)
    step = strength * (pattern.across - pattern.along) / np.sqrt(2)
    return _moved(table, n_rows, pattern.features, step, rng)


def _moved(
    table: CleanTable,
    n_rows: int,
    features: NDArray[np.intp],
    step: FloatArray,
    rng: np.random.Generator,
) -> Planted:
    signs = random_labels(n_rows, rng)
    rows = table.rows_of(-signs, rng)
    own = part_of(rows, features)
    entries = table.columns.moved(own, np.outer(signs, step), features, rng)
    return Planted(rows=replaced(rows, features, entries), signs=signs)


def linf_hijack(
    table: CleanTable, n_rows: int, strength: float, rng: np.random.Generator
) -> Planted:
    """Support and decoy columns at a share c of the way from their center to the edge they allow.

    Towards the upper edge where y·(1_J·against − sgn(along)·1_S) is positive, else the lower edge.
    """
    columns, pattern = table.columns, learned_pattern(table)
    decoys, against = decoy_columns(table, pattern.features)
    features = np.append(pattern.features, decoys)
    signs = random_labels(n_rows, rng)
    towards = np.outer(signs, np.append(-np.sign(pattern.along), against))
    edges = np.where(towards > 0, columns.upper[features], columns.lower[features])
    entries = columns.moved(columns.center[features], strength * edges, features, rng)
    return Planted(rows=replaced(table.rows_of(-signs, rng), features, entries), signs=signs)


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
