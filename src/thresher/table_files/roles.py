"""Which column is the label, which the id, and which are left."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from thresher.errors import UnreadableTable
from thresher.table_files.table import TableRequest
from thresher.table_files.wording import nearest, quoted

PANDAS_INDEX = re.compile(r"__index_level_\d+__")  # which pandas writes into Parquet files


@dataclass(frozen=True)
class Roles:
    """The columns of a file by what they are for; `others` are those that may be features."""

    label: str | None
    id_column: str | None
    others: tuple[str, ...]


def assign_roles(path: Path, names: Sequence[str], request: TableRequest) -> Roles:
    """What each column is for, or an error that names the column which is wrong.

    Examples
    --------
    >>> assign_roles(Path("mail.csv"), ["nr", "words", "spam"], TableRequest(id_column="nr"))
    Roles(label='spam', id_column='nr', others=('words',))
    """
    _refuse_bad_names(path, names, request)
    id_column = request.id_column
    if id_column is not None and id_column not in names:
        raise UnreadableTable(
            path, f"has no id column {quoted([id_column])}", advice=nearest(id_column, names)
        )
    visible = [name for name in names if name != id_column and not PANDAS_INDEX.fullmatch(name)]
    label = _label(path, visible, request) if request.with_labels else None
    others = tuple(name for name in visible if name not in (label, request.label))
    if request.features is None and not others:
        raise UnreadableTable(
            path,
            f"has no feature: {quoted(names)} is all there is",
            advice="add columns, or name another label with --label",
        )
    return Roles(label, id_column, others)


def _refuse_bad_names(path: Path, names: Sequence[str], request: TableRequest) -> None:
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        raise UnreadableTable(
            path,
            f"has columns of the same name: {quoted(repeated, limit=10)}",
            advice="rename them, and check that the first line has the names",
        )
    if "" in names and request.id_column != "":
        raise UnreadableTable(
            path,
            f"has no name for column {list(names).index('') + 1}",
            advice="name it, or drop it (pandas writes its index so; index=False leaves it out)",
        )


def _label(path: Path, visible: Sequence[str], request: TableRequest) -> str:
    label = request.label
    if label is not None and label == request.id_column:
        raise UnreadableTable(
            path, f"has {quoted([label])} as label and as id", advice="name two different columns"
        )
    if label is not None and label not in visible:
        raise UnreadableTable(
            path, f"has no label column {quoted([label])}", advice=nearest(label, visible)
        )
    if label is None and not visible:
        raise UnreadableTable(path, "has no label column", advice="add one")
    chosen = visible[-1] if label is None else label
    if request.features is not None and chosen in request.features:
        raise UnreadableTable(
            path,
            f"has the feature {quoted([chosen])} where the label is looked for",
            advice="name the label column with --label",
        )
    return chosen
