"""Sweeps on a Dask cluster: the same records, and errors of one line when it is not there."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from experiments.arena.arenas import ENDLESS, run_inline, timeless, tiny
from thresher.errors import ThresherError
from thresher.experiments.arena import processes, read_records, run_sweep
from thresher.experiments.arena.processes import check_address

distributed = pytest.importorskip("distributed")

# Sockets that Dask leaves to the garbage collector are not ours to close.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")
SWEEP = tiny("0-3")


@pytest.fixture(scope="module", params=[1, pytest.param(2, marks=pytest.mark.slow)])
def cluster(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Dask workers, each a process of one thread, and any free port for Dask's own page."""
    with distributed.LocalCluster(
        n_workers=request.param, threads_per_worker=1, processes=True, dashboard_address=":0"
    ) as cluster:
        yield cluster


def on(cluster: Any) -> str:
    return str(cluster.scheduler_address)


def test_a_cluster_gives_the_records_of_this_machine(
    cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "run_here", run_inline)
    far = run_sweep(SWEEP, tmp_path / "far", scheduler=on(cluster))
    near = run_sweep(SWEEP, tmp_path / "near", n_jobs=1)
    assert timeless(far) == timeless(near)
    assert timeless(read_records(tmp_path / "far" / "records.jsonl")) == timeless(near)


def test_a_run_begun_here_goes_on_on_the_cluster(
    cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "run_here", run_inline)
    run_sweep(tiny("0-1"), tmp_path, n_jobs=1)
    heard: list[int] = []
    run_sweep(tiny("0-2"), tmp_path, scheduler=on(cluster), observe=lambda _, n: heard.append(n))
    assert heard == [1, 0]


def test_a_run_beyond_the_limit_on_the_cluster_is_an_outcome(cluster, tmp_path: Path) -> None:
    sweep = replace(tiny("0-0", top="time_limit = 0.5"), entries=(("endless", ENDLESS),))
    (record,) = run_sweep(sweep, tmp_path, scheduler=on(cluster))
    assert record["status"] == "timed out"


def test_a_run_that_costs_the_cluster_its_worker_is_an_error_of_one_line(
    cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object, **__: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(processes, "run_on_worker", die)
    monkeypatch.setattr(cluster.scheduler, "allowed_failures", 0)
    with pytest.raises(ThresherError, match=r"lost a run .*KilledWorker.*kept") as caught:
        run_sweep(tiny("0-0"), tmp_path, scheduler=on(cluster))
    assert "\n" not in str(caught.value)


def test_an_address_nobody_answers_at_is_an_error_of_one_line_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert processes._PATIENCE <= 10
    monkeypatch.setattr(processes, "_PATIENCE", 1)
    start = time.monotonic()
    with pytest.raises(ThresherError, match="no Dask scheduler answers at") as caught:
        run_sweep(SWEEP, tmp_path / "new", scheduler="tcp://127.0.0.1:1")
    assert time.monotonic() - start < 10
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


NO_ADDRESSES = ["foo", "", ":8786", "x://y", "x://y:8786", "host:port", "host:0", "host:65536"]


@pytest.mark.parametrize("text", [*NO_ADDRESSES, "tcp://", "a b:8786", "::1:8786", "host:8786\n"])
def test_what_is_no_address_is_refused_before_dask_is_asked(text: str) -> None:
    with pytest.raises(ValueError, match="scheduler must be an address like tcp://"):
        check_address(text)


def test_an_address_that_is_no_text_is_refused() -> None:
    with pytest.raises(TypeError, match="scheduler must be a string"):
        check_address(8786)  # type: ignore[arg-type]


ADDRESSES = ["tcp://127.0.0.1:8786", "tls://cluster.example:8786", "[::1]:8786", "host:8786"]


@pytest.mark.parametrize("address", [*ADDRESSES, "inproc://10.0.0.1/9/1"])
def test_what_dask_calls_an_address_is_one(address: str) -> None:
    assert check_address(address) == address


def test_a_cluster_without_workers_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "_PATIENCE", 1)
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=":0") as cluster,
        pytest.raises(ThresherError, match="has no worker after 1 s"),
    ):
        run_sweep(SWEEP, tmp_path, scheduler=on(cluster))


def test_without_dask_the_error_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ThresherError, match=r"thresher\[cluster\]"):
        run_sweep(SWEEP, tmp_path, scheduler="tcp://127.0.0.1:1")
