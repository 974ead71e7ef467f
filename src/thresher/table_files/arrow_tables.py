"""Files that pyarrow reads in batches: one pass looks at every cell, one fills the table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from thresher.errors import UnreadableTable
from thresher.memory import require_memory
from thresher.table_files.arrow_columns import as_texts, look_at, plain
from thresher.table_files.arrow_library import arrow, own_errors
from thresher.table_files.features import Feature, all_features, wanted_features
from thresher.table_files.finite import refuse_bad_numbers
from thresher.table_files.labels import ids_of, labels_of, refuse_other_than_two
from thresher.table_files.roles import Roles, assign_roles
from thresher.table_files.survey import (
    ColumnSummary,
    Kind,
    refuse_other_kinds,
    refuse_what_is_missing,
)
from thresher.table_files.table import LabeledTable, TableRequest
from thresher.validation import FloatArray

Tick = Callable[[int], None]


class BatchFile(Protocol):
    """A file whose columns can be read in batches, as often as wanted."""

    path: Path
    names: list[str]
    n_bytes: int

    def batches(self, columns: Sequence[str]) -> Iterator[tuple[Any, int]]:
        """Record batches of these columns, each with the number of bytes read by then."""

    def place(self, row: int) -> str:
        """Where a row, counted from 1, stands in the file."""


def read_batch_file(file: BatchFile, request: TableRequest) -> LabeledTable:
    """The table in a file of batches."""
    path = file.path
    roles = assign_roles(path, file.names, request)
    features = None
    if request.features is not None:
        known = [name for name in file.names if name != roles.label]
        features = wanted_features(path, request.features, known, one_hot=request.one_hot)
    columns = [f.column for f in features] if features else list(roles.others)
    survey = _Survey(list(dict.fromkeys(columns)), roles, collect=request.one_hot)
    survey.run(file, lambda n: request.tell_progress(n // 2, file.n_bytes))
    y, ids = survey.labels(file, roles, request), survey.ids(file, roles)
    encoded = {f.column for f in features or () if f.value is not None}
    columns_as_they_are = [
        column
        for column in survey.columns.values()
        if column.name not in encoded or column.kind is Kind.OTHER
    ]
    text_allowed = request.one_hot and features is None
    refuse_other_kinds(path, columns_as_they_are, file.place, text_allowed=text_allowed)
    refuse_what_is_missing(path, survey.columns.values(), file.place)
    if features is None:
        features = all_features(path, list(survey.columns.values()), one_hot=request.one_hot)
    n_rows, half = survey.n_rows, file.n_bytes // 2
    X = _fill(file, features, n_rows, lambda n: request.tell_progress(half + n // 2, file.n_bytes))
    names = [feature.name for feature in features]
    refuse_bad_numbers(path, X, names, file.place)
    request.tell_progress(file.n_bytes, file.n_bytes)
    arrow().default_memory_pool().release_unused()  # which it would keep for later files
    return LabeledTable(X, y, names, ids, roles.label)


class _Survey:
    """The first pass: what the columns hold, how many rows there are, labels and ids."""

    def __init__(self, columns: list[str], roles: Roles, *, collect: bool) -> None:
        self.columns = {name: ColumnSummary(name, collect=collect) for name in columns}
        self.kept: dict[str, list[Any]] = {
            name: [] for name in (roles.label, roles.id_column) if name is not None
        }
        self.n_rows = 0

    def run(self, file: BatchFile, tick: Tick) -> None:
        """Read the file once."""
        for batch, n_bytes in file.batches(list(dict.fromkeys([*self.columns, *self.kept]))):
            for name, summary in self.columns.items():
                summary.add(batch.column(name), first_row=self.n_rows + 1)
            for name, chunks in self.kept.items():
                chunks.append(plain(batch.column(name)))
            self.n_rows += batch.num_rows
            tick(n_bytes)
        if self.n_rows == 0:
            raise UnreadableTable(
                file.path, "has columns but no rows", advice="check how it was written"
            )

    def labels(self, file: BatchFile, roles: Roles, request: TableRequest) -> Any:
        """The labels, if there are any to read."""
        if roles.label is None:
            return None
        column = self._joined(file, roles.label)
        y = labels_of(file.path, roles.label, column, file.place)
        for_learning = request.features is None
        refuse_other_than_two(file.path, y, roles.label, for_learning=for_learning)
        return y

    def ids(self, file: BatchFile, roles: Roles) -> Any:
        """The ids: a column of the file, or row numbers."""
        if roles.id_column is None:
            return np.arange(1, self.n_rows + 1)
        column = self._joined(file, roles.id_column)
        return ids_of(file.path, roles.id_column, column, file.place)

    def _joined(self, file: BatchFile, name: str) -> Any:
        with own_errors(file.path):
            return arrow().concat_arrays(self.kept[name])


def _fill(file: BatchFile, features: list[Feature], n_rows: int, tick: Tick) -> FloatArray:
    """The second pass: the table itself, which is the only large array."""
    shape = (n_rows, len(features))
    require_memory(8 * n_rows * len(features), f"a table of {shape[0]:,} × {shape[1]:,} numbers")
    X = np.empty(shape)
    start = 0
    for batch, n_bytes in file.batches(list(dict.fromkeys(f.column for f in features))):
        stop = start + batch.num_rows
        if stop > n_rows:
            raise _changed(file.path)
        X[start:stop] = _block(file.path, batch, features).T
        start = stop
        tick(n_bytes)
    if start < n_rows:
        raise _changed(file.path)
    return X


def _block(path: Path, batch: Any, features: list[Feature]) -> FloatArray:
    """The features of a batch, one in each row."""
    pc = arrow("compute")
    block = np.empty((len(features), batch.num_rows))
    texts: dict[str, Any] = {}
    for row, feature in zip(block, features):
        if feature.value is None:
            numbers = look_at(batch.column(feature.column)).numbers
            if numbers is None:
                raise _changed(path)
            row[:] = numbers
        else:
            if feature.column not in texts:
                texts[feature.column] = as_texts(plain(batch.column(feature.column)))
            same = pc.equal(texts[feature.column], feature.value)
            row[:] = same.fill_null(False).to_numpy(zero_copy_only=False)
    return block


def _changed(path: Path) -> UnreadableTable:
    return UnreadableTable(path, "changed while it was read", advice="read it again")
