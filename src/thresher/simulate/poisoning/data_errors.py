"""Plain data errors, which are no attack and which an audit must find all the same."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from thresher.simulate.poisoning.clean_table import part_of, replaced
from thresher.simulate.poisoning.poison import check_numbers, picked, stacked
from thresher.validation import Rows, check_fraction, generator_from, is_sparse

WRONG_FACTOR = 1000.0
STUCK_AT = -999.0
SINGLE_PRECISION = 1e-6
REPEATED = "repeated-rows"

Positions: TypeAlias = NDArray[np.intp]
# Wrong rows, where they are in the table, and in which columns they are wrong.
Spoiled: TypeAlias = tuple[Rows, Positions, Positions]


@dataclass(frozen=True, eq=False)
class SpoiledTable:
    """A table with a data error in some of its rows.

    Parameters
    ----------
    X, y : rows and labels, of the same kind as the clean ones
    is_spoiled : which rows are wrong; for evaluation
    columns : the columns in which they are; empty for repeated rows
    origins : position of each row in the clean table

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> table = spoil(X, X[:, 0] > 0, error="stuck-sensor", random_state=0)
    >>> bool((table.X[table.is_spoiled][:, table.columns] == -999).all())
    True
    """

    X: Any
    y: Any
    is_spoiled: NDArray[np.bool_]
    columns: Positions
    origins: Positions


def spoil(
    X: Any,
    y: Any,
    *,
    error: str,
    fraction: float = 0.03,
    random_state: int | Generator | None = None,
) -> SpoiledTable:
    """The table with one kind of data error in some of its rows; labels stay right.

    Parameters
    ----------
    X : (n, d) array, SciPy sparse matrix, or data frame of pandas or Polars
    y : n labels
    error : what goes wrong:

        - "wrong-unit": a column is multiplied by 1,000
        - "stuck-sensor": a column reads −999 in consecutive rows
        - "swapped-columns": two columns are swapped
        - "shifted-cells": all cells from some column on move one column to the right; the last one
          is lost, and the first one is 0
        - "repeated-rows": rows stand in the table twice, the second time at a random place; both
          count as spoiled
    fraction : share of the rows that it befalls, below 1; it must give at least one row
    random_state : seed or `np.random.Generator`

    Raises
    ------
    ValueError, TypeError
        If a parameter is invalid; the message names it. Also if the type of X cannot hold the
        wrong value, or the table has too few columns for the error.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> table = spoil(X, X[:, 0] > 0, error="repeated-rows", random_state=0)
    >>> table.X.shape, int(table.is_spoiled.sum())
    ((206, 3), 12)
    """
    if not isinstance(error, str) or error not in DATA_ERRORS:
        raise ValueError(f"error must be one of {', '.join(DATA_ERRORS)}, got {error!r}")
    share, rng = check_fraction(fraction, "fraction"), generator_from(random_state)
    rows = check_numbers(X)
    n_rows, n_spoiled = rows.shape[0], round(share * rows.shape[0])
    if len(y) != n_rows:
        raise ValueError(f"y must hold one label for each of {n_rows} rows, got {len(y)}")
    if n_spoiled == 0:
        raise ValueError(f"fraction must reach one of {n_rows} rows, got {share:g}")
    if error == REPEATED:
        return _repeated(X, y, rows, n_spoiled, rng)
    return _in_place(X, y, *_ERRORS[error](rows, n_spoiled, rng))


def _wrong_unit(rows: Rows, n_spoiled: int, rng: Generator) -> Spoiled:
    column = _usable_column(rows, n_spoiled, rng)
    used = np.flatnonzero(part_of(rows, column).ravel())
    places = rng.choice(used, size=min(n_spoiled, used.size), replace=False)
    wrong = rows[places]
    return replaced(wrong, column, WRONG_FACTOR * part_of(wrong, column)), places, column


def _stuck_sensor(rows: Rows, n_spoiled: int, rng: Generator) -> Spoiled:
    column = _usable_column(rows, n_spoiled, rng)
    places = rng.integers(rows.shape[0] - n_spoiled + 1) + np.arange(n_spoiled)
    return replaced(rows[places], column, np.full((n_spoiled, 1), STUCK_AT)), places, column


def _swapped_columns(rows: Rows, n_spoiled: int, rng: Generator) -> Spoiled:
    _require_columns(rows, "swapped-columns")
    first = _usable_column(rows, n_spoiled, rng)
    others = np.delete(np.arange(rows.shape[1]), first)
    pair = np.append(first, rng.choice(others))
    entries = part_of(rows, pair)
    differ = np.flatnonzero(entries[:, 0] != entries[:, 1])
    places = rng.choice(differ, size=min(n_spoiled, differ.size), replace=False)
    return replaced(rows[places], pair, entries[places][:, ::-1]), places, pair


def _shifted_cells(rows: Rows, n_spoiled: int, rng: Generator) -> Spoiled:
    _require_columns(rows, "shifted-cells")
    n_features = rows.shape[1]
    moved = np.arange(rng.integers(n_features // 2), n_features)
    used = np.flatnonzero(np.asarray(abs(rows[:, moved]).sum(axis=1)))
    places = rng.choice(used, size=min(n_spoiled, used.size), replace=False)
    entries = part_of(rows[places], moved)
    shifted = np.hstack([np.zeros((places.size, 1)), entries[:, :-1]])
    return replaced(rows[places], moved, shifted), places, moved


_ERRORS: dict[str, Callable[[Rows, int, Generator], Spoiled]] = {
    "wrong-unit": _wrong_unit,
    "stuck-sensor": _stuck_sensor,
    "swapped-columns": _swapped_columns,
    "shifted-cells": _shifted_cells,
}
DATA_ERRORS = (*_ERRORS, REPEATED)  # the names that `spoil` knows


def _usable_column(rows: Rows, n_spoiled: int, rng: Generator) -> Positions:
    """A random column with at least so many non-zero entries, or one of those with the most."""
    if is_sparse(rows):
        n_used = np.bincount(rows.indices[rows.data != 0], minlength=rows.shape[1])
    else:
        n_used = np.count_nonzero(rows, axis=0)
    enough = np.flatnonzero(n_used >= min(n_spoiled, int(n_used.max())))
    return rng.choice(enough, size=1)


def _require_columns(rows: Rows, error: str) -> None:
    if rows.shape[1] < 2:
        raise ValueError(f"error {error!r} needs a table of at least two columns, got one")


def _in_place(X: Any, y: Any, wrong: Rows, places: Positions, columns: Positions) -> SpoiledTable:
    """The table with wrong rows instead of those at the given places."""
    n_rows = len(y)
    origins, order = np.arange(n_rows), np.arange(n_rows)
    order[places] = n_rows + np.arange(places.size)
    spoiled = stacked(X, wrong, order)
    _check_kept(check_numbers(spoiled), wrong, places)
    return SpoiledTable(spoiled, picked(y, origins), order >= n_rows, columns, origins)


def _check_kept(rows: Rows, wrong: Rows, places: Positions) -> None:
    """Raise if the wrong values did not survive the conversion to the type of the table."""
    largest = abs(wrong).max()
    if abs(rows[places] - wrong).max() > SINGLE_PRECISION * largest:
        raise ValueError("the type of X has no room for the wrong values; convert X to floats")


def _repeated(X: Any, y: Any, rows: Rows, n_spoiled: int, rng: Generator) -> SpoiledTable:
    n_rows = rows.shape[0]
    repeated = rng.choice(n_rows, size=n_spoiled, replace=False)
    order = rng.permutation(n_rows + n_spoiled)
    origins = np.append(np.arange(n_rows), repeated)[order]
    return SpoiledTable(
        X=stacked(X, rows[:0], origins),
        y=picked(y, origins),
        is_spoiled=np.isin(origins, repeated),
        columns=np.zeros(0, dtype=np.intp),
        origins=origins,
    )
