"""Rows of an Arrow table in memory, read as those of a file are."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.errors import UnreadableTable
from thresher.preparation import TablePreparation
from thresher.table_files.arrow_tables import BatchFile, read_batches
from thresher.table_files.prepared_batches import prepare_batches
from thresher.table_files.table import LabeledTable, Refusal, TableRequest


def table_from_arrow(
    table: Any,
    request: TableRequest,
    *,
    path: Path,
    row_numbers: NDArray[np.int64],
    strict: bool = False,
    preparation: TablePreparation | None = None,
) -> LabeledTable:
    """An Arrow table as `prepare_table` returns the table of a file, or as `read_table` if strict.

    Parameters
    ----------
    table : of pyarrow
    request : what is wanted of it
    path : where its rows come from, for messages
    row_numbers : of its rows there; their ids if there is no id column
    strict : whether to refuse what would need a preparation
    preparation : for prediction: that of training

    Examples
    --------
    >>> import pyarrow
    >>> table = pyarrow.table({"words": [120, None, 35], "spam": ["no", "yes", "no"]})
    >>> how = {"path": Path("mail"), "row_numbers": np.array([4, 7, 9])}
    >>> found = table_from_arrow(table, TableRequest(), **how)
    >>> found.X.tolist(), found.ids.tolist()
    ([[120.0, 0.0], [77.5, 1.0], [35.0, 0.0]], [4, 7, 9])
    """

    def file(path: Path, request: TableRequest) -> BatchFile:
        return _Rows(table, path, request, row_numbers)

    try:
        if strict:
            found = read_batches(file, path, request)
        else:
            found = prepare_batches(file, path, request, preparation)
    except Refusal as refusal:
        raise UnreadableTable(path, refusal.problem, advice=refusal.advice) from refusal
    found = replace(found, remarks=())  # about a part of the rows
    return found if request.id_column is not None else replace(found, ids=row_numbers)


class _Rows(BatchFile):
    def __init__(
        self, table: Any, path: Path, request: TableRequest, row_numbers: NDArray[np.int64]
    ) -> None:
        self.path, self.request, self._row_numbers = path, request, row_numbers
        self._table, self.n_bytes = table, max(1, table.nbytes)
        self.names, self.n_rows = list(table.column_names), table.num_rows

    def batches(self, columns: Sequence[str]) -> Iterator[tuple[Any, int]]:
        n_rows = 0
        for batch in self._table.select(list(columns)).to_batches():
            n_rows += batch.num_rows
            yield batch, self.n_bytes * n_rows // max(1, self._table.num_rows)

    def place(self, row: int) -> str:
        return f"row {self._row_numbers[row]:,}"
