"""What every caption says: how many seeds, which strengths, and what did not finish."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from thresher.experiments.arena.standings import Standings
from thresher.experiments.arena.summary import WORST_ERROR, Cell
from thresher.experiments.spec import format_seeds
from thresher.rendering.text import count


def sentences(*parts: str) -> str:
    """The parts that are not empty as sentences, one after the other.

    Examples
    --------
    >>> sentences("first", "", "second.")
    'First. Second.'
    """
    return " ".join(f"{part[0].upper()}{part[1:].rstrip('.')}." for part in parts if part)


def how_measured(standings: Standings, cells: Sequence[Cell]) -> str:
    """Seeds, strengths and failures of the cells in a figure.

    Examples
    --------
    >>> died = Cell({"strength": None}, ({"status": "died"},))
    >>> how_measured(Standings("tiny", None, ()), [died])
    'One seed. 1 run did not finish and counts as guessing, 0.5.'
    """
    return sentences(say_seeds(cells), say_strengths(standings, cells), say_failures(cells))


def say_seeds(cells: Iterable[Cell]) -> str:
    """Over how many seeds the medians are.

    Examples
    --------
    >>> say_seeds([Cell({}, ({"seed": 0}, {"seed": 1}))])
    'medians over 2 seeds'
    """
    numbers = sorted({len(cell.records) for cell in cells})
    if numbers == [1]:
        return "one seed"
    some = f"{count(numbers[0])} to {count(numbers[-1])}" if numbers[1:] else count(numbers[0])
    return f"medians over {some} seeds"


def say_strengths(standings: Standings, cells: Iterable[Cell]) -> str:
    """How each attack's strength was chosen.

    Examples
    --------
    >>> say_strengths(Standings("tiny", None, ()), [Cell({"strength": 2.0}, ())])
    'each attack at the strength that was worst for the learner, of all tried'
    """
    if all(cell.key["strength"] is None for cell in cells):
        return ""
    sweep = standings.sweep
    if sweep is None or not sweep.pilot_seeds:
        return "each attack at the strength that was worst for the learner, of all tried"
    seeds = format_seeds(sweep.pilot_seeds)
    several = "seeds" if sweep.pilot_seeds[1:] else "seed"
    chosen = f"strengths were chosen for each learner on the pilot {several} {seeds}"
    return f"{chosen}, which {'do' if sweep.pilot_seeds[1:] else 'does'} not count here"


def say_failures(cells: Iterable[Cell]) -> str:
    """How many runs did not finish, if any.

    Examples
    --------
    >>> say_failures([Cell({}, ({"status": "died"}, {"status": "failed"}))])
    '2 runs did not finish and count as guessing, 0.5'
    """
    n_lost = sum(len(cell.records) - cell.n_finished for cell in cells)
    if not n_lost:
        return ""
    verb = "runs did not finish and count" if n_lost > 1 else "run did not finish and counts"
    return f"{count(n_lost)} {verb} as guessing, {WORST_ERROR:g}"
