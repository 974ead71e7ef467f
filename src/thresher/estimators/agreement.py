"""Agreement: whether the label of a row is what many weak models of other rows would say."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.estimators.folds import Fold
from thresher.validation import FloatArray, Rows, is_sparse

N_MODELS = 40
SHARE_OF_COLUMNS = 0.2  # that a weak model sees
FEWEST_COLUMNS = 5
RIDGE = 0.1  # of a weak model, relative to the mean variance of its columns
N_ROUNDS = 5
CONTRADICTION = -0.25  # mean margin, in standard deviations of a model's scores
LEAST_AGREEMENT = 1 / 3  # what a row that contradicts still counts
NO_WEIGHT = 1e-9


def agreement(
    rows: Rows,
    signs: FloatArray,
    trust: FloatArray,
    folds: Sequence[Fold],
    *,
    share: float,
    seed: int,
) -> FloatArray:
    """One for rows that agree with weak models of the others, a third for those that contradict.

    A weak model is a ridge regression of the signs on a random fifth of the columns. Planted rows
    act on a model through few columns, and most weak models see too few of these to be misled. Half
    of the models use trust and half do not, since planted rows may have been made to keep it. The
    boundary of a model lies between the medians of the classes, so that no class is favored. The
    rows that contradict most are left out of the models of the next round.

    Departure: the paper judges rows by the variance they cause and by their loss.

    Parameters
    ----------
    rows : (n, d) scaled and clipped, dense or sparse
    signs : (n,) of -1 and +1
    trust : (n,) of each row
    folds : a row is judged by models that were fitted to the other folds
    share : of the rows that may contradict, at most
    seed : of the columns that a model sees

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.standard_normal((400, 20))
    >>> signs = np.where(rows.sum(axis=1) > 0, 1.0, -1.0)
    >>> surest = np.argsort(-rows.sum(axis=1))[:20]
    >>> signs[surest] = -1.0  # flipped
    >>> halves = np.arange(400).reshape(2, 200)
    >>> folds = [Fold(1, *halves), Fold(2, *halves[::-1])]
    >>> found = agreement(rows, signs, np.ones(400), folds, share=0.1, seed=0)
    >>> bool((found[surest] < 1).all())
    True
    """
    found, n_most = np.ones(signs.size), int(share * signs.size)
    rng = np.random.default_rng(seed)
    for _ in range(N_ROUNDS if n_most else 0):
        seen = _columns_of_models(rows.shape[1], rng)
        margins = np.zeros(signs.size)
        for weights in (found, trust * found):
            for fold in folds:
                margins[fold.test] += _margins(rows, signs, weights, fold, seen) / 2
        lowest = np.argsort(margins, kind="stable")[:n_most]
        found = np.ones(signs.size)
        found[lowest[margins[lowest] < CONTRADICTION]] = 0.0
    return np.maximum(found, LEAST_AGREEMENT)


def _columns_of_models(n_columns: int, rng: np.random.Generator) -> list[NDArray[np.intp]]:
    size = min(max(round(SHARE_OF_COLUMNS * n_columns), FEWEST_COLUMNS), n_columns)
    return [np.sort(rng.choice(n_columns, size, replace=False)) for _ in range(N_MODELS)]


def _margins(
    rows: Rows, signs: FloatArray, weights: FloatArray, fold: Fold, seen: Sequence[NDArray[np.intp]]
) -> FloatArray:
    """The mean margin of held-out rows over the models, each in units of its scores' spread."""
    coefs = _coefficients(rows[fold.train], signs[fold.train], weights[fold.train], seen)
    scores: FloatArray = np.asarray(rows[fold.test] @ coefs)
    own = signs[fold.test]
    scores = scores - _between_classes(scores, own)
    spread = scores.std(axis=0)
    means: FloatArray = (scores / np.where(spread > 0, spread, 1.0)).mean(axis=1)
    return own * means


def _coefficients(
    rows: Rows, signs: FloatArray, weights: FloatArray, seen: Sequence[NDArray[np.intp]]
) -> FloatArray:
    """One column of coefficients for each model, all from the same second moment."""
    weights = np.maximum(weights, NO_WEIGHT)  # there may be no trust in any row
    shares = weights / weights.sum()
    means: FloatArray = np.asarray(shares @ rows)
    moment = _second_moment(rows, shares) - np.outer(means, means)
    slopes = np.asarray((shares * (signs - shares @ signs)) @ rows)
    coefs = np.zeros((rows.shape[1], len(seen)))
    for model, columns in enumerate(seen):
        part = moment[np.ix_(columns, columns)]
        ridge = max(RIDGE * float(np.trace(part)) / columns.size, 1e-12)
        coefs[columns, model] = np.linalg.solve(
            part + ridge * np.eye(columns.size), slopes[columns]
        )
    return coefs


def _second_moment(rows: Rows, shares: FloatArray) -> FloatArray:
    if is_sparse(rows):
        return np.asarray((rows.multiply(shares[:, np.newaxis]).T @ rows).toarray())
    moment: FloatArray = (rows * shares[:, np.newaxis]).T @ rows
    return moment


def _between_classes(scores: FloatArray, signs: FloatArray) -> Any:
    """For each model, the middle between the medians of the classes."""
    medians = [np.median(scores[own], axis=0) for own in (signs > 0, signs < 0) if own.any()]
    return sum(medians) / len(medians)
