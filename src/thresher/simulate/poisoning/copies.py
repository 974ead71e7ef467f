"""Attacks that copy or relabel clean rows: nothing about a planted row alone need look odd."""

import numpy as np
import scipy.sparse as sp
from numpy.random import Generator
from numpy.typing import NDArray

from thresher.simulate.adversaries.base import random_labels
from thresher.simulate.poisoning.clean_table import CleanTable, Planted, part_of, replaced
from thresher.simulate.poisoning.models import fit
from thresher.simulate.poisoning.patterns import surest_rows
from thresher.validation import FloatArray, Rows, is_sparse


def label_flip(table: CleanTable, n_rows: int, strength: float, rng: Generator) -> Planted:
    """Flipped labels of clean rows: a random draw from those a model is surest of.

    With strength 0 the draw is from all rows; with strength 1 the surest rows are taken.
    """
    margins = table.margins(fit(table))
    n_candidates = n_rows + round((1 - strength) * (table.n_rows - n_rows))
    surest = np.argsort(-margins, kind="stable")[:n_candidates]
    flipped = rng.choice(surest, size=n_rows, replace=False)
    return Planted(rows=table.rows[:0], signs=np.zeros(0), flipped=flipped)


def boundary_flip(table: CleanTable, n_rows: int, strength: float, rng: Generator) -> Planted:
    """Copies of clean rows close to a fitted boundary, on their side of it, with the other label.

    With strength 0 both classes get their share of the copies; with strength 1 the smaller class is
    copied alone, which moves the boundary into it.
    """
    margins = table.margins(fit(table))
    smaller = smaller_class(table)
    share = float((table.signs == smaller).mean())
    n_smaller = round(n_rows * (share + strength * (1 - share)))
    parts = []
    for sign, n_copies in ((smaller, n_smaller), (-smaller, n_rows - n_smaller)):
        members = np.flatnonzero(table.signs == sign)
        right = members[margins[members] > 0]
        members = right if right.size else members
        closest = members[np.argsort(np.abs(margins[members]), kind="stable")]
        parts.append(rng.permutation(np.resize(closest, n_copies)))
    copied = np.concatenate(parts)
    return Planted(rows=table.rows[copied], signs=-table.signs[copied])


def duplicated_spam(table: CleanTable, n_rows: int, strength: float, rng: Generator) -> Planted:
    """A few clean rows that a model is sure of, each copied `strength` times with a wrong label."""
    n_distinct = max(1, round(n_rows / max(strength, 1.0)))
    signs = random_labels(n_distinct, rng)
    rows = surest_rows(table, table.scores(fit(table)[:-1]), -signs, rng)
    copied = np.resize(np.arange(n_distinct), n_rows)
    return Planted(rows=rows[copied], signs=signs[copied])


def minority_erasure(table: CleanTable, n_rows: int, strength: float, rng: Generator) -> Planted:
    """Rows of the larger class labeled as the smaller one, set to the medians in some entries.

    They draw the smaller class's own medians toward the middle of the table and hardly vary around
    them, so that a filter takes the genuine rows of that class for the planted ones. Strength is
    the share of the entries that are set to the median of their column.
    """
    smaller = smaller_class(table)
    rows = table.rows[rng.choice(np.flatnonzero(table.signs != smaller), size=n_rows)]
    is_reset = rng.random(rows.shape) < strength
    center = np.where(table.columns.is_whole, np.floor(table.columns.center), table.columns.center)
    return Planted(rows=_reset(rows, is_reset, center), signs=np.full(n_rows, smaller))


def smaller_class(table: CleanTable) -> float:
    """The sign of the class with fewer rows.

    Examples
    --------
    >>> smaller_class(CleanTable(rows=np.eye(3), signs=np.array([-1.0, 1.0, 1.0])))
    -1.0
    """
    return 1.0 if float(table.signs.sum()) < 0 else -1.0


def _reset(rows: Rows, is_reset: NDArray[np.bool_], center: FloatArray) -> Rows:
    """The rows with the column's center wherever they are to be reset."""
    if not is_sparse(rows):
        return np.where(is_reset, center, rows)
    owners = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    kept = np.where(is_reset[owners, rows.indices], 0.0, rows.data)
    cleared = sp.csr_array((kept, rows.indices, rows.indptr), shape=rows.shape)
    features = np.flatnonzero(center)
    entries = np.where(is_reset[:, features], center[features], part_of(rows, features))
    return replaced(cleared, features, entries)
