"""Whatever holds rows becomes a source, and everything else a clear error."""

import ast
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import thresher.oracles
from runs import RecordingPool
from thresher.geometry import Band
from thresher.oracles import (
    ArrayPool,
    DrawRequest,
    StreamPool,
    as_instance_source,
    reveal_labels,
)

TABLE = np.arange(12.0).reshape(4, 3)


@pytest.mark.parametrize(
    "pool", [TABLE, TABLE.tolist(), tuple(TABLE), sp.csr_array(TABLE), sp.coo_matrix(TABLE)]
)
def test_tables_become_array_pools(pool):
    assert isinstance(as_instance_source(pool), ArrayPool)


def test_data_frames_become_array_pools():
    pandas = pytest.importorskip("pandas")
    assert isinstance(as_instance_source(pandas.DataFrame(TABLE)), ArrayPool)


@pytest.mark.parametrize("pool", [iter(TABLE), (row for row in TABLE), map(list, TABLE)])
def test_iterators_become_streams(pool):
    assert isinstance(as_instance_source(pool), StreamPool)


@pytest.mark.parametrize(
    "source", [ArrayPool(TABLE), StreamPool(iter(TABLE)), RecordingPool(ArrayPool(TABLE))]
)
def test_sources_are_passed_through(source):
    assert as_instance_source(source) is source


def test_the_seed_reaches_the_pool():
    request = DrawRequest(n_rows=4, band=Band(normal=np.zeros(3), width=np.inf))
    ids = [as_instance_source(TABLE, random_state=8).draw(request).ids for _ in range(2)]
    assert np.array_equal(*ids)


@pytest.mark.parametrize("pool", [None, 3, "rows", b"rows", {"a": 1}, {1, 2}, ArrayPool, object()])
def test_everything_else_is_refused_with_what_is_accepted(pool):
    with pytest.raises(TypeError, match="pool must be an array, a sparse matrix, a data frame"):
        as_instance_source(pool)


def test_both_kinds_of_label_source_answer():
    class Answers:
        def reveal(self, ids):
            return -np.ones(len(ids))

    assert reveal_labels(Answers(), [1, 2], TABLE[:2]).tolist() == [-1.0, -1.0]
    assert reveal_labels(lambda _ids, _X: [1, -1], [1, 2], TABLE[:2]).tolist() == [1.0, -1.0]


def test_a_label_source_that_is_neither_is_refused():
    with pytest.raises(TypeError, match="label_source"):
        reveal_labels([1.0, -1.0], [0, 1], TABLE[:2])


def test_the_seam_imports_neither_the_learner_nor_the_laboratory():
    folder = Path(thresher.oracles.__file__).parent
    imported = {
        node.module
        for file in folder.glob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module
    }
    names = ("oracles", "geometry", "validation", "errors", "arrays")
    allowed = tuple(f"thresher.{name}" for name in names)
    ours = {module for module in imported if module.startswith("thresher")}
    assert all(module.startswith(allowed) for module in ours)
