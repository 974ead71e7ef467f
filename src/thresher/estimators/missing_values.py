"""Cells and labels that are missing, infinite or not numbers."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from thresher.validation import FloatArray
from thresher.wording import count, some

MOST_NAMED = 5  # columns in one message
FINITE = "Make infinite values missing first: X = np.where(np.isfinite(X), X, np.nan)"
EMPTY = {"None", "nan", "NaT", "<NA>"}  # as Python, NumPy and pandas print a missing value


class MissingCells(ValueError):
    """Cells of X that are missing or infinite. `args` are which they are, and what to do."""

    def __str__(self) -> str:
        return ". ".join(self.args)


def refuse_missing_labels(y: Any) -> None:
    """Raise `ValueError` with the first missing label, in scikit-learn's words.

    Examples
    --------
    >>> refuse_missing_labels(["yes", "no", None])
    Traceback (most recent call last):
    ValueError: Input y contains NaN: y[2] is missing; drop the rows without a label
    """
    values = np.asarray(y, dtype=object).ravel().tolist()
    for place, value in enumerate(values):
        if not isinstance(value, str) and str(value) in EMPTY:
            missing = f"y[{place}] is missing; drop the rows without a label"
            raise ValueError(f"Input y contains NaN: {missing}") from None


def refuse_infinite(numbers: FloatArray, X: Any) -> None:
    """Raise `ValueError` with the first infinite cell of a table X that has these numbers.

    Examples
    --------
    >>> refuse_infinite(np.array([[1.0, np.nan], [np.inf, 2.0]]), None)
    Traceback (most recent call last):
    ValueError: Input X contains infinity in 1 cell; the first is X[1, 0] = inf. Make infinite...
    """
    infinite = np.argwhere(np.isinf(numbers))
    if infinite.size:
        i, j = infinite[0]
        found = f"{count(len(infinite), 'cell')}; the first is X[{i}, {name_of(X, j)}]"
        raise ValueError(f"Input X contains infinity in {found} = {numbers[i, j]}. {FINITE}")


@contextmanager
def naming_what_is_no_number(X: Any) -> Iterator[None]:
    """Errors of scikit-learn's checks name the first entry that is not a number."""
    try:
        with np.errstate(over="ignore"):  # too large for a float becomes infinite: an error later
            yield
    except (TypeError, ValueError, OverflowError) as error:
        place = _first_non_number(X)
        if place is None:
            raise
        kind = TypeError if isinstance(error, TypeError) else ValueError
        advice = "turn texts into numbers first, as with a OneHotEncoder in a ColumnTransformer"
        raise kind(f"X must hold numbers, but {place}: {error}; {advice}") from error


def _first_non_number(X: Any) -> str | None:
    """The first entry that `float` refuses, in words; None if there is none."""
    try:
        cells = np.asarray(X, dtype=object)
    except ValueError:  # ragged
        return None
    if cells.ndim != 2:
        return None
    for (i, j), cell in np.ndenumerate(cells):
        try:
            float(cell)
        except (TypeError, ValueError, OverflowError):
            return f"X[{i}, {name_of(X, j)}] is {str(cell)[:40]!r}"
    return None


def name_of(X: Any, j: int) -> str:
    """A column's name, quoted, or its number if it has none."""
    names = getattr(X, "columns", None)
    return str(j) if names is None else repr(names[j])


def by_column(bad_columns: Any, X: Any) -> str:
    """The number of entries that are not finite in each column."""
    columns, counts = np.unique(bad_columns, return_counts=True)
    return some((f"{name_of(X, j)} ({n})" for j, n in zip(columns, counts)), limit=MOST_NAMED)
