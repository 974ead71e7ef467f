"""What the text in a cell means."""

from __future__ import annotations

from math import isnan, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.preparation.cells import (
    LARGEST,
    days_since_1970,
    hours_of,
    number_of,
    spelled,
    truth_of,
)

NUMBERS = {
    "1": 1.0,
    " -2.5 ": -2.5,
    "+.5": 0.5,
    "3.": 3.0,
    "1e3": 1000.0,
    "1,234": 1234.0,
    "-1,234,567.5": -1234567.5,
    "1 234 567": 1234567.0,
    "1\u202f234,": nan,
    "1\u00a0234.5": 1234.5,
    "12'345": 12345.0,
    "12%": 12.0,
    "12.5 %": 12.5,
    "$5": 5.0,
    "-$ 1,200.50": -1200.5,
    "7 €": 7.0,
    "7 EUR": 7.0,
    "1,23": nan,
    "12,34,567": nan,
    "1.2.3": nan,
    "inf": nan,
    "nan": nan,
    "1e999": nan,
    "2e100": nan,
    "٣": nan,
    "0x10": nan,
    "1_000": nan,
    "": nan,
    "twelve": nan,
    "9" * 61: nan,
}


@pytest.mark.parametrize("text", NUMBERS)
def test_a_number_is_read_as_people_write_it(text: str) -> None:
    assert number_of(text) == pytest.approx(NUMBERS[text], rel=1e-15, nan_ok=True)


@given(st.floats(-LARGEST, LARGEST))
def test_every_number_that_python_writes_is_read(number: float) -> None:
    assert number_of(repr(number)) == number


DATES = {
    ("ymd", "1970-01-31"): 30.0,
    ("ymd", "1970/1/2"): 1.0,
    ("dmy", "02.01.1970"): 1.0,
    ("mdy", "01/02/1970"): 1.0,
    ("ymd", "1970-01-01 06:00"): 0.25,
    ("ymd", "1970-01-01T06:00:00.500000000Z"): 0.25 + 0.5 / 86400,
    ("ymd", "1970-01-01T06:00:00+06:00"): 0.0,
    ("ymd", "1970-01-01 00:00:00-0600"): 0.25,
    ("ymd", "1970-13-01"): nan,
    ("ymd", "1970-02-30"): nan,
    ("ymd", "70-01-01"): nan,
    ("dmy", "1.1.70"): nan,
    ("ymd", "1970-01/01"): nan,
    ("ymd", "1970-01-01 25:00"): nan,
    ("ymd", "1970-01-01 06:00 later"): nan,
    ("mdy", "31/01/1970"): nan,
    ("ymd", "0000-01-01"): nan,
}


@pytest.mark.parametrize(("order", "text"), DATES)
def test_a_date_is_its_days_since_1970(order: str, text: str) -> None:
    assert days_since_1970(order)(text) == pytest.approx(DATES[order, text], nan_ok=True)


@given(st.dates())
def test_every_date_that_python_writes_is_read(date: object) -> None:
    assert not isnan(days_since_1970("ymd")(str(date)))


def test_times_are_hours_and_words_are_truth_values() -> None:
    assert [hours_of(text) for text in ("00:00", "6:30", "23:59:30")] == [0, 6.5, 23 + 59.5 / 60]
    assert all(isnan(hours_of(text)) for text in ("24:00", "6:60", "6", "6:30 pm"))
    assert [truth_of(text) for text in ("TRUE", "y", "Off", "0")] == [1, 1, 0, 0]
    assert isnan(truth_of("perhaps"))


def test_a_category_is_spelled_alike_whatever_the_file_makes_of_its_numbers() -> None:
    assert [spelled(text) for text in ("5", "5.0", "0.0", "5.5", "05", "1e3")] == [
        *("5", "5", "0", "5.5", "05", "1e3")
    ]
    assert spelled("a\x1b[2J\nb") == "a\\x1b[2J\nb"


@given(st.text())
def test_no_text_is_too_odd(text: str) -> None:
    meanings = (number_of, truth_of, hours_of, days_since_1970("ymd"), days_since_1970("dmy"))
    for meaning in meanings:
        assert isnan(value := meaning(text)) or abs(value) <= LARGEST
    assert isinstance(spelled(text).encode(), bytes)
