"""Fits to all folds but one, each judged on that one by the trust in its rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from joblib import Parallel
from numpy.typing import NDArray

from thresher.errors import DistrustedClass, UncertifiedPhase, warn_caller
from thresher.estimators.halfspace import HalfspaceClassifier
from thresher.memory import return_free_memory
from thresher.validation import FloatArray, Rows

Fold: TypeAlias = tuple[NDArray[np.intp], NDArray[np.intp]]  # rows to fit to, rows held out

MOST_NAMED = 5  # fits in one message


@dataclass(frozen=True)
class Trial:
    """What a fit to all folds but one was worth.

    Parameters
    ----------
    sparsity, noise_rate : of the fit
    fold : that was held out, from 1
    error : share of the held-out trust that lies on wrongly classified rows
    uncertified : the phases of which a solver missed its certificate

    Examples
    --------
    >>> str(Trial(sparsity=40, noise_rate=0.05, fold=2, error=0.1, uncertified=(3, 4)))
    'sparsity 40, noise_rate 0.05, fold 2: phases 3, 4'
    """

    sparsity: int
    noise_rate: float
    fold: int
    error: float
    uncertified: tuple[int, ...]

    def __str__(self) -> str:
        phases = ", ".join(map(str, self.uncertified)) or "none"
        return (
            f"{choice_name(self.sparsity, self.noise_rate)}, fold {self.fold}: "
            f"phase{'s' * (len(self.uncertified) > 1)} {phases}"
        )


def choice_name(sparsity: int, noise_rate: float) -> str:
    """A choice of parameters in words.

    Examples
    --------
    >>> choice_name(40, 0.05)
    'sparsity 40, noise_rate 0.05'
    """
    return f"sparsity {sparsity}, noise_rate {noise_rate:g}"


def hold_out(
    estimator: HalfspaceClassifier, rows: Rows, labels: Any, trust: FloatArray, fold: Fold
) -> tuple[float, tuple[int, ...]]:
    """Error on the held-out rows of a fit to the others, and its phases without a certificate.

    The held-out rows are copied here, and not before: copies for all folds would not fit.
    """
    train, test = fold
    with warnings.catch_warnings():  # fits to all rows tell the first; the caller gets the second
        warnings.simplefilter("ignore", DistrustedClass)
        warnings.simplefilter("ignore", UncertifiedPhase)
        estimator._learn(rows, labels, train)
    return_free_memory()
    wrong = estimator._labels(estimator._scores(rows[test])) != labels[test]
    missed = tuple(p.phase.index for p in estimator.phases_ if not p.is_certified)
    return weighted_error(wrong, labels[test], trust[test]), missed


def weighted_error(wrong: Any, labels: Any, trust: FloatArray) -> float:
    """The share of the trust that lies on wrongly classified rows, class by class.

    Class by class, so that no model is better for taking the trust from a whole class.

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
        error += float(own.mean() * np.average(wrong[own], weights=weights))
    return error


def results_of(tasks: Iterable[Any], n_jobs: int | None) -> Iterator[Any]:
    """What joblib's tasks return, in their order, each as soon as it is there.

    Examples
    --------
    >>> from joblib import delayed
    >>> list(results_of((delayed(abs)(i) for i in (-1, -2)), n_jobs=None))
    [1, 2]
    """
    try:
        parallel = Parallel(n_jobs=n_jobs, return_as="generator")
    except ValueError:  # a backend that gives all results at once
        parallel = Parallel(n_jobs=n_jobs)
    return iter(parallel(tasks))


def warn_of_uncertified(trials: Sequence[Trial]) -> None:
    """Say so, once, if phases of fits to folds have no certificate, and in which fits.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_of_uncertified([Trial(9, 0.05, 1, 0.1, ()), Trial(9, 0.05, 2, 0.1, (3,))])
    >>> print(caught[0].message)
    solvers missed their certificates in 1 of 2 fits to folds: sparsity 9, noise_rate 0.05,
    fold 2: phase 3
    """
    missed = [str(trial) for trial in trials if trial.uncertified]
    if missed:
        more = f"; and {len(missed) - MOST_NAMED} more" if len(missed) > MOST_NAMED else ""
        warn_caller(
            f"solvers missed their certificates in {len(missed)} of {len(trials)} fits to folds: "
            f"{'; '.join(missed[:MOST_NAMED])}{more}",
            UncertifiedPhase,
        )


def fit_by_name(
    estimator: HalfspaceClassifier, rows: Rows, labels: Any, name: str
) -> HalfspaceClassifier:
    """The estimator fitted to the rows; its warnings say whose they are."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.fit(rows, labels)
    return_free_memory()
    for warning in caught:
        warn_caller(f"{name}: {warning.message}", warning.category)
    return estimator
