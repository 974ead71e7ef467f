"""Error against labels: what each budget buys, beside the fewest labels that any method needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from thresher.experiments.arena.figures.captions import how_measured, sentences
from thresher.experiments.arena.figures.picture import (
    ERROR,
    LABELS,
    LARGE,
    MIDDLE,
    SMALLEST_ERROR,
    Curve,
    Panel,
    Picture,
    Points,
)
from thresher.experiments.arena.figures.worlds import (
    Setting,
    cells_in,
    learners_of,
    settings_of,
    suite_cells,
)
from thresher.experiments.arena.standings import Standings, World
from thresher.experiments.arena.summary import WORST_ERROR, Cell
from thresher.experiments.spec import SimulationSpec

NAME = "error by labels"
FLOOR = "about the fewest labels for that error"


def error_by_labels(standings: Standings) -> list[Picture]:
    """The worst case over the attacks against labels, one panel for each noise rate.

    A world whose runs stop at a target error is left out: what it says is how many labels are
    needed, and that is another figure.

    Examples
    --------
    >>> error_by_labels(Standings("tiny", None, ()))
    []
    """
    found = []
    for setting in settings_of(standings, {"noise_rate", "label_budget"}):
        panels = tuple(_panels(standings, setting))
        if panels and setting.worlds[0].key["target_error"] is None:
            caption = sentences(
                "The largest median error over all attacks, against the labels that were paid "
                "for it with each budget, one panel for each noise rate",
                "The floor is s(log2(1/ε) + log2(d/s)) for an error of ε: about what any active "
                "learner needs, even without noise",
                setting.name,
                how_measured(standings, cells_in(setting.worlds)),
            )
            title = "Error against labels"
            size = LARGE if len(panels) == 1 else MIDDLE
            found.append(Picture(NAME, title, caption, panels, LABELS, ERROR, size, FLOOR))
    return found


def _panels(standings: Standings, setting: Setting) -> Iterator[Panel]:
    for rate in setting.values("noise_rate"):
        here = setting.where("noise_rate", rate)
        worlds = [world for world in here if world.key["label_budget"] is not None]
        worlds.sort(key=lambda world: world.key["label_budget"])
        if len(worlds) > 1:
            curves = _curves(standings, worlds)
            yield Panel(f"noise rate {100 * rate:.3g}%", curves, _floor(worlds[0].key, curves))


def _curves(standings: Standings, worlds: Sequence[World]) -> tuple[Curve, ...]:
    suites = [suite_cells(standings, world) for world in worlds]
    points = {
        name: tuple(_point(suite[name]) for suite in suites if name in suite)
        for name in learners_of(standings, worlds)
    }
    return tuple(Curve(name, found) for name, found in points.items() if found)


def _point(cell: Cell) -> tuple[float, float]:
    """Labels and error; where no run told its labels, all that it might have paid."""
    labels = cell.median("n_labels")
    if labels is None:
        labels = cell.key["label_budget"] * cell.key["budget_factor"]
    return float(labels), cell.median_error


def _floor(key: dict[str, Any], curves: Sequence[Curve]) -> Points:
    """The floor at every error from guessing to a bit less than the least of the curves."""
    spec = SimulationSpec(n_features=key["n_features"], sparsity=key["sparsity"])
    least = min((error for curve in curves for _, error in curve.points), default=WORST_ERROR)
    errors = np.geomspace(max(0.8 * least, SMALLEST_ERROR), WORST_ERROR, 60)[::-1]
    return tuple((spec.label_floor(error), float(error)) for error in errors)
