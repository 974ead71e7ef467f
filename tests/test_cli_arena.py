"""`thresher arena`, as a user meets it."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shlex
import signal
import statistics
import subprocess
import sys
import sysconfig
import time
import warnings
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from browser import look_at, needs_browser
from experiments.arena.arenas import run_inline
from thresher import cli
from thresher.errors import UncertifiedPhase
from thresher.experiments.arena import processes, report, sweep
from thresher.rendering.html import Html

SCRIPT = Path(sysconfig.get_path("scripts")) / "thresher"
ENVIRONMENT = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "COLUMNS": "80"}
EXAMPLE = "arena run smoke --out arena"
ATTACKED = "noise rate 0.05, at most 100 labels"  # the heading of one of its tables
TINY = """
title = "Tiny"
seeds = "{n_seeds}"
time_limit = {time_limit}
[[worlds]]
n_features = {n_features}
sparsity = 2
label_budget = 40
"""

# In place of the sweep of this name, whose runs are more and larger.
SMALL_SMOKE = """
title = "Smoke"
seeds = "0-0"
[[worlds]]
n_features = 20
sparsity = 3
noise_rate = [0.0, 0.05]
[[adversaries]]
adversary = ["label-flip", "linf-hijack-in-band"]
[[adversaries]]
adversary = "in-band-mass"
strength = [2.0, 4.0]
[[learners]]
name = "thresher"
schedule = { min_unlabeled = 200, max_unlabeled = 400 }
[[learners]]
name = "own labels only"
schedule = { reuse_labels = false, min_unlabeled = 200, max_unlabeled = 400 }
[[learners]]
method = "zhang-2018"
[[budgets]]
label_budget = [50, 100]
"""

Done = subprocess.CompletedProcess[str]


def thresher(arguments: str, folder: Path) -> Done:
    """`call_cli` for what a module shares."""
    told, said = io.StringIO(), io.StringIO()
    with chdir(folder), redirect_stdout(told), redirect_stderr(said):
        code = cli.main(shlex.split(arguments))
    return Done(arguments, code, told.getvalue(), said.getvalue())


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write_tiny(
    folder: Path, *, n_seeds: int, time_limit: float = 60.0, n_features: int = 20
) -> None:
    text = TINY.format(n_seeds=n_seeds, time_limit=time_limit, n_features=n_features)
    (folder / "tiny.toml").write_text(text, encoding="utf-8")


@pytest.fixture(scope="module", params=["small", pytest.param("shipped", marks=pytest.mark.slow)])
def smoke(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[tuple[Done, Path, int]]:
    """What a sweep said, its folder and the number of its runs.

    Without processes: those of smaller sweeps are enough.
    """
    folder = tmp_path_factory.mktemp("smoke")
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "small":
            shipped = tmp_path_factory.mktemp("shipped")
            (shipped / "smoke.toml").write_text(SMALL_SMOKE, encoding="utf-8")
            patch.setattr(sweep, "SHIPPED", shipped)
        yield run_smoke(folder), folder, {"small": 30, "shipped": 60}[request.param]


def run_smoke(folder: Path) -> Done:
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        patch.setenv("COLUMNS", "80")
        patch.setattr(processes, "run_here", run_inline)
        warnings.simplefilter("ignore", UncertifiedPhase)
        return thresher(EXAMPLE, folder)


# -- run ---------------------------------------------------------------------------------------


def test_a_sweep_succeeds_and_tells_nothing_but_progress_on_stderr(smoke) -> None:
    done, _, n_runs = smoke
    assert done.returncode == 0
    told = re.compile(rf"\d+ of {n_runs} runs, about .* left")
    assert all(told.fullmatch(line) for line in done.stderr.splitlines())


def test_a_sweep_keeps_its_records_and_its_spec(smoke) -> None:
    done, folder, n_runs = smoke
    records = read(folder / "arena" / "records.jsonl")
    assert len({record["run"] for record in records}) == len(records) == n_runs
    assert 'title = "Smoke"' in (folder / "arena" / "smoke.toml").read_text(encoding="utf-8")
    assert f"Records: {Path('arena') / 'records.jsonl'}\n" in done.stdout


def test_a_sweep_begins_with_its_title_and_what_there_is_to_do(smoke) -> None:
    done, _, n_runs = smoke
    assert done.stdout.splitlines()[:3] == ["Smoke", f"{n_runs} runs, 0 already recorded", ""]


def errors(folder: Path, **wanted: Any) -> list[float]:
    records = read(folder / "arena" / "records.jsonl")
    return [r["error"] for r in records if all(r[key] == wanted[key] for key in wanted)]


def test_the_table_shows_the_worst_strength_of_the_records(smoke) -> None:
    done, folder, _ = smoke
    table = done.stdout.partition(ATTACKED)[2]
    row = re.search(r"^own labels only +in-band-mass +(.*)$", table, flags=re.MULTILINE)
    assert row is not None
    strength, median, ratio, *_ = row[1].split()
    who = {"learner": "own labels only", "adversary": "in-band-mass", "label_budget": 100}
    medians = {
        f"{strength:g}": statistics.median(errors(folder, **who, strength=strength))
        for strength in (2.0, 4.0)
    }
    assert strength == max(medians, key=lambda name: medians[name])
    assert float(median) == pytest.approx(medians[strength], abs=6e-5)
    assert float(ratio) == pytest.approx(medians[strength] / (0.05 / (2 * 0.95)), abs=6e-3)


def test_the_rows_of_a_table_line_up(smoke) -> None:
    done, _, _ = smoke
    names = [part.splitlines()[0] for part in done.stdout.split("\n\n")]
    table = done.stdout.split("\n\n")[names.index(ATTACKED)].splitlines()
    assert len(table) == 3 + 3 * 3  # heading and head; three learners, three adversaries
    assert len({len(line) for line in table[1:]}) == 1


def test_what_is_recorded_is_not_run_again(smoke, call_cli) -> None:
    first, folder, n_runs = smoke
    before = (folder / "arena" / "records.jsonl").read_bytes()
    done = call_cli(EXAMPLE, folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert (folder / "arena" / "records.jsonl").read_bytes() == before
    assert done.stdout == first.stdout.replace("runs, 0 already", f"runs, {n_runs} already")


def test_runs_that_do_not_finish_are_outcomes_and_can_be_tried_again(
    tmp_path: Path, call_cli, monkeypatch
) -> None:
    # Runs of about half a second: the clock is looked at every tenth of a second.
    write_tiny(tmp_path, n_seeds=1, time_limit=0.001, n_features=1000)
    done = call_cli("arena run tiny.toml --out out --jobs 1", tmp_path)
    assert done.returncode == 0
    assert "0 of 1 runs finished" in done.stdout
    assert "--retry-failed" in done.stdout
    write_tiny(tmp_path, n_seeds=1, n_features=1000)
    kept = call_cli("arena run tiny.toml --out out", tmp_path)
    assert "0 of 1 runs finished" in kept.stdout
    monkeypatch.setattr(processes, "run_here", run_inline)
    again = call_cli("arena run tiny.toml --out out --jobs 1 --retry-failed", tmp_path)
    assert "1 runs, 1 already recorded, 1 of them to be repeated" in again.stdout
    assert "1 of 1 runs finished" in again.stdout


def test_ctrl_c_says_what_is_recorded_and_the_same_command_goes_on(
    tmp_path: Path, call_cli, monkeypatch
) -> None:
    write_tiny(tmp_path, n_seeds=12)
    command = "arena run tiny.toml --out out --jobs 1"
    process = subprocess.Popen(
        [str(SCRIPT), *shlex.split(command)],
        cwd=tmp_path,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    path = tmp_path / "out" / "records.jsonl"
    deadline = time.monotonic() + 60
    while not (path.exists() and path.stat().st_size) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    n_saved = len(read(path))
    assert process.returncode == 130
    saved = f"{n_saved} of 12 runs are recorded in out; the same command continues from there"
    assert told.splitlines() == [f"thresher: {saved}", "thresher: interrupted"]
    assert 0 < n_saved < 12
    monkeypatch.setattr(processes, "run_here", run_inline)
    done = call_cli(command, tmp_path)
    assert f"12 runs, {n_saved} already recorded" in done.stdout
    assert len(read(path)) == 12


def test_progress_goes_to_a_terminal_on_stderr_and_nowhere_else(
    tmp_path: Path, call_cli_at_terminal, monkeypatch
) -> None:
    write_tiny(tmp_path, n_seeds=2)
    monkeypatch.setattr(processes, "run_here", run_inline)
    done, shown = call_cli_at_terminal("arena run tiny.toml --out out --jobs 1", tmp_path)
    assert done.returncode == 0
    assert b"runs" in shown
    assert b"/2" in shown
    assert "\x1b[" not in done.stdout


# -- report ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def drawn(smoke) -> tuple[Done, Path]:
    """A report with its figures, which take longest; and what was said about it."""
    _, folder, _ = smoke
    return thresher("arena report arena --out page.html", folder), folder


def test_a_report_is_one_file_about_the_records(drawn) -> None:
    done, folder = drawn
    assert (done.returncode, done.stdout, done.stderr) == (0, "Report: page.html\n", "")
    assert "<h1>Smoke</h1>" in (folder / "page.html").read_text(encoding="utf-8")
    assert not list(folder.glob("*.part"))


@needs_browser
@pytest.mark.parametrize("width", [1200, 500])
def test_a_browser_draws_every_figure_of_the_report(width: int, drawn) -> None:
    pytest.importorskip("matplotlib")
    _, folder = drawn
    page = (folder / "page.html").read_text(encoding="utf-8")
    kinds = re.findall(r'data-figure="([^"]+)"', page)
    assert kinds == ["worst case by noise", "profile", "error by noise", "error by labels"]
    seen = look_at(page, width=width)
    n_panels, n_samples = 1 + 1 + 3 + 2, 4 * 3 + 2  # three learners each, and two floors
    assert seen["images"] == seen["drawn"] == seen["described"] == n_panels + n_samples
    assert (seen["requests"], seen["failures"]) == ([], [])
    assert seen["scrollWidth"] <= width


def test_the_cells_can_be_had_as_a_table(smoke, call_cli, monkeypatch) -> None:
    _, folder, _ = smoke
    monkeypatch.setattr(report, "figures_section", lambda _: Html(""))  # they are drawn above
    done = call_cli("arena report arena --out plain.html --csv cells.csv", folder)
    assert done.stdout == "Report: plain.html\nCSV: cells.csv\n"
    with (folder / "cells.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 30
    floors = {"0.0": 0.0, "0.05": 0.05 / (2 * 0.95)}
    for row in rows:
        assert float(row["error_floor"]) == pytest.approx(floors[row["noise_rate"]], rel=1e-4)
        assert row["n_uncertified"].isdigit()


def test_damaged_records_are_a_failure_and_leave_the_old_report(tmp_path: Path, capsys) -> None:
    (tmp_path / "records.jsonl").write_text("no record\n", encoding="utf-8")
    page = tmp_path / "page.html"
    page.write_text("old", encoding="utf-8")
    assert cli.main(["arena", "report", str(tmp_path), "--out", str(page)]) == 1
    assert "line 1" in capsys.readouterr().err
    assert page.read_text(encoding="utf-8") == "old"


# -- misuse and help ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("arena", "VERB"),
        ("arena run smoke", "--out"),
        ("arena run nonsense --out out", "smoke"),
        ("arena run missing.toml --out out", "missing.toml"),
        ("arena run bad-key.toml --out out", "sead"),
        ("arena run broken.toml --out out", "broken.toml"),
        ("arena run smoke --out out --jobs 0", "--jobs"),
        ("arena run smoke --out out --jobs two", "--jobs"),
        ("arena run smoke --out out --jobs 2 --scheduler tcp://localhost:1", "--scheduler"),
        ("arena run smoke --out out --scheduler foo", "like tcp://127.0.0.1:8786, got 'foo'"),
        ("arena run smoke --out out --scheduler ''", "like tcp://127.0.0.1:8786, got ''"),
        ("arena run smoke --out broken.toml", "--out"),
        ("arena run smoke --out broken.toml/sub", "'broken.toml' is a file, not a folder"),
        ("arena run smoke --out broken.toml/sub/sub", "'broken.toml' is a file, not a folder"),
        ("arena report . --out page.html", "records.jsonl"),
        ("arena report nowhere --out page.html", "records.jsonl"),
        ("arena report . --out page.txt", ".html"),
        ("arena report . --out nowhere/page.html", "--out"),
    ],
)
def test_misuse_is_one_line_and_exit_code_2(
    arguments: str, message: str, tmp_path: Path, call_cli
) -> None:
    (tmp_path / "bad-key.toml").write_text("sead = 1\n", encoding="utf-8")
    (tmp_path / "broken.toml").write_text("[[worlds\n", encoding="utf-8")
    done = call_cli(arguments, tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("thresher: error: ")
    assert "--help')" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert message in done.stderr
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # sockets that Dask leaves to the collector
def test_a_scheduler_that_does_not_answer_is_a_failure_and_leaves_nothing(
    tmp_path: Path, monkeypatch, call_cli
) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(processes, "_PATIENCE", 1)
    done = call_cli("arena run smoke --out out --scheduler tcp://127.0.0.1:1", tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("thresher: error: no Dask scheduler answers at 'tcp://127.0.0.1")
    assert len(done.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_the_hint_names_the_verb_under_the_verb(tmp_path: Path, capsys) -> None:
    assert cli.main(["arena", "run", "nonsense", "--out", str(tmp_path)]) == 2
    assert "(see 'thresher arena run --help')" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["arena", "arena run", "arena report"])
def test_help_fits_a_screen_and_ends_in_an_example_that_runs(
    verb: str, smoke, call_cli, monkeypatch
) -> None:
    _, folder, _ = smoke
    monkeypatch.setattr(report, "figures_section", lambda _: Html(""))  # they are drawn above
    lines = call_cli(f"{verb} --help", folder).stdout.rstrip().splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    label, _, example = lines[-1].partition(": thresher ")
    assert label == "example"
    done = call_cli(example, folder)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("arguments", ["run smoke --out out", "report . --out out.html"])
def test_without_pandas_the_arena_says_what_to_install(arguments, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    for name in ("terminal", "report"):  # as if their import of pandas failed
        monkeypatch.setitem(sys.modules, f"thresher.experiments.arena.{name}", None)
    assert cli.main(["arena", *arguments.split()]) == 1
    said = 'the arena needs pandas; install it with: pip install "thresher[lab]"'
    assert capsys.readouterr().err == f"thresher: error: {said}\n"
