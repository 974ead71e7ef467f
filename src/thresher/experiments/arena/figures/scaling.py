"""Labels needed against sparsity, features and 1/error, with the exponents that fit best."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from thresher.experiments.arena.figures.panel import (
    LABELS,
    SMALL,
    Axis,
    Curve,
    Figure,
    Panel,
    curves_of,
    how_measured,
    sentences,
    settings_of,
)
from thresher.experiments.arena.summary import Summary
from thresher.experiments.spec import SimulationSpec

PROBLEM = ["n_features", "sparsity", "target_error"]  # what decides how many labels are needed
LABEL_FLOOR = "about the fewest labels for that error"
ENOUGH_SEEDS = 0.8


def label_floor(n_features: int, sparsity: int, error: float) -> float:
    """About the fewest labels with which any active learner reaches the error.

    Examples
    --------
    >>> round(label_floor(n_features=500, sparsity=10, error=0.1))
    90
    """
    return SimulationSpec(n_features=n_features, sparsity=sparsity).label_floor(error)


@dataclass(frozen=True)
class _Direction:
    """One of the ways in which a problem may grow."""

    field: str
    label: str
    measure: Callable[[float], float] = float
    write: Callable[[float], str] = "{:,.0f}".format


_DIRECTIONS = (
    _Direction("sparsity", "sparsity s"),
    _Direction("n_features", "features d"),
    _Direction("target_error", "1/error", lambda error: 1 / error, "{:.3g}".format),
)
_SYMBOLS = {"n_features": "d = {:,}", "sparsity": "s = {:,}", "target_error": "ε = {:g}"}


def labels_by_size(summary: Summary) -> Iterator[Figure]:
    """The labels needed, one panel for each direction in which there are at least two problems."""
    for name, cells in settings_of(summary, {*PROBLEM, "noise_rate", "label_budget"}):
        ladders = cells[cells["target_error"].notna() & cells["label_budget"].notna()]
        needed = labels_needed(ladders)
        panels = tuple(panel for each in _DIRECTIONS for panel in _size_panels(each, needed))
        if panels:
            caption = sentences(
                "The labels paid with the least budget with which 8 of 10 seeds reach the target "
                "error, under every attack, and with every larger budget",
                "the number at the end of a curve is the exponent of the power law that fits best",
                "the floor is s(log2(1/ε) + log2(d/s)) labels for an error of ε",
                name,
                how_measured(summary, ladders),
            )
            title, x = "Labels needed as the problem grows", Axis("size", "log", "{:g}".format)
            y = Axis("labels needed", "log", LABELS.write)
            yield Figure("labels needed", title, caption, panels, x, y, SMALL, LABEL_FLOOR)


def labels_needed(cells: pd.DataFrame) -> pd.DataFrame:
    """For each learner and problem the labels paid with the least budget that suffices.

    A budget suffices if 8 of 10 seeds reach the target error with it and with every larger one,
    under every attack. A problem for which none does is left out.

    Examples
    --------
    >>> cells = pd.DataFrame({"name": "thresher", "n_features": 9, "sparsity": 1,
    ...                       "target_error": 0.05, "label_budget": [50, 100, 200], "n_runs": 10,
    ...                       "n_at_target": [9, 7, 8], "n_labels": [49.0, 98.0, 190.0]})
    >>> labels_needed(cells)["labels"].tolist()
    [190.0]
    """
    paid = cells["n_labels"].where(cells["n_labels"] > 0, cells["label_budget"])
    enough = cells["n_at_target"] / cells["n_runs"] >= ENOUGH_SEEDS
    ladder = cells.assign(labels=paid.astype(float), is_enough=enough)
    rungs = ladder.groupby(["name", *PROBLEM, "label_budget"], sort=False, as_index=False)
    rungs = rungs.agg(labels=("labels", "max"), is_enough=("is_enough", "all"))
    rungs = rungs.sort_values("label_budget", ascending=False, kind="stable")
    suffices = rungs.groupby(["name", *PROBLEM])["is_enough"].cummin().astype(bool)
    least = rungs[suffices].drop_duplicates(["name", *PROBLEM], keep="last")
    return least.sort_index()[["name", *PROBLEM, "labels"]]


def exponent(x: Sequence[float], y: Sequence[float]) -> float:
    """The exponent of the power law that fits best.

    Examples
    --------
    >>> round(exponent([1, 2, 4], [3, 12, 48]), 3)
    2.0
    """
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def _size_panels(direction: _Direction, needed: pd.DataFrame) -> Iterator[Panel]:
    """A panel of the largest family of problems that grow in this direction alone, if any do."""
    rest = [name for name in PROBLEM if name != direction.field]
    problems = needed.drop_duplicates(PROBLEM)
    if problems.empty:
        return
    largest = problems.groupby(rest, sort=False)["labels"].transform("size").idxmax()
    family = needed[(needed[rest] == needed.loc[largest, rest]).all(axis=1)]
    family = family.assign(size=family[direction.field].map(direction.measure))
    family = family.sort_values("size", kind="stable")
    sizes = family.drop_duplicates("size")
    if len(sizes) < 2:
        return
    title = ", ".join(_SYMBOLS[name].format(sizes[name].iloc[0]) for name in rest)
    floors = [label_floor(*values) for values in sizes[PROBLEM].itertuples(index=False)]
    yield Panel(
        title,
        tuple(_with_exponent(curve) for curve in curves_of(family, "size", "labels")),
        floor=tuple(zip(sizes["size"], floors)),
        x=Axis(direction.label, "log", direction.write, tuple(sizes["size"])),
    )


def _with_exponent(curve: Curve) -> Curve:
    if len(curve.points) < 2:
        return curve
    return replace(curve, note=f"{exponent(*zip(*curve.points)):.2f}")
