"""The curves as figures of matplotlib, a figure for each panel: a page can stack them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from thresher.experiments.arena.figures.cast import Cast
from thresher.experiments.arena.figures.picture import (
    SMALLEST_ERROR,
    Axis,
    Curve,
    Panel,
    Picture,
)
from thresher.experiments.arena.figures.styles import Style, style_of
from thresher.experiments.spec import THRESHER
from thresher.rendering.svg import new_figure

GREY = "0.7"
FLOOR = {"color": "black", "linewidth": 1.4, "linestyle": (0, (3, 2))}
DODGE = 1.04  # ranges at the same place would hide one another
N_MARKERS = 7  # on a curve of many points
SAMPLE = (0.58, 0.2)  # inches of a line in a legend
NOTE_GAP = 10.0  # points between two notes


def draw_panel(picture: Picture, panel: Panel, cast: Cast) -> Any:
    """A figure of one panel; the panels of a picture have the same y-axis.

    Examples
    --------
    >>> from thresher.experiments.arena.figures.picture import ERROR, NOISE
    >>> panel = Panel("label-flip", (Curve("thresher", ((0.0, 0.1), (0.05, 0.2))),))
    >>> picture = Picture("noise", "Error", "", (panel,), NOISE, ERROR)
    >>> figure = draw_panel(picture, panel, Cast(("thresher",), ()))
    >>> figure.axes[0].get_title(), len(figure.axes[0].lines)
    ('label-flip', 1)
    """
    figure = new_figure(*picture.size)
    axes = figure.subplots()
    _prepare(axes, picture, panel)
    if panel.floor:
        axes.plot(*zip(*panel.floor), zorder=2.5, **FLOOR)
    for place, curve in enumerate(panel.curves):
        moved = DODGE**place if curve.ranges else 1.0
        _draw_curve(axes, curve, cast, moved, drawstyle=picture.drawstyle)
    _write_notes(figure, axes, [c for c in panel.curves if cast.is_prominent(c.learner)])
    return figure


def draw_sample(learner: str | None) -> Any:
    """A short piece of a learner's line for the legend; of the others' grey one for None.

    Examples
    --------
    >>> draw_sample("thresher").axes[0].lines[0].get_marker()
    'o'
    """
    look = _thin() if learner is None else _look(learner, style_of(learner))
    return _sample({**look, "markevery": [1]})


def draw_floor_sample() -> Any:
    """A short piece of a floor for the legend.

    Examples
    --------
    >>> draw_floor_sample().axes[0].lines[0].get_color()
    'black'
    """
    return _sample(FLOOR)


def _sample(look: dict[str, Any]) -> Any:
    figure = new_figure(*SAMPLE)
    figure.set_layout_engine("none")  # which would leave a margin
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.plot([0, 1, 2], [0, 0, 0], **look)
    axes.set(xlim=(-0.05, 2.05), ylim=(-1, 1))
    return figure


def _draw_curve(axes: Any, curve: Curve, cast: Cast, moved: float, **options: Any) -> None:
    is_prominent = cast.is_prominent(curve.learner)
    look = _look(curve.learner, style_of(curve.learner)) if is_prominent else _thin()
    x, y = np.array(curve.points).T
    x = x * moved
    if curve.ranges:
        low, high = np.array(curve.ranges).T
        axes.vlines(x, low, high, color=look["color"], linewidth=1.2, alpha=0.6, zorder=2.2)
    every = max(1, -(-len(x) // N_MARKERS))
    y = np.maximum(y, SMALLEST_ERROR) if axes.get_yscale() == "log" else y
    axes.plot(x, y, markevery=every, **options, **look)


def _look(learner: str, style: Style) -> dict[str, Any]:
    is_ours = learner == THRESHER
    is_star = style.marker == "*" or isinstance(style.marker, tuple)  # most of it is air
    return {
        "color": style.color,
        "linestyle": style.line,
        "linewidth": 2.6 if is_ours else 1.5,
        "marker": style.marker,
        "markersize": 9 if is_star else 7 if is_ours else 6.5,
        "markerfacecolor": "white" if style.is_hollow else style.color,
        "markeredgecolor": style.color if style.is_hollow else "white",
        "markeredgewidth": 1.2 if style.is_hollow else 0.5,
        "zorder": 4 if is_ours else 3,
    }


def _thin() -> dict[str, Any]:
    return {"color": GREY, "linewidth": 0.9, "zorder": 2}


# -- axes --------------------------------------------------------------------------------------


def _prepare(axes: Any, picture: Picture, panel: Panel) -> None:
    axes.set_title(panel.title, fontsize=10.5, parse_math=False)
    _set_axis(axes.xaxis, panel.x or picture.x)
    _set_axis(axes.yaxis, picture.y)
    axes.set_ylim(*_limits(picture))
    if picture.drawstyle != "default":
        axes.margins(x=0.01)
    axes.grid(color="0.92", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=9.5)


def _set_axis(axis: Any, kind: Axis) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

    axis.axes.set(**{f"{axis.axis_name}scale": kind.scale})
    if kind.ticks:
        axis.set_ticks(kind.ticks)
    else:
        is_log = kind.scale == "log"
        axis.set_major_locator(
            LogLocator(subs=(1.0, 2.0, 5.0), numticks=9) if is_log else MaxNLocator(5)
        )
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: kind.write(value)))
    axis.set_label_text(kind.label, fontsize=10)


def _limits(picture: Picture) -> tuple[float, float]:
    """The range of everything measured, in all panels, and a bit more."""
    values = np.array(list(_heights(picture)))
    if picture.y.scale == "linear":
        return -0.02, 1.03
    values = np.maximum(values, SMALLEST_ERROR)
    low, high = float(values.min()), float(values.max())
    room = max((high / low) ** 0.06, 1.1)
    return low / room, high * room


def _heights(picture: Picture) -> Iterator[float]:
    for panel in picture.panels:
        for curve in panel.curves:
            yield from (y for _, y in curve.points)
            yield from (bound for pair in curve.ranges for bound in pair)
        yield from (y for _, y in panel.floor)


def _write_notes(figure: Any, axes: Any, curves: list[Curve]) -> None:
    """Each curve's note beside its end, moved apart where two would overlap."""
    noted = sorted((c for c in curves if c.note), key=lambda curve: curve.points[-1][1])
    if not noted:
        return
    figure.draw_without_rendering()  # only then is known where a point is
    scale, last = 72 / figure.dpi, -np.inf
    for curve in noted:
        height = axes.transData.transform(curve.points[-1])[1] * scale
        place = max(height, last + NOTE_GAP)
        last = place
        axes.annotate(
            curve.note,
            curve.points[-1],
            (7, place - height),
            textcoords="offset points",
            va="center",
            fontsize=9,
            color=style_of(curve.learner).color,
            annotation_clip=False,
        )
