"""Reading takes little more memory than the table itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

N_ROWS, N_FEATURES = 30_000, 200
TABLE_MB = 8 * N_ROWS * N_FEATURES / 1e6  # 48 MB, of a CSV file of 110 MB
MARGIN_MB = 110  # blocks that are parsed ahead, as text and as numbers, whatever the file's size

# In a process of its own, whose highest memory is then that of reading; small files come first, so
# that libraries are loaded before it is looked at.
PROGRAM = """
import resource, sys
from thresher.table_files import read_table
read_table(sys.argv[1])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
table = read_table(sys.argv[2])
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1e3)
"""


def make(path: Path, n_rows: int) -> None:
    rng = np.random.default_rng(0)
    columns = {f"c{i}": rng.standard_normal(n_rows) for i in range(N_FEATURES)}
    table = pa.table({**columns, "y": np.arange(n_rows) % 2})
    if path.suffix == ".csv":
        pa.csv.write_csv(table, path)
    else:
        pa.parquet.write_table(table, path, row_group_size=10_000)


@pytest.mark.parametrize("suffix", [pytest.param(".csv", marks=pytest.mark.slow), ".parquet"])
def test_reading_takes_little_more_than_the_table(tmp_path: Path, suffix: str) -> None:
    small, large = tmp_path / f"small{suffix}", tmp_path / f"large{suffix}"
    make(small, 10)
    make(large, N_ROWS)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(small), str(large)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert float(done.stdout) < TABLE_MB + MARGIN_MB
