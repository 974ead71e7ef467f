"""One number for each row of a table: how far it was trusted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from thresher.errors import DistrustedClass, warn_caller
from thresher.learning import PhaseOutcome
from thresher.validation import FloatArray

LITTLE = 0.3  # mean trust below which a class is told of


def trust_of_rows(phases: Sequence[PhaseOutcome], n_rows: int) -> FloatArray:
    """The mean weight with which a row counted in the phases that looked at it, from 0 to 1.

    The first phase looks at every row, later ones at those near the boundary. A row that every
    phase pruned counts 0, and so does, in a phase, one that was left out for its large loss.

    Examples
    --------
    >>> trust_of_rows([], 2)
    array([0., 0.])
    """
    total, n_looked = np.zeros(n_rows), np.zeros(n_rows)
    for outcome in phases:
        total[outcome.row_ids] += np.where(outcome.is_left_out, 0.0, outcome.row_weights)
        n_looked[outcome.row_ids] += 1
    return total / np.maximum(n_looked, 1)


def warn_of_distrusted_classes(
    trust: FloatArray, signs: FloatArray, classes: Any, noise_rate: float
) -> None:
    """Say so if hardly a row of a class is trusted, or all may be planted: it may be ignored.

    Examples
    --------
    >>> import warnings
    >>> signs = np.array([1.0, 1.0, -1.0])
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_of_distrusted_classes(np.array([1.0, 1.0, 0.1]), signs, ["ham", "spam"], 0.1)
    >>> print(caught[0].message)
    the 1 rows of class 'ham' have a mean trust of 0.10 and are 33.3% of the table: either they are
    planted, or a noise_rate of 0.1 is too large for a class of their size. Compare a smaller
    noise_rate, or a larger reach
    """
    for label, sign in zip(classes, (-1.0, 1.0)):
        own = trust[signs == sign]
        share = own.size / trust.size
        if own.mean() < LITTLE or share <= noise_rate:
            warn_caller(
                f"the {own.size} rows of class {label!r} have a mean trust of {own.mean():.2f} and "
                f"are {share:.1%} of the table: either they are planted, or a noise_rate of "
                f"{noise_rate:g} is too large for a class of their size. Compare a smaller "
                "noise_rate, or a larger reach",
                DistrustedClass,
            )
