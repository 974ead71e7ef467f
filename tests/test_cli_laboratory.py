"""`thresher plan` and `thresher simulate`, as a user meets them."""

from __future__ import annotations

import io
import json
import shlex
import signal
import subprocess
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

from thresher import cli, plan
from thresher.experiments import load_runs
from thresher.simulate import ADVERSARIES, LabelFlip

SIMULATE = "simulate --features 60 --sparsity 3 --seeds 2 --label-budget 120"
SMALL = shlex.split(SIMULATE)
QUESTION = "plan --features 500 --sparsity 10 --error 0.01"


def refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


# -- plan --------------------------------------------------------------------------------------


def test_plan_prints_the_table(tmp_path: Path, call_cli) -> None:
    done = call_cli(QUESTION, tmp_path)
    answer = plan(n_features=500, sparsity=10, target_error=0.01, noise_rate=0.0)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{answer}\n", "")


def test_an_impossible_plan_is_an_answer_and_says_so(tmp_path: Path, call_cli) -> None:
    done = call_cli(f"{QUESTION} --noise-rate 0.05", tmp_path)
    assert done.returncode == 0
    assert "Impossible" in done.stdout
    assert "draws" not in done.stdout  # no cost for what cannot be done


def test_plan_prints_a_json_record(tmp_path: Path, call_cli) -> None:
    done = call_cli(f"{QUESTION} --noise-rate 0.05 --json", tmp_path)
    record = json.loads(done.stdout, parse_constant=refuse_constant)
    answer = plan(n_features=500, sparsity=10, target_error=0.01, noise_rate=0.05)
    assert record["possible"] is False
    assert record["theory"]["draws"] == answer.theory.draws
    assert record["practical"]["labels"] == answer.practical.labels
    assert record["label_floor"] == answer.label_floor


# -- simulate ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def simulated(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[subprocess.CompletedProcess[str], Path]:
    folder = tmp_path_factory.mktemp("simulate")
    command = [*SMALL, "--json", "runs.json", "--figure", "runs.png"]
    told, said = io.StringIO(), io.StringIO()
    with chdir(folder), redirect_stdout(told), redirect_stderr(said):
        code = cli.main(command)
    return subprocess.CompletedProcess(command, code, told.getvalue(), said.getvalue()), folder


def test_simulate_succeeds_and_says_nothing_on_stderr(simulated) -> None:
    done, _ = simulated
    assert (done.returncode, done.stderr) == (0, "")


def test_simulate_writes_the_records_and_the_figure(simulated) -> None:
    done, folder = simulated
    json.loads((folder / "runs.json").read_text(), parse_constant=refuse_constant)
    assert [run.seed for run in load_runs(folder / "runs.json")] == [0, 1]
    assert (folder / "runs.png").read_bytes().startswith(b"\x89PNG")
    assert "Records: runs.json" in done.stdout
    assert "Figure: runs.png" in done.stdout


def test_simulate_tells_the_first_seed_and_the_summary(simulated) -> None:
    done, _ = simulated
    assert "Seed 0: finished" in done.stdout
    assert "Seed 1: finished" not in done.stdout
    assert "2 of 2 seeds finished" in done.stdout
    assert "error floor         0.0263" in done.stdout


def test_verbose_tells_every_seed(tmp_path: Path, call_cli) -> None:
    done = call_cli(f"{SIMULATE} --verbose --seeds 3,5-6", tmp_path)
    assert [f"Seed {seed}: finished" in done.stdout for seed in (3, 4, 5, 6)] == [1, 0, 1, 1]


def test_without_noise_nobody_is_needed(tmp_path: Path, call_cli) -> None:
    done = call_cli(f"{SIMULATE} --noise-rate 0", tmp_path)
    assert done.returncode == 0
    assert "rows, all clean" in done.stdout


def test_another_method_may_learn(tmp_path: Path, call_cli) -> None:
    done = call_cli(f"{SIMULATE} --method zhang-2018 --figure runs.png", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "method: Zhang 2018; at most 120 labels" in done.stdout
    assert "Seed 0: finished\n" in done.stdout and "phase" not in done.stdout


def test_progress_goes_to_a_terminal_on_stderr_and_nowhere_else(
    tmp_path: Path, call_cli_at_terminal
) -> None:
    done, shown = call_cli_at_terminal(SIMULATE, tmp_path)
    assert done.returncode == 0
    assert b"phases" in shown
    assert "\x1b[" not in done.stdout


# -- what goes wrong ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("plan", "--features"),
        ("plan --features 5 --sparsity 10 --error 0.01", "sparsity"),
        ("plan --features 500 --sparsity 10 --error 2", "target_error"),
        ("plan --features x --sparsity 10 --error 0.01", "--features"),
        ("simulate --adversary nonsense", ", ".join(ADVERSARIES)),
        ("simulate --adversary none", "noise_rate 0.05"),
        ("simulate --distribution cauchy", "student-t"),
        ("simulate --sparsity 501", "sparsity"),
        ("simulate --noise-rate nan", "noise_rate"),
        ("simulate --adversary label-flip --strength 2", "strength"),
        ("simulate --adversary label-flip --noise-rate 0", "drop --adversary"),
        ("simulate --seeds 0", "--seeds"),
        ("simulate --seeds 9-0", "--seeds"),
        ("simulate --seeds 1,x", "--seeds"),
        ("simulate --seeds 99999999999", "--seeds"),
        ("simulate --figure runs.txt", "--figure"),
        ("simulate --json no/such/folder/runs.json", "--json"),
        ("simulate --json .", "--json"),
    ],
)
def test_misuse_is_one_line_and_exit_code_2(
    arguments: str, message: str, tmp_path: Path, call_cli
) -> None:
    done = call_cli(arguments, tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("thresher: error: ")
    assert len(done.stderr.splitlines()) == 1
    assert message in done.stderr


@dataclass(frozen=True)
class Broken(LabelFlip):
    """An adversary that fails when the learner is in its second phase."""

    def corrupt(self, n_rows, view, rng):
        if view.phase > 1:
            raise RuntimeError("no more\nrows")
        return super().corrupt(n_rows, view, rng)


def test_a_failed_seed_is_told_saved_and_exit_code_1(monkeypatch, capsys, tmp_path) -> None:
    monkeypatch.setitem(ADVERSARIES, "broken", Broken)
    path = tmp_path / "runs.json"
    assert cli.main([*SMALL, "--adversary", "broken", "--json", str(path)]) == 1
    told = capsys.readouterr()
    assert "0 of 2 seeds finished" in told.out
    assert told.err == (
        "thresher: error: 2 of 2 seeds failed; seed 0: RuntimeError: no more rows\n"
    )
    assert [run.status for run in load_runs(path)] == ["failed", "failed"]


def test_a_warning_is_one_line_with_its_seed(monkeypatch, capsys) -> None:
    from thresher.learning import PhaseOutcome

    monkeypatch.setattr(PhaseOutcome, "is_certified", False)
    assert cli.main(SMALL) == 0
    told = capsys.readouterr()
    lines = told.err.splitlines()
    assert lines[0].startswith("thresher: warning: seed 0, phase 1: ")
    assert f"uncertified phases  {len(lines)} of {len(lines)}" in told.out


def test_an_interrupt_says_what_is_saved(monkeypatch, capsys, tmp_path) -> None:
    from thresher.experiments import simulation_output

    def run_or_stop(spec, seed, observe):
        if seed == 1:
            signal.raise_signal(signal.SIGINT)
        return run(spec, seed, observe)

    run = simulation_output.run_simulation
    monkeypatch.setattr(simulation_output, "run_simulation", run_or_stop)
    path = tmp_path / "runs.json"
    assert cli.main([*SMALL, "--json", str(path)]) == 130
    assert f"1 of 2 runs are saved in {path}" in capsys.readouterr().err
    assert [run.seed for run in load_runs(path)] == [0]


@pytest.mark.usefixtures("_without_extras")
def test_a_figure_without_matplotlib_is_refused_before_the_work(tmp_path: Path, call_cli) -> None:
    done = call_cli(f"{SIMULATE} --figure runs.png", tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert 'pip install "thresher[plot]"' in done.stderr


# -- help --------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["plan", "simulate"])
def test_help_fits_a_screen_and_ends_in_an_example_that_runs(
    verb: str, tmp_path: Path, call_cli
) -> None:
    lines = call_cli(f"{verb} --help", tmp_path).stdout.rstrip().splitlines()
    assert len(lines) <= 24
    label, _, example = lines[-1].partition(": thresher ")
    assert label == "example"
    done = call_cli(example, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("text", "seeds"),
    [("3", (0, 1, 2)), ("4-6", (4, 5, 6)), ("1,5,7", (1, 5, 7)), ("7-7", (7,)), ("2,1-2", (2, 1))],
)
def test_seeds_are_a_number_of_them_or_a_list(text: str, seeds: tuple[int, ...]) -> None:
    options = cli.build_parser().parse_args(["simulate", "--seeds", text])
    assert options.seeds == seeds
