"""Cross-validation in which a held-out row counts by its trust."""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from joblib import Parallel, delayed

from thresher.arrays import DeviceRows
from thresher.errors import DistrustedClass, UncertifiedPhase, warn_caller
from thresher.estimators.checks import Settings, class_weights
from thresher.estimators.folds import Fold
from thresher.estimators.trust import weighted_error
from thresher.memory import return_free_memory
from thresher.validation import FloatArray, Rows

MOST_NAMED = 5  # fits in one message


# -- fits ------------------------------------------------------------------------------------


def fit_to_all(estimator: Any, rows: Rows, labels: Any) -> Any:
    """The `HalfspaceClassifier` after its phases on all rows; its warnings name its parameters."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator._learn(rows, labels, Settings.of(estimator).for_rows(rows))
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
    scores : decision function of the held-out rows
    """

    name: str
    error: float
    uncertified: tuple[int, ...]
    scores: FloatArray


def fit_to_folds(
    fits: Iterable[tuple[Any, Fold]],
    rows: Rows,
    labels: Any,
    trust: FloatArray,
    n_jobs: int | None,
) -> Iterator[FoldResult]:
    """The result of each estimator on its fold, in order, each as soon as it is ready."""
    tasks = (delayed(_fit_to_fold)(*fit, rows, labels, trust) for fit in fits)
    n_jobs = 1 if isinstance(rows, DeviceRows) else n_jobs  # other processes have no such rows
    try:
        parallel = Parallel(n_jobs=n_jobs, return_as="generator")
    except ValueError:  # a backend without generators
        parallel = Parallel(n_jobs=n_jobs)
    return iter(parallel(tasks))


def _fit_to_fold(
    estimator: Any, fold: Fold, rows: Rows, labels: Any, trust: FloatArray
) -> FoldResult:
    with warnings.catch_warnings():  # the caller warns once for all folds
        warnings.simplefilter("ignore", DistrustedClass)
        warnings.simplefilter("ignore", UncertifiedPhase)
        estimator._learn(rows, labels, Settings.of(estimator).for_rows(rows), fold.train)
    return_free_memory()
    held_out = labels[fold.test]
    # Rows are copied one fold at a time: copies for all folds would not fit in memory.
    scores = estimator._scores(rows[fold.test])
    wrong = estimator._labels(scores) != held_out
    costs = class_weights(estimator.class_weight, labels)[fold.test]
    error = weighted_error(wrong, held_out, trust[fold.test], costs)
    missed = tuple(p.phase.index for p in estimator.phases_ if not p.is_certified)
    return FoldResult(f"{_name_of(estimator)}, fold {fold.number}", error, missed, scores)


def _name_of(estimator: Any) -> str:
    return f"sparsity={estimator.sparsity}, noise_rate={estimator.noise_rate:g}"


def warn_of_uncertified(results: Sequence[FoldResult]) -> None:
    """Warn once about all fits to folds in which a phase has no certificate.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_of_uncertified([FoldResult("fold 1", 0.2, (), []),
    ...                          FoldResult("fold 2", 0.2, (3, 4), [])])
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
