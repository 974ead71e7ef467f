"""Columns as they come: numbers, or distinct texts and where each of them stands."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from thresher.preparation.cells import NOTHING, Meaning
from thresher.validation import FloatArray, require_in_memory
from thresher.wording import nearest, quoted


@dataclass(frozen=True, eq=False)
class RawTexts:
    """A column of texts.

    Parameters
    ----------
    name : of the column
    codes : (n,) which of the texts each cell holds; -1 for a missing cell
    texts : the distinct texts

    Examples
    --------
    >>> column = RawTexts.of("size", ["10", "12", None, "10"])
    >>> column.codes.tolist(), column.texts, column.read_as(float).tolist()
    ([0, 1, -1, 0], ['10', '12'], [10.0, 12.0, nan, 10.0])
    """

    name: str
    codes: NDArray[np.intp]
    texts: Sequence[str]

    @classmethod
    def of(cls, name: str, cells: Iterable[object]) -> Self:
        """The column with these cells; what stands for nothing, such as None or NaN, is missing."""
        places: dict[str, int] = {}
        codes = []
        for cell in cells:
            text = str(cell).strip()
            codes.append(-1 if text in NOTHING else places.setdefault(text, len(places)))
        return cls(name, np.array(codes, dtype=np.intp), list(places))

    @property
    def n_rows(self) -> int:
        """The number of cells."""
        return self.codes.size

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Which cells are missing."""
        return self.codes < 0

    @property
    def counts(self) -> NDArray[np.intp]:
        """How often each text occurs."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.texts))

    def read_as(self, meaning: Meaning) -> FloatArray:
        """What each cell means; NaN for a missing cell."""
        values = np.array([*map(meaning, self.texts), np.nan])
        return values[self.codes]

    def text_at(self, row: int) -> str:
        """The text of a cell that is not missing."""
        return self.texts[self.codes[row]]

    def as_texts(self) -> "RawTexts":
        """The column itself."""
        return self


@dataclass(frozen=True, eq=False)
class RawNumbers:
    """A column of numbers; NaN for a missing cell.

    Examples
    --------
    >>> RawNumbers("size", np.array([10.0, np.nan, 1.5])).as_texts().texts
    ['1.5', '10']
    """

    name: str
    values: FloatArray

    @property
    def n_rows(self) -> int:
        """The number of cells."""
        return self.values.size

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Which cells are missing."""
        return np.isnan(self.values)

    def text_at(self, row: int) -> str:
        """The number in a cell, as it would be written."""
        return repr(float(self.values[row])).removesuffix(".0")

    def as_texts(self) -> RawTexts:
        """The numbers as they would be written; whole ones without a decimal point."""
        distinct, codes = np.unique(self.values, return_inverse=True)
        is_number = ~np.isnan(distinct)
        texts = [repr(number).removesuffix(".0") for number in distinct[is_number].tolist()]
        return RawTexts(self.name, np.where(codes < len(texts), codes, -1), texts)


RawColumn = RawTexts | RawNumbers


def columns_of(frame: Any, names: Sequence[str] | None = None) -> list[RawColumn]:
    """The columns of a data frame of pandas, Polars or pyarrow, all or those of these names.

    Raises
    ------
    TypeError : it is not a data frame
    ValueError : it lacks a column
    """
    require_in_memory(frame)
    known = getattr(frame, "column_names", getattr(frame, "columns", None))
    if known is None:
        raise TypeError(f"X must be a data frame with named columns, got {type(frame).__name__}")
    places = {str(name): name for name in known}
    wanted = list(places) if names is None else names
    if missing := [name for name in wanted if name not in places]:
        raise ValueError(f"X lacks {quoted(missing, limit=5)}; {nearest(missing[0], list(places))}")
    return [raw_column(name, frame[places[name]]) for name in wanted]


def raw_column(name: str, cells: Any) -> RawColumn:
    """A column of a data frame as it comes: booleans and numbers are numbers, all else is text.

    Examples
    --------
    >>> raw_column("n", [1, 2]), raw_column("d", np.array(["2024-01-31"], "M8[D]")).texts
    (RawNumbers(name='n', values=array([1., 2.])), ['2024-01-31'])
    """
    array = np.asarray(cells)
    if array.ndim != 1:
        raise ValueError(f"column {name!r} of X must have one dimension, got {array.ndim}")
    if array.dtype.kind in "fiub":
        return RawNumbers(name, array.astype(np.float64))
    if array.dtype.kind == "M":
        array = np.datetime_as_string(array)
    return RawTexts.of(name, array.tolist())
