"""What the displays share: axes to draw on, colors, hatches and legends."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from thresher.estimators import HalfspaceClassifier, HalfspaceClassifierCV
from thresher.rendering import palette

COLORS = (palette.LIGHT_BLUE, palette.RED, palette.GREEN, palette.YELLOW)
HATCHES = ("", "////", "....", "xx")
OUTLINE = {"edgecolor": "black", "linewidth": 0.6}
MAX_NUMBERED = 10  # phases that get a number each; beyond, every second or third does
LEGEND_LINE = 0.19  # inches that one line of a legend takes


def check_classifier(estimator: Any) -> None:
    """Raise unless this is a fitted classifier of ours."""
    if not isinstance(estimator, (HalfspaceClassifier, HalfspaceClassifierCV)):
        wanted = "a fitted HalfspaceClassifier or HalfspaceClassifierCV"
        raise TypeError(f"estimator must be {wanted}, got {type(estimator).__name__}")
    check_is_fitted(estimator)


def take_axes(ax: Any, n_panels: int, figsize: tuple[float, float]) -> list[Any]:
    """The given axes, or new ones of pyplot; raises unless they are axes and their number fits."""
    try:
        from matplotlib.axes import Axes
    except ImportError as error:
        raise ImportError('displays need matplotlib: pip install "thresher[plot]"') from error
    if ax is None:
        from matplotlib import pyplot

        _, ax = pyplot.subplots(1, n_panels, figsize=figsize, layout="constrained")
    panels = np.asarray(ax, dtype=object).ravel().tolist()
    if not all(isinstance(panel, Axes) for panel in panels):
        raise TypeError(f"ax must be matplotlib axes or None, got {ax!r}")
    if len(panels) != n_panels:
        wanted = "one" if n_panels == 1 else f"{n_panels}, as of figure.subplots(1, {n_panels})"
        raise ValueError(f"ax must be {wanted}, got {len(panels)} axes")
    return panels


def brief_count(n: int) -> str:
    """A number of rows in few characters.

    Examples
    --------
    >>> [brief_count(n) for n in (569, 20_000, 123_456, 12_345_678)]
    ['569', '20,000', '123k', '12.3M']
    """
    if n < 100_000:
        return f"{n:,}"
    return f"{n / 1e3:.0f}k" if n < 999_500 else f"{n / 1e6:.1f}M"


def number_phases(axes: Any, n_phases: int, notes: Sequence[str] | None = None) -> None:
    """Ticks at the phases 1, 2, …, each with a note in a second line if there are notes."""
    step = -(-n_phases // MAX_NUMBERED)
    places = list(range(1, n_phases + 1, step))
    texts = [str(k) if notes is None else f"{k}\n{notes[k - 1]}" for k in places]
    axes.set_xticks(places, texts)
    axes.set_xlim(0.4, n_phases + 0.6)


def write_above(axes: Any, bars: Sequence[Any], texts: Sequence[str]) -> None:
    """A text above each bar, unless the texts would overlap."""
    if len(texts) <= MAX_NUMBERED:
        for bar, text in zip(bars, texts):
            place = bar.get_x() + bar.get_width() / 2, bar.get_y() + np.nan_to_num(bar.get_height())
            axes.annotate(text, place, (0, 2), textcoords="offset points", ha="center", fontsize=9)


def use_logarithm(axes: Any) -> None:
    """A logarithmic y-axis with plain numbers at the powers of ten."""
    from matplotlib.ticker import NullFormatter

    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:,g}")
    axes.yaxis.set_minor_formatter(NullFormatter())


def explain(axes: Any, low: float, high: float, loc: str) -> None:
    """A legend, and room for it above the highest value."""
    axes.spines[["top", "right"]].set_visible(False)
    # Bars come first: they are containers, and matplotlib puts these last.
    pairs = sorted(
        zip(*axes.get_legend_handles_labels()), key=lambda p: not isinstance(p[0], tuple)
    )
    handles, labels = [handle for handle, _ in pairs], [label for _, label in pairs]
    inches = axes.get_window_extent().height / axes.figure.dpi
    n_lines = sum(1 + label.count("\n") for label in labels)
    share = 1 / (1 - min(0.7, (0.2 + LEGEND_LINE * n_lines) / max(inches, 0.1)))
    if axes.get_yscale() == "log":
        axes.set_ylim(low, low * (high / low) ** share)
    else:
        axes.set_ylim(low, low + (high - low) * share)
    if handles:
        legend = axes.legend(handles, labels, loc=loc, framealpha=0.9, edgecolor="none", fontsize=9)
        for text in legend.get_texts():  # a dollar sign in a name does not start a formula
            text.set_parse_math(False)
