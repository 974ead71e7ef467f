"""Trust: how much each row of a table counts in the end, from 0 to 1."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from thresher.errors import DistrustedClass, warn_caller
from thresher.learning import PhaseOutcome
from thresher.validation import FloatArray

MOST_OF_A_CLASS = 0.5  # that may be distrusted
LITTLE = 0.3  # a class with less mean trust is warned about
MUCH = 0.9  # a class with more is not, however small it is


def trust_of_rows(phases: Sequence[PhaseOutcome], n_rows: int) -> FloatArray:
    """The trust in each row: its mean weight over the phases that looked at it.

    The first phase looks at every row, later ones at rows near the boundary. A row that was pruned
    in every phase has trust 0. A phase that left a row out for its large loss counts as 0.

    Examples
    --------
    >>> from thresher import HalfspaceClassifier
    >>> rows = np.random.default_rng(0).standard_normal((200, 4))
    >>> model = HalfspaceClassifier(2, final_fit="hinge", random_state=0)
    >>> model = model.fit(rows, rows[:, 0] > 0)
    >>> np.array_equal(trust_of_rows(model.phases_, 200), model.row_weights_)
    True
    """
    total, n_looked = np.zeros(n_rows), np.zeros(n_rows)
    for outcome in phases:
        total[outcome.row_ids] += np.where(outcome.is_left_out, 0.0, outcome.row_weights)
        n_looked[outcome.row_ids] += 1
    return total / np.maximum(n_looked, 1)


def trust_by_variance(phases: Sequence[PhaseOutcome], n_rows: int) -> FloatArray:
    """The same, but rows that were left out for their loss count by their weight.

    Rows that a model gets wrong are needed to know how often it is wrong.
    """
    return trust_of_rows(
        [replace(p, is_left_out=np.zeros_like(p.is_left_out)) for p in phases], n_rows
    )


def keep_every_class(trust: FloatArray, labels: Any) -> FloatArray:
    """The trust, raised where a class would lose more than half of its rows to distrust.

    So much of a class is never taken for planted: the class would be lost if it were not.

    Departure: Algorithm 2 does not know the classes.

    Examples
    --------
    >>> trust, labels = np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.5]), np.repeat(["yes", "no"], 3)
    >>> keep_every_class(trust, labels)
    array([1. , 1. , 1. , 0.4, 0.4, 0.7])
    """
    kept = trust.copy()
    for label in np.unique(labels):
        own = labels == label
        distrust = 1 - trust[own]
        allowed = MOST_OF_A_CLASS * float(own.sum())
        kept[own] = 1 - distrust * min(1.0, allowed / max(float(distrust.sum()), allowed, 1e-300))
    return kept


def weighted_error(
    wrong: Any, labels: Any, trust: FloatArray, costs: FloatArray | None = None
) -> float:
    """The share of trust on wrongly classified rows, measured within each class.

    Each class keeps its share of the rows, so that no model gains by distrusting a whole class;
    with `costs`, one for each row, its share of the costs.

    Examples
    --------
    >>> wrong, labels = np.array([True, False, False]), np.array(["no", "no", "yes"])
    >>> round(weighted_error(wrong, labels, np.array([1.0, 3.0, 1.0])), 6)
    0.166667
    """
    error = 0.0
    for label in np.unique(labels):
        own = labels == label
        weights = trust[own] if trust[own].any() else None
        share = own.mean() if costs is None else costs[own].sum() / costs.sum()
        error += float(share * np.average(wrong[own], weights=weights))
    return error


def balanced_error(scores: FloatArray, signs: FloatArray, trust: FloatArray) -> float:
    """The mean of the errors of the two classes, from scores of held-out rows; NaN: not held out.

    Examples
    --------
    >>> scores, signs = np.array([1.0, 2.0, -1.0, np.nan]), np.array([1.0, 1.0, 1.0, -1.0])
    >>> balanced_error(scores, signs, np.ones(4)), balanced_error(scores[:0], signs[:0], np.ones(0))
    (0.333..., nan)
    """
    seen = np.isfinite(scores)
    signs, trust = signs[seen], trust[seen]
    if not signs.size:
        return float("nan")
    sizes = {sign: float((signs == sign).sum()) for sign in np.unique(signs).tolist()}
    costs = np.array([1 / sizes[sign] for sign in signs.tolist()])
    return weighted_error((scores[seen] > 0) != (signs > 0), signs, trust, costs)


def warn_of_distrusted_classes(
    trust: FloatArray, signs: FloatArray, classes: Any, noise_rate: float
) -> None:
    """Warn if a class has little trust, or less than most of it where all could be planted.

    Examples
    --------
    >>> import warnings
    >>> signs = np.array([1.0, 1.0, -1.0])
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_of_distrusted_classes(np.array([1.0, 1.0, 0.1]), signs, ["ham", "spam"], 0.1)
    >>> print(caught[0].message)
    class 'ham' (1 of 3 rows) has a mean trust of 0.10: either its rows are planted, or
    noise_rate=0.1 is too large for a class of this size. Try a smaller noise_rate or a larger reach
    """
    for label, sign in zip(classes, (-1.0, 1.0)):
        own = trust[signs == sign]
        is_small = own.size / trust.size <= noise_rate
        if own.mean() < (MUCH if is_small else LITTLE):
            warn_caller(
                f"class {label!r} ({own.size} of {trust.size} rows) has a mean trust of "
                f"{own.mean():.2f}: either its rows are planted, or noise_rate={noise_rate:g} is "
                "too large for a class of this size. Try a smaller noise_rate or a larger reach",
                DistrustedClass,
            )
