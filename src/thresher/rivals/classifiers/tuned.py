"""L1 logistic regression and a linear SVM, with C tuned by cross-validation."""

import warnings
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.svm import LinearSVC

from thresher.estimators.penalized import (
    L1_RANGE,
    L2_RANGE,
    best_on,
    l1_logistic,
    slope_at_zero,
    walk_path,
)
from thresher.rivals.classifiers.linear import LinearRival
from thresher.validation import FloatArray, Rows, check_count, check_vector

Fold = tuple[NDArray[np.intp], NDArray[np.intp]]

_SVM_STEPS = 1000  # bounds the work of a fit


def tuned_l1_logistic(rows: Rows, signs: FloatArray, seed: int, **options: Any) -> Any:
    """L1 logistic regression, unfitted, with the C that predicts held-out rows best."""
    tuned = SparseLogisticRegressionCV(standardize=False, random_state=seed, **options)
    return l1_logistic(tuned.fit(rows, signs).C_, seed)


@dataclass(frozen=True, eq=False)
class PathModel:
    """A model on the path: its C, its halfspace, and its mean accuracy on held-out rows."""

    C: float
    coef: FloatArray
    offset: float
    score: float
    is_converged: bool = True

    @property
    def error(self) -> float:
        """The mean error on held-out rows."""
        return 1 - self.score


class TunedRival(LinearRival):
    """A linear classifier whose C is tuned by cross-validation; a subclass makes the models."""

    C_: float
    path_: list[PathModel]

    def _model(self, C: float) -> Any:
        raise NotImplementedError

    def _grid(self, rows: Rows, signs: FloatArray) -> FloatArray:
        raise NotImplementedError

    def _learn(self, rows: Rows, signs: FloatArray) -> tuple[FloatArray, float]:
        limit = getattr(self, "max_nonzeros", None)
        limit = rows.shape[1] if limit is None else check_count(limit, "max_nonzeros")
        fit = partial(self._fit_point, rows, signs, self._folds(signs), limit)
        grid = self._grid(rows, signs)
        null = PathModel(float(grid[0]) / 4, np.zeros(rows.shape[1]), float(np.mean(signs)), 0.0)
        self.path_ = walk_path(null, grid.tolist(), fit)
        best = self.path_[best_on(self.path_)]
        self.C_ = best.C
        return best.coef, best.offset

    def _fit_point(
        self, rows: Rows, signs: FloatArray, folds: list[Fold], limit: int, C: float
    ) -> PathModel | None:
        """The model on all rows with its cross-validated score; None if it is too dense."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # it ends the path
            model = self._model(C).fit(rows, signs)
            if np.count_nonzero(model.coef_) > limit:
                return None
            score = float(np.mean(cross_val_score(self._model(C), rows, signs, cv=folds)))
        is_converged = int(np.max(model.n_iter_)) < model.max_iter
        return PathModel(C, model.coef_[0], float(model.intercept_[0]), score, is_converged)

    def _folds(self, signs: FloatArray) -> list[Fold]:
        n_folds = check_count(self.cv, "cv", minimum=2)
        n_folds = min(n_folds, int(np.sum(signs > 0)), int(np.sum(signs < 0)))
        if n_folds < 2:  # a class with one row cannot be held out: score on the training rows
            everything = np.arange(signs.size)
            return [(everything, everything)]
        splitter = StratifiedKFold(n_folds, shuffle=True, random_state=self._seed)
        return list(splitter.split(np.zeros(signs.size), signs))


@dataclass(eq=False, repr=False)
class SparseLogisticRegressionCV(TunedRival):
    """L1 logistic regression with the C that predicts held-out rows best.

    The path begins with the sparsest models and ends when denser ones no longer improve. The model
    with the best C is fitted on all rows.

    Parameters
    ----------
    max_nonzeros : limit on non-zero coefficients; None: no limit
    cv : number of folds; reduced if a class has fewer rows
    standardize : whether to put the columns on one scale first
    random_state : seed of the folds and of the solver

    Attributes
    ----------
    C_ : the chosen C
    path_ : the models that were tried, from the sparsest to the densest
    coef_, intercept_, classes_, n_features_in_ : as in scikit-learn's linear classifiers

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((500, 30))
    >>> y = np.where(X[:, 3] > X[:, 7], "yes", "no")
    >>> model = SparseLogisticRegressionCV(max_nonzeros=2, random_state=0).fit(X, y)
    >>> np.flatnonzero(model.coef_)
    array([3, 7])
    """

    max_nonzeros: int | None = None
    _: KW_ONLY
    cv: int = 3
    standardize: bool = True
    random_state: Any = None

    def _model(self, C: float) -> Any:
        return l1_logistic(C, self._seed)

    def _grid(self, rows: Rows, signs: FloatArray) -> FloatArray:
        slope = slope_at_zero(rows, signs, np.ones(signs.size))
        return L1_RANGE / slope if slope > 0 else np.ones(1)


@dataclass(eq=False, repr=False, kw_only=True)
class LinearSVMCV(TunedRival):
    """A linear support vector machine with the C that predicts held-out rows best.

    Squared hinge loss and an L2 penalty, so it uses every feature.

    Parameters
    ----------
    Cs : values of C to try; None: eight from 1e-5 to 100
    cv : number of folds; reduced if a class has fewer rows
    standardize : whether to put the columns on one scale first
    random_state : seed of the folds and of the solver

    Attributes
    ----------
    C_ : the chosen C
    path_ : the models that were tried, from the strongest penalty to the weakest
    coef_, intercept_, classes_, n_features_in_ : as in scikit-learn's linear classifiers

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((500, 30))
    >>> y = np.where(X[:, 3] > X[:, 7], "yes", "no")
    >>> LinearSVMCV(random_state=0).fit(X, y).score(X, y) > 0.95
    True
    """

    Cs: Any = None
    cv: int = 3
    standardize: bool = True
    random_state: Any = None

    def _model(self, C: float) -> Any:
        return LinearSVC(C=C, dual="auto", max_iter=_SVM_STEPS, random_state=self._seed)

    def _grid(self, rows: Rows, signs: FloatArray) -> FloatArray:  # noqa: ARG002
        return L2_RANGE if self.Cs is None else np.sort(check_vector(self.Cs, "Cs"))
