"""Tables as scikit-learn checks them, with errors that name the row and the column."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import validate_data

from thresher.validation import FloatArray, Rows, is_sparse, require_in_memory, sum_of_squares

MOST_NAMED = 5  # columns in one message


def check_training_table(estimator: Any, X: Any, y: Any) -> tuple[Rows, Any]:
    """Finite rows, dense or CSR, and labels of the same number, for an estimator to be fitted."""
    rows, labels = _validated(estimator, X, y=y)
    return _finite(rows, X, estimator), labels


def check_table(estimator: Any, X: Any) -> Rows:
    """Finite rows, dense or CSR, with the columns that the estimator was fitted to."""
    return _finite(_validated(estimator, X, reset=False), X, estimator)


def check_two_classes(y: Any) -> tuple[Any, FloatArray]:
    """The two labels in order, and -1 or +1 for each row.

    Examples
    --------
    >>> check_two_classes(np.array(["no", "yes", "no"]))
    (array(['no', 'yes'], dtype='<U3'), array([-1.,  1., -1.]))
    """
    try:
        check_classification_targets(y)
        kind = type_of_target(y, input_name="y")
        classes, codes = np.unique(y, return_inverse=True)
    except TypeError as error:
        raise TypeError(f"y must hold labels of two kinds: {error}") from error
    if kind not in ("binary", "unknown"):
        raise ValueError(
            f"Only binary classification is supported. The type of the target is {kind}: "
            f"y has {classes.size} different labels."
        )
    if classes.size != 2:
        raise ValueError(
            "Classifier can't train when only one class is present: "
            f"y has {classes.tolist()[0]!r} alone"
        )
    signs: FloatArray = 2.0 * codes.astype(np.float64) - 1.0
    return classes, signs


def _validated(estimator: Any, X: Any, **options: Any) -> Any:
    """What scikit-learn makes of the table; entries may still be infinite or missing."""
    require_in_memory(X)
    _refuse_dates(X)
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        i, j = (*np.argwhere(np.ma.getmaskarray(X))[0], 0)[:2]
        raise ValueError(f"X must not have masked entries, but X[{i}, {j}] is masked; fill it")
    try:
        with np.errstate(over="ignore"):  # too large for a float becomes infinite, and is refused
            return validate_data(
                estimator,
                X,
                accept_sparse="csr",
                dtype=np.float64,
                ensure_all_finite=False,
                **options,
            )
    except (TypeError, ValueError, OverflowError) as error:
        place = _first_that_is_no_number(X)
        if place is not None:
            raise _typed(error)(f"X must hold numbers, but {place}: {error}") from error
        raise


def _typed(error: Exception) -> type[Exception]:
    return TypeError if isinstance(error, TypeError) else ValueError


def _refuse_dates(X: Any) -> None:
    """Dates would be taken for numbers of some unit."""
    names = getattr(X, "columns", None)
    dtypes = getattr(X, "dtypes", ()) if names is not None else [getattr(X, "dtype", None)]
    for i, dtype in enumerate(dtypes):
        is_temporal = getattr(dtype, "is_temporal", None)  # as Polars tells it
        if getattr(dtype, "kind", None) in ("m", "M") or (callable(is_temporal) and is_temporal()):
            what = "X" if names is None else f"column {names[i]!r} of X"
            raise TypeError(f"{what} must hold numbers, got dates or times ({dtype})")


def _first_that_is_no_number(X: Any) -> str | None:
    """Where the first entry is that no float can be made of; None if that is not the trouble."""
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
            return f"X[{i}, {_name_of(X, j)}] is {str(cell)[:40]!r}"
    return None


def _name_of(X: Any, j: int) -> str:
    names = getattr(X, "columns", None)
    return str(j) if names is None else repr(names[j])


def _finite(rows: Rows, X: Any, estimator: Any) -> Rows:
    """The rows, sparse ones without repeated entries, or an error that names the columns of X."""
    places: tuple[Any, ...]
    if is_sparse(rows):
        if not rows.has_canonical_format:
            rows = rows.copy()
            rows.sum_duplicates()
        bad = np.flatnonzero(~np.isfinite(rows.data))
        if not bad.size:
            return rows
        places = np.searchsorted(rows.indptr, bad, side="right") - 1, rows.indices[bad]
    elif np.isfinite(sum_of_squares(rows)):
        return rows
    else:
        places = np.nonzero(~np.isfinite(rows))
        if not places[0].size:
            return rows
    i, j = int(places[0][0]), int(places[1][0])
    raise ValueError(
        f"Input X contains NaN or infinity: {_summary(places[1], X)}; the first is X[{i}, {j}] = "
        f"{rows[i, j]}. {type(estimator).__name__} does not accept missing values: fill them, or "
        "drop the rows"
    )


def _summary(bad_columns: Any, X: Any) -> str:
    """How many entries are not finite, and in which columns."""
    columns, counts = np.unique(bad_columns, return_counts=True)
    named = [f"{_name_of(X, j)} ({count})" for j, count in zip(columns[:MOST_NAMED], counts)]
    more = f" and {columns.size - MOST_NAMED} more" if columns.size > MOST_NAMED else ""
    return f"{bad_columns.size} entries, in columns {', '.join(named)}{more}"
