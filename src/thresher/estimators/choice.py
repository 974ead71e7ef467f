"""`HalfspaceClassifierCV`: sparsity and noise rate chosen by cross-validation on trusted rows."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Self, TypeAlias

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from thresher.errors import DistrustedClass
from thresher.estimators.halfspace import HalfspaceClassifier
from thresher.estimators.model import HalfspaceModel
from thresher.estimators.parameters import check_sparsity, seed_of
from thresher.estimators.tables import check_table, check_training_table, check_two_classes
from thresher.learning import PracticalSchedule
from thresher.validation import FloatArray, Rows, check_count, check_noise_rate

Folds: TypeAlias = list[tuple[NDArray[np.intp], NDArray[np.intp]]]


@dataclass(frozen=True)
class PathPoint:
    """How one choice of parameters did on the held-out rows.

    Parameters
    ----------
    sparsity, noise_rate : the choice
    error : share of the held-out trust on wrongly classified rows, averaged over the folds. For
        comparing choices; smaller than the error on new rows, because rows that are hard to
        classify have little trust
    standard_error : of that average

    Examples
    --------
    >>> PathPoint(sparsity=5, noise_rate=0.05, error=0.1, standard_error=0.01).error
    0.1
    """

    sparsity: int
    noise_rate: float
    error: float
    standard_error: float


class HalfspaceClassifierCV(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A `HalfspaceClassifier` whose sparsity and noise rate are chosen by cross-validation.

    Planted rows are in the held-out folds, too, and would vote for the model that they steered. So
    a held-out row counts with its trust: its weight in a fit to the whole table with the largest
    noise rate and sparsity. Of the choices within one standard error of the best, those with the
    fewest features are taken, and of these the one that bears the most noise. An adversary can hide
    a share of planted rows from this comparison: a noise rate that must be borne is better given.

    Parameters
    ----------
    sparsities : sequence of int or "all", default=(10, 40, 160)
        Those above the number of features mean all of them, and are tried once.
    noise_rates : sequence of float, default=(0.05,)
    cv : int, default=3
        Number of stratified folds.
    fit_intercept, scale, reach, label_aware, schedule, random_state : as in `HalfspaceClassifier`;
        the seed decides the folds, too
    n_jobs : int or None, default=None
        Processes for the fits, as joblib has it.

    Attributes
    ----------
    path_ : one `PathPoint` for each choice
    sparsity_, noise_rate_ : the choice
    best_ : the `HalfspaceClassifier` of the choice, fitted to all rows
    coef_, intercept_, support_, classes_, row_weights_, phases_, n_iter_, scaling_ : of `best_`
    n_features_in_, feature_names_in_ : as in scikit-learn

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((900, 12))
    >>> y = np.where(X[:, 3] - X[:, 5] > 0, 1, 0)
    >>> chosen = HalfspaceClassifierCV(sparsities=(1, 2), random_state=0).fit(X, y)
    >>> chosen.sparsity_, len(chosen.path_)
    (2, 2)
    """

    def __init__(
        self,
        sparsities: Sequence[int | str] = (10, 40, 160),
        noise_rates: Sequence[float] = (0.05,),
        *,
        cv: int = 3,
        fit_intercept: bool = True,
        scale: bool = True,
        reach: float = 2.0,
        label_aware: bool = True,
        schedule: PracticalSchedule | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.sparsities = sparsities
        self.noise_rates = noise_rates
        self.cv = cv
        self.fit_intercept = fit_intercept
        self.scale = scale
        self.reach = reach
        self.label_aware = label_aware
        self.schedule = schedule
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Try every choice on held-out rows, and fit the chosen one to all of them.

        Raises
        ------
        TypeError, ValueError
            As `HalfspaceClassifier.fit`, and for a class with fewer rows than folds.
        """
        X, y = check_training_table(self, X, y)
        choices = self._choices(X.shape[1])
        seed = seed_of(self.random_state)
        folds = self._folds(y, seed)
        widest = (max(s for s, _ in choices), max(eta for _, eta in choices))
        trusting = self._make(*widest, seed).fit(X, y)
        errors = self._held_out_errors(X, y, choices, trusting.row_weights_, folds, seed)
        spreads = errors.std(axis=1, ddof=1) / np.sqrt(errors.shape[1])
        self.path_ = tuple(
            PathPoint(*choice, float(error), float(spread))
            for choice, error, spread in zip(choices, errors.mean(axis=1), spreads)
        )
        chosen = choose(self.path_)
        self.sparsity_, self.noise_rate_ = choice = chosen.sparsity, chosen.noise_rate
        self.best_ = trusting if choice == widest else self._make(*choice, seed).fit(X, y)
        if hasattr(self, "feature_names_in_"):
            self.best_.feature_names_in_ = self.feature_names_in_
        for name in _OF_THE_CHOSEN:
            setattr(self, name, getattr(self.best_, name))
        return self

    def _make(self, sparsity: int, noise_rate: float, seed: int) -> HalfspaceClassifier:
        return HalfspaceClassifier(
            sparsity,
            noise_rate,
            fit_intercept=self.fit_intercept,
            scale=self.scale,
            reach=self.reach,
            label_aware=self.label_aware,
            schedule=self.schedule,
            random_state=seed,
        )

    def _choices(self, n_features: int) -> list[tuple[int, float]]:
        """Every sparsity, from small to large, with every noise rate."""
        sparsities = [
            check_sparsity(value, n_features, f"sparsities[{i}]")
            for i, value in enumerate(_listed(self.sparsities, "sparsities"))
        ]
        noise_rates = [
            check_noise_rate(value, f"noise_rates[{i}]")
            for i, value in enumerate(_listed(self.noise_rates, "noise_rates"))
        ]
        return list(product(sorted(set(sparsities)), dict.fromkeys(noise_rates)))

    def _folds(self, y: Any, seed: int) -> Folds:
        n_folds = check_count(self.cv, "cv", minimum=2)
        classes, _ = check_two_classes(y)
        counts = [int(np.count_nonzero(y == label)) for label in classes]
        if min(counts) < n_folds:
            raise ValueError(
                f"cv must be at most {min(counts)}, the number of rows of class "
                f"{classes.tolist()[int(np.argmin(counts))]!r}, got {n_folds}"
            )
        splitter = StratifiedKFold(n_folds, shuffle=True, random_state=seed % 2**32)
        return list(splitter.split(np.zeros(len(y)), y))

    def _held_out_errors(
        self,
        X: Rows,
        y: Any,
        choices: Sequence[tuple[int, float]],
        trust: FloatArray,
        folds: Folds,
        seed: int,
    ) -> FloatArray:
        """One row a choice, one column a fold."""
        tasks = [
            delayed(_held_out_error)(self._make(*choice, seed), X, y, trust, train, test)
            for choice in choices
            for train, test in folds
        ]
        return np.reshape(Parallel(n_jobs=self.n_jobs)(tasks), (len(choices), -1))

    # -- the chosen estimator ----------------------------------------------------------------

    def decision_function(self, X: Any) -> FloatArray:
        """As `HalfspaceClassifier.decision_function`."""
        check_is_fitted(self)
        return self.best_._scores(check_table(self, X))

    def predict(self, X: Any) -> Any:
        """The label of each row."""
        scores = self.decision_function(X)
        return self.best_._labels(scores)

    def to_model(self) -> HalfspaceModel:
        """As `HalfspaceClassifier.to_model`."""
        check_is_fitted(self)
        return self.best_.to_model()

    def to_sklearn(self) -> Any:
        """As `HalfspaceClassifier.to_sklearn`."""
        return self.to_model().to_sklearn()

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = False
        return tags


_OF_THE_CHOSEN = (
    "coef_",
    "intercept_",
    "support_",
    "classes_",
    "row_weights_",
    "phases_",
    "n_iter_",
    "scaling_",
)


def _held_out_error(
    estimator: HalfspaceClassifier, X: Rows, y: Any, trust: FloatArray, train: Any, test: Any
) -> float:
    """The share of the held-out trust that lies on wrongly classified rows, class by class.

    Class by class, so that no model is better for taking the trust from a whole class.
    """
    with warnings.catch_warnings():  # the fit to all rows tells
        warnings.simplefilter("ignore", DistrustedClass)
        wrong = estimator.fit(X[train], y[train]).predict(X[test]) != y[test]
    error = 0.0
    for label in np.unique(y[test]):
        own = y[test] == label
        weights = trust[test][own] if trust[test][own].any() else None
        error += float(own.mean() * np.average(wrong[own], weights=weights))
    return error


def choose(path: Sequence[PathPoint]) -> PathPoint:
    """Of the choices within one standard error of the best the sparsest, then the most cautious.

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


def _listed(values: Any, name: str) -> list[Any]:
    if isinstance(values, (str, bytes)) or not np.iterable(values):
        raise TypeError(f"{name} must be a sequence of values to choose from, got {values!r}")
    listed = list(values)
    if not listed:
        raise ValueError(f"{name} must have at least one value")
    return listed
