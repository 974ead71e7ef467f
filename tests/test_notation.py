"""Every row of docs/notation.md names something that exists."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
from pathlib import Path

import pytest

from thresher.learning.constants import PaperConstants
from thresher.learning.task import Phase

NOTATION = Path(__file__).parents[1] / "docs" / "notation.md"
HEADER = ["Paper", "Name", "Where it lives"]


def table_rows(text: str) -> list[tuple[str, str, str]]:
    """The rows of all tables in the text; a line that looks like a row must have three cells."""
    rows = []
    for line in text.splitlines():
        if not line.lstrip().startswith("|"):
            continue
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if cells == HEADER or set("".join(cells)) == {"-"}:
            continue
        if len(cells) != 3 or not all(cells):
            raise ValueError(f"a row needs three cells: {line}")
        paper, name, path = cells
        rows.append((paper, unquoted(name), unquoted(path)))
    return rows


def unquoted(cell: str) -> str:
    if len(cell) < 3 or cell[0] != "`" or cell[-1] != "`":
        raise ValueError(f"a code name needs backticks: {cell}")
    return cell[1:-1]


def check_path(path: str) -> None:
    """Raise LookupError unless the dotted path names a module's content, step by step."""
    found, steps = import_longest_prefix(path)
    for position, step in enumerate(steps):
        last = position == len(steps) - 1
        if last and is_field_or_parameter(found, step):
            return
        try:
            found = getattr(found, step)
        except AttributeError:
            raise LookupError(f"{path}: there is no {step!r}") from None


def import_longest_prefix(path: str) -> tuple[object, list[str]]:
    parts = path.split(".")
    for length in range(len(parts), 0, -1):
        name = ".".join(parts[:length])
        try:
            return importlib.import_module(name), parts[length:]
        except ModuleNotFoundError as error:
            # A module that exists but cannot import something else is a failure of its own.
            if error.name is None or not name.startswith(error.name):
                raise
    raise LookupError(f"{path}: there is no module {parts[0]!r}")


def is_field_or_parameter(owner: object, name: str) -> bool:
    # A dataclass field without a default is no attribute of its class.
    if inspect.isclass(owner):
        if not dataclasses.is_dataclass(owner):
            return False
        return name in {field.name for field in dataclasses.fields(owner)}
    return inspect.isroutine(owner) and name in inspect.signature(owner).parameters


ROWS = table_rows(NOTATION.read_text(encoding="utf-8"))


def test_the_table_has_rows() -> None:
    assert len(ROWS) > 30


@pytest.mark.parametrize(("paper", "name", "path"), ROWS, ids=[path for _, _, path in ROWS])
def test_the_named_object_exists(paper: str, name: str, path: str) -> None:
    assert path.startswith("thresher."), paper
    assert path.rpartition(".")[2] == name
    check_path(path)


@pytest.mark.parametrize("record", [PaperConstants, Phase])
def test_every_field_of_a_record_has_a_row(record: type) -> None:
    prefix = f"{record.__module__}.{record.__qualname__}."
    listed = {path.removeprefix(prefix) for _, _, path in ROWS if path.startswith(prefix)}
    assert {field.name for field in dataclasses.fields(record)} <= listed


@pytest.mark.parametrize(
    "path",
    [
        "nowhere.at.all",
        "thresher.nowhere",
        "thresher.learning.task.Phase.nothing",
        "thresher.learning.task.Phase.index.nothing",
        "thresher.geometry.sparsity.hard_threshold.nothing",
        "thresher.geometry.sparsity.hard_threshold.n_nonzero.nothing",
    ],
)
def test_the_check_refuses_a_name_that_does_not_exist(path: str) -> None:
    with pytest.raises(LookupError, match="there is no"):
        check_path(path)


@pytest.mark.parametrize(
    "line", ["| a | `b` |", "| a | b | `c.b` |", "| a | `b` | |", "| a | `b` | `c.b` | d |"]
)
def test_the_parser_refuses_a_malformed_row(line: str) -> None:
    with pytest.raises(ValueError, match=r"a row needs|a code name needs"):
        table_rows(line)
