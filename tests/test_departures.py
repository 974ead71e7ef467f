"""docs/departures.md and the marks in the code agree."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from pathlib import Path

import pytest

from thresher import HalfspaceClassifier
from thresher.learning import PracticalSchedule

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


@pytest.mark.parametrize("row", ROWS, ids=[row[2] for row in ROWS])
def test_a_switch_is_a_parameter_of_what_has_it(row: list[str]) -> None:
    match = re.fullmatch(r"`(PracticalSchedule|HalfspaceClassifier)\((\w+)=(.+)\)`", row[2])
    if match is None:
        assert row[2] in ("always on", "pass your own `InstanceSource`")
        return
    owner = {"PracticalSchedule": PracticalSchedule, "HalfspaceClassifier": HalfspaceClassifier}
    assert match[2] in inspect.signature(owner[match[1]]).parameters


def test_the_mark_is_looked_for_in_the_innermost_definition() -> None:
    tree = ast.parse("class A:\n    def f(self):\n        x = 1\n")
    assert definitions_around(tree, 3) == ["A", "f"]


def test_a_mark_above_a_constant_belongs_to_it() -> None:
    tree = ast.parse("A = 1\n# Departure: B is 2\nB = 2\n")
    assert definitions_around(tree, 2) == ["B"]
