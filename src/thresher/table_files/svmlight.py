"""svmlight (LIBSVM) files: a label, then `number:value` for every entry that is not zero."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from thresher.errors import UnreadableTable
from thresher.memory import require_memory
from thresher.table_files.finite import refuse_bad_numbers
from thresher.table_files.labels import refuse_other_than_two
from thresher.table_files.numbered import (
    pick_columns,
    refuse_other_label,
    refuse_width,
    tidy_csr,
    whole_numbers,
)
from thresher.table_files.table import LabeledTable, TableRequest
from thresher.table_files.wording import quoted, shortened
from thresher.validation import FloatArray, Rows

LABEL = "label"
_NUMBER = rb"[+-]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|(?i:inf|infinity|nan))"
_LINE = re.compile(rb"\s*" + _NUMBER + rb"(?:\s+qid:\d+)?(?:\s+\d{1,9}:" + _NUMBER + rb")*\s*")
_INDEX = re.compile(rb"\s(\d+):")


def read_svmlight(path: Path, request: TableRequest) -> LabeledTable:
    """The table in an svmlight file, as CSR; features are called by their numbers in the file.

    A number that the file never mentions is a feature that is always zero. With `features`, only
    these are taken, and what is not mentioned is zero: the format leaves zeros out.
    """
    refuse_other_label(path, request, LABEL)
    if request.id_column is not None:
        raise UnreadableTable(
            path,
            f"has no id column {quoted([request.id_column])}",
            advice="svmlight files have none: name no id column, and rows are numbered",
        )
    require_memory(2 * path.stat().st_size, "the entries of an svmlight file")
    rows, labels = _load(path)
    request.tell_progress(path.stat().st_size, path.stat().st_size)
    refuse_width(path, rows.shape[1])
    if request.features is not None:
        names = list(request.features)
        rows = pick_columns(rows, [_number(path, name, rows.shape[1]) for name in names])
    else:
        counts_from_one = not (rows.indices == 0).any()
        names = [str(number) for number in range(int(counts_from_one), rows.shape[1])]
        rows = rows[:, 1:] if counts_from_one else rows
    X = tidy_csr(rows)
    refuse_bad_numbers(path, X, names, lambda row: f"line {_line_of_row(path, row):,}")
    ids = np.arange(1, X.shape[0] + 1)
    if not request.with_labels:
        return LabeledTable(X, None, names, ids, None)
    y = whole_numbers(labels)
    if not np.isfinite(y).all():
        line = _line_of_row(path, int(np.flatnonzero(~np.isfinite(y))[0]) + 1)
        raise UnreadableTable(
            path, f"has no label that is a finite number in line {line:,}", advice="correct it"
        )
    refuse_other_than_two(path, y, LABEL, for_learning=request.features is None)
    return LabeledTable(X, y, names, ids, LABEL)


def _load(path: Path) -> tuple[Rows, FloatArray]:
    from sklearn.datasets import load_svmlight_file  # slow to import

    try:
        # Numbers as they are: which number comes first would otherwise depend on the file.
        rows, labels = load_svmlight_file(str(path), zero_based=True)
    except (ValueError, OverflowError, OSError, IndexError) as error:
        raise _damage(path, str(error)) from error
    if not rows.shape[0]:
        raise UnreadableTable(path, "has no rows", advice="check how it was written")
    return rows, labels


def _number(path: Path, name: str, n_known: int) -> int:
    """The column of a feature; -1 if the file never mentions it."""
    if not (name.isascii() and name.isdigit()):
        raise UnreadableTable(
            path,
            f"has no feature {quoted([name])}",
            advice="the features of an svmlight file are numbers: use a format with names",
        )
    return int(name) if int(name) < n_known else -1


def _contents(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines that are rows, without comments, and their numbers."""
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            content = line.partition(b"#")[0].strip()
            if content:
                yield number, content


def _line_of_row(path: Path, row: int) -> int:
    return next(itertools.islice(_contents(path), row - 1, None))[0]


def _damage(path: Path, reason: str) -> UnreadableTable:
    """What is wrong with the file, and where, which scikit-learn's parser does not say."""
    for number, content in _contents(path):
        if not _LINE.fullmatch(content) or not _grow(_INDEX.findall(content)):
            return UnreadableTable(
                path,
                f"is no svmlight file in line {number:,}: "
                f"{shortened(content.decode(errors='replace'))!r}",
                advice="a line is a label and number:value pairs that grow, such as -1 3:0.5 7:2",
            )
    return UnreadableTable(
        path,
        f"is no svmlight file ({shortened(' '.join(reason.split()), 150)})",
        advice="check how it was written",
    )


def _grow(numbers: list[bytes]) -> bool:
    values = [int(number) for number in numbers]
    return all(first < second for first, second in itertools.pairwise(values))
