"""Pools of Dask: the same bits as pools in files, wherever and however the rows are partitioned."""

from pathlib import Path
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from oracles.large.files import NAMES, as_table, rows_and_labels, write_folder
from thresher import ActiveLearner
from thresher.errors import UnreadablePart
from thresher.geometry import Band
from thresher.oracles import DaskPool, DrawRequest, ParquetPool

NORMAL = np.array([0.0, 0.6, 0.0, 0.0, -0.8, 0.0])
# Dask calls pandas as earlier versions wanted it.
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword")
REQUESTS = [
    DrawRequest(n_rows=40, band=Band(normal=np.zeros(6), width=np.inf)),
    DrawRequest(n_rows=40, band=Band(normal=NORMAL, width=0.4)),
]


def frame_of(n_partitions: int) -> Any:
    rows, labels = rows_and_labels(600)
    return dd.from_pandas(as_table(rows, labels).to_pandas(), npartitions=n_partitions)


def array_of(chunks: tuple[int, int]) -> Any:
    return da.from_array(rows_and_labels(600)[0].astype(np.float32), chunks=chunks)


@pytest.fixture
def synchronous() -> Any:
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.mark.usefixtures("synchronous")
@pytest.mark.parametrize(
    "pool",
    [
        lambda: DaskPool(frame_of(1)),
        lambda: DaskPool(frame_of(7)),
        lambda: DaskPool(array_of((600, 6))),
        lambda: DaskPool(array_of((111, 4))),
    ],
)
def test_the_draws_are_those_of_the_same_rows_in_files(pool: Any, tmp_path: Path) -> None:
    write_folder(tmp_path)
    on_disk, on_cluster = ParquetPool(tmp_path), pool()
    for request in REQUESTS:
        one, two = on_disk.draw(request), on_cluster.draw(request)
        assert np.array_equal(one.ids, two.ids)
        assert np.array_equal(one.X, two.X)
        assert one.n_drawn == two.n_drawn


@pytest.mark.usefixtures("synchronous")
def test_a_learner_finds_the_same_bits(tmp_path: Path) -> None:
    write_folder(tmp_path)
    asked = {"sparsity": 2, "noise_rate": 0.0, "label_budget": 60, "random_state": 0}

    def answer(_ids: Any, X: Any) -> Any:
        return np.where(X[:, 1] - X[:, 4] > 0, 1, -1)

    one, two = (
        ActiveLearner(pool, **asked).learn_from(answer)
        for pool in (ParquetPool(tmp_path), DaskPool(dd.read_parquet(tmp_path)))
    )
    assert np.array_equal(one.halfspace_, two.halfspace_)


@pytest.mark.usefixtures("synchronous")
def test_labels_and_rows_come_by_their_ids() -> None:
    rows, labels = rows_and_labels(600)
    pool, ids = DaskPool(frame_of(7)), [599, 3, 311]
    assert pool.feature_names == NAMES
    assert pool.cells("answer", ids).tolist() == labels[ids].tolist()
    assert np.array_equal(pool.take(ids), rows[ids])


@pytest.mark.usefixtures("synchronous")
def test_a_partition_that_fails_once_costs_time_only() -> None:
    calls = []

    def fragile(part: Any) -> Any:
        calls.append(1)
        if len(calls) == 12:
            raise ConnectionError("the worker is gone")
        return part

    meta = frame_of(3)._meta
    pool = DaskPool(frame_of(3).map_partitions(fragile, meta=meta))
    expected = DaskPool(frame_of(3))
    for request in REQUESTS * 2:
        assert np.array_equal(pool.draw(request).X, expected.draw(request).X)
    assert len(calls) > 12


@pytest.mark.usefixtures("synchronous")
def test_a_partition_that_always_fails_is_named() -> None:
    def broken(part: Any, partition_info: Any = None) -> Any:
        if broken.is_on and partition_info and partition_info["number"] == 1:
            raise ConnectionError("the disk of the worker is gone")
        return part

    broken.is_on = False
    meta = frame_of(3)._meta
    pool = DaskPool(frame_of(3).map_partitions(broken, meta=meta))
    broken.is_on = True
    with pytest.raises(UnreadablePart, match=r"partition 1.*the disk of the worker is gone"):
        pool.draw(REQUESTS[1])


@pytest.mark.usefixtures("synchronous")
def test_a_partition_of_another_length_is_named() -> None:
    sizes = [30]

    def shrinking(part: Any) -> Any:
        return part.iloc[: sizes[0]]

    meta = frame_of(3)._meta
    pool = DaskPool(frame_of(3).map_partitions(shrinking, meta=meta))
    sizes[0] = 20
    with pytest.raises(UnreadablePart, match=r"partition 0.*it has 20 rows, but had 30 before"):
        pool.draw(REQUESTS[1])


@pytest.mark.usefixtures("synchronous")
def test_missing_values_are_refused() -> None:
    frame = pd.DataFrame({"a": [1.0, np.nan, 2.0], "b": [1, 2, 3]})
    pool = DaskPool(dd.from_pandas(frame, npartitions=1))
    with pytest.raises(UnreadablePart, match="missing values or NaN in column 'a'"):
        pool.take([0])


@pytest.mark.parametrize("table", [np.eye(3), [[1.0]], "folder", da.ones(3)])
def test_anything_else_is_refused(table: Any) -> None:
    with pytest.raises(TypeError, match="Dask"):
        DaskPool(table)
