"""How rows and labels grow: the first and the fourth of the paper's claims."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from cells import GRAY, HERE, Row, markdown, read_rows
from claims_parts import STYLES, cells_of, error, medians, panels, save, ticks, worst_by

from thresher.experiments.arena.figures.kinds import exponent, label_floor, labels_needed
from thresher.experiments.spec import THRESHER

TARGET = 0.05  # of the sweep about rows


def least_that_suffices(ladder: dict[int, float], limit: float) -> int | None:
    """The least rung from which on every value is within the limit."""
    enough = None
    for rung in sorted(ladder, reverse=True):
        if ladder[rung] > limit:
            break
        enough = rung
    return enough


def crossing(x: Sequence[float], y: Sequence[float], level: float) -> float | None:
    """Where a falling curve meets a level for the last time, on logarithmic axes.

    The first place if the curve is below the level everywhere, None if it ends above.
    """
    if max(y) <= level:
        return float(x[0])
    for k in range(len(x) - 1, 0, -1):
        if y[k] <= level < y[k - 1]:
            share = np.log(y[k - 1] / level) / np.log(y[k - 1] / y[k])
            return float(x[k - 1] * (x[k] / x[k - 1]) ** share)
    return None


# -- 1: rows -----------------------------------------------------------------------------------


def n_rows_of(cell: Row) -> int:
    """The rows of a phase for Thresher; for the others, all rows."""
    if cell["method"] == THRESHER:
        return int(cell["learner"].rpartition(" ")[2])
    return int(float(cell["label_budget"]))


def rows_needed() -> dict[str, dict[int, int | None]]:
    """For each learner and sparsity, the least rows with a median error at the target."""
    ladders: dict[tuple[str, int], dict[int, float]] = defaultdict(dict)
    cells = [*cells_of("claim-rows"), *cells_of("claim-rows-rivals")]
    for cell in worst_by(cells, "learner", "sparsity", "label_budget").values():
        ladders[cell["method"], int(cell["sparsity"])][n_rows_of(cell)] = error(cell)
    found: dict[str, dict[int, int | None]] = defaultdict(dict)
    for (method, s), ladder in sorted(ladders.items(), key=lambda item: item[0][1]):
        found[method][s] = least_that_suffices(ladder, TARGET)
    return found


def filter_rows_needed() -> dict[str, dict[int, float | None]]:
    """For each filter and sparsity, the rows with which it halves the planted share."""
    rows = read_rows("claims-filters")
    shares = medians(rows, ("filter", "sparsity", "n_rows"), "planted_share")
    return crossings(shares, 0.05)


def concentration_needed() -> dict[str, dict[int, float | None]]:
    """For each distribution and sparsity, the rows with which the variance is at most 1.5."""
    rows = read_rows("claims-concentration")
    variances = medians(rows, ("distribution", "sparsity", "n_rows"), "variance_upper")
    return crossings({key: value - 1 for key, value in variances.items()}, 0.5)


def crossings(
    values: dict[tuple[str, ...], float], level: float
) -> dict[str, dict[int, float | None]]:
    """By name and sparsity, the rows at which a value falls to the level."""
    curves: dict[tuple[str, int], list[tuple[int, float]]] = defaultdict(list)
    for (name, s, n), value in values.items():
        curves[name, int(s)].append((int(n), value))
    found: dict[str, dict[int, float | None]] = defaultdict(dict)
    for (name, s), curve in curves.items():
        found[name][s] = crossing(*zip(*sorted(curve)), level)
    return found


def fitted(name: str, points: dict[int, Any]) -> str:
    """The exponent of the power law through the points above the lowest rung, in words."""
    known = {s: n for s, n in points.items() if n and n > LOWEST.get(name, 100)}
    if len(known) < 2:
        return ""
    return f", exponent {exponent(list(known), list(known.values())):.1f}"


LOWEST = {THRESHER: 30, "trimmed-mean": 125, "balakrishnan": 125}  # rungs; others start at 100
TITLES = {
    THRESHER: "Thresher, rows of a phase",
    "trimmed-mean": "trimmed mean, all labeled",
    "balakrishnan": "Balakrishnan et al., all labeled",
}


def draw_rows() -> None:
    """Rows needed against the sparsity: whole learners, filters alone, concentration alone."""
    figure, axes = panels(3)
    contents = (
        ("rows for an error of 0.05", rows_needed()),
        ("rows to halve the planted share", filter_rows_needed()),
        ("rows for a clean variance ≤ 1.5", concentration_needed()),
    )
    for panel, (title, found) in zip(axes, contents):
        for (name, points), (color, marker, line) in zip(found.items(), STYLES):
            known = {s: n for s, n in points.items() if n}
            label = TITLES.get(name, name) + fitted(name, points)
            panel.plot(
                list(known), list(known.values()), color=color, marker=marker, ls=line, label=label
            )
        s = np.array([3.0, 24.0])
        for power, style, word in ((1, ":", "∝ s"), (2, "--", "∝ s²")):
            panel.plot(s, 60 * (s / 3) ** power, color=GRAY, ls=style, lw=1, label=word)
        panel.set(xscale="log", yscale="log", xlabel="sparsity s", title=title)
        ticks(panel, (3, 6, 12, 24), (50, 100, 200, 500, 1000, 2000, 5000))
        panel.legend(frameon=False, fontsize=7.5, loc="upper left")
        low, high = panel.get_ylim()
        panel.set_ylim(low, high * (high / low) ** 0.45)
    save(figure, "rows")


def rows_table() -> str:
    """Rows needed by sparsity."""
    rows = []
    for what, found in (
        ("error at most .05", rows_needed()),
        ("planted share halved", filter_rows_needed()),
        ("clean variance at most 1.5", concentration_needed()),
    ):
        for name, points in found.items():
            numbers = [_count(points.get(s, 0), LOWEST.get(name, 100)) for s in (3, 6, 12, 24)]
            rows.append([what, TITLES.get(name, name), *numbers])
    return markdown(["rows for", "who", *(f"s = {s}" for s in (3, 6, 12, 24))], rows)


def _count(value: float | None, lowest: int) -> str:
    if value is None:
        return "not reached"
    if value == 0:
        return "not run"
    return f"{value:,.0f}" if value > lowest else f"≤ {lowest}"


# -- 4: labels ---------------------------------------------------------------------------------

BASE = (200, 6, 0.05)


def needed_by_attack() -> dict[str, dict[tuple[int, int, float], float]]:
    """For each attack and problem the labels of the least budget with which all seeds succeed."""
    cells = pd.read_csv(HERE / "claims.csv").query("arena == 'claim-labels' and seeds == 'counted'")
    found: dict[str, dict[tuple[int, int, float], float]] = {}
    for attack, own in cells.groupby("adversary", sort=False):
        needed = labels_needed(own.rename(columns={"learner": "name"}))
        found[str(attack)] = {
            (d, s, e): labels for _, d, s, e, labels in needed.itertuples(index=False)
        }
    return found


def draw_labels() -> None:
    """Labels against sparsity, features and 1/error under each attack, with the floor's shape."""
    figure, axes = panels(3)
    found = needed_by_attack()
    for panel, (place, title) in zip(axes, ((1, "sparsity s"), (0, "features d"), (2, "1/error"))):
        for (attack, needed), (color, marker, line) in zip(found.items(), STYLES):
            rest = [k for k in range(3) if k != place]
            keys = [key for key in needed if all(key[k] == BASE[k] for k in rest)]
            points = sorted(
                ((1 / key[2] if place == 2 else key[place]), needed[key]) for key in keys
            )
            x, y = [p[0] for p in points], [p[1] for p in points]
            label = attack + (f", exponent {exponent(x, y):.2f}" if len(x) > 2 else "")
            panel.plot(x, y, color=color, marker=marker, ls=line, label=label)
        draw_floor(panel, place)
        panel.set(xscale="log", yscale="log", xlabel=title)
        ticks(panel, ((200, 800), (3, 6, 12), (20, 80))[place], (50, 100, 200, 500, 1000))
        panel.set_ylim(25, 3000)
        panel.legend(frameon=False, fontsize=8, loc="upper left")
    axes[0].set_ylabel("labels with which all seeds reach the target")
    save(figure, "labels")


def draw_floor(panel: Any, place: int) -> None:
    """The lower bound s(log2(1/ε) + log2(d/s)), times 1 and 10."""
    sizes = ((200, 800), (3, 6, 12), (0.05, 0.0125))[place]
    problems = [tuple(size if k == place else BASE[k] for k in range(3)) for size in sizes]
    floor = np.array([label_floor(int(d), int(s), e) for d, s, e in problems])
    x = [1 / size for size in sizes] if place == 2 else list(sizes)
    panel.plot(x, floor, color=GRAY, ls=":", label="floor")
    panel.plot(x, 10 * floor, color=GRAY, ls="--", label="10 floors, the largest budget")


def claim_labels_table() -> str:
    """The labels for each problem and attack."""
    found = needed_by_attack()
    problems = sorted(
        {(c["n_features"], c["sparsity"], c["target_error"]) for c in cells_of("claim-labels")},
        key=lambda p: tuple(map(float, p)),
    )
    rows = []
    for d, s, e in problems:
        key, floor = (int(d), int(s), float(e)), label_floor(int(d), int(s), float(e))
        paid = [needed.get(key) for needed in found.values()]
        texts = [f"{n:,.0f} ({n / floor:.1f})" if n else "not reached" for n in paid]
        rows.append([d, s, e, f"{floor:.0f}", *texts])
    return markdown(["features", "sparsity", "error", "floor", *found], rows)
