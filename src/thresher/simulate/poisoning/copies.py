"""Attacks that copy or relabel clean rows: nothing about a planted row alone need look odd."""

import warnings

import numpy as np
import scipy.sparse as sp
from numpy.random import Generator
from numpy.typing import NDArray

from thresher.simulate.adversaries.base import random_labels
from thresher.simulate.poisoning.clean_table import CleanTable, Planted, part_of, replaced
from thresher.simulate.poisoning.models import fit
from thresher.simulate.poisoning.patterns import surest_rows
from thresher.validation import FloatArray, Rows, is_sparse

CROSSED = 0.1  # share of the entries that a jittered copy has from another one
N_FIRST = 10  # labels of each class that a foreseen learner begins with
N_ROUNDS = 20  # in which its boundary is foreseen


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


def jittered_flip(table: CleanTable, n_rows: int, strength: float, rng: Generator) -> Planted:
    """The rows of `boundary_flip`, no longer exact copies: some entries are those of another one.

    Who looks for equal rows with different labels does not find them.
    """
    flips = boundary_flip(table, n_rows, strength, rng)
    return Planted(rows=crossed(flips.rows, flips.signs, rng), signs=flips.signs)


def query_following(table: CleanTable, n_rows: int, strength: float, rng: Generator) -> Planted:
    """Rows where a learner that asks about the rows closest to its boundary will ask next.

    Such a learner is played. In every round, the rows closest to its boundary are planted with the
    other label; it buys these labels, and `strength` as many honest ones of the next rows.
    """
    # Here and not above: scikit-learn takes longer to import than the rest of the laboratory.
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    scale = 1 / table.columns.scale
    rows = table.rows @ sp.diags_array(scale) if is_sparse(table.rows) else table.rows * scale
    members = [np.flatnonzero(table.signs == sign) for sign in (-1.0, 1.0)]
    first = [rng.permutation(own)[:N_FIRST] for own in members]
    bought, signs = np.concatenate(first), table.signs[np.concatenate(first)]
    planted, free = bought[:0], np.setdiff1d(np.arange(table.n_rows), bought)
    for part in np.array_split(np.arange(n_rows), min(n_rows, N_ROUNDS)):
        with warnings.catch_warnings():  # a boundary that is nearly right will do
            warnings.simplefilter("ignore", ConvergenceWarning)
            scores = LogisticRegression().fit(rows[bought], signs).decision_function(rows)
        order = free[np.argsort(np.abs(scores[free]), kind="stable")]
        own, honest = np.split(order[: part.size + round(strength * part.size)], [part.size])
        planted = np.append(planted, own)
        bought = np.concatenate([bought, own, honest])
        signs = np.concatenate([signs, -table.signs[own], table.signs[honest]])
        free = np.setdiff1d(free, bought)
    planted = np.resize(planted, n_rows)  # more of the same, where the table has no more rows
    signs = -table.signs[planted]
    return Planted(rows=crossed(table.rows[planted], signs, rng), signs=signs)


def crossed(rows: Rows, signs: FloatArray, rng: Generator) -> Rows:
    """The rows with a tenth of their entries, at random, from others with the same sign.

    Examples
    --------
    >>> rows = np.arange(40.0).reshape(4, 10)
    >>> found = crossed(rows, np.ones(4), np.random.default_rng(0))
    >>> bool(np.isin(found % 10, np.arange(10)).all()), int((found != rows).sum())
    (True, 9)
    """
    others = np.arange(signs.size)
    for sign in np.unique(signs):
        own = np.flatnonzero(signs == sign)
        shuffled = rng.permutation(own)
        others[shuffled] = np.roll(shuffled, 1)  # never the row itself, unless it is alone
    is_taken = rng.random(rows.shape) < CROSSED
    is_taken[np.arange(signs.size), rng.integers(rows.shape[1], size=signs.size)] = True
    if not is_sparse(rows):
        return np.where(is_taken, rows[others], rows)
    mixed = sp.csr_array(rows.multiply(~is_taken) + rows[others].multiply(is_taken))
    mixed.eliminate_zeros()
    return mixed


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
