"""Warnings about pools and answers that the paper's learner is not made for."""

from collections.abc import Mapping

import numpy as np

from thresher.errors import DoubtfulLabels, UnsuitablePool, warn_caller
from thresher.learning.history import PhaseOutcome
from thresher.validation import Rows, is_sparse

MOST_PRUNED = 0.05  # share of the rows of a band that may be pruned without a warning
LARGEST_SIZE = 5.0  # of the root mean square of a typical column, and one over the smallest
FEWEST_ANSWERS = 20  # before answers of one class are strange
ADVICE = "scale the columns to mean 0 and variance 1, or use ActiveClassifier, which does"


def warn_if_unscaled(rows: Rows) -> None:
    """Warn if a typical column is far from variance 1.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_if_unscaled(1000 * np.eye(3))
    >>> print(caught[0].message)
    the columns of the pool have a root mean square of about 577, not 1: scale the columns to mean 0
    and variance 1, or use ActiveClassifier, which does
    """
    if rows.shape[0] == 0:
        return
    squares = rows.multiply(rows) if is_sparse(rows) else np.square(rows)
    sizes = np.sqrt(np.asarray(squares.mean(axis=0)).ravel())
    typical = float(np.median(sizes[sizes > 0])) if (sizes > 0).any() else 1.0
    if not 1 / LARGEST_SIZE <= typical <= LARGEST_SIZE:
        warn_caller(
            f"the columns of the pool have a root mean square of about {typical:.3g}, not 1: "
            f"{ADVICE}",
            UnsuitablePool,
        )


def warn_of_pruned(outcome: PhaseOutcome) -> None:
    """Warn if a phase pruned many of the rows in its band."""
    if outcome.n_pruned > MOST_PRUNED * outcome.n_kept:
        warn_caller(
            f"phase {outcome.phase.index} pruned {outcome.n_pruned:,} of {outcome.n_kept:,} rows: "
            f"they have an entry beyond {outcome.phase.max_abs_entry:.3g}. Rows of the paper's "
            f"distributions hardly have; {ADVICE}",
            UnsuitablePool,
        )


def warn_of_one_class(labels: Mapping[int, float]) -> None:
    """Warn if all labels so far are the same."""
    if len(labels) >= FEWEST_ANSWERS and len(set(labels.values())) == 1:
        warn_caller(
            f"all {len(labels)} labels so far are of one class: there is nothing to tell apart. "
            "The halfspaces of ActiveLearner go through the origin; for a rare class use "
            "ActiveClassifier, which asks until both classes are known",
            DoubtfulLabels,
        )
