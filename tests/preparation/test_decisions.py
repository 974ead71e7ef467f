"""Which kind a column is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from thresher.preparation import LeftOut, Numbers, RawNumbers, RawTexts
from thresher.preparation.decisions import decide
from thresher.preparation.kinds import Booleans, Categories, Dates, Pairs, Times, Words

RNG = np.random.default_rng(0)
SENTENCES = [" ".join(RNG.choice(["a1", "b2", "c3", "d4", "e5"], 5)) for _ in range(60)]
MANY = [str(number) for number in range(0, 600, 10)]
TEXTS: dict[str, tuple[list[str | None], type, dict[str, Any]]] = {
    "numbers": ([*MANY, None], Numbers, {"n_missing": 1, "n_stray": 0, "median": 295.0}),
    "a stray text": ([*MANY, "unknown"], Numbers, {"n_missing": 0, "n_stray": 1}),
    "many cells of one stray text": ([*MANY, *40 * ["none"]], Numbers, {"n_stray": 40}),
    "more strays than numbers": ([*MANY, *70 * ["none"]], Categories, {}),
    "a few numbers among texts": (20 * ["2", "3", "4", "5more"], Categories, {}),
    "percent": (["1 %", "2%", "30%"] * 5, Numbers, {"median": 2.0}),
    "booleans": (10 * ["yes", "no", None], Booleans, {"n_missing": 10, "median": 0.5}),
    "only yes": (10 * ["yes", None], Categories, {}),
    "two values": (9 * ["u", "v", None], Pairs, {"first": "u", "second": "v", "n_missing": 9}),
    "two values, one rare": ([*9 * ["u"], "v"], Categories, {"values": ("u",), "rare": ("v",)}),
    "dates": (["2024-01-31", "2024-02-01"] * 5, Dates, {"order": "ymd"}),
    "dates with the day first": (["31/01/2024", "01/02/2024"] * 5, Dates, {"order": "dmy"}),
    "dates with the month first": (["01/31/2024", "02/01/2024"] * 5, Dates, {"order": "mdy"}),
    "dates with dots": (["02.01.2024", "01.02.2024"] * 5, Dates, {"order": "dmy"}),
    "dates in doubt": (
        ["02/01/2024", "01/02/2024"] * 5,
        LeftOut,
        {"reason": "day or month first?"},
    ),
    "times": (["10:30", "11:45"] * 5, Times, {"median": 11.125}),
    "sentences": (SENTENCES, Words, {"vocabulary": ("a1", "b2", "c3", "d4", "e5")}),
    "sentences of which few differ": (SENTENCES[:10] * 6, Categories, {}),
    "ids": ([f"x{i}" for i in range(50)], LeftOut, {"reason": "looks like ids"}),
    "names": ([f"Ann {i} Smith" for i in range(60)], Words, {"vocabulary": ("ann", "smith")}),
    "row numbers": ([str(i) for i in range(50)], LeftOut, {"reason": "looks like ids"}),
    "one value": (9 * ["x"], LeftOut, {"reason": "constant"}),
    "one number": (9 * ["1,000"], LeftOut, {"reason": "constant"}),
    "nothing": (9 * [None], LeftOut, {"reason": "no values"}),
    "nothing frequent": (3 * ["a", "b"], LeftOut, {"reason": "no value has 5 rows"}),
    "categories": (
        [*7 * ["b"], *6 * ["a"], "c", "d", None],
        Categories,
        {"values": ("a", "b"), "rare": ("c", "d"), "usual": "b", "n_missing": 1},
    ),
    "categories with gaps": (
        5 * ["b", "a", "c", None],
        Categories,
        {"values": ("", "a", "b", "c")},
    ),
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_column_of_texts(name: str) -> None:
    cells, kind, expected = TEXTS[name]
    found = decide(RawTexts.of("column", cells))
    assert type(found) is kind
    assert {field: getattr(found, field) for field in expected} == expected


NUMBERS: dict[str, tuple[str, Any, type, dict[str, Any]]] = {
    "numbers": ("x", [3, 1, 2], Numbers, {"median": 2.0, "n_missing": 0}),
    "gaps": ("x", [3, np.nan, 2], Numbers, {"median": 2.5, "n_missing": 1, "n_stray": 0}),
    "infinities": ("x", [3, np.inf, 2, -1e101], Numbers, {"median": 2.5, "n_stray": 2}),
    "only infinities": ("x", [-np.inf, np.inf], LeftOut, {"reason": "no usable number"}),
    "a constant": ("x", [2, 2, 2], LeftOut, {"reason": "constant"}),
    "a constant with gaps": ("x", [2, 2, np.nan], Numbers, {"n_missing": 1}),
    "row numbers": ("x", [7, 8, 9], LeftOut, {"reason": "looks like ids"}),
    "ids by name": ("customer_id", [7, 3, 9], LeftOut, {"reason": "looks like ids"}),
    "repeated ids": ("customer_id", [7, 3, 7], Numbers, {}),
    "fractions under such a name": ("id", [7, 3.5, 9], Numbers, {}),
    "a name that only ends so": ("paid", [7, 3, 9], Numbers, {}),
    "no name of ids": ("humid", [7, 3, 9], Numbers, {}),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_a_column_of_numbers(name: str) -> None:
    column, cells, kind, expected = NUMBERS[name]
    found = decide(RawNumbers(column, np.array(cells, dtype=np.float64)))
    assert type(found) is kind
    assert {field: getattr(found, field) for field in expected} == expected


def test_what_was_seen_and_done_is_said_in_a_few_words() -> None:
    said = {name: decide(RawTexts.of("c", cells)) for name, (cells, *_) in TEXTS.items()}
    assert said["a stray text"].seen == "numbers, also 'unknown'"
    assert said["a stray text"].done == "numbers; gaps: 295"
    assert said["categories"].seen == "text, 4 values"
    assert said["categories"].done == "2 columns + 1 for 2 rare values"
    assert said["ids"].done == "left out: looks like ids"
    assert max(len(column.done) for column in said.values()) <= 40
