"""`HalfspaceClassifierCV`: sparsity and noise rate chosen by cross-validation on trusted rows."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from itertools import product
from typing import Any, Self, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from thresher.arrays import stored
from thresher.estimators.base import FitReport, FittedHalfspace, with_callbacks
from thresher.estimators.checks import (
    Settings,
    check_n_jobs,
    check_sample_weight,
    check_sparsity,
    check_table_where_it_is,
)
from thresher.estimators.comparison import Choice, Comparison, choose
from thresher.estimators.contradictions import NoiseRate
from thresher.estimators.copies import Copies
from thresher.estimators.disputes import TrainingTable, settle
from thresher.estimators.folds import DEFAULT_FOLDS, make_folds
from thresher.estimators.halfspace import HalfspaceClassifier
from thresher.estimators.model import HalfspaceModel
from thresher.estimators.pools import in_memory
from thresher.learning import PracticalSchedule
from thresher.rendering.progress import Move, plain_lines, progress
from thresher.validation import check_noise_rate, check_switch

T = TypeVar("T")

# As in HalfspaceClassifier.
SHARED = (
    "final_fit",
    "class_weight",
    "max_columns",
    "fit_intercept",
    "scale",
    "reach",
    "label_aware",
    "schedule",
)


class HalfspaceClassifierCV(FittedHalfspace):
    """A `HalfspaceClassifier` whose sparsity and noise rate are chosen by cross-validation.

    Held-out folds contain planted rows as well, which would favor the model they steered. So a
    held-out row counts by its trust: its weight in a fit to the whole table with the largest noise
    rate and sparsity, or 1 if nothing stands out or trust does not help (`evidence_.helps`). Among
    the choices within one standard error of the best, the one with the fewest features is taken,
    then the one with the largest noise rate. An adversary can hide some planted rows from this
    comparison: if you know the noise rate to withstand, pass only that.

    Parameters
    ----------
    sparsities : "auto", or a sequence of int, "auto" or "all", default="auto"
        Values above the number of columns mean all columns, and are tried once.
    noise_rates : sequence of float or None, default=(0.05,)
        None: the upper end of the interval that `estimate_noise_rate` finds, at least .02.
    cv : int, splitter, iterable of (train, test) splits or None, default=3
        As in scikit-learn. A number means stratified folds, shuffled by `random_state`; None means
        3. Every class must occur in the training rows of every split.
    final_fit, class_weight, max_columns, fit_intercept, scale, reach, label_aware, schedule,
        random_state : as in `HalfspaceClassifier`; `random_state` also shuffles the folds
    n_jobs : int or None, default=None
        Number of processes for the fits, as in joblib.
    verbose : bool, default=False
        Show a progress bar on stderr, or plain lines if that is not a terminal. It counts fits: one
        for the trust, one per choice and fold, and one for the chosen model on all rows.

    Attributes
    ----------
    path_ : one `PathPoint` per choice
    sparsity_, noise_rate_ : the chosen values
    estimated_noise_rate_ : the `NoiseRate`, with an interval, if `noise_rates` is None; else None
    best_estimator_, best_ : the chosen `HalfspaceClassifier`, fitted to all rows (one object under
        two names)
    coef_, intercept_, support_, classes_, row_weights_, evidence_, final_fit_, penalized_fit_,
        columns_, phases_, n_iter_, scaling_, probability_slope_ : those of `best_estimator_`
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
        sparsities: Sequence[int | str] | str = "auto",
        noise_rates: Sequence[float] | None = (0.05,),
        *,
        final_fit: str = "auto",
        class_weight: Any = None,
        max_columns: int | None = 400,
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
        self.final_fit = final_fit
        self.class_weight = class_weight
        self.max_columns = max_columns
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
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Compare the choices by cross-validation, and fit the best one to all rows.

        X, y and sample_weight are as in `HalfspaceClassifier.fit`. Fits to an array of CuPy or
        Torch are made one after the other, whatever `n_jobs` says.

        Raises
        ------
        TypeError, ValueError
            As in `HalfspaceClassifier.fit`; or the folds are unusable, for example because a class
            has fewer rows than there are folds.
        """
        settings = self._check_parameters()
        X, y = in_memory(self, X, y)
        rows, labels = check_table_where_it_is(self, X, y)
        settings = settings.for_rows(rows)
        weights = check_sample_weight(sample_weight, len(labels))
        copies = Copies.of(rows, labels, weights)
        folds = make_folds(self.cv, rows, labels, settings.seed, copies)
        table = TrainingTable(rows, labels, folds, copies)
        make = partial(self._make, random_state=settings.seed)
        self.estimated_noise_rate_, noise_rates = None, self.noise_rates
        if noise_rates is None:
            seen = stored(table.rows), table.labels
            self.estimated_noise_rate_ = NoiseRate.seen_by(make("auto", 0.0), *seen)
            noise_rates = (self.estimated_noise_rate_.to_withstand,)
        choices = self._choices(rows.shape[1], noise_rates)
        n_fits = 2 + len(choices) * (len(folds) if settings.final_fit != "penalized" else 0)
        with self._bar(n_fits) as move:
            report = FitReport(self, X, y, n_tasks=n_fits, move=move)
            table, compared = settle(
                table,
                lambda table: Comparison(make, choices, table, settings.final_fit),
                0.0 if settings.final_fit == "hinge" else max(rate for _, rate in choices),
            )
            report.task_ended("fit for trust")
            for _ in compared.fit_halfspaces(self.n_jobs):
                report.task_ended("fit to folds")
            self.path_ = compared.path()
            self._take(compared.fit_best(choose(self.path_)), table.labels, table.copies)
            report.task_ended("fit of the choice")
            report.fit_ended()
        return self

    def _check_parameters(self) -> Settings:
        """The settings of any choice, once everything that needs no table has been checked."""
        check_n_jobs(self.n_jobs)
        check_switch(self.verbose, "verbose")
        return Settings.of(self._make(1, 0.0, self.random_state))

    def _choices(self, n_features: int, noise_rates: Sequence[float]) -> list[Choice]:
        """Every sparsity, from small to large, with every noise rate."""
        given = ["auto"] if _is_auto(self.sparsities) else self.sparsities
        checked = _checked(given, "sparsities", check_sparsity)
        checked_rates = _checked(noise_rates, "noise_rates", check_noise_rate)
        named = [_is_auto(value) for value in given]
        tried: list[int | str] = sorted(
            {min(sparsity, n_features) for sparsity, is_auto in zip(checked, named) if not is_auto}
        )
        return list(product(tried + ["auto"] * any(named), dict.fromkeys(checked_rates)))

    def _bar(self, n_fits: int) -> AbstractContextManager[Move | None]:
        if not self.verbose:
            return nullcontext()
        return progress("fits", n_fits, otherwise=plain_lines("fits", n_fits))

    def _make(
        self, sparsity: int | str, noise_rate: float, random_state: Any
    ) -> HalfspaceClassifier:
        shared = {name: getattr(self, name) for name in SHARED}
        return HalfspaceClassifier(sparsity, noise_rate, random_state=random_state, **shared)

    def _take(self, best: HalfspaceClassifier, labels: Any, copies: Copies | None) -> None:
        """Take over the fitted attributes of the chosen estimator, and complete it."""
        best._warn_of_distrusted_classes(labels)
        best._count_once(copies)
        self.sparsity_, self.noise_rate_ = best.sparsity, best.noise_rate_
        best.noise_rate = best.noise_rate_
        given = best.get_params(deep=False)
        self.__dict__.update({name: v for name, v in vars(best).items() if name not in given})
        best.n_features_in_ = self.n_features_in_
        if hasattr(self, "feature_names_in_"):
            best.feature_names_in_ = self.feature_names_in_
        self.best_ = self.best_estimator_ = best

    def to_model(self) -> HalfspaceModel:
        """The chosen model without the estimator around it, for `save_model`."""
        check_is_fitted(self)
        return self.best_estimator_.to_model()


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def _checked(values: Any, name: str, check: Callable[[object, str], T]) -> list[T]:
    if isinstance(values, (str, bytes)) or not np.iterable(values):
        raise TypeError(f"{name} must be a sequence, got {values!r}")
    checked = [check(value, f"{name}[{i}]") for i, value in enumerate(values)]
    if not checked:
        raise ValueError(f"{name} must have at least one value")
    return checked
