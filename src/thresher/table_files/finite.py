"""Numbers that cannot be worked with: missing, infinite, too large."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.errors import UnreadableTable
from thresher.table_files.survey import Place, missing_values
from thresher.table_files.wording import count, some
from thresher.validation import FloatArray, Rows, is_sparse, sum_of_squares

LARGEST = 1e100  # what solvers can square and add up
AT_ONCE = 2**20  # entries that are looked at together

Test = Callable[[FloatArray], NDArray[Any]]


def refuse_bad_numbers(path: Path, X: Rows, names: Sequence[str], place: Place) -> None:
    """Raise `UnreadableTable` if an entry is NaN, infinite or too large.

    Examples
    --------
    >>> refuse_bad_numbers(Path("t.npz"), np.array([[1.0, np.inf]]), ["a", "b"], "row {}".format)
    Traceback (most recent call last):
    thresher.errors.UnreadableTable: t.npz has infinite numbers in 1 column: 'b' (1); the first ...
    """
    if all(sum_of_squares(values) < LARGEST for _, _, values in _pieces(X)):
        return
    told, first = _found(X, names, place, np.isnan)
    if told:
        raise missing_values(path, told, first, n_columns=len(told))
    told, first = _found(X, names, place, np.isinf)
    if told:
        raise UnreadableTable(
            path,
            f"has infinite numbers in {count(len(told), 'column')}: {some(told, limit=10)}; the "
            f"first is in column {first}",
            advice="replace them, or drop those rows or columns",
        )
    told, first = _found(X, names, place, lambda values: np.abs(values) > LARGEST)
    if told:
        raise UnreadableTable(
            path,
            f"has numbers beyond {LARGEST:g} in {count(len(told), 'column')}: "
            f"{some(told, limit=10)}; the first is in column {first}",
            advice="correct them, or measure in larger units",
        )


def _pieces(X: Rows) -> Iterator[tuple[int, int, FloatArray]]:
    """Some entries at a time: from which row on (or entry, if sparse), to which, and the values."""
    entries = X.data if is_sparse(X) else X
    step = max(1, AT_ONCE // (1 if is_sparse(X) else X.shape[1]))
    for start in range(0, len(entries), step):
        yield start, start + step, entries[start : start + step]


def _found(X: Rows, names: Sequence[str], place: Place, test: Test) -> tuple[list[str], str]:
    """The columns with entries that fail, most first, with counts; and where the first one is."""
    counts = np.zeros(len(names), dtype=np.int64)
    first = ""
    for start, stop, values in _pieces(X):
        bad = np.argwhere(test(values))
        if not bad.size:
            continue
        if is_sparse(X):
            columns = X.indices[start:stop][bad[:, 0]]
            row = int(np.searchsorted(X.indptr, start + bad[0, 0], side="right"))
        else:
            columns, row = bad[:, 1], start + int(bad[0, 0]) + 1
        counts += np.bincount(columns, minlength=len(names))
        first = first or f"{names[columns[0]]!r}, {place(row)}"
    worst = [int(i) for i in np.argsort(-counts, kind="stable") if counts[i]]
    return [f"{names[i]!r} ({counts[i]:,})" for i in worst], first
