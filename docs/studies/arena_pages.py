"""The tables and the picture of the page that lets every rival meet every attack."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np
from cells import GRAY, HERE, Row, attack_name, markdown, read_cells
from matplotlib.figure import Figure

from thresher.experiments.arena.figures import sketch
from thresher.experiments.spec import NO_ADVERSARY, THRESHER, SimulationSpec
from thresher.rendering.palette import BLUE, RED

SUITES = {0.05: "suite", 0.1: "noise"}  # the sweep that has each noise rate
WORST_RATE = 0.1
TARGET = 0.05
CLOSE = 0.01  # how far above the best rival an error may be without a mark


# Of methods whose packages may be missing where the pages are made.
OPTIONAL = {
    "abess": "Best subset of features (abess)",
    "skglm-mcp": "Logistic regression with a concave penalty (skglm)",
}


def title_of(name: str) -> str:
    """The learner by its authors and year."""
    return OPTIONAL.get(name) or sketch.title_of(name)


def error(cell: Row) -> float:
    """The median over the seeds."""
    return float(cell["median_error"])


def has_more_labels(cell: Row) -> bool:
    """Whether the learner got more labels than Thresher."""
    return float(cell["budget_factor"]) > 1


def cells_at(rate: float) -> list[Row]:
    """The cells of the sweep that has this noise rate, at this rate."""
    return [cell for cell in read_cells(SUITES[rate]) if float(cell["noise_rate"]) == rate]


def clean_errors() -> dict[str, float]:
    """Each learner's error where nothing is planted."""
    cells = read_cells("noise")
    return {cell["learner"]: error(cell) for cell in cells if cell["adversary"] == NO_ADVERSARY}


def floor_at(rate: float) -> float:
    """What no method can promise to stay below."""
    return rate / (2 * (1 - rate))


def worst_by_learner(cells: Iterable[Row]) -> dict[str, Row]:
    """Each learner's cell with the largest error, the learners from best to worst."""
    worst: dict[str, Row] = {}
    for cell in cells:
        worst[cell["learner"]] = max(worst.get(cell["learner"], cell), cell, key=error)
    return dict(sorted(worst.items(), key=lambda item: error(item[1])))


def worst_table() -> str:
    """Every learner without noise, and in its worst case over the suite."""
    worst, clean = worst_by_learner(cells_at(WORST_RATE)), clean_errors()
    ours = error(worst[THRESHER])
    rows = []
    for name, cell in worst.items():
        numbers = [f"{clean[name]:.4f}", f"{error(cell):.3f}", f"{error(cell) / ours:.1f}"]
        rows.append([title_of(name), *numbers, attack_name(cell)])
    return markdown(
        ["learner", "clean", f"worst at {WORST_RATE:.0%}", "× Thresher's", "under"], rows
    )


def attack_table() -> str:
    """Attack by attack, Thresher beside the best rival with as many labels."""
    rows: dict[str, list[str]] = defaultdict(list)
    head = ["attack"]
    for rate in SUITES:
        by_attack: dict[str, list[Row]] = defaultdict(list)
        for cell in cells_at(rate):
            if not has_more_labels(cell):
                by_attack[cell["adversary"]].append(cell)
        for attack, cells in by_attack.items():
            ours = next(cell for cell in cells if cell["learner"] == THRESHER)
            best = min((c for c in cells if c["learner"] != THRESHER), key=error)
            mark = " ▲" if error(ours) > error(best) + CLOSE else ""
            who = title_of(best["learner"])
            rows[attack] += [f"{error(ours):.4f}{mark}", f"{error(best):.4f}", who]
        head += [f"Thresher at {rate:.0%}", "best rival", "who"]
    return markdown(head, [[attack, *row] for attack, row in rows.items()])


def draw_worst_case() -> None:
    """Every method's worst case and its error on clean rows, and the floor that none can beat."""
    worst, clean = worst_by_learner(cells_at(WORST_RATE)), clean_errors()
    names = [name for name, cell in worst.items() if not has_more_labels(cell)][::-1]
    place = {name: number for number, name in enumerate(names)}
    series = (
        (clean, BLUE, "o", "nothing planted"),
        (
            {n: error(c) for n, c in worst.items()},
            RED,
            "s",
            f"{WORST_RATE:.0%} planted, worst case",
        ),
    )
    figure = Figure(figsize=(9.5, 0.22 * len(names) + 1.7), layout="constrained")
    axes = figure.subplots()
    for errors, color, marker, label in series:
        look = {"color": color, "linestyle": "", "marker": marker, "markersize": 7}
        axes.plot([errors[name] for name in names], list(place.values()), label=label, **look)
        richer = {n: cell for n, cell in worst.items() if has_more_labels(cell)}
        places = [place[cell["method"]] for cell in richer.values()]
        label = "… with ten times the labels"
        axes.plot([errors[n] for n in richer], places, label=label, fillstyle="none", **look)
    floor = floor_at(WORST_RATE)
    axes.axvline(floor, color=RED, linestyle=":", label="no method can promise less")
    axes.set(xscale="log", xlabel="error (log scale)")
    ticks = (0.0001, 0.001, 0.01, 0.05, 0.1, 0.2, 0.5)
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_yticks(list(place.values()), [title_of(name) for name in names])
    for tick in axes.get_yticklabels():
        tick.set_fontweight("bold" if tick.get_text() == title_of(THRESHER) else "normal")
    axes.set_ylim(-0.7, len(names) - 0.3)
    axes.grid(axis="y", color="0.92")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside upper center", ncols=3, frameon=False)
    figure.savefig(HERE / "rivals.png", dpi=130)


def worst_by_budget(cells: Iterable[Row]) -> dict[str, dict[int, Row]]:
    """For each learner and budget the cell with the largest error."""
    worst: dict[str, dict[int, Row]] = defaultdict(dict)
    for cell in cells:
        budget = round(int(cell["label_budget"]) * float(cell["budget_factor"]))
        ladder = worst[cell["method"]]
        ladder[budget] = max(ladder.get(budget, cell), cell, key=error)
    return worst


def least_budget(ladder: dict[int, Row]) -> int | None:
    """The least budget with which, and with all larger ones, the worst case is at the target."""
    enough = None
    for budget in sorted(ladder, reverse=True):
        if error(ladder[budget]) > TARGET:
            break
        enough = budget
    return enough


def labels_table() -> str:
    """The worst case of each learner with each budget, and the least budget that suffices."""
    ladders = worst_by_budget(read_cells("labels"))
    budgets = sorted({budget for ladder in ladders.values() for budget in ladder})
    rows = []
    for name in sorted(ladders, key=lambda name: least_budget(ladders[name]) or np.inf):
        ladder = ladders[name]
        errors = [f"{error(ladder[b]):.3f}" if b in ladder else "-" for b in budgets]
        enough, last = least_budget(ladder), ladder[max(ladder)]
        paid = f"{float(ladder[enough]['n_labels']):,.0f}" if enough else "not reached"
        rows.append([title_of(name), *errors, paid, attack_name(last)])
    head = ["budget", *(f"{budget:,}" for budget in budgets)]
    return markdown([*head, f"labels paid for {TARGET:g}", "worst with the most"], rows)


def draw_labels() -> None:
    """The worst case against labels, with about the fewest labels for that error."""
    cells = read_cells("labels")
    figure = Figure(figsize=(9.5, 6), layout="constrained")
    axes = figure.subplots()
    for name, ladder in worst_by_budget(cells).items():
        style, budgets = sketch.style_of(name), sorted(ladder)
        labels = [float(ladder[budget]["n_labels"]) for budget in budgets]
        axes.plot(
            labels,
            [error(ladder[budget]) for budget in budgets],
            color=style.color,
            marker=style.marker,
            linestyle=style.line,
            linewidth=2.5 if name == THRESHER else 1.4,
            label=title_of(name),
        )
    d, s = (int(cells[0][key]) for key in ("n_features", "sparsity"))
    errors = np.geomspace(0.01, 0.5, 50)
    spec = SimulationSpec(n_features=d, sparsity=s)
    floor = [spec.label_floor(level) for level in errors]
    axes.plot(floor, errors, "--", color="black", label="about the fewest labels for that error")
    axes.axhline(TARGET, color=GRAY, linestyle=":")
    axes.set(xscale="log", yscale="log", xlabel="labels paid", ylabel="error in the worst case")
    axes.set_yticks(
        [0.01, 0.02, 0.05, 0.1, 0.2, 0.5], ["0.01", "0.02", "0.05", "0.1", "0.2", "0.5"]
    )
    ticks = [100, 300, 1000, 3000, 10000]
    axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    axes.minorticks_off()
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize="small")
    figure.savefig(HERE / "labels.png", dpi=150)


def tails_table() -> str:
    """Each learner under each distribution: without noise, and in the worst of the attacks."""
    cells = read_cells("tails")
    names = list(dict.fromkeys(cell["learner"] for cell in cells))
    kinds = list(dict.fromkeys(cell["distribution"] for cell in cells))
    head, rows = ["learner"], []
    for kind in kinds:
        head += [f"{kind}: clean", "worst at 5%", "under"]
    for name in names:
        row = [title_of(name)]
        for kind in kinds:
            own = [c for c in cells if (c["learner"], c["distribution"]) == (name, kind)]
            clean = next(c for c in own if c["adversary"] == NO_ADVERSARY)
            worst = max((c for c in own if c["adversary"] != NO_ADVERSARY), key=error)
            row += [f"{error(clean):.4f}", f"{error(worst):.3f}", attack_name(worst)]
        rows.append(row)
    return markdown(head, rows)


def real_table() -> str:
    """Each learner on each real table: clean, and under each attack at its worst strength."""
    cells = read_cells("real")
    attacks = [a for a in dict.fromkeys(c["adversary"] for c in cells) if a != NO_ADVERSARY]
    rows = []
    for table in dict.fromkeys(cell["table"] for cell in cells):
        here = [cell for cell in cells if cell["table"] == table]
        for name in dict.fromkeys(cell["learner"] for cell in here):
            own = {c["adversary"]: c for c in here if c["learner"] == name}
            errors = [100 * error(own[attack]) for attack in (NO_ADVERSARY, *attacks)]
            numbers = [f"{value:.1f}" for value in (*errors, max(errors))]
            rows.append([table, title_of(name), *numbers])
    return markdown(["table", "learner", "clean", *attacks, "worst"], rows)


def closest_table() -> str:
    """The worst cases of the closest rivals at both noise rates."""
    found = {rate: worst_by_learner(cells_at(rate)) for rate in SUITES}
    closest = set.intersection(*map(set, found.values()))
    rows = []
    for name in (name for name in found[WORST_RATE] if name in closest):
        row = [title_of(name)]
        for rate, worst in found.items():
            cell, ratio = worst[name], error(worst[THRESHER]) / error(worst[name])
            row += [f"{error(cell):.4f}", attack_name(cell), f"{error(cell) / floor_at(rate):.2f}"]
            row.append("" if name == THRESHER else f"{ratio:.2f}")
        rows.append(row)
    head = ["learner"]
    for rate in SUITES:
        head += [f"worst at {rate:.0%}", "under", "over the floor", "Thresher's is"]
    return markdown(head, rows)


TABLES = {
    "rivals-closest": closest_table,
    "rivals-worst": worst_table,
    "rivals-attacks": attack_table,
    "labels": labels_table,
    "tails": tails_table,
    "real": real_table,
}
