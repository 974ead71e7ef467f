"""Who stands where: for every world, each learner against each adversary at its worst."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from thresher.experiments.arena.run import FlatRecord
from thresher.experiments.arena.summary import (
    CELL_KEYS,
    Cell,
    cells_of,
    latest_records,
    worst_strengths,
)
from thresher.experiments.arena.sweep import Sweep
from thresher.experiments.spec import LATER, TableSpec

# What makes a world: everything but who plays in it.
_PLAYERS = {"adversary", "strength", *LATER}
WORLD_KEYS = tuple(name for name in CELL_KEYS if name not in _PLAYERS)
TABLE_KEYS = TableSpec.__dataclass_fields__.keys()

# How a value is said, and what its absence means.
_WORDS = {
    "table": ("the table {}", ""),
    "n_features": ("{:,} features", ""),
    "sparsity": ("{:,} that matter", ""),
    "noise_rate": ("noise rate {:g}", ""),
    "told_noise_rate": ("told noise rate {:g}", "told the true noise rate"),
    "distribution": ("{} rows", ""),
    "label_budget": ("at most {:,} labels", "labels as the schedule wants"),
    "target_error": ("target error {:g}", "no target error"),
}


@dataclass(frozen=True, eq=False)
class World:
    """The cells that share everything but learner, adversary and strength.

    Parameters
    ----------
    key : what they share
    cells : all of them, from every recorded seed
    worst : for every learner and adversary the cell of its worst strength, from the seeds that
        count

    Examples
    --------
    >>> World({"n_features": 60, "noise_rate": 0.05}, (), ()).describe(["noise_rate"])
    'noise rate 0.05'
    """

    key: dict[str, Any]
    cells: tuple[Cell, ...]
    worst: tuple[Cell, ...]

    @property
    def has_more(self) -> bool:
        """Whether there are runs that the worst cells leave out."""
        return _count_records(self.cells) > _count_records(self.worst)

    def describe(self, names: Iterable[str]) -> str:
        """Some of what the cells share, in words; a table has nothing that is only simulated."""
        known = TABLE_KEYS if self.key.get("table") is not None else self.key.keys() - {"table"}
        return ", ".join(_say(name, self.key.get(name)) for name in names if name in known)


@dataclass(frozen=True, eq=False)
class Standings:
    """What the records say about one sweep, also while it runs.

    Parameters
    ----------
    name : of the sweep
    sweep : itself; None if only records are left
    records : one for each run
    n_left_out : runs recorded under its name that its spec does not ask for, or not any more

    Examples
    --------
    >>> standings = Standings.of("old", None, [{"run": "a", "arena": "old", "status": "died"},
    ...                                        {"run": "b", "arena": "new", "status": "died"}])
    >>> standings.n_finished, len(standings.records)
    (0, 1)
    """

    name: str
    sweep: Sweep | None
    records: tuple[FlatRecord, ...]
    n_left_out: int = 0

    @classmethod
    def of(cls, name: str, sweep: Sweep | None, records: Iterable[FlatRecord]) -> Standings:
        """The standings of a sweep among records of any; the last record of a run counts.

        A sweep owns what it would run, whoever ran it. Without the sweep, the name decides.
        """
        latest = latest_records(records)
        named = {run for run, record in latest.items() if arena_of(record) == name}
        if sweep is None:
            return cls(name, None, tuple(latest[run] for run in latest if run in named))
        # In the order of the trials, so that tables have that of the spec.
        trials = sweep.runs(sweep.pilot_seeds + sweep.seeds)
        own = {run: latest[run] for trial in trials if (run := trial.id) in latest}
        return cls(name, sweep, tuple(own.values()), len(named - own.keys()))

    @property
    def n_finished(self) -> int:
        """How many runs came to their end."""
        return sum(record["status"] == "finished" for record in self.records)

    @cached_property
    def worlds(self) -> tuple[World, ...]:
        """Every world that has a record, in the order of the spec."""
        every, worst = cells_of(self.records), self._worst()
        keys = dict.fromkeys(map(_world_key, every))
        return tuple(
            World(dict(zip(WORLD_KEYS, key)), _those_of(key, every), _those_of(key, worst))
            for key in keys
        )

    @cached_property
    def varying(self) -> tuple[str, ...]:
        """What tells one world from another."""
        return tuple(
            name for name in WORLD_KEYS if len({world.key[name] for world in self.worlds}) > 1
        )

    def name_world(self, world: World) -> str:
        """What tells the world from the others, or all of it if there are no others."""
        return world.describe(self.varying or WORLD_KEYS)

    def name_learner(self, cell: Cell) -> str:
        """The learner's name, with its options where another one bears the same name."""
        name, options = cell.key["learner"], _options(cell)
        if len(self._options[name]) == 1:
            return str(name)
        told = [f"{key.removeprefix('schedule.')} {value}" for key, value in options]
        return f"{name} ({', '.join(told) or 'defaults'})"

    @cached_property
    def _options(self) -> dict[str, set[tuple[tuple[str, Any], ...]]]:
        found: dict[str, set[tuple[tuple[str, Any], ...]]] = {}
        for cell in cells_of(self.records):
            found.setdefault(cell.key["learner"], set()).add(_options(cell))
        return found

    def _worst(self) -> list[Cell]:
        """Each family's cell of the worst strength, from the seeds that count."""
        if self.sweep is None or not self.sweep.pilot_seeds:
            return _largest(cells_of(self.records))
        chosen = _largest(self._cells_of_seeds(self.sweep.pilot_seeds))
        names = {tuple(cell.key.items()) for cell in chosen}
        counted = self._cells_of_seeds(self.sweep.seeds)
        return [cell for cell in counted if tuple(cell.key.items()) in names]

    def _cells_of_seeds(self, seeds: Sequence[int]) -> list[Cell]:
        wanted = set(seeds)
        return cells_of(record for record in self.records if record["seed"] in wanted)


def arena_of(record: FlatRecord) -> str:
    """The name of the sweep for which the run was first made.

    Examples
    --------
    >>> arena_of({"run": "a", "arena": "smoke"}), arena_of({"run": "a"})
    ('smoke', 'unnamed')
    """
    return str(record.get("arena", "unnamed"))


def count_runs(sweep: Sweep) -> int:
    """How many runs the sweep consists of.

    Examples
    --------
    >>> count_runs(Sweep.load("smoke"))
    60
    """
    if not sweep.pilot_seeds:
        return len(sweep.seeds) * len(sweep.entries)
    n_counted = len(sweep.seeds) * len(worst_strengths(sweep.entries, []))
    return len(sweep.pilot_seeds) * len(sweep.entries) + n_counted


def worst_of(cells: Iterable[Cell]) -> Cell:
    """The cell with the largest median error, and the first of several.

    Examples
    --------
    >>> cells = [Cell({"strength": e}, ({"status": "finished", "error": e},)) for e in (0.1, 0.2)]
    >>> worst_of(cells).key
    {'strength': 0.2}
    """
    return max(cells, key=lambda cell: cell.median_error)


def grouped(cells: Iterable[Cell], key: Callable[[Cell], Any]) -> dict[Any, list[Cell]]:
    """The cells by what a function says of them, in the order of their first appearance.

    Examples
    --------
    >>> list(grouped([Cell({"learner": "a"}, ())], lambda cell: cell.key["learner"]))
    ['a']
    """
    groups: dict[Any, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(key(cell), []).append(cell)
    return groups


def _largest(cells: Iterable[Cell]) -> list[Cell]:
    """Of the cells that differ only in strength, the worst."""
    return [worst_of(family) for family in grouped(cells, _family).values()]


def _count_records(cells: Iterable[Cell]) -> int:
    return sum(len(cell.records) for cell in cells)


def _family(cell: Cell) -> tuple[tuple[str, Any], ...]:
    return tuple((name, value) for name, value in cell.key.items() if name != "strength")


def _options(cell: Cell) -> tuple[tuple[str, Any], ...]:
    """What the learner has other than by default: method, share of labels, schedule."""
    later = {name: value for name, value in cell.key.items() if LATER.get(name, value) != value}
    schedule = (item for item in cell.key.items() if item[0].startswith("schedule."))
    return (*later.items(), *schedule)


def _world_key(cell: Cell) -> tuple[Any, ...]:
    return tuple(cell.key[name] for name in WORLD_KEYS)


def _those_of(key: tuple[Any, ...], cells: Iterable[Cell]) -> tuple[Cell, ...]:
    return tuple(cell for cell in cells if _world_key(cell) == key)


def _say(name: str, value: Any) -> str:
    phrase, absence = _WORDS.get(name, (f"{name} {{}}", f"no {name}"))
    return absence if value is None else phrase.format(value)
