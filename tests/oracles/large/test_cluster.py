"""Pools on a cluster of processes: the bits of one process, also when workers are killed."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dask.dataframe as dd
import numpy as np
import psutil
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


def worker_processes() -> list[Any]:
    """The processes of the workers of a cluster in this process."""
    children = psutil.Process().children(recursive=True)
    return [child for child in children if "spawn_main" in " ".join(child.cmdline())]


def killed_after(delay: float) -> threading.Timer:
    """A timer that kills one worker; its nanny starts another."""
    timer = threading.Timer(delay, lambda: worker_processes()[0].kill())
    timer.start()
    return timer


def test_a_worker_that_is_killed_costs_time_only(folder: Path) -> None:
    expected, n_done = learned_from(ParquetPool(folder)).halfspace_, 0
    while n_done < N_POSITIONS:
        with cluster_of(2) as client:
            start = time.monotonic()
            assert np.array_equal(learned_from(pool_of(folder)).halfspace_, expected)
            usual = time.monotonic() - start
            while n_done < N_POSITIONS and has_two_workers(client):
                timer = killed_after(usual * (n_done + 0.5) / (N_POSITIONS + 1))
                found = learned_from(pool_of(folder)).halfspace_
                timer.join()
                assert np.array_equal(found, expected), n_done
                n_done += 1


def has_two_workers(client: Any) -> bool:
    """Whether a new worker has come; on a busy machine, a nanny can give up starting one."""
    try:
        client.wait_for_workers(2, timeout=60)
    except TimeoutError:
        return False
    return True
