"""Penalized linear fits to trusted rows, with the penalty chosen on held-out ones."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from thresher.estimators.examples import ALL_ROWS, Columns, Examples, HeldOut, Places, Scores, taken
from thresher.estimators.feature_choice import choose_features
from thresher.estimators.folds import Fold
from thresher.estimators.path_average import (
    CLEARLY,
    FAR,
    Linear,
    are_worse,
    factors_of,
    linear,
    mean_of,
)
from thresher.estimators.penalized_fit import PenalizedFit
from thresher.geometry import hard_threshold
from thresher.penalty_checker import relative_gap
from thresher.validation import FloatArray, Rows, is_sparse

INTERCEPT_ENTRY = 10.0  # liblinear penalizes the intercept; this makes it ten times less
ROUGH, FINE = 1e-3, 1e-5  # tolerances of the solver: to compare fits, and for the chosen one
FAR_MORE = 10  # columns for each row: then no single L1 fit is what predicts best
PATIENCE = 3  # values of C without a smaller error after which a path ends
SMALLEST_SLOPE = 1e-100  # of the loss: smaller ones are zero but for rounding, or C would overflow
N_HALVINGS = 3  # of the step of C that crossed the limit of features
SMALLER = 0.8  # factor of C while a fit has too many features
L1_STEPS, L2_STEPS = 100, 1000  # bounds on the work of a fit
L1_RANGE = np.logspace(0.25, 3, 12)  # multiples of the least C with a non-zero coefficient
L2_RANGE = np.logspace(-5, 2, 8)
# The first release that deprecates `penalty` also takes an l1_ratio without it.
L1_ONLY = {"l1_ratio": 1.0} if LogisticRegression().penalty == "deprecated" else {"penalty": "l1"}


# -- two penalties ---------------------------------------------------------------------------


def l1_logistic(
    C: float, seed: Any = None, *, tolerance: float = ROUGH, fit_intercept: bool = True
) -> Any:
    """Scikit-learn's L1 logistic regression with an intercept that is barely penalized.

    The solver is liblinear: on standardized tables it was faster than saga.
    """
    return LogisticRegression(
        **L1_ONLY,
        C=C,
        solver="liblinear",
        tol=tolerance,
        max_iter=L1_STEPS,
        fit_intercept=fit_intercept,
        intercept_scaling=INTERCEPT_ENTRY,
        random_state=seed,
    )


def l2_support_vectors(
    C: float, seed: Any = None, *, tolerance: float = ROUGH, fit_intercept: bool = True
) -> Any:
    """Scikit-learn's linear support vector machine with an intercept that is barely penalized."""
    return LinearSVC(
        C=C,
        dual="auto",
        tol=tolerance,
        max_iter=L2_STEPS,
        fit_intercept=fit_intercept,
        intercept_scaling=INTERCEPT_ENTRY,
        random_state=seed,
    )


def slope_at_zero(rows: Rows, signs: FloatArray, weights: FloatArray) -> float:
    """Of the logistic loss, by its steepest coefficient: C times it must exceed 1."""
    centered = weights * (signs - np.average(signs, weights=weights))
    return float(np.abs(rows.T @ centered).max(initial=0.0)) / 2


def with_short_indices(rows: Rows) -> Rows:
    """The rows, sparse ones with 32-bit indices if they fit: the solver takes no others."""
    if not is_sparse(rows) or max(rows.nnz, *rows.shape) > np.iinfo(np.int32).max:
        return rows
    parts = (rows.data, rows.indices.astype(np.int32), rows.indptr.astype(np.int32))
    return sp.csr_array(parts, shape=rows.shape)


# -- the path of a penalty -------------------------------------------------------------------


class PathFit(Protocol):
    """A fit on the path of a penalty."""

    @property
    def C(self) -> float: ...
    @property
    def error(self) -> float: ...
    @property
    def is_converged(self) -> bool: ...


F = TypeVar("F", bound=PathFit)


def walk_path(first: F, grid: Iterable[float], fit: Callable[[float], F | None]) -> list[F]:
    """The fits from the strongest penalty to weaker ones, until they stop improving.

    `fit` returns None if a model has too many features. Then the step of C that went too far is
    halved a few times, on a log scale. The path also ends with a fit that did not converge: larger
    C take longer.
    """
    path = [first]
    for C in grid:
        point = fit(C)
        if point is None:
            return path + _just_below(path[-1].C, C, fit)
        path.append(point)
        if not point.is_converged or len(path) - 1 - best_on(path) >= PATIENCE:
            break
    return path


def _just_below(low: float, high: float, fit: Callable[[float], F | None]) -> list[F]:
    found = []
    for _ in range(N_HALVINGS):
        middle = float(np.sqrt(low * high))
        point = fit(middle)
        if point is None:
            high = middle
        else:
            low = middle
            found.append(point)
    return found


def best_on(path: Sequence[PathFit]) -> int:
    """The first fit with the smallest error: the sparsest of equally good models."""
    return int(np.argmin([point.error for point in path]))


# -- the best fit ----------------------------------------------------------------------------


def best_penalized(examples: Examples, limit: int | None = None) -> PenalizedFit:
    """The fit with the penalty that `choose_penalty` finds, with its duality gap if it is one fit.

    Parameters
    ----------
    examples : rows, signs, weights and folds
    limit : the largest number of features; None: no limit. A limited L2 fit uses the features that
        the L1 fit chose, or those that `choose_features` adds one after the other

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.standard_normal((200, 30))
    >>> signs = np.sign(rows[:, 3] - rows[:, 5])
    >>> folds = [Fold(1, np.arange(100), np.arange(100, 200))]
    >>> fit = best_penalized(Examples(rows, signs, np.ones(200), np.ones(200), folds), limit=2)
    >>> np.flatnonzero(fit.coef), fit.is_certified
    (array([3, 5]), True)
    """
    return choose_penalty(examples, limit).fitted()


def choose_penalty(examples: Examples, limit: int | None = None) -> "ChosenPenalty":
    """The penalty, L1 or L2, and the C with the least error on held-out rows.

    Parameters are those of `best_penalized`.
    """
    rows = taken(examples.rows, examples.columns.get(ALL_ROWS))
    slope = slope_at_zero(rows, examples.signs, examples.weights)
    first = _Path("L1", l1_logistic, examples, limit=limit)
    if slope < SMALLEST_SLOPE:  # then a constant is optimal
        return first.constant(1.0)
    grid = L1_RANGE / slope
    sparse = first.best(grid)
    dense = _Path("L2", l2_support_vectors, examples)
    if limit is None or limit >= rows.shape[1]:
        both = [sparse, dense.best(L2_RANGE)]
        if first.averages:  # a constant must be better than either
            both = [point for point in both if not point.is_constant] or both
        return min(both, key=lambda point: point.error)
    with_features = float(grid[len(grid) // 2]) if sparse.is_constant else sparse.C
    choices = [first.features(with_features), _one_after_the_other(examples, limit)]
    limited = [replace(dense, columns=columns).best(L2_RANGE) for columns in choices]
    return min(sparse, *limited, key=lambda point: point.error)


def _one_after_the_other(examples: Examples, limit: int) -> "Columns":
    weights = np.zeros((examples.signs.size, 1 + len(examples.folds)))
    weights[:, 0] = examples.weights
    for i, fold in enumerate(examples.folds, start=1):
        weights[fold.train, i] = examples.weights_of(fold.train)
    numbers = [ALL_ROWS, *(fold.number for fold in examples.folds)]
    may_use = [examples.columns.get(number) for number in numbers]
    chosen = choose_features(
        examples.rows,
        examples.signs,
        weights,
        limit,
        with_intercept=examples.with_intercept,
        may_use=may_use,
    )
    return {
        number: columns if columns.size else _first(limit, own)
        for number, columns, own in zip(numbers, chosen, may_use)
    }


def _first(limit: int, may_use: NDArray[np.intp] | None) -> NDArray[np.intp]:
    """The first columns, where none was chosen: a fit needs one."""
    return np.arange(limit) if may_use is None else may_use[:limit]


@dataclass(frozen=True, eq=False)
class ChosenPenalty:
    """A penalty and a value of C, and what fits with it did on held-out rows.

    An average of fits with different C has the factor of each of them in `factors`, and the C of
    the best one. `models` are the fits to the folds, by number, where they may be averaged.
    """

    path: "_Path"
    C: float
    held_out: HeldOut
    is_converged: bool = True
    is_constant: bool = False
    models: dict[int, Linear] = field(default_factory=dict)
    factors: dict[float, float] = field(default_factory=dict)

    @property
    def error(self) -> float:
        return self.held_out.error

    @property
    def columns(self) -> NDArray[np.intp] | None:
        """That the fit to all rows may use; None: all."""
        return self.path.columns_of(ALL_ROWS)

    def fitted(self) -> PenalizedFit:
        """The fit to all examples, with its duality gap; or the average of fits, without one."""
        return self.path.fitted(self)

    def fitted_to(self, everyone: Examples) -> PenalizedFit:
        """The fit to more rows than those that chose the penalty; they have its columns alone.

        The loss is a sum over rows, so C is smaller for more of them. If the fit has too many
        features, C is lowered further.
        """
        path = replace(self.path, examples=everyone, columns={}, used={})
        fewer = float(self.path.examples.weights.sum() / everyone.weights.sum())
        C, factors = self.C * fewer, {C * fewer: factor for C, factor in self.factors.items()}
        while not self.is_constant and path.has_too_many_features(C):
            C *= SMALLER
        return path.fitted(replace(self, path=path, C=C, factors=factors))


@dataclass(frozen=True, eq=False)
class _Path:
    """The fits of one penalty, on all columns or on some that are chosen in each fold anew."""

    penalty: str
    model: Callable[..., Any]
    examples: Examples
    limit: int | None = None
    columns: Columns = field(default_factory=dict)
    used: dict[tuple[float, int], NDArray[np.intp]] = field(default_factory=dict)

    def features(self, C: float) -> Columns:
        """The columns that matter most in a fit with this C, to all rows and in each fold."""
        columns = {ALL_ROWS: self._features(C, ALL_ROWS, slice(None))}
        for fold in self.examples.folds:
            columns[fold.number] = self._features(C, fold.number, fold.train)
        return columns

    def _features(self, C: float, number: int, train: Places) -> NDArray[np.intp]:
        if (C, number) not in self.used:
            self._remember(C, number, self._fit(C, number, train).coef_[0])
        return self.used[C, number]

    def _remember(self, C: float, number: int, coef: FloatArray) -> None:
        if self.limit is not None:
            may_use = self.columns_of(number)
            most = np.flatnonzero(hard_threshold(coef, self.limit))
            own = most if may_use is None else may_use[most]
            self.used[C, number] = own if own.size else _first(self.limit, may_use)

    def columns_of(self, number: int) -> NDArray[np.intp] | None:
        """That the fit to a fold, or to all rows, may use; None: all."""
        return self.columns.get(number, self.examples.columns.get(number))

    def _fit(
        self,
        C: float,
        number: int = ALL_ROWS,
        train: Places = slice(None),
        *,
        tolerance: float = ROUGH,
    ) -> Any:
        seed, has_intercept = self.examples.seed % 2**32, self.examples.with_intercept
        model = self.model(C, seed, tolerance=tolerance, fit_intercept=has_intercept)
        return self.examples.fit(model, train, self.columns_of(number))

    def best(self, grid: FloatArray) -> ChosenPenalty:
        """The C with the least error on held-out rows, or an average of several."""
        constant = self.constant(float(grid[0]) / 4)
        if self.averages:
            return self._average(constant, grid)
        path = walk_path(constant, grid.tolist(), self._point)
        return path[best_on(path)]

    @property
    def averages(self) -> bool:
        """Whether too few rows tell which of the L1 fits without a limit is best."""
        own = self.columns_of(ALL_ROWS)
        n_columns = self.examples.rows.shape[1] if own is None else own.size
        is_free = self.penalty == "L1" and self.limit is None
        return is_free and n_columns > FAR_MORE * self.examples.n_distinct()

    def _average(self, constant: ChosenPenalty, grid: FloatArray) -> ChosenPenalty:
        """The fits on the path, each with a share by its error (see `path_average`).

        The constant only if all of them are clearly worse.
        """
        n_rows = self.examples.n_distinct(np.isfinite(constant.held_out.scores))
        path: list[ChosenPenalty] = []
        for C in grid.tolist():
            point = self._point(C)
            assert point is not None  # there is no limit of features
            path.append(point)
            if not point.is_converged or are_worse(path[-PATIENCE:], path, n_rows, FAR):
                break
        if are_worse(path, [constant], n_rows, CLEARLY):
            return constant
        best = path[best_on(path)]
        factors = factors_of(path, best, n_rows)
        if not factors:  # every fit has a fold in which it is a constant
            return best

        def scores(fold: Fold) -> Scores:
            models = {point.C: point.models[fold.number] for point in path}
            return self._scores(fold, *mean_of(models, factors))

        held_out = self.examples.held_out(scores)
        return replace(best, held_out=held_out, factors=factors, models={})

    def constant(self, C: float) -> ChosenPenalty:
        """An infinite penalty: the class with the larger weight."""
        held_out = self.examples.held_out(
            lambda fold: lambda rows: np.full(rows.shape[0], self._mean_sign(fold.train))
        )
        return ChosenPenalty(self, C, held_out, is_constant=True)

    def _mean_sign(self, train: Places) -> float:
        signs, weights = self.examples.signs[train], self.examples.weights_of(train)
        return float(np.average(signs, weights=weights)) * self.examples.with_intercept

    def has_too_many_features(self, C: float) -> bool:
        """Whether a fit to all rows with this C has more than the limit."""
        if self.limit is None:
            return False
        coef = self._fit(C).coef_[0]
        self._remember(C, ALL_ROWS, coef)
        return int(np.count_nonzero(coef)) > self.limit

    def _point(self, C: float) -> ChosenPenalty | None:
        """This C on held-out rows; None if a fit to all rows has too many features."""
        if self.has_too_many_features(C):
            return None
        models: dict[int, Linear] = {}
        converged = []

        def scores(fold: Fold) -> Scores:
            model = self._fit(C, fold.number, fold.train)
            self._remember(C, fold.number, model.coef_[0])
            converged.append(int(np.max(model.n_iter_)) < model.max_iter)
            if self.averages:
                models[fold.number] = linear(model)
            return self._scores(fold, model.coef_, model.intercept_)

        held_out = self.examples.held_out(scores)
        return ChosenPenalty(self, C, held_out, all(converged), models=models)

    def _scores(self, fold: Fold, coef: FloatArray, offset: Any) -> Scores:
        columns = self.columns_of(fold.number)
        # As a model's decision_function, whose checks take longer than the product.
        return lambda rows: np.ravel(taken(rows, columns) @ coef.T + offset)

    def fitted(self, point: ChosenPenalty) -> PenalizedFit:
        """The fit to all rows, or the average of such fits.

        Those of an average have the tolerance of the path, a single one has a finer one.
        """
        if point.is_constant:
            zeros, mean = np.zeros(self.examples.rows.shape[1]), self._mean_sign(slice(None))
            return PenalizedFit(self.penalty, point.C, zeros, mean, point.held_out)
        if point.factors:
            models = {C: linear(self._fit(C)) for C in point.factors}
            fit = self._as_fit(point, *mean_of(models, point.factors))
            return replace(fit, n_averaged=len(models))
        model = self._fit(point.C, tolerance=FINE)
        if self.limit is not None and np.count_nonzero(model.coef_) > self.limit:
            model = self._fit(point.C)
        fit = self._as_fit(point, model.coef_, model.intercept_)
        gap = relative_gap(
            taken(self.examples.rows, self.columns_of(ALL_ROWS)),
            self.examples.signs,
            self.examples.weights,
            penalty=self.penalty,
            C=point.C,
            coef=model.coef_[0],
            offset=fit.offset,
            intercept_entry=INTERCEPT_ENTRY if self.examples.with_intercept else 0.0,
        )
        return replace(fit, gap=gap)

    def _as_fit(self, point: ChosenPenalty, own: FloatArray, intercept: Any) -> PenalizedFit:
        columns, coef = self.columns_of(ALL_ROWS), np.zeros(self.examples.rows.shape[1])
        coef[slice(None) if columns is None else columns] = own[0]
        offset = float(np.ravel(intercept)[0])
        return PenalizedFit(self.penalty, point.C, coef, offset, point.held_out)
