"""Each learner's color, marker and line: the same in every figure, on every page."""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from typing import TypeAlias

from thresher.experiments.spec import THRESHER
from thresher.rendering import palette
from thresher.rivals.methods import METHODS

Line: TypeAlias = tuple[float, tuple[float, ...]]  # offset and dashes, as matplotlib has them
Marker: TypeAlias = str | tuple[int, int, int]  # a name, or points, kind and angle

# Each with its name in words. Eight and nine have no common factor: 72 methods in a row differ in
# color or marker.
CIRCLE: tuple[Marker, str] = ("o", "circles")
GREEN = (palette.GREEN, "green")
COLORS = (
    (palette.BLUE, "blue"),
    (palette.RED, "red"),
    (palette.PINK, "pink"),
    (palette.ORANGE, "orange"),
    (palette.LIGHT_BLUE, "light blue"),
    (palette.INDIGO, "indigo"),
    (palette.WINE_RED, "wine red"),
    (palette.OLIVE, "olive"),
)
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
_OPTIONS = re.compile(r", | \(")  # what follows a name is told apart from what bears it alone


@dataclass(frozen=True)
class Style:
    """How a learner is drawn.

    Parameters
    ----------
    color, marker, line : for matplotlib
    is_hollow : whether its markers are white inside
    words : the same for somebody who does not see it

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
    color, marker, line = GREEN, CIRCLE, SOLID
    if base in METHODS:
        place = list(METHODS).index(base)
        color, marker, line = COLORS[place % 8], MARKERS[place % 9], DASHES[place % 4]
    elif base != THRESHER:
        color, marker = COLORS[number % 8], STRANGE_MARKERS[number // 8 % 4]
        line = DASHES[number // 32 % 4]
    if options:
        line = DASHES[number % 4]
    hollow = "hollow " if options else ""
    words = f"{line[1]} {color[1]} line with {hollow}{marker[1]}"
    return Style(color[0], marker[0], line[0], bool(options), words)


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
