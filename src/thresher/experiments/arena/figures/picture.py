"""What a figure is before anybody draws it: panels of curves, axes, and words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from thresher.experiments.arena.figures.styles import title_of

SMALL, MIDDLE, LARGE = (3.5, 2.9), (4.4, 3.5), (5.4, 4.0)  # inches of a panel
Points: TypeAlias = tuple[tuple[float, float], ...]
SMALLEST_ERROR = 1e-5  # a logarithmic axis has no zero, and an error may be zero


@dataclass(frozen=True)
class Axis:
    """One of the two axes of every panel.

    Parameters
    ----------
    label : what is measured
    scale : of the numbers
    write : a number as the text of a tick
    ticks : where they stand; wherever it looks well if there are none

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
    """What one learner did.

    Parameters
    ----------
    learner : its name
    points : from left to right
    ranges : lowest and highest value at each point, if these are to be seen
    note : a short text beside its last point

    Examples
    --------
    >>> Curve("thresher", ((0.0, 0.004), (0.1, 0.02))).say(NOISE, ERROR)
    'Thresher from 0.004 at 0% to 0.02 at 10%'
    """

    learner: str
    points: Points
    ranges: Points = ()
    note: str = ""

    def say(self, x: Axis, y: Axis) -> str:
        """The curve's ends in words."""
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
    title : over them
    curves : one for each learner that has points here
    floor : points of a line that no learner can be expected below, or to the left of
    x : axis, if it is not the picture's

    Examples
    --------
    >>> Panel("label-flip", (Curve("thresher", ((0.0, 0.1),)),)).has_curves
    True
    """

    title: str
    curves: tuple[Curve, ...]
    floor: Points = ()
    x: Axis | None = None

    @property
    def has_curves(self) -> bool:
        """Whether anything was measured."""
        return bool(self.curves)


@dataclass(frozen=True)
class Picture:
    """A figure: its panels, its axes, and what is said below it.

    Parameters
    ----------
    name : of this kind of figure
    title, caption : what is shown, and how it was measured
    panels : at least one
    x, y : axes of every panel
    size : of a panel, in inches
    floor_label : what the floor is, if there is one
    drawstyle : of matplotlib's lines

    Examples
    --------
    >>> panel = Panel("label-flip", (Curve("thresher", ((0.0, 0.1), (0.05, 0.2))),))
    >>> picture = Picture("noise", "Error against noise rate", "Ten seeds.", (panel,), NOISE, ERROR)
    >>> picture.describe(panel)
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

    def describe(self, panel: Panel, learners: tuple[str, ...] | None = None) -> str:
        """The panel for somebody who does not see it; told of these learners, or of all."""
        x = panel.x or self.x
        told = [c for c in panel.curves if learners is None or c.learner in learners]
        ends = "; ".join(curve.say(x, self.y) for curve in told)
        head = f"{panel.title or self.title}: {self.y.label} against {x.label}."
        return f"{head} {ends}." if ends else head
