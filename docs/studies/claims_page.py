"""The figures and tables of the page about the paper's claims."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np
from cells import GRAY, Row, attack_name, markdown, read_rows
from claims_growth import claim_labels_table, draw_labels, draw_rows, rows_table
from claims_parts import (
    STYLES,
    cells_of,
    draw_range,
    error,
    medians,
    panels,
    save,
    ticks,
    worst_by,
)

from thresher.experiments.spec import NO_ADVERSARY
from thresher.rendering.palette import GREEN

# -- 2: sampling -------------------------------------------------------------------------------


def sampling() -> dict[str, dict[str, list[Row]]]:
    """For each attack and learner the cells by budget."""
    found: dict[str, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for cell in cells_of("claim-sampling"):
        found[attack_name(cell)][cell["learner"]].append(cell)
    return found


def draw_sampling() -> None:
    """Error against labels: Thresher, a sample of a pool, everything drawn."""
    found = sampling()
    figure, axes = panels(len(found))
    for panel, (attack, learners) in zip(axes, found.items()):
        for (name, cells), style in zip(learners.items(), STYLES):
            draw_range(panel, [float(c["n_labels"]) for c in cells], cells, name, style)
        panel.set(xscale="log", yscale="log", xlabel="labels paid", title=attack)
        panel.set_ylim(0.001, 0.4)
        ticks(panel, (150, 400, 1000), (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2))
    axes[0].set_ylabel("error, median and range")
    axes[-1].legend(frameon=False)
    save(figure, "sampling")


def sampling_table() -> str:
    """The median error of the three learners for each attack and budget."""
    rows = []
    for attack, learners in sampling().items():
        for name, cells in learners.items():
            rows.append([attack, name, *(f"{error(cell):.4f}" for cell in cells)])
    budgets = sorted({int(float(cell["label_budget"])) for cell in cells_of("claim-sampling")})
    return markdown(["attack", "learner", *(f"{b:,} labels" for b in budgets)], rows)


# -- 3: noise ----------------------------------------------------------------------------------


def noise_cells(has_target: bool) -> list[Row]:
    """The cells of the series with a fixed budget, or of the one with a target error."""
    return [cell for cell in cells_of("claim-noise") if bool(cell["target_error"]) == has_target]


def draw_noise() -> None:
    """Error against the noise rate, attack by attack, with the line that holds them all."""
    figure, axes = panels(2, 4.6)
    titles = ("1,000 labels", "labels for a target error of η")
    for panel, title, has_target in zip(axes, titles, (False, True)):
        cells = [c for c in noise_cells(has_target) if float(c["noise_rate"]) > 0]
        by_attack: dict[str, list[Row]] = defaultdict(list)
        for cell in cells:
            by_attack[attack_name(cell)].append(cell)
        for (attack, own), style in zip(by_attack.items(), STYLES):
            draw_range(panel, [float(c["noise_rate"]) for c in own], own, attack, style)
        rates = np.geomspace(0.001, 0.1, 20)
        c = largest_ratio(cells)
        panel.plot(rates, c * rates, color="black", label=f"ε = {c:.2g}·η")
        panel.plot(rates, rates / (2 * (1 - rates)), "--", color=GRAY, label="floor η/(2(1−η))")
        for cell in (c for c in noise_cells(has_target) if float(c["noise_rate"]) == 0):
            panel.axhline(error(cell), color=GREEN, lw=0.8, label="η = 0")
        panel.set(xscale="log", yscale="log", xlabel="noise rate η", title=title)
        panel.set_ylim(5e-5, 0.2)
        ticks(panel, (0.001, 0.003, 0.01, 0.03, 0.1), (0.0001, 0.001, 0.01, 0.1))
        panel.legend(frameon=False, fontsize=8)
    axes[0].set_ylabel("error, median and range")
    save(figure, "noise")


def largest_ratio(cells: Iterable[Row]) -> float:
    """The least c with error ≤ c·η in all cells."""
    return max(error(cell) / float(cell["noise_rate"]) for cell in cells)


def noise_table() -> str:
    """The worst attack at each noise rate, for both series."""
    rows = []
    for has_target, words in ((False, "1,000 labels"), (True, "target error η")):
        for cell in worst_by(noise_cells(has_target), "noise_rate").values():
            rate = float(cell["noise_rate"])
            ratio = f"{error(cell) / rate:.2f}" if rate else "-"
            labels = f"{float(cell['n_labels']):,.0f}"
            rows.append(
                [words, f"{rate:g}", f"{error(cell):.5f}", ratio, attack_name(cell), labels]
            )
    return markdown(["series", "η", "worst median error", "error/η", "under", "labels paid"], rows)


# -- 5: constraints ----------------------------------------------------------------------------


def draw_constraints() -> None:
    """Error against the noise rate for each set of constraints, at both sparsities."""
    cells = list(
        worst_by(cells_of("claim-constraints"), "learner", "sparsity", "noise_rate").values()
    )
    sparsities = sorted({int(cell["sparsity"]) for cell in cells})
    figure, axes = panels(len(sparsities), 4.4)
    for panel, s in zip(axes, sparsities):
        own = [cell for cell in cells if int(cell["sparsity"]) == s]
        for name, style in zip(dict.fromkeys(cell["learner"] for cell in own), STYLES):
            line = [cell for cell in own if cell["learner"] == name]
            draw_range(panel, [float(c["noise_rate"]) for c in line], line, name, style)
        rates = np.array([0.025, 0.2])
        panel.plot(rates, rates / (2 * (1 - rates)), "--", color=GRAY, label="floor η/(2(1−η))")
        panel.set(xscale="log", yscale="log", xlabel="noise rate η", title=f"s = {s}")
        ticks(panel, (0.025, 0.05, 0.1, 0.2), (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5))
    axes[0].set_ylabel("error in the worse of two attacks")
    axes[0].legend(frameon=False)
    save(figure, "constraints")


def constraints_table() -> str:
    """The worse of the two attacks for each set of constraints."""
    found = worst_by(cells_of("claim-constraints"), "learner", "sparsity", "noise_rate")
    rates = sorted({float(rate) for _, _, rate in found})
    rows: dict[tuple[str, str], list[str]] = defaultdict(list)
    for (name, s, _), cell in found.items():
        rows[s, name].append(f"{error(cell):.4f}")
    body = [[s, name, *rows[s, name]] for s, name in sorted(rows, key=lambda key: int(key[0]))]
    return markdown(["s", "constraints", *(f"η = {rate:g}" for rate in rates)], body)


# -- 6: lemmas ---------------------------------------------------------------------------------

LEMMA_COLUMNS = {
    "dirty_rows": "dirty share in the band",
    "dirty_rows_possible": "η over the band's share of draws",
    "dirty_weight": "dirty share of the weights",
    "loss_difference": "difference of losses, largest found",
    "loss_difference_at_target": "at w*",
    "loss_bound": "Proposition 31",
    "clean_variance": "clean variance over b² + r²",
    "clean_variance_over_r": "over r²",
}


def lemma_medians(column: str) -> dict[str, dict[int, float]]:
    """For each attack the median over the seeds, phase by phase."""
    rows = [{**row, "attack": attack_name(row)} for row in read_rows("claims-lemmas")]
    found: dict[str, dict[int, float]] = defaultdict(dict)
    for (attack, phase), value in medians(rows, ("attack", "phase"), column).items():
        found[attack][int(phase)] = value
    return found


def draw_lemmas() -> None:
    """Each lemma's quantity by phase and attack, beside its bound."""
    figure, axes = panels(3)
    contents = (
        ("dirty_rows", "dirty share of the rows in the band", "dirty_rows_possible"),
        ("loss_difference", "|l(w; T_C) − l(w; p)|, largest found", "loss_bound"),
        ("clean_variance_over_r", "largest clean variance over r²", ""),
    )
    for panel, (column, title, bound) in zip(axes, contents):
        for (attack, line), (color, marker, ls) in zip(lemma_medians(column).items(), STYLES):
            panel.plot(
                list(line), list(line.values()), color=color, marker=marker, ls=ls, label=attack
            )
        if bound:
            line = most(lemma_medians(bound))
            panel.plot(list(line), list(line.values()), "k--", label="bound")
        panel.set(xlabel="phase", title=title)
    axes[1].set_yscale("log")
    axes[2].axhline(1.0, color=GRAY, ls=":", label="expectation")
    limit = [8 * (1 + (4 if phase > 1 else 0)) for phase in range(1, 7)]
    axes[2].plot(range(1, 7), limit, "k--", label="Lemma 3: 2·C2·(b² + r²)/r², C2 = 4")
    axes[2].set_yscale("log")
    ticks(axes[2], range(1, 7), (1, 1.5, 2, 5, 10, 40))
    axes[0].legend(frameon=False, fontsize=8)
    axes[2].legend(frameon=False, fontsize=8, loc="center")
    save(figure, "lemmas")


def most(curves: dict[str, dict[int, float]]) -> dict[int, float]:
    """The largest value of each phase over the attacks."""
    phases = sorted({phase for curve in curves.values() for phase in curve})
    return {p: max(curve[p] for curve in curves.values() if p in curve) for p in phases}


def lemmas_table() -> str:
    """The largest median over the attacks in each phase."""
    found = {title: most(lemma_medians(column)) for column, title in LEMMA_COLUMNS.items()}
    phases = sorted(next(iter(found.values())))
    rows = [[str(p), *(f"{values[p]:.3g}" for values in found.values())] for p in phases]
    return markdown(["phase", *found], rows)


# -- 7: tails ----------------------------------------------------------------------------------


def tails() -> dict[str, dict[str, tuple[Row, Row]]]:
    """For each learner and distribution, the clean cell and the worst of the attacked ones."""
    found: dict[str, dict[str, tuple[Row, Row]]] = defaultdict(dict)
    cells = cells_of("claim-tails")
    for name in dict.fromkeys(cell["learner"] for cell in cells):
        for kind in dict.fromkeys(cell["distribution"] for cell in cells):
            own = [c for c in cells if (c["learner"], c["distribution"]) == (name, kind)]
            clean = next(c for c in own if c["adversary"] == NO_ADVERSARY)
            found[name][kind] = clean, max((c for c in own if c is not clean), key=error)
    return found


def draw_tails() -> None:
    """Clean and worst error against the weight of the tails."""
    figure, axes = panels(2, 4.4)
    titles = ("no noise", "5% dirty rows, the worst of four attacks")
    for place, (panel, title) in enumerate(zip(axes, titles)):
        for (name, kinds), style in zip(tails().items(), STYLES):
            cells = [both[place] for both in kinds.values()]
            draw_range(panel, range(len(cells)), cells, name, style)
            words = [kind.replace("student-t-", "t ").replace("student-t", "t 4") for kind in kinds]
            panel.set_xticks(range(len(words)), words)
        panel.set(yscale="log", title=title)
        panel.set_ylim(1e-4, 0.4)
        ticks(panel, (), (0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2))
        panel.legend(frameon=False, loc="lower right" if place else "center left")
    axes[0].set_ylabel("error, median and range")
    save(figure, "tails")


def claim_tails_table() -> str:
    """Clean and worst error of each learner under each distribution."""
    rows = []
    for name, kinds in tails().items():
        for kind, (clean, worst) in kinds.items():
            numbers = [f"{error(clean):.4f}", f"{error(worst):.4f}"]
            rows.append([name, kind, *numbers, attack_name(worst)])
    return markdown(["learner", "rows", "clean", "worst at 5%", "under"], rows)


# -- 8: weights --------------------------------------------------------------------------------


def draw_weights() -> None:
    """The optimizing adversary beside fixed strengths."""
    cells = cells_of("claim-weights")
    rates = sorted({float(cell["noise_rate"]) for cell in cells})
    figure, axes = panels(len(rates), 3.6)
    for panel, rate in zip(axes, rates):
        own = [cell for cell in cells if float(cell["noise_rate"]) == rate][::-1]
        places = range(len(own))
        middle = [error(cell) for cell in own]
        low, high = ([float(cell[name]) for cell in own] for name in ("error_10", "error_90"))
        panel.hlines(places, low, high, color=GREEN, lw=5, alpha=0.3)
        panel.plot(middle, places, "o", color=GREEN)
        panel.set_yticks(places, [attack_name(cell) for cell in own])
        floor = rate / (2 * (1 - rate))
        panel.axvline(floor, color=GRAY, ls="--", label="floor η/(2(1−η))")
        panel.set(xlabel="error, median and range", title=f"η = {rate:g}")
        panel.set_xlim(left=0)
        panel.legend(frameon=False, fontsize=8, loc="center right")
    save(figure, "weights")


def weights_table() -> str:
    """The error under each attack at each noise rate."""
    rows: dict[str, list[str]] = defaultdict(list)
    rates = []
    for cell in cells_of("claim-weights"):
        rates.append(float(cell["noise_rate"]))
        spread = f"{float(cell['error_10']):.4f} to {float(cell['error_90']):.4f}"
        rows[attack_name(cell)] += [f"{error(cell):.4f}", spread]
    head = ["attack"]
    for rate in dict.fromkeys(rates):
        head += [f"median error at {rate:.0%}", "range"]
    return markdown(head, [[name, *row] for name, row in rows.items()])


# -- everything --------------------------------------------------------------------------------

FIGURES = {
    "rows": draw_rows,
    "sampling": draw_sampling,
    "noise": draw_noise,
    "labels": draw_labels,
    "constraints": draw_constraints,
    "lemmas": draw_lemmas,
    "tails": draw_tails,
    "weights": draw_weights,
}
TABLES = {
    "claims-rows": rows_table,
    "claims-sampling": sampling_table,
    "claims-noise": noise_table,
    "claims-labels": claim_labels_table,
    "claims-constraints": constraints_table,
    "claims-lemmas": lemmas_table,
    "claims-tails": claim_tails_table,
    "claims-weights": weights_table,
}


def draw() -> None:
    """All figures of the page."""
    for draw_one in FIGURES.values():
        draw_one()
