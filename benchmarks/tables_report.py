"""The records of real tables as two tables of Markdown: clean, and under attack."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any

PILOT_MARK = "(40 features)"


def markdown_tables(records: Iterable[dict[str, Any]]) -> str:
    """Median test errors in percent: every method on clean tables, then under each attack."""
    cells: dict[Any, list[dict[str, Any]]] = defaultdict(list)
    for record in records:
        if PILOT_MARK not in record["method"]:
            cells[record["table"], record["method"], record["attack"]].append(record)
    tables = list(dict.fromkeys(table for table, _, _ in cells))
    methods = list(dict.fromkeys(method for _, method, _ in cells))
    attacks = list(dict.fromkeys(attack for _, _, attack in cells if attack is not None))
    clean = [["method", *tables]]
    for method in methods:
        clean.append([method, *(_clean_cell(cells[table, method, None]) for table in tables)])
    attacked = [["table", "method", "clean", *attacks, "largest rise"]]
    for table in tables:
        for method in methods:
            row = [_median(cells[table, method, attack]) for attack in (None, *attacks)]
            known = [error for error in row[1:] if error is not None]
            if row[0] is not None and known:
                rise = f"{max(known) - row[0]:.1f}"
                attacked.append([table, method, *map(_number, row), rise])
    return f"{_markdown(clean)}\n\n{_markdown(attacked)}"


def _clean_cell(records: list[dict[str, Any]]) -> str:
    if not records:
        return "-"
    n_features = median(record["n_features"] for record in records)
    return f"{_number(_median(records))} ({n_features:.0f})"


def _median(records: list[dict[str, Any]]) -> float | None:
    return 100 * median(record["error"] for record in records) if records else None


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def _markdown(rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], f"|{' --- |' * len(rows[0])}", *lines[1:]])
