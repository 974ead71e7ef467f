"""The document of the laboratory says what the laboratory does."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from thresher.cli import build_parser
from thresher.experiments.arena import Sweep, shipped_names

TEXT = (Path(__file__).parents[1] / "docs" / "laboratory.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", TEXT, flags=re.DOTALL)
COMMANDS = [line for kind, block in BLOCKS if kind == "sh" for line in block.splitlines()]


def test_the_examples_are_sweeps() -> None:
    examples = [block for kind, block in BLOCKS if kind == "toml"]
    sweeps = [Sweep.from_text(example, name="example") for example in examples]
    assert [len(sweep.entries) for sweep in sweeps] == [2 * 2 * (3 + 1), 4, 2 * 3 * (1 + 2)]


def test_every_shipped_sweep_has_a_line_and_every_line_a_sweep() -> None:
    named = re.findall(r"^\| `([\w-]+)` \|", TEXT, flags=re.MULTILINE)
    assert sorted(named) == shipped_names()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_is_understood(command: str) -> None:
    program, *arguments = shlex.split(command, comments=True)
    assert program == "thresher"
    assert build_parser().parse_args(arguments).verb is not None


def test_the_links_lead_somewhere() -> None:
    folder = Path(__file__).parents[1] / "docs"
    assert all((folder / path).exists() for path in re.findall(r"\]\(([^)#]+)\)", TEXT))
