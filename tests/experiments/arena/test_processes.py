"""Runs in processes of their own: the clock, crashes, and what is left of them."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import chdir
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

import psutil
import pytest

from experiments.arena.arenas import ENDLESS, hook, runner, task, tiny, workers
from thresher.errors import ThresherError
from thresher.experiments.arena.processes import run_here
from thresher.experiments.arena.run import Run

Workers = Callable[[], list[psutil.Process]]
Records = list[dict[str, Any]]


def run(tasks: Sequence[dict[str, Any]], time_limit: float = 60.0) -> Records:
    """The records of tasks that are run one after the other."""
    return list(run_here(tasks, time_limit, n_jobs=1))


def kill_when_there(path: Path, find: Workers) -> None:
    """Kill these processes once the file is there."""
    deadline = time.monotonic() + 30
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    for worker in find():
        worker.send_signal(signal.SIGKILL)


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Records:
    """A run, one without end, and another one, with a limit that only the second exceeds.

    In a folder with a module that must not be taken for NumPy.
    """
    folder = tmp_path_factory.mktemp("mixed")
    (folder / "numpy.py").write_text("raise SystemExit('not NumPy')")
    with chdir(folder):
        return run([task(3), task(0, ENDLESS), task(1)], time_limit=2.0)


def test_a_run_in_a_process_gives_the_record_of_a_run_here(mixed: Records) -> None:
    here = Run.from_record(task(3)).execute()
    assert {**mixed[0], "seconds": 0} == {**here, "seconds": 0}


def test_a_run_beyond_the_limit_is_killed_and_says_so(mixed: Records) -> None:
    late = mixed[1]
    assert (late["status"], late["error"], late["seconds"]) == ("timed out", None, 2.0)
    assert late["message"] == "stopped after the time limit of 2 s"


def test_after_a_time_out_the_next_run_is_not_harmed(mixed: Records) -> None:
    assert mixed[2]["status"] == "finished"


def test_a_limit_beyond_what_a_timer_can_hold_is_no_limit() -> None:
    assert run([task(0)], 1e300)[0]["status"] == "finished"


def starting_a_child(folder: Path) -> str:
    """The body of a run that starts a process, writes its id to a file in the folder, and waits."""
    return f"""
import subprocess
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
with open({str(folder)!r} + "/started" + str(seed), "w") as file:
    file.write(str(child.pid))
time.sleep(60)
"""


def children(folder: Path) -> list[psutil.Process]:
    """The processes that such runs have started and that still live."""
    ids = [int(path.read_text() or 0) for path in folder.glob("started*")]
    return [psutil.Process(n) for n in ids if psutil.pid_exists(n)]


def test_what_a_run_has_started_ends_with_it_when_its_time_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", hook(tmp_path / "hook", starting_a_child(tmp_path)))
    assert run([task(0)], 0.5)[0]["status"] == "timed out"
    assert (tmp_path / "started0").exists()
    assert psutil.wait_procs(children(tmp_path), timeout=5)[1] == []


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is enforced on Linux only")
def test_a_run_beyond_the_memory_limit_fails_and_the_next_one_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = "import numpy\nif seed == 0:\n    numpy.ones(2 * 10**8)"
    monkeypatch.setenv("PYTHONPATH", hook(tmp_path / "hook", body))
    records = run([{**task(seed), "memory_limit": 1.0} for seed in range(2)])
    assert [record["status"] for record in records] == ["failed", "finished"]
    assert "MemoryError" in records[0]["message"]
    assert records[0]["message"].endswith("; the memory limit is 1 GB")


def test_a_killed_process_is_recorded_as_dead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, new_workers: Workers
) -> None:
    began = tmp_path / "began"
    body = f"open({str(began)!r}, 'w').close()\ntime.sleep(60)"
    monkeypatch.setenv("PYTHONPATH", hook(tmp_path / "hook", body))
    thread = threading.Thread(target=kill_when_there, args=(began, new_workers))
    thread.start()
    (record,) = run([task(0)])
    thread.join()
    assert record["status"] == "died"
    assert record["message"] == "the process was killed by signal 9 (Killed)"


def test_crashes_and_exits_are_recorded_and_what_is_printed_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    body = """
print("{}", flush=True)
os.write(2, b"{}\\n")  # as compiled code does
time.sleep(0.3)
if seed == 0:
    os.kill(os.getpid(), signal.SIGSEGV)
if seed == 1:
    os._exit(3)
if seed == 2:
    sys.exit("out of paper")
"""
    monkeypatch.setenv("PYTHONPATH", hook(tmp_path / "hook", body))
    records = run([task(seed) for seed in range(4)])
    assert [record["status"] for record in records] == ["died", "died", "failed", "finished"]
    assert [record["message"] for record in records[:3]] == [
        "the process was killed by signal 11 (Segmentation fault)",
        "the process ended with exit code 3",
        "SystemExit: out of paper",
    ]
    assert capfd.readouterr() == ("", "")


def test_a_process_that_cannot_start_is_an_error_and_not_an_outcome(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, new_workers: Workers
) -> None:
    resource_tracker.ensure_running()  # it is a process of Python's own, and must start
    (tmp_path / "sitecustomize.py").write_text("import os\nos._exit(3)")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(ThresherError, match=r"cannot start a process.*records are kept"):
        run([task(0)])
    assert new_workers() == []


def test_a_module_in_the_current_folder_is_not_imported(mixed: Records) -> None:
    assert mixed[0]["status"] == "finished"


def test_records_that_are_no_longer_wanted_stop_the_processes(new_workers: Workers) -> None:
    records = run_here([task(0), task(0, ENDLESS)], 60, n_jobs=1)
    next(records)
    assert len(new_workers()) == 1
    start = time.monotonic()
    records.close()
    assert time.monotonic() - start < 2
    assert new_workers() == []


def test_a_worker_and_what_it_started_end_when_its_runner_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", hook(tmp_path / "hook", starting_a_child(tmp_path)))
    with runner(tiny("0-1"), tmp_path / "out") as process:
        deadline = time.monotonic() + 30
        while len(children(tmp_path)) < 2:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        orphans = [*workers(process.pid), *children(tmp_path)]
        process.kill()
    assert len(orphans) == 4
    assert psutil.wait_procs(orphans, timeout=10)[1] == []
