"""`HalfspaceClassifierCV`: sparsity and noise rate chosen by cross-validation on trusted rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import product
from typing import Any, Self

import numpy as np
from joblib import delayed
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from thresher.estimators.callbacks import CallbackSupportMixin, FitReport, with_callbacks
from thresher.estimators.halfspace import HalfspaceClassifier
from thresher.estimators.model import HalfspaceModel
from thresher.estimators.parameters import check_n_jobs, check_sparsity, check_switch
from thresher.estimators.path import PathPoint, choose
from thresher.estimators.tables import check_table, check_training_table, check_two_classes
from thresher.estimators.trials import (
    Fold,
    Trial,
    choice_name,
    fit_by_name,
    hold_out,
    results_of,
    warn_of_uncertified,
)
from thresher.learning import PracticalSchedule
from thresher.rendering.progress import Move, PlainLines, progress
from thresher.validation import FloatArray, Rows, check_count, check_noise_rate, seed_from

__all__ = ["HalfspaceClassifierCV", "PathPoint"]

Choice = tuple[int, float]  # sparsity and noise rate


SPARSITIES: tuple[int | str, ...] = (10, 40, 160)  # tried by default


class HalfspaceClassifierCV(CallbackSupportMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
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
    verbose : bool, default=False
        Show a progress bar on stderr, or plain lines where there is no terminal. It counts fits:
        one for the trust, one for each choice and fold, one to all rows with the choice.

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
        sparsities: Sequence[int | str] = SPARSITIES,
        noise_rates: Sequence[float] = (0.05,),
        *,
        cv: int = 3,
        fit_intercept: bool = True,
        scale: bool = True,
        reach: float = 2.0,
        label_aware: bool = True,
        schedule: PracticalSchedule | None = None,
        n_jobs: int | None = None,
        verbose: bool = False,
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
        self.verbose = verbose
        self.random_state = random_state

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any) -> Self:
        """Try every choice on held-out rows, and fit the chosen one to all of them.

        Raises
        ------
        TypeError, ValueError
            As `HalfspaceClassifier.fit`, and for a class with fewer rows than folds.
        """
        check_n_jobs(self.n_jobs)
        check_switch(self.verbose, "verbose")
        rows, labels = check_training_table(self, X, y)
        choices = self._choices(rows.shape[1])
        seed = seed_from(self.random_state)
        folds = self._folds(labels, seed)
        with self._watched(X, y, n_fits=2 + len(choices) * len(folds)) as fit_ended:
            widest = (max(s for s, _ in choices), max(eta for _, eta in choices))
            trusting = self._fit_to_all(widest, rows, labels, seed)
            fit_ended("fit for trust")
            trials = []
            for trial in self._trials(rows, labels, choices, trusting.row_weights_, folds, seed):
                trials.append(trial)
                fit_ended("fit to folds")
            warn_of_uncertified(trials)
            self.path_ = _path(choices, [trial.error for trial in trials])
            chosen = choose(self.path_)
            self.sparsity_, self.noise_rate_ = choice = chosen.sparsity, chosen.noise_rate
            is_there = choice == widest
            self._take(trusting if is_there else self._fit_to_all(choice, rows, labels, seed))
            fit_ended("fit of the choice")
        return self

    @contextmanager
    def _watched(self, X: Any, y: Any, *, n_fits: int) -> Iterator[Callable[[str], None]]:
        """A function to be called with a name after each fit; who wants to know is told."""
        report = FitReport(self, X, y, n_tasks=n_fits)
        n_done = 0
        bar: AbstractContextManager[Move] = nullcontext(_tell_nobody)
        if self.verbose:
            bar = progress("fits", n_fits, otherwise=PlainLines("fits", n_fits))
        with bar as move:
            move(n_done)  # the clock starts

            def fit_ended(name: str) -> None:
                nonlocal n_done
                n_done += 1
                move(n_done)
                report.task_ended(name)

            yield fit_ended
        report.fit_ended()

    def _fit_to_all(
        self, choice: Choice, rows: Rows, labels: Any, seed: int
    ) -> HalfspaceClassifier:
        name = f"{choice_name(*choice)}, all rows"
        return fit_by_name(self._make(*choice, seed), rows, labels, name)

    def _take(self, best: HalfspaceClassifier) -> None:
        """Have the attributes of the chosen estimator, and it those of the table's columns."""
        if hasattr(self, "feature_names_in_"):
            best.feature_names_in_ = self.feature_names_in_
        self.best_ = best
        for name in _OF_THE_CHOSEN:
            setattr(self, name, getattr(best, name))

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

    def _choices(self, n_features: int) -> list[Choice]:
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

    def _folds(self, y: Any, seed: int) -> list[Fold]:
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

    def _trials(
        self,
        rows: Rows,
        labels: Any,
        choices: Sequence[Choice],
        trust: FloatArray,
        folds: Sequence[Fold],
        seed: int,
    ) -> Iterator[Trial]:
        """One for each choice and fold, as they end."""
        places = [(*choice, i) for choice in choices for i in range(len(folds))]
        # One after the other, because a fitted estimator would be kept as long as its task.
        tasks = (
            delayed(hold_out)(self._make(sparsity, eta, seed), rows, labels, trust, folds[i])
            for sparsity, eta, i in places
        )
        for (sparsity, eta, i), result in zip(places, results_of(tasks, self.n_jobs)):
            yield Trial(sparsity, eta, i + 1, *result)

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

    def to_onnx(self) -> Any:
        """As `HalfspaceModel.to_onnx`."""
        return self.to_model().to_onnx()

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


def _tell_nobody(_: int) -> None:
    """No bar is wanted."""


def _path(choices: Sequence[Choice], errors: Sequence[float]) -> tuple[PathPoint, ...]:
    """The mean over the folds for each choice, and how sure it is; the errors come by choice."""
    table = np.reshape(errors, (len(choices), -1))
    spreads = table.std(axis=1, ddof=1) / np.sqrt(table.shape[1])
    return tuple(
        PathPoint(*choice, float(error), float(spread))
        for choice, error, spread in zip(choices, table.mean(axis=1), spreads)
    )


def _listed(values: Any, name: str) -> list[Any]:
    if isinstance(values, (str, bytes)) or not np.iterable(values):
        raise TypeError(f"{name} must be a sequence of values to choose from, got {values!r}")
    listed = list(values)
    if not listed:
        raise ValueError(f"{name} must have at least one value")
    return listed
