"""A preparation as plain values, and back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from preparation.test_table_preparation import frame
from thresher.preparation import TablePreparation
from thresher.preparation.kinds import KINDS as COLUMN_KINDS
from thresher.preparation.records import preparation_from, preparation_record

RECORDS: list[dict[str, Any]] = preparation_record(TablePreparation.for_frame(frame()))
KINDS = {record["kind"]: place for place, record in enumerate(RECORDS)}


def test_a_preparation_survives_json() -> None:
    preparation = TablePreparation.for_frame(frame())
    assert preparation_from(json.loads(json.dumps(RECORDS))) == preparation
    assert set(KINDS) == set(COLUMN_KINDS) - {"times"}


FORGED: dict[str, tuple[str, dict[str, Any], str]] = {
    "kind": ("numbers", {"kind": "code"}, "unknown kind 'code'"),
    "kind of kind": ("numbers", {"kind": ["numbers"]}, "unknown kind"),
    "field": ("numbers", {"more": 1}, "unknown field 'more'"),
    "name": ("numbers", {"name": 3}, "name must be a text"),
    "count": ("numbers", {"n_missing": -1}, "n_missing must be"),
    "count of text": ("numbers", {"n_missing": "1"}, "n_missing must be"),
    "median": ("numbers", {"median": "x"}, "median must be"),
    "infinite median": ("numbers", {"median": float("inf")}, "median must be"),
    "large median": ("numbers", {"median": 1e101}, "median must be at most"),
    "order": ("dates", {"order": "dym"}, "order must be one of ymd, dmy, mdy"),
    "pair": ("pairs", {"second": "f"}, "must have two values"),
    "values": ("categories", {"values": "Bonn"}, "values must be a list"),
    "value": ("categories", {"values": ["Bonn", 3]}, r"values\[1\] must be a text"),
    "no values": ("categories", {"values": []}, "must have values"),
    "twice": ("categories", {"rare": ["Bonn"]}, "all different"),
    "usual": ("categories", {"usual": "Rom"}, "usual must be one of the values"),
    "no words": ("words", {"vocabulary": [], "idf": []}, "must have words"),
    "word twice": ("words", {"vocabulary": ["a", "a"], "idf": [1, 1]}, "all different"),
    "weights": ("words", {"idf": [1.0]}, "as many numbers as there are words"),
    "zero weight": ("words", {"idf": [0.0, 1.0, 1.0, 1.0]}, "idf must be positive"),
    "large weight": ("words", {"idf": [1e200, 1.0, 1.0, 1.0]}, "at most"),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_record_is_refused(name: str) -> None:
    kind, change, reason = FORGED[name]
    records = [dict(record) for record in RECORDS]
    records[KINDS[kind]] |= change
    with pytest.raises((TypeError, ValueError), match=reason):
        preparation_from(records)


def test_what_is_no_list_of_distinct_columns_is_refused() -> None:
    for records, reason in (({}, "a list"), ([3], "a dict"), (RECORDS[:1] * 2, "distinct names")):
        with pytest.raises((TypeError, ValueError), match=reason):
            preparation_from(records)
    with pytest.raises(KeyError, match="median"):
        preparation_from([{n: v for n, v in RECORDS[0].items() if n != "median"}])
