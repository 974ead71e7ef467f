"""The table of the audit study, made from audit.csv beside it."""

from __future__ import annotations

from cells import Row, markdown, read_rows

AUDIT = "audit"
KINDS = {
    "flips": "flipped labels",
    "one-sided flips": "flipped labels of one class",
    "copies": "copies with a wrong label",
    "far-clump": "far clump",
    "on-support-tilt": "on-support tilt",
    "linf-hijack": "l∞ hijack",
    "model-targeted": "model-targeted",
    "min-max": "min-max",
    "wrong-unit": "a column × 1,000",
    "stuck-sensor": "stuck sensor (−999)",
    "swapped-columns": "swapped columns",
    "shifted-cells": "shifted cells",
    "repeated-rows": "repeated rows",
    "x1000, dense column": "× 1,000, nonzero cells of a dense column",
    "-999, dense column": "−999, nonzero cells of a dense column",
}
TITLES = {"breast_cancer": "breast cancer"}
METHODS = {"cleanlab, forest": "cleanlab with a forest"}
CLEARLY = 0.05  # behind the best rival by more: printed bold


def audit_table() -> str:
    """The precision of the audit under each kind of bad rows, beside that of the best rival."""
    cells = read_rows("audit")
    tables = list(dict.fromkeys(cell["table"] for cell in cells))
    head = ["bad rows"]
    for table in tables:
        head += [TITLES.get(table, table), "best rival"]
    rows = []
    for kind, title in KINDS.items():
        line = [title]
        for table in tables:
            line += _pair([c for c in cells if (c["table"], c["kind"]) == (table, kind)])
        rows.append(line)
    return markdown(head, rows)


def _pair(cells: list[Row]) -> list[str]:
    """The audit's precision, and the best rival's with its name."""
    found = {cell["method"]: float(cell["precision"]) for cell in cells}
    ours = found.pop(AUDIT)
    best = max(found, key=found.__getitem__)
    shown = _shown(ours)
    is_behind = found[best] - ours > CLEARLY
    return [
        f"**{shown}**" if is_behind else shown,
        f"{_shown(found[best])} {METHODS.get(best, best)}",
    ]


def _shown(precision: float) -> str:
    return f"{precision:.2f}".removeprefix("0")


TABLES = {"audit": audit_table}
