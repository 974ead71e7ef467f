"""Labels and ids as they are in the file: integers, other numbers, or strings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.errors import UnreadableTable
from thresher.memory import require_memory
from thresher.table_files.arrow_columns import as_texts, is_number, is_text, plain
from thresher.table_files.arrow_library import arrow
from thresher.table_files.survey import Place
from thresher.table_files.wording import count, quoted, shortened, some

INTEGER = r"^([+-]?[1-9][0-9]{0,17}|[+-]?0)$"
PADDED = r"^[+-]?0[0-9]"  # 007 is a name, not the number 7


def labels_of(path: Path, name: str, column: Any, place: Place) -> NDArray[Any]:
    """The labels in a column; none may be missing.

    Examples
    --------
    >>> import pyarrow
    >>> labels_of(Path("t.csv"), "y", pyarrow.array(["+1", "-1"]), str)
    array([ 1, -1])
    >>> labels_of(Path("t.csv"), "y", pyarrow.array(["yes", None]), "line {}".format)
    Traceback (most recent call last):
    thresher.errors.UnreadableTable: t.csv has no label (column 'y') in 1 row, the first ...
    """
    column = plain(column)
    labels = _numbers(column)
    _refuse_missing(path, f"label (column {name!r})", _is_missing(labels, column), place)
    if labels is None:
        return _strings(path, name, column)
    if not np.isfinite(labels).all():
        row = int(np.flatnonzero(~np.isfinite(labels))[0]) + 1
        raise UnreadableTable(
            path, f"has an infinite label in {place(row)}", advice=f"correct column {name!r}"
        )
    return labels


def ids_of(path: Path, name: str, column: Any, place: Place) -> NDArray[Any]:
    """The ids in a column: integers if all are, else strings; none may be missing."""
    column = plain(column)
    ids = _integers(column)
    _refuse_missing(path, f"id (column {name!r})", _is_missing(ids, column), place)
    return _strings(path, name, column) if ids is None else ids


def refuse_other_than_two(
    path: Path, labels: NDArray[Any], name: str, *, for_learning: bool
) -> None:
    """Raise `UnreadableTable` if the labels are not two; outside of learning one is enough."""
    values, counts = np.unique(labels, return_counts=True)
    if len(values) == 2 or (len(values) == 1 and not for_learning):
        return
    order = np.argsort(-counts, kind="stable")
    told = [f"{shortened(str(values[i]))} ({counts[i]:,})" for i in order]
    raise UnreadableTable(
        path,
        f"has {count(len(values), 'different label')} in column {name!r}: {some(told, limit=5)}",
        advice="two are needed: merge or drop some, or name another column with --label",
    )


def _is_missing(numbers: NDArray[Any] | None, column: Any) -> NDArray[Any]:
    if numbers is not None:
        return np.isnan(numbers)
    cells = as_texts(column) if is_text(column) else column
    return np.asarray(cells.is_null().to_numpy(zero_copy_only=False), dtype=bool)


def _refuse_missing(path: Path, what: str, missing: NDArray[Any], place: Place) -> None:
    if missing.any():
        raise UnreadableTable(
            path,
            f"has no {what} in {count(int(missing.sum()), 'row')}, the first of them "
            f"{place(int(missing.argmax()) + 1)}",
            advice="fill them in or drop those rows",
        )


def _numbers(column: Any) -> NDArray[Any] | None:
    """Integers or floats, NaN for what is missing; None if something is no number."""
    pa, pc = arrow(), arrow("compute")
    integers = _integers(column)
    if integers is not None:
        return integers
    if is_text(column):
        column = as_texts(column)
        if column.null_count == len(column):
            return None
        if pc.any(pc.match_substring_regex(column, PADDED)).as_py():
            return None
    elif not is_number(column.type):
        return None
    try:
        floats = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        return None
    return np.array(floats, dtype=np.float64)


def _integers(column: Any) -> NDArray[Any] | None:
    pa, pc = arrow(), arrow("compute")
    if is_text(column):
        column = as_texts(column)
        if column.null_count or not pc.all(pc.match_substring_regex(column, INTEGER)).as_py():
            return None
        column = pc.utf8_ltrim(column, characters="+")
    elif column.null_count or not pa.types.is_integer(column.type):
        return None
    try:
        return np.array(column.cast(pa.int64()).to_numpy(zero_copy_only=False))
    except pa.ArrowInvalid:  # beyond 2⁶³
        return None


def _strings(path: Path, name: str, column: Any) -> NDArray[Any]:
    pa, pc = arrow(), arrow("compute")
    try:
        texts = as_texts(column)
    except pa.ArrowException as error:
        raise UnreadableTable(
            path,
            f"has {column.type} in column {quoted([name])}",
            advice="labels and ids must be numbers or text",
        ) from error
    longest = int(pc.max(pc.utf8_length(texts)).as_py() or 1)
    require_memory(4 * longest * len(texts), f"the column {name!r}")
    return np.array(texts.to_pylist(), dtype=np.str_)
