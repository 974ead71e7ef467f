"""What each column of a file holds, found in one pass before memory for the table is taken."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from thresher.errors import UnreadableTable
from thresher.table_files.arrow_columns import (
    NUMBER,
    Kind,
    Piece,
    as_texts,
    is_text,
    look_at,
    plain,
)
from thresher.table_files.arrow_library import arrow
from thresher.table_files.wording import count, quoted, shortened, some

__all__ = ["MAX_VALUES", "ColumnSummary", "Kind", "refuse_other_kinds", "refuse_what_is_missing"]

MAX_VALUES = 100  # different texts that a column may have to become one-hot

Place = Callable[[int], str]  # where a row, counted from 1, stands in its file


@dataclass
class ColumnSummary:
    """What was seen of a column so far.

    Parameters
    ----------
    name : of the column
    collect : whether the different texts are wanted

    Examples
    --------
    >>> import pyarrow
    >>> column = ColumnSummary("from")
    >>> column.add(pyarrow.array(["7", None]), first_row=1)
    >>> column.add(pyarrow.array(["home"]), first_row=3)
    >>> column.kind, column.example, column.n_missing
    (<Kind.TEXT: 'text'>, (3, 'home'), 1)
    """

    name: str
    collect: bool = False
    kind: Kind | None = None
    example: tuple[int, str] | None = None  # the first cell that is no number, and its row
    n_missing: int = 0
    first_missing: int = 0
    values: set[str] = field(default_factory=set)

    def add(self, array: Any, *, first_row: int) -> None:
        """Take note of the next piece of the column."""
        array = plain(array)
        piece = look_at(array)
        self._count_missing(piece, array, first_row)
        if piece.kind not in (None, Kind.NUMBER) and self.example is None:
            self.example = _first_text(array, first_row)
        if piece.kind is not None:
            mixed = self.kind not in (None, piece.kind)
            self.kind = Kind.TEXT if mixed else piece.kind
        if self.collect and is_text(array) and len(self.values) <= MAX_VALUES:
            self.values.update(as_texts(array).unique().drop_null().to_pylist())

    def _count_missing(self, piece: Piece, array: Any, first_row: int) -> None:
        if piece.numbers is not None:
            missing = np.isnan(piece.numbers)
        else:
            cells = array if piece.texts is None else piece.texts
            missing = np.asarray(cells.is_null().to_numpy(zero_copy_only=False), dtype=bool)
        n_missing = int(np.count_nonzero(missing))
        if n_missing and not self.n_missing:
            self.first_missing = first_row + int(missing.argmax())
        self.n_missing += n_missing


def _first_text(array: Any, first_row: int) -> tuple[int, str]:
    """The row and the cell of what is no number; the type, for what has one of its own."""
    pc = arrow("compute")
    if not is_text(array):
        return first_row + int(pc.index(pc.is_valid(array), True).as_py()), str(array.type)
    texts = as_texts(array)
    index = int(pc.index(pc.match_substring_regex(texts, NUMBER), False).as_py())
    return first_row + index, str(texts[index].as_py())


def refuse_other_kinds(
    path: Path, columns: Sequence[ColumnSummary], place: Place, *, text_allowed: bool
) -> None:
    """Raise `UnreadableTable` if a column holds neither numbers nor what may become numbers."""
    advice = {
        Kind.OTHER: "drop them, or write one number into each cell",
        Kind.DATE: "turn them into numbers, such as days since a date, or drop them",
        Kind.TEXT: "use --one-hot, turn them into numbers, drop them, or name one that identifies "
        "rows with --id-column",
    }
    for kind, what_to_do in advice.items():
        if kind is Kind.TEXT and text_allowed:
            continue
        found = [column for column in columns if column.kind is kind]
        if found:
            row, cell = found[0].example or (1, "")
            raise UnreadableTable(
                path,
                f"has {count(len(found), 'column')} of {kind.value}: "
                f"{quoted(column.name for column in found)} "
                f"({shortened(cell)!r} in {place(row)})",
                advice=what_to_do,
            )


def refuse_what_is_missing(path: Path, columns: Iterable[ColumnSummary], place: Place) -> None:
    """Raise `UnreadableTable` if a cell is missing, with the columns that lack most."""
    lacking = sorted((c for c in columns if c.n_missing), key=lambda c: -c.n_missing)
    if lacking:
        told = [f"{c.name!r} ({c.n_missing:,})" for c in lacking]
        first = min(lacking, key=lambda c: c.first_missing)
        raise missing_values(
            path, told, f"{first.name!r}, {place(first.first_missing)}", n_columns=len(lacking)
        )


def missing_values(path: Path, told: list[str], first: str, *, n_columns: int) -> UnreadableTable:
    """The error about missing values; `told` are columns with their counts."""
    return UnreadableTable(
        path,
        f"has missing values in {count(n_columns, 'column')}: {some(told, limit=10)}; the first "
        f"is in column {first}",
        advice="fill them in, or drop those rows or columns",
    )
