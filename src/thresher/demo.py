"""`thresher demo`: three classifiers on a poisoned table, and the planted rows that were found."""

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer

from thresher.auditing import Audit, audit_table
from thresher.auditing.html_report import save_report
from thresher.estimators import HalfspaceClassifier
from thresher.files import replacing, write_csv
from thresher.rendering import palette
from thresher.rendering.html import new_figure
from thresher.rendering.progress import progress
from thresher.rendering.text import Column, format_columns, say
from thresher.rivals import LinearSVMCV, SparseLogisticRegressionCV
from thresher.simulate.poisoning import PoisonedSplit, poisoned_split
from thresher.solvers.threads import one_blas_thread
from thresher.table_files import LabeledTable
from thresher.validation import FloatArray

FRACTION = 0.1  # of the rows are planted
N_SPLITS = 3
MAX_SEEDS = 2**32  # scikit-learn takes no more
SPARSITY = 10
ATTACKS = {
    None: "no attack",
    "label-flip": "flipped labels",
    "far-clump": "far clump",
    "on-support-tilt": "tilt",
    "linf-hijack": "hijack",
    "model-targeted": "model-targeted",
    "min-max": "min-max",
}
SHOWN = "linf-hijack"  # the attack whose table is examined and written
METHODS: dict[str, Callable[[], Any]] = {
    "Thresher": lambda: HalfspaceClassifier(SPARSITY, FRACTION, random_state=0),
    "L1 logistic regression": lambda: SparseLogisticRegressionCV(random_state=0),
    "linear SVM": lambda: LinearSVMCV(random_state=0),
}
# For each method; markers and hatches serve in gray print.
COLORS = (palette.GREEN, palette.RED, palette.LIGHT_BLUE)
MARKERS = ("o", "s", "D")


def run_demo(*, seed: int = 0, out: Path = Path("thresher-demo")) -> None:
    """Compare the methods, audit one poisoned table, print what was found, write the files."""
    out.mkdir(parents=True, exist_ok=True)
    say(INTRODUCTION, end="\n\n")
    errors = compare(seed)
    say(describe_errors(errors), end="\n\n")
    split = make_split(SHOWN, seed)
    audit = audit_split(split)
    say(describe_suspects(split, audit), end="\n\n")
    for line in write_files(split, audit, errors, out):
        say(line)


INTRODUCTION = f"""\
scikit-learn's breast cancer data: 569 tumors, malignant or benign, with 30 measurements each.
An attacker who sees everything plants {FRACTION:.0%} of the training rows, with any features
and labels. Errors are measured on clean test rows. Thresher knows how many rows are
planted, but not which ones (noise_rate={FRACTION}, sparsity={SPARSITY})."""


def make_split(attack: str | None, seed: int) -> PoisonedSplit:
    """A split of the data with the attacker's rows.

    Examples
    --------
    >>> split = make_split("far-clump", seed=0)
    >>> split.X.shape, int(split.is_planted.sum())
    ((442, 30), 44)
    """
    X, y, _ = _measurements()
    return poisoned_split(X, y, attack=attack, fraction=FRACTION, seed=seed % MAX_SEEDS)


def _measurements() -> tuple[FloatArray, NDArray[Any], list[str]]:
    data = load_breast_cancer()
    return data.data, data.target_names[data.target], [str(name) for name in data.feature_names]


# -- errors ------------------------------------------------------------------------------------


def compare(seed: int) -> FloatArray:
    """Mean test errors, one row per method and one column per attack."""
    errors = np.zeros((len(METHODS), len(ATTACKS)))
    n_done = 0
    with progress("fits", errors.size * N_SPLITS) as move, one_blas_thread():
        for repeat in range(N_SPLITS):
            for j, attack in enumerate(ATTACKS):
                split = make_split(attack, seed + repeat)
                for i, make in enumerate(METHODS.values()):
                    model = make().fit(split.X, split.y)
                    errors[i, j] += (1 - model.score(split.X_test, split.y_test)) / N_SPLITS
                    n_done += 1
                    move(n_done)
    return errors


def describe_errors(errors: FloatArray) -> str:
    """The table of errors, with the worst attack on each method.

    Examples
    --------
    >>> print(describe_errors(np.full((3, 7), 0.05)).splitlines()[-1])
    largest rise under attack       +0.0        +0.0    +0.0
    """
    rows = [*ATTACKS.values(), "", "largest rise under attack"]
    columns = [Column(f"test error in %\n(mean of {N_SPLITS} splits)", rows, "<")]
    for name, row in zip(METHODS, errors):
        rise = max(row[1:].max() - row[0], 0.0)
        cells = [f"{100 * error:.1f}" for error in row]
        columns.append(Column(name.replace(" ", "\n"), [*cells, "", f"{100 * rise:+.1f}"]))
    text = format_columns(columns)
    return f"{text}\n\n{PRICE}" if errors[0, 0] > errors[1:, 0].min() else text


PRICE = f"""\
Caution has a price: with noise_rate={FRACTION} on a clean table, Thresher discards good rows, and
methods that trust every row do better."""


# -- one table ---------------------------------------------------------------------------------


def audit_split(split: PoisonedSplit) -> Audit:
    """What `thresher audit` would find in the poisoned table."""
    names, ids = _measurements()[2], np.arange(len(split.y))
    table = LabeledTable(split.X, split.y, names, ids, "diagnosis")
    options: dict[str, Any] = {"final_fit": "auto", "sparsities": (SPARSITY,)}
    return audit_table(table, name="poisoned.csv", noise_rate=FRACTION, **options)


def describe_suspects(split: PoisonedSplit, audit: Audit) -> str:
    """How many of the most suspicious rows are the attacker's, and what gave them away."""
    n_planted = int(split.is_planted.sum())
    found = audit.suspicions.order[:n_planted]
    n_right = int(split.is_planted[found].sum())
    group, table = audit.alike[0], audit.findings.table
    contrast = group.contrasts[0]
    feature = table.feature_names[contrast.feature]
    here, elsewhere = f"{contrast.mean_here:.4g}", f"{contrast.mean_elsewhere:.4g}"
    return f"""\
Under the {ATTACKS[SHOWN]} attack, {n_planted} of {table.n_rows} rows are planted.
Of the {n_planted} most suspicious rows, {n_right} are planted.
One giveaway: '{feature}' averages {here} in {group.rows.size} suspects
labeled {group.label}, and {elsewhere} in the other rows with that label."""


# -- files -------------------------------------------------------------------------------------


def write_files(split: PoisonedSplit, audit: Audit, errors: FloatArray, out: Path) -> Iterator[str]:
    """Write tables, report and picture; yields a line about each."""
    head = (*audit.findings.table.feature_names, "diagnosis")
    parts = {"poisoned.csv": (split.X, split.y), "clean.csv": (split.X_test, split.y_test)}
    for name, (X, y) in parts.items():
        write_csv(out / name, head, ((*row, label) for row, label in zip(X.tolist(), y)))
    yield f"Tables:  {out / 'poisoned.csv'}, and the test rows in {out / 'clean.csv'}"
    save_report(audit, out / "report.html")
    yield f"Report:  {out / 'report.html'}"
    try:
        draw(split, audit, errors, out / "attacks.png")
    except ImportError:
        yield 'No picture: matplotlib is missing. Install it with: pip install "thresher[plot]"'
    else:
        yield f"Picture: {out / 'attacks.png'}"
    program = "thresher" if shutil.which("thresher") else sys.argv[0]
    if program.endswith("__main__.py"):
        program = "python -m thresher"
    yield f"\nNext: {program} audit {out / 'poisoned.csv'}"


def draw(split: PoisonedSplit, audit: Audit, errors: FloatArray, out: Path) -> None:
    """Write the picture: errors on the left, suspicion of the rows of one table on the right."""
    figure = new_figure(11, 4.8)
    left, right = figure.subplots(1, 2, width_ratios=[1.25, 1])
    _draw_errors(left, errors)
    _draw_suspicion(right, split, audit)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle(f"Breast cancer data with {FRACTION:.0%} planted rows", fontsize=14)
    with replacing(out) as file:
        figure.savefig(file, dpi=150, format="png")


def _draw_errors(axes: Any, errors: FloatArray) -> None:
    places = np.arange(len(ATTACKS))[::-1]
    for name, row, color, marker in zip(METHODS, errors, COLORS, MARKERS):
        style = {"color": color, "markeredgecolor": "black", "markersize": 9}
        axes.plot(100 * row, places, marker, label=name, **style)
    axes.set_yticks(places, list(ATTACKS.values()))
    axes.set_xlim(left=0)
    axes.grid(axis="x", color="0.9")
    axes.set_axisbelow(True)
    axes.set_xlabel(f"test error in % (mean of {N_SPLITS} splits)")
    axes.set_title("Error under each attack")
    axes.legend(loc="upper right", framealpha=1.0)


def _draw_suspicion(axes: Any, split: PoisonedSplit, audit: Audit) -> None:
    suspicion = audit.suspicions.suspicion
    clean, planted = suspicion[~split.is_planted], suspicion[split.is_planted]
    labels = [f"{clean.size} clean rows", f"{planted.size} planted rows"]
    style = {"color": [palette.LIGHT_BLUE, palette.RED], "edgecolor": "black", "linewidth": 0.6}
    _, _, (_, bars) = axes.hist([clean, planted], np.linspace(0, 1, 11), label=labels, **style)
    for bar in bars:
        bar.set_hatch("///")
    axes.set_yscale("log")
    axes.set_ylim(bottom=0.7)
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.set_xlabel("suspicion (from 0.5 on: a suspect)")
    axes.set_ylabel("number of rows (log scale)")
    axes.set_title(f"How suspicious each row is ({ATTACKS[SHOWN]} attack)")
    axes.legend(frameon=False, loc="upper center")
