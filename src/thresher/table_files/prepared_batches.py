"""Files that pyarrow reads in batches, with columns of any kind: they become numbers."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.memory import require_memory
from thresher.preparation import Filled, LeftOut, RawColumn, RawNumbers, RawTexts, TablePreparation
from thresher.preparation.cells import LARGEST
from thresher.preparation.decisions import numbers_rows
from thresher.table_files.arrow_cells import (
    COPIES,
    Kind,
    arrow,
    as_texts,
    look_at,
    own_errors,
    plain,
)
from thresher.table_files.arrow_tables import BatchFile, Survey, changed, filled
from thresher.table_files.columns import (
    ColumnSummary,
    Feature,
    Roles,
    assign_roles,
    refuse_unusable,
    wanted_features,
)
from thresher.table_files.table import LabeledTable, Refusal, TableRequest
from thresher.validation import FloatArray, is_sparse
from thresher.wording import count, quoted, some

BYTES_PER_TEXT = 150  # of a distinct text in Python, besides its characters
NO_NAME = "(no name)"
COPIES_OF_SPARSE = 3
MANY_STRAYS = 10  # cells; of fewer, nobody can tell whether they are mistakes


def prepare_batches(
    kind: Callable[[Path, TableRequest], BatchFile],
    path: Path,
    request: TableRequest,
    preparation: TablePreparation | None,
) -> LabeledTable:
    """The table in a file of this kind, prepared as training was, or as suits it."""
    file = kind(path, request)
    with own_errors():
        table = _as_suits(file) if preparation is None else _as_training(file, preparation)
    arrow().default_memory_pool().release_unused()  # which it would keep for later files
    return table


def _as_suits(file: BatchFile) -> LabeledTable:
    """The table of numbers as it is if all are complete, else with what suits its columns."""
    names = [name for name in file.names if name]
    roles = assign_roles(names, file.request)
    survey = _survey(file, roles, roles.others)
    y, ids = survey.labels(), survey.ids()  # which may be refused
    if len(names) == len(file.names) and _holds_numbers(survey.columns):
        X = filled(file, [Feature(name, name) for name in roles.others], survey.n_rows)
        if _is_usable(X, roles.others):
            return LabeledTable(X, y, list(roles.others), ids, roles.label)
        del X  # before the columns are read once more
    raw = _raw_columns(file, survey)
    preparation = _preparation(file, survey, raw)
    rows = preparation.prepare(raw, file.place)
    names = preparation.feature_names
    return LabeledTable(rows.X, y, names, ids, roles.label, preparation, rows.filled)


def _as_training(file: BatchFile, preparation: TablePreparation) -> LabeledTable:
    names = [name for name in file.names if name]
    roles = assign_roles(names, file.request)
    used = preparation.used_columns
    wanted_features(used, [name for name in names if name != roles.label], one_hot=False)
    survey = _survey(file, roles, used)
    y, ids = survey.labels(), survey.ids()
    refuse_unusable([c for c in survey.columns if c.kind is Kind.OTHER], file.place)
    rows = preparation.prepare(_raw_columns(file, survey), file.place)
    _refuse_other_contents(rows.filled, survey.n_rows)
    names = preparation.feature_names
    known = (preparation, rows.filled, survey.remarks)
    return LabeledTable(rows.X, y, names, ids, roles.label, *known)


def _survey(file: BatchFile, roles: Roles, columns: Sequence[str]) -> Survey:
    return Survey(file, roles, [ColumnSummary(name) for name in columns], len(columns))


def prepare_numbers(table: LabeledTable, preparation: TablePreparation | None) -> LabeledTable:
    """A table of only numbers, dense or sparse, prepared as training was, or as suits it."""
    if preparation is None and not np.isnan(table.X.data if is_sparse(table.X) else table.X).any():
        return table
    if is_sparse(table.X):
        n_bytes = COPIES_OF_SPARSE * 8 * table.X.shape[0] * table.X.shape[1]
        require_memory(n_bytes, "sparse rows with missing values, as a dense table")
    columns: dict[str, RawColumn] = {}
    for place, name in enumerate(table.feature_names):
        values = table.X[:, [place]].toarray()[:, 0] if is_sparse(table.X) else table.X[:, place]
        columns[name] = RawNumbers(name, values)
    if preparation is None:
        preparation = TablePreparation.for_columns(list(columns.values()))
        _refuse_useless(preparation)
    rows = preparation.prepare(columns)
    return replace(
        table,
        X=rows.X,
        feature_names=preparation.feature_names,
        preparation=preparation,
        filled=rows.filled,
    )


def _holds_numbers(columns: list[ColumnSummary]) -> bool:
    return all(c.kind in (Kind.NUMBER, Kind.BOOLEAN) and not c.n_missing for c in columns)


def _is_usable(X: FloatArray, names: tuple[str, ...]) -> bool:
    """Whether a table can be learned from as it is."""
    if not max(X.max(initial=0.0), -X.min(initial=0.0)) <= LARGEST:  # also for NaN
        return False
    return not any(numbers_rows(name, column) for name, column in zip(names, X.T))


def _preparation(file: BatchFile, survey: Survey, raw: dict[str, RawColumn]) -> TablePreparation:
    nested = {c.name: c for c in survey.columns if c.kind is Kind.OTHER}
    decided = TablePreparation.for_columns(list(raw.values()))
    columns = {column.name: column for column in decided.columns}
    for name, column in nested.items():
        columns[name] = LeftOut(name, Kind.OTHER.value, column.n_missing, 0, "no single values")
    ordered = [columns[column.name] for column in survey.columns]
    if "" in file.names:
        ordered.insert(0, LeftOut(NO_NAME, "a column without a name", 0, 0, "has no name"))
    preparation = TablePreparation(tuple(ordered))
    _refuse_useless(preparation)
    return preparation


def _refuse_useless(preparation: TablePreparation) -> None:
    names = preparation.feature_names
    if not names:
        why = [f"{column.name!r} ({column.reason})" for column in preparation.left_out]
        raise Refusal(
            f"has no column that can be a feature: {some(why, limit=10)}",
            advice="add columns, or choose another label with --label",
        )
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        raise Refusal(
            f"has columns with the names of prepared ones: {quoted(repeated, limit=10)}",
            advice="rename those columns",
        )


def _refuse_other_contents(filled: Filled, n_rows: int) -> None:
    """Raise `Refusal` if most cells of a column are not what training had there."""
    for name, n_stray in filled.stray.items():
        n_cells = n_rows - filled.missing.get(name, 0)
        if n_stray >= MANY_STRAYS and n_stray > n_cells / 2:
            raise Refusal(
                f"has {n_stray:,} of {count(n_cells, 'cell')} in column {name!r} that are not what "
                f"training had there; the first is {filled.first_stray[name]}",
                advice="check the column; numbers may need --decimal",
            )


# -- the second pass ---------------------------------------------------------------------------


def _raw_columns(file: BatchFile, survey: Survey) -> dict[str, RawColumn]:
    """The columns as they are, apart from nested values: numbers, or distinct texts."""
    pieces: dict[str, _Numbers | _Texts] = {}
    for column in survey.columns:
        if column.kind in (None, Kind.NUMBER, Kind.BOOLEAN):
            pieces[column.name] = _Numbers(survey.n_rows)
        elif column.kind is not Kind.OTHER:
            pieces[column.name] = _Texts(survey.n_rows)
    start = 0
    for batch, n_bytes in file.batches(list(pieces)) if pieces else ():
        if start + batch.num_rows > survey.n_rows:
            raise changed()
        for name, piece in pieces.items():
            piece.add(batch.column(name), start)
        start += batch.num_rows
        file.request.report_progress((file.n_bytes + n_bytes) // 2, file.n_bytes)
    if pieces and start < survey.n_rows:
        raise changed()
    return {name: piece.column(name) for name, piece in pieces.items()}


class _Numbers:
    """A column of numbers, piece by piece."""

    def __init__(self, n_rows: int) -> None:
        self._values = np.empty(n_rows)

    def add(self, array: Any, start: int) -> None:
        """Take the next piece."""
        numbers = look_at(array).numbers
        if numbers is None:
            raise changed()
        self._values[start : start + len(numbers)] = numbers

    def column(self, name: str) -> RawColumn:
        """The whole column."""
        return RawNumbers(name, self._values)


class _Texts:
    """A column of texts, piece by piece; each distinct text is kept once."""

    def __init__(self, n_rows: int) -> None:
        self._codes: NDArray[np.intp] = np.full(n_rows, -1)
        self._places: dict[str, int] = {}

    def add(self, array: Any, start: int) -> None:
        """Take the next piece."""
        pieces = as_texts(plain(array)).dictionary_encode()
        n_texts = len(pieces.dictionary)
        n_bytes = BYTES_PER_TEXT * n_texts + COPIES * pieces.dictionary.nbytes
        require_memory(n_bytes, f"{count(n_texts, 'distinct text')}")
        places = self._places
        codes = [places.setdefault(t, len(places)) for t in pieces.dictionary.to_pylist()]
        indices = pieces.indices.fill_null(n_texts).to_numpy(zero_copy_only=False)
        self._codes[start : start + len(pieces)] = np.array([*codes, -1])[indices]

    def column(self, name: str) -> RawColumn:
        """The whole column."""
        return RawTexts(name, self._codes, list(self._places))
