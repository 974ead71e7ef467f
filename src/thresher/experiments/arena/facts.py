"""What was run: the facts that a report states before its tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from thresher.experiments.arena.standings import Standings, count_runs
from thresher.experiments.spec import format_seeds as format_seeds
from thresher.rendering.progress import duration
from thresher.rendering.text import count

_STATUSES = ("finished", "failed", "timed out", "died")


def facts_of(standings: Standings) -> Iterator[tuple[str, str]]:
    """What was run and what it took, each fact with its name.

    Examples
    --------
    >>> dict(facts_of(Standings("tiny", None, ())))["labels paid"]
    '0'
    """
    records = standings.records
    yield "runs", _count_statuses(standings)
    yield "seeds", _seeds(standings)
    yield "labels paid", count(sum(record.get("n_labels") or 0 for record in records))
    seconds = sum(record.get("seconds") or 0.0 for record in records)
    yield "time", f"{duration(seconds)} of learning, all runs added up"
    names = dict.fromkeys(key for record in records for key in record if key.startswith("version."))
    software = [f"{name.removeprefix('version.')} {_values(standings, name)}" for name in names]
    yield "software", ", ".join(software) or "unknown"
    yield "spec", _spec(standings)
    if standings.sweep is not None and standings.sweep.skipped:
        skipped = standings.sweep.skipped.items()
        told = "; ".join(f"{name} needs {lacking}" for name, lacking in skipped)
        yield "skipped", told
    if standings.n_left_out:
        told = "recorded under this name, but not asked for by the spec as it is now"
        yield "left out", f"{count(standings.n_left_out)} runs: {told}"


def _count_statuses(standings: Standings) -> str:
    counts = Counter(record["status"] for record in standings.records)
    told = ", ".join(f"{count(counts[status])} {status}" for status in _STATUSES)
    if standings.sweep is None:
        return f"{count(len(standings.records))} recorded: {told}"
    n_planned = count_runs(standings.sweep)
    rest = "" if len(standings.records) >= n_planned else "; the others are still to come"
    return f"{count(len(standings.records))} of {count(n_planned)} recorded: {told}{rest}"


def _seeds(standings: Standings) -> str:
    sweep = standings.sweep
    if sweep is None:
        return format_seeds(record["seed"] for record in standings.records)
    if not sweep.pilot_seeds:
        return format_seeds(sweep.seeds)
    pilot = format_seeds(sweep.pilot_seeds)
    return f"{format_seeds(sweep.seeds)}; the pilot's {pilot} chose the strengths"


def _spec(standings: Standings) -> str:
    recorded = _values(standings, "arena_hash")
    if standings.sweep is None:
        return f"{standings.name}, hash {recorded}; the file is missing or cannot be read"
    told = f"{standings.name}, hash {standings.sweep.hash}"
    if recorded in ("", standings.sweep.hash):
        return told
    return f"{told}; recorded by specs with hash {recorded}"


def _values(standings: Standings, name: str) -> str:
    """Every value that the records have under a name."""
    found = dict.fromkeys(str(record[name]) for record in standings.records if name in record)
    return " and ".join(found)
