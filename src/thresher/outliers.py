"""Soft outlier removal (Algorithm 2): row weights that leave no sparse direction suspicious.

The saddle problem over weights q and the lifted region M,

    min over q in [0,1]ⁿ, Σq ≥ (1−ξ)n   max over H in M   (1/n) Σ q·xᵀHx,

is solved by cuts (`solvers.cutting`) instead of a semidefinite program: a direction is a lower
bound, a clipped matrix an upper bound, a mixture of directions a bound on what any weights can
reach, and `certificates` has the last word on all three.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, ParamSpec, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from thresher.arrays import DeviceRows, is_foreign, like, to_host, zeros
from thresher.certificates import (
    EPS,
    largest_in_columns,
    proves_weights,
    removal_status,
)
from thresher.device_certificates import proves_lower_bound, proves_optimum, rounding_of_moment
from thresher.device_memory import require_memory_beside
from thresher.geometry.balls import support_points
from thresher.memory import require_memory
from thresher.solvers.cutting import CutSearch
from thresher.solvers.moment import moment_bytes
from thresher.solvers.scaling import scale_rows
from thresher.solvers.screening import Screen, screen_columns
from thresher.solvers.threads import one_blas_thread
from thresher.solvers.thresholding import (
    ClipBound,
    clipped,
    is_proven_by_magnitudes,
    proven_upper,
    tighten,
)
from thresher.validation import (
    FloatArray,
    Rows,
    check_count,
    check_fraction,
    check_positive,
    check_radii,
    check_rows,
    check_weights,
    is_sparse,
    sum_of_squares,
)

Asked = ParamSpec("Asked")
Answer = TypeVar("Answer")
SMALL_ARRAYS = ("weights", "direction", "factor")  # of an answer
MAX_ROUNDS = 40
N_MATRICES, N_DEVICE_MATRICES = 6, 7  # as large as the second moment, at the peak
FAINT = 0.1  # of the variance: what columns of sparse rows may matter that are set aside


@dataclass(frozen=True)
class RemovalProgress:
    """What the progress callback gets in each round; the bounds are not yet certified."""

    n_rounds: int
    n_cuts: int
    variance: float
    optimum: float


@dataclass(frozen=True)
class OutlierRemoval:
    """Row weights, with proven bounds on the variance they leave in any sparse direction.

    "Variance" is uncentered: (1/n) Σ weights·xᵀHx, the largest over H in M.

    Attributes
    ----------
    weights : (n,) in [0, 1], with sum at least (1 − outlier_fraction)·n
    variance_lower, variance_upper : proven bounds on the variance of these weights
    optimum_lower : proven lower bound on the variance of any admissible weights
    status : "tightest", "feasible", "infeasible" or "undecided", as `remove_outliers` says
    direction : (d,) direction that attains `variance_lower`
    multiplier : (c, c) symmetric matrix that proves `variance_upper`, on `columns`; a sparse one if
        the second moment is sparse
    factor : (d, k) H = factor·factorᵀ is the member of M that proves `optimum_lower`
    n_rounds : how often the weights were balanced
    columns : (c,) indices of the columns that the multiplier is about, or None for all d of them.
        In the others, which only wide sparse rows have, it is the second moment itself, and small
    """

    weights: FloatArray
    variance_upper: float
    status: str
    direction: FloatArray
    multiplier: FloatArray
    factor: FloatArray
    variance_lower: float = 0.0
    optimum_lower: float = 0.0
    n_rounds: int = 0
    columns: NDArray[np.intp] | None = None

    @property
    def witness(self) -> FloatArray:
        """The matrix that proves the status.

        The multiplier for "feasible", else the member of M behind `optimum_lower`.
        """
        return self.multiplier if self.status == "feasible" else self.factor @ self.factor.T


def _answers_where_rows_are_used(solve: Callable[Asked, Answer]) -> Callable[Asked, Answer]:
    """The same function, with answers on the host for the rows that learning has on a device.

    Only the multiplier stays there: nothing is learned from it, and it is large.
    """

    @wraps(solve)
    def answer(*args: Asked.args, **kwargs: Asked.kwargs) -> Answer:
        if not (args and isinstance(args[0], DeviceRows)):
            return solve(*args, **kwargs)
        found: Any = solve(args[0].array, *args[1:], **kwargs)  # type: ignore[arg-type]
        if isinstance(found, OutlierRemoval):
            arrays: Any = {name: to_host(getattr(found, name)) for name in SMALL_ARRAYS}
            found = replace(found, **arrays)
        return cast(Answer, to_host(found))

    return answer


@_answers_where_rows_are_used
def remove_outliers(
    X: Rows,
    *,
    l2_radius: float,
    l1_radius: float,
    outlier_fraction: float,
    max_variance: float | None = None,
    tolerance: float = 0.3,
    search_gap: float = 0.05,
    max_rounds: int = MAX_ROUNDS,
    callback: Callable[[RemovalProgress], object] | None = None,
) -> OutlierRemoval:
    """Trust weights for rows, with a proof of how much variance they leave in any sparse direction.

    Finds q in [0,1]ⁿ with Σq ≥ (1−ξ)n that makes sup over H in M of (1/n) Σ q·xᵀHx small, where
    M = {H ⪰ 0, tr H ≤ r², Σ|H_ij| ≤ ρ²} (Algorithm 2).

    Parameters
    ----------
    X : (n, d) array or SciPy sparse matrix. An array of CuPy or Torch is worked on where it is, and
        the arrays of the answer are of the same kind and in the same place
    l2_radius, l1_radius : radii r and ρ of the directions searched
    outlier_fraction : ξ, the share of the rows' weight that may be removed, in [0, 1)
    max_variance : the paper's form: weights whose variance is at most this, removing about as
        little weight as possible. Without it, the least-variance form: the smallest variance
        that removing up to ξ allows
    tolerance : how far the proven variance of "tightest" weights can exceed, relatively, what is
        proven for any weights
    search_gap : relative gap at which the search for better weights stops, at most `tolerance`
    max_rounds : maximum number of rounds; the answer so far is then returned
    callback : called with a `RemovalProgress` in each round

    Returns
    -------
    OutlierRemoval
        With `max_variance` its status is "feasible" (variance_upper ≤ max_variance), "infeasible"
        (optimum_lower > max_variance: no such weights exist) or "undecided". Without, "tightest"
        (variance_upper ≤ (1 + tolerance)·optimum_lower: no weights have a variance that is smaller
        by more than that factor) or "undecided".

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((500, 20))
    >>> X[:20] = [6.0, 6.0] + [0.0] * 18  # twenty copies of one planted row
    >>> removal = remove_outliers(X, l2_radius=1.0, l1_radius=2.0, outlier_fraction=0.05)
    >>> removal.status, bool(removal.weights[:20].max() < 0.1)
    ('tightest', True)
    """
    question = _Question.checked(X, l2_radius, l1_radius, outlier_fraction, max_variance, tolerance)
    max_rounds = check_count(max_rounds, "max_rounds")
    search = question.search(check_positive(search_gap, "search_gap"))
    unit = (question.l2_radius * search.scaled.scale) ** 2

    def after_round() -> None:
        if callback is not None:
            state = len(search.cuts), search.variance * unit, search.optimum * unit
            callback(RemovalProgress(search.n_rounds, *state))

    search.run(max_rounds, after_round)
    return question.certified(search)


@_answers_where_rows_are_used
def find_weights(X: Rows, *, search_gap: float = 0.05, **asked: Any) -> FloatArray:
    """The weights of `remove_outliers` without any proof, in less time; asked the same way.

    Examples
    --------
    >>> X = np.vstack([np.eye(4), [[9.0, 0.0, 0.0, 0.0]]])
    >>> find_weights(X, l2_radius=1.0, l1_radius=1.0, outlier_fraction=0.2)
    array([1., 1., 1., 1., 0.])
    """
    question = _Question.checked(X, tolerance=search_gap, **asked)
    search = question.search(search_gap)
    search.run(MAX_ROUNDS)
    return like(search.scaled.spread(search.moment.weights), question.rows)


@_answers_where_rows_are_used
def certify_weights(
    X: Rows, weights: object, *, directions: FloatArray | None = None, **asked: Any
) -> OutlierRemoval:
    """The same proof as `remove_outliers` gives, for weights that come from elsewhere.

    Parameters
    ----------
    X, asked : as in `remove_outliers`; the outlier fraction is the share of weight that is missing
    weights : (n,) in [0, 1], with sum at least (1 − outlier_fraction)·n
    directions : (d, k) one in each column, in which variance is hard to remove, for instance the
        `factor` of an earlier answer about these rows; without them `optimum_lower` can be smaller

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((500, 20))
    >>> budget = {"l2_radius": 1.0, "l1_radius": 2.0, "outlier_fraction": 0.2}
    >>> answer = certify_weights(X, np.full(500, 0.9), **budget)
    >>> answer.status, bool(answer.variance_lower > 0.9 > answer.optimum_lower)
    ('undecided', True)
    """
    question = _Question.checked(X, **asked)
    given = check_weights(weights, "weights", length=question.rows.shape[0])
    if not proves_weights(given, question.fraction):
        raise ValueError(
            f"weights must lie in [0, 1] and sum to (1 − outlier_fraction)·n = "
            f"{(1 - question.fraction) * given.size:g} or more, got {given.sum():g}"
        )
    search = replace(question, limit=None).search(2 * FAINT, given)
    hints = np.zeros((0, question.rows.shape[1])) if directions is None else to_host(directions).T
    hints = search.screen.restrict(hints)
    search.cut(support_points(hints[hints.any(axis=1)], 1.0, search.l1_radius))
    return question.certified(search)


@_answers_where_rows_are_used
def trust_every_row(X: Rows, *, l2_radius: float) -> OutlierRemoval:
    """All the weight for every row: what Algorithm 2 gives when no variance is too much.

    The upper bound is the trivial one, r²·(1/n)Σ‖x‖², rounded up; the lower ones are zero.

    Examples
    --------
    >>> removal = trust_every_row(np.array([[3.0, 4.0], [0.0, 1.0]]), l2_radius=0.5)
    >>> removal.weights, round(removal.variance_upper, 9), removal.status
    (array([1., 1.]), 3.25, 'feasible')
    """
    n, d = X.shape
    squares = sum_of_squares(X.data if is_sparse(X) else X)
    return OutlierRemoval(
        weights=like(np.ones(n), X),
        variance_upper=l2_radius**2 * squares / n * (1 + (n * d + 8) * EPS),
        status="feasible",
        direction=zeros((d,), X),
        multiplier=zeros((0, 0), X),
        factor=zeros((d, 0), X),
        columns=np.zeros(0, dtype=np.intp),
    )


@dataclass(frozen=True)
class _Question:
    """What was asked, checked, in the caller's units."""

    rows: Rows
    l2_radius: float
    l1_radius: float
    fraction: float
    limit: float | None
    tolerance: float

    @classmethod
    def checked(
        cls,
        X: Rows,
        l2_radius: float,
        l1_radius: float,
        outlier_fraction: float,
        max_variance: float | None = None,
        tolerance: float = 0.3,
    ) -> Self:
        rows = check_rows(X)
        return cls(
            rows,
            *check_radii(l2_radius, l1_radius, rows.shape[1]),
            check_fraction(outlier_fraction, "outlier_fraction"),
            None if max_variance is None else check_positive(max_variance, "max_variance"),
            check_positive(tolerance, "tolerance"),
        )

    def search(self, gap: float, weights: FloatArray | None = None) -> CutSearch:
        """The search for weights, or around given ones."""
        fraction = self.fraction if weights is None else 0.0  # given weights give up no row
        scaled = scale_rows(self.rows, fraction, l2_radius=self.l2_radius)
        scaled = replace(scaled, required=(1 - self.fraction) * scaled.n_rows)
        gap, ratio = min(gap, self.tolerance), self.l1_radius / self.l2_radius
        screen = screen_columns(scaled, l1_radius=ratio, share=min(FAINT, gap / 2))
        scaled = replace(scaled, rows=screen.restrict(scaled.rows))
        what = f"the second moment of {scaled.rows.shape[1]} features"
        n_matrices = N_DEVICE_MATRICES if is_foreign(scaled.rows) else N_MATRICES
        require_memory_beside(scaled.rows, n_matrices * moment_bytes(scaled.rows), what)
        limit = None if self.limit is None else self.limit / (self.l2_radius * scaled.scale) ** 2
        return CutSearch(scaled, screen, ratio, limit, gap, weights)

    def certified(self, search: CutSearch) -> OutlierRemoval:
        """The answer at the end of a search, each bound accepted by the independent checker."""
        r, d, scale, screen = self.l2_radius, self.rows.shape[1], search.scaled.scale, search.screen
        clip, unit = search.clipped(), (r * scale) ** 2
        weights = search.scaled.spread(search.moment.weights)
        gram, direction = search.moment.gram, search.direction
        if is_sparse(gram) and not is_proven_by_magnitudes(gram, clip, search.l1_radius):
            screen, gram, direction = self._narrowed(search, weights, clip.level)
        # The checker forms the matrix anew and charges its own rounding.
        error = max(search.moment.error, rounding_of_moment(gram, search.scaled.n_rows))
        del search.moment  # its copy of the rows is not needed for the proofs
        mixed = search.cuts[: search.mixture.size] * np.sqrt(search.mixture)[:, None]
        factor = r * search.screen.extend(mixed, d).T
        optimum = self._proven_optimum(search.optimum * unit, factor)
        lower = _proven_lower(gram, direction, search.l1_radius, error)
        # The upper bound that would settle the status.
        goal = (1 + self.tolerance) * optimum if self.limit is None else self.limit
        errors = {"gram_error": error, "rest": screen.rest}
        upper, multiplier = _proven_upper(search, gram, errors, clip, goal / unit)
        return OutlierRemoval(
            weights=like(weights, self.rows),
            variance_lower=lower * unit,
            variance_upper=upper * unit,
            optimum_lower=optimum,
            status=removal_status(upper * unit, optimum, self.limit, self.tolerance),
            direction=like(r * screen.extend(direction, d), self.rows),
            multiplier=multiplier * scale**2,
            factor=like(factor.T, self.rows).T,
            n_rounds=search.n_rounds,
            columns=screen.columns,
        )

    def _narrowed(
        self, search: CutSearch, weights: FloatArray, level: float
    ) -> tuple[Screen, FloatArray, FloatArray]:
        """The columns with entries beyond the level, a dense moment of these, and the direction.

        In the others the multiplier is the sparse moment itself; the checker bounds it as here.
        """
        kept, n = weights > 0, weights.size
        bounds = largest_in_columns(self.rows[kept], weights[kept], n_rows=n)
        bounds /= search.scaled.scale**2
        columns, d = search.screen.columns, self.rows.shape[1]
        columns = np.arange(d) if columns is None else columns
        chosen = (bounds[columns] > level) | (search.direction != 0)
        chosen[np.argmax(bounds[columns])] = True  # there must be one
        n_chosen = int(chosen.sum())
        require_memory(N_MATRICES * 8 * n_chosen**2, f"the second moment of {n_chosen} features")
        rest = float(np.delete(bounds, columns[chosen]).max(initial=0.0))
        gram = search.moment.gram[chosen][:, chosen].toarray()
        return Screen(columns[chosen], rest), gram, search.direction[chosen]

    def _proven_optimum(self, value: float, factor: FloatArray) -> float:
        """The bound on all admissible weights, or zero if it cannot be proven."""
        # The search may have worked in single precision; the proof does not.
        budget = {"l2_radius": self.l2_radius, "l1_radius": self.l1_radius}
        budget["outlier_fraction"] = self.fraction
        for claim in (value * (1 - 1e-5), value * (1 - 1e-3)):
            if proves_optimum(claim, self.rows, factor, **budget):
                return claim
        return 0.0


def _proven_upper(
    search: CutSearch, gram: FloatArray, errors: dict[str, float], clip: ClipBound, goal: float
) -> tuple[float, FloatArray]:
    """The upper bound of the clipped matrix; a closer one where only that would do."""
    multiplier = clipped(gram, clip.level)
    upper = proven_upper(gram, multiplier, search.l1_radius, **errors)
    if is_sparse(gram) or not search.variance <= goal < upper:
        return upper, multiplier
    with one_blas_thread():
        closer = tighten(gram, clip, search.l1_radius, target=goal, rest=errors["rest"])
    if closer is None:
        return upper, multiplier
    tighter = proven_upper(gram, closer, search.l1_radius, **errors)
    return (tighter, closer) if tighter < upper else (upper, multiplier)


def _proven_lower(gram: FloatArray, direction: FloatArray, l1_radius: float, error: float) -> float:
    doubt = 1.001 * error * float(np.abs(direction).sum()) ** 2
    image = to_host(like(direction, gram) @ gram)
    claim = (float(image @ direction) - doubt) * (1 - 1e-9)
    known = {"l2_radius": 1.0, "l1_radius": l1_radius, "gram_error": error}
    return max(claim, 0.0) if proves_lower_bound(claim, gram, direction, **known) else 0.0
