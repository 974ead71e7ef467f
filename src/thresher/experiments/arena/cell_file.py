"""Cells as a CSV file: what a figure or a spreadsheet needs, a line a cell."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

from thresher.experiments.arena.measures import UNCERTIFIED, error_floor
from thresher.experiments.arena.standings import Standings
from thresher.experiments.arena.summary import CELL_KEYS, Cell, cells_of
from thresher.files import write_text

PILOT, COUNTED = "pilot", "counted"
_MEASURED = ("n_labels", "n_draws", "seconds")
COLUMNS = (
    "arena",
    "seeds",
    "learner",
    *CELL_KEYS,
    "n_runs",
    "n_finished",
    "n_at_target",
    "median_error",
    "error_10",
    "error_90",
    "error_floor",
    *_MEASURED,
    "n_uncertified",
)


def save_cells(standings: Sequence[Standings], out: str | Path) -> None:
    """Write one line for each cell; those of pilot seeds are marked as such.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_cells([], f"{folder}/cells.csv")
    ...     len(Path(folder, "cells.csv").read_text().split(",")) == len(COLUMNS)
    True
    """
    text = StringIO(newline="")
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for part in standings:
        writer.writerows(_rows(part))
    write_text(out, text.getvalue())


def _rows(standings: Standings) -> Iterator[dict[str, Any]]:
    pilot = set(standings.sweep.pilot_seeds) if standings.sweep is not None else set()
    for role in (PILOT, COUNTED):
        chosen = [r for r in standings.records if (r["seed"] in pilot) == (role == PILOT)]
        for cell in cells_of(chosen):
            yield {"arena": standings.name, "seeds": role, **_row(cell)}


def _row(cell: Cell) -> dict[str, Any]:
    """The cell's names and numbers; five digits are more than the seeds decide."""
    target = cell.key["target_error"]
    at_target = None if target is None else sum(error <= target for error in cell.errors)
    medians = {name: cell.median(name) for name in _MEASURED}
    numbers = {
        "median_error": cell.median_error,
        "error_10": cell.quantile(0.1),
        "error_90": cell.quantile(0.9),
        "error_floor": error_floor(cell),
        **medians,
    }
    return {
        **{name: cell.key[name] for name in ("learner", *CELL_KEYS)},
        "n_runs": len(cell.records),
        "n_finished": cell.n_finished,
        "n_at_target": at_target,
        "n_uncertified": UNCERTIFIED.of(cell),
        **{name: None if x is None else f"{x:.5g}" for name, x in numbers.items()},
    }
