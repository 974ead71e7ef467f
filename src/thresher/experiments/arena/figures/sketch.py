"""What a figure is before it is drawn: panels of curves, axes, words, and each learner's style."""

import re
import zlib
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

import pandas as pd

from thresher.experiments.arena.summary import WORLD_KEYS, WORST_ERROR, Summary, describe
from thresher.experiments.spec import THRESHER
from thresher.rendering import palette
from thresher.rivals.methods import METHODS
from thresher.wording import count

SMALL, MIDDLE, LARGE = (3.5, 2.9), (4.4, 3.5), (5.4, 4.0)  # inches of a panel
Points: TypeAlias = tuple[tuple[float, float], ...]
SMALLEST_ERROR = 1e-5  # a logarithmic axis has no zero, and an error may be zero


@dataclass(frozen=True)
class Axis:
    """One of the two axes of a panel.

    Parameters
    ----------
    label : what is measured
    scale : of the numbers
    write : a number as the text of a tick
    ticks : their places (default: matplotlib's choice)

    Examples
    --------
    >>> NOISE.write(0.05), ERROR.write(0.05)
    ('5%', '0.05')
    """

    label: str
    scale: Literal["linear", "log"]
    write: Callable[[float], str]
    ticks: tuple[float, ...] = ()


NOISE = Axis("noise rate", "linear", lambda rate: f"{100 * rate:.3g}%")
ERROR = Axis("error on clean rows", "log", lambda error: f"{error:.2g}")
LABELS = Axis("labels paid", "log", lambda labels: f"{labels:,.0f}")


@dataclass(frozen=True)
class Curve:
    """One learner's results.

    Parameters
    ----------
    learner : its name
    points : from left to right
    ranges : lowest and highest value at each point, drawn as vertical lines
    note : a short text beside its last point

    Examples
    --------
    >>> Curve("thresher", ((0.0, 0.004), (0.1, 0.02))).describe(NOISE, ERROR)
    'Thresher from 0.004 at 0% to 0.02 at 10%'
    """

    learner: str
    points: Points
    ranges: Points = ()
    note: str = ""

    def describe(self, x: Axis, y: Axis) -> str:
        """The ends of the curve in words."""
        (first, low), (last, high) = self.points[0], self.points[-1]
        name, start = title_of(self.learner), f"{y.write(low)} at {x.write(first)}"
        if len(self.points) == 1:
            return f"{name} {start}"
        note = f" ({self.note})" if self.note else ""
        return f"{name} from {start} to {y.write(high)} at {x.write(last)}{note}"


@dataclass(frozen=True)
class Panel:
    """Curves in one pair of axes.

    Parameters
    ----------
    title : above them
    curves : one for each learner that has points here
    floor : points of a line that no learner can be expected below, or to the left of
    x : axis, if it is not the figure's
    """

    title: str
    curves: tuple[Curve, ...]
    floor: Points = ()
    x: Axis | None = None


@dataclass(frozen=True)
class Figure:
    """Panels, their axes, and the text around them.

    Parameters
    ----------
    name : of this kind of figure
    title, caption : what is shown, and how it was measured
    panels, x, y : at least one panel, and the axes of all of them
    size : of a panel, in inches
    floor_label : what the floor is, if there is one
    drawstyle : of matplotlib's lines

    Examples
    --------
    >>> panel = Panel("label-flip", (Curve("thresher", ((0.0, 0.1), (0.05, 0.2))),))
    >>> figure = Figure("noise", "Error against noise rate", "Ten seeds.", (panel,), NOISE, ERROR)
    >>> figure.describe(panel, ["thresher"])
    'label-flip: error on clean rows against noise rate. Thresher from 0.1 at 0% to 0.2 at 5%.'
    """

    name: str
    title: str
    caption: str
    panels: tuple[Panel, ...]
    x: Axis
    y: Axis
    size: tuple[float, float] = SMALL
    floor_label: str = ""
    drawstyle: str = "default"

    def describe(self, panel: Panel, learners: Collection[str]) -> str:
        """The panel in words, for readers who cannot see it, with the ends of these curves."""
        x = panel.x or self.x
        ends = [c.describe(x, self.y) for c in panel.curves if c.learner in learners]
        head = f"{panel.title or self.title}: {self.y.label} against {x.label}."
        return f"{head} {'; '.join(ends)}." if ends else head


# -- from a summary ----------------------------------------------------------------------------


def settings_of(summary: Summary, free: Collection[str]) -> Iterator[tuple[str, pd.DataFrame]]:
    """The worst cases of worlds that share everything that is not free, with what they are."""
    fixed = [name for name in WORLD_KEYS if name not in free]
    names = [name for name in summary.varying if name not in free]
    for _, cells in summary.worst.groupby(fixed, sort=False, dropna=False):
        yield describe(cells.iloc[0], names), cells


def curves_of(
    cells: pd.DataFrame, x: str, y: str = "median_error", *, spread: bool = False
) -> tuple[Curve, ...]:
    """One curve for each learner, in the order of the cells."""
    return tuple(
        Curve(
            str(name),
            tuple(zip(own[x].astype(float), own[y].astype(float))),
            tuple(zip(own["error_10"], own["error_90"])) if spread else (),
        )
        for name, own in cells.groupby("name", sort=False)
    )


def sentences(*parts: str) -> str:
    """The parts that are not empty as sentences, one after the other.

    Examples
    --------
    >>> sentences("first", "", "second.")
    'First. Second.'
    """
    return " ".join(f"{part[0].upper()}{part[1:].rstrip('.')}." for part in parts if part)


def how_measured(summary: Summary, cells: pd.DataFrame) -> str:
    """Seeds, strengths and failures of the cells in a figure."""
    return sentences(say_seeds(cells), _strengths(summary, cells), say_failures(cells))


def say_seeds(cells: pd.DataFrame) -> str:
    """Over how many seeds the medians are."""
    least, most = cells["n_runs"].min(), cells["n_runs"].max()
    if least == most == 1:
        return "one seed"
    return f"medians over {count(least)}{f' to {count(most)}' if most > least else ''} seeds"


def _strengths(summary: Summary, cells: pd.DataFrame) -> str:
    if cells["strength"].isna().all():
        return ""
    if summary.sweep is None or not summary.sweep.pilot_seeds:
        return "each attack at the strength that was worst for the learner"
    return f"strengths were chosen for each learner on {summary.sweep.pilot}, not shown here"


def say_failures(cells: pd.DataFrame) -> str:
    """How many runs did not finish, if any."""
    n_lost = int(cells["n_unfinished"].sum())
    if not n_lost:
        return ""
    verb = "runs did not finish and count" if n_lost > 1 else "run did not finish and counts"
    return f"{count(n_lost)} {verb} as guessing (error {WORST_ERROR:g})"


# -- styles ------------------------------------------------------------------------------------

Line: TypeAlias = tuple[float, tuple[float, ...]]  # offset and dashes, as matplotlib has them
Marker: TypeAlias = str | tuple[int, int, int]  # a name, or points, kind and angle

# Eight colors of the palette and nine markers have no common factor: 72 methods in a row differ.
# Markers and lines have their names in words.
CIRCLE: tuple[Marker, str] = ("o", "circles")
COLORS = ("BLUE", "RED", "PINK", "ORANGE", "LIGHT_BLUE", "INDIGO", "WINE_RED", "OLIVE")
MARKERS: tuple[tuple[Marker, str], ...] = (
    ("s", "squares"),
    ("^", "triangles"),
    ("D", "diamonds"),
    ("v", "triangles upside down"),
    ("P", "crosses"),
    ("X", "slanted crosses"),
    ("<", "triangles to the left"),
    (">", "triangles to the right"),
    ("*", "stars"),
)
STRANGE_MARKERS: tuple[tuple[Marker, str], ...] = (
    ("p", "pentagons"),
    ("d", "slim diamonds"),
    ((4, 1, 0), "four-pointed stars"),
    ((6, 1, 0), "six-pointed stars"),
)
DASHES: tuple[tuple[Line, str], ...] = (
    ((0, (5, 1.5)), "dashed"),
    ((0, (1.2, 1.2)), "dotted"),
    ((0, (6, 1.5, 1.2, 1.5)), "dash-dotted"),
    ((0, (9, 2)), "long-dashed"),
)
SOLID: tuple[Line, str] = ((0, ()), "solid")
_OPTIONS = re.compile(r", | \(")  # begins what follows a name


@dataclass(frozen=True)
class Style:
    """How a learner is drawn by matplotlib, and the same in words.

    Examples
    --------
    >>> style_of("thresher").words
    'solid green line with circles'
    """

    color: str
    marker: Marker
    line: Line
    is_hollow: bool
    words: str


def style_of(name: str) -> Style:
    """The style of the learner with that name.

    Thresher has its own, a method the one of its place in the registry, and any other name one
    that follows from its letters. With options behind its name, a learner has hollow markers.

    Examples
    --------
    >>> style_of("balcan-long").color == style_of("balcan-long, 8 x labels").color
    True
    >>> style_of("my own") == style_of("my own") != style_of("another")
    True
    """
    base, *options = _OPTIONS.split(name, maxsplit=1)
    number = zlib.crc32(name.encode())  # unlike hash(), the same in every process
    color, marker, line = "GREEN", CIRCLE, SOLID
    if base in METHODS:
        place = list(METHODS).index(base)
        color, marker, line = COLORS[place % 8], MARKERS[place % 9], DASHES[place % 4]
    elif base != THRESHER:
        color, marker = COLORS[number % 8], STRANGE_MARKERS[number // 8 % 4]
        line = DASHES[number // 32 % 4]
    if options:
        line = DASHES[number % 4]
    hollow = "hollow " if options else ""
    words = f"{line[1]} {color.lower().replace('_', ' ')} line with {hollow}{marker[1]}"
    return Style(getattr(palette, color), marker[0], line[0], bool(options), words)


def title_of(name: str) -> str:
    """The learner as a figure calls it: a method by its authors and year.

    Examples
    --------
    >>> title_of("balcan-long"), title_of("thresher"), title_of("my own")
    ('Balcan–Long 2013', 'Thresher', 'my own')
    """
    base = _OPTIONS.split(name, maxsplit=1)[0]
    titles = {THRESHER: "Thresher", **{key: method.title for key, method in METHODS.items()}}
    return titles.get(base, base) + name[len(base) :]
