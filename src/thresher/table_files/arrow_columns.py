"""What a piece of an Arrow column holds: numbers, true and false, dates, text.

The same cell counts as the same in every format: a column of strings that are all numbers is a
column of numbers, whether it comes from CSV or from Parquet.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from thresher.table_files.arrow_library import arrow
from thresher.validation import FloatArray

# fmt: off
MISSING = [
    "", "NA", "N/A", "n/a", "#N/A", "#NA", "#N/A N/A", "<NA>", "NULL", "null", "None",
    "NaN", "nan", "-NaN", "-nan", "1.#QNAN", "-1.#QNAN", "1.#IND", "-1.#IND",
]
# fmt: on
TRUE, FALSE = ["true", "True", "TRUE"], ["false", "False", "FALSE"]
NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$|^[+-]?(?i:inf|infinity|nan)$"
DATE = (
    r"^([0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}|[0-9]{1,2}[-/.][0-9]{1,2}[-/.][0-9]{4})"
    r"([T ].*)?$|^[0-9]{1,2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?$"
)


class Kind(Enum):
    """What a column holds."""

    NUMBER = "numbers"
    BOOLEAN = "true and false"
    DATE = "dates or times"
    TEXT = "text"
    OTHER = "lists or other things that are no table cells"


@dataclass(frozen=True)
class Piece:
    """A piece of a column: its kind (None if all is missing), and its numbers or texts."""

    kind: Kind | None
    numbers: FloatArray | None = None
    texts: Any = None


def plain(array: Any) -> Any:
    """The array without dictionaries, and with strings in one of their several layouts."""
    if arrow().types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if str(array.type) in ("large_string", "string_view"):
        array = array.cast(arrow().string())
    return array


def is_text(array: Any) -> bool:
    """Whether the array holds strings."""
    return bool(arrow().types.is_string(array.type))


def is_number(kind: Any) -> bool:
    """Whether a type of Arrow's is one of numbers."""
    types = arrow().types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def as_texts(array: Any) -> Any:
    """The cells as strings without space around them; what stands for nothing is null."""
    pa, pc = arrow(), arrow("compute")
    texts = array if is_text(array) else array.cast(pa.string())
    texts = pc.utf8_trim_whitespace(texts)
    nothing = pc.is_in(texts, value_set=pa.array(MISSING))
    return pc.if_else(nothing, pa.scalar(None, pa.string()), texts)


def look_at(array: Any) -> Piece:
    """The piece of a column in its own terms.

    Examples
    --------
    >>> import pyarrow
    >>> look_at(pyarrow.array([" 1", "NA"])).numbers
    array([ 1., nan])
    >>> look_at(pyarrow.array(["yes", "1"])).kind
    <Kind.TEXT: 'text'>
    """
    array = plain(array)
    types = arrow().types
    if len(array) == array.null_count:
        return Piece(None, numbers=np.full(len(array), np.nan))
    if is_text(array):
        return _look_at_texts(array)
    if types.is_boolean(array.type):
        return Piece(Kind.BOOLEAN, numbers=_floats(array.cast(arrow().int8())))
    if is_number(array.type):
        numbers = _floats(array)
        return Piece(None if np.isnan(numbers).all() else Kind.NUMBER, numbers=numbers)
    return Piece(Kind.DATE if types.is_temporal(array.type) else Kind.OTHER)


def _look_at_texts(array: Any) -> Piece:
    pa, pc = arrow(), arrow("compute")
    numbers = _parsed(array)
    if numbers is None:
        array = as_texts(array)
        numbers = _parsed(array)
    if numbers is not None:
        return Piece(None if np.isnan(numbers).all() else Kind.NUMBER, numbers=numbers)
    if pc.all(pc.is_in(array.drop_null(), value_set=pa.array(TRUE + FALSE))).as_py():
        truth = pc.is_in(array, value_set=pa.array(TRUE))
        truth = pc.if_else(pc.is_valid(array), truth, pa.scalar(None, pa.bool_()))
        return Piece(Kind.BOOLEAN, numbers=_floats(truth.cast(pa.int8())))
    are_dates = pc.all(pc.match_substring_regex(array, DATE)).as_py()
    return Piece(Kind.DATE if are_dates else Kind.TEXT, texts=array)


def _parsed(texts: Any) -> FloatArray | None:
    try:
        return _floats(texts)
    except arrow().ArrowInvalid:
        return None


def _floats(array: Any) -> FloatArray:
    # Not `safe`: an integer beyond 2⁵³ loses its last digits, which no linear model can see.
    numbers = array.cast(arrow().float64(), safe=False)
    return np.asarray(numbers.to_numpy(zero_copy_only=False), dtype=np.float64)
