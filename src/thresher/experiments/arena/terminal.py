"""What `thresher arena run` does in a terminal: run what is missing, show progress, tell."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from thresher.experiments.arena import measures
from thresher.experiments.arena.record_file import NAME, read_records
from thresher.experiments.arena.run import FlatRecord
from thresher.experiments.arena.runner import run_sweep
from thresher.experiments.arena.standings import Standings, World, count_runs
from thresher.experiments.arena.sweep import Sweep
from thresher.rendering.progress import PlainLines, progress
from thresher.rendering.text import Column, count, format_columns

_COLUMNS = (
    measures.MEDIAN_ERROR,
    measures.RATIO,
    measures.HIGH_ERROR,
    measures.LABELS,
    measures.SECONDS,
    measures.NOT_FINISHED,
)


def run_and_tell(
    sweep: Sweep,
    folder: Path,
    **options: Any,
) -> Standings:
    """Run what is missing from the folder, and tell each world's worst cases.

    An interrupt loses the runs under way, and says what is recorded.

    Raises
    ------
    ThresherError, DamagedFile, ValueError : as `run_sweep` does

    Examples
    --------
    >>> import tempfile
    >>> sweep = Sweep.from_text("[[worlds]]\\nn_features = 9\\nsparsity = 1\\n"
    ...                         "label_budget = 20\\n", name="tiny")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     standings = run_and_tell(sweep, Path(folder), n_jobs=1)
    tiny
    10 runs, 0 of them already recorded
    ...
    Records: ...records.jsonl
    >>> standings.n_finished
    10
    """
    before = _recorded(sweep, folder)
    print(sweep.title)
    for name, lacking in sweep.skipped.items():
        print(f"{name} is skipped: it needs {lacking}")
    print(_announce(count_runs(sweep), before, options.get("retry", False)), end="\n\n", flush=True)
    try:
        records = _run_with_progress(sweep, folder, options)
    except KeyboardInterrupt:
        saved = f"{count(len(_recorded(sweep, folder).records))} of {count(count_runs(sweep))} runs"
        remark = f"{saved} are recorded in {folder}; the same command goes on from there"
        print(f"thresher: {remark}", file=sys.stderr)
        raise
    standings = Standings.of(sweep.name, sweep, records)
    print(describe_standings(standings), end="\n\n")
    print(f"Records: {folder / NAME}")
    return standings


def describe_standings(standings: Standings) -> str:
    """A table for each world, and how many runs did not finish.

    Examples
    --------
    >>> describe_standings(Standings("tiny", None, ()))
    '0 of 0 runs finished'
    """
    parts = [f"{standings.name_world(w)}\n{_table(standings, w)}" for w in standings.worlds]
    n_runs, n_finished = len(standings.records), standings.n_finished
    remark = f"{count(n_finished)} of {count(n_runs)} runs finished"
    if n_finished < n_runs:
        remark += "; the others count as guessing, and --retry-failed runs them again"
    return "\n\n".join([*parts, remark])


def _table(standings: Standings, world: World) -> str:
    cells = world.worst
    return format_columns(
        [
            Column("learner", [standings.name_learner(cell) for cell in cells], "<"),
            Column("adversary", [str(cell.key["adversary"]) for cell in cells], "<"),
            Column("worst\nstrength", [measures.tell_strength(cell) for cell in cells]),
            *(Column(m.title, [m.tell(cell) for cell in cells]) for m in _COLUMNS),
        ]
    )


def _recorded(sweep: Sweep, folder: Path) -> Standings:
    path = folder / NAME
    return Standings.of(sweep.name, sweep, read_records(path) if path.exists() else [])


def _announce(n_runs: int, before: Standings, retry: bool) -> str:
    n_before = len(before.records)
    told = f"{count(n_runs)} runs, {count(n_before)} of them already recorded"
    n_again = n_before - before.n_finished
    return f"{told}; {count(n_again)} did not finish and are run again" if retry else told


def _run_with_progress(sweep: Sweep, folder: Path, options: dict[str, Any]) -> list[FlatRecord]:
    n_runs = count_runs(sweep)
    with progress("runs", n_runs, otherwise=PlainLines("runs", n_runs)) as move:

        def observe(_: FlatRecord | None, n_left: int) -> None:
            move(n_runs - n_left)

        return run_sweep(sweep, folder, observe=observe, **options)
