"""Cross-validation in which a held-out row counts by its trust."""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold, check_cv

from thresher.errors import DistrustedClass, UncertifiedPhase, warn_caller
from thresher.estimators.checks import Settings, check_two_classes
from thresher.estimators.halfspace import HalfspaceClassifier
from thresher.estimators.trust import weighted_error
from thresher.memory import return_free_memory
from thresher.validation import FloatArray, Rows, check_count

DEFAULT_FOLDS = 3
MOST_NAMED = 5  # fits in one message


# -- folds -----------------------------------------------------------------------------------


class Fold(NamedTuple):
    """Positions of the rows to fit to and of those held out; the first fold has number 1."""

    number: int
    train: NDArray[np.intp]
    test: NDArray[np.intp]


def make_folds(cv: Any, rows: Rows, labels: Any, seed: int) -> list[Fold]:
    """The folds that scikit-learn's `cv` stands for.

    A number means stratified folds, shuffled by the seed; None means 3. Anything else goes through
    scikit-learn's `check_cv`.

    Examples
    --------
    >>> folds = make_folds(2, np.zeros((4, 1)), np.array([0, 0, 1, 1]), seed=0)
    >>> [fold.test.tolist() for fold in folds]
    [[1, 2], [0, 3]]
    """
    check_two_classes(labels)
    if cv is None or np.isscalar(cv):
        splitter = _stratified(DEFAULT_FOLDS if cv is None else cv, labels, seed)
    else:
        splitter = check_cv(cv, labels, classifier=True)
    places = np.arange(len(labels))
    try:
        splits = [(places[train], places[test]) for train, test in splitter.split(rows, labels)]
    except (IndexError, TypeError, ValueError) as error:
        raise ValueError(f"cv must give pairs of training and test rows: {error}") from error
    if not splits:
        raise ValueError("cv must give at least one split, got none")
    folds = [Fold(i, *split) for i, split in enumerate(splits, 1)]
    for fold in folds:
        _check_fold(fold, labels)
    return folds


def _stratified(n_folds: Any, labels: Any, seed: int) -> StratifiedKFold:
    n_folds = check_count(n_folds, "cv", minimum=2)
    classes, counts = np.unique(labels, return_counts=True)
    n_rows, rarest = min(zip(counts.tolist(), classes.tolist()))
    if n_rows < n_folds:
        raise ValueError(
            f"cv must be at most {n_rows}, the number of rows of class {rarest!r}, got {n_folds}"
        )
    return StratifiedKFold(n_folds, shuffle=True, random_state=seed % 2**32)


def _check_fold(fold: Fold, labels: Any) -> None:
    if not fold.test.size:
        raise ValueError(f"cv: split {fold.number} holds out no rows")
    missing = np.setdiff1d(labels, labels[fold.train]).tolist()
    if missing:
        raise ValueError(
            f"cv: the training rows of split {fold.number} lack class {missing[0]!r}; "
            "use stratified folds"
        )


# -- fits ------------------------------------------------------------------------------------


def fit_to_all(estimator: HalfspaceClassifier, rows: Rows, labels: Any) -> HalfspaceClassifier:
    """The estimator, fitted to all rows; its warnings name its parameters."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator._learn(rows, labels, Settings.of(estimator))
    return_free_memory()
    for warning in caught:
        warn_caller(f"{_name_of(estimator)}, all rows: {warning.message}", warning.category)
    return estimator


@dataclass(frozen=True)
class FoldResult:
    """The result of a fit to the training rows of one fold.

    Parameters
    ----------
    name : sparsity, noise rate and number of the fold, for messages
    error : share of the held-out trust on wrongly classified rows
    uncertified : phases in which a solver missed its certificate
    """

    name: str
    error: float
    uncertified: tuple[int, ...]


def fit_to_folds(
    fits: Iterable[tuple[HalfspaceClassifier, Fold]],
    rows: Rows,
    labels: Any,
    trust: FloatArray,
    n_jobs: int | None,
) -> Iterator[FoldResult]:
    """The result of each estimator on its fold, in order, each as soon as it is ready."""
    tasks = (delayed(_fit_to_fold)(*fit, rows, labels, trust) for fit in fits)
    try:
        parallel = Parallel(n_jobs=n_jobs, return_as="generator")
    except ValueError:  # a backend without generators
        parallel = Parallel(n_jobs=n_jobs)
    return iter(parallel(tasks))


def _fit_to_fold(
    estimator: HalfspaceClassifier, fold: Fold, rows: Rows, labels: Any, trust: FloatArray
) -> FoldResult:
    with warnings.catch_warnings():  # the caller warns once for all folds
        warnings.simplefilter("ignore", DistrustedClass)
        warnings.simplefilter("ignore", UncertifiedPhase)
        estimator._learn(rows, labels, Settings.of(estimator), fold.train)
    return_free_memory()
    held_out = labels[fold.test]
    # Rows are copied one fold at a time: copies for all folds would not fit in memory.
    wrong = estimator._labels(estimator._scores(rows[fold.test])) != held_out
    error = weighted_error(wrong, held_out, trust[fold.test])
    missed = tuple(p.phase.index for p in estimator.phases_ if not p.is_certified)
    return FoldResult(f"{_name_of(estimator)}, fold {fold.number}", error, missed)


def _name_of(estimator: HalfspaceClassifier) -> str:
    return f"sparsity={estimator.sparsity}, noise_rate={estimator.noise_rate:g}"


def warn_of_uncertified(results: Sequence[FoldResult]) -> None:
    """Warn once about all fits to folds in which a phase has no certificate.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_of_uncertified([FoldResult("fold 1", 0.2, ()), FoldResult("fold 2", 0.2, (3, 4))])
    >>> print(caught[0].message)
    solvers missed their certificates in 1 of 2 fits to folds: fold 2 (phases 3, 4)
    """
    missed = [
        f"{r.name} (phases {', '.join(map(str, r.uncertified))})" for r in results if r.uncertified
    ]
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
