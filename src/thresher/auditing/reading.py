"""Files are read with a bar that says how far reading has come."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from thresher.rendering.progress import progress
from thresher.table_files import LabeledTable, read_table
from thresher.validation import is_sparse

MEGABYTE = 10**6


def read_with_progress(path: Path, **request: Any) -> LabeledTable:
    """The table in a file, see `read_table`; large files are told of in megabytes."""
    n_bytes = path.stat().st_size if path.is_file() else 0
    with progress("MB read", max(1, n_bytes // MEGABYTE)) as move:
        return read_table(path, progress=lambda done, _: move(done // MEGABYTE), **request)


def numbering_columns(table: LabeledTable) -> list[str]:
    """The columns of a dense table that only count its rows.

    They are no features, most likely, and where rows are in some order they tell more than they
    should.

    Examples
    --------
    >>> X = np.array([[5.0, 1.0], [6.0, 1.0], [7.0, 2.0]])
    >>> numbering_columns(LabeledTable(X, None, ["id", "x"], np.arange(3), None))
    ['id']
    """
    if is_sparse(table.X) or table.n_rows < 3:
        return []
    return [
        name
        for name, column in zip(table.feature_names, table.X.T)
        if column[1] - column[0] == 1 and (np.diff(column) == 1).all()
    ]
