"""The report of an arena: one HTML file, from its records alone, whole at any time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from thresher.experiments.arena.cell_tables import MARK, strength_table, worst_table
from thresher.experiments.arena.facts import facts_of, format_seeds
from thresher.experiments.arena.figures import figures_section
from thresher.experiments.arena.measures import error_floor, tell_strength
from thresher.experiments.arena.record_file import NAME, read_records
from thresher.experiments.arena.run import FlatRecord
from thresher.experiments.arena.standings import (
    WORLD_KEYS,
    Standings,
    World,
    arena_of,
)
from thresher.experiments.arena.summary import WORST_ERROR, Cell
from thresher.experiments.arena.sweep import Sweep
from thresher.files import write_text
from thresher.rendering.html import Html, definitions, document, element, join, paragraphs
from thresher.rendering.text import rate


def save_report(folder: str | Path, out: str | Path) -> None:
    """Write the page about a folder's records, at once: whoever looks sees the old or the new one.

    Raises
    ------
    DamagedFile : the records cannot be read

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "records.jsonl").write_text("")
    ...     save_report(folder, f"{folder}/report.html")
    ...     sorted(path.name for path in Path(folder).iterdir())
    ['records.jsonl', 'report.html']
    """
    write_text(out, make_page(load_standings(folder)))


def load_standings(folder: str | Path) -> list[Standings]:
    """The standings of every sweep that was run in the folder.

    The specs lie beside the records. Where one is missing or not readable, the records that bear
    its name are told by themselves.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "records.jsonl").write_text(
    ...         '{"run": "a", "arena": "lost", "status": "died"}\\n')
    ...     [standings.name for standings in load_standings(folder)]
    ['lost']
    """
    records = read_records(Path(folder) / NAME)
    specs = {path.stem: path for path in sorted(Path(folder).glob("*.toml"))}
    named = dict.fromkeys(map(arena_of, records))
    found = []
    for name in dict.fromkeys([*named, *specs]):
        sweep = _load_sweep(specs[name]) if name in specs else None
        if name in named or sweep is not None:
            found.append(Standings.of(name, sweep, records))
    return found


def make_page(standings: Sequence[Standings]) -> str:
    """The page as HTML.

    Examples
    --------
    >>> "Nothing is recorded yet" in make_page([])
    True
    """
    if not standings:
        return document("Arena", element("p", "Nothing is recorded yet."))
    title = ", ".join(_title(part) for part in standings)
    return document(f"{title} - Thresher arena", join(map(_article, standings), between="\n"))


def _load_sweep(path: Path) -> Sweep | None:
    try:
        return Sweep.load(str(path))
    except (TypeError, ValueError):  # damaged, or of another version: the records can do without
        return None


def _title(standings: Standings) -> str:
    return standings.sweep.title if standings.sweep is not None else standings.name


def _article(standings: Standings) -> Html:
    sweep = standings.sweep
    parts = [
        element("h1", _title(standings)),
        paragraphs(sweep.about if sweep is not None else ""),
        element("h2", "What was run"),
        definitions(facts_of(standings)),
        figures_section(standings),
        *_worlds(standings),
        _failures(standings),
    ]
    return element("article", join(filter(None, parts), between="\n"))


# -- worlds ------------------------------------------------------------------------------------


def _worlds(standings: Standings) -> Iterator[Html]:
    if not standings.worlds:
        return
    yield element("h2", "Worst cases")
    constant = [name for name in WORLD_KEYS if name not in standings.varying]
    if standings.varying:
        yield element("p", f"In every world: {standings.worlds[0].describe(constant)}.")
    yield element("p", _legend(standings), class_="quiet")
    for world in standings.worlds:
        yield element("h3", _capitalized(standings.name_world(world)))
        floor = error_floor(world.cells[0])
        if floor:
            yield element("p", f"Floor: {rate(floor)}", class_="quiet")
        yield from _tables(standings, world)


def _legend(standings: Standings) -> str:
    has_pilot = standings.sweep is not None and bool(standings.sweep.pilot_seeds)
    seeds = "on the pilot seeds, which do not count here" if has_pilot else "of all tried"
    floor = (
        "The floor of Kearns and Li, η/(2(1 − η)) at noise rate η, is the error that no method can "
        "promise to beat. "
    )
    has_floor = any(error_floor(cell) for world in standings.worlds for cell in world.cells)
    return (
        f"Each row shows an adversary at the strength with the largest median error {seeds}. "
        f"Errors are on clean rows; a run that did not finish counts as guessing, {WORST_ERROR:g}. "
        f"{floor if has_floor else ''}"
        "Labels, draws and seconds are medians over the seeds, uncertified phases are added up. "
        f"{MARK} marks the worst of a column."
    )


def _tables(standings: Standings, world: World) -> Iterator[Html]:
    if world.worst:
        yield worst_table(standings, world)
    else:
        yield element("p", "The pilot is still running; no seed that counts is recorded yet.")
    if world.has_more:
        summary = element("summary", "All strengths, from every recorded seed")
        yield element("details", summary, strength_table(standings, world))


def _capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]


# -- failures ----------------------------------------------------------------------------------


def _failures(standings: Standings) -> Html:
    """What did not finish and why; seeds of a cell with the same message share a line."""
    items = [
        _failure(standings, world, cell, status, message)
        for world in standings.worlds
        for cell in world.cells
        for status, message in dict.fromkeys(map(_end, cell.records))
        if status != "finished"
    ]
    if not items:
        return Html("")
    return join([element("h2", "What did not finish"), element("ul", *items)], between="\n")


def _failure(standings: Standings, world: World, cell: Cell, status: str, message: str) -> Html:
    seeds = [record["seed"] for record in cell.records if _end(record) == (status, message)]
    strength = "" if cell.key["strength"] is None else f" {tell_strength(cell)}"
    parts = [
        f"{standings.name_learner(cell)} against {cell.key['adversary']}{strength}",
        standings.name_world(world),
        f"seeds {format_seeds(seeds)}" if seeds[1:] else f"seed {seeds[0]}",
    ]
    told = f" - {', '.join(parts)}: "
    return element("li", element("b", status), told, element("code", message or "no message"))


def _end(record: FlatRecord) -> tuple[str, str]:
    return str(record["status"]), " ".join(str(record.get("message") or "").split())
