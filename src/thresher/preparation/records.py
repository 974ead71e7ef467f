"""A preparation as plain values, as model files hold them, and back with every value checked."""

import math
from dataclasses import asdict, fields
from typing import Any, get_type_hints

from thresher.preparation.cells import DATE_ORDERS, LARGEST
from thresher.preparation.kinds import (
    KINDS,
    Categories,
    ColumnPreparation,
    Dates,
    Numbers,
    Pairs,
    Words,
)
from thresher.preparation.table_preparation import TablePreparation
from thresher.validation import check_count, check_number


def preparation_record(preparation: TablePreparation) -> list[dict[str, Any]]:
    """The preparation as plain values, one record for each column.

    Examples
    --------
    >>> age = Numbers("age", "numbers", n_missing=2, n_stray=0, median=40.0)
    >>> preparation_record(TablePreparation((age,)))
    [{'kind': 'numbers', 'name': 'age', 'seen': 'numbers', 'n_missing': 2, 'n_stray': 0,
      'median': 40.0}]
    """
    return [{"kind": column.kind, **_plain(asdict(column))} for column in preparation.columns]


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    return {n: list(v) if isinstance(v, tuple) else v for n, v in values.items()}


def preparation_from(records: object) -> TablePreparation:
    """The preparation in these records.

    Raises
    ------
    TypeError, ValueError, KeyError : they are not such records
    """
    if not isinstance(records, list):
        raise TypeError(f"preparation must be a list, got {type(records).__name__}")
    columns = tuple(_column(record, f"preparation[{i}]") for i, record in enumerate(records))
    if len({column.name for column in columns}) < len(columns):
        raise ValueError("columns of preparation must have distinct names")
    return TablePreparation(columns)


def _column(record: object, place: str) -> ColumnPreparation:
    if not isinstance(record, dict):
        raise TypeError(f"{place} must be a dict, got {type(record).__name__}")
    if not isinstance(kind := record["kind"], str) or kind not in KINDS:
        raise ValueError(f"{place} has the unknown kind {kind!r}")
    known = {"kind", *(field.name for field in fields(KINDS[kind]))}
    if unknown := set(record) - known:
        raise ValueError(f"{place} has the unknown field {min(unknown)!r}")
    types = get_type_hints(KINDS[kind])
    values = {n: _checked(record[n], types[n], f"{place}.{n}") for n in known - {"kind"}}
    column = KINDS[kind](**values)
    _refuse_contradictions(column, place)
    return column


def _checked(value: object, kind: object, place: str) -> Any:
    """The value as this type of field."""
    if kind is int:
        return check_count(value, place, minimum=0)
    if kind is float:
        return check_number(value, place)
    if kind is str:
        if not isinstance(value, str):
            raise TypeError(f"{place} must be a text, got {type(value).__name__}")
        return value
    if not isinstance(value, list):
        raise TypeError(f"{place} must be a list, got {type(value).__name__}")
    item = str if kind == tuple[str, ...] else float
    return tuple(_checked(one, item, f"{place}[{i}]") for i, one in enumerate(value))


def _refuse_contradictions(column: ColumnPreparation, place: str) -> None:
    if isinstance(column, Numbers) and not abs(column.median) <= LARGEST:
        raise ValueError(f"{place}.median must be at most {LARGEST:g}")
    if isinstance(column, Dates) and column.order not in DATE_ORDERS:
        raise ValueError(f"{place}.order must be one of {', '.join(DATE_ORDERS)}")
    if isinstance(column, Pairs) and column.first == column.second:
        raise ValueError(f"{place} must have two values")
    if isinstance(column, Categories):
        values = (*column.values, *column.rare)
        if not column.values or len(set(values)) < len(values):
            raise ValueError(f"{place} must have values, all different")
        if column.usual not in values:
            raise ValueError(f"{place}.usual must be one of the values")
    if isinstance(column, Words):
        _refuse_bad_words(column, place)


def _refuse_bad_words(column: Words, place: str) -> None:
    if not column.vocabulary or len(set(column.vocabulary)) < len(column.vocabulary):
        raise ValueError(f"{place}.vocabulary must have words, all different")
    if len(column.idf) != len(column.vocabulary):
        raise ValueError(f"{place}.idf must have as many numbers as there are words")
    if not all(0 < weight <= LARGEST and math.isfinite(weight) for weight in column.idf):
        raise ValueError(f"{place}.idf must be positive and at most {LARGEST:g}")
