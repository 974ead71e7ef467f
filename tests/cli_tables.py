"""A small poisoned table, and how it is written, for the tests of the verbs that take files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as parquet
from numpy.typing import NDArray
from sklearn.datasets import dump_svmlight_file

N_CLEAN, N_PLANTED, N_FEATURES = 400, 40, 8
NAMES = [f"f{j}" for j in range(N_FEATURES)]


@dataclass(frozen=True)
class Poisoned:
    """Rows, labels `yes` and `no`, and which rows are planted."""

    X: NDArray[Any]
    y: NDArray[Any]
    is_planted: NDArray[np.bool_]

    def columns(self) -> dict[str, Any]:
        ids = [f"r{i}" for i in range(len(self.y))]
        return {"id": ids, **dict(zip(NAMES, self.X.T)), "answer": self.y}


def poisoned(seed: int = 0) -> Poisoned:
    """Feature 0 less feature 1 decides; planted rows say the opposite, far out."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N_CLEAN + N_PLANTED, N_FEATURES))
    y = np.where(X[:, 0] - X[:, 1] > 0, "yes", "no")
    is_planted = np.zeros(len(y), dtype=bool)
    is_planted[rng.permutation(len(y))[:N_PLANTED]] = True
    X[is_planted, :2] = np.array([3.0, -3.0]) + 0.1 * rng.standard_normal((N_PLANTED, 2))
    y[is_planted] = "no"
    return Poisoned(X, y, is_planted)


def write(table: Poisoned, path: Path) -> Path:
    """The table in the format that the name ends in; svmlight and NPZ have no ids."""
    columns = table.columns()
    match path.suffix:
        case ".csv" | ".tsv":
            delimiter = "," if path.suffix == ".csv" else "\t"
            lines = [columns.keys(), *zip(*columns.values())]
            path.write_text("\n".join(delimiter.join(map(str, line)) for line in lines) + "\n")
        case ".parquet":
            parquet.write_table(pa.table(columns), path)
        case ".feather":
            feather.write_feather(pa.table(columns), str(path))
        case ".svm":
            dump_svmlight_file(table.X, table.y == "yes", str(path), zero_based=False)
        case _:
            np.savez(path, X=table.X, y=table.y, feature_names=NAMES)
    return path
