"""The attack on a filter: rows chosen for the trust that it gives them."""

import copy
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.random import Generator
from numpy.typing import NDArray

from thresher.simulate.adversaries.base import random_labels
from thresher.simulate.poisoning.clean_table import (
    CleanTable,
    Planted,
    measure_columns,
    part_of,
    replaced,
    scaled_norms,
)
from thresher.simulate.poisoning.models import fit
from thresher.simulate.poisoning.patterns import learned_pattern
from thresher.validation import FloatArray, Rows, is_sparse

_N_ROUNDS = 4
_STRETCHES = (0.7, 1.4)  # of a move, when it is varied

# The trust of a filter in every row of a table, given the number of those that are planted.
Filter: TypeAlias = Callable[[CleanTable, int], FloatArray]


@dataclass(frozen=True, eq=False)
class Candidates:
    """Planted rows in the making: clean rows of one class, moved deeper into it.

    Parameters
    ----------
    signs : label of each row, that of the other class
    origins : position of the clean row that each starts from
    moves : (n, k) scaled steps in the columns of a pattern
    """

    signs: FloatArray
    origins: NDArray[np.intp]
    moves: FloatArray

    def rows(self, table: CleanTable, features: NDArray[np.intp], rng: Generator) -> Rows:
        """The rows that they stand for."""
        rows = table.rows[self.origins]
        entries = table.columns.moved(part_of(rows, features), self.moves, features, rng)
        return replaced(rows, features, entries)


def filter_of_classifier(classifier: Any) -> Filter:
    """The filter of a classifier that has `row_weights_` once it is fitted."""

    def trust_of(table: CleanTable, _: int) -> FloatArray:
        fitted = copy.deepcopy(classifier)
        with warnings.catch_warnings(action="ignore"):
            fitted.fit(table.rows, table.signs)
        trust: FloatArray = fitted.row_weights_
        return trust

    return trust_of


def plain_filter(table: CleanTable, n_planted: int) -> FloatArray:
    """No trust in rows with a large loss, nor in those far from the median of their class.

    Of either kind as many as there are planted rows: a norm filter and a trimmed loss in one.

    Examples
    --------
    >>> rows = np.array([[1.0], [1.1], [1.2], [9.0], [-1.1], [-1.2], [-1.3], [1.0]])
    >>> table = CleanTable(rows=rows, signs=np.repeat([1.0, -1.0], 4))
    >>> plain_filter(table, 1)
    array([1., 1., 1., 0., 1., 1., 1., 0.])
    """
    distances = np.empty(table.n_rows)
    for sign in (-1.0, 1.0):
        own = np.flatnonzero(table.signs == sign)
        center = measure_columns(table.rows[own]).center
        distances[own] = scaled_norms(table.rows[own], replace(table.columns, center=center))
    trust = np.ones(table.n_rows)
    for suspicion in (distances, -table.margins(fit(table))):
        trust[np.argsort(-suspicion, kind="stable")[:n_planted]] = 0.0
    return trust


def trust_keeping(
    table: CleanTable,
    n_rows: int,
    strength: float,
    rng: Generator,
    trust_of: Filter = plain_filter,
) -> Planted:
    """Rows that push a model the wrong way and keep the trust of a filter.

    The filter meets clean and planted rows in each of a few rounds. The half of the planted rows
    with the largest trust times push stay, and variations of them, with longer or shorter moves,
    replace the others. Strength is the longest move, in standard deviations of a fitted model's
    score.
    """
    pattern = learned_pattern(table)
    model = fit(table)
    longest = strength * np.abs(pattern.along)
    signs = random_labels(n_rows, rng)
    # Each row moves in about half of the columns: a filter finds what many rows have in common.
    is_moved = rng.uniform(size=(n_rows, longest.size)) < 0.5
    moves = -np.outer(signs * strength * rng.uniform(size=n_rows), pattern.along) * is_moved
    candidates = Candidates(signs, _origins(table, signs, rng), moves)
    for _ in range(_N_ROUNDS):
        rows = candidates.rows(table, pattern.features, rng)
        trust = trust_of(_with_rows(table, rows, candidates.signs), n_rows)[table.n_rows :]
        worth = trust * push(table, rows, candidates.signs, model)
        n_best = max(1, min(np.count_nonzero(worth), n_rows // 2))
        best = np.argsort(-worth, kind="stable")[:n_best]
        candidates = _next_round(candidates, best, longest, rng)
    return Planted(candidates.rows(table, pattern.features, rng), candidates.signs)


def _next_round(
    last: Candidates, best: NDArray[np.intp], longest: FloatArray, rng: Generator
) -> Candidates:
    """The best candidates, and as many variations of them as there were others."""
    parents = rng.choice(best, size=last.signs.size - best.size)
    stretches = rng.uniform(*_STRETCHES, size=(parents.size, 1))
    varied = np.clip(stretches * last.moves[parents], -longest, longest)
    chosen = np.append(best, parents)
    return Candidates(
        last.signs[chosen], last.origins[chosen], np.vstack([last.moves[best], varied])
    )


def _origins(table: CleanTable, signs: FloatArray, rng: Generator) -> NDArray[np.intp]:
    """For each sign a random clean row of the other class."""
    origins = np.empty(signs.size, dtype=np.intp)
    for sign in (-1.0, 1.0):
        places = np.flatnonzero(signs == sign)
        origins[places] = rng.choice(np.flatnonzero(table.signs == -sign), size=places.size)
    return origins


def _with_rows(table: CleanTable, rows: Rows, signs: FloatArray) -> CleanTable:
    parts = [table.rows, rows]
    both = sp.vstack(parts, format="csr") if is_sparse(rows) else np.vstack(parts)
    return CleanTable(rows=both, signs=np.append(table.signs, signs))


def push(table: CleanTable, rows: Rows, signs: FloatArray, model: FloatArray) -> FloatArray:
    """How far the rows are on the wrong side of a model that was fitted to clean rows."""
    per_unit = model[:-1] / table.columns.scale
    scores = np.asarray(rows @ per_unit) - float(table.columns.center @ per_unit) + model[-1]
    return np.maximum(-signs * scores, 0.0)
