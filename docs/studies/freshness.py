"""Which studies were measured with today's code, and which were not.

A file of cells whose lines have a `source` names the code behind them. A file whose source is not
that of today's code, or that has none, is listed here with the reason.
"""

from __future__ import annotations

from cells import HERE, markdown, read_rows

from thresher.experiments.sources import EVERY_SOURCE, source_digest

COPIES = "before near copies of rows were left out"
STALE = {"audit": COPIES}  # the reason by file


def is_current(name: str) -> bool:
    """Whether every line of a file names a source of today's code."""
    today = {source_digest(parts) for parts in EVERY_SOURCE}
    rows = read_rows(name)
    return bool(rows) and all(row.get("source") in today for row in rows)


def studies() -> list[str]:
    """The names of the files with cells."""
    return sorted(path.stem for path in HERE.glob("*.csv"))


def stale_table() -> str:
    """The files that do not come from today's code, and why."""
    if not STALE:
        return "None: all records are of today's code."
    reasons: dict[str, list[str]] = {}
    for name, reason in STALE.items():
        reasons.setdefault(reason, []).append(f"`{name}.csv`")
    return markdown(["records", "why"], [[", ".join(n), why] for why, n in reasons.items()])


TABLES = {"stale": stale_table}
