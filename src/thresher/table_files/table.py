"""What is asked of a file, what comes back, and the checks that all formats share."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from thresher.errors import UnreadableTable
from thresher.memory import require_memory
from thresher.preparation import Filled, TablePreparation
from thresher.preparation.cells import LARGEST
from thresher.table_files.text_format import TextFormat
from thresher.validation import Rows, is_sparse, sum_of_squares
from thresher.wording import COMPARE, count, has_controls, shortened, some

Progress: TypeAlias = Callable[[int, int], None]  # called with the bytes read so far, and in total
Place: TypeAlias = Callable[[int], str]  # where a row, counted from 0, stands in its file

MAX_FEATURES = 10_000_000  # beyond, an index is a mistake, and the names alone would take a GB
BYTES_PER_NAME = 70
MOST_LABELS = 10  # different numbers; more are measurements


@dataclass(frozen=True)
class TableRequest:
    """What a caller wants from a file, whatever its format: the parameters of `read_table`.

    And whether missing values of a file that holds only numbers are kept, as NaN.
    """

    label: str | None = None
    id_column: str | None = None
    one_hot: bool = False
    features: tuple[str, ...] | None = None
    with_labels: bool = True
    label_if_any: bool = False
    text_format: TextFormat = field(default_factory=TextFormat)
    progress: Progress | None = None
    keeps_missing: bool = False

    @property
    def requires_labels(self) -> bool:
        """Whether a file without usable labels is refused."""
        return self.with_labels and not self.label_if_any

    def report_progress(self, n_bytes_read: int, n_bytes_total: int) -> None:
        """Call `progress`, if there is one, with at most the total."""
        if self.progress is not None:
            self.progress(min(n_bytes_read, n_bytes_total), n_bytes_total)


@dataclass(frozen=True, eq=False)
class LabeledTable:
    """The rows of a file with their labels, names and ids.

    Parameters
    ----------
    X : (n, d) float64 array or CSR, finite
    y : (n,) labels as in the file, strings or numbers; None if they were not requested, or are
        neither required nor usable
    feature_names : the d names of the columns of X
    ids : (n,) the values of the id column, or the row numbers from 0
    label_name : the label column; None if no labels were requested, or the file has none
    preparation : how the columns of the file became those of X; None if they were numbers already
    filled : what the preparation had to bridge
    remarks : what was recognized about the file, one sentence each
    """

    X: Rows
    y: NDArray[Any] | None
    feature_names: list[str]
    ids: NDArray[Any]
    label_name: str | None
    preparation: TablePreparation | None = None
    filled: Filled = field(default_factory=Filled)
    remarks: tuple[str, ...] = ()

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.X.shape[0])

    @property
    def classes(self) -> list[Any]:
        """The distinct labels in ascending order; empty without labels."""
        return [] if self.y is None else np.unique(self.y).tolist()


class Refusal(Exception):
    """What is wrong with a file, and what to do about it; `read_table` adds the file's name."""

    def __init__(self, problem: str, *, advice: str) -> None:
        super().__init__(problem)
        self.problem, self.advice = problem, advice


# -- checks ------------------------------------------------------------------------------------


def refuse_width(n_features: int) -> None:
    """Raise `Refusal` if there are no features, or impossibly many; they must fit with names."""
    if not 0 < n_features <= MAX_FEATURES:
        raise Refusal(
            f"has {count(n_features, 'feature')}",
            advice=f"1 to {MAX_FEATURES:,} are supported; check the largest index",
        )
    require_memory(BYTES_PER_NAME * n_features, f"the names of {count(n_features, 'feature')}")


def refuse_controls(table: LabeledTable, path: str | Path) -> None:
    """Raise `UnreadableTable` if a name or a label has control characters, which no model may have.

    Examples
    --------
    >>> rows = np.eye(2), np.array([0, 1]), ["a", "b\\x1b[2J"], np.arange(2), "y"
    >>> refuse_controls(LabeledTable(*rows), "mail.csv")
    Traceback (most recent call last):
    thresher.errors.UnreadableTable: mail.csv has control characters in the column name 'b\\x1b[2J';
    remove them
    """
    names = [*table.feature_names, table.label_name or ""]
    texts = {"column name": names, "label": [str(label) for label in table.classes]}
    for what, values in texts.items():
        for value in filter(has_controls, values):
            problem = f"has control characters in the {what} {shortened(value)!r}"
            raise UnreadableTable(path, problem, advice="remove them")


def refuse_missing(what: str, missing: NDArray[Any], place: Place) -> None:
    """Raise `Refusal` if the label or the id of a row is missing."""
    if missing.any():
        raise Refusal(
            f"has no {what} in {count(int(missing.sum()), 'row')}; the first is "
            f"{place(int(missing.argmax()))}",
            advice="fill them in or drop those rows",
        )


def refuse_other_than_two(labels: NDArray[Any], name: str, request: TableRequest) -> None:
    """Raise `Refusal` if the labels are not two; for prediction one is enough."""
    values, counts = np.unique(labels, return_counts=True)
    if len(values) == 2 or (len(values) == 1 and request.features is not None):
        return
    advice = "exactly two are needed: merge or drop labels, or choose another column with --label"
    if len(values) > MOST_LABELS and np.issubdtype(values.dtype, np.number):
        threshold = f"{name} > {np.median(labels):.4g}"
        advice = (
            f"exactly two are needed. {COMPARE} ({threshold}); or choose another column with "
            "--label"
        )
    order = np.argsort(-counts, kind="stable")
    found = [f"{shortened(str(values[i]))!r} ({counts[i]:,})" for i in order]
    raise Refusal(
        f"has {count(len(values), 'distinct label')} in column {name!r}: {some(found, limit=5)}",
        advice=advice,
    )


def refuse_bad_numbers(
    X: Rows, names: Sequence[str], place: Place, *, keeps_missing: bool = False
) -> None:
    """Raise `Refusal` if an entry is NaN, infinite or too large; NaN can be kept.

    Examples
    --------
    >>> refuse_bad_numbers(np.array([[1.0, np.inf]]), ["a", "b"], "row {}".format)
    Traceback (most recent call last):
    thresher.table_files.table.Refusal: has infinite values in 1 column: 'b' (1); the first ...
    """
    entries = X.data if is_sparse(X) else X
    if sum_of_squares(entries) < LARGEST:
        return
    for what, advice, is_bad in (
        ("missing values", "fill them in", np.isnan),
        ("infinite values", "replace them", np.isinf),
        (f"values beyond ±{LARGEST:g}", "correct them, change units", lambda x: abs(x) > LARGEST),
    ):
        bad: NDArray[np.bool_] = is_bad(entries)
        if bad.any() and not (keeps_missing and is_bad is np.isnan):
            counts, row, column = _counts_and_first(X, bad)
            worst = [int(i) for i in np.argsort(-counts, kind="stable") if counts[i]]
            counted = [f"{names[i]!r} ({counts[i]:,})" for i in worst]
            raise bad_values(what, counted, f"{names[column]!r}, {place(row)}", advice)


def _counts_and_first(X: Rows, bad: NDArray[np.bool_]) -> tuple[NDArray[Any], int, int]:
    """The number of bad entries in each column, and row and column of the first one."""
    first = int(bad.argmax())
    if is_sparse(X):
        row = int(np.searchsorted(X.indptr, first, side="right")) - 1
        return np.bincount(X.indices[bad], minlength=X.shape[1]), row, int(X.indices[first])
    return bad.sum(axis=0), *divmod(first, X.shape[1])


def bad_values(what: str, columns: list[str], first: str, advice: str) -> Refusal:
    """The refusal of these columns, each given with its count of bad values."""
    return Refusal(
        f"has {what} in {count(len(columns), 'column')}: {some(columns, limit=10)}; the first is "
        f"in column {first}",
        advice=f"{advice}, or drop those rows or columns",
    )


def pick_columns(X: Any, columns: list[int]) -> Any:
    """These columns of a CSR matrix, in this order; -1 is a column of zeros.

    Examples
    --------
    >>> pick_columns(sp.csr_array([[1.0, 2.0], [0.0, 3.0]]), [1, -1, 0]).toarray()
    array([[2., 0., 1.],
           [3., 0., 0.]])
    """
    require_memory(12 * X.nnz, "the chosen columns")
    chosen = np.asarray(columns)
    kept = np.flatnonzero(chosen >= 0)
    selection = sp.csr_array(
        (np.ones(len(kept)), (chosen[kept], kept)), shape=(X.shape[1], len(columns))
    )
    return tidy_csr(X @ selection)


def tidy_csr(X: Any) -> Any:
    """The rows as a CSR array with sorted indices, without repeated ones."""
    rows = sp.csr_array(X, dtype=np.float64)
    rows.sum_duplicates()
    return rows
