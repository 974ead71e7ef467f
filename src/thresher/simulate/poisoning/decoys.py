"""Attacks that steer a learner toward a decoy model, point by point, inside a feasible set.

Both play the same game: find the feasible point where the learner's loss exceeds the decoy's most,
plant copies of it, let the learner respond. They differ in the response that they foresee.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from thresher.simulate.poisoning.clean_table import (
    CleanTable,
    Columns,
    Planted,
    n_moved,
    placed,
    replaced,
    scaled_norms,
)
from thresher.simulate.poisoning.models import Addition, fit, logistic_loss, risk, smoothness
from thresher.validation import FloatArray, Rows, is_sparse

_N_REFITS = 20
_STEPS_PER_REFIT = 10  # from the last fit, which is close
_N_GRADIENT_STEPS = 100
_STEP_LENGTH = 3.0  # times the safe one; a heuristic: overshooting calls up more points
_BLENDS = np.linspace(0.0, 1.0, 5)
_QUANTILE = 0.99

# What the learner makes of the table when the last of the added points is new.
Response: TypeAlias = Callable[[FloatArray, list[Addition]], FloatArray]


def model_targeted(table: CleanTable, n_rows: int, strength: float, rng: Generator) -> Planted:
    """Points against a learner that is fitted anew after each of them (Suya et al. 2021)."""

    def refitted(learner: FloatArray, added: list[Addition]) -> FloatArray:
        return fit(table, added, learner, max_steps=_STEPS_PER_REFIT)

    return _steered(table, n_rows, strength, _N_REFITS, refitted, rng)


def min_max(table: CleanTable, n_rows: int, strength: float, rng: Generator) -> Planted:
    """Points against a learner that takes one gradient step after each of them.

    The step is taken as if the whole budget lay on the last point (Koh, Steinhardt and Liang).
    """
    step = _STEP_LENGTH / smoothness(table)

    def stepped(learner: FloatArray, added: list[Addition]) -> FloatArray:
        point, sign, _ = added[-1]
        _, gradient = risk(learner, table, [(point, sign, n_rows)])
        return learner - step * gradient

    return _steered(table, n_rows, strength, _N_GRADIENT_STEPS, stepped, rng)


def decoy_model(table: CleanTable, clean: FloatArray, flipped_share: float) -> FloatArray:
    """A model fitted to the table with wrong labels where the clean model is surest.

    The labels are flipped in this share of the rows of each class. Few rows with large scores do
    more harm than many near the boundary.

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=(200, 2))
    >>> table = CleanTable(rows=rows, signs=np.sign(rows[:, 0]))
    >>> bool(decoy_model(table, fit(table), 0.8)[0] < 0)
    True
    """
    margins = table.margins(clean)
    signs = table.signs.copy()
    for sign in (-1.0, 1.0):
        members = np.flatnonzero(table.signs == sign)
        surest = members[np.argsort(-margins[members], kind="stable")]
        signs[surest[: round(flipped_share * members.size)]] = -sign
    return fit(CleanTable(rows=table.rows, signs=signs))


def _steered(
    table: CleanTable,
    n_rows: int,
    strength: float,
    n_points: int,
    response: Response,
    rng: Generator,
) -> Planted:
    """Copies of the points that are worst for the learner at the time they are added."""
    parts = np.array_split(np.arange(n_rows), min(n_rows, n_points))
    counts = np.array([part.size for part in parts], dtype=np.intp)
    learner = fit(table)
    decoy = decoy_model(table, learner, strength)
    sets = {sign: feasible_set(table, sign) for sign in (-1.0, 1.0)}
    added: list[Addition] = []
    for count in counts:
        added.append((*worst_point(learner, decoy, sets), int(count)))
        learner = response(learner, added)
    points, signs = np.array([point for point, _, _ in added]), [sign for _, sign, _ in added]
    radii = np.array([sets[sign].radius for sign in signs])
    rows = copies_of(points, counts, radii, table, rng)
    return Planted(rows=rows, signs=np.repeat(signs, counts))


def worst_point(
    learner: FloatArray, decoy: FloatArray, sets: dict[float, "FeasibleSet"]
) -> tuple[FloatArray, float]:
    """The feasible point z and label y of largest loss(learner; z, y) − loss(decoy; z, y).

    Where the difference is stationary, z is the farthest feasible point along
    y·(λ·decoy − learner), λ being the ratio of the two slopes of the loss: a few λ in [0, 1] are
    tried. A larger λ would mean that the decoy errs more than the learner there.
    """
    best, best_point, best_sign = -np.inf, np.zeros(learner.size - 1), 1.0
    for sign, feasible in sets.items():
        for blend in _BLENDS:
            point = feasible.farthest(sign * (blend * decoy - learner)[:-1])
            margins = sign * np.array([point @ m[:-1] + m[-1] for m in (learner, decoy)])
            excess = float(-np.diff(logistic_loss(margins))[0])
            if excess > best:
                best, best_point, best_sign = excess, point, sign
    return best_point, best_sign


# -- the feasible set ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FeasibleSet:
    """Scaled rows within the range of every column that are not larger than clean rows of a class.

    Two sizes are limited to the 99% quantile of the class: the norm, and the number of entries
    away from the column's center (for text: the number of distinct words).

    Parameters
    ----------
    columns : the range of every column
    radius : the largest norm of a scaled row
    max_moved : the largest number of entries away from the center

    Examples
    --------
    >>> rows = np.array([[0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [3.0, 1.0]])
    >>> feasible = feasible_set(CleanTable(rows=rows, signs=np.ones(4)), 1.0)
    >>> feasible.max_moved, feasible.farthest(np.array([1.0, -1.0])).round(3)
    (2, array([2.309, 0.   ]))
    """

    columns: Columns
    radius: float
    max_moved: int

    def farthest(self, gain: FloatArray) -> FloatArray:
        """The row z that maximizes gain·z among rows that move the columns of largest gain.

        By the conditions of optimality z = clip(t·gain, lower, upper), with t as large as the norm
        allows. Which columns to move is a heuristic: those in which a step gains most.
        """
        lower, upper = self.columns.lower, self.columns.upper
        edge = np.where(gain > 0, upper, np.where(gain < 0, lower, 0.0))
        worth = np.where(edge != 0, np.abs(gain), 0.0)
        if self.max_moved < np.count_nonzero(worth):
            worth[np.argsort(-worth, kind="stable")[self.max_moved :]] = 0.0
        moved = np.flatnonzero(worth)
        point = np.zeros_like(gain)
        lengths = _capped(worth[moved], np.abs(edge[moved]), self.radius)
        point[moved] = np.sign(gain[moved]) * lengths
        return point


def feasible_set(table: CleanTable, sign: float) -> FeasibleSet:
    """The feasible set of the class with this sign."""
    rows = table.rows[np.flatnonzero(table.signs == sign)]
    moved = np.quantile(n_moved(rows, table.columns), _QUANTILE, method="higher")
    radius = float(np.quantile(scaled_norms(rows, table.columns), _QUANTILE))
    return FeasibleSet(table.columns, radius, max_moved=max(1, int(moved)))


def _capped(g: FloatArray, caps: FloatArray, radius: float) -> FloatArray:
    """min(t·g, caps) for the largest t that keeps its norm within the radius; g is positive.

    Entry j stops at its cap when t = caps[j]/g[j]. With the entries in that order, the first k
    stopped and the others moving, the norm is √(Σ caps² + t²·Σ g²): solved for t in each piece.
    """
    if float(caps @ caps) <= radius**2:
        return caps
    order = np.argsort(caps / g)
    stopped = np.cumsum(caps[order] ** 2) - caps[order] ** 2
    moving = np.cumsum(g[order][::-1] ** 2)[::-1]
    t = np.sqrt(np.maximum(radius**2 - stopped, 0.0) / moving)
    in_piece = t <= (caps / g)[order]
    in_piece[-1] = True  # despite rounding, not all of them stop
    return np.minimum(t[np.argmax(in_piece)] * g, caps)


def copies_of(
    points: FloatArray,
    counts: NDArray[np.intp],
    radii: FloatArray,
    table: CleanTable,
    rng: Generator,
) -> Rows:
    """Copies of each scaled point, as rows like the table's, none longer than its radius.

    Rounding to integers makes the copies of a point differ, and can lengthen one beyond the radius.
    Then entries go back to their center, in random order, until it fits.

    Examples
    --------
    >>> table = CleanTable(rows=np.array([[0.0], [0.5], [2.0]]), signs=np.ones(3))
    >>> point, radius, rng = np.array([[1.0]]), np.array([9.0]), np.random.default_rng(0)
    >>> copies_of(point, np.array([2]), radius, table, rng).round(2)
    array([[1.35],
           [1.35]])
    """
    columns, features = table.columns, np.flatnonzero(points.any(axis=0))
    center = columns.center[features]
    steps = np.repeat(points[:, features], counts, axis=0)
    entries = columns.moved(center, steps, features, rng)
    squares = ((entries - center) / columns.scale[features]) ** 2
    is_within = _fit_in_random_order(squares, np.repeat(radii, counts) ** 2, rng)
    entries = np.where(is_within, entries, center)
    if not is_sparse(table.rows):
        return replaced(np.tile(columns.center, (steps.shape[0], 1)), features, entries)
    resting = np.setdiff1d(np.flatnonzero(columns.center), features)
    still = np.tile(columns.center[resting], (steps.shape[0], 1))
    return placed(np.hstack([entries, still]), np.append(features, resting), table.n_features)


def _fit_in_random_order(
    parts: FloatArray, limits: FloatArray, rng: Generator
) -> NDArray[np.bool_]:
    """Which parts of every row are counted before their running sum passes the row's limit."""
    order = rng.permuted(np.tile(np.arange(parts.shape[1]), (parts.shape[0], 1)), axis=1)
    running = np.cumsum(np.take_along_axis(parts, order, axis=1), axis=1)
    fits = np.empty(parts.shape, dtype=np.bool_)
    allowed = limits[:, None] * (1 + 1e-9)  # tolerates rounding errors
    np.put_along_axis(fits, order, running <= allowed, axis=1)
    return fits
