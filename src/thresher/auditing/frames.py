"""Tables of every kind that people have in memory, in and out."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import type_of_target

from thresher.estimators.checks import advice_on_numbers
from thresher.preparation import RawColumn, RawNumbers, TablePreparation, columns_of
from thresher.table_files import LabeledTable
from thresher.validation import (
    check_rows,
    is_sparse,
    refuse_masked,
    require_in_memory,
)

LIBRARIES = ("pandas", "polars", "pyarrow")


@dataclass(frozen=True, eq=False)
class FrameMaker:
    """Makes data frames of the library that a table came from.

    Parameters
    ----------
    library : "pandas", "polars" or "pyarrow"; None: the first of them that is installed
    index : of the rows of a pandas frame; None for others

    Examples
    --------
    >>> FrameMaker("polars").of({"id": [7]})["id"].to_list()
    [7]
    """

    library: str | None = None
    index: Any = None

    @classmethod
    def like(cls, table: Any) -> "FrameMaker":
        """For frames like this table."""
        library = type(table).__module__.partition(".")[0]
        index = table.index if library == "pandas" else None
        return cls(library if library in LIBRARIES else None, index)

    def of(self, columns: dict[str, Any], places: NDArray[np.intp] | None = None) -> Any:
        """A data frame of these columns; `places` says which rows of the table they are about."""
        library = self.library or _installed()
        module = import_module(library)
        if library == "pyarrow":
            return module.table({name: _plain(values) for name, values in columns.items()})
        if library == "polars":
            return module.DataFrame({name: _plain(values) for name, values in columns.items()})
        index = None if self.index is None or places is None else self.index[places]
        return module.DataFrame(columns, index=index)


def _plain(values: Any) -> Any:
    return values.tolist() if isinstance(values, np.ndarray) else list(values)


def _installed() -> str:
    for library in LIBRARIES:
        try:
            import_module(library)
        except ImportError:
            continue
        return library
    raise ImportError("an audit's tables are data frames: install pandas, polars or pyarrow")


def table_in_memory(X: Any, y: Any) -> LabeledTable:
    """The table as numbers with labels, whatever it was.

    Parameters
    ----------
    X : array, also with missing values; sparse matrix; data frame of pandas, Polars or pyarrow
    y : one label for each row

    Raises
    ------
    TypeError, ValueError : it is not a table, or not every row has a label

    Examples
    --------
    >>> table = table_in_memory([[1.0, 0.5], [np.nan, 3.0], [5.0, 4.0]], ["a", "b", "a"])
    >>> table.feature_names, table.X[1].tolist()
    (['x0', 'x1', 'x0 is missing'], [3.0, 3.0, 1.0])
    """
    require_in_memory(X)
    refuse_masked(X, "X")
    refuse_masked(y, "y")
    columns, X = _columns_or_numbers(X)
    if columns is None:
        names = [f"x{j}" for j in range(X.shape[1])]
        return LabeledTable(X, labels_of(y, X.shape[0]), names, np.arange(X.shape[0]), None)
    n_rows = columns[0].n_rows
    labels = labels_of(y, n_rows)
    preparation = TablePreparation.for_columns(columns)
    if not preparation.used_columns:
        raise ValueError("X must have a column that can be learned from; all of them are left out")
    prepared = preparation.prepare({column.name: column for column in columns})
    ids = np.asarray(X.index) if hasattr(X, "index") and hasattr(X, "iloc") else np.arange(n_rows)
    names = preparation.feature_names
    return LabeledTable(prepared.X, labels, names, ids, None, preparation, prepared.filled)


def _columns_or_numbers(X: Any) -> tuple[list[RawColumn] | None, Any]:
    """The columns of a frame or of an array with missing values; None if X is all numbers."""
    if hasattr(X, "columns") or hasattr(X, "column_names"):
        columns = columns_of(X)
        if not columns or not columns[0].n_rows:
            raise ValueError("X must have rows and columns")
        return columns, X
    if not is_sparse(X):
        array = np.asarray(X)
        if array.ndim == 2 and array.dtype.kind == "f" and np.isnan(array).any():
            values = array.astype(np.float64)
            return [RawNumbers(f"x{j}", column) for j, column in enumerate(values.T)], array
    return None, check_rows(X, "X")


def labels_of(y: Any, n_rows: int) -> NDArray[Any]:
    """The labels as an array: one for each row, of two kinds."""
    if isinstance(y, str):
        name = f"to use a column of X, pass X[{y!r}], and drop it from X"
        raise ValueError(f"y must be a column of labels, got the text {y!r}; {name}")
    labels = np.asarray(y)
    if labels.ndim != 1 or labels.size != n_rows:
        shape = f"got shape {labels.shape}"
        raise ValueError(f"y must hold one label for each of {n_rows} rows, {shape}")
    values = labels.tolist()
    if missing := [i for i, value in enumerate(values) if value is None or value != value]:
        raise ValueError(f"y must hold a label for every row, but y[{missing[0]}] is missing")
    if labels.dtype == object:
        labels = np.asarray([str(value) for value in values])
    distinct = np.unique(labels)
    if distinct.size != 2:
        if type_of_target(labels).startswith("continuous"):
            raise ValueError(advice_on_numbers(labels))
        first, *_ = distinct.tolist()
        shown = ", ".join(repr(value) for value in distinct[:5].tolist())
        advice = f"keep the rows of two of them, or compare one with the others: y == {first!r}"
        found = f"y must hold exactly two labels, got {distinct.size}: {shown}"
        raise ValueError(found if distinct.size < 2 else f"{found}; {advice}")
    return labels


def rows_of(table: Any, is_kept: NDArray[np.bool_]) -> Any:
    """The kept rows of a table of any kind.

    Examples
    --------
    >>> rows_of([[1], [2]], np.array([False, True]))
    array([[2]])
    """
    if len(is_kept) != _length(table):
        raise ValueError(f"expected {len(is_kept)} rows as in the audit, got {_length(table)}")
    picks: dict[str, Callable[[Any], Any]] = {
        "pandas": lambda table: table[is_kept],
        "polars": lambda table: table.filter(is_kept),
        "pyarrow": lambda table: table.filter(is_kept.tolist()),
    }
    library = type(table).__module__.partition(".")[0]
    if library in picks:
        return picks[library](table)
    if hasattr(table, "tocsr"):
        return table.tocsr()[np.flatnonzero(is_kept)]
    return np.asarray(table)[is_kept]


def _length(table: Any) -> int:
    return int(table.shape[0]) if hasattr(table, "shape") else len(table)
