"""svmlight (LIBSVM) files: a label, then `index:value` for every entry that is not zero."""

import itertools
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from thresher.memory import require_memory
from thresher.table_files.columns import refuse_other_label
from thresher.table_files.table import (
    LabeledTable,
    Refusal,
    TableRequest,
    pick_columns,
    refuse_bad_numbers,
    refuse_other_than_two,
    refuse_width,
    tidy_csr,
)
from thresher.validation import FloatArray, Rows
from thresher.wording import one_line, quoted

LABEL = "label"
BYTES_PER_ENTRY, BYTES_PER_ROW = 40, 45  # with the copies that scikit-learn makes, as measured
_NUMBER = rb"[+-]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|(?i:inf|infinity|nan))"
_LINE = re.compile(rb"\s*" + _NUMBER + rb"(?:\s+qid:\d+)?(?:\s+\d{1,9}:" + _NUMBER + rb")*\s*")
_INDEX = re.compile(rb"\s(\d+):")


def read_svmlight(path: Path, request: TableRequest) -> LabeledTable:
    """The table in an svmlight file, as CSR; features are named by their indices in the file.

    An index that the file never mentions is a feature that is always zero. With `features`, only
    these are taken, and what is not mentioned is zero: the format leaves zeros out.
    """
    refuse_other_label(request, LABEL)
    if request.id_column is not None:
        raise Refusal(
            f"has no id column {quoted([request.id_column])}",
            advice="svmlight files have no ids; without an id column, rows are numbered",
        )
    _require_memory_for(path)
    rows, labels = _load(path)
    X, names = _features(rows, request)
    find_place = partial(_place, path)
    refuse_bad_numbers(X, names, find_place, keeps_missing=request.keeps_missing)
    ids = np.arange(X.shape[0])
    if not request.requires_labels:
        return LabeledTable(X, None, names, ids, None)
    if not np.isfinite(labels).all():
        place = _place(path, int(np.flatnonzero(~np.isfinite(labels))[0]))
        raise Refusal(f"has a label that is not a finite number in {place}", advice="correct it")
    are_integers = (np.abs(labels) < 2**53).all() and np.array_equal(labels, np.trunc(labels))
    y = labels.astype(np.int64) if are_integers else labels
    refuse_other_than_two(y, LABEL, request)
    return LabeledTable(X, y, names, ids, LABEL)


def _require_memory_for(path: Path) -> None:
    n_entries, n_rows = 0, 1
    with path.open("rb") as file:
        while block := file.read(2**22):
            n_entries += block.count(b":")
            n_rows += block.count(b"\n")
    n_bytes = BYTES_PER_ENTRY * n_entries + BYTES_PER_ROW * n_rows
    require_memory(n_bytes, f"{path.name} with {n_entries:,} entries")


def _load(path: Path) -> tuple[Rows, FloatArray]:
    from sklearn.datasets import load_svmlight_file  # slow to import

    try:
        # Indices as they are: which one comes first would otherwise depend on the file.
        rows, labels = load_svmlight_file(str(path), zero_based=True)
    except (ValueError, OverflowError, OSError, IndexError) as error:
        raise _damage(path, error) from error
    if not rows.shape[0]:
        raise Refusal("has no rows", advice="check how it was written")
    refuse_width(rows.shape[1])
    return rows, labels


def _features(rows: Rows, request: TableRequest) -> tuple[Rows, list[str]]:
    """The requested columns, or all, with their names."""
    if request.features is not None:
        chosen = [_index(name, rows.shape[1]) for name in request.features]
        return pick_columns(rows, chosen), list(request.features)
    first = int(not (rows.indices == 0).any())  # indices count from one or from zero
    return tidy_csr(rows[:, first:]), [str(index) for index in range(first, rows.shape[1])]


def _index(name: str, n_known: int) -> int:
    """The column of a feature; -1 if the file never mentions it."""
    if not (name.isascii() and name.isdigit()):
        raise Refusal(
            f"has no feature {quoted([name])}",
            advice="svmlight features are numbered: use a format with column names",
        )
    return int(name) if int(name) < n_known else -1


def _contents(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines that are rows, without comments, and their numbers."""
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            content = line.partition(b"#")[0].strip()
            if content:
                yield number, content


def _place(path: Path, row: int) -> str:
    line, _ = next(itertools.islice(_contents(path), row, None))
    return f"row {row:,} (line {line:,})"


def _damage(path: Path, error: Exception) -> Refusal:
    """What is wrong with the file, and where, which scikit-learn's parser does not say."""
    problem = one_line(error, 150)
    for number, content in _contents(path):
        indices = [int(index) for index in _INDEX.findall(content)]
        ascending = all(first < second for first, second in itertools.pairwise(indices))
        if not _LINE.fullmatch(content) or not ascending:
            problem = f"line {number:,} is {one_line(content.decode(errors='replace'))!r}"
            break
    return Refusal(
        f"is not a valid svmlight file: {problem}",
        advice="write a label and index:value pairs in ascending order, as in -1 3:0.5 7:2",
    )
