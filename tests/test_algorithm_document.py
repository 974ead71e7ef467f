"""docs/algorithm.md quotes the code it explains."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = (ROOT / "src" / "thresher" / "learning" / "algorithm.py").read_text(encoding="utf8")


def quotations(text: str) -> list[str]:
    """The code of the second column of the first table."""
    rows = [line for line in text.splitlines() if re.match(r"\| \d+:", line)]
    cells = [re.split(r"(?<!\\)\|", row)[2] for row in rows]
    return [code for cell in cells for code in re.findall(r"`([^`]+)`", cell)]


def occurs(quotation: str, source: str) -> bool:
    """Whether the quotation stands in the source, dots standing for anything on one line."""
    pattern = ".*".join(re.escape(part) for part in quotation.split("..."))
    return re.search(pattern, source) is not None


QUOTATIONS = quotations((ROOT / "docs" / "algorithm.md").read_text(encoding="utf8"))


@pytest.mark.parametrize("quotation", QUOTATIONS)
def test_a_quoted_line_stands_in_the_code(quotation: str) -> None:
    assert occurs(quotation, SOURCE)


def test_every_line_of_the_algorithm_is_quoted() -> None:
    assert len(QUOTATIONS) >= 11


def test_a_line_that_is_not_there_is_noticed() -> None:
    assert not occurs("halfspace = np.ones(...)", SOURCE)
