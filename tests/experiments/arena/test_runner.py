"""Sweeps that are run, killed, resumed, interrupted and run again."""

from __future__ import annotations

import _thread
import json
import signal
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from experiments.arena.arenas import (
    hook,
    run_inline,
    runner,
    timeless,
    tiny,
    wait_for_records,
    workers,
)
from thresher.errors import DamagedFile, ThresherError
from thresher.experiments.arena import Sweep, processes, read_records, run_sweep

SWEEP = tiny("0-7")
FAILING = """
[[learners]]
name = "greedy"
schedule = { use_every_row = true }
"""


def saved(folder: Path) -> list[dict[str, Any]]:
    return read_records(folder / "records.jsonl")


def refuse_to_run(record: object, n_to_come: int) -> None:
    """An observer of a run that should find nothing to do."""
    assert (record, n_to_come) == (None, 0)


def seed_folder(folder: Path, records: list[dict[str, Any]]) -> None:
    """Put records into a folder as a run that was stopped after them would have."""
    lines = [json.dumps(record) + "\n" for record in records]
    (folder / "records.jsonl").write_text("".join(lines))


RunSweep = Callable[..., list[dict[str, Any]]]


@pytest.fixture(scope="module")
def run_quickly() -> RunSweep:
    """`run_sweep` in this process: starting another takes longest.

    For tests in which it does not matter how processes start and end.
    """

    def run(*arguments: Any, **options: Any) -> list[dict[str, Any]]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(processes, "run_here", run_inline)
            return run_sweep(*arguments, **options)

    return run


class Ordinary:
    """A run of eight trials that nobody disturbed, one after the other."""

    def __init__(self, folder: Path, run_sweep: RunSweep) -> None:
        self.folder = folder
        self.heard: list[tuple[str | None, int]] = []
        self.records = run_sweep(SWEEP, folder, n_jobs=1, observe=self.hear)

    def hear(self, record: dict[str, Any] | None, n_to_come: int) -> None:
        self.heard.append((record and record["run"], n_to_come))


@pytest.fixture(scope="module")
def ordinary(tmp_path_factory, run_quickly: RunSweep) -> Ordinary:
    return Ordinary(tmp_path_factory.mktemp("ordinary") / "new" / "folder", run_quickly)


@pytest.fixture(scope="module")
def undisturbed(ordinary: Ordinary) -> list[dict[str, Any]]:
    """What every other way to run the sweep must come to."""
    return ordinary.records


# -- an ordinary run ---------------------------------------------------------------------------


def test_every_trial_finishes_and_leaves_one_record_in_the_folder(ordinary: Ordinary) -> None:
    assert [record["status"] for record in ordinary.records] == ["finished"] * 8
    assert saved(ordinary.folder) == ordinary.records


def test_the_records_come_back_in_the_order_of_the_trials(undisturbed) -> None:
    assert [record["run"] for record in undisturbed] == [t.id for t in SWEEP.runs(SWEEP.seeds)]


def test_a_record_says_which_sweep_asked_for_it(undisturbed) -> None:
    assert {(r["arena"], r["arena_hash"]) for r in undisturbed} == {("tiny", SWEEP.hash)}


def test_the_spec_is_kept_beside_the_records(ordinary: Ordinary) -> None:
    assert (ordinary.folder / "tiny.toml").read_text() == SWEEP.text


def test_the_observer_hears_how_many_are_to_come_and_then_each_record(ordinary: Ordinary) -> None:
    runs = [None, *(record["run"] for record in ordinary.records)]
    assert ordinary.heard == list(zip(runs, range(8, -1, -1)))


def test_the_number_of_jobs_does_not_change_a_bit(undisturbed, tmp_path: Path) -> None:
    assert timeless(run_sweep(SWEEP, tmp_path, n_jobs=2)) == timeless(undisturbed)


def test_a_record_that_differs_in_a_bit_is_noticed(undisturbed) -> None:
    other = [{**r, "error": r["error"] * (1 + 1e-15)} for r in undisturbed]
    assert timeless(other) != timeless(undisturbed)


@pytest.mark.parametrize("n_jobs", [0, -1, 1.5, "2", True])
def test_a_number_of_jobs_that_is_not_a_count_is_refused(n_jobs: Any, tmp_path: Path) -> None:
    with pytest.raises((TypeError, ValueError), match="n_jobs"):
        run_sweep(SWEEP, tmp_path / "new", n_jobs=n_jobs)
    assert list(tmp_path.iterdir()) == []


# -- killed and resumed ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "n_more", [(1, 3), pytest.param((0, 1, 3), marks=pytest.mark.slow)], ids=["twice", "thrice"]
)
def test_a_run_that_is_killed_again_and_again_loses_and_repeats_nothing(
    n_more: tuple[int, ...], undisturbed, run_quickly: RunSweep, tmp_path: Path
) -> None:
    for n_records in n_more:
        with runner(SWEEP, tmp_path) as process:
            wait_for_records(process, n_records)
            process.send_signal(signal.SIGKILL)
            process.wait()
    assert 4 <= len(saved(tmp_path)) < 8  # or the kills came too late to mean anything
    run_quickly(SWEEP, tmp_path, n_jobs=2)
    records = saved(tmp_path)
    assert len({record["run"] for record in records}) == len(records)
    assert timeless(records) == timeless(undisturbed)


def test_a_resumed_run_runs_nothing_that_is_recorded(undisturbed, tmp_path: Path) -> None:
    seed_folder(tmp_path, undisturbed)
    assert run_sweep(SWEEP, tmp_path, observe=refuse_to_run) == undisturbed


def test_a_torn_line_is_run_again(undisturbed, run_quickly: RunSweep, tmp_path: Path) -> None:
    seed_folder(tmp_path, undisturbed)
    path = tmp_path / "records.jsonl"
    path.write_bytes(path.read_bytes()[:-40])
    run_quickly(SWEEP, tmp_path, n_jobs=1)
    assert timeless(saved(tmp_path)) == timeless(undisturbed)


def test_a_damaged_folder_is_refused_and_nothing_in_it_changes(undisturbed, tmp_path: Path) -> None:
    seed_folder(tmp_path, undisturbed)
    path = tmp_path / "records.jsonl"
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([*lines[:3], lines[3][:50], *lines[4:]]))
    before = path.read_bytes()
    with pytest.raises(DamagedFile, match=r"records\.jsonl.*line 4"):
        run_sweep(SWEEP, tmp_path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_another_sweep_in_the_same_folder_shares_what_both_ask_for(
    undisturbed, run_quickly: RunSweep, tmp_path: Path
) -> None:
    seed_folder(tmp_path, undisturbed[:3])
    heard: list[int] = []
    run_quickly(tiny("0-3"), tmp_path, n_jobs=1, observe=lambda _, n: heard.append(n))
    assert heard == [1, 0]


# -- two at once -------------------------------------------------------------------------------


def test_a_second_runner_is_refused_and_the_first_is_unharmed(undisturbed, tmp_path: Path) -> None:
    with runner(SWEEP, tmp_path, n_jobs=1) as process:
        wait_for_records(process, 1)
        with pytest.raises(ThresherError, match="another run of the arena"):
            run_sweep(SWEEP, tmp_path)
        assert process.wait(60) == 0
    assert timeless(saved(tmp_path)) == timeless(undisturbed)


# -- runs that do not finish -------------------------------------------------------------------


TROUBLE = """
if seed == 0 and "use_every_row" not in spec.schedule:
    os.kill(os.getpid(), signal.SIGSEGV)
if seed == 1 and "use_every_row" not in spec.schedule:
    time.sleep(60)
"""
TROUBLED = tiny("0-2", blocks=FAILING)


@pytest.fixture(scope="module")
def trouble(tmp_path_factory) -> list[dict[str, Any]]:
    """The records of a sweep in which everything happens that can happen to a run."""
    folder = tmp_path_factory.mktemp("trouble")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", hook(folder / "hook", TROUBLE))
        return run_sweep(replace(TROUBLED, time_limit=2.0), folder, n_jobs=1)


def statuses(records: list[dict[str, Any]], learner: str) -> list[str]:
    return [record["status"] for record in records if record["learner"] == learner]


def test_a_death_and_a_time_out_are_recorded_and_the_next_run_is_not_harmed(trouble) -> None:
    assert statuses(trouble, "quick") == ["died", "timed out", "finished"]


def test_an_exception_in_a_run_is_recorded_with_its_message(trouble) -> None:
    assert statuses(trouble, "greedy") == ["failed"] * 3
    messages = [r["message"] for r in trouble if r["learner"] == "greedy"]
    assert all(message.startswith("BudgetExceeded: ") for message in messages)


def test_what_did_not_finish_is_not_run_again_by_itself(trouble, tmp_path: Path) -> None:
    seed_folder(tmp_path, trouble)
    assert run_sweep(TROUBLED, tmp_path, observe=refuse_to_run) == trouble


def test_a_retry_runs_what_did_not_finish_and_the_last_record_counts(
    trouble, run_quickly: RunSweep, tmp_path: Path
) -> None:
    seed_folder(tmp_path, trouble)
    retried = run_quickly(TROUBLED, tmp_path, n_jobs=1, retry=True)
    assert statuses(retried, "quick") == ["finished"] * 3
    assert statuses(retried, "greedy") == ["failed"] * 3
    assert saved(tmp_path)[: len(trouble)] == trouble
    assert len(saved(tmp_path)) == len(trouble) + 5
    assert run_sweep(TROUBLED, tmp_path, observe=refuse_to_run) == retried


def test_when_no_process_can_start_nothing_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text("raise SystemExit('no licence')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(ThresherError, match="cannot start a process"):
        run_sweep(tiny("0-5"), tmp_path / "out", n_jobs=2)
    assert saved(tmp_path / "out") == []


# -- interrupts --------------------------------------------------------------------------------


@pytest.mark.parametrize("n_jobs", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_an_interrupt_leaves_the_records_and_no_process(
    n_jobs: int,
    undisturbed,
    run_quickly: RunSweep,
    tmp_path: Path,
    new_workers: Callable[[], list[psutil.Process]],
) -> None:
    def interrupt(_: object, n_to_come: int) -> None:
        if n_to_come == 6:  # what Ctrl-C does, a little later, when the next run is going
            threading.Timer(0.02, _thread.interrupt_main).start()

    with pytest.raises(KeyboardInterrupt):
        run_sweep(SWEEP, tmp_path, n_jobs=n_jobs, observe=interrupt)
    assert new_workers() == []
    assert 2 <= len(saved(tmp_path)) < 8
    resumed = run_quickly(SWEEP, tmp_path, n_jobs=n_jobs)
    assert timeless(resumed) == timeless(saved(tmp_path)) == timeless(undisturbed)


def test_an_observer_that_raises_leaves_the_records_and_no_process(
    tmp_path: Path, new_workers: Callable[[], list[psutil.Process]]
) -> None:
    def fail(record: dict[str, Any] | None, _: int) -> None:
        if record is not None:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run_sweep(SWEEP, tmp_path, n_jobs=1, observe=fail)
    assert new_workers() == []
    assert len(saved(tmp_path)) == 1


def test_ctrl_c_ends_a_runner_and_its_processes(tmp_path: Path) -> None:
    with runner(SWEEP, tmp_path, n_jobs=1) as process:
        wait_for_records(process, 1)
        below = workers(process.pid)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
    assert errors.strip().endswith("KeyboardInterrupt")
    assert psutil.wait_procs(below, timeout=10)[1] == [] != below
    assert 1 <= len(saved(tmp_path)) < 8


# -- pilot seeds -------------------------------------------------------------------------------

STRENGTHS = """
noise_rate = 0.2
[[adversaries]]
adversary = "in-band-mass"
strength = [0.5, 1.0, 3.0]
"""


@pytest.fixture(scope="module")
def piloted(tmp_path_factory, run_quickly: RunSweep) -> tuple[Sweep, Path, list[dict[str, Any]]]:
    """A sweep with pilot seeds, its folder and its records."""
    sweep = Sweep.from_text(
        tiny("0-2", top='pilot_seeds = "100-101"').text.replace(
            "label_budget = 40", f"label_budget = 40{STRENGTHS}"
        ),
        name="tiny",
    )
    folder = tmp_path_factory.mktemp("piloted")
    return sweep, folder, run_quickly(sweep, folder, n_jobs=1)


def test_the_pilot_seeds_meet_every_strength(piloted) -> None:
    _, _, records = piloted
    met = [r["strength"] for r in records if r["seed"] == 100]
    assert met == [0.5, 1.0, 3.0]


def test_the_seeds_that_count_meet_only_the_worst_strength_of_the_pilot(piloted) -> None:
    _, _, records = piloted
    means = {
        strength: sum(r["error"] for r in records if r["seed"] >= 100 and r["strength"] == strength)
        for strength in (0.5, 1.0, 3.0)
    }
    final = [r for r in records if r["seed"] < 100]
    assert [r["seed"] for r in final] == [0, 1, 2]
    assert {r["strength"] for r in final} == {max(means, key=lambda c: means[c])}


def test_a_resumed_pilot_runs_nothing_again(piloted) -> None:
    sweep, folder, records = piloted
    assert run_sweep(sweep, folder, observe=refuse_to_run) == records


def test_a_pilot_that_was_stopped_chooses_as_if_it_had_not_been(
    piloted, run_quickly: RunSweep, tmp_path: Path
) -> None:
    sweep, folder, records = piloted
    lines = (folder / "records.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "records.jsonl").write_text("".join(lines[:4]))
    heard: list[int] = []
    again = run_quickly(sweep, tmp_path, n_jobs=1, observe=lambda _, n: heard.append(n))
    assert timeless(again) == timeless(records)
    assert heard == [5, 4, 3, 2, 1, 0]
