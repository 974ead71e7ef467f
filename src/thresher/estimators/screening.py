"""Promising columns: a wide table is cut down to them before anything quadratic begins."""

import warnings
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from thresher.estimators.columns import ColumnScaling
from thresher.estimators.folds import Fold
from thresher.estimators.penalized import l2_support_vectors, with_short_indices
from thresher.estimators.samples import sample_of_rows
from thresher.validation import FloatArray, Rows, is_sparse

REACH = 2.0  # of a scaled value: limits what one row can do to the statistic of a column
SHARE_STEERED = 0.25  # of the columns that the phases look at
UNDEFENDED_C = 0.01  # of the fit that shows which columns steer
COLUMNS_PER_BLOCK = 256  # limits the memory used besides the result


def promising_columns(
    rows: Rows,
    signs: FloatArray,
    at_most: int,
    scaling: ColumnScaling | None = None,
    places: NDArray[np.intp] | slice = slice(None),
) -> NDArray[np.intp]:
    """The columns whose class means differ most, relative to their spread; all if there are few.

    Entries are scaled by medians and clipped before they are averaged, so that a planted row moves
    the mean of its class by at most 4 divided by the size of the class. Planted rows can therefore
    make a useless column look somewhat promising, but can hardly hide a useful one.

    Departure: the paper looks at every column.

    Parameters
    ----------
    rows : (n, d) the table
    signs : (n,) of -1 and +1; with `places`, of those rows
    at_most : number of columns
    scaling : of the columns, by medians; computed if it is not given
    places : which rows count; all by default

    Returns
    -------
    The columns in increasing order.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.standard_normal((300, 1000))
    >>> signs = np.sign(rows[:, 3] - rows[:, 700])
    >>> promising_columns(rows, signs, at_most=2)
    array([  3, 700])
    """
    n_columns = rows.shape[1]
    if n_columns <= at_most:
        return np.arange(n_columns)
    if scaling is None:
        scaling = ColumnScaling.of(rows, REACH, places)
    clipped = replace(scaling, reach=min(scaling.reach, REACH))
    best = np.argsort(-_differences(rows, signs, clipped, places), kind="stable")[:at_most]
    return np.sort(best)


def promising_by_fold(
    rows: Rows,
    signs: FloatArray,
    folds: Iterable[Fold],
    at_most: int,
    scaling: ColumnScaling | None = None,
) -> dict[int, NDArray[np.intp]]:
    """The promising columns for the fit to each fold, chosen without the rows that it holds out.

    Among very many columns, some suit any labels by chance, and would predict held-out rows that
    helped to choose them. Other parameters as in `promising_columns`.
    """
    return {
        fold.number: promising_columns(rows, signs[fold.train], at_most, scaling, fold.train)
        for fold in folds
    }


def watched_columns(
    rows: Rows,
    signs: FloatArray,
    at_most: int,
    scaling: ColumnScaling,
    places: NDArray[np.intp] | slice = slice(None),
    seed: int = 0,
) -> NDArray[np.intp]:
    """The columns that the phases look at: promising ones, and those of an undefended fit.

    Rows that steer a model do it by the columns that get large coefficients from them. A quarter of
    the columns are those that matter most to a fit to all rows, or to a sample drawn by the seed
    if there are many, so that such rows are looked at where they act. Other parameters as in
    `promising_columns`.
    """
    if rows.shape[1] <= at_most:
        return np.arange(rows.shape[1])
    n_steered = int(SHARE_STEERED * at_most)
    promising = promising_columns(rows, signs, at_most - n_steered, scaling, places)
    sample = sample_of_rows(signs, rows, rows.shape[1], seed)
    influence = _influence(rows, signs[sample], scaling, np.arange(rows.shape[0])[places][sample])
    influence[promising] = -1.0
    steered = np.argsort(-influence, kind="stable")[:n_steered]
    return np.sort(np.concatenate([promising, steered]))


def _influence(
    rows: Rows, signs: FloatArray, scaling: ColumnScaling, places: NDArray[np.intp]
) -> FloatArray:
    """The size of each column's coefficient in a fit to these rows, times the column's."""
    scaled = scaling.apply(rows[places])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a rough fit is enough
        coef = l2_support_vectors(UNDEFENDED_C, 0).fit(with_short_indices(scaled), signs).coef_[0]
    found: FloatArray = np.abs(coef) * np.sqrt(_mean_squares(scaled))
    return found


def _differences(
    rows: Rows, signs: FloatArray, scaling: ColumnScaling, places: NDArray[np.intp] | slice
) -> FloatArray:
    """The difference of the class means of each column, divided by its standard deviation."""
    if is_sparse(rows):
        return _of_scaled(scaling.apply(rows[places]), signs)
    found = np.empty(rows.shape[1])
    for start in range(0, found.size, COLUMNS_PER_BLOCK):
        block = np.arange(start, min(start + COLUMNS_PER_BLOCK, found.size))
        part = rows[places, start : start + COLUMNS_PER_BLOCK]
        found[block] = _of_scaled(scaling.take(block).apply(part), signs)
    return found


def _of_scaled(rows: Rows, signs: FloatArray) -> FloatArray:
    members = [signs > 0, signs < 0]
    means = [np.asarray(own @ rows) / own.sum() for own in np.asarray(members, dtype=np.float64)]
    shares = [float(own.mean()) for own in members]
    variance = _mean_squares(rows) - shares[0] * means[0] ** 2 - shares[1] * means[1] ** 2
    deviation = np.sqrt(np.maximum(variance, 0.0))
    # A column that hardly varies within the classes must not look promising for that alone.
    found: FloatArray = np.abs(means[0] - means[1]) / (deviation + _floor(deviation))
    return found


def _mean_squares(rows: Rows) -> FloatArray:
    squares = rows.multiply(rows) if is_sparse(rows) else rows**2
    return np.asarray(squares.sum(axis=0)).ravel() / rows.shape[0]


def _floor(deviation: FloatArray) -> float:
    return 1e-3 * float(deviation.max(initial=0.0)) or 1.0
