"""Which column is the label, which the id, which are features, and what each of them holds."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from thresher.table_files.arrow_cells import Kind, first_text, look_at, plain
from thresher.table_files.table import Place, Refusal, TableRequest, bad_values
from thresher.wording import count, nearest, quoted, shortened

PANDAS_INDEX = re.compile(r"__index_level_\d+__")  # which pandas writes into Parquet files

# -- labels and ids ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Roles:
    """The columns of a file by what they are for; `others` are those that may be features."""

    label: str | None
    id_column: str | None
    others: tuple[str, ...]


def assign_roles(names: Sequence[str], request: TableRequest) -> Roles:
    """What each column is for, or an error that names the column which is wrong.

    Examples
    --------
    >>> assign_roles(["nr", "words", "spam"], TableRequest(id_column="nr"))
    Roles(label='spam', id_column='nr', others=('words',))
    """
    _refuse_bad_names(names, request)
    id_column = request.id_column
    if id_column is not None and id_column not in names:
        raise Refusal(f"has no id column {quoted([id_column])}", advice=nearest(id_column, names))
    visible = [name for name in names if name != id_column and not PANDAS_INDEX.fullmatch(name)]
    is_asked = request.requires_labels or (request.with_labels and request.label in visible)
    label = _label(visible, request) if is_asked else None
    others = tuple(name for name in visible if name not in (label, request.label))
    if request.features is None and not others:
        raise Refusal(
            f"has no feature columns, only {quoted(names)}",
            advice="add columns, or choose another label with --label",
        )
    return Roles(label, id_column, others)


def _refuse_bad_names(names: Sequence[str], request: TableRequest) -> None:
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        raise Refusal(
            f"has duplicate column names: {quoted(repeated, limit=10)}",
            advice="rename them; check that the first line has the column names",
        )
    if "" in names and request.id_column != "":
        raise Refusal(
            f"has a column without a name, number {list(names).index('') + 1} of {len(names)}",
            advice="name it or drop it (pandas writes its index this way; use index=False)",
        )


def _label(visible: Sequence[str], request: TableRequest) -> str:
    label = request.label
    if label is not None and label == request.id_column:
        raise Refusal(
            f"has {quoted([label])} as both label and id", advice="name two different columns"
        )
    if label is not None and label not in visible:
        raise Refusal(f"has no label column {quoted([label])}", advice=nearest(label, visible))
    if not visible:
        raise Refusal("has no label column", advice="add one")
    chosen = visible[-1] if label is None else label
    if request.features is not None and chosen in request.features:
        if label is not None:
            raise Refusal(
                f"cannot have {quoted([label])} as its label: it is a feature of the model",
                advice="name the column of true labels with --label, or omit it",
            )
        raise Refusal(
            f"has the feature {quoted([chosen])} where the label is expected",
            advice="name the label column with --label",
        )
    return chosen


def refuse_other_label(request: TableRequest, own: str) -> None:
    """Raise `Refusal` if a label is requested that the format cannot have."""
    if request.requires_labels and request.label not in (None, own):
        raise Refusal(
            f"has no label column {quoted([request.label])}",
            advice=f"in files of this format the labels are called {own!r}",
        )


# -- what a column holds -----------------------------------------------------------------------


@dataclass
class ColumnSummary:
    """What was seen of a column so far.

    Parameters
    ----------
    name : of the column
    allowed : what it may hold besides numbers, true and false

    Examples
    --------
    >>> import pyarrow
    >>> column = ColumnSummary("from")
    >>> column.add(pyarrow.array(["7", None]), first_row=0)
    >>> column.add(pyarrow.array(["home"]), first_row=2)
    >>> column.kind, column.example, column.n_missing
    (<Kind.TEXT: 'text'>, (2, 'home'), 1)
    """

    name: str
    allowed: tuple[Kind, ...] = ()
    kind: Kind | None = None
    example: tuple[int, str] = (0, "")  # row and content of the first cell that is not a number
    n_missing: int = 0
    first_missing: int = 0

    def add(self, array: Any, *, first_row: int) -> None:
        """Take note of the next piece of the column."""
        array = plain(array)
        piece = look_at(array)
        if piece.missing.any() and not self.n_missing:
            self.first_missing = first_row + int(piece.missing.argmax())
        self.n_missing += int(np.count_nonzero(piece.missing))
        if piece.kind not in (None, Kind.NUMBER) and self.kind in (None, Kind.NUMBER):
            place, text = first_text(array)
            self.example = first_row + place, text
        if piece.kind is not None:
            mixed = self.kind not in (None, piece.kind)
            self.kind = Kind.TEXT if mixed else piece.kind


WHAT_TO_DO = {
    Kind.OTHER: "drop them, or write one number into each cell",
    Kind.DATE: "turn them into numbers, such as days since a date, or drop them",
    Kind.TEXT: "omit --strict, turn them into numbers, drop them, or pass an id column "
    "with --id-column",
}


def refuse_unusable(columns: Sequence[ColumnSummary], place: Place) -> None:
    """Raise `Refusal` if a column holds what it may not, or if a cell is missing.

    It is about the first such cell of the file, and about all columns with the same problem.
    """
    wrong, lacking = {}, {}  # the row of the first such cell, by the number of its column
    for number, column in enumerate(columns):
        if column.kind in WHAT_TO_DO and column.kind not in column.allowed:
            wrong[number] = column.example[0]
        if column.n_missing and not (number in wrong and column.kind is Kind.OTHER):
            lacking[number] = column.first_missing
    if not wrong and not lacking:
        return
    row, number = min((row, number) for rows in (wrong, lacking) for number, row in rows.items())
    first = columns[number]
    if wrong.get(number) == row and first.kind is not None:
        alike = [columns[j].name for j in wrong if columns[j].kind is first.kind]
        raise Refusal(
            f"has {count(len(alike), 'column')} of {first.kind.value}: {quoted(alike)}; the first "
            f"is {shortened(first.example[1])!r} in column {first.name!r}, {place(row)}",
            advice=WHAT_TO_DO[first.kind],
        )
    by_count = sorted((columns[j] for j in lacking), key=lambda c: -c.n_missing)
    counted = [f"{c.name!r} ({c.n_missing:,})" for c in by_count]
    raise bad_values("missing values", counted, f"{first.name!r}, {place(row)}", "fill them in")


# -- features ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Feature:
    """A column of X: the numbers of a column of the file, or where that column has a value."""

    name: str
    column: str
    value: str | None = None


def wanted_features(
    wanted: Sequence[str], columns: Iterable[str], *, one_hot: bool
) -> list[Feature]:
    """The features of these names, or an error that names those the file does not have.

    Examples
    --------
    >>> wanted_features(["from=home"], ["words", "from"], one_hot=True)
    [Feature(name='from=home', column='from', value='home')]
    """
    known = set(columns)
    found = {name: _feature(name, known, one_hot=one_hot) for name in wanted}
    missing = [name for name, feature in found.items() if feature is None]
    if missing:
        encoded = [name for name in missing if _feature(name, known, one_hot=True)]
        raise Refusal(
            f"lacks {len(missing):,} of {count(len(wanted), 'required column')}: {quoted(missing)}",
            advice="text columns need one_hot"
            if encoded
            else "add the columns of the training file",
        )
    return [feature for feature in found.values() if feature is not None]


def _feature(name: str, known: set[str], *, one_hot: bool) -> Feature | None:
    if name in known:
        return Feature(name, name)
    for sign in re.finditer("=", name) if one_hot else ():
        if name[: sign.start()] in known:
            return Feature(name, name[: sign.start()], name[sign.end() :])
    return None
