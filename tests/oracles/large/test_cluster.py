"""Pools on a cluster of processes: the bits of one process, also when workers are killed."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dask.dataframe as dd
import numpy as np
import pytest

from oracles.large.files import write_folder
from thresher import ActiveLearner, HalfspaceClassifier
from thresher.oracles import DaskPool, ParquetPool

distributed = pytest.importorskip("distributed")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # of Dask about pandas, and of workers that are killed
]
N_POSITIONS = 20
ASKED: dict[str, Any] = {
    "sparsity": 2,
    "noise_rate": 0.0,
    "label_budget": 50,
    "random_state": 0,
}
HINGE: dict[str, Any] = {"final_fit": "hinge", "random_state": 0}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("pool")
    write_folder(place, n_rows=6000, file_rows=1000, group_rows=500)
    return place


@contextmanager
def cluster_of(n_workers: int) -> Iterator[Any]:
    """A client of a cluster with that many processes."""
    with (
        warnings.catch_warnings(),
        distributed.LocalCluster(
            n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def learned_from(pool: Any) -> ActiveLearner:
    def answer(_ids: Any, X: Any) -> Any:
        return np.where(X[:, 1] - X[:, 4] > 0, 1, -1)

    return ActiveLearner(pool, **ASKED).learn_from(answer)


def pool_of(folder: Path) -> DaskPool:
    return DaskPool(dd.read_parquet(folder, split_row_groups=1))


@pytest.mark.parametrize("n_workers", [2, 4])
def test_several_processes_give_the_bits_of_one(folder: Path, n_workers: int) -> None:
    alone = learned_from(ParquetPool(folder))
    plain = HalfspaceClassifier(2, 0.02, **HINGE).fit(ParquetPool(folder), "answer")
    with cluster_of(n_workers):
        together = learned_from(pool_of(folder))
        fitted = HalfspaceClassifier(2, 0.02, **HINGE).fit(pool_of(folder), "answer")
    assert np.array_equal(alone.halfspace_, together.halfspace_)
    assert alone.n_draws_ == together.n_draws_
    assert np.array_equal(plain.coef_, fitted.coef_)
    assert np.array_equal(plain.row_weights_, fitted.row_weights_)


class Killer(threading.Thread):
    """Kills the worker processes, one after the other, as often as wanted."""

    def __init__(self, client: Any, delay: float) -> None:
        super().__init__(daemon=True)
        self._client, self._delay, self.n_killed = client, delay, 0
        self._is_over = threading.Event()

    def run(self) -> None:
        while not self._is_over.wait(self._delay):
            infos = self._client.scheduler_info(n_workers=-1)["workers"]
            pids = self._client.run(os.getpid) if infos else {}
            for pid in list(pids.values())[:1]:
                os.kill(pid, signal.SIGKILL)
                self.n_killed += 1
                return

    def end(self) -> None:
        self._is_over.set()
        self.join()


def test_a_worker_that_is_killed_costs_time_only(folder: Path) -> None:
    expected, n_killed = learned_from(ParquetPool(folder)).halfspace_, 0
    with cluster_of(2) as client:
        start = time.monotonic()
        assert np.array_equal(learned_from(pool_of(folder)).halfspace_, expected)
        usual = time.monotonic() - start
        for position in range(N_POSITIONS):
            killer = Killer(client, delay=usual * (position + 0.5) / (N_POSITIONS + 1))
            killer.start()
            start = time.monotonic()
            found = learned_from(pool_of(folder)).halfspace_
            assert np.array_equal(found, expected), position
            assert time.monotonic() - start < 120
            killer.end()
            n_killed += killer.n_killed
            client.wait_for_workers(2)
    assert n_killed >= N_POSITIONS // 2
