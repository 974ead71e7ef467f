"""The command line, as a user meets it."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from thresher import __version__, cli

SCRIPT = Path(sysconfig.get_path("scripts")) / "thresher"
ENVIRONMENT = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}


def thresher(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return run([str(SCRIPT), *arguments], folder)


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=120
    )


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[subprocess.CompletedProcess[str], Path]:
    folder = tmp_path_factory.mktemp("demo")
    return thresher("demo", folder=folder), folder


def test_the_demo_succeeds_and_says_nothing_on_stderr(demo):
    done, _ = demo
    assert done.returncode == 0
    assert done.stderr.strip() == ""


def test_the_demo_writes_a_png_where_it_was_called(demo):
    done, folder = demo
    picture = folder / "thresher-demo.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "Picture: thresher-demo.png" in done.stdout


def test_the_demo_says_that_the_checker_accepted(demo):
    done, _ = demo
    assert "certificates.accepts_removal accepted every claim" in done.stdout


def test_the_demo_reports_status_and_suspicious_features(demo):
    done, _ = demo
    assert "tightest:" in done.stdout
    assert "10 of these 10 are the attacker's" in done.stdout


def test_the_demo_without_extras_says_how_to_get_the_picture(tmp_path):
    code = (
        "import sys; sys.modules.update(matplotlib=None, rich=None); "
        "from thresher.cli import main; sys.exit(main(['demo']))"
    )
    done = run([sys.executable, "-c", code], tmp_path)
    assert done.returncode == 0
    assert 'pip install "thresher[plot]"' in done.stdout
    assert not list(tmp_path.iterdir())


# The examples of the others are run where their verbs are tested.
ELSEWHERE = {"test_cli_laboratory": {"plan", "simulate"}, "test_cli_arena": {"arena"}}


def test_every_verb_has_a_place_where_its_example_is_run():
    assert {verb.name for verb in cli.VERBS} == {"demo"}.union(*ELSEWHERE.values())


def test_help_of_the_program_and_of_its_first_verb_end_in_the_same_example(tmp_path, call_cli):
    ends = {call_cli(text, tmp_path).stdout.splitlines()[-1] for text in ("--help", "demo --help")}
    assert ends == {f"example: {cli.VERBS[0].example}"}


def test_the_example_of_the_demo_runs(tmp_path, call_cli):
    program, _, arguments = cli.VERBS[0].example.partition(" ")
    assert (program, call_cli(arguments, tmp_path).returncode) == ("thresher", 0)


def test_version_is_the_package_version(tmp_path):
    assert thresher("--version", folder=tmp_path).stdout == f"thresher {__version__}\n"


@pytest.mark.parametrize(
    "arguments",
    [
        "",
        "nonsense",
        "demo --nonsense",
        "demo --seed -1",
        "demo --seed x",
        "demo --out picture.txt",
        "demo --out no/such/folder/picture.png",
    ],
)
def test_misuse_is_one_line_and_exit_code_2(arguments, tmp_path, call_cli):
    done = call_cli(arguments, tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("thresher: error: ")
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""


def with_verb(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def fail(_: argparse.Namespace) -> None:
        raise error

    verb = cli.Verb("fail", "fail", "thresher fail", lambda _: None, fail)
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
