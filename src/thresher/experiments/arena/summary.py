"""What records say together: runs with different seeds become one cell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from thresher.experiments.arena.run import FlatRecord, Run, Spec
from thresher.experiments.spec import LATER, SimulationSpec

WORST_ERROR = 0.5  # of a run that gave no halfspace: as good as guessing

# What tells one cell from another: everything that a trial fixes, but the seed.
CELL_KEYS = (
    "table",
    *(name for name in SimulationSpec.__dataclass_fields__ if name != "schedule"),
)


@dataclass(frozen=True, eq=False)
class Cell:
    """Runs that differ in nothing but the seed.

    Parameters
    ----------
    key : learner, spec and schedule, as the records have them
    records : one for each seed

    Examples
    --------
    >>> records = [{"status": "finished", "error": 0.1}, {"status": "died", "error": None}]
    >>> cell = Cell({"learner": "thresher"}, tuple(records))
    >>> cell.median_error, cell.n_finished
    (0.3, 1)
    """

    key: dict[str, Any]
    records: tuple[FlatRecord, ...]

    @property
    def errors(self) -> list[float]:
        """One error a run; a run that did not finish counts as guessing."""
        return [error_of(record) for record in self.records]

    @property
    def median_error(self) -> float:
        """The median over the seeds."""
        return float(np.median(self.errors))

    @property
    def n_finished(self) -> int:
        """How many runs came to their end."""
        return sum(record["status"] == "finished" for record in self.records)

    def median(self, name: str) -> float | None:
        """The median of any number in the records of runs that have it."""
        values = [record[name] for record in self.records if record.get(name) is not None]
        return float(np.median(values)) if values else None

    def quantile(self, level: float) -> float:
        """A quantile of the error over the seeds."""
        return float(np.quantile(self.errors, level))


def error_of(record: FlatRecord) -> float:
    """The error of a run; that of guessing, if it did not finish.

    Examples
    --------
    >>> error_of({"status": "timed out", "error": None})
    0.5
    """
    if record["status"] != "finished" or record["error"] is None:
        return WORST_ERROR
    return float(record["error"])


def latest_records(records: Iterable[FlatRecord]) -> dict[str, FlatRecord]:
    """The last record of each run, by the run's id: a failure may have been tried again.

    Examples
    --------
    >>> latest_records([{"run": "a", "status": "died"}, {"run": "a", "status": "finished"}])
    {'a': {'run': 'a', 'status': 'finished'}}
    """
    return {record["run"]: record for record in records}


def cells_of(records: Iterable[FlatRecord]) -> list[Cell]:
    """The records grouped by everything but the seed, in the order of their first appearance.

    Of several records of one run the last counts.

    Examples
    --------
    >>> specs = [SimulationSpec(n_features=9, sparsity=s) for s in (1, 2)]
    >>> died = [Run("thresher", spec, seed=0).unfinished("died", "", 0.0) for spec in specs]
    >>> cells = cells_of(died + died)
    >>> [(cell.key["sparsity"], len(cell.records)) for cell in cells]
    [(1, 1), (2, 1)]
    """
    groups: dict[tuple[Any, ...], list[FlatRecord]] = {}
    for record in latest_records(records).values():
        groups.setdefault(_same(cell_key(record)), []).append(record)
    return [Cell(dict(key), tuple(group)) for key, group in groups.items()]


def cell_key(record: FlatRecord) -> dict[str, Any]:
    """What the record's cell is called by.

    Examples
    --------
    >>> trial = Run("thresher", SimulationSpec(n_features=9, sparsity=1), seed=5)
    >>> "seed" in trial.flat(), "seed" in cell_key(trial.flat())
    (True, False)
    """
    schedule = {name: record[name] for name in sorted(record) if name.startswith("schedule.")}
    known = {name: record.get(name, LATER.get(name)) for name in CELL_KEYS}
    return {"learner": record["learner"], **known, **schedule}


def worst_strengths(
    entries: Sequence[tuple[str, Spec]], records: Iterable[FlatRecord]
) -> list[tuple[str, Spec]]:
    """Of the entries that differ only in strength, the one with the largest median error.

    Of equals, and without records, the first is taken.

    Examples
    --------
    >>> attack = {"noise_rate": 0.1, "adversary": "in-band-mass"}
    >>> specs = [SimulationSpec(n_features=9, sparsity=1, strength=c, **attack) for c in (1.0, 2.0)]
    >>> died = Run("thresher", specs[1], seed=0).unfinished("died", "", 0.0)
    >>> [spec.strength for _, spec in worst_strengths([("thresher", s) for s in specs], [died])]
    [2.0]
    """
    medians = {_same(cell.key): cell.median_error for cell in cells_of(records)}
    worst: dict[str, tuple[float, tuple[str, Spec]]] = {}
    for name, spec in entries:
        family = Run(name, replace(spec, strength=None), 0).id
        median = medians.get(_same(cell_key(Run(name, spec, 0).flat())), 0.0)
        if family not in worst or median > worst[family][0]:
            worst[family] = (median, (name, spec))
    return [entry for _, entry in worst.values()]


def _same(key: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(key.items())
