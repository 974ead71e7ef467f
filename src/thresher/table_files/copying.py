"""Some rows of a file, written as they stand in it."""

import csv
import io
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, compress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.files import replacing
from thresher.table_files.arrow_cells import arrow
from thresher.table_files.arrow_tables import BatchFile
from thresher.table_files.delimited import CsvFile
from thresher.table_files.reading import BATCH_FILES, read_numbers
from thresher.table_files.table import TableRequest
from thresher.table_files.text_format import TextFormat, names_separator, opened_text, recognized
from thresher.validation import is_sparse


def copy_rows(
    path: str | Path,
    is_kept: NDArray[np.bool_],
    out: str | Path,
    *,
    text_format: TextFormat | None = None,
) -> None:
    """Write the kept rows of a table file to a CSV file, cells as they stand in it.

    A CSV file keeps its separator, and is written in UTF-8. Files without names get those that
    `read_table` gives them.

    Parameters
    ----------
    path : a file that `prepare_table` reads
    is_kept : (n,) for each of its rows
    out : the CSV file
    text_format : what is known about a CSV file; the rest is recognized

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path, out = Path(folder, "mail.csv"), Path(folder, "kept.csv")
    ...     _ = path.write_text("words;spam\\n1,5;no\\n2,0;yes\\n")
    ...     copy_rows(path, np.array([False, True]), out)
    ...     out.read_text()
    'words;spam\\n2,0;yes\\n'
    """
    path = Path(path)
    kind = _kind(path)
    if kind is None:
        _write(out, *_numbers(path, is_kept))
    elif issubclass(kind, CsvFile):
        form = recognized(path, text_format or TextFormat(), kind.usual_separator)
        separator = form.separator or kind.usual_separator
        with opened_text(path, form.encoding or "utf-8") as file:
            if names_separator(path, form.encoding or "utf-8"):
                file.readline()
            records = filter(None, csv.reader(file, delimiter=separator))
            head = [name.lstrip("\ufeff") for name in next(records)]
            _write(out, head, compress(records, is_kept), separator)
    else:
        _write(out, *_batches(kind(path, TableRequest()), is_kept))


def cells_of_rows(path: str | Path, places: NDArray[np.intp]) -> dict[str, Any] | None:
    """The cells of some rows by column, as they stand in the file; None if it has only numbers.

    Parameters
    ----------
    path : a file that `prepare_table` reads
    places : of the rows, ascending from 0

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "mail.csv")
    ...     _ = path.write_text("words;spam\\n1,5;no\\n2,0;yes\\n")
    ...     cells_of_rows(path, np.array([1]))["words"].to_pylist()
    ['2,0']
    """
    path = Path(path)
    if (kind := _kind(path)) is None:
        return None
    form = TextFormat()
    if issubclass(kind, CsvFile):  # without the decimal sign, which would be replaced
        form = replace(recognized(path, form, kind.usual_separator), decimal=None)
    file, start, pieces = kind(path, TableRequest(text_format=form)), 0, []
    for batch, _ in file.batches([name for name in file.names if name]):
        first, last = np.searchsorted(places, [start, start + batch.num_rows])
        pieces.append(batch.take(arrow().array(places[first:last] - start)))
        start += batch.num_rows
    table = arrow().Table.from_batches(pieces).combine_chunks()
    return {name: table.column(name) for name in table.column_names}


def _kind(path: Path) -> type[BatchFile] | None:
    name = path.name.lower()
    return next((kind for suffix, kind in BATCH_FILES.items() if name.endswith(suffix)), None)


def _batches(file: Any, is_kept: NDArray[np.bool_]) -> tuple[list[str], Iterator[Any]]:
    batches = (batch for batch, _ in file.batches(file.names))
    lines = chain.from_iterable(zip(*(column.to_pylist() for column in b.columns)) for b in batches)
    return file.names, compress(lines, is_kept)


def _numbers(path: Path, is_kept: NDArray[np.bool_]) -> tuple[list[str], Iterator[Any]]:
    table = read_numbers(path)
    rows = table.X[np.flatnonzero(is_kept)]
    labels = np.asarray(table.y)[is_kept].tolist()
    cells = (rows[[i]].toarray()[0] if is_sparse(rows) else rows[i] for i in range(len(labels)))
    lines = ((*row.tolist(), label) for row, label in zip(cells, labels))
    return [*table.feature_names, table.label_name or "label"], lines


def _write(
    out: str | Path, head: Iterable[str], lines: Iterable[Iterable[Any]], separator: str = ","
) -> None:
    with replacing(out) as file:
        text = io.TextIOWrapper(file, "utf-8", newline="")
        writer = csv.writer(text, delimiter=separator, lineterminator="\n")
        writer.writerow(head)
        writer.writerows(lines)
        text.detach()  # flushed, and not closed: that is for `replacing` to do
