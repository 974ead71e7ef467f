"""Folds: which rows to fit to, and which to hold out."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold, check_cv

from thresher.estimators.checks import check_two_classes
from thresher.estimators.copies import Copies
from thresher.validation import Rows, check_count
from thresher.wording import count

DEFAULT_FOLDS = 3


class Fold(NamedTuple):
    """Positions of the rows to fit to and of those held out; the first fold has number 1."""

    number: int
    train: NDArray[np.intp]
    test: NDArray[np.intp]


def make_folds(
    cv: Any, rows: Rows, labels: Any, seed: int, copies: Copies | None = None
) -> list[Fold]:
    """The folds that scikit-learn's `cv` stands for, of the table or of copies of its rows.

    A number means stratified folds, shuffled by the seed; None means 3. Equal rows are then in the
    same fold, unless a class has fewer distinct rows than there are folds. Anything else goes
    through scikit-learn's `check_cv`.

    Examples
    --------
    >>> folds = make_folds(2, np.zeros((4, 1)), np.array([0, 0, 1, 1]), seed=0)
    >>> [fold.test.tolist() for fold in folds]
    [[1, 2], [0, 3]]
    """
    copied = labels if copies is None else labels[copies.places]
    check_two_classes(copied)
    if cv is None or np.isscalar(cv):
        n_folds = check_count(DEFAULT_FOLDS if cv is None else cv, "cv", minimum=2)
        folds = _stratified_folds(n_folds, copied, seed, copies)
    else:
        folds = _given_folds(cv, rows, labels, copies)
    for fold in folds:
        _check_fold(fold, copied)
    return folds


def _given_folds(cv: Any, rows: Rows, labels: Any, copies: Copies | None) -> list[Fold]:
    splitter, places = check_cv(cv, labels, classifier=True), np.arange(len(labels))
    try:
        splits = [(places[train], places[test]) for train, test in splitter.split(rows, labels)]
    except (IndexError, TypeError, ValueError) as error:
        raise ValueError(f"cv must give pairs of training and test rows: {error}") from error
    if not splits:
        raise ValueError("cv must give at least one split, got none")
    if copies is not None:
        splits = [(copies.positions(train), copies.positions(test)) for train, test in splits]
    return [Fold(i, *split) for i, split in enumerate(splits, 1)]


def usual_folds(labels: Any, seed: int, copies: Copies | None = None) -> list[Fold]:
    """Stratified folds of rows, or copies, as many as usual or as the smaller class allows.

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
    return _stratified_folds(n_folds, labels, seed, copies)


def restricted(folds: Sequence[Fold], places: NDArray[np.intp], n_rows: int) -> list[Fold]:
    """The folds without the rows that are not among these places.

    Examples
    --------
    >>> folds = usual_folds(np.array([0, 0, 1, 1]), seed=0)
    >>> [fold.test.tolist() for fold in restricted(folds, np.array([0, 2]), 4)]
    [[2], [0]]
    """
    is_in = np.zeros(n_rows, dtype=np.bool_)
    is_in[places] = True
    return [
        Fold(fold.number, *(part[is_in[part]] for part in (fold.train, fold.test)))
        for fold in folds
    ]


def renumbered(folds: Sequence[Fold], places: NDArray[np.intp]) -> list[Fold]:
    """The same folds of a table that has the rows of these places alone.

    Examples
    --------
    >>> [fold.test.tolist() for fold in renumbered([Fold(1, [3], [5, 8])], np.array([3, 5, 8]))]
    [[1, 2]]
    """
    return [
        Fold(fold.number, *(np.searchsorted(places, part) for part in fold[1:])) for fold in folds
    ]


def are_usable(folds: Sequence[Fold], labels: Any) -> bool:
    """Whether every fold holds out rows, and has every class among those to fit to."""
    n_classes = np.unique(labels).size
    return all(f.test.size and np.unique(labels[f.train]).size == n_classes for f in folds)


def _stratified_folds(n_folds: int, labels: Any, seed: int, copies: Copies | None) -> list[Fold]:
    """Shuffled folds of rows; of groups of equal rows if there are copies."""
    splitter = _stratified(n_folds, labels, seed)
    if copies is not None:
        _, first = np.unique(copies.groups, return_index=True)
        _, counts = np.unique(labels[first], return_counts=True)
        if counts.size == 2 and counts.min() >= n_folds:
            splits = splitter.split(first[:, np.newaxis], labels[first])
            number = np.cumsum(np.append(0, np.diff(copies.groups) != 0))  # of the group
            return [
                Fold(i, *(np.flatnonzero(np.isin(number, part)) for part in split))
                for i, split in enumerate(splits, 1)
            ]
    splits = splitter.split(np.empty((len(labels), 1)), labels)
    return [Fold(i, *split) for i, split in enumerate(splits, 1)]


def _stratified(n_folds: int, labels: Any, seed: int) -> StratifiedKFold:
    classes, counts = np.unique(labels, return_counts=True)
    n_rows, rarest = min(zip(counts.tolist(), classes.tolist()))
    if n_rows < n_folds:
        has, enough = f"class {rarest!r} has {count(n_rows, 'row')}", f"pass cv={n_rows}"
        if n_rows == 1:
            enough = "HalfspaceClassifier needs only 1"
        raise ValueError(f"cv={n_folds} needs {n_folds} rows of each class, but {has}: {enough}")
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
