"""The page of the harm study, made from harm.csv and harm-bars.csv beside this file.

    python -m benchmarks.harm --data-dir DIR --out records.jsonl
    python -m benchmarks.harm_bars records.jsonl --studies docs/studies
    python docs/studies/studies.py

Every number of the page comes from these files; the text is made of them as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product

from cells import GRAY, HERE, Row, markdown, read_rows
from matplotlib.figure import Figure

from thresher.rendering.palette import BLUE, RED

PAGE, PICTURE = HERE / "harm.md", HERE / "harm.png"
CLEAN, OURS, PEER = "none", "thresher", "peer"
TITLES = {
    OURS: "Thresher",
    PEER: "the peer",
    "l1-logistic": "L1 logistic regression",
    "linear-svm": "linear SVM",
    "forest": "random forest",
    "boosting": "boosting",
    "trusted-forest": "trusted forest",
    "trusted-boosting": "trusted boosting",
    "sever": "Sever",
    "trimmed-loss": "trimmed loss",
    "norm-filter-l1-logistic": "norm filter, L1",
    "norm-filter-linear-svm": "norm filter, SVM",
}
TREE_NAMES = ("forest", "boosting")
RIVALS = tuple(TITLES)[-4:]  # the last four
NOTABLE = 1.0  # points of difference
ALL_ATTACKS = "difference to the peer, mean of all attacks"
N_SHOWN = 3  # losses of each table
N_SPLITS, PLANNED = 5, {"mdrr": 20, "microarray_singh": 20}  # planned: of any table, of these
WITH_RIVALS = ("spambase", "rcv1_small", "movie_reviews")

SETTING = """\
Setting: well-known tables, 70% of the rows for training, 30% for testing, stratified; one training
row in ten is planted, made from the training rows alone. Each of ten attacks of `poison` has
two strengths, a stealthy and a strong one, chosen on other splits. Enron has its own split and its
own attacks, which plant 1 or 3%. All methods meet the same rows. Thresher is
`HalfspaceClassifierCV` with its defaults and the true share of planted rows as `noise_rate`, .02
where nothing is planted. The peer is L1 logistic regression or a linear SVM, whichever its own
cross-validation prefers on the same rows. "Trusted" is `TrustedClassifier` around the classifier.
Boosting takes no sparse rows, and is slow with many columns: on tables with more than 1,000 columns
it is the end of a pipeline that first chooses 300 columns by an F test, with trust and without. The
F test sees planted rows, and trust is found on the chosen columns.
Differences are in points of test error, negative where Thresher is better, with two standard errors
over the splits."""
REPEAT = """\
`python -m benchmarks.harm --data-dir DIR --out records.jsonl` repeats the measurement, and goes on
where it was stopped. With all planned splits, the fits take {:.1f} hours of CPU time, and making
the attacks about a tenth of that."""
ERRORS = """\
Mean test errors in percent: clean, on average over the attacks, and under the worst one. The
balanced error is the mean of the errors of the two classes."""
TREES = """\
Error of `TrustedClassifier` less that of the classifier alone, in points, on the same rows: clean,
on average over the attacks, and under the attacks where trust helps most and least."""
BARS = """\
In points, except for ratios of CPU time. A value is kept if it is at most the limit or, for
differences to the peer under one attack, within two standard errors of zero."""


def number(row: Row, name: str) -> float:
    """A number of a cell; NaN if it has none."""
    return float(row[name]) if row[name] else math.nan


def where(cell: Row) -> str:
    """The attack with its strength."""
    strength = f" {float(cell['strength']):g}" if cell["strength"] else ""
    return f"{cell['attack']}{strength}"


def signed(value: float) -> str:
    """Points with their sign."""
    return f"{value:+.1f}".replace("-", "−")


def with_error(cell: Row) -> str:
    """The difference to the peer, with two standard errors."""
    error = 2 * number(cell, "difference_error")
    return f"{signed(number(cell, 'difference'))} ± {error:.1f}"


def page(cells: Sequence[Row], bars: Sequence[Row]) -> str:
    """The whole page."""
    return "\n\n".join(
        [
            "# First, do no harm",
            "**Where Thresher loses.**",
            "\n".join(f"- {line}" for line in losses(cells, bars)),
            f"**Where it wins.** {wins(bars)}",
            SETTING,
            cost(cells),
            "![Difference between Thresher and the peer](harm.png)",
            "## Errors",
            ERRORS,
            error_table(cells),
            "## Trees with trust and without",
            TREES,
            tree_table(cells),
            "## Thresher against the peer, attack by attack",
            difference_table(cells),
            "## What was asked for",
            BARS,
            bar_table(bars),
            "",
        ]
    )


def planned(table: str, method: str) -> int:
    """The number of splits of a table that the study wants a method to meet."""
    is_wanted = method != PEER and (method not in RIVALS or table in WITH_RIVALS)
    return PLANNED.get(table, N_SPLITS) if is_wanted else 0


def cost(cells: Sequence[Row]) -> str:
    """How to repeat the study, and how long that takes."""
    fits = [cell for cell in cells if cell["cpu_seconds"]]
    seconds = sum(number(c, "cpu_seconds") * planned(c["table"], c["method"]) for c in fits)
    return REPEAT.format(seconds / 3600)


def losses(cells: Sequence[Row], bars: Sequence[Row]) -> Iterator[str]:
    """Sentences about everything that went wrong."""
    errors = {(c["table"], where(c), c["method"]): number(c, "error") for c in cells}
    found = False
    for table in dict.fromkeys(cell["table"] for cell in cells):
        own = [c for c in cells if (c["table"], c["method"]) == (table, OURS)]
        worse = [c for c in own if _is_worse(c)]
        worse = sorted(worse, key=lambda cell: -number(cell, "difference"))[:N_SHOWN]
        parts = []
        for cell in worse:
            pair = [f"{errors[table, where(cell), name]:.1f}%" for name in (OURS, PEER)]
            name = "clean" if cell["attack"] == CLEAN else f"under {where(cell)}"
            parts.append(f"{name} {pair[0]} against {pair[1]}")
        if parts:
            found = True
            yield f"*{table}*: {'; '.join(parts)}."
    if not found:
        limits = f"{NOTABLE:g} point and two standard errors"
        yield f"On no table is it behind the peer by more than {limits}."
    yield from _behind(cells)
    missed = [bar for bar in bars if bar["kept"] == "NO"]
    if missed:
        asked = f"{len(bars)} [values that were asked for](#what-was-asked-for)"
        yield f"{len(missed)} of {asked} {'is' if len(missed) == 1 else 'are'} missed."
    unknown = dict.fromkeys(bar["table"] for bar in bars if bar["kept"] == "not measured")
    if unknown:
        yield f"Not all that was asked for was measured on {', '.join(unknown)}."
    yield from _better_trees(cells)
    yield from _worse_with_trust(cells)
    yield from _missing(cells)


def _is_worse(cell: Row) -> bool:
    difference, error = number(cell, "difference"), number(cell, "difference_error")
    return difference > max(NOTABLE, 2 * error)


def _behind(cells: Sequence[Row]) -> Iterator[str]:
    """How often its mean error is higher, by chance or not, and where most."""
    compared = [c for c in cells if c["method"] == OURS and c["difference"]]
    behind = [c for c in compared if number(c, "difference") > 0]
    if behind:
        most = sorted(behind, key=lambda cell: -number(cell, "difference"))[:N_SHOWN]
        shown = ", ".join(
            f"{c['table']} {where(c).replace(CLEAN, 'clean')} ({with_error(c)})" for c in most
        )
        count = f"{len(behind)} of {len(compared)} comparisons"
        yield f"Its mean error is higher than the peer's in {count}, most on {shown}."


def _better_trees(cells: Sequence[Row]) -> Iterator[str]:
    """Where a linear boundary is not enough."""
    clean = {(c["table"], c["method"]): c for c in cells if c["attack"] == CLEAN and c["error"]}
    parts = []
    for table, tree in product(dict.fromkeys(table for table, _ in clean), TREE_NAMES):
        ours, alone = (clean.get((table, name)) for name in (OURS, tree))
        if ours is None or alone is None or ours["n_splits"] != alone["n_splits"]:
            continue
        errors = [number(cell, "error") for cell in (alone, ours)]
        if errors[1] - errors[0] > NOTABLE:
            shown = f"{errors[0]:.1f}% against {errors[1]:.1f}%"
            parts.append(f"{TITLES[tree]} on {table} ({shown})")
    if parts:
        beaten = f"undefended trees beat Thresher by more than {NOTABLE:g} point"
        yield f"On clean rows, {beaten}: {', '.join(parts)}."


def _worse_with_trust(cells: Sequence[Row]) -> Iterator[str]:
    """Where a tree is better off without trust."""
    parts = []
    for table, tree in product(dict.fromkeys(c["table"] for c in cells), TREE_NAMES):
        differences = tree_differences(cells, table, tree)
        least = max(differences, key=differences.__getitem__, default="")
        if least and differences[least] > NOTABLE:
            parts.append(f"{TITLES[tree]} on {table} ({signed(differences[least])}, {least})")
    if parts:
        yield f"Trust costs more than {NOTABLE:g} point under some attack: {', '.join(parts)}."


def _missing(cells: Sequence[Row]) -> Iterator[str]:
    """Methods that met fewer splits than planned, under the attack with the fewest."""
    met = {(c["table"], where(c), c["method"]): number(c, "n_splits") for c in cells if c["error"]}
    fewer = []
    for table, method in product(dict.fromkeys(c["table"] for c in cells), TITLES):
        attacks = {where(c) for c in cells if c["table"] == table and c["attack"] != CLEAN}
        n_splits = min((met.get((table, name, method), 0) for name in attacks), default=0)
        if n_splits < planned(table, method):
            fewer.append(
                f"{TITLES[method]} on {table} ({n_splits:.0f} of {planned(table, method)})"
            )
    if fewer:
        yield f"Fewer splits than planned were measured: {', '.join(fewer)}."


def wins(bars: Sequence[Row]) -> str:
    """The mean difference under attack, of the tables on which it is negative."""
    means = {b["table"]: number(b, "value") for b in bars if b["what"] == ALL_ATTACKS}
    better = {table: mean for table, mean in means.items() if mean < 0}
    if not better:
        return "Nowhere: on average over the attacks the peer is at least as good on every table."
    parts = ", ".join(
        f"{table} {signed(better[table])}" for table in sorted(better, key=better.__getitem__)
    )
    return f"Points of difference to the peer on average over the attacks: {parts}."


def error_table(cells: Sequence[Row]) -> str:
    """For each table and method the errors when clean, on average, and at worst."""
    rows = []
    for table in dict.fromkeys(cell["table"] for cell in cells):
        for method in TITLES:
            own = [c for c in cells if (c["table"], c["method"]) == (table, method) and c["error"]]
            clean = [c for c in own if c["attack"] == CLEAN]
            attacked = [c for c in own if c["attack"] != CLEAN]
            if not clean:
                continue
            worst = max(attacked, key=lambda cell: number(cell, "error"), default=None)
            errors = [
                mean(clean, "error"),
                mean(attacked, "error"),
                number(worst, "error") if worst else math.nan,
                mean(clean, "balanced_error"),
                mean(attacked, "balanced_error"),
            ]
            numbers = ["-" if math.isnan(value) else f"{value:.1f}" for value in errors]
            n_splits = max(number(c, "n_splits") for c in own)
            attack = where(worst) if worst else "not measured"
            rows.append([table, TITLES[method], *numbers, attack, f"{n_splits:.0f}"])
    head = ["clean", "mean", "worst", "balanced, clean", "balanced, mean", "worst under", "splits"]
    return markdown(["table", "method", *head], rows)


def tree_differences(cells: Sequence[Row], table: str, tree: str) -> dict[str, float]:
    """The error of a tree with trust less that without, by attack, where both met all splits."""
    both = [
        {where(c): c for c in cells if (c["table"], c["method"]) == (table, name) and c["error"]}
        for name in (tree, f"trusted-{tree}")
    ]
    return {
        name: number(both[1][name], "error") - number(alone, "error")
        for name, alone in both[0].items()
        if name in both[1] and both[1][name]["n_splits"] == alone["n_splits"]
    }


def tree_table(cells: Sequence[Row]) -> str:
    """For each table and tree, what trust changes."""
    rows = []
    for table, tree in product(dict.fromkeys(c["table"] for c in cells), TREE_NAMES):
        differences = tree_differences(cells, table, tree)
        clean = differences.pop(CLEAN, math.nan)
        if not differences:
            continue
        most, least = (end(differences, key=differences.__getitem__) for end in (min, max))
        average = sum(differences.values()) / len(differences)
        shown = [f"{signed(differences[name])} ({name})" for name in (most, least)]
        met = [c for c in cells if (c["table"], c["method"]) == (table, tree)]
        n_splits = max(number(cell, "n_splits") for cell in met if cell["error"])
        line = [table, TITLES[tree], signed(clean), signed(average), *shown, f"{n_splits:.0f}"]
        rows.append(line)
    return markdown(
        ["table", "classifier", "clean", "mean", "helps most", "helps least", "splits"], rows
    )


def mean(cells: Sequence[Row], name: str) -> float:
    """The mean of a number over cells; NaN if there are none."""
    return sum(number(cell, name) for cell in cells) / len(cells) if cells else math.nan


def difference_table(cells: Sequence[Row]) -> str:
    """Thresher less the peer under each attack, one column for each table."""
    own = [c for c in cells if c["method"] == OURS and c["difference"]]
    tables = list(dict.fromkeys(c["table"] for c in own))
    found = {(c["table"], where(c)): c for c in own}
    rows = []
    for attack in dict.fromkeys(where(c) for c in own):
        shown = []
        for table in tables:
            cell = found.get((table, attack))
            shown.append(with_error(cell) if cell else "-")
        rows.append([attack.replace(CLEAN, "clean"), *shown])
    return markdown(["attack", *tables], rows)


def bar_table(bars: Sequence[Row]) -> str:
    """Every value that was asked for, those that are missed first."""
    rows = []
    for bar in sorted(bars, key=lambda bar: bar["kept"] != "NO"):
        value, limit, error = (number(bar, name) for name in ("value", "limit", "standard_error"))
        shown = signed(value) + (f" ± {2 * error:.1f}" if error else "")
        numbers = [
            "-" if math.isnan(value) else shown,
            "-" if math.isnan(limit) else f"{limit:.1f}",
        ]
        rows.append([bar["table"], bar["what"], *numbers, bar["kept"]])
    return markdown(["table", "what", "value", "limit", "kept"], rows)


def draw(cells: Sequence[Row]) -> Figure:
    """The difference to the peer under each attack, one panel for each table."""
    own = [c for c in cells if c["method"] == OURS and c["difference"]]
    tables = list(dict.fromkeys(c["table"] for c in own))
    n_columns = min(3, len(tables))
    n_lines = -(-len(tables) // n_columns)
    figure = Figure(figsize=(11, 0.8 + 3.6 * n_lines), layout="constrained")
    panels = figure.subplots(n_lines, n_columns, squeeze=False).ravel()
    for axes, table in zip(panels, tables):
        mine = [c for c in own if c["table"] == table][::-1]
        values = [number(c, "difference") for c in mine]
        axes.errorbar(
            values,
            range(len(mine)),
            xerr=[2 * number(c, "difference_error") for c in mine],
            fmt="none",
            ecolor=GRAY,
        )
        axes.scatter(values, range(len(mine)), c=[RED if v > 0 else BLUE for v in values], zorder=3)
        axes.axvline(0, color=GRAY, linestyle="--")
        axes.set_yticks(
            range(len(mine)), [where(c).replace(CLEAN, "clean") for c in mine], fontsize=7
        )
        axes.set_title(table, fontsize=10)
        axes.spines[["top", "right"]].set_visible(False)
    for axes in panels[len(tables) :]:
        axes.set_axis_off()
    figure.supxlabel("error of Thresher less that of the peer, in points, ± two standard errors")
    return figure


def write() -> None:
    """Make page and picture, if the study has been run."""
    if (HERE / "harm.csv").exists():
        cells, bars = read_rows("harm"), read_rows("harm-bars")
        PAGE.write_text(page(cells, bars), encoding="utf-8")
        draw(cells).savefig(PICTURE, dpi=150)


if __name__ == "__main__":
    write()
