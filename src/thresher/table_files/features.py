"""Which columns the table will have, and from which column of the file each comes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from thresher.errors import UnreadableTable
from thresher.table_files.survey import MAX_VALUES, ColumnSummary, Kind
from thresher.table_files.wording import count, quoted


@dataclass(frozen=True)
class Feature:
    """A column of X: the numbers of a column of the file, or where that column has a value."""

    name: str
    column: str
    value: str | None = None


def wanted_features(
    path: Path, wanted: Sequence[str], columns: Iterable[str], *, one_hot: bool
) -> list[Feature]:
    """The features of these names, or an error that names those the file does not have.

    Examples
    --------
    >>> wanted_features(Path("mail.csv"), ["from=home"], ["words", "from"], one_hot=True)
    [Feature(name='from=home', column='from', value='home')]
    """
    known = set(columns)
    found = {name: _feature(name, known, one_hot=one_hot) for name in wanted}
    missing = [name for name, feature in found.items() if feature is None]
    if missing:
        encoded = [name for name in missing if _feature(name, known, one_hot=True)]
        advice = "add them, or use the file that the model was learned from as a pattern"
        raise UnreadableTable(
            path,
            f"lacks {count(len(missing), 'column')} of {len(wanted):,} that are needed: "
            f"{quoted(missing)}",
            advice="text columns need --one-hot" if encoded else advice,
        )
    return [feature for feature in found.values() if feature is not None]


def _feature(name: str, known: set[str], *, one_hot: bool) -> Feature | None:
    if name in known:
        return Feature(name, name)
    ends = [place for place, character in enumerate(name) if character == "="] if one_hot else []
    for end in ends:
        if name[:end] in known:
            return Feature(name, name[:end], name[end + 1 :])
    return None


def all_features(
    path: Path, columns: Sequence[ColumnSummary], *, one_hot: bool = False
) -> list[Feature]:
    """One feature for each column of numbers, and one for each value of each column of text."""
    if one_hot:
        _refuse_many_values(path, columns)
    features: list[Feature] = []
    for column in columns:
        if column.kind is Kind.TEXT:
            features += [
                Feature(f"{column.name}={value}", column.name, value)
                for value in sorted(column.values)
            ]
        else:
            features.append(Feature(column.name, column.name))
    repeated = [name for name, times in Counter(f.name for f in features).items() if times > 1]
    if repeated:
        raise UnreadableTable(
            path,
            f"has one-hot columns of the same name as others: {quoted(repeated, limit=10)}",
            advice="rename those columns",
        )
    return features


def _refuse_many_values(path: Path, columns: Sequence[ColumnSummary]) -> None:
    many = [c.name for c in columns if c.kind is Kind.TEXT and len(c.values) > MAX_VALUES]
    if many:
        raise UnreadableTable(
            path,
            f"has text columns of more than {MAX_VALUES} different values: {quoted(many)}",
            advice="drop them, group their values, or make one of them the id column",
        )
