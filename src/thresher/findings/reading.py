"""Files are read with a bar that says how far reading has come."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from thresher.progress import progress
from thresher.table_files import LabeledTable, read_table

MEGABYTE = 10**6


def read_with_progress(path: Path, **request: Any) -> LabeledTable:
    """The table in a file, see `read_table`; large files are told of in megabytes."""
    n_bytes = path.stat().st_size if path.is_file() else 0
    with progress("MB read", max(1, n_bytes // MEGABYTE)) as move:
        return read_table(path, progress=lambda done, _: move(done // MEGABYTE), **request)
