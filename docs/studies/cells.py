"""What the studies share: the cells in the CSV files beside this file, and Markdown tables."""

from __future__ import annotations

import csv
from pathlib import Path

HERE = Path(__file__).parent
GRAY = "0.45"
Row = dict[str, str]


def read_rows(name: str) -> list[Row]:
    """The lines of a CSV file of this folder."""
    with (HERE / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def read_cells(name: str) -> list[Row]:
    """The cells of a study that count, as the CSV file has them."""
    return [row for row in read_rows(name) if row["seeds"] == "counted"]


def markdown(head: list[str], rows: list[list[str]]) -> str:
    """A table of Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def attack_name(cell: Row) -> str:
    """The adversary, with its strength if it has one."""
    strength = f", {float(cell['strength']):g}" if cell["strength"] else ""
    return cell["adversary"] + strength


def percent(cell: Row) -> str:
    """The error of a cell in percent."""
    return f"{100 * float(cell['error']):.1f}"
