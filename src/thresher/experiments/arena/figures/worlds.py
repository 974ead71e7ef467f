"""The worlds that a figure compares, and the cells in them that count."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from thresher.experiments.arena.standings import WORLD_KEYS, Standings, World, grouped, worst_of
from thresher.experiments.arena.summary import Cell


@dataclass(frozen=True, eq=False)
class Setting:
    """Worlds that share everything but what a figure varies.

    Parameters
    ----------
    name : what tells it from other settings; empty if there are none
    worlds : in the order of the spec

    Examples
    --------
    >>> Setting("", (World({"noise_rate": 0.1}, (), ()),)).values("noise_rate")
    [0.1]
    """

    name: str
    worlds: tuple[World, ...]

    def values(self, key: str) -> list[Any]:
        """The different values of what the worlds do not share, with nothing left out last."""
        return sorted({world.key[key] for world in self.worlds}, key=_nothing_last)

    def where(self, key: str, value: Any) -> tuple[World, ...]:
        """The worlds with that value, by noise rate."""
        found = (world for world in self.worlds if world.key[key] == value)
        return tuple(sorted(found, key=lambda world: world.key["noise_rate"]))


def settings_of(standings: Standings, free: Collection[str]) -> list[Setting]:
    """The worlds with a cell that counts, grouped by everything that is not free to vary.

    Examples
    --------
    >>> settings_of(Standings("tiny", None, ()), {"noise_rate"})
    []
    """
    groups: dict[tuple[Any, ...], list[World]] = {}
    fixed = [name for name in WORLD_KEYS if name not in free]
    for world in standings.worlds:
        if world.worst:
            groups.setdefault(tuple(world.key[name] for name in fixed), []).append(world)
    names = [name for name in standings.varying if name not in free]
    return [Setting(worlds[0].describe(names), tuple(worlds)) for worlds in groups.values()]


def suite_cells(standings: Standings, world: World) -> dict[str, Cell]:
    """Each learner's worst case; of those only that met every adversary of the world.

    Without that, a learner whose runs are still to come would look better than it is.

    Examples
    --------
    >>> suite_cells(Standings("tiny", None, ()), World({}, (), ()))
    {}
    """
    adversaries = {cell.key["adversary"] for cell in world.worst}
    return {
        name: worst_of(cells)
        for name, cells in grouped(world.worst, standings.name_learner).items()
        if {cell.key["adversary"] for cell in cells} == adversaries
    }


def learners_of(standings: Standings, worlds: Iterable[World]) -> list[str]:
    """The names of everybody with a cell in one of the worlds, in the order of the spec.

    Examples
    --------
    >>> learners_of(Standings("tiny", None, ()), [])
    []
    """
    cells = (cell for world in worlds for cell in world.worst)
    return list(grouped(cells, standings.name_learner))


def cells_in(worlds: Sequence[World]) -> list[Cell]:
    """Every cell that counts.

    Examples
    --------
    >>> cells_in([World({}, (), ())])
    []
    """
    return [cell for world in worlds for cell in world.worst]


def _nothing_last(value: Any) -> float:
    return inf if value is None else float(value)
