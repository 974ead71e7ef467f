"""The tables and figures of the studies, made from the cells that lie beside this file.

    thresher arena run NAME --out DIR
    thresher arena report DIR --out NAME.html --csv NAME.csv
    grep -v ',pilot,' NAME.csv > docs/studies/NAME.csv
    python docs/studies/studies.py

It draws the pictures again and rewrites what stands between the marks of a table in the pages.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable

import arena_pages
import audit_page
import claims_page
import freshness
import harm_page
import numpy as np
import pandas as pd
import pools_page
from cells import GRAY, HERE, attack_name, markdown, read_cells
from matplotlib.figure import Figure

from thresher.experiments.arena.figures.kinds import exponent, label_floor, labels_needed
from thresher.experiments.spec import THRESHER
from thresher.rendering.palette import BLUE, RED

DEFAULT = "default"


# -- scaling -----------------------------------------------------------------------------------


def labels_by_problem() -> dict[tuple[int, int, float], float]:
    """For each (features, sparsity, error) the labels of the least budget that suffices."""
    cells = pd.read_csv(HERE / "scaling.csv").query("seeds == 'counted'")
    needed = labels_needed(cells.rename(columns={"learner": "name"}))
    return {(d, s, e): labels for _, d, s, e, labels in needed.itertuples(index=False)}


def draw_scaling() -> None:
    """Labels against sparsity, features and 1/error, with the shape of the paper's bound."""
    needed = labels_by_problem()
    panels = (
        ("sparsity s", lambda key: key[1], [k for k in needed if (k[0], k[2]) == (500, 0.05)]),
        ("features d", lambda key: key[0], [k for k in needed if k[1:] == (10, 0.05)]),
        ("1/error", lambda key: 1 / key[2], [k for k in needed if k[:2] == (500, 10)]),
    )
    figure = Figure(figsize=(11, 4), layout="constrained")
    for axes, (title, value, keys) in zip(figure.subplots(1, 3, sharey=True), panels):
        keys = sorted(keys, key=value)
        x, y = [value(key) for key in keys], [needed[key] for key in keys]
        floor = [label_floor(*key) for key in keys]
        scaled = np.array(floor) * np.exp(np.mean(np.log(y) - np.log(floor)))
        label = f"measured, exponent {exponent(x, y):.2f}"
        axes.plot(x, y, "o-", color=BLUE, linewidth=2, label=label)
        label = "∝ s(log(1/ε) + log(d/s))"
        axes.plot(x, scaled, "--", color=RED, label=label)
        axes.set(xscale="log", yscale="log", xlabel=title, title=f"{y[-1] / y[0]:.2f}× in all")
        axes.set_xticks(x, [f"{tick:g}" for tick in x])
        axes.minorticks_off()
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, loc="upper left")
        print(title, {key: needed[key] for key in keys}, label, f"{exponent(x, y):.2f}")
    first = figure.axes[0]
    first.set_ylabel("distinct labels for 4 of 5 seeds")
    first.set_ylim(top=first.get_ylim()[1] * 1.8)
    ticks = [100, 200, 400, 800, 1600]
    first.set_yticks(ticks, [f"{tick:,}" for tick in ticks])
    figure.savefig(HERE / "scaling.png", dpi=150)


# -- calibration -------------------------------------------------------------------------------


def draw_calibration() -> None:
    """What each change of a constant does to the error, over all attacks and on the worst one."""
    errors: dict[str, dict[tuple[str, ...], float]] = defaultdict(dict)
    for cell in read_cells("calibration"):
        world = (cell["noise_rate"], cell["adversary"], cell["strength"])
        errors[cell["learner"]][world] = float(cell["median_error"])
    base = errors.pop(DEFAULT)
    names = list(errors)
    typical = [np.exp(np.mean([np.log(errors[n][w] / base[w]) for w in base])) for n in names]
    worst = [max(errors[n].values()) for n in names]
    figure = Figure(figsize=(11, 0.32 * len(names) + 1.6), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    places = np.arange(len(names))[::-1]
    left.plot(typical, places, "o", color=BLUE, markersize=8)
    left.axvline(1.0, color=GRAY, linestyle="--")
    left.set(xscale="log", xlabel="error over that of the default (geometric mean)")
    left.set_xticks([0.5, 1, 2, 4, 8], ["0.5", "1", "2", "4", "8"])
    right.plot(worst, places, "s", color=RED, markersize=8)
    right.axvline(max(base.values()), color=GRAY, linestyle="--", label="default")
    right.set(xscale="log", xlabel="largest median error of a cell")
    right.set_xticks([0.05, 0.1, 0.2, 0.4], ["0.05", "0.1", "0.2", "0.4"])
    left.set_yticks(places, names)
    for axes in (left, right):
        axes.minorticks_off()
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", color="0.9")
        axes.set_axisbelow(True)
    right.legend(frameon=False)
    figure.savefig(HERE / "calibration.png", dpi=150)
    for name, ratio, largest in zip(names, typical, worst):
        print(f"{name:40s} {ratio:6.2f} {largest:7.4f}")
    print(f"{DEFAULT:40s} {1:6.2f} {max(base.values()):7.4f}")


# -- tables ------------------------------------------------------------------------------------


def suite_table() -> str:
    """Each attack at its worst strength, at both noise rates."""
    rows: dict[str, list[str]] = defaultdict(list)
    head = ["attack"]
    for rate in arena_pages.SUITES:
        floor = arena_pages.floor_at(rate)
        for cell in arena_pages.cells_at(rate):
            if cell["learner"] == THRESHER:
                strength = f"{float(cell['strength']):g}" if cell["strength"] else "-"
                error = float(cell["median_error"])
                row = [strength, f"{error:.4f}", f"{float(cell['error_90']):.4f}"]
                rows[cell["adversary"]] += [*row, f"{error / floor:.2f}"]
        head += [f"worst strength at {rate:.0%}", "median error", "90% quantile", "over the floor"]
    return markdown(head, [[name, *row] for name, row in rows.items()])


def told_table() -> str:
    """Half, true and double noise rate side by side."""
    told: dict[str, dict[float, float]] = defaultdict(dict)
    for cell in read_cells("told-noise-rate"):
        told[attack_name(cell)][float(cell["told_noise_rate"])] = float(cell["median_error"])
    rates = (0.025, 0.05, 0.1)
    rows = [[name, *(f"{errors[rate]:.4f}" for rate in rates)] for name, errors in told.items()]
    return markdown(["attack", "noise_rate=0.025", "0.05 (true)", "0.1"], rows)


def marginals_table() -> str:
    """Four attacks under five distributions."""
    errors: dict[str, dict[str, float]] = defaultdict(dict)
    for cell in read_cells("marginals"):
        errors[attack_name(cell)][cell["distribution"]] = float(cell["median_error"])
    names = ["gaussian", "laplace", "logistic", "uniform", "exponential"]
    rows = [[a, *(f"{row[name]:.4f}" for name in names)] for a, row in errors.items()]
    return markdown(["attack", *names], rows)


def spike_table() -> str:
    """Sparse and dense outlier removal side by side, at every strength."""
    learners = ("thresher", "dense outlier removal")
    errors: dict[str, dict[str, tuple[float, float]]] = defaultdict(dict)
    for cell in read_cells("spike"):
        found = float(cell["median_error"]), float(cell["error_90"])
        errors[attack_name(cell)][cell["learner"]] = found
    head = ["attack, κ"]
    for name in learners:
        head += [f"{name}: median", "90% quantile"]
    rows = []
    for attack, found in errors.items():
        numbers = [f"{value:.4f}" for name in learners for value in found[name]]
        medians = [found[name][0] for name in learners]
        rows.append([attack, *numbers, f"{medians[1] / medians[0]:.1f}"])
    return markdown([*head, "dense over sparse"], rows)


def scaling_table() -> str:
    """The labels that 4 of 5 seeds need, beside the floor."""
    rows = []
    for (d, s, e), labels in sorted(labels_by_problem().items()):
        floor = label_floor(d, s, e)
        rows.append([f"{d}", f"{s}", f"{e:g}", f"{labels:,.0f}", f"{labels / floor:.1f}"])
    return markdown(["features", "sparsity", "error", "labels", "labels over floor"], rows)


TABLES: dict[str, Callable[[], str]] = {
    "suite": suite_table,
    "told-noise-rate": told_table,
    "marginals": marginals_table,
    "spike": spike_table,
    "scaling": scaling_table,
    **arena_pages.TABLES,
    **audit_page.TABLES,
    **claims_page.TABLES,
    **freshness.TABLES,
}


def with_tables(page: str) -> str:
    """The page with every marked table made again: `<!-- table NAME -->` to `<!-- end -->`."""

    def table(match: re.Match[str]) -> str:
        name = match[1]
        return f"<!-- table {name} -->\n{TABLES[name]()}\n<!-- end -->"

    return re.sub(r"<!-- table ([\w-]+) -->.*?<!-- end -->", table, page, flags=re.DOTALL)


if __name__ == "__main__":
    draw_scaling()
    draw_calibration()
    arena_pages.draw_worst_case()
    arena_pages.draw_labels()
    claims_page.draw()
    harm_page.write()
    pools_page.write()
    for path in sorted(HERE.glob("*.md")):
        path.write_text(with_tables(path.read_text(encoding="utf-8")), encoding="utf-8")
