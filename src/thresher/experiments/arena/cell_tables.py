"""The tables of a report: cells by learner, with the worst number of each column marked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from thresher.experiments.arena import measures
from thresher.experiments.arena.standings import Standings, World, grouped, worst_of
from thresher.experiments.arena.summary import Cell
from thresher.rendering.html import Html, element, join, table
from thresher.rendering.text import count

MARK = "▲"  # so that the worst of a column is seen without colours, too
_MEASURES = (
    measures.MEDIAN_ERROR,
    measures.RATIO,
    measures.LOW_ERROR,
    measures.HIGH_ERROR,
    measures.LABELS,
    measures.DRAWS,
    measures.SECONDS,
    measures.UNCERTIFIED,
    measures.NOT_FINISHED,
)
_HEAD = ("adversary", "strength", *(measure.title for measure in _MEASURES), "runs")


def worst_table(standings: Standings, world: World) -> Html:
    """Every learner against every adversary at its worst, and over all of them.

    Examples
    --------
    >>> "median" in worst_table(Standings("tiny", None, ()), World({}, (), ()))
    True
    """
    rows = _Rows(world.worst)
    bodies = (
        element("tbody", _learner(name), *rows.of(cells), *_suite(cells))
        for name, cells in grouped(world.worst, standings.name_learner).items()
    )
    return table(_HEAD, bodies, label=f"Worst strengths: {standings.name_world(world)}")


def strength_table(standings: Standings, world: World) -> Html:
    """Every learner against every adversary at every strength.

    Examples
    --------
    >>> "median" in strength_table(Standings("tiny", None, ()), World({}, (), ()))
    True
    """
    rows = _Rows(world.cells)
    bodies = (
        element("tbody", _learner(name), *rows.of(cells))
        for name, cells in grouped(world.cells, standings.name_learner).items()
    )
    return table(_HEAD, bodies, label=f"All strengths: {standings.name_world(world)}")


@dataclass(frozen=True)
class _Rows:
    """The rows of a table; the worst is looked for among all its cells."""

    cells: Sequence[Cell]

    @cached_property
    def worst(self) -> list[str | None]:
        """The worst number of each column; found once, as a table may have many learners."""
        return [measure.worst(self.cells) for measure in _MEASURES]

    def of(self, cells: Iterable[Cell]) -> Iterator[Html]:
        """One row a cell."""
        for cell in cells:
            told = [measure.tell(cell) for measure in _MEASURES]
            pairs = zip(told, self.worst)
            numbers = [_number(text, is_worst=text == mark) for text, mark in pairs]
            yield _row(element("th", str(cell.key["adversary"]), scope="row"), cell, numbers)


def _suite(cells: Sequence[Cell]) -> Iterator[Html]:
    """The learner's worst case once more, if it met more than one adversary."""
    if len(cells) < 2:
        return
    worst = worst_of(cells)
    told = element("small", str(worst.key["adversary"]))
    head = element("th", "worst case over the suite", " ", told, scope="row")
    yield _row(head, worst, (_number(m.tell(worst)) for m in _MEASURES), class_="suite")


def _row(head: Html, cell: Cell, numbers: Iterable[Html], **attributes: str) -> Html:
    strength, n_runs = _number(measures.tell_strength(cell)), _number(count(len(cell.records)))
    return join([element("tr", head, strength, *numbers, n_runs, **attributes), "\n"])


def _number(text: str, *, is_worst: bool = False) -> Html:
    if not is_worst:
        return element("td", text)
    return element("td", element("span", MARK, class_="mark"), text, class_="worst")


def _learner(name: str) -> Html:
    # The name in an element of its own stays in sight while the table scrolls.
    head = element("th", element("span", name), scope="rowgroup", colspan=len(_HEAD))
    return join([element("tr", head, class_="learner"), "\n"])
