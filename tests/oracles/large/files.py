"""Tables in files, for tests of pools on disk."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
from numpy.typing import NDArray

N_FEATURES = 6
NAMES = [f"x{j}" for j in range(N_FEATURES)]


def rows_and_labels(n_rows: int, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.str_]]:
    """Normal rows, exact in single precision, labeled by two of their features."""
    rows = np.random.default_rng(seed).standard_normal((n_rows, N_FEATURES))
    rows = rows.astype(np.float32).astype(np.float64)
    return rows, np.where(rows[:, 1] - rows[:, 4] > 0, "yes", "no")


def as_table(rows: NDArray[np.float64], labels: Sequence[str] | NDArray[np.str_]) -> pa.Table:
    columns = [pa.array(column.astype(np.float32)) for column in rows.T]
    return pa.table([*columns, pa.array(list(labels))], names=[*NAMES, "answer"])


def write_folder(
    folder: Path,
    n_rows: int = 600,
    *,
    file_rows: int = 200,
    group_rows: int = 50,
    suffix: str = ".parquet",
) -> tuple[NDArray[np.float64], NDArray[np.str_]]:
    """Write rows to several files of several blocks; return them with their labels."""
    folder.mkdir(parents=True, exist_ok=True)
    rows, labels = rows_and_labels(n_rows)
    for number, start in enumerate(range(0, n_rows, file_rows)):
        part = as_table(rows, labels).slice(start, file_rows)
        path = folder / f"part-{number:03}{suffix}"
        if suffix == ".parquet":
            pq.write_table(part, path, row_group_size=group_rows)
        else:
            pyarrow.feather.write_feather(part, path, chunksize=group_rows)
    return rows, labels
