"""The document of model files says what happens."""

from __future__ import annotations

import contextlib
import io
import itertools
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from thresher.estimators import HalfspaceModel

TEXT = (Path(__file__).parents[1] / "docs" / "model-files.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", TEXT, flags=re.DOTALL)
PAIRS = [
    (code, output)
    for (kind, code), (next_kind, output) in itertools.pairwise(BLOCKS)
    if kind == "python" and next_kind == "text"
]


def printed(code: str, names: dict[str, Any]) -> str:
    """What a block prints, which goes on with the names of those before it."""
    with contextlib.redirect_stdout(io.StringIO()) as output:
        exec(compile(code, "docs/model-files.md", "exec"), names)
    return output.getvalue()


def test_the_blocks_print_what_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for code, shown in PAIRS:
        assert printed(code, names) == shown, code


def test_every_python_block_has_its_output() -> None:
    assert len(PAIRS) == sum(kind == "python" for kind, _ in BLOCKS) == 7


def test_the_table_has_every_field_and_no_other() -> None:
    section = TEXT.split("## What is in the file")[1].split("\n\n")[1]
    listed = [name for row in section.splitlines() for name in re.findall(r"`(\w+)`", first(row))]
    assert sorted(listed) == sorted(
        ["format", "version", *(field.name for field in fields(HalfspaceModel))]
    )


def first(row: str) -> str:
    """The first cell of a row."""
    return row.split("|")[1]
