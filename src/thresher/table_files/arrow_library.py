"""pyarrow, which is an extra, and its errors in our words."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from thresher.errors import ThresherError, UnreadableTable
from thresher.table_files.wording import shortened


@functools.cache  # it is asked for with every piece of a column
def arrow(part: str = "") -> Any:
    """The library, or a part of it, or an error that says how to install it.

    Examples
    --------
    >>> arrow("csv").__name__
    'pyarrow.csv'
    """
    try:
        return importlib.import_module(f"pyarrow.{part}" if part else "pyarrow")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "pyarrow":
            raise
        raise ThresherError(
            "CSV, Parquet and Arrow files need pyarrow; install it with: "
            'pip install "thresher[files]"'
        ) from error


@contextmanager
def own_errors(
    path: Path, explain: Callable[[str], UnreadableTable | None] | None = None
) -> Iterator[None]:
    """Errors of pyarrow become ours, with the explanation there is for them."""
    pa = arrow()
    try:
        yield
    except ThresherError:
        raise
    except (pa.ArrowException, OSError, UnicodeError, MemoryError, OverflowError) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        explained = explain(reason) if explain is not None else None
        raise explained or UnreadableTable(
            path,
            f"is damaged, cut off or of another format than its name says "
            f"({shortened(reason, 200)})",
            advice="write or copy it again",
        ) from error
