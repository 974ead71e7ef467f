"""What the text in a cell means: nothing, a number, a truth value, a date or a time of day.

Every function of a text returns a float, NaN if the text means something else.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from math import isfinite, nan

from thresher.wording import visible

# fmt: off
MISSING = [
    "", "NA", "N/A", "n/a", "#N/A", "#NA", "#N/A N/A", "<NA>", "NULL", "null", "None", "NaT",
    "NaN", "nan", "-NaN", "-nan", "1.#QNAN", "-1.#QNAN", "1.#IND", "-1.#IND",
]
TRUTH = {
    "true": 1.0, "t": 1.0, "yes": 1.0, "y": 1.0, "on": 1.0, "1": 1.0,
    "false": 0.0, "f": 0.0, "no": 0.0, "n": 0.0, "off": 0.0, "0": 0.0,
}
# fmt: on
NOTHING = frozenset(MISSING)
LARGEST = 1e100  # what solvers can square and add up
MAX_LENGTH = 60  # characters of a number or a date
STARTS = frozenset("+-.0123456789$€£¥")  # of a number; most texts are told apart by it
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
GROUPED = re.compile(r"[+-]?\d{1,3}((,\d{3})+|([ '’\u00a0\u202f]\d{3})+)(\.\d+)?", re.ASCII)
AROUND = re.compile(r"^([+-]?)\s*[$€£¥]\s*|\s*(%|[$€£¥]|EUR|USD|GBP|CHF)$")
DATE_ORDERS = {"ymd": ("year", "month", "day"), "dmy": ("day", "month", "year")}
DATE_ORDERS["mdy"] = ("month", "day", "year")
DATE = re.compile(
    r"(\d{1,4})([-/.])(\d{1,2})\2(\d{1,4})(?:[T ]+(\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?.*))?",
    re.ASCII,
)
TIME = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d+)?))?", re.ASCII)
ZONE = re.compile(r"(?:Z|UTC|([+-])(\d{2}):?(\d{2}))?", re.ASCII)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Meaning = Callable[[str], float]


def number_of(text: str) -> float:
    """The number, also with thousands separators, a currency or a percent sign.

    Examples
    --------
    >>> [number_of(text) for text in ("1.5", "1,234.5", "$ 1,200", "12 %", "unknown")]
    [1.5, 1234.5, 1200.0, 12.0, nan]
    """
    text = text.strip()
    if not text or text[0] not in STARTS or len(text) > MAX_LENGTH:
        return nan
    if not NUMBER.fullmatch(text):
        text = AROUND.sub(r"\1", text)
        if GROUPED.fullmatch(text):
            text = re.sub(r"[, '’\u00a0\u202f]", "", text)
        elif not NUMBER.fullmatch(text):
            return nan
    number = float(text)
    return number if isfinite(number) and abs(number) <= LARGEST else nan


def truth_of(text: str) -> float:
    """1 for words such as yes, 0 for words such as no.

    Examples
    --------
    >>> truth_of("Yes"), truth_of("n"), truth_of("maybe")
    (1.0, 0.0, nan)
    """
    return TRUTH.get(text.strip().lower(), nan)


def days_since_1970(order: str) -> Meaning:
    """A function that turns dates, written in this order, into days; a time of day is a fraction.

    Examples
    --------
    >>> days_since_1970("dmy")("2.1.1970"), days_since_1970("ymd")("1970-01-02T12:00Z")
    (1.0, 1.5)
    """
    parts = DATE_ORDERS[order]

    def days(text: str) -> float:
        found = DATE.fullmatch(text.strip()) if len(text) <= MAX_LENGTH else None
        if found is None:
            return nan
        written = dict(zip(parts, found.group(1, 3, 4)))
        if len(written["year"]) != 4:
            return nan
        try:
            year, month, day = (int(written[part]) for part in DATE_ORDERS["ymd"])
            date = datetime(year, month, day, tzinfo=UTC)
            hours = 0.0 if found[5] is None else _hours_with_zone(found[5])
        except ValueError:
            return nan
        return (date - EPOCH) / timedelta(days=1) + hours / 24

    return days


def hours_of(text: str) -> float:
    """The hours of a time of day.

    Examples
    --------
    >>> hours_of("14:30"), hours_of("25:00")
    (14.5, nan)
    """
    found = TIME.fullmatch(text.strip()) if len(text) <= MAX_LENGTH else None
    if found is None:
        return nan
    hours, minutes, seconds = int(found[1]), int(found[2]), float(found[3] or 0)
    return hours + minutes / 60 + seconds / 3600 if max(hours / 24, minutes / 60) < 1 else nan


def _hours_with_zone(text: str) -> float:
    time = TIME.match(text)
    zone = ZONE.fullmatch(text[time.end() :].strip()) if time else None
    if time is None or zone is None:
        return nan
    hours = hours_of(time[0])
    if zone[1] is None:
        return hours
    ahead = int(zone[2]) + int(zone[3]) / 60
    return hours - ahead if zone[1] == "+" else hours + ahead


def spelled(text: str) -> str:
    """The text of a category: without odd characters, and whole numbers without decimals.

    Examples
    --------
    >>> spelled("5.0"), spelled("007"), spelled("north\\x1b[2J")
    ('5', '007', 'north\\\\x1b[2J')
    """
    if re.fullmatch(r"[+-]?[1-9]\d{0,14}\.0+|0\.0+", text):
        return text.partition(".")[0]
    return visible(text, keep="\t\n")
