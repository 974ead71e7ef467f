"""What the figures and tables about the paper's claims share."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from cells import HERE, Row, read_cells
from matplotlib.figure import Figure

from thresher.rendering.palette import BLUE, GREEN, ORANGE, PINK, RED

STYLES = (
    (GREEN, "o", "-"),
    (BLUE, "s", "--"),
    (RED, "^", "-."),
    (ORANGE, "D", ":"),
    (PINK, "v", "-"),
    ("0.3", "x", "-"),
)


def cells_of(sweep: str) -> list[Row]:
    """The cells of one sweep."""
    return [cell for cell in read_cells("claims") if cell["arena"] == sweep]


def error(cell: Row) -> float:
    """The median over the seeds."""
    return float(cell["median_error"])


def worst_by(cells: Iterable[Row], *keys: str) -> dict[tuple[str, ...], Row]:
    """Of the cells with the same values of these keys, the one with the largest median error."""
    found: dict[tuple[str, ...], Row] = {}
    for cell in cells:
        key = tuple(cell[name] for name in keys)
        found[key] = max(found.get(key, cell), cell, key=error)
    return found


def medians(rows: Iterable[Row], keys: Sequence[str], value: str) -> dict[tuple[str, ...], float]:
    """The median of a column over the seeds."""
    groups: dict[tuple[str, ...], list[float]] = defaultdict(list)
    for row in rows:
        groups[tuple(row[key] for key in keys)].append(float(row[value]))
    return {key: float(np.median(values)) for key, values in groups.items()}


def panels(n: int, height: float = 4.2) -> tuple[Figure, list[Any]]:
    """A figure with panels side by side."""
    figure = Figure(figsize=(4.2 * n + 0.6, height), layout="constrained")
    axes = figure.subplots(1, n, squeeze=False)[0]
    for panel in axes:
        panel.spines[["top", "right"]].set_visible(False)
    return figure, list(axes)


def ticks(panel: Any, x: Iterable[float] = (), y: Iterable[float] = ()) -> None:
    """Plain numbers at these places of the axes, and no other marks."""
    panel.minorticks_off()
    for places, write in ((list(x), panel.set_xticks), (list(y), panel.set_yticks)):
        if places:
            write(places, [f"{place:,g}" for place in places])


def save(figure: Figure, name: str) -> None:
    """Write the figure beside this file."""
    figure.savefig(HERE / f"claims-{name}.png", dpi=110)


def draw_range(
    panel: Any, x: Sequence[float], cells: Sequence[Row], label: str, style: Any
) -> None:
    """Medians as a line, and the range of the seeds as a band."""
    color, marker, line = style
    panel.plot(x, list(map(error, cells)), color=color, marker=marker, ls=line, label=label)
    low, high = ([float(cell[name]) for cell in cells] for name in ("error_10", "error_90"))
    panel.fill_between(x, low, high, color=color, alpha=0.15, lw=0)
