"""Attacks that steer a learner towards a decoy model, point by point.

Both play the same game: find the feasible point where the learner's loss exceeds the decoy's most,
plant copies of it, let the learner respond. They differ in the response that they foresee.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from thresher.simulate.poisoning.clean import CleanTable
from thresher.simulate.poisoning.feasible import FeasibleSet, copies_of, feasible_set
from thresher.simulate.poisoning.models import (
    Additions,
    LinearModel,
    fit,
    logistic_loss,
    risk,
    smoothness,
)
from thresher.simulate.poisoning.planted import Planted
from thresher.validation import FloatArray

_N_REFITS = 20
_STEPS_PER_REFIT = 10  # from the last fit, which is close
_N_GRADIENT_STEPS = 100
_STEP_LENGTH = 3.0  # times the safe one; a heuristic: overshooting calls up more points
_BLENDS = np.linspace(0.0, 1.0, 5)

# What the learner makes of the table when the last of the added points is new.
Response: TypeAlias = Callable[[LinearModel, Additions], LinearModel]


def model_targeted(
    table: CleanTable, n_rows: int, strength: float, rng: np.random.Generator
) -> Planted:
    """Points against a learner that is fitted anew after each of them (Suya et al. 2021)."""

    def refitted(learner: LinearModel, added: Additions) -> LinearModel:
        return fit(table, added, learner, max_steps=_STEPS_PER_REFIT)

    clean = fit(table)
    decoy = decoy_model(table, clean, strength)
    added = _steered(table, n_rows, clean, decoy, _N_REFITS, refitted)
    return _as_planted(table, added, rng)


def min_max(table: CleanTable, n_rows: int, strength: float, rng: np.random.Generator) -> Planted:
    """Points against a learner that takes one gradient step after each of them.

    The step is taken as if the whole budget lay on the last point (Koh, Steinhardt and Liang).
    """
    step = _STEP_LENGTH / smoothness(table)

    def stepped(learner: LinearModel, added: Additions) -> LinearModel:
        last = Additions.none(table.n_features).joined(added.scaled[-1], added.signs[-1], n_rows)
        _, gradient = risk(learner, table, last)
        return LinearModel.from_parameters(learner.parameters - step * gradient)

    clean = fit(table)
    decoy = decoy_model(table, clean, strength)
    added = _steered(table, n_rows, clean, decoy, _N_GRADIENT_STEPS, stepped)
    return _as_planted(table, added, rng)


def decoy_model(table: CleanTable, clean: LinearModel, flipped_share: float) -> LinearModel:
    """A model fitted to the table with wrong labels where the clean model is surest.

    The labels are flipped in this share of the rows of each class. Few rows with large scores do
    more harm than many near the boundary.

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=(200, 2))
    >>> table = CleanTable(rows=rows, signs=np.sign(rows[:, 0]))
    >>> bool(decoy_model(table, fit(table), 0.8).weights[0] < 0)
    True
    """
    margins = table.signs * (table.scores(clean.weights) + clean.intercept)
    signs = table.signs.copy()
    for sign in (-1.0, 1.0):
        members = np.flatnonzero(table.signs == sign)
        surest = members[np.argsort(-margins[members], kind="stable")]
        signs[surest[: round(flipped_share * members.size)]] = -sign
    return fit(CleanTable(rows=table.rows, signs=signs))


def _steered(
    table: CleanTable,
    n_rows: int,
    learner: LinearModel,
    decoy: LinearModel,
    n_points: int,
    response: Response,
) -> Additions:
    sets = {sign: feasible_set(table, sign) for sign in (-1.0, 1.0)}
    added = Additions.none(table.n_features)
    for copies in np.array_split(np.arange(n_rows), min(n_rows, n_points)):
        point, sign = worst_point(learner, decoy, sets)
        added = added.joined(point, sign, copies.size)
        learner = response(learner, added)
    return added


def worst_point(
    learner: LinearModel, decoy: LinearModel, sets: dict[float, FeasibleSet]
) -> tuple[FloatArray, float]:
    """The feasible point z and label y of largest loss(learner; z, y) − loss(decoy; z, y).

    Where the difference is stationary, z is the farthest feasible point along
    y·(λ·decoy − learner), λ being the ratio of the two slopes of the loss: a few λ in [0, 1] are
    tried. A larger λ would mean that the decoy errs more than the learner there.
    """
    best, best_point, best_sign = -np.inf, np.zeros_like(learner.weights), 1.0
    for sign, feasible in sets.items():
        for blend in _BLENDS:
            point = feasible.farthest(sign * (blend * decoy.weights - learner.weights))
            margins = sign * np.array([learner.scores(point), decoy.scores(point)])
            excess = float(-np.diff(logistic_loss(margins))[0])
            if excess > best:
                best, best_point, best_sign = excess, point, sign
    return best_point, best_sign


def _as_planted(table: CleanTable, added: Additions, rng: np.random.Generator) -> Planted:
    counts = added.counts.astype(np.intp)
    negative, positive = (feasible_set(table, sign).radius for sign in (-1.0, 1.0))
    radii = np.where(added.signs > 0, positive, negative)
    rows = copies_of(added.scaled, counts, radii, table, rng)
    return Planted(rows=rows, signs=np.repeat(added.signs, counts))
