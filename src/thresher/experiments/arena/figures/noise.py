"""Error against noise rate: under each attack, and in the worst case over all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from thresher.experiments.arena.figures.captions import how_measured, sentences
from thresher.experiments.arena.figures.picture import (
    ERROR,
    LARGE,
    NOISE,
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
from thresher.experiments.arena.standings import Standings, World, grouped
from thresher.experiments.arena.summary import Cell
from thresher.experiments.spec import NO_ADVERSARY

BY_ATTACK, WORST_CASE = "error by noise", "worst case by noise"
FLOOR = "no method can promise less than the floor of Kearns and Li, η/(2(1 − η))"


def error_by_noise(standings: Standings) -> list[Picture]:
    """One small panel for each attack that was made at more than one noise rate.

    Examples
    --------
    >>> error_by_noise(Standings("tiny", None, ()))
    []
    """
    return [
        Picture(
            name=BY_ATTACK,
            title="Error against noise rate, attack by attack",
            caption=_caption(standings, name, worlds, "One panel for each attack"),
            panels=panels,
            x=NOISE,
            y=ERROR,
        )
        for name, worlds in _ladders(standings)
        if (panels := tuple(_panels(standings, worlds)))
    ]


def worst_case_by_noise(standings: Standings) -> list[Picture]:
    """The largest median error over all attacks, and the floor of Kearns and Li.

    Examples
    --------
    >>> worst_case_by_noise(Standings("tiny", None, ()))
    []
    """
    return [
        Picture(
            name=WORST_CASE,
            title="Worst case over the suite of attacks",
            caption=_caption(
                standings,
                name,
                worlds,
                "The largest median error over all attacks, at each noise rate",
                FLOOR if panel.floor else "",
            ),
            panels=(panel,),
            x=NOISE,
            y=ERROR,
            size=LARGE,
            floor_label="floor of Kearns and Li",
        )
        for name, worlds in _ladders(standings)
        for panel in [_worst_panel(standings, worlds)]
    ]


def _ladders(standings: Standings) -> Iterator[tuple[str, tuple[World, ...]]]:
    """Worlds that differ in the noise rate alone, with what tells them from other such worlds.

    Where budgets differ as well, the largest is shown: error against labels is another figure.
    """
    for setting in settings_of(standings, {"noise_rate", "label_budget"}):
        budget = _fullest_budget(setting)
        worlds = setting.where("label_budget", budget)
        if len(worlds) > 1:
            names = [name for name in standings.varying if name != "noise_rate"]
            yield worlds[0].describe(names), worlds


def _fullest_budget(setting: Setting) -> int | None:
    """The largest budget among those that were tried at most noise rates."""
    budgets = setting.values("label_budget")
    most = max(len(setting.where("label_budget", budget)) for budget in budgets)
    return [b for b in budgets if len(setting.where("label_budget", b)) == most][-1]


def _panels(standings: Standings, worlds: Sequence[World]) -> Iterator[Panel]:
    attacks = dict.fromkeys(cell.key["adversary"] for cell in cells_in(worlds))
    for attack in attacks:
        known = [world for world in worlds if _cells_of(world, attack)]
        if attack == NO_ADVERSARY or len(known) < 2:
            continue
        curves = (
            Curve(name, _points(standings, known, attack, name))
            for name in learners_of(standings, known)
        )
        yield Panel(str(attack), tuple(curve for curve in curves if curve.points))


def _cells_of(world: World, attack: str) -> list[Cell]:
    """The cells under the attack, or without one in a world that has no noise."""
    wanted = attack if world.key["noise_rate"] else NO_ADVERSARY
    return [cell for cell in world.worst if cell.key["adversary"] == wanted]


def _points(standings: Standings, worlds: Sequence[World], attack: str, learner: str) -> Points:
    return tuple(
        (float(world.key["noise_rate"]), cell.median_error)
        for world in worlds
        for cell in grouped(_cells_of(world, attack), standings.name_learner).get(learner, [])
    )


def _worst_panel(standings: Standings, worlds: Sequence[World]) -> Panel:
    points: dict[str, list[tuple[float, float]]] = {}
    for world in worlds:
        for name, cell in suite_cells(standings, world).items():
            place = float(world.key["noise_rate"]), cell.median_error
            points.setdefault(name, []).append(place)
    curves = tuple(Curve(name, tuple(found)) for name, found in points.items())
    if worlds[0].key["table"] is not None:  # for which nobody knows a floor
        return Panel("", curves)
    rates = np.linspace(0.0, float(worlds[-1].key["noise_rate"]), 101)[1:]
    least = min((error for found in points.values() for _, error in found), default=0.0)
    floor = zip(rates.tolist(), (rates / (2 * (1 - rates))).tolist())
    # Towards no noise it falls to zero; what is far below everything measured is not shown.
    shown = tuple((rate, error) for rate, error in floor if error >= 0.7 * least)
    return Panel("", curves, shown)


def _caption(standings: Standings, name: str, worlds: Sequence[World], *what: str) -> str:
    return sentences(*what, name, how_measured(standings, cells_in(worlds)))
