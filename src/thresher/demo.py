"""What `thresher demo` shows: real rows, an attack, and who is fooled by it."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer

from thresher.auditing import Findings, examine
from thresher.auditing.csv_files import save_table
from thresher.estimators import HalfspaceClassifier
from thresher.rendering.progress import progress
from thresher.rendering.text import Column, format_columns
from thresher.rivals import LinearSVMCV, SparseLogisticRegressionCV
from thresher.simulate.poisoning import PoisonedSplit, poisoned_split
from thresher.solvers.threads import one_blas_thread
from thresher.table_files import LabeledTable
from thresher.validation import FloatArray

FRACTION = 0.1  # of the rows are planted
N_SPLITS = 3
SPARSITY = 10
ATTACKS = {
    None: "nothing planted",
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


def run_demo(*, seed: int = 0, out: Path = Path("thresher-demo")) -> None:
    """Compare, examine one poisoned table, print what was found, and write the files."""
    out.mkdir(parents=True, exist_ok=True)
    print(INTRODUCTION, end="\n\n")
    errors = compare(seed)
    print(describe_errors(errors), end="\n\n")
    world = make_world(SHOWN, seed)
    findings = examine_world(world)
    print(describe_suspects(world, findings), end="\n\n")
    for line in write_files(world, findings, errors, out):
        print(line)


INTRODUCTION = f"""\
569 tumors, 30 measurements each (the breast cancer data of scikit-learn): malignant or benign?
An attacker who sees everything adds rows to the table, one of ten, with any features and labels.
Each method learns from the poisoned table, and is judged on clean rows that it has not seen.
Thresher knows that {FRACTION:.0%} may be planted, but not which; it may use {SPARSITY} features."""


def make_world(attack: str | None, seed: int) -> PoisonedSplit:
    """A split of the data with the attacker's rows.

    Examples
    --------
    >>> world = make_world("far-clump", seed=0)
    >>> world.X.shape, int(world.is_planted.sum())
    ((442, 30), 44)
    """
    X, y, _ = _measurements()
    return poisoned_split(X, y, attack=attack, fraction=FRACTION, seed=seed)


def _measurements() -> tuple[FloatArray, NDArray[Any], list[str]]:
    data = load_breast_cancer()
    return data.data, data.target_names[data.target], [str(name) for name in data.feature_names]


def compare(seed: int) -> FloatArray:
    """Mean errors on clean rows, one row a method and one column an attack."""
    errors = np.zeros((len(METHODS), len(ATTACKS)))
    n_done = 0
    with progress("fits", errors.size * N_SPLITS) as move, one_blas_thread():
        for split in range(N_SPLITS):
            for j, attack in enumerate(ATTACKS):
                world = make_world(attack, seed + split)
                for i, make in enumerate(METHODS.values()):
                    model = make().fit(world.X, world.y)
                    errors[i, j] += (1 - model.score(world.X_test, world.y_test)) / N_SPLITS
                    n_done += 1
                    move(n_done)
    return errors


def describe_errors(errors: FloatArray) -> str:
    """The table of errors, with the worst attack of each method.

    Examples
    --------
    >>> print(describe_errors(np.full((3, 7), 0.05)).splitlines()[-1])
    rise over a clean table, at worst      +0.0        +0.0    +0.0
    """
    columns = [Column("error on clean rows, %", [*ATTACKS.values(), "", RISE], "<")]
    for name, row in zip(METHODS, errors):
        rise = max(row[1:].max() - row[0], 0.0)
        cells = [f"{100 * error:.1f}" for error in row]
        columns.append(Column(name.replace(" ", "\n"), [*cells, "", f"{100 * rise:+.1f}"]))
    text = format_columns(columns)
    return f"{text}\n\n{PRICE}" if errors[0, 0] > errors[1:, 0].min() else text


PRICE = """\
Caution has its price: told that one row of ten may be planted where none is, Thresher gives up
good rows, and methods that trust every row do better."""


RISE = "rise over a clean table, at worst"


def examine_world(world: PoisonedSplit) -> Findings:
    """What `thresher learn` would find in the poisoned table."""
    return examine(
        _as_table(world.X, world.y),
        name="poisoned.csv",
        noise_rate=FRACTION,
        sparsities=(SPARSITY,),
    )


def _as_table(X: FloatArray, y: NDArray[Any]) -> LabeledTable:
    return LabeledTable(X, y, _measurements()[2], np.arange(len(y)), "diagnosis")


def describe_suspects(world: PoisonedSplit, findings: Findings) -> str:
    """How many of the least trusted rows are the attacker's, and what gave them away."""
    n_planted = int(world.is_planted.sum())
    found = findings.suspicion.order[:n_planted]
    n_right = int(world.is_planted[found].sum())
    group = findings.groups[0]
    contrast = group.contrasts[0]
    feature = findings.table.feature_names[contrast.feature]
    here, elsewhere = f"{contrast.mean_here:.4g}", f"{contrast.mean_elsewhere:.4g}"
    return f"""\
The table with the {ATTACKS[SHOWN]}: {n_planted} of {findings.table.n_rows} rows are planted.
Of the {n_planted} rows that Thresher trusts least, {n_right} are the attacker's.
What gave them away, among others: in {group.rows.size} rows said to be {group.label},
'{feature}' is {here} on average, and {elsewhere} in others said to be so."""


def write_files(
    world: PoisonedSplit, findings: Findings, errors: FloatArray, out: Path
) -> Iterator[str]:
    """Write tables, report and picture, and tell of each."""
    save_table(findings.table, out / "poisoned.csv")
    save_table(_as_table(world.X_test, world.y_test), out / "clean.csv")
    yield f"Tables:  {out / 'poisoned.csv'}, and clean rows in {out / 'clean.csv'}"
    from thresher.auditing.report import save_report

    save_report(findings, out / "report.html")
    yield f"Report:  {out / 'report.html'}"
    try:
        from thresher.demo_figure import draw
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        yield 'No picture: matplotlib is missing. Install it with: pip install "thresher[plot]"'
    else:
        draw(world, findings, errors, out / "attacks.png")
        yield f"Picture: {out / 'attacks.png'}"
    program = "thresher" if shutil.which("thresher") else sys.argv[0]
    yield f"\nNext: {program} audit {out / 'poisoned.csv'} --noise-rate {FRACTION}"
