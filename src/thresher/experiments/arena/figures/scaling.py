"""Labels needed against sparsity, features and 1/error, with the exponents that fit best."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from thresher.experiments.arena.figures.captions import how_measured, sentences
from thresher.experiments.arena.figures.picture import LABELS, SMALL, Axis, Curve, Panel, Picture
from thresher.experiments.arena.figures.worlds import Setting, cells_in, settings_of
from thresher.experiments.arena.standings import Standings
from thresher.experiments.arena.summary import Cell
from thresher.experiments.spec import SimulationSpec

NAME = "labels needed"
ENOUGH_SEEDS = 0.8
NEEDED = Axis("labels needed", "log", LABELS.write)


class Problem(NamedTuple):
    """What decides how many labels are needed.

    Examples
    --------
    >>> round(Problem(n_features=500, sparsity=10, target_error=0.1).label_floor)
    90
    """

    n_features: int
    sparsity: int
    target_error: float

    @property
    def label_floor(self) -> float:
        """About the fewest labels that any active learner needs."""
        spec = SimulationSpec(n_features=self.n_features, sparsity=self.sparsity)
        return spec.label_floor(self.target_error)


@dataclass(frozen=True)
class _Direction:
    """One of the ways in which a problem may grow."""

    label: str
    field: str
    measure: Callable[[Problem], float]
    write: Callable[[float], str]

    def rest(self, problem: Problem) -> tuple[float, ...]:
        """What stays the same while this grows."""
        return tuple(v for name, v in problem._asdict().items() if name != self.field)


DIRECTIONS = (
    _Direction("sparsity s", "sparsity", lambda p: p.sparsity, lambda v: f"{v:,.0f}"),
    _Direction("features d", "n_features", lambda p: p.n_features, lambda v: f"{v:,.0f}"),
    _Direction("1/error", "target_error", lambda p: 1 / p.target_error, lambda v: f"{v:.3g}"),
)


def labels_needed(standings: Standings, setting: Setting) -> dict[str, dict[Problem, float]]:
    """For each learner and problem the labels paid with the least budget that suffices.

    A budget suffices if 8 of 10 seeds reach the target error with it and with every larger one,
    under every attack. A problem for which none does is left out.
    """
    ladders: dict[str, dict[Problem, dict[int, list[Cell]]]] = {}
    for cell in cells_in(setting.worlds):
        problem = Problem(*(cell.key[name] for name in Problem._fields))
        ladder = ladders.setdefault(standings.name_learner(cell), {}).setdefault(problem, {})
        ladder.setdefault(cell.key["label_budget"], []).append(cell)
    needed: dict[str, dict[Problem, float]] = {name: {} for name in ladders}
    for name, of in ladders.items():
        for problem, ladder in of.items():
            least = least_labels(ladder, problem.target_error)
            if least is not None:
                needed[name][problem] = least
    return needed


def least_labels(ladder: Mapping[int, Sequence[Cell]], target_error: float) -> float | None:
    """The labels paid with the least budget with which, and above which, enough seeds succeed.

    Examples
    --------
    >>> good, bad = ({"status": "finished", "error": e, "n_labels": 98} for e in (0.01, 0.2))
    >>> least_labels({100: [Cell({}, (good,))], 50: [Cell({}, (bad,))]}, target_error=0.05)
    98.0
    """
    least = None
    for budget in sorted(ladder, reverse=True):
        cells = ladder[budget]
        if any(_share_at(cell, target_error) < ENOUGH_SEEDS for cell in cells):
            break
        least = max(cell.median("n_labels") or float(budget) for cell in cells)
    return least


def exponent(x: Sequence[float], y: Sequence[float]) -> float:
    """The exponent of the power law that fits best.

    Examples
    --------
    >>> round(exponent([1, 2, 4], [3, 12, 48]), 3)
    2.0
    """
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def labels_by_size(standings: Standings) -> list[Picture]:
    """One panel for each direction in which there are at least two problems.

    Examples
    --------
    >>> labels_by_size(Standings("tiny", None, ()))
    []
    """
    found = []
    free = {*Problem._fields, "noise_rate", "label_budget"}
    for setting in settings_of(standings, free):
        ladders = _with_ladder(setting)
        panels = tuple(_panels(labels_needed(standings, ladders))) if ladders.worlds else ()
        if panels:
            caption = sentences(
                "The labels paid with the least budget with which 8 of 10 seeds reach the target "
                "error, under every attack, and with every larger budget",
                "the number at the end of a curve is the exponent of the power law that fits best",
                "the floor is s(log2(1/ε) + log2(d/s)) labels for an error of ε",
                setting.name,
                how_measured(standings, cells_in(ladders.worlds)),
            )
            title = "Labels needed as the problem grows"
            size, floor = SMALL, "about the fewest labels for that error"
            x = Axis("size of the problem", "log", "{:g}".format)
            found.append(Picture(NAME, title, caption, panels, x, NEEDED, size, floor))
    return found


def _with_ladder(setting: Setting) -> Setting:
    """The worlds that have both a target and a budget."""
    wanted = ("target_error", "label_budget")
    worlds = (w for w in setting.worlds if all(w.key[name] is not None for name in wanted))
    return Setting(setting.name, tuple(worlds))


def _panels(needed: Mapping[str, Mapping[Problem, float]]) -> Iterator[Panel]:
    problems = list(dict.fromkeys(problem for found in needed.values() for problem in found))
    for direction in DIRECTIONS:
        family = sorted(_largest_family(direction, problems), key=direction.measure)
        if len(family) < 2:
            continue
        ticks = tuple(float(direction.measure(problem)) for problem in family)
        curves = (_curve(direction, name, family, found) for name, found in needed.items())
        yield Panel(
            title=_title(direction, family[0]),
            curves=tuple(curve for curve in curves if curve.points),
            floor=tuple((x, problem.label_floor) for x, problem in zip(ticks, family)),
            x=Axis(direction.label, "log", direction.write, ticks),
        )


def _largest_family(direction: _Direction, problems: Sequence[Problem]) -> list[Problem]:
    """As many problems as possible that grow in this direction alone."""
    families: dict[tuple[float, ...], list[Problem]] = {}
    for problem in problems:
        families.setdefault(direction.rest(problem), []).append(problem)
    return max(families.values(), key=len, default=[])


def _curve(
    direction: _Direction, learner: str, family: Sequence[Problem], found: Mapping[Problem, float]
) -> Curve:
    known = [problem for problem in family if problem in found]
    points = tuple((float(direction.measure(problem)), found[problem]) for problem in known)
    note = f"{exponent(*zip(*points)):.2f}" if len(points) > 1 else ""
    return Curve(learner, points, note=note)


def _title(direction: _Direction, problem: Problem) -> str:
    names = {"n_features": "d = {:,}", "sparsity": "s = {:,}", "target_error": "ε = {:g}"}
    values: dict[str, Any] = problem._asdict()
    return ", ".join(t.format(values[n]) for n, t in names.items() if n != direction.field)


def _share_at(cell: Cell, target_error: float) -> float:
    return sum(error <= target_error for error in cell.errors) / len(cell.records)
