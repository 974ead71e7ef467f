"""Sparse against dense outlier removal, when the attack is a spike that few features make."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from thresher.experiments.arena.figures.captions import say_failures, say_seeds, sentences
from thresher.experiments.arena.figures.picture import ERROR, MIDDLE, Axis, Curve, Panel, Picture
from thresher.experiments.arena.standings import WORLD_KEYS, Standings, World, grouped
from thresher.experiments.arena.summary import Cell, cells_of
from thresher.experiments.spec import THRESHER

NAME = "spike"
ATTACK = "sparse-spike"  # the names of its variants begin with it, too
SWITCH = "schedule.sparse_removal"


def sparse_against_dense(standings: Standings) -> list[Picture]:
    """Learners that differ in nothing but the kind of outlier removal, at each strength.

    Every strength is shown that was tried on seeds that count.

    Examples
    --------
    >>> sparse_against_dense(Standings("tiny", None, ()))
    []
    """
    found = []
    worlds = grouped(_spikes(standings), lambda cell: tuple(cell.key[n] for n in WORLD_KEYS))
    for cells in map(_in_pairs, worlds.values()):
        if cells:
            name = World(cells[0].key, (), ()).describe(standings.varying)
            ticks = tuple(sorted({float(cell.key["strength"]) for cell in cells}))
            x = Axis("strength κ of the spike", "log", "{:g}".format, ticks)
            title = "Sparse against dense outlier removal, under a spike"
            panels = tuple(_panels(standings, cells))
            found.append(Picture(NAME, title, _caption(name, cells), panels, x, ERROR, MIDDLE))
    return found


def _caption(name: str, cells: Sequence[Cell]) -> str:
    return sentences(
        "Learners that differ in nothing but how they look for outliers: along few features, or "
        "along all of them",
        "κ = 1 is about the least that dense removal can notice",
        name,
        say_seeds(cells),
        "Vertical lines reach from the 10% to the 90% quantile",
        say_failures(cells),
    )


def _spikes(standings: Standings) -> list[Cell]:
    """Thresher under a spike of a known strength, from the seeds that count."""
    pilot = set(standings.sweep.pilot_seeds) if standings.sweep is not None else set()
    counted = cells_of(record for record in standings.records if record["seed"] not in pilot)
    return [
        cell
        for cell in counted
        if str(cell.key["adversary"]).startswith(ATTACK)
        and cell.key["strength"] is not None
        and cell.key["method"] == THRESHER
    ]


def _in_pairs(cells: Sequence[Cell]) -> list[Cell]:
    """The cells whose other half, with the other kind of removal, is there as well."""
    sides: dict[Any, set[bool]] = {}
    for cell in cells:
        sides.setdefault(_twin(cell), set()).add(_is_sparse(cell))
    return [cell for cell in cells if len(sides[_twin(cell)]) == 2]


def _twin(cell: Cell) -> tuple[tuple[str, Any], ...]:
    """What a cell shares with the one that has the other kind of removal."""
    return tuple(item for item in cell.key.items() if item[0] not in ("learner", SWITCH))


def _is_sparse(cell: Cell) -> bool:
    return bool(cell.key.get(SWITCH, True))


def _panels(standings: Standings, cells: Sequence[Cell]) -> Iterator[Panel]:
    for attack, here in grouped(cells, lambda cell: cell.key["adversary"]).items():
        curves = (
            _curve(name, sorted(found, key=lambda cell: cell.key["strength"]))
            for name, found in grouped(here, standings.name_learner).items()
        )
        yield Panel(str(attack), tuple(curves))


def _curve(learner: str, cells: Sequence[Cell]) -> Curve:
    points = ((float(cell.key["strength"]), cell.median_error) for cell in cells)
    ranges = ((cell.quantile(0.1), cell.quantile(0.9)) for cell in cells)
    return Curve(learner, tuple(points), tuple(ranges))
