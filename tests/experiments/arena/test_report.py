"""The report of an arena says what the records say, whatever is in them."""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Iterable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from thresher.experiments.arena import Run, Sweep, run_sweep
from thresher.experiments.arena import report as arena_report
from thresher.experiments.arena.report import load_summaries, save_report
from thresher.rendering.html import Html

NASTY = 'a <b>"bold"</b> & <script>alert(1)</script>'
SPEC = """
title = "Two worlds & more"
about = "Why <this>?"
seeds = "0-2"
{pilot}
[[worlds]]
n_features = 30
sparsity = 2
noise_rate = [0.05, 0.1]

[[adversaries]]
adversary = "label-flip"

[[adversaries]]
adversary = "in-band-mass"
strength = [1.0, 2.0, 4.0]

[[learners]]
name = "thresher"

[[learners]]
name = "own labels only"
schedule = {{ reuse_labels = false }}

[[budgets]]
label_budget = 60
"""


def make_sweep(pilot: str = "", name: str = "two") -> Sweep:
    return Sweep.from_text(SPEC.format(pilot=pilot), name=name)


def make_record(run: Run, sweep: Sweep, **changes: Any) -> dict[str, Any]:
    """A finished run with numbers that differ from run to run."""
    rng = np.random.default_rng(int(run.id, 16))
    return {
        **run.unfinished("finished", "", float(rng.uniform(1, 9))),  # type: ignore[arg-type]
        "error": float(rng.uniform(0.01, 0.2)),
        "n_labels": int(rng.integers(10, 60)),
        "n_draws": int(rng.integers(1000, 99000)),
        "n_uncertified": int(rng.integers(0, 4)),
        "arena": sweep.name,
        "arena_hash": sweep.hash,
        **changes,
    }


def complete(sweep: Sweep) -> list[dict[str, Any]]:
    return [make_record(run, sweep) for run in sweep.runs(sweep.seeds)]


class Page(HTMLParser):
    """What a reader sees: tables as rows of texts, and everything else as one text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.tables: list[list[list[str]]] = []
        self.headings: list[str] = []
        self.text = ""
        self._open = ""
        self.feed(html)

    def handle_starttag(self, tag: str, _: Any) -> None:
        self.tags.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
        elif tag == "h3":
            self.headings.append("")
        self._open = tag

    def handle_data(self, data: str) -> None:
        self.text += data
        if self._open in ("td", "th", "span", "small"):
            self.tables[-1][-1][-1] += data.rstrip("\n")
        elif self._open == "h3":
            self.headings[-1] += data

    def handle_endtag(self, tag: str) -> None:
        self._open = {"span": "td", "small": "td"}.get(tag, "")

    def rows(self, n_table: int) -> dict[tuple[str, str], list[str]]:
        """The rows of a table by learner and adversary (with its strength), without marks."""
        found, learner = {}, ""
        for first, *cells in self.tables[n_table][1:]:
            if not cells:
                learner = first
                continue
            found[learner, f"{first} {cells[0]}"] = [cell.lstrip("▲") for cell in cells[1:]]
        return found


def write(
    folder: Path, records: Iterable[dict[str, Any]], *sweeps: Sweep, draw: bool = False
) -> Page:
    """The page about these records; without its figures, which take longest, unless they matter."""
    text = "".join(json.dumps(record) + "\n" for record in records)
    (folder / "records.jsonl").write_text(text, encoding="utf-8")
    for sweep in sweeps:
        (folder / f"{sweep.name}.toml").write_text(sweep.text, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        if not draw:
            patch.setattr(arena_report, "figures_section", lambda _: Html(""))
        save_report(load_summaries(folder), folder / "page.html")
    return Page((folder / "page.html").read_text(encoding="utf-8"))


def select(records: Iterable[dict[str, Any]], **wanted: Any) -> list[dict[str, Any]]:
    return [r for r in records if all(r[key] == value for key, value in wanted.items())]


def expected(records: list[dict[str, Any]], noise_rate: float) -> list[str]:
    """The numbers of a row, computed by other means than the report's."""
    errors = sorted(r["error"] if r["status"] == "finished" else 0.5 for r in records)
    median = statistics.median(errors)
    low, high = (np.percentile(errors, level) for level in (10, 90))
    return [
        f"{median:.4f}",
        f"{median * 2 * (1 - noise_rate) / noise_rate:.2f}",
        f"{low:.4f}",
        f"{high:.4f}",
        f"{statistics.median(r['n_labels'] for r in records):,.0f}",
        f"{statistics.median(r['n_draws'] for r in records):,.0f}",
        f"{statistics.median(r['seconds'] for r in records):.1f}",
        str(sum(r["n_uncertified"] for r in records)),
        str(sum(r["status"] != "finished" for r in records)),
        str(len(records)),
    ]


def worst_strength(records: list[dict[str, Any]]) -> float:
    medians = {
        strength: statistics.median(r["error"] for r in select(records, strength=strength))
        for strength in {r["strength"] for r in records}
    }
    return max(medians, key=lambda strength: medians[strength])


# -- numbers -----------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", ["thresher", "own labels only"])
@pytest.mark.parametrize(("n_world", "noise_rate"), [(0, 0.05), (1, 0.1)])
def test_the_worst_strengths_are_those_of_the_records(
    learner: str, n_world: int, noise_rate: float, tmp_path: Path
) -> None:
    sweep = make_sweep()
    records = complete(sweep)
    rows = write(tmp_path, records, sweep).rows(2 * n_world)
    here = select(records, learner=learner, noise_rate=noise_rate)
    attacked = select(here, adversary="in-band-mass")
    strength = worst_strength(attacked)
    worst = expected(select(attacked, strength=strength), noise_rate)
    flipped = expected(select(here, adversary="label-flip"), noise_rate)
    assert rows[learner, f"in-band-mass {strength:g}"] == worst
    assert rows[learner, "label-flip -"] == flipped
    case = max(("in-band-mass", f"{strength:g}", worst), ("label-flip", "-", flipped), key=median)
    suite = f"worst case over the suite {case[0]} {case[1]}"
    assert rows[learner, suite] == case[2]
    assert len(rows) == 6  # two learners: two adversaries, and both together


def median(case: tuple[str, str, list[str]]) -> float:
    return float(case[2][0])


def test_all_strengths_are_in_the_second_table(tmp_path: Path) -> None:
    sweep = make_sweep()
    records = complete(sweep)
    page = write(tmp_path, records, sweep)
    here = select(records, noise_rate=0.05, learner="thresher")
    rows = page.rows(1)
    assert len(rows) == 2 * 4
    for strength in (1.0, 2.0, 4.0):
        cell = select(here, strength=strength)
        assert rows["thresher", f"in-band-mass {strength:g}"] == expected(cell, 0.05)


def test_one_strength_of_each_adversary_is_told_once(tmp_path: Path) -> None:
    text = SPEC.format(pilot="").replace("strength = [1.0, 2.0, 4.0]", "strength = 2.0")
    sweep = Sweep.from_text(text, name="two")
    page = write(tmp_path, complete(sweep), sweep)
    assert "details" not in page.tags
    assert len(page.tables) == 2  # one a world
    assert ("thresher", "in-band-mass 2") in page.rows(0)


def test_one_strength_is_told_again_with_the_pilot_seeds(tmp_path: Path) -> None:
    text = SPEC.format(pilot='pilot_seeds = "7-7"').replace("[1.0, 2.0, 4.0]", "2.0")
    sweep = Sweep.from_text(text, name="two")
    runs = sweep.runs((*sweep.pilot_seeds, *sweep.seeds))
    page = write(tmp_path, [make_record(run, sweep) for run in runs], sweep)
    shown = [page.rows(n)["thresher", "in-band-mass 2"][-1] for n in (0, 1)]
    assert shown == ["3", "4"]


def test_the_worst_number_of_a_column_is_marked(tmp_path: Path) -> None:
    sweep = make_sweep()
    table = write(tmp_path, complete(sweep), sweep).tables[0]
    rows = [row for row in table[1:] if len(row) > 1 and not row[0].startswith("worst case")]
    for column in range(2, 10):  # from the median error to the uncertified phases
        cells = [row[column] for row in rows]
        marked = {cell.lstrip("▲") for cell in cells if cell.startswith("▲")}
        numbers = [float(cell.lstrip("▲").replace(",", "")) for cell in cells]
        assert {float(cell.replace(",", "")) for cell in marked} == {max(numbers)}


def test_nothing_is_marked_where_all_are_the_same(tmp_path: Path) -> None:
    sweep = make_sweep()
    records = [{**record, "n_labels": 50, "seconds": 1.0} for record in complete(sweep)]
    for record in select(records, learner="thresher"):
        record["seconds"] = 1.001  # is told as 1.0, like the others
    table = write(tmp_path, records, sweep).tables[0]
    assert not [row for row in table if len(row) > 1 and "▲" in row[6] + row[8]]


def test_a_run_that_did_not_finish_counts_as_guessing_and_is_listed(tmp_path: Path) -> None:
    sweep = make_sweep()
    records = complete(sweep)
    hurt = [r for r in records if r["noise_rate"] == 0.1 and r["strength"] == 1.0]
    for record in hurt:
        record.update(status="timed out", message="too\nlong", error=None)
    page = write(tmp_path, records, sweep, draw=True)
    assert "48 of 48 recorded: 42 finished, 0 failed, 6 timed out, 0 died" in page.text
    assert page.rows(2)["thresher", "in-band-mass 1"][0] == "0.5000"
    told = "thresher against in-band-mass 1, noise rate 0.1, seeds 0-2: too long"
    assert f"timed out - {told}" in page.text


def test_the_facts_are_those_of_the_records(tmp_path: Path) -> None:
    sweep = make_sweep()
    records = complete(sweep)
    records[0]["version.numpy"] = "0.0.1"
    page = write(tmp_path, records, sweep)
    assert f"labels paid{sum(r['n_labels'] for r in records):,}" in page.text
    assert "seeds0-2" in page.text
    assert f"two, hash {sweep.hash}" in page.text
    assert f"numpy 0.0.1 and {np.__version__}" in page.text
    assert "Why <this>?" in page.text


def test_what_varies_is_in_the_heading_and_the_rest_is_said_once(tmp_path: Path) -> None:
    sweep = make_sweep()
    page = write(tmp_path, complete(sweep), sweep)
    assert page.headings == ["Noise rate 0.05", "Noise rate 0.1"]
    assert page.text.count("30 features, 2 relevant") == 1


# -- the pilot ---------------------------------------------------------------------------------


def piloted() -> tuple[Sweep, list[dict[str, Any]]]:
    """Pilot seeds that find strength 2 the worst, and records of seeds that would find 4."""
    sweep = make_sweep('pilot_seeds = "100-101"')
    records = []
    for run in sweep.runs((*sweep.pilot_seeds, *sweep.seeds)):
        worst = 2.0 if run.seed in sweep.pilot_seeds else 4.0
        error = 0.2 if run.spec.strength == worst else 0.1
        records.append(make_record(run, sweep, error=error + run.seed / 10_000))
    return sweep, records


def test_the_pilot_chooses_the_strength_and_its_seeds_do_not_count(tmp_path: Path) -> None:
    sweep, records = piloted()
    rows = write(tmp_path, records, sweep).rows(0)
    cell = select(records, learner="thresher", noise_rate=0.05, strength=2.0)
    counted = [record for record in cell if record["seed"] < 100]
    assert rows["thresher", "in-band-mass 2"] == expected(counted, 0.05)
    assert ("thresher", "in-band-mass 4") not in rows


def test_a_pilot_under_way_is_told_as_one(tmp_path: Path) -> None:
    sweep, records = piloted()
    page = write(tmp_path, select(records, seed=100), sweep, draw=True)
    assert "The pilot is still running" in page.text
    assert ("thresher", "in-band-mass 2") in page.rows(0)


def test_seeds_that_count_are_planned_for_one_strength_only(tmp_path: Path) -> None:
    sweep, records = piloted()
    page = write(tmp_path, select(records, seed=100), sweep)
    # 2 pilot seeds for 2 learners, 2 worlds and 4 attacks; 3 seeds for only 2 attacks
    assert "16 of 56 recorded" in page.text


# -- skipped tables ----------------------------------------------------------------------------

TABLES = """
seeds = "0-1"
[[worlds]]
table = ["here", "lost"]
[[learners]]
method = "l1-logistic"
"""


def test_runs_on_a_skipped_table_are_not_still_to_come(tmp_path: Path) -> None:
    sweep = Sweep.from_text(TABLES, name="two")
    rest = sweep.without_tables(["lost"])
    assert "2 of 4 recorded" in write(tmp_path, complete(rest), sweep).text
    (tmp_path / "here.csv").write_text("a,b\n1,0\n")
    assert len(run_sweep(rest, tmp_path, data_dir=tmp_path)) == 2  # none of which is run again
    page = write(tmp_path, complete(rest))
    assert "2 of 2 recorded: 2 finished" in page.text
    assert "still to come" not in page.text
    assert "the table lost needs a file lost.* in the data folder" in page.text


def test_a_table_that_was_found_later_is_not_skipped_any_more(tmp_path: Path) -> None:
    sweep = Sweep.from_text(TABLES, name="two")
    write(tmp_path, complete(sweep))
    for name in ("here", "lost"):
        (tmp_path / f"{name}.csv").write_text("a,b\n1,0\n")
    for each in (sweep.without_tables(["lost"]), sweep):
        run_sweep(each, tmp_path, data_dir=tmp_path)
    text = write(tmp_path, complete(sweep)).text
    assert "4 of 4 recorded" in text
    assert "skipped" not in text


# -- what a folder may hold --------------------------------------------------------------------


def test_a_sweep_that_still_runs_is_reported(tmp_path: Path) -> None:
    sweep = make_sweep()
    records = complete(sweep)[:5]
    page = write(tmp_path, records, sweep, draw=True)
    assert "5 of 48 recorded" in page.text
    assert "43 still to come" in page.text


def test_the_last_record_of_a_run_counts(tmp_path: Path) -> None:
    sweep = make_sweep()
    records = complete(sweep)
    dead = {**records[0], "status": "died", "error": None, "message": "gone"}
    assert "0 died" in write(tmp_path, [dead, *records], sweep).text
    assert "1 died" in write(tmp_path, [*records, dead], sweep).text


def test_no_record_at_all_is_reported(tmp_path: Path) -> None:
    assert "Nothing is recorded yet" in write(tmp_path, [], draw=True).text


def test_a_spec_without_records_is_reported(tmp_path: Path) -> None:
    assert "0 of 48 recorded" in write(tmp_path, [], make_sweep(), draw=True).text


@pytest.mark.parametrize("text", [None, "[[worlds", "worlds = 3", "other = 1"])
def test_without_a_usable_spec_the_records_are_enough(text: str | None, tmp_path: Path) -> None:
    sweep = make_sweep()
    records = complete(sweep)
    if text is not None:
        (tmp_path / "two.toml").write_text(text, encoding="utf-8")
    alone = write(tmp_path, records, draw=text is None)
    assert "the file is missing or cannot be read" in alone.text
    assert alone.tables == write(tmp_path, records, sweep).tables


def test_sweeps_in_one_folder_are_told_one_after_the_other(tmp_path: Path) -> None:
    first, second = make_sweep(), make_sweep(name="again")
    other = Sweep.from_text(SPEC.replace("30", "40").format(pilot=""), name="other")
    page = write(tmp_path, [*complete(first), *complete(other)], first, second, other)
    assert page.tags.count("h1") == 3
    # "again" asks for what "two" had already run.
    assert page.text.count("48 of 48 recorded") == 3
    assert "left out" not in page.text


def test_what_the_spec_does_not_ask_for_is_counted_and_left_out(tmp_path: Path) -> None:
    sweep = make_sweep()
    odd = [{**record, "run": f"odd {n}"} for n, record in enumerate(complete(sweep)[:2])]
    page = write(tmp_path, [*complete(sweep), *odd], sweep)
    assert "left out2 runs" in page.text
    assert page.tables == write(tmp_path, complete(sweep), sweep).tables


def test_learners_of_one_name_are_told_apart_by_their_schedules(tmp_path: Path) -> None:
    records = [{**record, "learner": "thresher"} for record in complete(make_sweep())]
    rows = write(tmp_path, records, draw=True).rows(0)
    names = {learner for learner, _ in rows}
    assert names == {"thresher (defaults)", "thresher (reuse_labels False)"}


# -- the page itself ---------------------------------------------------------------------------


def test_names_and_messages_cannot_become_part_of_the_page(tmp_path: Path) -> None:
    plain = make_sweep()
    tags = write(tmp_path, [], plain, draw=True).tags
    text = plain.text.replace('"thresher"', f"'''{NASTY}'''").replace("Why <this>?", "<i>")
    sweep = Sweep.from_text(text.replace("Two worlds", "<em>"), name="two")
    records = complete(sweep)
    for record in records:
        record.update(status="failed", message=NASTY, error=None)
        record["version.numpy"] = NASTY
    page = write(tmp_path, records, sweep, draw=True)
    assert NASTY in page.text
    assert {learner for learner, _ in page.rows(0)} == {NASTY, "own labels only"}
    assert not {"script", "i", "em"} & set(page.tags)
    assert page.tags.count("b") == page.text.count("failed - ")
    assert set(tags) <= set(page.tags)


def test_the_page_needs_nothing_but_itself(tmp_path: Path) -> None:
    sweep = make_sweep()
    page = write(tmp_path, complete(sweep), sweep, draw=True)
    html = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert not {"script", "link", "iframe"} & set(page.tags)
    own = re.sub(r'src="data:image/svg\+xml;base64,[\w+/=]+"', "", html)
    assert not [word for word in ("http", "src=", "url(", "@import") if word in own]
    assert not list(tmp_path.glob("*.part"))


def test_the_same_records_give_the_same_page(tmp_path: Path) -> None:
    sweep = make_sweep()
    write(tmp_path, complete(sweep), sweep, draw=True)
    first = (tmp_path / "page.html").read_bytes()
    write(tmp_path, reversed(complete(sweep)), sweep, draw=True)
    assert (tmp_path / "page.html").read_bytes() == first
