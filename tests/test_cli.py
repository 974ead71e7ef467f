"""The command line, as a user meets it."""

from __future__ import annotations

import argparse
import io
import os
import re
import subprocess
import sys
import sysconfig
import tomllib
import warnings
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
import pytest

from estimators.small import examine_quickly
from thresher import __version__, auditing, cli, demo

SCRIPT = Path(sysconfig.get_path("scripts")) / "thresher"
ENVIRONMENT = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}


def thresher(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(SCRIPT), *arguments],
        cwd=folder,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=600,
    )


def demo_of_two_attacks(folder: Path) -> subprocess.CompletedProcess[str]:
    """The demo with one split, no attack and two attacks, in our own process."""
    told, said = io.StringIO(), io.StringIO()
    attacks = {name: demo.ATTACKS[name] for name in (None, demo.SHOWN, "min-max")}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo, "N_SPLITS", 1)
        patch.setattr(demo, "ATTACKS", attacks)
        with chdir(folder), redirect_stdout(told), redirect_stderr(said):
            code = cli.main(["demo"])
    return subprocess.CompletedProcess("demo", code, told.getvalue(), said.getvalue())


@pytest.fixture(scope="module", params=["small", pytest.param("whole", marks=pytest.mark.slow)])
def shown(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> tuple[subprocess.CompletedProcess[str], Path]:
    """What the demo said, and where it was run."""
    folder = tmp_path_factory.mktemp("demo")
    is_small = request.param == "small"
    return demo_of_two_attacks(folder) if is_small else thresher("demo", folder=folder), folder


def test_the_demo_succeeds_and_says_nothing_on_stderr(shown):
    done, _ = shown
    assert done.returncode == 0
    assert done.stderr.strip() == ""


def test_the_demo_writes_tables_a_report_and_a_picture(shown):
    done, folder = shown
    files = {path.name for path in (folder / "thresher-demo").iterdir()}
    assert files == {"poisoned.csv", "clean.csv", "report.html", "attacks.png"}
    assert all(f"thresher-demo/{name}" in done.stdout for name in files)
    assert (folder / "thresher-demo" / "attacks.png").read_bytes().startswith(b"\x89PNG")


def test_the_demo_shows_that_the_others_are_fooled(shown):
    done, _ = shown
    rises = re.search(r"under attack +([+-][\d.]+) +([+-][\d.]+) +([+-][\d.]+)", done.stdout)
    ours, *others = (float(text) for text in rises.groups())
    assert ours < 2
    assert min(others) > 4


def test_the_demo_finds_the_attackers_rows(shown):
    done, _ = shown
    n_least, n_found = re.search(r"the (\d+) most suspicious rows, (\d+) are", done.stdout).groups()
    assert int(n_found) >= 0.9 * int(n_least)


def test_the_demo_takes_any_seed():
    one, other = (demo.make_split(None, seed) for seed in (1, 2**32 + 1))
    assert np.array_equal(one.X, other.X)


@pytest.mark.usefixtures("_without_extras")
def test_the_demo_without_extras_says_how_to_get_the_pictures(tmp_path, monkeypatch, call_cli):
    monkeypatch.setattr(demo, "compare", lambda _: np.full((3, 7), 0.05))  # told alike
    monkeypatch.setattr(auditing, "examine", examine_quickly)
    done = call_cli("demo --out here", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert 'pip install "thresher[plot]"' in done.stdout
    files = {path.name for path in (tmp_path / "here").iterdir()}
    assert files == {"poisoned.csv", "clean.csv", "report.html"}
    assert "pip install &quot;thresher[plot]&quot;" in (tmp_path / "here/report.html").read_text()


# The examples of the others are run where their verbs are tested.
ELSEWHERE = {
    "test_cli_laboratory": {"plan", "simulate"},
    "test_cli_arena": {"arena"},
    "test_cli_label": {"label"},
}
AFTER_THE_DEMO = ("learn", "predict", "audit")  # they take what it writes, and what they write


def test_every_verb_has_a_place_where_its_example_is_run():
    here = {"demo", *AFTER_THE_DEMO}
    assert {verb.name for verb in cli.VERBS} == here.union(*ELSEWHERE.values())


def test_help_of_the_program_and_of_its_first_verb_end_in_the_same_example(tmp_path, call_cli):
    ends = {call_cli(text, tmp_path).stdout.splitlines()[-1] for text in ("--help", "demo --help")}
    assert ends == {f"example: {cli.VERBS[0].example}"}
    assert cli.VERBS[0].example == "thresher demo"  # as the fixture runs it


@pytest.mark.usefixtures("learned")
def test_the_examples_run_one_after_the_other(shown, call_cli):
    _, folder = shown
    for name in AFTER_THE_DEMO:
        (example,) = (verb.example for verb in cli.VERBS if verb.name == name)
        assert example.startswith("thresher ")
        done = call_cli(example.removeprefix("thresher "), folder)
        assert (done.returncode, done.stderr) == (0, "")
    made = {path.name for path in folder.iterdir()}
    assert made == {"thresher-demo", "model.json", "answers.csv", "rows.csv"}


def test_version_is_the_package_version(tmp_path):
    assert thresher("--version", folder=tmp_path).stdout == f"thresher {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ("", "arguments are required: VERB"),
        ("nonsense", "unknown verb 'nonsense'; choose from 'demo', 'learn'"),
        ("lern mail.csv", "unknown verb 'lern'; did you mean 'learn'?"),
        (
            "arena rnu smoke",
            "did you mean 'run'? (see 'thresher arena --help')",
        ),
        ("demo --nonsense", "unknown option '--nonsense' (see 'thresher demo --help')"),
        ("--dbug demo", "unknown option '--dbug'; did you mean '--debug'?"),
        ("learn mail.csv --sprasity 3", "unknown option '--sprasity'; did you mean '--sparsity'?"),
        ("predict m.json mail.csv --uot=p.csv", "unknown option '--uot'; did you mean '--out'?"),
        ("demo more", "unexpected arguments: more"),
        ("demo --seed x", "must be an integer ≥ 0, got 'x'"),
    ],
)
def test_misuse_is_one_line_with_the_reason_and_exit_code_2(arguments, reason, tmp_path, call_cli):
    done = call_cli(arguments, tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("thresher: error: ")
    assert reason in done.stderr
    assert len(done.stderr.splitlines()) == 1


def with_verb(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def fail(_: argparse.Namespace) -> None:
        raise error

    verb = cli.Verb("fail", lambda _: None, fail)
    monkeypatch.setattr(cli, "VERBS", (verb,))


def test_a_failure_is_one_line_and_exit_code_1(monkeypatch, capsys):
    with_verb(monkeypatch, RuntimeError("first\nsecond"))
    assert cli.main(["fail"]) == 1
    assert capsys.readouterr().err == "thresher: error: first second\n"


@pytest.mark.parametrize("arguments", [["--debug", "fail"], ["fail", "--debug"]])
def test_debug_shows_the_failure_itself(arguments, monkeypatch):
    with_verb(monkeypatch, RuntimeError("first"))
    with pytest.raises(RuntimeError, match="first"):
        cli.main(arguments)


def test_an_interrupt_is_one_line_and_exit_code_130(monkeypatch, capsys):
    with_verb(monkeypatch, KeyboardInterrupt())
    assert cli.main(["fail"]) == 130
    assert capsys.readouterr().err == "thresher: interrupted\n"


def test_a_warning_is_one_line(monkeypatch, capsys):
    def warn(_: argparse.Namespace) -> None:
        warnings.warn("first\nsecond", UserWarning, stacklevel=1)

    verb = cli.Verb("warn", lambda _: None, warn)
    monkeypatch.setattr(cli, "VERBS", (verb,))
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        assert cli.main(["warn"]) == 0
    assert capsys.readouterr().err == "thresher: warning: first second\n"


INTERRUPTED_IMPORT = """
import sys
class Interrupt:
    def find_spec(name, *_):
        if name == {name!r}:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupt)
"""


@pytest.mark.parametrize("name", ["argparse", "thresher.cli.laboratory", "numpy"])
def test_an_interrupt_during_an_import_is_answered_in_one_line(name: str, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(INTERRUPTED_IMPORT.format(name=name))
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-m", "thresher", "plan", "--features=9", "--sparsity=1", "--error=.1"],
        env={**ENVIRONMENT, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "thresher: interrupted\n")


def test_the_program_is_installed_as_what_answers_interrupts() -> None:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    assert project["scripts"] == {"thresher": "thresher.__main__:main"}
