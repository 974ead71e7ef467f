"""Runs in processes of their own: the clock, crashes, and what is left of them."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from experiments.arena.arenas import ENDLESS, hook, runner, tiny, trial, workers
from thresher.errors import ThresherError
from thresher.experiments.arena import isolation
from thresher.experiments.arena.isolation import Crew
from thresher.experiments.arena.trials import Trial

Workers = Callable[[], list[psutil.Process]]


def busy_thread(crew: Crew, new_workers: Workers) -> tuple[threading.Thread, list[dict]]:
    """A thread that has a run without end going, and the list into which its record will come."""
    crew.run(trial(0), 60)
    (worker,) = new_workers()
    idle, records = worker.cpu_times().user, []
    thread = threading.Thread(target=lambda: records.append(crew.run(trial(0, ENDLESS), 60)))
    thread.start()
    deadline = time.monotonic() + 30
    while worker.cpu_times().user < idle + 0.1:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return thread, records


@pytest.fixture(scope="module")
def crew() -> Iterator[Crew]:
    """A crew for tests that leave its processes alone."""
    with Crew() as crew:
        yield crew


def test_a_run_in_a_process_gives_the_record_of_a_run_here(crew: Crew) -> None:
    asked = Trial.from_record(trial(3))
    record = crew.run(asked.as_record(), 60)
    here = asked.run()
    assert {**record, "seconds": 0} == {**here, "seconds": 0}


def test_a_process_is_kept_for_the_next_run(crew: Crew) -> None:
    crew.run(trial(0), 60)
    before = workers()
    crew.run(trial(1), 60)
    assert workers() == before != []


def test_a_limit_beyond_what_a_timer_can_hold_is_no_limit(crew: Crew) -> None:
    assert crew.run(trial(0), 1e300)["status"] == "finished"


def test_a_run_beyond_the_limit_is_killed_and_says_so(crew: Crew) -> None:
    crew.run(trial(0), 60)  # so that the next is asked of a process that is ready
    start = time.monotonic()
    record = crew.run(trial(0, ENDLESS), 0.3)
    assert time.monotonic() - start < 5
    assert (record["status"], record["error"]) == ("timed out", None)
    assert record["message"] == "stopped after the time limit of 0.3 s"
    assert record["seconds"] >= 0.3


def test_after_a_time_out_the_next_run_has_a_new_process(new_workers: Workers) -> None:
    with Crew() as crew:
        crew.run(trial(0), 60)
        (before,) = new_workers()
        crew.run(trial(0, ENDLESS), 0.2)
        assert crew.run(trial(0), 60)["status"] == "finished"
        (after,) = new_workers()
    assert before != after and not before.is_running()


def test_a_clock_that_strikes_just_after_the_answer_costs_the_process_and_not_the_record() -> None:
    class Striking(isolation._Process):
        def _read(self, time_limit: float) -> tuple[str, bool]:
            line, _ = super()._read(time_limit)
            if line.startswith("{"):
                self.kill()
                return line, True
            return line, False

    process = Striking()
    assert process.run(trial(0), 60)["status"] == "finished"
    assert not process.is_idle
    process.stop()


def test_a_killed_process_is_recorded_as_dead(new_workers: Workers) -> None:
    with Crew() as crew:
        thread, records = busy_thread(crew, new_workers)
        new_workers()[0].send_signal(signal.SIGKILL)
        thread.join(10)
    assert records[0]["status"] == "died"
    assert records[0]["message"] == "the process ended with code -9 (Killed): no message"


def test_the_last_words_of_a_process_are_in_the_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = """
if seed == 0:
    print("an old complaint", file=sys.stderr, flush=True)
if seed == 1:
    os.kill(os.getpid(), signal.SIGSEGV)
if seed == 2:
    sys.exit("out of paper")
"""
    monkeypatch.setenv("PYTHONPATH", hook(tmp_path / "hook", body))
    with Crew() as crew:
        records = [crew.run(trial(seed), 60) for seed in range(3)]
    assert [record["status"] for record in records] == ["finished", "died", "died"]
    assert records[1]["message"].endswith("code -11 (Segmentation fault): no message")
    assert records[2]["message"] == "the process ended with code 1: out of paper"


def test_what_a_run_prints_is_not_taken_for_its_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = 'print("{}", flush=True)\nos.write(1, b"{}\\n")'  # as Python does, and as C does
    monkeypatch.setenv("PYTHONPATH", hook(tmp_path / "hook", body))
    with Crew() as crew:
        assert crew.run(trial(0), 60)["status"] == "finished"


def test_a_process_that_cannot_start_is_an_error_and_no_outcome(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text("import os\nos._exit(3)")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with Crew() as crew, pytest.raises(ThresherError, match=r"could not be started.*code 3.*kept"):
        crew.run(trial(0), 60)


def test_a_process_that_hangs_at_its_start_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, new_workers: Workers
) -> None:
    (tmp_path / "sitecustomize.py").write_text("import time\ntime.sleep(60)")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(isolation, "_START_LIMIT", 0.3)
    with Crew() as crew, pytest.raises(ThresherError, match=r"not ready after 0\.3 s"):
        crew.run(trial(0), 60)
    assert new_workers() == []


def test_a_module_in_the_current_folder_is_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "numpy.py").write_text("raise SystemExit('not NumPy')")
    monkeypatch.chdir(tmp_path)
    with Crew() as crew:
        assert crew.run(trial(0), 60)["status"] == "finished"


def test_closing_a_crew_ends_also_the_runs_under_way(new_workers: Workers) -> None:
    crew = Crew()
    thread, _ = busy_thread(crew, new_workers)
    crew.close()
    assert new_workers() == []
    thread.join(10)
    assert not thread.is_alive()


def test_a_closed_crew_starts_nothing() -> None:
    crew = Crew()
    crew.close()
    with pytest.raises(ThresherError, match="were stopped"):
        crew.run(trial(0), 60)


def test_a_worker_ends_in_the_middle_of_a_run_when_its_runner_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    began = tmp_path / "began"
    body = f"open({str(began)!r} + str(seed), 'w').close()\ntime.sleep(60)"
    monkeypatch.setenv("PYTHONPATH", hook(tmp_path / "hook", body))
    with runner(tiny("0-1"), tmp_path / "out") as process:
        deadline = time.monotonic() + 30
        while len(list(tmp_path.glob("began*"))) < 2:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        orphans = workers(process.pid)
        process.kill()
    assert len(orphans) == 2
    assert psutil.wait_procs(orphans, timeout=10)[1] == []
