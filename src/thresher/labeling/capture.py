"""Capture: planted rows that are all a model knows of a class."""

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from thresher.labeling.fitting import Fitting, LinearFit, ridge
from thresher.labeling.judging import LabeledSample
from thresher.labeling.scaled_pool import ScaledPool
from thresher.validation import FloatArray

N_FIRST = 20  # questions that are random in any case
IMPROBABLE = 0.01  # level of the test whether a model overlooks a class
FAR = 0.5  # median distances from a boundary: labels farther on the wrong side contradict
FEWEST = 3  # random labels of each class that a fit to them needs


def overlooked_class(scores: FloatArray, signs: FloatArray) -> float | None:
    """The sign of a class that is clearly more than twice as frequent as predicted, if any is.

    Parameters
    ----------
    scores : of the trusted rows of a pool
    signs : of the random labels

    Examples
    --------
    >>> overlooked_class(-np.ones(100), np.repeat([1.0, -1.0], [8, 12]))
    1.0
    >>> overlooked_class(np.repeat([1.0, -1.0], 50), np.repeat([1.0, -1.0], [8, 12])) is None
    True
    """
    positive = float(np.mean(scores > 0))
    for sign, predicted in ((1.0, positive), (-1.0, 1 - positive)):
        n_found = int((signs == sign).sum())
        chance = float(binom.sf(n_found - 1, signs.size, predicted))
        if chance < IMPROBABLE and 2 * predicted * signs.size < n_found:
            return sign
    return None


def fit_to_pool(
    sample: LabeledSample, fitting: Fitting, pool: ScaledPool, is_trusted: NDArray[np.bool_]
) -> tuple[LinearFit, bool]:
    """The model of labeled rows, and whether a fit to all of them overlooks a class.

    Planted rows can capture a model that knows few labels: they are most of what it knows of a
    class, it separates them from all others, and what it asks about next are more of them. Random
    labels show it. A fit to them alone is weak, but contradicts planted labels, which are then left
    out. The first random questions do not count: an adversary may have foreseen them.

    Parameters
    ----------
    sample : the labeled rows
    fitting : how to fit them
    pool : all rows, scaled
    is_trusted : (n,) which rows of the pool are trusted
    """
    fit = sample.fit(fitting)
    scores = fit.scores(pool.rows[is_trusted])
    random = np.asarray(sample.random, dtype=np.intp)
    later = random[N_FIRST:]
    signs = sample.signs[later]
    overlooks = overlooked_class(scores, sample.signs[random]) is not None
    overlooked = overlooked_class(scores, signs)
    if overlooked is None or min((signs > 0).sum(), (signs < 0).sum()) < FEWEST:
        return fit, overlooks
    judge = ridge(sample.rows[later], signs, sample.weights[later]).fit.scores(sample.rows)
    contradicted = sample.signs * judge < -FAR * float(np.median(np.abs(judge)))
    contradicted &= sample.signs == overlooked
    contradicted[later] = False
    return sample.without(np.flatnonzero(contradicted)).fit(fitting), overlooks
