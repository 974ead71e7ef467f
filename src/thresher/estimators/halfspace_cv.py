"""`HalfspaceClassifierCV`: sparsity and noise rate chosen by cross-validation on trusted rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from itertools import product
from typing import Any, Self

import numpy as np
from joblib import delayed
from sklearn.utils.validation import check_is_fitted

from thresher.errors import warn_caller
from thresher.estimators.base import FitReport, FittedHalfspace, with_callbacks
from thresher.estimators.checks import (
    Settings,
    check_n_jobs,
    check_sparsity,
    check_switch,
    check_training_table,
)
from thresher.estimators.cross_validation import (
    DEFAULT_FOLDS,
    Fold,
    FoldResult,
    choice_name,
    choose,
    fit_to_fold,
    make_folds,
    path_of,
    results_of,
    warn_of_uncertified,
)
from thresher.estimators.halfspace import HalfspaceClassifier
from thresher.estimators.model import HalfspaceModel
from thresher.learning import PracticalSchedule
from thresher.memory import return_free_memory
from thresher.rendering.progress import Move, PlainLines, progress
from thresher.validation import FloatArray, Rows, check_noise_rate

Choice = tuple[int, float]  # sparsity and noise rate

SPARSITIES: tuple[int | str, ...] = (10, 40, 160)  # tried by default


class HalfspaceClassifierCV(FittedHalfspace):
    """A `HalfspaceClassifier` whose sparsity and noise rate are chosen by cross-validation.

    Held-out folds contain planted rows as well, which would favor the model they steered. So a
    held-out row counts by its trust: its weight in a fit to the whole table with the largest noise
    rate and sparsity. Among the choices within one standard error of the best, the one with the
    fewest features is taken, then the one with the largest noise rate. An adversary can hide some
    planted rows from this comparison: if you know the noise rate to withstand, pass only that.

    Parameters
    ----------
    sparsities : sequence of int or "all", default=(10, 40, 160)
        Values above the number of columns mean all columns, and are tried once.
    noise_rates : sequence of float, default=(0.05,)
    cv : int, splitter, iterable of (train, test) splits or None, default=3
        As in scikit-learn. A number means stratified folds, shuffled by `random_state`; None means
        3. Every class must occur in the training rows of every split.
    fit_intercept, scale, reach, label_aware, schedule, random_state : as in `HalfspaceClassifier`;
        `random_state` also shuffles the folds
    n_jobs : int or None, default=None
        Number of processes for the fits, as in joblib.
    verbose : bool, default=False
        Show a progress bar on stderr, or plain lines if that is not a terminal. It counts fits: one
        for the trust, one per choice and fold, and one of the chosen model to all rows.

    Attributes
    ----------
    path_ : one `PathPoint` per choice
    sparsity_, noise_rate_ : the choice
    best_estimator_, best_ : the chosen `HalfspaceClassifier`, fitted to all rows (one object under
        two names)
    coef_, intercept_, support_, classes_, row_weights_, phases_, n_iter_, scaling_ : those of
        `best_estimator_`
    n_features_in_, feature_names_in_ : as in scikit-learn

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((300, 12))
    >>> y = np.where(X[:, 3] - X[:, 5] > 0, 1, 0)
    >>> model = HalfspaceClassifierCV(sparsities=(1, 2), cv=2, random_state=0).fit(X, y)
    >>> model.sparsity_, model.support_
    (2, array([3, 5]))
    """

    def __init__(
        self,
        sparsities: Sequence[int | str] = SPARSITIES,
        noise_rates: Sequence[float] = (0.05,),
        *,
        cv: Any = DEFAULT_FOLDS,
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
        """Compare the choices by cross-validation, and fit the best one to all rows.

        Raises
        ------
        TypeError, ValueError
            As in `HalfspaceClassifier.fit`; or the folds are unusable, for example because a class
            has fewer rows than there are folds.
        """
        settings = self._check_parameters()
        rows, labels = check_training_table(self, X, y)
        choices = self._choices(rows.shape[1])
        folds = make_folds(self.cv, rows, labels, settings.seed)
        with self._watched(X, y, n_fits=2 + len(choices) * len(folds)) as fit_ended:
            widest = (max(s for s, _ in choices), max(eta for _, eta in choices))
            trusting = self._fit_to_all(widest, rows, labels, settings)
            fit_ended("fit for trust")
            results = []
            trust = trusting.row_weights_
            for result in self._fits_to_folds(rows, labels, choices, trust, folds, settings):
                results.append(result)
                fit_ended("fit to folds")
            warn_of_uncertified(results)
            self.path_ = path_of(choices, [result.error for result in results])
            chosen = choose(self.path_)
            self.sparsity_, self.noise_rate_ = choice = chosen.sparsity, chosen.noise_rate
            is_done = choice == widest
            self._take(trusting if is_done else self._fit_to_all(choice, rows, labels, settings))
            fit_ended("fit of the choice")
        return self

    def _check_parameters(self) -> Settings:
        """The settings of every fit except sparsity and noise rate."""
        check_n_jobs(self.n_jobs)
        check_switch(self.verbose, "verbose")
        return Settings.of(self._make(1, 0.0, self.random_state))

    def _make(self, sparsity: int, noise_rate: float, random_state: Any) -> HalfspaceClassifier:
        return HalfspaceClassifier(
            sparsity,
            noise_rate,
            fit_intercept=self.fit_intercept,
            scale=self.scale,
            reach=self.reach,
            label_aware=self.label_aware,
            schedule=self.schedule,
            random_state=random_state,
        )

    def _choices(self, n_features: int) -> list[Choice]:
        """Every sparsity, from small to large, with every noise rate."""
        sparsities = [
            min(check_sparsity(value, f"sparsities[{i}]"), n_features)
            for i, value in enumerate(_listed(self.sparsities, "sparsities"))
        ]
        noise_rates = [
            check_noise_rate(value, f"noise_rates[{i}]")
            for i, value in enumerate(_listed(self.noise_rates, "noise_rates"))
        ]
        return list(product(sorted(set(sparsities)), dict.fromkeys(noise_rates)))

    @contextmanager
    def _watched(self, X: Any, y: Any, *, n_fits: int) -> Iterator[Callable[[str], None]]:
        """A function to call after each fit; it moves the progress bar and informs callbacks."""
        report = FitReport(self, X, y, n_tasks=n_fits)
        n_done = 0
        bar: AbstractContextManager[Move] = nullcontext(lambda _: None)
        if self.verbose:
            bar = progress("fits", n_fits, otherwise=PlainLines("fits", n_fits))
        with bar as move:
            move(n_done)  # starts the clock

            def fit_ended(name: str) -> None:
                nonlocal n_done
                n_done += 1
                move(n_done)
                report.task_ended(name)

            yield fit_ended
        report.fit_ended()

    def _fit_to_all(
        self, choice: Choice, rows: Rows, labels: Any, settings: Settings
    ) -> HalfspaceClassifier:
        """A fit to all rows, whose warnings name the choice."""
        estimator = self._make(*choice, settings.seed)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            estimator._learn(rows, labels, _with_choice(settings, choice))
        return_free_memory()
        for warning in caught:
            warn_caller(f"{choice_name(*choice)}, all rows: {warning.message}", warning.category)
        return estimator

    def _fits_to_folds(
        self,
        rows: Rows,
        labels: Any,
        choices: Sequence[Choice],
        trust: FloatArray,
        folds: Sequence[Fold],
        settings: Settings,
    ) -> Iterator[FoldResult]:
        """One result per choice and fold, as they become ready."""
        places = [(choice, i) for choice in choices for i in range(len(folds))]
        # A generator: a list of tasks would keep every fitted estimator in memory.
        tasks = (
            delayed(fit_to_fold)(
                self._make(*choice, settings.seed),
                _with_choice(settings, choice),
                rows,
                labels,
                trust,
                folds[i],
            )
            for choice, i in places
        )
        for (choice, i), result in zip(places, results_of(tasks, self.n_jobs)):
            yield FoldResult(*choice, i + 1, *result)

    def _take(self, best: HalfspaceClassifier) -> None:
        """Take over the fitted attributes of the chosen estimator, and complete it."""
        self.__dict__.update(
            {name: value for name, value in vars(best).items() if name not in best.get_params()}
        )
        best.n_features_in_ = self.n_features_in_
        if hasattr(self, "feature_names_in_"):
            best.feature_names_in_ = self.feature_names_in_
        self.best_ = self.best_estimator_ = best

    def to_model(self) -> HalfspaceModel:
        """The chosen model without the estimator around it, for `save_model`."""
        check_is_fitted(self)
        return self.best_estimator_.to_model()


def _with_choice(settings: Settings, choice: Choice) -> Settings:
    return replace(settings, sparsity=choice[0], noise_rate=choice[1])


def _listed(values: Any, name: str) -> list[Any]:
    if isinstance(values, (str, bytes)) or not np.iterable(values):
        raise TypeError(f"{name} must be a sequence, got {values!r}")
    listed = list(values)
    if not listed:
        raise ValueError(f"{name} must have at least one value")
    return listed
