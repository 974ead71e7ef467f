"""What the records of real tables say: a line for each table, method and attack."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from statistics import median
from typing import Any


@dataclass(frozen=True)
class Cell:
    """Medians over the splits of one table, for one method under one attack."""

    table: str
    method: str
    attack: str
    strength: str
    n_splits: int
    error: float
    largest_error: float
    n_features: float
    cpu_seconds: float


def cells_of(records: Iterable[dict[str, Any]], pilot: str) -> list[Cell]:
    """The cells of all records but those of the pilot, in the order of their first records."""
    groups: dict[Any, list[dict[str, Any]]] = defaultdict(list)
    for record in records:
        if record["method"] != pilot:
            groups[record["table"], record["method"], record["attack"] or "none"].append(record)
    return [
        Cell(
            table=table,
            method=method,
            attack=attack,
            strength="" if group[0]["strength"] is None else f"{group[0]['strength']:g}",
            n_splits=len(group),
            error=round(_median(group, "error"), 5),
            largest_error=round(max(record["error"] for record in group), 5),
            n_features=_median(group, "n_features"),
            cpu_seconds=round(_median(group, "cpu_seconds"), 1),
        )
        for (table, method, attack), group in groups.items()
    ]


def _median(group: list[dict[str, Any]], name: str) -> float:
    return float(median(record[name] for record in group))


def write_cells(cells: Iterable[Cell], path: Path) -> None:
    """Write the cells to a CSV file."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [item.name for item in fields(Cell)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(cell) for cell in cells)
