"""Fits to a sample of a pool that does not fit into memory, and predictions for all of it."""

from pathlib import Path
from typing import Any

import dask
import dask.dataframe as dd
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from estimators.small import QUICK
from oracles.large.files import NAMES, as_table, rows_and_labels, write_folder
from thresher import HalfspaceClassifier, HalfspaceClassifierCV, TrustedClassifier
from thresher.oracles import DaskPool, ParquetPool

HOW: dict[str, Any] = {"final_fit": "hinge", "random_state": 0}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_folder(tmp_path / "pool")
    return tmp_path / "pool"


def test_a_small_pool_is_fitted_whole(folder: Path) -> None:
    rows, labels = rows_and_labels(600)
    model = HalfspaceClassifier(2, 0.02, **HOW).fit(ParquetPool(folder), "answer")
    plain = HalfspaceClassifier(2, 0.02, **HOW).fit(rows, labels)
    assert np.array_equal(model.coef_, plain.coef_)
    assert model.sample_ids_.tolist() == list(range(600))
    assert model.feature_names_in_.tolist() == NAMES


def test_a_large_pool_is_fitted_by_a_sample(folder: Path) -> None:
    rows, labels = rows_and_labels(600)
    pool = ParquetPool(folder, sample_rows=300)
    model = HalfspaceClassifier(2, 0.02, **HOW).fit(pool, "answer")
    plain = HalfspaceClassifier(2, 0.02, **HOW)
    plain.fit(rows[model.sample_ids_], labels[model.sample_ids_])
    assert np.array_equal(model.coef_, plain.coef_)
    assert model.row_weights_.size == model.sample_ids_.size == 300


def test_all_rows_of_a_pool_are_predicted(folder: Path) -> None:
    rows, labels = rows_and_labels(600)
    pool = ParquetPool(folder)
    model = HalfspaceClassifier(2, 0.02, **HOW).fit(rows, labels)
    model.feature_names_in_ = np.array(NAMES, dtype=object)
    frame = as_table(rows, labels).select(NAMES)
    assert np.allclose(model.decision_function(pool), model.decision_function(frame), atol=1e-12)
    assert model.predict(pool).tolist() == model.predict(frame).tolist()
    assert np.allclose(model.predict_proba(pool), model.predict_proba(frame), atol=1e-12)


@pytest.mark.filterwarnings("ignore:The inplace keyword")
def test_dask_gives_the_same_bits(folder: Path) -> None:
    with dask.config.set(scheduler="synchronous"):
        pools = (ParquetPool(folder), DaskPool(dd.read_parquet(folder, split_row_groups=2)))
        one, two = (HalfspaceClassifier(2, 0.02, **HOW).fit(pool, "answer") for pool in pools)
        assert np.array_equal(one.coef_, two.coef_)
        assert np.array_equal(one.decision_function(pools[0]), two.decision_function(pools[1]))


def test_other_classifiers_take_pools(folder: Path) -> None:
    pool = ParquetPool(folder)
    model = HalfspaceClassifierCV((1, 2), (0.02,), cv=2, **HOW).fit(pool, "answer")
    assert (model.predict(pool) == rows_and_labels(600)[1]).mean() > 0.95
    small = ParquetPool(folder, sample_rows=100)
    trusted = TrustedClassifier(random_state=0, schedule=QUICK).fit(small, "answer")
    assert trusted.row_weights_.size == 100


def test_a_numeric_label_column_is_not_a_feature(tmp_path: Path) -> None:
    rows, labels = rows_and_labels(200)
    table = as_table(rows, labels).set_column(6, "answer", pa.array((labels == "yes").astype(int)))
    pq.write_table(table, tmp_path / "a.parquet")
    pool = ParquetPool(tmp_path)
    assert "answer" in pool.feature_names
    model = HalfspaceClassifier(2, 0.02, **HOW).fit(pool, "answer")
    assert model.feature_names_in_.tolist() == NAMES


def test_a_pool_needs_the_name_of_its_label_column(folder: Path) -> None:
    with pytest.raises(TypeError, match="the name of the pool's label column"):
        HalfspaceClassifier().fit(ParquetPool(folder), rows_and_labels(600)[1])
    with pytest.raises(Exception, match="'nothing'"):
        HalfspaceClassifier().fit(ParquetPool(folder), "nothing")
