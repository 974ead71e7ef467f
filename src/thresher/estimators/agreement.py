"""Agreement: whether the label of a row is what many weak models of other rows would say."""

from collections.abc import Sequence
from typing import Any, NamedTuple

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


def agreement(margins: FloatArray, share: float) -> FloatArray:
    """One for rows that agree with weak models of the others, a third for those that contradict.

    Parameters
    ----------
    margins : (n,) of each row by `WeakModels`
    share : of the rows that may contradict, at most

    Examples
    --------
    >>> agreement(np.array([1.0, -1.0, -0.1, 2.0]), share=0.5)
    array([1.        , 0.33333333, 1.        , 1.        ])
    """
    return np.where(_contradict(margins, share), LEAST_AGREEMENT, 1.0)


def _contradict(margins: FloatArray, share: float) -> NDArray[np.bool_]:
    """The rows of the lowest margins that are low enough."""
    lowest = np.argsort(margins, kind="stable")[: int(share * margins.size)]
    found = np.zeros(margins.size, dtype=np.bool_)
    found[lowest[margins[lowest] < CONTRADICTION]] = True
    return found


class WeakModels:
    """Many weak models of a table, by which the label of each row is judged.

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

    Attributes
    ----------
    held_out : (n,) the mean margin of each row, in standard deviations of a model's scores, by the
        models that were fitted without it

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.standard_normal((400, 20))
    >>> signs = np.where(rows.sum(axis=1) > 0, 1.0, -1.0)
    >>> surest = np.argsort(-rows.sum(axis=1))[:20]
    >>> signs[surest] = -1.0  # flipped
    >>> halves = np.arange(400).reshape(2, 200)
    >>> folds = [Fold(1, *halves), Fold(2, *halves[::-1])]
    >>> models = WeakModels(rows, signs, np.ones(400), folds, share=0.1, seed=0)
    >>> bool((agreement(models.held_out, share=0.1)[surest] < 1).all())
    True
    """

    def __init__(
        self,
        rows: Rows,
        signs: FloatArray,
        trust: FloatArray,
        folds: Sequence[Fold],
        *,
        share: float,
        seed: int,
    ) -> None:
        rng, rows = np.random.default_rng(seed), rows.astype(np.float32)  # twice as fast
        agrees: FloatArray = np.ones(signs.size)
        for _ in range(N_ROUNDS):
            seen = _columns_of_models(rows.shape[1], rng)
            self.held_out: FloatArray = np.zeros(signs.size)
            self._means: list[MeanModel] = []
            for weights in (agrees, trust * agrees):
                for fold in folds:
                    self._judge(rows, signs, weights, fold, seen)
            agrees = np.where(_contradict(self.held_out, share), 0.0, 1.0)

    def _judge(
        self,
        rows: Rows,
        signs: FloatArray,
        weights: FloatArray,
        fold: Fold,
        seen: Sequence[NDArray[np.intp]],
    ) -> None:
        """Fit models to the training rows of a fold, and judge those held out."""
        coefs = _coefficients(rows[fold.train], signs[fold.train], weights[fold.train], seen)
        scores: FloatArray = np.asarray(rows[fold.test] @ coefs)
        own = signs[fold.test]
        middle = _between_classes(scores, own)
        spread = (scores - middle).std(axis=0)
        spread = np.where(spread > 0, spread, 1.0)
        mean = MeanModel((coefs / spread).mean(axis=1), -float((middle / spread).mean()))
        self._means.append(mean)
        self.held_out[fold.test] += own * (rows[fold.test] @ mean.coef + mean.offset) / 2

    @property
    def mean(self) -> "MeanModel":
        """Of all models, for rows that none of them was fitted to."""
        coefs, offsets = zip(*self._means)
        return MeanModel(np.mean(coefs, axis=0), float(np.mean(offsets)))


class MeanModel(NamedTuple):
    """The mean of linear models, each in units of the spread of its scores."""

    coef: FloatArray
    offset: float


def _columns_of_models(n_columns: int, rng: np.random.Generator) -> list[NDArray[np.intp]]:
    size = min(max(round(SHARE_OF_COLUMNS * n_columns), FEWEST_COLUMNS), n_columns)
    return [np.sort(rng.choice(n_columns, size, replace=False)) for _ in range(N_MODELS)]


def _coefficients(
    rows: Rows, signs: FloatArray, weights: FloatArray, seen: Sequence[NDArray[np.intp]]
) -> FloatArray:
    """One column of coefficients for each model, all from the same second moment."""
    weights = np.maximum(weights, NO_WEIGHT)  # there may be no trust in any row
    shares = (weights / weights.sum()).astype(rows.dtype)
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
