"""pyarrow, which is an extra, and what the cells of its columns are: numbers, dates, text, …

The same cell counts as the same in every format: a column of strings that are all numbers is a
column of numbers, whether it comes from CSV or from Parquet.
"""

import functools
import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from thresher.errors import ThresherError
from thresher.memory import require_memory
from thresher.preparation.cells import MISSING
from thresher.table_files.table import Place, Refusal, refuse_missing
from thresher.validation import FloatArray
from thresher.wording import one_line

COPIES = 3  # of texts, labels and ids while they are compared and turned into arrays
BOOLEANS = ["true", "True", "TRUE", "false", "False", "FALSE"]
NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$|^[+-]?(?i:inf|infinity|nan)$"
DATE = (
    r"^([0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}|[0-9]{1,2}[-/.][0-9]{1,2}[-/.][0-9]{4})"
    r"([T ].*)?$|^[0-9]{1,2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?$"
)
INTEGER = r"^([+-]?[1-9][0-9]{0,17}|[+-]?0)$"
PADDED = r"^[+-]?0[0-9]"  # 007 is a name, not the number 7


@functools.cache  # it is asked for with every piece of a column
def arrow(part: str = "") -> Any:
    """The library, or a part of it, or an error that says how to install it.

    Examples
    --------
    >>> arrow("csv").__name__
    'pyarrow.csv'
    """
    try:
        return importlib.import_module(f"pyarrow.{part}" if part else "pyarrow")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "pyarrow":
            raise
        raise ThresherError(
            "CSV, Parquet and Arrow files need pyarrow; install it with: "
            'pip install "thresher[files]"'
        ) from error


@contextmanager
def own_errors(explain: Callable[[str], Refusal | None] = lambda _: None) -> Iterator[None]:
    """Errors of pyarrow become ours, with the explanation there is for them."""
    pa = arrow()
    try:
        yield
    except ThresherError:
        raise
    except (pa.ArrowException, OSError, UnicodeError, MemoryError, OverflowError) as error:
        raise explain(str(error)) or Refusal(
            f"is damaged, truncated or not in the format of its extension "
            f"({one_line(error, 200).rstrip('.')})",
            advice="write or copy it again",
        ) from error


# -- what cells are ----------------------------------------------------------------------------


class Kind(Enum):
    """What a column holds."""

    NUMBER = "numbers"
    BOOLEAN = "true and false"
    DATE = "dates or times"
    TEXT = "text"
    OTHER = "lists or other nested values"


@dataclass(frozen=True)
class Piece:
    """A piece of a column: its kind (None if all is missing), where it has gaps, its numbers."""

    kind: Kind | None
    missing: NDArray[np.bool_]
    numbers: FloatArray | None = None

    @classmethod
    def of_numbers(cls, numbers: FloatArray, kind: Kind = Kind.NUMBER) -> Self:
        """A piece whose cells are all numbers, or NaN for what is missing."""
        missing = np.isnan(numbers)
        return cls(None if missing.all() else kind, missing, numbers)


def plain(array: Any) -> Any:
    """The array without dictionaries, and with strings in one of their several layouts."""
    if arrow().types.is_dictionary(array.type):
        require_memory(COPIES * _decoded_size(array), "a column of repeated values")
        array = array.dictionary_decode()
    if str(array.type) in ("large_string", "string_view"):
        array = array.cast(arrow().string())
    return array


def _decoded_size(array: Any) -> int:
    """The bytes that an array with a dictionary takes without it."""
    pc, values = arrow("compute"), plain(array.dictionary)
    if not (is_text(values) or arrow().types.is_binary(values.type)):
        return len(array) * max(8, values.nbytes // max(1, len(values)))
    lengths = pc.take(pc.binary_length(values), array.indices)
    return int(pc.sum(lengths.cast(arrow().int64())).as_py() or 0) + 4 * len(array)


def is_text(array: Any) -> bool:
    """Whether the array holds strings."""
    return bool(arrow().types.is_string(array.type))


def is_numeric(array: Any) -> bool:
    """Whether the array holds numbers of any width."""
    types, kind = arrow().types, array.type
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def missing_cells(array: Any) -> NDArray[np.bool_]:
    """Which cells are null."""
    return np.asarray(array.is_null().to_numpy(zero_copy_only=False), dtype=np.bool_)


def as_texts(array: Any) -> Any:
    """The cells as strings without surrounding space; what stands for nothing is null."""
    pa, pc = arrow(), arrow("compute")
    texts = array if is_text(array) else array.cast(pa.string())
    texts = pc.utf8_trim_whitespace(texts)
    nothing = pc.is_in(texts, value_set=pa.array(MISSING))
    return pc.if_else(nothing, pa.scalar(None, pa.string()), texts)


def look_at(array: Any) -> Piece:
    """What a piece of a column holds.

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
        return Piece.of_numbers(np.full(len(array), np.nan))
    if is_text(array):
        return _look_at_texts(array)
    if types.is_boolean(array.type):
        return Piece.of_numbers(_floats(array), Kind.BOOLEAN)
    if is_numeric(array):
        return Piece.of_numbers(_floats(array))
    return Piece(Kind.DATE if types.is_temporal(array.type) else Kind.OTHER, missing_cells(array))


def _look_at_texts(array: Any) -> Piece:
    pa, pc = arrow(), arrow("compute")
    numbers = _parsed(array)
    if numbers is None:
        array = as_texts(array)
        numbers = _parsed(array)
    if numbers is not None:
        return Piece.of_numbers(numbers)
    if pc.all(pc.is_in(array.drop_null(), value_set=pa.array(BOOLEANS))).as_py():
        return Piece.of_numbers(_floats(array.cast(pa.bool_())), Kind.BOOLEAN)
    are_dates = pc.all(pc.match_substring_regex(array, DATE)).as_py()
    return Piece(Kind.DATE if are_dates else Kind.TEXT, missing_cells(array))


def _parsed(texts: Any) -> FloatArray | None:
    try:
        return _floats(texts)
    except arrow().ArrowInvalid:
        return None


def _floats(array: Any) -> FloatArray:
    # Not `safe`: an integer beyond 2⁵³ loses its last digits, which no linear model can see.
    numbers = array.cast(arrow().float64(), safe=False)
    return np.asarray(numbers.to_numpy(zero_copy_only=False), dtype=np.float64)


def first_text(array: Any) -> tuple[int, str]:
    """Place and content of the first cell that is not a number; the type, if it is not text."""
    pc = arrow("compute")
    if not is_text(array):
        return int(pc.index(pc.is_valid(array), True).as_py()), str(array.type)
    texts = as_texts(array)
    index = int(pc.index(pc.match_substring_regex(texts, NUMBER), False).as_py())
    return index, str(texts[index].as_py())


# -- labels and ids ----------------------------------------------------------------------------


def labels_of(name: str, column: Any, place: Place) -> NDArray[Any]:
    """The labels in a column as in the file: integers, other numbers, or strings; none missing.

    Examples
    --------
    >>> import pyarrow
    >>> labels_of("y", pyarrow.array(["+1", "-1"]), str)
    array([ 1, -1])
    >>> labels_of("y", pyarrow.array(["yes", None]), "row {}".format)
    Traceback (most recent call last):
    thresher.table_files.table.Refusal: has no label (column 'y') in 1 row; the first is row ...
    """
    labels = _numbers(column)
    missing = _missing_texts(column) if labels is None else np.isnan(labels)
    refuse_missing(f"label (column {name!r})", missing, place)
    if labels is None:
        return _strings(name, column)
    if not np.isfinite(labels).all():
        row = int(np.flatnonzero(~np.isfinite(labels))[0])
        raise Refusal(f"has an infinite label in {place(row)}", advice=f"correct column {name!r}")
    return labels


def ids_of(name: str, column: Any, place: Place) -> NDArray[Any]:
    """The ids in a column: integers if all are, else strings; none missing."""
    ids = _integers(column)
    if ids is None:
        refuse_missing(f"id (column {name!r})", _missing_texts(column), place)
    return _strings(name, column) if ids is None else ids


def _missing_texts(column: Any) -> NDArray[np.bool_]:
    return missing_cells(as_texts(column) if is_text(column) else column)


def _numbers(column: Any) -> NDArray[Any] | None:
    """Integers or floats, NaN for what is missing; None if a cell is not a number."""
    pc = arrow("compute")
    integers = _integers(column)
    if integers is not None:
        return integers
    if is_text(column):
        column = as_texts(column)
        if column.null_count == len(column):
            return None
        if pc.any(pc.match_substring_regex(column, PADDED)).as_py():
            return None
    elif not is_numeric(column):
        return None
    numbers = _parsed(column)
    return None if numbers is None else numbers.copy()  # out of Arrow's memory


def _integers(column: Any) -> NDArray[Any] | None:
    pa, pc = arrow(), arrow("compute")
    if is_text(column):
        column = as_texts(column)
        if column.null_count or not pc.all(pc.match_substring_regex(column, INTEGER)).as_py():
            return None
        column = pc.utf8_ltrim(column, characters="+")
    elif column.null_count or not pa.types.is_integer(column.type):
        return None
    try:
        return np.array(column.cast(pa.int64()).to_numpy(zero_copy_only=False))
    except pa.ArrowInvalid:  # beyond 2⁶³
        return None


def _strings(name: str, column: Any) -> NDArray[Any]:
    pa, pc = arrow(), arrow("compute")
    try:
        texts = as_texts(column)
    except pa.ArrowException as error:
        raise Refusal(
            f"has {column.type} in column {name!r}", advice="labels and ids must be numbers or text"
        ) from error
    longest = int(pc.max(pc.utf8_length(texts)).as_py() or 1)
    require_memory(4 * longest * len(texts), f"the column {name!r}")
    return np.array(texts.to_pylist(), dtype=np.str_)
