"""The report of an arena: one HTML page, from its records alone, complete at any time."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from thresher.experiments.arena import summary as frames
from thresher.experiments.arena.figures import figures_section
from thresher.experiments.arena.run import NAME, read_records
from thresher.experiments.arena.runner import skipped_file
from thresher.experiments.arena.summary import COLUMNS, Summary, write
from thresher.experiments.arena.sweep import Sweep
from thresher.experiments.spec import format_seeds
from thresher.files import write_text
from thresher.rendering.html import Html, definitions, document, element, join, paragraphs, table
from thresher.rendering.progress import duration
from thresher.rendering.text import rate
from thresher.wording import count

MARK = "▲"  # the worst of a column is seen without colors as well
_STATUSES = ("finished", "failed", "timed out", "died")
_HEAD = ("adversary", "strength", *(title for title, _ in COLUMNS.values()), "runs")


def save_report(summaries: Sequence[Summary], out: str | Path) -> None:
    """Write the page; a reader sees either the old or the new one."""
    if not summaries:
        page = document("Arena", element("p", "Nothing is recorded yet."))
    else:
        title = ", ".join(map(_title, summaries))
        page = document(f"{title} - Thresher arena", join(map(_article, summaries), between="\n"))
    write_text(out, page)


def load_summaries(folder: str | Path) -> list[Summary]:
    """The summary of every sweep that was run in the folder.

    The specs lie beside the records. Where one is missing or not readable, the records with its
    name stand alone.

    Raises
    ------
    DamagedFile : the records cannot be read
    """
    records = read_records(Path(folder) / NAME)
    specs = {path.stem: path for path in sorted(Path(folder).glob("*.toml"))}
    named = dict.fromkeys(map(frames.arena_of, records))
    sweeps = {name: _load_sweep(specs[name]) if name in specs else None for name in named | specs}
    return [
        Summary.of(name, sweep, records)
        for name, sweep in sweeps.items()
        if name in named or sweep is not None
    ]


def _load_sweep(path: Path) -> Sweep | None:
    """The sweep without the tables that were skipped; None if the file is damaged or too new."""
    skipped = skipped_file(path)
    try:
        sweep = Sweep.load(str(path))
        return sweep.without_tables(json.loads(skipped.read_text())) if skipped.exists() else sweep
    except (TypeError, ValueError):
        return None


def _title(summary: Summary) -> str:
    return summary.sweep.title if summary.sweep is not None else summary.name


def _article(summary: Summary) -> Html:
    parts = [
        element("h1", _title(summary)),
        paragraphs(summary.sweep.about if summary.sweep is not None else ""),
        element("h2", "What was run"),
        definitions(facts_of(summary)),
        figures_section(summary),
        *_worlds(summary),
        _failures(summary),
    ]
    return element("article", join(filter(None, parts), between="\n"))


# -- facts -------------------------------------------------------------------------------------


def facts_of(summary: Summary) -> Iterator[tuple[str, str]]:
    """What was run and what it took, each fact with its name."""
    runs, sweep = summary.runs, summary.sweep
    yield "runs", _count_statuses(summary)
    yield "seeds", _seeds(summary)
    yield "labels paid", count(runs["n_labels"].sum())
    yield "time", f"{duration(runs['seconds'].sum())} of learning, summed over all runs"
    versions = [name for name in runs if str(name).startswith("version.")]
    software = [f"{name.removeprefix('version.')} {_values(summary, name)}" for name in versions]
    yield "software", ", ".join(software) or "unknown"
    yield "spec", _spec(summary)
    if sweep is not None and sweep.skipped:
        yield "skipped", "; ".join(f"{name} needs {need}" for name, need in sweep.skipped.items())
    if summary.n_left_out:
        reason = "recorded under this name, but not part of the current spec"
        yield "left out", f"{count(summary.n_left_out)} runs: {reason}"


def _count_statuses(summary: Summary) -> str:
    found = summary.runs["status"].value_counts()
    listed = ", ".join(f"{count(found.get(status, 0))} {status}" for status in _STATUSES)
    n_recorded = len(summary.runs)
    if summary.sweep is None:
        return f"{count(n_recorded)} recorded: {listed}"
    n_left = summary.sweep.n_runs - n_recorded
    rest = f"; {count(n_left)} still to come" if n_left > 0 else ""
    return f"{count(n_recorded)} of {count(summary.sweep.n_runs)} recorded: {listed}{rest}"


def _seeds(summary: Summary) -> str:
    if summary.sweep is None:
        return format_seeds(summary.runs["seed"])
    seeds = format_seeds(summary.sweep.seeds)
    if not summary.sweep.pilot_seeds:
        return seeds
    return f"{seeds}; {summary.sweep.pilot} chose the strengths"


def _spec(summary: Summary) -> str:
    recorded = _values(summary, "arena_hash")
    if summary.sweep is None:
        return f"{summary.name}, hash {recorded}; the file is missing or cannot be read"
    current = f"{summary.name}, hash {summary.sweep.hash}"
    if recorded in ("", summary.sweep.hash):
        return current
    return f"{current}; recorded by specs with hash {recorded}"


def _values(summary: Summary, name: str) -> str:
    """Every value that the records have in a column."""
    found = summary.runs[name].dropna().unique() if name in summary.runs else []
    return " and ".join(map(str, found))


# -- worlds ------------------------------------------------------------------------------------


def _worlds(summary: Summary) -> Iterator[Html]:
    if summary.runs.empty:
        return
    yield element("h2", "Worst cases")
    if summary.varying:
        constant = [name for name in frames.WORLD_KEYS if name not in summary.varying]
        yield element("p", f"In every world: {frames.describe(summary.cells.iloc[0], constant)}.")
    yield element("p", _legend(summary), class_="quiet")
    for world, cells in summary.cells.groupby("world"):
        name = summary.name_world(cells.iloc[0])
        yield element("h3", name[:1].upper() + name[1:])
        floor = cells["error_floor"].iloc[0]
        if floor > 0:
            yield element("p", f"Floor: {rate(floor)}", class_="quiet")
        yield from _tables(name, cells, summary.worst[summary.worst["world"] == world])


def _legend(summary: Summary) -> str:
    has_pilot = summary.sweep is not None and summary.sweep.pilot_seeds
    seeds = " on the pilot seeds, which are not counted here" if has_pilot else ""
    floor = (
        "Kearns and Li's floor, η/(2(1 − η)) at noise rate η, is the error that no method can "
        "guarantee to beat against the worst target and attack; most attacks here are weaker, so "
        "errors can be below it. "
    )
    return (
        f"Each row shows an adversary at the strength with the largest median error{seeds}. "
        "Errors are on clean rows; a run that did not finish counts as guessing "
        f"({frames.WORST_ERROR:g}). {floor if (summary.cells['error_floor'] > 0).any() else ''}"
        "Labels, draws and seconds are medians over the seeds; uncertified phases are sums. "
        f"{MARK} marks the worst of a column."
    )


def _tables(name: str, cells: pd.DataFrame, worst: pd.DataFrame) -> Iterator[Html]:
    if len(worst):
        yield _table(worst, f"Worst strengths: {name}", with_suite=True)
    else:
        yield element("p", "The pilot is still running; no other seed is recorded yet.")
    if cells["n_runs"].sum() > worst["n_runs"].sum():
        content = _table(cells, f"All strengths: {name}", with_suite=False)
        yield element("details", element("summary", "All strengths and all seeds"), content)


def _table(cells: pd.DataFrame, label: str, *, with_suite: bool) -> Html:
    """Every learner under every adversary; with its worst case once more, if asked for."""
    worst = {name: _worst_text(name, cells[name]) for name in COLUMNS}
    bodies = []
    for name, own in cells.groupby("name", sort=False):
        # The name in an element of its own stays in sight while the table scrolls.
        head = element("th", element("span", str(name)), scope="rowgroup", colspan=len(_HEAD))
        rows = [element("tr", head, class_="learner"), "\n"]
        rows += [_row(cell, cell["adversary"], worst) for cell in own.to_dict("records")]
        if with_suite and len(own) > 1:
            (cell,) = frames.hardest(own, ["name"]).to_dict("records")
            attack = element("small", str(cell["adversary"]))
            title = join(["worst case over the suite ", attack])
            rows.append(_row(cell, title, {}, class_="suite"))
        bodies.append(element("tbody", *rows))
    return table(_HEAD, bodies, label=label)


def _worst_text(name: str, column: pd.Series) -> str | None:
    """The largest number of a column as text; None if all of them look the same."""
    texts = [write(name, value) for value in column.dropna()]
    return write(name, column.max()) if len(set(texts)) > 1 else None


def _row(
    cell: Mapping[str, Any], head: str, worst: Mapping[str, str | None], **attributes: str
) -> Html:
    texts = {name: write(name, cell[name]) for name in COLUMNS}
    numbers = (_number(text, is_worst=text == worst.get(name)) for name, text in texts.items())
    strength, n_runs = _number(frames.write_strength(cell)), _number(count(cell["n_runs"]))
    first = element("th", head, scope="row")
    return join([element("tr", first, strength, *numbers, n_runs, **attributes), "\n"])


def _number(text: str, *, is_worst: bool = False) -> Html:
    if not is_worst:
        return element("td", text)
    return element("td", element("span", MARK, class_="mark"), text, class_="worst")


# -- failures ----------------------------------------------------------------------------------


def _failures(summary: Summary) -> Html:
    """What did not finish and why; seeds of a cell with the same message share a line."""
    lost = summary.runs[~summary.runs["is_finished"]].sort_values(["world", "cell"], kind="stable")
    messages = lost["message"].fillna("").astype(str).str.split().str.join(" ")
    groups = lost.assign(message=messages).groupby(["cell", "status", "message"], sort=False)
    items = [_failure(summary, part.iloc[0], part["seed"]) for _, part in groups]
    if not items:
        return Html("")
    return join([element("h2", "What did not finish"), element("ul", *items)], between="\n")


def _failure(summary: Summary, run: Mapping[str, Any], seeds: Iterable[int]) -> Html:
    strength = "" if run["strength"] is None else f" {frames.write_strength(run)}"
    noun = "seeds" if len(list(seeds)) > 1 else "seed"
    parts = (
        f"{run['name']} against {run['adversary']}{strength}",
        summary.name_world(run),
        f"{noun} {format_seeds(seeds)}",
    )
    message = element("code", run["message"] or "no message")
    return element("li", element("b", run["status"]), f" - {', '.join(parts)}: ", message)
