"""docs/departures.md and the marks in the code agree."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

from estimators.small import QUICK, quick, spread_out
from oracles.large.files import write_folder
from thresher import ActiveClassifier, ActiveLearner, HalfspaceClassifier
from thresher.geometry import Band
from thresher.learning import (
    PhaseOutcome,
    PracticalSchedule,
    Task,
    learn_actively,
    learn_from_table,
)
from thresher.learning.steps import sparse_unit
from thresher.oracles import ArrayPool, Draw, DrawRequest, ParquetPool
from thresher.rivals.methods.phase_loop import AWASTHI_ET_AL, ZHANG, PhaseLoop

ROOT = Path(__file__).parents[1]
MARK = "Departure:"


def table_rows(text: str) -> list[list[str]]:
    """The cells of the rows of the first table."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def source_of(path: str) -> str:
    """The source of a dotted path: module, then class or function, then method.

    Of a constant, which has no source of its own, that of the module.
    """
    parts = path.split(".")
    for length in range(len(parts), 0, -1):
        try:
            module = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        found: object = module
        for name in parts[length:]:
            found = getattr(found, name)
        has_source = inspect.isclass(found) or inspect.isroutine(found)
        return inspect.getsource(found if has_source else module)  # type: ignore[arg-type]
    raise LookupError(path)


def marked_places() -> set[str]:
    """Dotted paths of the innermost definitions that bear the mark, inside or just above."""
    places = set()
    for file in sorted((ROOT / "src" / "thresher").rglob("*.py")):
        text = file.read_text(encoding="utf8")
        lines = [i for i, line in enumerate(text.splitlines(), 1) if MARK in line]
        module = ".".join(file.relative_to(ROOT / "src").with_suffix("").parts)
        for line in lines:
            places.add(f"{module}.{'.'.join(definitions_around(ast.parse(text), line))}")
    return places


def definitions_around(tree: ast.AST, line: int) -> list[str]:
    for node in ast.iter_child_nodes(tree):
        is_definition = isinstance(node, (ast.ClassDef, ast.FunctionDef))
        if is_definition and node.lineno <= line <= (node.end_lineno or node.lineno):
            return [node.name, *definitions_around(node, line)]
    constants = [
        node
        for node in ast.iter_child_nodes(tree)
        if isinstance(tree, ast.Module) and isinstance(node, ast.Assign) and node.lineno > line
    ]
    return [ast.unparse(constants[0].targets[0])] if constants else []


ROWS = table_rows((ROOT / "docs" / "departures.md").read_text(encoding="utf8"))


@pytest.mark.parametrize("row", ROWS, ids=[row[3] for row in ROWS])
def test_a_row_names_a_place_in_the_code_that_bears_the_mark(row: list[str]) -> None:
    assert MARK in source_of(row[3].strip("`"))


def test_every_mark_in_the_code_has_a_row() -> None:
    assert marked_places() == {row[3].strip("`") for row in ROWS}


# -- every switch is run, in both positions --------------------------------------------------

SMALL = PracticalSchedule(min_unlabeled=300, max_unlabeled=300)
TASK = Task(n_features=8, sparsity=2, noise_rate=0.1)


def planted_table() -> tuple[np.ndarray, np.ndarray]:
    """Rows with labels, of which a few are far out."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 8))
    y = np.where(X[:, 0] + 0.5 * X[:, 1] > 0.3, 1.0, -1.0)
    X[:12] = 40.0
    y[:12] = -1.0
    return X, y


@cache
def phases_of(schedule: PracticalSchedule, **options: Any) -> tuple[PhaseOutcome, ...]:
    """The phases of an active run on the table."""
    X, y = planted_table()
    asked = {"sparsity": 2, "noise_rate": 0.1, "label_budget": 300, "random_state": 0} | options
    return learn_actively(X[12:], lambda ids, _: y[12:][ids], schedule=schedule, **asked).phases_


@cache
def table_phases(**switches: bool) -> tuple[PhaseOutcome, ...]:
    """The phases of a run on the table with its labels."""
    X, y = planted_table()
    schedule = replace(SMALL.for_table(400, label_aware=True), **switches)
    return learn_from_table(X[12:], y[12:], TASK, schedule)


@cache
def classifier(**switches: Any) -> HalfspaceClassifier:
    options = {"final_fit": "hinge", "random_state": 0, **switches}
    return HalfspaceClassifier(2, 0.1, **options).fit(*planted_table())


def n_columns_looked_at(max_columns: int | None) -> int:
    """The number of columns that the phases on a wide table look at."""
    rows = np.random.default_rng(0).standard_normal((40, 410))
    model = HalfspaceClassifier(
        1, final_fit="hinge", max_columns=max_columns, schedule=QUICK, random_state=0
    )
    return int(model.fit(rows, rows[:, 0] > 0).columns_.size)


def trust_of_flipped_rows(label_aware: bool) -> float:
    """The mean trust in rows far from the boundary with the wrong label."""
    rows = np.random.default_rng(0).standard_normal((300, 8))
    scores = rows.sum(axis=1)
    surest = np.argsort(-np.abs(scores))[:30]
    labels = scores > 0
    labels[surest] ^= True
    model = HalfspaceClassifier(
        8, 0.1, final_fit="penalized", label_aware=label_aware, schedule=QUICK, random_state=0
    )
    return float(model.fit(rows, labels).row_weights_[surest].mean())


def contradicting_copies_looked_at(final_fit: str, n_changed: int = 0) -> int:
    """How many copies of rows with the other label, and some changed entries, a phase sees."""
    rows = np.random.default_rng(0).standard_normal((300, 8))
    labels = rows[:, 0] + rows[:, 1] > 0
    copied = np.argsort(-np.abs(rows[:, 0] + rows[:, 1]))[:24]
    model = HalfspaceClassifier(2, 0.1, final_fit=final_fit, schedule=QUICK, random_state=0)
    copies = rows[copied]
    copies[:, 8 - n_changed :] = 0.0
    model.fit(np.vstack([rows, copies]), np.append(labels, ~labels[copied]))
    return int((model.phases_[0].row_ids >= 300).sum())


def trust_of_a_small_class(final_fit: str) -> float:
    """The mean trust in a class that is smaller than the noise rate."""
    rows = np.random.default_rng(0).standard_normal((1000, 5))
    is_small = rows[:, 0] > np.quantile(rows[:, 0], 0.98)
    model = HalfspaceClassifier(
        2, 0.1, final_fit=final_fit, reach=4.0, schedule=QUICK, random_state=0
    )
    return float(model.fit(rows, is_small).row_weights_[is_small].mean())


def trust_of_clean_rows(final_fit: str) -> float:
    """The mean trust in rows none of which is planted."""
    rows = np.random.default_rng(3).standard_normal((200, 8))
    model = HalfspaceClassifier(2, final_fit=final_fit, schedule=QUICK, random_state=0)
    return float(model.fit(rows, rows[:, 0] > 0).row_weights_.mean())


def error_on_a_widely_spread_class(final_fit: str) -> float:
    """The share of rows that the model gets wrong, where one class is spread widely."""
    rows, labels = spread_out()
    model = quick(rows, labels, sparsity="auto", noise_rate=0.1, final_fit=final_fit)
    return 1 - model.score(rows, labels)


def n_fits_in_a_wide_model(final_fit: str) -> int:
    """How many fits the final model of 40 rows and 410 columns averages."""
    rows = np.random.default_rng(0).standard_normal((40, 410))
    fit = quick(rows, rows[:, 0] > 0, sparsity="auto", final_fit=final_fit).penalized_fit_
    return 1 if fit is None else fit.n_averaged


def radius_after_a_miss(schedule: PracticalSchedule) -> float:
    """The radius of the phase after one whose fresh labels were all wrong."""
    first = schedule.next_phase(TASK, ())
    assert first is not None
    missed = PhaseOutcome(
        phase=replace(first, index=2, l2_radius=0.5, band_width=1.0),
        halfspace=np.eye(8)[0],
        n_draws=300,
        n_kept=300,
        n_queries=50,
        n_labels=50,
        n_labels_used=50,
        fresh_error=1.0,
    )
    following = schedule.next_phase(TASK, (replace(missed, phase=first), missed))
    assert following is not None
    return following.l2_radius


def rows_of_two_draws(**switches: bool) -> int:
    """How many rows come in both of two requests."""
    pool = ArrayPool(np.eye(30), random_state=0, **switches)
    request = DrawRequest(n_rows=20, band=Band(normal=np.zeros(30), width=np.inf))
    return int(np.intersect1d(pool.draw(request).ids, pool.draw(request).ids).size)


def neighbors_drawn(n_places: int) -> int:
    """How many of the rows of a first draw follow another one."""
    with TemporaryDirectory() as folder:
        write_folder(Path(folder))
        pool = ParquetPool(folder, n_places=n_places)
        request = DrawRequest(n_rows=40, band=Band(normal=np.zeros(6), width=np.inf))
        return int(np.sum(np.diff(pool.draw(request).ids) == 1))


def size_of_second_question(kind: type) -> int:
    """How many rows the second question has."""
    rows, labels = planted_table()
    learner = kind(rows[12:], noise_rate=0.1, sparsity=2, label_budget=300, random_state=0)
    learner.tell(labels[12:][learner.ask().ids])
    return len(learner.ask().ids)


def repeats_in_ten_questions(batch_size: int) -> bool:
    """Whether a row is asked about twice among ten that are asked about one after the other."""
    rows = np.repeat(np.random.default_rng(0).standard_normal((100, 4)), 8, axis=0)
    settings = {"noise_rate": 0.1, "audit_fraction": 0.0, "random_state": 0}
    learner = ActiveClassifier(rows, batch_size=batch_size, label_budget=30, **settings)
    asked: list[int] = []
    while (question := learner.ask()) is not None:
        asked += question.ids.tolist()
        learner.tell(rows[question.ids, 0] > 0)
    return np.unique(np.array(asked[20:]) // 8).size < 10


def near_copies_asked_about(noise_rate: float) -> int:
    """How many of the first 50 questions are about rows that were made from others."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((400, 10))
    rows[:40, 1:] = rows[40:80, 1:]
    learner = ActiveClassifier(rows, noise_rate=noise_rate, label_budget=50, random_state=0)
    n_copies = 0
    while (question := learner.ask()) is not None:
        learner.tell(rows[question.ids, 0] > 0)
        n_copies += int((question.ids < 80).sum())
    return n_copies


def weight_of_a_wrong_column(noise_rate: float) -> float:
    """What `ActiveClassifier` makes of a column in which rows with wrong labels are far out."""
    rows = np.random.default_rng(0).standard_normal((100, 4))
    labels = rows[:, 0] > 0
    rows[:4, 0] += 3.0
    labels[:4] = False
    learner = ActiveClassifier(rows, noise_rate=noise_rate, initial_labels=labels, random_state=0)
    return float(learner.coef_[0, 0])


class WithReplacement:
    """A source of its own: rows of a table with replacement, each draw under a new id."""

    n_features = 8

    def __init__(self) -> None:
        self.rng, self.n_drawn = np.random.default_rng(0), 0

    def draw(self, request: DrawRequest) -> Draw:
        rows = planted_table()[0][self.rng.integers(12, 60, size=request.n_rows)]
        first, self.n_drawn = self.n_drawn, self.n_drawn + len(rows)
        return Draw(ids=np.arange(first, self.n_drawn), X=rows, n_drawn=len(rows))


def has_repeated_rows(source: Any) -> bool:
    rows = source.draw(DrawRequest(n_rows=40, band=Band(normal=np.zeros(8), width=np.inf))).X
    return len(np.unique(rows, axis=0)) < len(rows)


def l1_radii(loop: PhaseLoop) -> float:
    """The l1 radius over the l2 radius of a second phase."""
    first = loop.schedule.next_phase(TASK, ())
    assert first is not None
    counts = {"n_draws": 300, "n_kept": 300, "n_queries": 50, "n_labels": 50, "n_labels_used": 50}
    done = PhaseOutcome(phase=first, halfspace=np.eye(8)[0], **counts)
    second = loop.schedule.next_phase(TASK, (done,))
    assert second is not None
    return second.l1_radius / second.l2_radius


def schedule_switch(name: str, value: Any, observe: Callable[[Any], object]) -> Any:
    """What is observed with the default schedule, and with the switch thrown."""
    return lambda: (observe(SMALL), observe(replace(SMALL, **{name: value})))


def fractions(schedule: PracticalSchedule) -> list[float]:
    return [outcome.phase.outlier_fraction for outcome in phases_of(schedule)]


def n_questions(schedule: PracticalSchedule, **options: Any) -> int:
    """How often an active run on the table asks."""
    X, y = planted_table()
    asked = {"sparsity": 2, "label_budget": 300, "random_state": 0} | options
    learner, n_asked = ActiveLearner(X[12:], schedule=schedule, **asked), 0
    while (question := learner.ask()) is not None:
        learner.tell(y[12:][question.ids])
        n_asked += 1
    return n_asked


def spent(schedule: PracticalSchedule) -> bool:
    return sum(o.n_queries for o in phases_of(schedule, label_budget=300)) > 300


# For every row of the document: what it does, observed as it is by default and with the switch.
SWITCHED: dict[tuple[str, str], Callable[[], tuple[object, object]]] = {
    ("variance_factor", "_max_variance"): schedule_switch(
        "variance_factor", 4.0, lambda s: {o.removal_status for o in phases_of(s)}
    ),
    ("measure_band_mass", "after_draw"): schedule_switch("measure_band_mass", False, fractions),
    ("keep_radius_without_progress", "_radius"): schedule_switch(
        "keep_radius_without_progress", False, radius_after_a_miss
    ),
    ("max_dirty_share", "n_phases"): schedule_switch(
        "max_dirty_share", 0.99, lambda s: s.n_phases(replace(TASK, label_budget=10_000))
    ),
    ("reuse_labels", "ExampleStore"): schedule_switch(
        "reuse_labels", False, lambda s: [o.n_labels_used for o in phases_of(s)]
    ),
    ("use_posterior", "ask"): schedule_switch(
        "use_posterior", False, lambda s: n_questions(s, noise_rate=0.0)
    ),
    ("use_posterior", "refine"): schedule_switch(
        "use_posterior", False, lambda s: phases_of(s)[0].halfspace.tolist()
    ),
    ("use_every_row", "sample_by_weight"): lambda: (
        table_phases(label_aware=False)[0].n_labels_used,
        table_phases(label_aware=False, use_every_row=False)[0].n_labels_used,
    ),
    ("label_aware", "label_then_weigh"): lambda: tuple(
        classifier(label_aware=aware).phases_[0].weight_allowance for aware in (True, False)
    ),
    ("label_aware", "fit"): lambda: tuple(
        classifier(label_aware=aware).phases_[0].is_left_out.any() for aware in (True, False)
    ),
    ("always on", "sparse_unit"): lambda: (
        np.linalg.norm(sparse_unit(np.zeros(3), 1, fallback=np.ones(3))),
        np.linalg.norm(np.zeros(3)),
    ),
    ("fit_intercept", "HalfspaceClassifier"): lambda: (
        classifier()._offset,
        classifier(fit_intercept=False)._offset,
    ),
    ("always on", "AWASTHI_ET_AL"): lambda: (l1_radii(AWASTHI_ET_AL), l1_radii(ZHANG)),
    ("pass your own", "ArrayPool"): lambda: (
        has_repeated_rows(ArrayPool(planted_table()[0][12:60], random_state=0)),
        has_repeated_rows(WithReplacement()),
    ),
    ("n_places", "LargePool"): lambda: (neighbors_drawn(4), neighbors_drawn(10**9)),
    ("reuse_rows", "ArrayPool"): lambda: (
        rows_of_two_draws() > 0,
        rows_of_two_draws(reuse_rows=False) > 0,
    ),
    ("keep_label_aware_fraction", "after_draw"): lambda: tuple(
        table_phases(keep_label_aware_fraction=keep)[1].phase.outlier_fraction
        for keep in (True, False)
    ),
    ("count_distinct_labels", "_n_spent"): schedule_switch("count_distinct_labels", False, spent),
    ("reach", "ColumnScaling"): lambda: tuple(
        classifier(**reach).phases_[0].n_pruned for reach in ({}, {"reach": 1e9})
    ),
    ("max_columns", "promising_columns"): lambda: tuple(map(n_columns_looked_at, (400, None))),
    ("final_fit", "PenalizedFits"): lambda: tuple(
        classifier(final_fit=final_fit).final_fit_ for final_fit in ("auto", "hinge")
    ),
    ("final_fit", "judge"): lambda: tuple(map(trust_of_clean_rows, ("auto", "hinge"))),
    ("final_fit", "helps"): lambda: tuple(map(error_on_a_widely_spread_class, ("auto", "hinge"))),
    ("final_fit", "factors_of"): lambda: tuple(map(n_fits_in_a_wide_model, ("penalized", "hinge"))),
    ("use", "Questioner"): lambda: tuple(
        map(size_of_second_question, (ActiveClassifier, ActiveLearner))
    ),
    ("batch_size", "repeats_last"): lambda: tuple(map(repeats_in_ten_questions, (10, 1))),
    ("noise_rate", "NearCopies"): lambda: tuple(map(near_copies_asked_about, (0.1, 0.0))),
    ("noise_rate", "most_contradicted"): lambda: tuple(map(weight_of_a_wrong_column, (0.1, 0.0))),
    ("label_aware", "WeakModels"): lambda: tuple(map(trust_of_flipped_rows, (True, False))),
    ("final_fit", "settle"): lambda: tuple(
        map(contradicting_copies_looked_at, ("penalized", "hinge"))
    ),
    ("final_fit", "planted_copies"): lambda: tuple(
        contradicting_copies_looked_at(final_fit, n_changed=2)
        for final_fit in ("penalized", "hinge")
    ),
    ("final_fit", "keep_every_class"): lambda: tuple(
        map(trust_of_a_small_class, ("auto", "hinge"))
    ),
}


def key_of(row: list[str]) -> tuple[str, str]:
    """The name of the switch and the last part of the place of a row."""
    match = re.search(r"\((\w+)=", row[2])
    place = row[3].strip("`").rsplit(".", 1)[-1]
    return (match[1] if match else row[2].partition(" `")[0]), place


def test_every_switch_of_the_document_is_run_here() -> None:
    assert {key_of(row) for row in ROWS} == set(SWITCHED)


@pytest.mark.parametrize("row", ROWS, ids=[f"{row[2]} {row[3]}" for row in ROWS])
def test_a_switch_makes_a_difference(row: list[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        departed, to_the_letter = SWITCHED[key_of(row)]()
    assert departed != to_the_letter


def test_the_mark_is_looked_for_in_the_innermost_definition() -> None:
    tree = ast.parse("class A:\n    def f(self):\n        x = 1\n")
    assert definitions_around(tree, 3) == ["A", "f"]


def test_a_mark_above_a_constant_belongs_to_it() -> None:
    tree = ast.parse("A = 1\n# Departure: B is 2\nB = 2\n")
    assert definitions_around(tree, 2) == ["B"]
