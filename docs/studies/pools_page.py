"""The page of the pool study, made from pools.csv and pools-*.csv beside it.

    python -m benchmarks.pools --data-dir DIR --out records.jsonl
    python -m benchmarks.pool_stops --data-dir DIR --out stops.jsonl
    python -m benchmarks.pool_bars records.jsonl --stops stops.jsonl --studies docs/studies
    python docs/studies/studies.py

Every number of the page comes from these files; the text is made of them as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from cells import GRAY, HERE, Row, markdown, read_rows
from harm_page import bar_table, mean, number, signed
from matplotlib.figure import Figure

from thresher.rendering.palette import BLUE, RED

PAGE, PICTURE = HERE / "pools.md", HERE / "pools.png"
CLEAN, OURS, MARGIN, COMMITTEE = "none", "thresher", "margin", "committee"
TITLES = {
    OURS: "`ActiveClassifier`",
    "margin-l1": "margin sampling, L1",
    "margin-l2": "margin sampling, L2",
    COMMITTEE: "query by committee",
    "random": "random, L2",
}
SHARES = {"no-audit": "none", OURS: "10% (default)", "audit-20": "20%"}
PEER_TITLES = {
    OURS: TITLES[OURS],
    MARGIN: "margin, the best in the cell",
    "random": TITLES["random"],
    "skactiveml-badge": "scikit-activeml, BADGE",
    "skactiveml-uncertainty": "scikit-activeml, uncertainty",
}
NOTABLE = 0.5  # points of difference
SHOWN_BUDGET = "400"
# The splits that were planned, by table.
PLANNED = {"spambase": 10, "cina": 10, "mnist_1v7": 10, "reuters_earn_v_acq": 10, "mdrr": 20}

SETTING = """\
Setting: the pool is 70% of a table, the rest is to test on. Ten splits, twenty of mdrr. Every
method begins with the same 20 random rows and buys 10 labels at a time. `ActiveClassifier` has its
defaults, and its random labels count; its noise rate is the share of planted rows, .05 where
nothing is planted. "Margin" is the best of margin sampling with L1 and with L2 logistic regression
and, where it was measured, query by committee: in each cell the one with the smallest mean error,
which flatters it. Under attack, 10% of the pool are planted: the three patterns of `poison`, copies
of rows near the boundary with the wrong label (jittered; of both classes, or of one), rows placed
where a margin learner will ask next, and wrong labels of half of the first questions. Errors are
test errors in percent; differences in points, negative where `ActiveClassifier` is better, with two
standard errors over the splits. `python -m benchmarks.pools --data-dir DIR --out records.jsonl`
repeats the measurement in about two hours of CPU time, and goes on where it was stopped."""
ATTACKED = """\
The mean over the attacks that were measured for all methods of the line."""
AUDIT = """\
Random labels cost accuracy and buy the error estimate. Errors with other shares of random questions
(the first 20 are random in any case), on splits that the rest of this page does not use. The
default is a tenth."""
PEERS = """\
Random rows, and the two strategies of scikit-activeml that did best in a short trial, each with L2
logistic regression: fewer splits, the same for all methods of this table."""
BARS = """\
In points, unless the line says otherwise. A value is kept if it is at most the limit or, for
differences on clean pools, within two standard errors of zero."""


def page(
    cells: Sequence[Row], bars: Sequence[Row], audits: Sequence[Row], peers: Sequence[Row]
) -> str:
    """The whole page."""
    parts = [
        "# Labels of real pools",
        "**Where `ActiveClassifier` loses, and what is missing.**",
        "\n".join(f"- {line}" for line in losses(cells, bars)),
        f"**Where it wins.** {wins(cells)}",
        SETTING,
        "![Error against labels, clean and under attack](pools.png)",
        "## Clean pools",
        clean_table(cells),
        "## Under attack",
        ATTACKED,
        attacked_table(cells),
        f"Attack by attack, with {SHOWN_BUDGET} labels (200 on mdrr): difference to margin.",
        difference_table(cells),
    ]
    if peers:
        parts += ["## Further rivals", PEERS, pool_table(peers, "method", PEER_TITLES)]
    if audits:
        table = pool_table(audits, "random questions", SHARES)
        parts += ["## How many labels should be random?", AUDIT, table]
    return "\n\n".join([*parts, "## What was asked for", BARS, bar_table(bars), ""])


def losses(cells: Sequence[Row], bars: Sequence[Row]) -> Iterator[str]:
    """Sentences about everything that went wrong or was not measured."""
    found = False
    for cell in cells:
        difference, error = number(cell, "difference"), number(cell, "difference_error")
        if cell["method"] == OURS and difference > max(NOTABLE, 2 * error):
            found = True
            pool = "clean" if cell["attack"] == CLEAN else f"under {cell['attack']}"
            other = number(of(cells, cell, MARGIN), "error")
            errors = f"{number(cell, 'error'):.1f}% against {other:.1f}% of margin"
            yield f"*{cell['table']}*, {pool}, {cell['budget']} labels: {errors}."
    if not found:
        yield (
            f"In no cell is it behind margin by more than {NOTABLE:g} points and two standard "
            "errors."
        )
    missed = [bar for bar in bars if bar["kept"] == "NO"]
    if missed:
        which = "; ".join(f"*{bar['table']}*, {bar['what']}" for bar in missed)
        count = f"{len(missed)} of {len(bars)} [values asked for](#what-was-asked-for)"
        yield f"{count} {'is' if len(missed) == 1 else 'are'} missed: {which}."
    yield from _worst_attack(cells)
    yield from _missing(cells)


def _worst_attack(cells: Sequence[Row]) -> Iterator[str]:
    """The attack that costs most, at the shown budget."""
    rises = []
    for cell in cells:
        if cell["method"] == OURS and cell["attack"] != CLEAN and cell["budget"] == SHOWN_BUDGET:
            clean = of(cells, {**cell, "attack": CLEAN}, OURS)
            rises.append((number(cell, "error") - number(clean, "error"), cell))
    if rises:
        rise, cell = max(rises, key=lambda pair: pair[0])
        yield (
            f"The most harmful attack is {cell['attack']} on {cell['table']}: {rise:.1f} points "
            f"more error than on the clean pool, with {SHOWN_BUDGET} labels."
        )


def _missing(cells: Sequence[Row]) -> Iterator[str]:
    """Which tables have fewer splits than planned."""
    fewer: dict[tuple[str, int], dict[str, None]] = {}
    for cell in cells:
        n_seeds = int(number(cell, "n_seeds"))
        if cell["method"] == OURS and n_seeds < PLANNED[cell["table"]]:
            name = "clean" if cell["attack"] == CLEAN else cell["attack"]
            fewer.setdefault((cell["table"], n_seeds), {})[name] = None
    for (table, n_seeds), names in fewer.items():
        yield f"Not finished: *{table}*, {n_seeds} splits: {', '.join(names)}."
    known = {(cell["table"], cell["attack"]) for cell in cells if cell["method"] == OURS}
    attacks = dict.fromkeys(cell["attack"] for cell in cells)
    for table in PLANNED:
        missing = [name for name in attacks if (table, name) not in known]
        if len(missing) == len(attacks):
            yield f"Not measured: *{table}*."
        elif missing:
            yield f"Not measured: *{table}* under {', '.join(missing)}."
    own = [cell for cell in cells if cell["method"] == OURS]
    n_with = sum(of(cells, cell, COMMITTEE)["n_seeds"] == cell["n_seeds"] for cell in own)
    if n_with < len(own):
        yield f"Query by committee was measured, on all splits, in {n_with} of {len(own)} cells."


def of(cells: Sequence[Row], key: Row, method: str) -> Row:
    """The line of another method in the same cell; empty numbers if there is none."""
    names = ("table", "attack", "budget")
    for cell in cells:
        if cell["method"] == method and all(cell[name] == key[name] for name in names):
            return cell
    return {"error": "", "n_seeds": ""}


def wins(cells: Sequence[Row]) -> str:
    """In how many cells the error is below margin's, clean and under attack."""
    parts = []
    for name, is_clean in (("clean", True), ("poisoned", False)):
        own = [
            number(c, "difference")
            for c in cells
            if c["method"] == OURS and (c["attack"] == CLEAN) == is_clean and c["difference"]
        ]
        if own:
            n_lower = sum(value < 0 for value in own)
            mean = signed(sum(own) / len(own))
            parts.append(f"{n_lower} of {len(own)} {name} cells, on average by {mean} points")
    return f"The error is below that of margin in {', and in '.join(parts)}."


def budgets_of(cells: Sequence[Row]) -> list[str]:
    """The budgets, ascending."""
    return sorted({cell["budget"] for cell in cells}, key=int)


def clean_table(cells: Sequence[Row]) -> str:
    """For each table and method the error at every budget."""
    return error_table([cell for cell in cells if cell["attack"] == CLEAN], TITLES)


def error_table(cells: Sequence[Row], titles: dict[str, str]) -> str:
    """The mean error of each method at every budget, over what the cells have."""
    rows = []
    for table in dict.fromkeys(cell["table"] for cell in cells):
        for method, title in titles.items():
            own = [c for c in cells if (c["table"], c["method"]) == (table, method)]
            if own:
                errors = [
                    mean([c for c in own if c["budget"] == b], "error") for b in budgets_of(cells)
                ]
                n_seeds = sorted({int(number(c, "n_seeds")) for c in own})
                splits = "–".join(str(n) for n in dict.fromkeys((n_seeds[0], n_seeds[-1])))
                rows.append([table, title, *map(shown, errors), splits])
    return markdown(["table", "method", *budgets_of(cells), "splits"], rows)


def shown(value: float) -> str:
    """An error in percent."""
    return "-" if math.isnan(value) else f"{value:.1f}"


def attacked_table(cells: Sequence[Row]) -> str:
    """The mean error over the attacks, of Thresher and of the best of the margin methods."""
    attacked = [cell for cell in cells if cell["attack"] != CLEAN]
    both = [
        c for c in attacked if of(attacked, c, OURS)["error"] and of(attacked, c, MARGIN)["error"]
    ]
    return error_table(both, {OURS: TITLES[OURS], MARGIN: "margin, the best in each cell"})


def difference_table(cells: Sequence[Row]) -> str:
    """Thresher less margin under each attack at one budget, one column for each table."""
    own = [c for c in cells if c["method"] == OURS and c["difference"]]
    tables = list(dict.fromkeys(c["table"] for c in own))
    last = {
        t: min(SHOWN_BUDGET, max((c["budget"] for c in own if c["table"] == t), key=int), key=int)
        for t in tables
    }
    rows = []
    for attack in dict.fromkeys(c["attack"] for c in own):
        line = []
        for table in tables:
            key = {"table": table, "attack": attack, "budget": last[table]}
            cell = of(own, key, OURS)
            error = 2 * number(cell, "difference_error") if cell["error"] else math.nan
            line.append(
                f"{signed(number(cell, 'difference'))} ± {error:.1f}" if cell["error"] else "-"
            )
        rows.append([attack.replace(CLEAN, "clean"), *line])
    return markdown(["attack", *tables], rows)


def pool_table(cells: Sequence[Row], head: str, titles: dict[str, str]) -> str:
    """The errors of these methods, pool by pool."""
    rows = []
    for table, attack in dict.fromkeys((c["table"], c["attack"]) for c in cells):
        pool = f"{table}, {attack.replace(CLEAN, 'clean')}"
        for method, title in titles.items():
            key = (table, attack, method)
            own = [c for c in cells if (c["table"], c["attack"], c["method"]) == key]
            if own:
                errors = [
                    mean([c for c in own if c["budget"] == b], "error") for b in budgets_of(cells)
                ]
                rows.append([pool, title, *map(shown, errors), own[0]["n_seeds"]])
    return markdown(["pool", head, *budgets_of(cells), "splits"], rows)


def draw(cells: Sequence[Row]) -> Figure:
    """Error against labels, clean and on average over the attacks, one panel for each table."""
    tables = list(dict.fromkeys(cell["table"] for cell in cells))
    figure = Figure(figsize=(3.2 * len(tables), 3.4), layout="constrained")
    panels = figure.subplots(1, len(tables), squeeze=False).ravel()
    for axes, table in zip(panels, tables):
        own = [cell for cell in cells if cell["table"] == table]
        for is_clean, style in ((True, "-"), (False, "--")):
            part = [c for c in own if (c["attack"] == CLEAN) == is_clean]
            part = [c for c in part if of(part, c, MARGIN)["error"]]
            for method, color in ((MARGIN, RED), (OURS, BLUE)):
                errors = [
                    mean([c for c in part if (c["method"], c["budget"]) == (method, b)], "error")
                    for b in budgets_of(own)
                ]
                name = "margin" if method == MARGIN else "ActiveClassifier"
                label = f"{name}, {'clean' if is_clean else '10% planted'}"
                x = [int(b) for b in budgets_of(own)]
                axes.plot(x, errors, style, color=color, marker="o", markersize=3, label=label)
        axes.set_xscale("log")
        axes.set_xticks([int(b) for b in budgets_of(own)], budgets_of(own), fontsize=7)
        axes.minorticks_off()
        axes.set_ylim(0, None)
        axes.set_title(table, fontsize=10)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", color=GRAY, alpha=0.2)
    panels[0].set_ylabel("test error in %")
    panels[-1].legend(frameon=False, fontsize=7, handlelength=4)
    figure.supxlabel("labels bought", fontsize=10)
    return figure


def read() -> list[list[Row]]:
    """The cells, the bars, the cells with other shares of random labels, those of more rivals."""
    names = ("pools", "pools-bars", "pools-audit", "pools-peers")
    return [read_rows(name) if (HERE / f"{name}.csv").exists() else [] for name in names]


def write() -> None:
    """Make page and picture, if the study has been run."""
    if (HERE / "pools.csv").exists():
        rows = read()
        PAGE.write_text(page(*rows), encoding="utf-8")
        draw(rows[0]).savefig(PICTURE, dpi=150)


if __name__ == "__main__":
    write()
