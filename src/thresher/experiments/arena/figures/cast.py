"""Who is drawn in color, where there are more learners than a reader can tell apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thresher.experiments.arena.figures.profiles import ratios_to_best, situations_of
from thresher.experiments.arena.figures.worlds import learners_of
from thresher.experiments.arena.standings import Standings
from thresher.experiments.spec import THRESHER

MAX_IN_COLOR = 8


@dataclass(frozen=True)
class Cast:
    """The learners of a sweep, the best first.

    Parameters
    ----------
    prominent : drawn with color, marker and dashes
    others : drawn as thin grey lines

    Examples
    --------
    >>> Cast(("thresher",), ()).is_prominent("thresher")
    True
    """

    prominent: tuple[str, ...]
    others: tuple[str, ...]

    @classmethod
    def of(cls, standings: Standings) -> Cast:
        """Thresher and the best of the others; everybody, if that is not too many.

        Those that got as many labels come before those that got more.

        Who is best is decided by the geometric mean of the error over the smallest one, over all
        cells: the same in every figure, so that one learner does not change its looks.
        """
        ranked = ranking(standings)
        first = [name for name in ranked if name == THRESHER]
        rich = _with_more_labels(standings)
        rivals = sorted((n for n in ranked if n != THRESHER), key=rich.__contains__)
        names = first + rivals
        return cls(tuple(names[:MAX_IN_COLOR]), tuple(names[MAX_IN_COLOR:]))

    def is_prominent(self, learner: str) -> bool:
        """Whether the learner is drawn in color."""
        return learner in self.prominent


def _with_more_labels(standings: Standings) -> set[str]:
    cells = (cell for world in standings.worlds for cell in world.worst)
    return {standings.name_learner(cell) for cell in cells if cell.key.get("budget_factor", 1) > 1}


def ranking(standings: Standings) -> list[str]:
    """The learners from the smallest to the largest error over that of the best.

    Examples
    --------
    >>> ranking(Standings("tiny", None, ()))
    []
    """
    logs: dict[str, list[float]] = {n: [] for n in learners_of(standings, standings.worlds)}
    for situation in situations_of(standings):
        for name, ratio in ratios_to_best(situation).items():
            logs[name].append(float(np.log(ratio)))
    return sorted(logs, key=lambda name: float(np.mean(logs[name])))
