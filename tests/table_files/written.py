"""One table, written in every format."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as parquet
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file

NAMES = ["1", "2", "3"]  # svmlight has no other names
X = np.array([[0.5, 0.0, -3.0], [0.1, 2e-300, 1e17], [0.0, 1 / 3, 7.0], [-0.25, 0.0, 1.0]])
Y = np.array([1, -1, -1, 1])


def lines(path: Path, delimiter: str) -> None:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "wt", newline="", encoding="utf-8") as file:  # type: ignore[operator]
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow([*NAMES, "label"])
        writer.writerows([*map(float, row), int(label)] for row, label in zip(X, Y))


def arrow_table() -> pa.Table:
    return pa.table({**dict(zip(NAMES, X.T)), "label": Y})


def stream(path: Path) -> None:
    table = arrow_table()
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=3)


def csr_parts(rows: Any = X) -> dict[str, Any]:
    csr = sp.csr_array(rows)
    parts = {"X_data": csr.data, "X_indices": csr.indices, "X_indptr": csr.indptr}
    return {**parts, "X_shape": np.array(csr.shape)}


WRITERS: dict[str, Callable[[Path], object]] = {
    "t.csv": lambda path: lines(path, ","),
    "T.CSV": lambda path: lines(path, ","),
    "t.csv.gz": lambda path: lines(path, ","),
    "t.tsv": lambda path: lines(path, "\t"),
    "t.tsv.gz": lambda path: lines(path, "\t"),
    "t.parquet": lambda path: parquet.write_table(arrow_table(), path, row_group_size=3),
    "t.feather": lambda path: feather.write_feather(arrow_table(), str(path), chunksize=3),
    "t.arrow": stream,
    "t.svm": lambda path: dump_svmlight_file(X, Y, str(path), zero_based=False),
    "t.svmlight": lambda path: dump_svmlight_file(X, Y, str(path), zero_based=False),
    "t.libsvm": lambda path: dump_svmlight_file(X, Y, str(path), zero_based=False),
    "t.npz": lambda path: np.savez(path, X=X, y=Y, feature_names=NAMES),
    "csr.npz": lambda path: np.savez(path, y=Y, feature_names=NAMES, **csr_parts()),
}
