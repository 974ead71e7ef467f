"""What `thresher arena run` does in a terminal: run what is missing, show progress and results."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from thresher.experiments.arena.run import NAME, read_records
from thresher.experiments.arena.runner import missing_tables, run_sweep
from thresher.experiments.arena.summary import COLUMNS, Summary, write, write_strength
from thresher.experiments.arena.sweep import Sweep
from thresher.rendering.progress import plain_lines, progress
from thresher.rendering.text import Column, format_columns, say
from thresher.wording import count

_SHOWN = ("median_error", "ratio", "error_90", "n_labels", "seconds", "n_unfinished")


def runnable(sweeps: Sequence[Sweep], data_dir: Path | None) -> list[Sweep]:
    """The sweeps without the tables that are missing; the only one must have something left.

    Raises
    ------
    ValueError : there is one sweep, and all of its tables are missing
    """
    kept = []
    for sweep in sweeps:
        missing = missing_tables(sweep, data_dir)
        rest = sweep.without_tables(missing) if missing else sweep
        if rest.entries:
            kept.append(rest)
            continue
        tables = ", ".join(missing)
        remark = f"sweep {sweep.name} needs --data-dir DIR, a folder with its tables ({tables})"
        if len(sweeps) == 1:
            raise ValueError(remark)
        say(f"thresher: skipped: {remark}", file=sys.stderr)
    return kept


def run_and_print(sweep: Sweep, folder: Path, *, retry: bool = False, **options: Any) -> Summary:
    """Run what is missing from the folder, and print each world's worst cases.

    An interrupt loses the current runs, and says what is recorded.

    Parameters
    ----------
    sweep, folder, retry : see `run_sweep`
    options : passed on to `run_sweep`

    Raises
    ------
    ThresherError, DamagedFile, ValueError : see `run_sweep`
    """
    before = _recorded(sweep, folder)
    say(sweep.title)
    for name, need in sweep.skipped.items():
        say(f"skipping {name}: it needs {need}")
    n_runs, text = sweep.n_runs, f"{count(len(before.runs))} already recorded"
    if retry:
        text += f", {count((~before.runs['is_finished']).sum())} of them to be repeated"
    say(f"{count(n_runs)} runs, {text}", end="\n\n")
    try:
        with progress("runs", n_runs, otherwise=plain_lines("runs", n_runs)) as move:
            options |= {"retry": retry, "observe": lambda _, n_left: move(n_runs - n_left)}
            records = run_sweep(sweep, folder, **options)
    except KeyboardInterrupt:
        saved = f"{count(len(_recorded(sweep, folder).runs))} of {count(sweep.n_runs)} runs"
        remark = f"{saved} are recorded in {folder}; the same command continues from there"
        say(f"thresher: {remark}", file=sys.stderr)
        raise
    summary = Summary.of(sweep.name, sweep, records)
    say(format_summary(summary), end="\n\n")
    say(f"Records: {folder / NAME}")
    return summary


def format_summary(summary: Summary) -> str:
    """A table for each world, and how many runs finished."""
    parts = [
        f"{summary.name_world(cells.iloc[0])}\n{_format_cells(cells)}"
        for _, cells in summary.worst.groupby("world")
    ]
    n_runs, n_finished = len(summary.runs), int(summary.runs["is_finished"].sum())
    remark = f"{count(n_finished)} of {count(n_runs)} runs finished"
    if n_finished < n_runs:
        remark += "; the others count as guessing, and --retry-failed runs them again"
    return "\n\n".join([*parts, remark])


def _format_cells(cells: pd.DataFrame) -> str:
    rows = cells.to_dict("records")
    return format_columns(
        [
            Column("learner", [row["name"] for row in rows], "<"),
            Column("adversary", [row["adversary"] for row in rows], "<"),
            Column("worst\nstrength", [write_strength(row) for row in rows]),
            *(
                Column(COLUMNS[name][0], [write(name, row[name]) for row in rows])
                for name in _SHOWN
            ),
        ]
    )


def _recorded(sweep: Sweep, folder: Path) -> Summary:
    path = folder / NAME
    return Summary.of(sweep.name, sweep, read_records(path) if path.exists() else [])
