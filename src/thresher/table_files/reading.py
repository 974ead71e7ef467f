"""A table from a file, by the reader of its format."""

import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeAlias

from thresher.errors import UnreadableTable
from thresher.files import other_than_file
from thresher.preparation import TablePreparation
from thresher.table_files.arrow_tables import ArrowFile, BatchFile, ParquetFile, read_batches
from thresher.table_files.delimited import CsvFile, TsvFile
from thresher.table_files.npz import read_npz
from thresher.table_files.prepared_batches import prepare_batches, prepare_numbers
from thresher.table_files.standard_input import as_file, name_of
from thresher.table_files.svmlight import read_svmlight
from thresher.table_files.table import (
    LabeledTable,
    Progress,
    Refusal,
    TableRequest,
)
from thresher.table_files.text_format import SEPARATORS, TextFormat, recognized
from thresher.wording import quoted, some

LONGEST_HEAD = 2**16  # bytes of a first line that are looked at
Reader: TypeAlias = Callable[[Path, TableRequest], LabeledTable]

BATCH_FILES: dict[str, type[BatchFile]] = {
    ".csv": CsvFile,
    ".csv.gz": CsvFile,
    ".tsv": TsvFile,
    ".tsv.gz": TsvFile,
    ".txt": CsvFile,
    ".txt.gz": CsvFile,
    ".parquet": ParquetFile,
    ".arrow": ArrowFile,
    ".feather": ArrowFile,
}
READERS: dict[str, Reader] = {
    **{suffix: partial(read_batches, kind) for suffix, kind in BATCH_FILES.items()},
    ".svm": read_svmlight,
    ".svmlight": read_svmlight,
    ".libsvm": read_svmlight,
    ".npz": read_npz,
}


def read_table(
    path: str | Path,
    *,
    label: str | None = None,
    id_column: str | None = None,
    one_hot: bool = False,
    features: Sequence[str] | None = None,
    with_labels: bool = True,
    label_if_any: bool = False,
    text_format: TextFormat | None = None,
    progress: Progress | None = None,
) -> LabeledTable:
    """The table of numbers in a file, whose extension says its format.

    Every column but the label and the id is a feature and must hold finite numbers; true and
    false become 1 and 0. Empty cells, NaN, NA and the like are missing values, and are refused.
    CSV, Parquet and Arrow files are read twice in batches, so that little more memory is taken
    than the table needs. An NPZ file has an array `X` (or `X_data`, `X_indices`, `X_indptr` and
    `X_shape` of a CSR matrix), the labels `y`, and perhaps `feature_names` and a factor `X_scale`
    of all entries; nothing is unpickled.
    The features of an svmlight file are called by their numbers in the file.

    Parameters
    ----------
    path : .csv, .tsv, .txt (each also with .gz), .parquet, .arrow, .feather, .svm, .svmlight,
        .libsvm or .npz; "-" for standard input
    label : the label column; the last column if None. svmlight and NPZ have labels of their own
    id_column : a column that identifies the rows and is not a feature (in an NPZ file: another
        array). Without it, ids are row numbers from 0
    one_hot : for models of earlier versions: a feature `column=value` is 1 where the column has
        this value, and 0 elsewhere
    features : for prediction: the columns that X must have, in this order. Other columns are left
        out
    with_labels : if False, no labels are read; a column named by `label` is left out
    label_if_any : whether the column named by `label` may be absent, or hold no usable labels
    text_format : of CSV and TSV files; by default UTF-8, with decimal points, commas in CSV files
        and tabs in TSV files
    progress : called with the bytes read so far and the total; each of two passes counts half

    Returns
    -------
    LabeledTable

    Raises
    ------
    UnreadableTable : the file is not such a table; the message says why, where, and what to do
    NotEnoughMemory : the table would not fit

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "mail.csv")
    ...     _ = path.write_text("words,links,spam\\n120,0,no\\n35,4,yes\\n")
    ...     table = read_table(path)
    >>> table.X
    array([[120.,   0.],
           [ 35.,   4.]])
    >>> table.feature_names, table.label_name, table.y.tolist(), table.ids.tolist()
    (['words', 'links'], 'spam', ['no', 'yes'], [0, 1])
    """
    request = TableRequest(
        label=_name(label, "label"),
        id_column=_name(id_column, "id_column"),
        one_hot=bool(one_hot),
        features=_names(features),
        with_labels=bool(with_labels),
        label_if_any=bool(label_if_any),
        text_format=text_format or TextFormat(),
        progress=progress,
    )
    return _read(path, request, lambda path: _of_suffix(READERS, path)(path, request))


def prepare_table(
    path: str | Path,
    *,
    label: str | None = None,
    id_column: str | None = None,
    preparation: TablePreparation | None = None,
    with_labels: bool = True,
    label_if_any: bool = False,
    text_format: TextFormat | None = None,
    progress: Progress | None = None,
) -> LabeledTable:
    """The table in a file as it comes: whatever its columns hold, they become numbers.

    Numbers, booleans, dates and times become numbers, with the median where cells are missing and
    a column that marks them; texts become categories, or the TF-IDF of their words. Ids, constant
    and empty columns, and nested values are left out. The separator, the decimal sign and the
    encoding of a CSV file are recognized.

    Parameters
    ----------
    path, label, id_column, with_labels, label_if_any, progress : as in `read_table`
    preparation : for prediction: that of the training file; other columns are left out
    text_format : what is known about a CSV file; the rest is recognized

    Returns
    -------
    LabeledTable : without a preparation if all columns were complete numbers

    Raises
    ------
    UnreadableTable : the file is not a table; the message says why, where, and what to do
    NotEnoughMemory : the table would not fit

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "mail.csv")
    ...     _ = path.write_text("words;spam\\n1,5;no\\n;yes\\n3,5;no\\n")
    ...     table = prepare_table(path)
    >>> table.X
    array([[1.5, 0. ],
           [2.5, 1. ],
           [3.5, 0. ]])
    >>> table.feature_names, table.remarks
    (['words', 'words is missing'], ('Read with separator ";", decimal comma.',))
    """
    request = TableRequest(
        label=_name(label, "label"),
        id_column=_name(id_column, "id_column"),
        features=None if preparation is None else tuple(preparation.used_columns),
        with_labels=bool(with_labels),
        label_if_any=bool(label_if_any),
        text_format=text_format or TextFormat(),
        progress=progress,
    )
    return _read(path, request, lambda path: _prepared(path, request, preparation))


def read_numbers(path: str | Path) -> LabeledTable:
    """As `read_table`, for svmlight and NPZ files, with NaN for what is missing."""
    request = TableRequest(keeps_missing=True)
    return _read(path, request, lambda path: _of_suffix(READERS, path)(path, request))


def _prepared(
    path: Path, request: TableRequest, preparation: TablePreparation | None
) -> LabeledTable:
    reader = _of_suffix(READERS, path)
    kind = next((BATCH_FILES[s] for s in BATCH_FILES if READERS[s] is reader), None)
    if kind is None:
        return prepare_numbers(reader(path, replace(request, keeps_missing=True)), preparation)
    if not issubclass(kind, CsvFile):
        return prepare_batches(kind, path, request, preparation)
    with suppress(OSError, EOFError, zlib.error):  # which the reader explains
        form = recognized(path, request.text_format, kind.usual_separator)
        request = replace(request, text_format=form)
    table = prepare_batches(kind, path, request, preparation)
    unusual = request.text_format.described(kind.usual_separator)
    read = (f"Read with {unusual}.",) if unusual else ()
    return replace(table, remarks=(*read, *table.remarks))


def _read(
    path: str | Path, request: TableRequest, reader: Callable[[Path], LabeledTable]
) -> LabeledTable:
    try:
        with as_file(path) as file:
            _refuse_other_than_files(file)
            table = reader(file)
            n_bytes = file.stat().st_size
    except Refusal as refusal:
        raise UnreadableTable(name_of(path), refusal.problem, advice=refusal.advice) from refusal
    request.report_progress(n_bytes, n_bytes)
    return table


def find_table(folder: str | Path, name: str) -> Path | None:
    """The file of that name in a folder, with any supported extension; None if there is none."""
    paths = (Path(folder) / f"{name}{suffix}" for suffix in READERS)
    return next((path for path in paths if path.is_file()), None)


def _name(value: object, name: str) -> str | None:
    if value is not None and not isinstance(value, str):
        raise TypeError(f"{name} must be the name of a column or None, got {value!r}")
    return value


def _names(features: Sequence[str] | None) -> tuple[str, ...] | None:
    if features is None:
        return None
    if isinstance(features, str) or not all(isinstance(name, str) for name in features):
        raise TypeError(f"features must be a sequence of column names, got {features!r}")
    if not len(features) or len(set(features)) < len(features):
        raise ValueError(f"features must be one or more distinct names, got {list(features)}")
    return tuple(str(name) for name in features)


def _of_suffix(known: dict[str, Reader], path: Path) -> Reader:
    for suffix, reader in known.items():
        if path.name.lower().endswith(suffix):
            return reader
    found = f"the extension {quoted([path.suffix])}" if path.suffix else "no extension"
    raise Refusal(f"has {found}", advice=f"supported: {some(READERS)}")


def _refuse_other_than_files(path: Path) -> None:
    try:
        str(path).encode()
    except UnicodeEncodeError as error:  # no report could name it
        raise Refusal("has a name that is not valid Unicode", advice="rename it") from error
    try:
        if other := other_than_file(path):
            advice = "name a file in it" if path.is_dir() else "save it first"
            raise Refusal(f"is {other}", advice=advice)
        with path.open("rb") as file:
            is_empty = not file.read(1)
    except FileNotFoundError as error:
        raise Refusal("was not found", advice=_beside(path)) from error
    except (OSError, ValueError) as error:  # ValueError: a name with a zero byte
        reason = getattr(error, "strerror", None) or error
        raise Refusal(f"cannot be opened ({reason})", advice="check its permissions") from error
    if is_empty:
        raise Refusal("is empty", advice="check how it was written")


def _beside(path: Path) -> str:
    if not path.parent.is_dir():
        return f"there is no folder {path.parent}"
    known = sorted(file.name for file in path.parent.iterdir() if _may_be_table(file))
    return f"tables in its folder: {some(known, limit=5)}" if known else "check its name and folder"


def _may_be_table(path: Path) -> bool:
    """Whether a file has an extension of tables; a text file also needs columns."""
    name = path.name.lower()
    if not name.endswith(".txt"):
        return name.endswith(tuple(READERS))
    try:
        with path.open("rb") as file:
            first = file.readline(LONGEST_HEAD)
    except OSError:
        return False
    return any(mark.encode() in first for mark in SEPARATORS)
