"""Panels as matplotlib figures, and all figures of a sweep as a section of its report.

Each panel is a matplotlib figure of its own: a page can stack them.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np

from thresher.experiments.arena.figures import sketch
from thresher.experiments.arena.figures.kinds import figures_of, ratios_to_best
from thresher.experiments.arena.figures.sketch import Axis, Curve, Figure, Panel
from thresher.experiments.arena.summary import Summary
from thresher.experiments.spec import THRESHER
from thresher.rendering import html
from thresher.rendering.html import Html, as_image, element, join, new_figure

MAX_IN_COLOR = 8  # more learners than that cannot be told apart
GRAY = "0.7"
FLOOR = {"color": "black", "linewidth": 1.4, "linestyle": (0, (3, 2))}
THIN = {"color": GRAY, "linewidth": 0.9, "zorder": 2}
DODGE = 1.04  # ranges at the same place would hide one another
N_MARKERS = 7  # on a curve of many points
SAMPLE = (0.58, 0.2)  # inches of a line in a legend
NOTE_GAP = 10.0  # points between two notes


# -- the section -------------------------------------------------------------------------------


def figures_section(summary: Summary) -> Html:
    """The figures under a heading; what to install if matplotlib is missing."""
    figures = figures_of(summary)
    if not figures:
        return Html("")
    ranked = rank_learners(summary)
    try:
        parts = [*_explain(ranked), *(_figure(figure, ranked) for figure in figures)]
    except ImportError:
        parts = [element("p", html.NO_PICTURES, class_="quiet")]
    return join([element("h2", "Figures"), *parts], between="\n")


def rank_learners(summary: Summary) -> list[str]:
    """Thresher, then the others from best to worst; those that got more labels come last.

    The rank is the geometric mean of the error over that of the best learner, over all cells: the
    same in every figure, so that no learner changes its looks.
    """
    cells = summary.worst
    by_name = cells.assign(log=np.log(ratios_to_best(cells)), more=cells["budget_factor"] > 1)
    ranks = by_name.groupby("name", sort=False).agg({"more": "any", "log": "mean"})
    names = ranks.sort_values(["more", "log"], kind="stable").index
    return sorted(names, key=lambda name: name != THRESHER)


def _explain(ranked: Sequence[str]) -> Iterator[Html]:
    """Once for all figures, which learners are not drawn in color."""
    others = ranked[MAX_IN_COLOR:]
    if others:
        text = (
            "A learner looks the same in every figure. Thresher and the learners with the smallest "
            "errors over all cells are drawn in color. The others are thin gray lines; from best "
            "to worst, those with more labels last: "
        )
        yield element("p", f"{text}{', '.join(map(sketch.title_of, others))}.")


def _figure(figure: Figure, ranked: Sequence[str]) -> Html:
    in_color = ranked[:MAX_IN_COLOR]
    drawn = [draw_panel(figure, panel, in_color) for panel in figure.panels]
    texts = [figure.describe(panel, in_color) for panel in figure.panels]
    parts = (
        element("strong", figure.title),
        element("ul", *_legend(figure, ranked), class_="legend"),
        html.side_by_side(drawn, texts),
        element("figcaption", figure.caption),
    )
    return element("figure", *parts, class_="chart", data_figure=figure.name)


def _legend(figure: Figure, ranked: Sequence[str]) -> Iterator[Html]:
    """A line for each learner that is drawn in color, one for the floor, one for all others."""
    seen = {curve.learner for panel in figure.panels for curve in panel.curves}
    for name in ranked[:MAX_IN_COLOR]:
        if name in seen:
            text = sketch.style_of(name).words
            yield element("li", as_image(_sample(_look(name)), text), sketch.title_of(name))
    if any(panel.floor for panel in figure.panels):
        sample = as_image(_sample(FLOOR), "dashed black line without markers")
        yield element("li", sample, figure.floor_label)
    n_others = len(seen.intersection(ranked[MAX_IN_COLOR:]))
    if n_others:
        sample = as_image(_sample(THIN), "thin gray line without markers")
        yield element("li", sample, f"{n_others} others" if n_others > 1 else "one other")


def _sample(look: dict[str, Any]) -> Any:
    """A short piece of a line for the legend."""
    figure = new_figure(*SAMPLE)
    figure.set_layout_engine("none")  # which would leave a margin
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.plot([0, 1, 2], [0, 0, 0], **look, markevery=[1])
    axes.set(xlim=(-0.05, 2.05), ylim=(-1, 1))
    return figure


# -- panels ------------------------------------------------------------------------------------


def draw_panel(figure: Figure, panel: Panel, in_color: Collection[str]) -> Any:
    """A matplotlib figure of one panel; the panels of a figure have the same y-axis.

    Examples
    --------
    >>> from thresher.experiments.arena.figures.sketch import ERROR, NOISE
    >>> panel = Panel("label-flip", (Curve("thresher", ((0.0, 0.1), (0.05, 0.2))),))
    >>> figure = Figure("noise", "Error", "", (panel,), NOISE, ERROR)
    >>> axes = draw_panel(figure, panel, ["thresher"]).axes[0]
    >>> axes.get_title(), axes.lines[0].get_marker()
    ('label-flip', 'o')
    """
    drawn = new_figure(*figure.size)
    axes = drawn.subplots()
    _prepare(axes, figure, panel)
    if panel.floor:
        axes.plot(*zip(*panel.floor), zorder=2.5, **FLOOR)
    for place, curve in enumerate(panel.curves):
        look = _look(curve.learner) if curve.learner in in_color else THIN
        moved = DODGE**place if curve.ranges else 1.0
        _draw_curve(axes, curve, look, moved, drawstyle=figure.drawstyle)
    _write_notes(drawn, axes, [curve for curve in panel.curves if curve.learner in in_color])
    return drawn


def _draw_curve(
    axes: Any, curve: Curve, look: dict[str, Any], moved: float, drawstyle: str
) -> None:
    x, y = np.array(curve.points).T
    x = x * moved
    if curve.ranges:
        low, high = np.array(curve.ranges).T
        axes.vlines(x, low, high, color=look["color"], linewidth=1.2, alpha=0.6, zorder=2.2)
    every = max(1, -(-len(x) // N_MARKERS))
    y = np.maximum(y, sketch.SMALLEST_ERROR) if axes.get_yscale() == "log" else y
    axes.plot(x, y, markevery=every, drawstyle=drawstyle, **look)


def _look(learner: str) -> dict[str, Any]:
    style, is_ours = sketch.style_of(learner), learner == THRESHER
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


def _prepare(axes: Any, figure: Figure, panel: Panel) -> None:
    axes.set_title(panel.title, fontsize=10.5, parse_math=False)
    _set_axis(axes.xaxis, panel.x or figure.x)
    _set_axis(axes.yaxis, figure.y)
    axes.set_ylim(*_limits(figure))
    if figure.drawstyle != "default":
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
        log_ticks = LogLocator(subs=(1.0, 2.0, 5.0), numticks=9)
        axis.set_major_locator(log_ticks if kind.scale == "log" else MaxNLocator(5))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: kind.write(value)))
    axis.set_label_text(kind.label, fontsize=10)


def _limits(figure: Figure) -> tuple[float, float]:
    """The range of everything measured, in all panels, and a bit more."""
    if figure.y.scale == "linear":
        return -0.02, 1.03
    curves = [curve for panel in figure.panels for curve in panel.curves]
    lines = [*(panel.floor for panel in figure.panels), *(curve.points for curve in curves)]
    heights = [y for line in lines for _, y in line]
    heights += [bound for curve in curves for pair in curve.ranges for bound in pair]
    low, high = max(min(heights), sketch.SMALLEST_ERROR), max(*heights, sketch.SMALLEST_ERROR)
    room = max((high / low) ** 0.06, 1.1)
    return low / room, high * room


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
        style = {"color": sketch.style_of(curve.learner).color, "va": "center", "fontsize": 9}
        where = {"textcoords": "offset points", "annotation_clip": False}
        axes.annotate(curve.note, curve.points[-1], (7, place - height), **where, **style)
