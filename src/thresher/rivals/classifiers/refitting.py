"""A base classifier, fitted again on the rows that are left: trimmed loss, norm filter, Sever."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, svds
from scipy.special import expit
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from thresher.rivals.classifiers.linear import LinearRival, n_planted
from thresher.rivals.classifiers.trimmed import best_offset
from thresher.rivals.classifiers.tuned import tuned_l1_logistic
from thresher.validation import FloatArray, Rows, check_count, check_positive, is_sparse

_N_FOLDS = 3
# Derivatives of log(1 + exp(−m)) and max(0, 1 − m) by the margin m.
_SLOPES: dict[str, Callable[[FloatArray], FloatArray]] = {
    "logistic": lambda margin: -expit(-margin),
    "hinge": lambda margin: np.where(margin < 1, -1.0, 0.0),
}
_DENSE_SIZE = 16  # up to this size the iterative solver has no room


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
        return tuned_l1_logistic(rows, signs, self._seed, max_nonzeros=self.max_nonzeros)

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


@dataclass(eq=False, repr=False)
class Sever(RefittingRival):
    """A base classifier, fitted in rounds that drop the rows with the most unusual gradients.

    A round fits the classifier; centers, for each class, the gradients of the loss at the fit;
    takes their top singular vector; and drops the rows with the largest squared projections on it
    (Diakonikolas et al. 2019, "Sever: A Robust Meta-Algorithm for Stochastic
    Optimization", Algorithm 2 with the class-wise centering of its experiments). The rounds drop
    removal_factor·noise_rate of all rows, in equal parts, and a last fit follows. Its offset is the
    one with the fewest errors on all rows, kept rows scored by cross-validation.

    The paper's experiments drop more rows than are planted, because each round also drops clean
    ones; so the default factor is 1.5. They drop the same fraction of both classes; this drops the
    largest projections of both together, because all planted rows may be in one class. It works
    while the planted gradients change their covariance; a small tilt, or a spike that does not show
    in a dense spectrum, passes.

    Parameters
    ----------
    noise_rate : upper bound on the fraction of planted rows, at least 0 and below 0.5
    estimator : a linear classifier with `coef_`; None: L1 logistic regression, C tuned once
    max_nonzeros : limit on non-zero coefficients when tuning the default estimator; None: no limit
    loss : "logistic" or "hinge", whichever the estimator minimizes
    removal_factor : fraction of rows that all rounds drop, as a multiple of noise_rate
    n_rounds : number of rounds
    standardize : whether to put the columns on one scale first
    random_state : seed of the default estimator

    Attributes
    ----------
    kept_rows_ : the rows of the last fit
    coef_, intercept_, classes_, n_features_in_ : as in scikit-learn's linear classifiers

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((500, 10))
    >>> y = np.where(X[:, 3] > X[:, 7], 1, -1)
    >>> X[:20], y[:20] = [0, 0, 0, 9, 0, 0, 0, -9, 0, 0], -1
    >>> model = Sever(noise_rate=0.04, random_state=0).fit(X, y)
    >>> int(model.kept_rows_.min())
    20
    """

    _: KW_ONLY
    loss: str = "logistic"
    removal_factor: float = 1.5
    n_rounds: int = 4

    def _learn(self, rows: Rows, signs: FloatArray) -> tuple[FloatArray, float]:
        if self.loss not in _SLOPES:
            raise ValueError(f'loss must be "logistic" or "hinge", got {self.loss!r}')
        fraction = check_positive(self.removal_factor, "removal_factor") * self.noise_rate
        n_rounds = check_count(self.n_rounds, "n_rounds")
        # The number of rows that are gone before each round, and after the last.
        cuts = [n_planted(fraction * k / n_rounds, signs.size) for k in range(n_rounds + 1)]
        base = self._base(rows, signs)
        kept = np.arange(signs.size)
        for n_dropped in np.diff(cuts):
            halfspace = fit_halfspace(base, rows[kept], signs[kept])
            scores = self._scores(halfspace, rows[kept], signs[kept])
            kept = kept[rows_without_worst(scores, int(n_dropped), signs[kept])]
        self.kept_rows_ = kept
        halfspace = fit_halfspace(base, rows[kept], signs[kept])
        return self._with_offset(base, rows, signs, halfspace)

    def _scores(
        self, halfspace: tuple[FloatArray, float], rows: Rows, signs: FloatArray
    ) -> FloatArray:
        factors = signs * _SLOPES[self.loss](margins(halfspace, rows, signs))
        scores = np.zeros(signs.size)
        for sign in (-1, 1):
            of_class = np.flatnonzero(signs == sign)
            scores[of_class] = squared_projections(rows[of_class], factors[of_class])
        return scores


def squared_projections(rows: Rows, factors: FloatArray) -> FloatArray:
    """The squared projections of the centered factor·x on its top singular vector.

    The mean is subtracted inside the products, so that sparse rows stay sparse.

    Parameters
    ----------
    rows : (n, d) array or CSR
    factors : (n,) a number for each row

    Examples
    --------
    >>> rows = np.array([[1.0, 0.0], [-1.0, 0.0], [5.0, 1.0], [-5.0, -1.0]])
    >>> squared_projections(rows, np.ones(4)).round(3)
    array([ 0.964,  0.964, 25.999, 25.999])
    """
    mean = np.asarray(rows.T @ factors / factors.size)

    def times(direction: FloatArray) -> FloatArray:
        direction = direction.ravel()
        return factors * (rows @ direction) - float(mean @ direction)

    def transpose_times(values: FloatArray) -> FloatArray:
        values = values.ravel()
        return rows.T @ (factors * values) - mean * values.sum()

    size = min(rows.shape)
    if size <= _DENSE_SIZE:
        dense = rows.toarray() if is_sparse(rows) else rows
        vectors = np.linalg.svd(factors[:, None] * dense - mean, full_matrices=False)[2]
        return np.square(times(vectors[0]))
    start = np.random.default_rng(0).standard_normal(size)
    if not np.any(transpose_times(times(transpose_times(np.resize(start, factors.size))))):
        return np.zeros(factors.size)  # all gradients are equal
    gradients = LinearOperator(
        rows.shape, matvec=times, rmatvec=transpose_times, dtype=np.dtype(np.float64)
    )
    direction = svds(gradients, k=1, tol=1e-3, v0=start)[2][0]
    return np.square(times(direction))
