"""A base classifier, fitted again on the rows that are left: trimmed loss, and a norm filter."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from thresher.rivals.classifiers.linear import LinearRival, n_planted
from thresher.rivals.classifiers.trimmed import best_offset
from thresher.rivals.classifiers.tuned import SparseLogisticRegressionCV, l1_logistic
from thresher.validation import FloatArray, Rows, check_count, is_sparse

_N_FOLDS = 3


@dataclass(eq=False, repr=False)
class RefittingRival(LinearRival):
    """A rival around a base linear classifier; a subclass says which rows it is fitted on.

    `estimator` is a linear classifier of scikit-learn's kind, fitted on scaled rows with labels -1
    and +1 (None: L1 logistic regression). Only the default reads `max_nonzeros` and
    `random_state`.
    """

    noise_rate: float = 0.05
    _: KW_ONLY
    estimator: Any = None
    max_nonzeros: int | None = None
    standardize: bool = True
    random_state: Any = None

    def _base(self, rows: Rows, signs: FloatArray) -> Any:
        """The classifier to refit, unfitted.

        The default's C is tuned once, on all rows: tuning it in every round costs more than it
        gains.
        """
        if self.estimator is not None:
            return clone(self.estimator)
        tuned = SparseLogisticRegressionCV(
            self.max_nonzeros, standardize=False, random_state=self._seed
        )
        return l1_logistic(tuned.fit(rows, signs).C_, self._seed)

    def _with_offset(
        self, base: Any, rows: Rows, signs: FloatArray, halfspace: tuple[FloatArray, float]
    ) -> tuple[FloatArray, float]:
        """The halfspace of the kept rows, with the offset that has the fewest errors on all rows.

        Dropped rows may be the hard ones of one class, and then the fitted offset gives ground to
        the other (on clean word counts it cost four points). A planted row counts once, however far
        out it lies. Kept rows are scored by fits without them: a fit to few rows separates its own.
        """
        coef, offset = halfspace
        scores = rows @ coef + offset
        kept = self.kept_rows_
        n_folds = min(_N_FOLDS, *np.unique(signs[kept], return_counts=True)[1].tolist())
        if n_folds < 2:
            return halfspace
        folds = StratifiedKFold(n_folds, shuffle=True, random_state=0)
        for train, test in folds.split(kept, signs[kept]):
            other, _ = fit_halfspace(base, rows[kept[train]], signs[kept[train]])
            if other.any():
                other *= np.linalg.norm(coef) / np.linalg.norm(other)  # on the scale of the offset
            scores[kept[test]] = rows[kept[test]] @ other + offset
        return coef, offset + best_offset(scores, signs)


def fit_halfspace(base: Any, rows: Rows, signs: FloatArray) -> tuple[FloatArray, float]:
    """Weights and offset of a fresh copy of the base classifier, fitted on these rows."""
    model = clone(base).fit(rows, signs)
    coef = np.asarray(getattr(model, "coef_", np.nan), dtype=np.float64)
    if coef.size != rows.shape[1] or not np.isfinite(coef).all():
        raise TypeError(
            f"estimator must be a linear classifier with a finite coef_, got {type(base).__name__}"
        )
    offset = np.ravel(getattr(model, "intercept_", 0.0))
    return coef.ravel(), float(offset[0])


def margins(halfspace: tuple[FloatArray, float], rows: Rows, signs: FloatArray) -> FloatArray:
    """How far each row lies on its own side: y(w·x + b)."""
    coef, offset = halfspace
    distance: FloatArray = signs * (rows @ coef + offset)
    return distance


def rows_without_worst(badness: FloatArray, n_dropped: int, signs: FloatArray) -> NDArray[np.intp]:
    """The rows that stay when the worst go, in their order; half of each class always stays.

    Of equally bad rows the earlier one goes, so the answer does not depend on the sort.

    Parameters
    ----------
    badness : (n,) larger is worse
    n_dropped : number of rows to drop
    signs : (n,) class of each row, -1 or +1

    Examples
    --------
    >>> rows_without_worst(np.array([9.0, 1.0, 8.0, 2.0]), 2, np.array([1, 1, 1, -1]))
    array([1, 2, 3])
    """
    worst_first = np.argsort(-badness, kind="stable")
    stays = np.ones(badness.size, dtype=np.bool_)
    for sign in (-1, 1):
        of_class = worst_first[signs[worst_first] == sign]
        stays[of_class[: of_class.size // 2]] = False
    candidates = worst_first[~stays[worst_first]][:n_dropped]
    stays[:] = True
    stays[candidates] = False
    return np.flatnonzero(stays)


@dataclass(eq=False, repr=False)
class IterativeTrimmedLoss(RefittingRival):
    """A base classifier, refitted until stable on the (1 − noise_rate)n rows with the least loss.

    It ends when a set of rows recurs (Shen and Sanghavi 2019). It works while the first fit still
    gives planted rows a larger loss than clean ones; rows strong enough to turn the first fit are
    kept from then on.

    The logistic and the hinge loss fall with the margin y(w·x + b), so the rows with the least
    loss are those with the largest margin under either.

    The last offset is the one with the fewest errors on all rows, kept rows scored by
    cross-validation.

    Parameters
    ----------
    noise_rate : upper bound on the fraction of planted rows, at least 0 and below 0.5
    estimator : a linear classifier with `coef_`; None: L1 logistic regression, C tuned once
    max_nonzeros : limit on non-zero coefficients when tuning the default estimator; None: no limit
    standardize : whether to put the columns on one scale first
    max_iter : largest number of refits
    random_state : seed of the default estimator

    Attributes
    ----------
    kept_rows_ : the rows of the last fit
    n_iter_ : number of refits
    coef_, intercept_, classes_, n_features_in_ : as in scikit-learn's linear classifiers

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((500, 10))
    >>> y = np.where(X[:, 3] > X[:, 7], 1, -1)
    >>> y[:20] *= -1
    >>> model = IterativeTrimmedLoss(noise_rate=0.04, random_state=0).fit(X, y)
    >>> int(model.kept_rows_.min())
    20
    """

    _: KW_ONLY
    max_iter: int = 20

    def _learn(self, rows: Rows, signs: FloatArray) -> tuple[FloatArray, float]:
        n_dropped = n_planted(self.noise_rate, signs.size)
        base = self._base(rows, signs)
        kept = np.arange(signs.size)
        halfspace = fit_halfspace(base, rows, signs)
        seen: set[bytes] = set()
        self.n_iter_ = 0
        for _ in range(check_count(self.max_iter, "max_iter")):
            kept = rows_without_worst(-margins(halfspace, rows, signs), n_dropped, signs)
            if kept.tobytes() in seen:
                break
            seen.add(kept.tobytes())
            halfspace = fit_halfspace(base, rows[kept], signs[kept])
            self.n_iter_ += 1
        self.kept_rows_ = kept
        return self._with_offset(base, rows, signs, halfspace)


class NormFilter(RefittingRival):
    """A base classifier, fitted without the rows that are longest for their class.

    A row's score is (‖x‖ − median)/(median distance from the median), both medians over its own
    class; the noise_rate·n rows with the highest scores go, whatever their class. This stops rows
    that lie far out and nothing else.

    Parameters
    ----------
    noise_rate : upper bound on the fraction of planted rows, at least 0 and below 0.5
    estimator : a linear classifier with `coef_`; None: L1 logistic regression, C tuned once
    max_nonzeros : limit on non-zero coefficients when tuning the default estimator; None: no limit
    standardize : whether to put the columns on one scale first
    random_state : seed of the default estimator

    Attributes
    ----------
    kept_rows_ : the rows of the fit
    coef_, intercept_, classes_, n_features_in_ : as in scikit-learn's linear classifiers

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((500, 10))
    >>> y = np.where(X[:, 3] > X[:, 7], 1, -1)
    >>> X[:20], y[:20] = [0, 0, 0, 9, 0, 0, 0, -9, 0, 0], -1
    >>> model = NormFilter(noise_rate=0.04, random_state=0).fit(X, y)
    >>> int(model.kept_rows_.min())
    20
    """

    def _learn(self, rows: Rows, signs: FloatArray) -> tuple[FloatArray, float]:
        n_dropped = n_planted(self.noise_rate, signs.size)
        self.kept_rows_ = rows_without_worst(relative_lengths(rows, signs), n_dropped, signs)
        rows, signs = rows[self.kept_rows_], signs[self.kept_rows_]
        return fit_halfspace(self._base(rows, signs), rows, signs)


def relative_lengths(rows: Rows, signs: FloatArray) -> FloatArray:
    """How unusually long each row is for its class, in median absolute deviations.

    Examples
    --------
    >>> rows = np.array([[1.0], [2.0], [3.0], [9.0], [5.0]])
    >>> relative_lengths(rows, np.array([1.0, 1.0, 1.0, 1.0, -1.0]))
    array([-1.5, -0.5,  0.5,  6.5,  0. ])
    """
    squares = rows.multiply(rows).sum(axis=1) if is_sparse(rows) else np.square(rows).sum(axis=1)
    lengths = np.sqrt(np.asarray(squares, dtype=np.float64).ravel())
    scores = np.zeros(signs.size)
    for sign in (-1, 1):
        of_class = signs == sign
        excess = lengths[of_class] - np.median(lengths[of_class])
        spread = float(np.median(np.abs(excess)))
        scores[of_class] = excess / spread if spread > 0 else excess
    return scores
