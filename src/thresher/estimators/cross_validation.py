"""Cross-validation in which a held-out row counts by its trust."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from joblib import Parallel
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold, check_cv

from thresher.errors import DistrustedClass, UncertifiedPhase, warn_caller
from thresher.estimators.checks import Settings, check_two_classes
from thresher.estimators.halfspace import HalfspaceClassifier
from thresher.estimators.trust import weighted_error
from thresher.memory import return_free_memory
from thresher.validation import FloatArray, Rows, check_count

Fold: TypeAlias = tuple[NDArray[np.intp], NDArray[np.intp]]  # training rows, held-out rows

DEFAULT_FOLDS = 3
MOST_NAMED = 5  # fits in one message


# -- folds -----------------------------------------------------------------------------------


def make_folds(cv: Any, rows: Rows, labels: Any, seed: int) -> list[Fold]:
    """The folds that scikit-learn's `cv` stands for.

    A number means stratified folds, shuffled by the seed; None means 3. Anything else goes through
    scikit-learn's `check_cv`.

    Examples
    --------
    >>> [test.tolist() for _, test in make_folds(2, np.zeros((4, 1)), np.array([0, 0, 1, 1]), 0)]
    [[1, 2], [0, 3]]
    """
    classes, signs = check_two_classes(labels)
    if cv is None or np.isscalar(cv):
        n_folds = DEFAULT_FOLDS if cv is None else check_count(cv, "cv", minimum=2)
        counts = [int(np.count_nonzero(signs == sign)) for sign in (-1, 1)]
        if min(counts) < n_folds:
            rarest = classes.tolist()[int(np.argmin(counts))]
            raise ValueError(
                f"cv must be at most {min(counts)}, the number of rows of class {rarest!r}, "
                f"got {n_folds}"
            )
        splitter = StratifiedKFold(n_folds, shuffle=True, random_state=seed % 2**32)
    else:
        splitter = check_cv(cv, labels, classifier=True)
    places = np.arange(len(labels))
    try:
        folds = [(places[train], places[test]) for train, test in splitter.split(rows, labels)]
    except (IndexError, TypeError, ValueError) as error:
        raise ValueError(f"cv must give pairs of training and test rows: {error}") from error
    for i, (train, test) in enumerate(folds, 1):
        _check_fold(i, classes, signs[train], test)
    if not folds:
        raise ValueError("cv must give at least one split, got none")
    return folds


def _check_fold(i: int, classes: Any, train_signs: FloatArray, test: NDArray[np.intp]) -> None:
    if not test.size:
        raise ValueError(f"cv: split {i} holds out no rows")
    for label, sign in zip(classes.tolist(), (-1, 1)):
        if not (train_signs == sign).any():
            raise ValueError(
                f"cv: the training rows of split {i} lack class {label!r}; use stratified folds"
            )


# -- fits to folds ---------------------------------------------------------------------------


@dataclass(frozen=True)
class FoldResult:
    """The result of a fit to the training rows of one fold.

    Parameters
    ----------
    sparsity, noise_rate : parameters of the fit
    fold : number of the fold, starting at 1
    error : share of the held-out trust on wrongly classified rows
    uncertified : phases in which a solver missed its certificate

    Examples
    --------
    >>> str(FoldResult(sparsity=40, noise_rate=0.05, fold=2, error=0.1, uncertified=(3, 4)))
    'sparsity=40, noise_rate=0.05, fold 2: phases 3, 4'
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
    """The parameters of a choice, for messages."""
    return f"sparsity={sparsity}, noise_rate={noise_rate:g}"


def fit_to_fold(
    estimator: HalfspaceClassifier,
    settings: Settings,
    rows: Rows,
    labels: Any,
    trust: FloatArray,
    fold: Fold,
) -> tuple[float, tuple[int, ...]]:
    """The error on the held-out rows, and the phases without a certificate.

    Held-out rows are copied here, one fold at a time: copies for all folds would not fit in memory.
    """
    train, test = fold
    with warnings.catch_warnings():  # the caller warns once for all folds
        warnings.simplefilter("ignore", DistrustedClass)
        warnings.simplefilter("ignore", UncertifiedPhase)
        estimator._learn(rows, labels, settings, train)
    return_free_memory()
    wrong = estimator._labels(estimator._scores(rows[test])) != labels[test]
    missed = tuple(p.phase.index for p in estimator.phases_ if not p.is_certified)
    return weighted_error(wrong, labels[test], trust[test]), missed


def results_of(tasks: Iterable[Any], n_jobs: int | None) -> Iterator[Any]:
    """The results of joblib's tasks in order, each as soon as it is ready.

    Examples
    --------
    >>> from joblib import delayed
    >>> list(results_of((delayed(abs)(i) for i in (-1, -2)), n_jobs=None))
    [1, 2]
    """
    try:
        parallel = Parallel(n_jobs=n_jobs, return_as="generator")
    except ValueError:  # a backend without generators
        parallel = Parallel(n_jobs=n_jobs)
    return iter(parallel(tasks))


def warn_of_uncertified(results: Sequence[FoldResult]) -> None:
    """Warn once about all fits to folds in which a phase has no certificate.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_of_uncertified([FoldResult(9, 0.1, 1, 0.2, ()), FoldResult(9, 0.1, 2, 0.2, (3,))])
    >>> print(caught[0].message)
    solvers missed their certificates in 1 of 2 fits to folds: sparsity=9, noise_rate=0.1, fold 2:
    phase 3
    """
    missed = [str(result) for result in results if result.uncertified]
    if missed:
        more = f"; and {len(missed) - MOST_NAMED} more" if len(missed) > MOST_NAMED else ""
        warn_caller(
            f"solvers missed their certificates in {len(missed)} of {len(results)} fits to folds: "
            f"{'; '.join(missed[:MOST_NAMED])}{more}",
            UncertifiedPhase,
        )


# -- the choice ------------------------------------------------------------------------------


@dataclass(frozen=True)
class PathPoint:
    """The cross-validated error of one choice of parameters.

    Parameters
    ----------
    sparsity, noise_rate : the choice
    error : share of the held-out trust on wrongly classified rows, averaged over the folds. Use it
        to compare choices: the error on new rows is larger, because rows that are hard to classify
        have little trust
    standard_error : of that average; 0 if there is a single fold

    Examples
    --------
    >>> from thresher import HalfspaceClassifierCV
    >>> rows = np.random.default_rng(0).standard_normal((300, 4))
    >>> labels = rows[:, 0] + rows[:, 1] > 0
    >>> for p in HalfspaceClassifierCV((1, 2), cv=2, random_state=0).fit(rows, labels).path_:
    ...     print(f"{p.sparsity} features: {p.error:.2f} ± {p.standard_error:.2f}")
    1 features: 0.21 ± 0.00
    2 features: 0.01 ± 0.00
    """

    sparsity: int
    noise_rate: float
    error: float
    standard_error: float


def path_of(choices: Sequence[tuple[int, float]], errors: Sequence[float]) -> tuple[PathPoint, ...]:
    """Mean and standard error over the folds for each choice; the errors are grouped by choice.

    Examples
    --------
    >>> path_of([(5, 0.1)], [0.25, 0.75])
    (PathPoint(sparsity=5, noise_rate=0.1, error=0.5, standard_error=0.25),)
    """
    table = np.reshape(errors, (len(choices), -1))
    n_folds = table.shape[1]
    spreads = table.std(axis=1, ddof=min(1, n_folds - 1)) / np.sqrt(n_folds)
    return tuple(
        PathPoint(*choice, float(error), float(spread))
        for choice, error, spread in zip(choices, table.mean(axis=1), spreads)
    )


def choose(path: Sequence[PathPoint]) -> PathPoint:
    """The sparsest choice within one standard error of the best, then the largest noise rate.

    Examples
    --------
    >>> path = [PathPoint(1, 0.0, 0.30, 0.01), PathPoint(2, 0.0, 0.11, 0.01),
    ...         PathPoint(9, 0.0, 0.10, 0.02)]
    >>> choose(path).sparsity
    2
    """
    best = min(path, key=lambda point: point.error)
    limit = best.error + best.standard_error
    good = [point for point in path if point.error <= limit]
    return min(good, key=lambda point: (point.sparsity, -point.noise_rate, point.error))
