"""What the tests of displays read from a picture."""

from __future__ import annotations

import io
from typing import Any

from matplotlib.figure import Figure


def bare_axes(n_panels: int) -> Any:
    """One or several axes of a figure that pyplot does not know."""
    return Figure(figsize=(4.5 * n_panels, 4.8), layout="constrained").subplots(1, n_panels)


def as_svg(figure: Any) -> str:
    """The figure as text; every warning of the drawing is an error in tests."""
    out = io.StringIO()
    figure.savefig(out, format="svg")
    return out.getvalue()


def heights(container: Any) -> list[float]:
    """Of the bars of one group."""
    return [bar.get_height() for bar in container]


def bottoms(container: Any) -> list[float]:
    """Where the bars of one group begin."""
    return [bar.get_y() for bar in container]


def notes(axes: Any) -> list[str]:
    """What is written inside the axes."""
    return [text.get_text() for text in axes.texts]


def legend_of(axes: Any) -> list[str]:
    """The lines of the legend; none without a legend."""
    legend = axes.get_legend()
    return [] if legend is None else [text.get_text() for text in legend.get_texts()]


def overlaps(axes: Any, texts: list[Any]) -> bool:
    """Whether two of these texts cover each other once the figure is drawn."""
    figure = axes.figure
    as_svg(figure)
    boxes = [text.get_window_extent() for text in texts if text.get_text()]
    return any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
