"""Folds: which rows to fit to, and which to hold out."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold, check_cv

from thresher.estimators.checks import check_two_classes
from thresher.validation import Rows, check_count

DEFAULT_FOLDS = 3


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


def usual_folds(labels: Any, seed: int) -> list[Fold]:
    """Stratified folds, as many as usual or as the smaller class allows.

    A class with one row cannot be held out: then the only fold holds out the training rows.

    Examples
    --------
    >>> [fold.test.tolist() for fold in usual_folds(np.array([0, 0, 1]), seed=0)]
    [[0, 1, 2]]
    """
    _, counts = np.unique(labels, return_counts=True)
    n_folds, places = min(DEFAULT_FOLDS, int(counts.min())), np.arange(len(labels))
    if n_folds < 2:
        return [Fold(1, places, places)]
    return make_folds(n_folds, places[:, np.newaxis], labels, seed)


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
