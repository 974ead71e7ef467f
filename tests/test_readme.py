"""What the README shows is what happens."""

from __future__ import annotations

import csv
import itertools
import re
from pathlib import Path

import pytest

from shown import printed_by, says_the_same
from thresher import cli
from thresher.cli.label import LABEL_VERBS
from thresher.cli.laboratory import ARENA_VERBS

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", README, flags=re.DOTALL)


def shown_pairs() -> list[tuple[str, str]]:
    """Each Python block with the text block that follows it."""
    return [
        (code, output)
        for (kind, code), (next_kind, output) in itertools.pairwise(BLOCKS)
        if kind == "python" and next_kind == "text"
    ]


def test_another_word_or_number_is_noticed() -> None:
    assert says_the_same("error 0.006 with 600 labels", "error 0.005 with 598 labels")
    assert not says_the_same("error 0.016 with 600 labels", "error 0.005 with 600 labels")
    assert not says_the_same("undecided", "tightest")


@pytest.mark.parametrize("code, output", shown_pairs())
def test_a_python_block_prints_what_is_shown(code: str, output: str) -> None:
    assert says_the_same(printed_by(code), output)


def test_the_blocks_need_no_extra() -> None:
    assert not re.search("pandas|as_frame|matplotlib", "".join(code for code, _ in shown_pairs()))


def test_every_python_block_has_its_output() -> None:
    n_python = sum(kind == "python" for kind, _ in BLOCKS)
    assert len(shown_pairs()) == n_python == 5


COMMANDS = [
    line.partition("  #")[0].strip()
    for kind, block in BLOCKS
    for line in block.splitlines()
    if kind == "sh" and line.startswith("thresher ")
]


# The examples of the help texts are run where their verbs are tested, in this order.
EXAMPLES = {verb.example for verb in (*cli.VERBS, *ARENA_VERBS, *LABEL_VERBS)}


def test_commands_that_take_what_others_wrote_are_the_examples_of_the_help() -> None:
    verbs = {"arena", "demo", "learn", "predict", "audit", "label"}
    assert all(command in EXAMPLES for command in COMMANDS if command.split()[1] in verbs)


@pytest.mark.parametrize("command", [line for line in COMMANDS if line not in EXAMPLES])
def test_a_command_runs(command: str, tmp_path: Path, call_cli) -> None:
    assert call_cli(command.removeprefix("thresher "), tmp_path).returncode == 0


def clean_errors(method: str) -> list[str]:
    """The test errors in percent on the clean tables of the study, in its order."""
    with (ROOT / "docs/studies/harm.csv").open(encoding="utf8", newline="") as file:
        rows = list(csv.DictReader(file))
    chosen = [row for row in rows if (row["method"], row["attack"]) == (method, "none")]
    return [f"{float(row['error']):.1f}" for row in chosen if row["table"] != "enron_sever"]


@pytest.mark.parametrize("shown, method", [("Thresher", "thresher"), ("undefended", "peer")])
def test_the_price_of_caution_is_the_one_in_the_study(shown: str, method: str) -> None:
    assert f"| {shown} | {' | '.join(clean_errors(method))} |" in README


def test_every_verb_is_shown() -> None:
    assert {command.split()[1] for command in COMMANDS} == {verb.name for verb in cli.VERBS}


PATHS = re.findall(r"\]\((?!http|#)([^)#]+)[^)]*\)|<img src=\"([^\"]+)\"", README)


@pytest.mark.parametrize("path", [link or image for link, image in PATHS])
def test_a_link_leads_somewhere(path: str) -> None:
    assert (ROOT / path).exists()


@pytest.mark.parametrize("verb", re.findall(r"^make (\w+)", README, flags=re.MULTILINE))
def test_a_make_verb_exists(verb: str) -> None:
    assert f"\n{verb}:" in (ROOT / "Makefile").read_text(encoding="utf8")
