"""What is measured of a cell, and how it is written: the columns of tables and reports.

Of every measure, more is worse.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from thresher.experiments.arena.summary import Cell
from thresher.rendering.text import MISSING, count, decimals, rate


@dataclass(frozen=True)
class Measure:
    """A number that each cell has, or has not.

    Parameters
    ----------
    title : over the column, in one or two lines
    of : the number of a cell
    write : the number as text

    Examples
    --------
    >>> cell = Cell({}, ({"status": "finished", "error": 0.25},))
    >>> MEDIAN_ERROR.tell(cell)
    '0.2500'
    """

    title: str
    of: Callable[[Cell], float | None]
    write: Callable[[float | None], str]

    def tell(self, cell: Cell) -> str:
        """The cell's number as text."""
        return self.write(self.of(cell))

    def worst(self, cells: Iterable[Cell]) -> str | None:
        """The largest number of the cells as text; None if all of them look the same.

        Examples
        --------
        >>> cells = [Cell({}, ({"status": "finished", "error": e},)) for e in (0.25, 0.125)]
        >>> MEDIAN_ERROR.worst(cells), MEDIAN_ERROR.worst(cells[:1])
        ('0.2500', None)
        """
        known = [number for cell in cells if (number := self.of(cell)) is not None]
        return self.write(max(known)) if len(set(map(self.write, known))) > 1 else None


def error_floor(cell: Cell) -> float | None:
    """The error that no method can promise to beat at the cell's noise rate: η/(2(1 − η)).

    Examples
    --------
    >>> error_floor(Cell({}, ({"error_floor": 0.05},)))
    0.05
    """
    return cell.median("error_floor")


def tell_strength(cell: Cell) -> str:
    """The adversary's strength as text; nothing is said of its own default.

    Examples
    --------
    >>> tell_strength(Cell({"strength": 2.0}, ())), tell_strength(Cell({"strength": None}, ()))
    ('2', '-')
    """
    strength = cell.key["strength"]
    return MISSING if strength is None else f"{strength:g}"


def _ratio_to_floor(cell: Cell) -> float | None:
    floor = error_floor(cell)
    return cell.median_error / floor if floor else None


def _n_uncertified(cell: Cell) -> float | None:
    known = [n for record in cell.records if (n := record.get("n_uncertified")) is not None]
    return sum(known) if known else None


MEDIAN_ERROR = Measure("median\nerror", lambda cell: cell.median_error, rate)
RATIO = Measure("error /\nfloor", _ratio_to_floor, decimals(2))
LOW_ERROR = Measure("10%\nquantile", lambda cell: cell.quantile(0.1), rate)
HIGH_ERROR = Measure("90%\nquantile", lambda cell: cell.quantile(0.9), rate)
LABELS = Measure("labels", lambda cell: cell.median("n_labels"), count)
DRAWS = Measure("draws", lambda cell: cell.median("n_draws"), count)
SECONDS = Measure("seconds", lambda cell: cell.median("seconds"), decimals(1))
UNCERTIFIED = Measure("uncertified\nphases", _n_uncertified, count)
NOT_FINISHED = Measure("not\nfinished", lambda cell: len(cell.records) - cell.n_finished, count)
