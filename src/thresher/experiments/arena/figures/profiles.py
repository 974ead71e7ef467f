"""How often each learner is close to the best: performance profiles (Dolan and Moré 2002)."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from thresher.experiments.arena.figures.captions import how_measured, sentences
from thresher.experiments.arena.figures.picture import (
    LARGE,
    SMALLEST_ERROR,
    Axis,
    Curve,
    Panel,
    Picture,
)
from thresher.experiments.arena.figures.worlds import learners_of
from thresher.experiments.arena.standings import Standings, grouped
from thresher.experiments.arena.summary import Cell
from thresher.rendering.text import count

NAME = "profile"
FEWEST_CELLS = 4  # of fewer, a share says little
LARGEST_FACTOR = 100.0  # beyond it, nobody is close to anything
FACTOR = Axis("factor t", "log", lambda factor: f"{factor:.3g}")
SHARE = Axis("share of cells within t of the best", "linear", lambda share: f"{100 * share:.0f}%")

Situation: TypeAlias = dict[str, Cell]  # what each learner did in one world under one adversary


def situations_of(standings: Standings) -> list[Situation]:
    """Who did what under every adversary of every world, each at its worst strength.

    Examples
    --------
    >>> situations_of(Standings("tiny", None, ()))
    []
    """
    return [
        {standings.name_learner(cell): cell for cell in cells}
        for world in standings.worlds
        for cells in grouped(world.worst, lambda cell: cell.key["adversary"]).values()
    ]


def ratios_to_best(situation: Situation) -> dict[str, float]:
    """Each learner's error over the smallest one.

    Examples
    --------
    >>> cells = {e: Cell({}, ({"status": "finished", "error": e},)) for e in (0.125, 0.25)}
    >>> ratios_to_best({"a": cells[0.125], "b": cells[0.25]})
    {'a': 1.0, 'b': 2.0}
    """
    errors = {name: max(cell.median_error, SMALLEST_ERROR) for name, cell in situation.items()}
    best = min(errors.values())
    return {name: error / best for name, error in errors.items()}


def profile(standings: Standings) -> list[Picture]:
    """For each learner the share of cells in which its error is within a factor of the best.

    Only cells in which everybody was tried are compared. Nothing if these are very few, or
    there is only one learner.

    Examples
    --------
    >>> profile(Standings("tiny", None, ()))
    []
    """
    learners = learners_of(standings, standings.worlds)
    every = situations_of(standings)
    shared = [situation for situation in every if len(situation) == len(learners)]
    if len(learners) < 2 or len(shared) < FEWEST_CELLS:
        return []
    ratios = [ratios_to_best(situation) for situation in shared]
    end = 1.05 * min(LARGEST_FACTOR, max(max(found.values()) for found in ratios))
    curves = (_curve(name, [found[name] for found in ratios], end) for name in learners)
    lacking = len(every) - len(shared)
    caption = sentences(
        f"A cell is one attack in one world: {count(len(shared))} of them",
        "the curve of a learner says in which share of them its error is at most t times that of "
        "the best learner there; at t = 1, how often it is the best. Higher is better",
        f"cells that lack a learner and are left out: {count(lacking)}" if lacking else "",
        how_measured(standings, [cell for found in shared for cell in found.values()]),
    )
    title = "How often each learner is close to the best"
    panel = Panel("", tuple(curves))
    return [Picture(NAME, title, caption, (panel,), FACTOR, SHARE, LARGE, "", "steps-post")]


def _curve(learner: str, ratios: list[float], end: float) -> Curve:
    """Steps up at each ratio, from a factor of one to the end of the axis."""
    places = sorted({1.0, *(ratio for ratio in ratios if ratio <= end), end})
    found = np.array(ratios)
    # A ratio of one may be computed a rounding error above it.
    return Curve(learner, tuple((t, float(np.mean(found <= t * (1 + 1e-12)))) for t in places))
