"""All text for the terminal goes through one function."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import thresher
from thresher.rendering.text import Column, format_columns, say

PACKAGE = Path(str(thresher.__file__)).parent
SOURCES = {str(path.relative_to(PACKAGE)): path for path in PACKAGE.rglob("*.py")}


def printing_lines(source: str) -> list[int]:
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "print"
    ]


def test_a_call_of_print_is_found() -> None:
    assert printing_lines("x = 1\nprint(x)\nsay(x)") == [2]


def test_nothing_is_printed_but_by_say() -> None:
    found = {name for name, path in SOURCES.items() if printing_lines(path.read_text("utf-8"))}
    assert found == {str(Path("rendering", "text.py"))}


def test_what_is_said_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    say("one\ntwo \x1b[2J\u202e")
    assert capsys.readouterr().out == "one\ntwo \\x1b[2J\\u202e\n"


def test_a_cell_cannot_break_its_table() -> None:
    table = format_columns([Column("name", ["a\nb", "\x1b[31m"], "<"), Column("n", ["1", "2"])])
    assert table.splitlines() == ["name      n", "a\\nb      1", "\\x1b[31m  2"]
