"""Soft outlier removal (Algorithm 2): row weights that leave no sparse direction suspicious.

The saddle problem over weights q and the lifted region M,

    min over q in [0,1]ⁿ, Σq ≥ (1−ξ)n   max over H in M   (1/n) Σ q·xᵀHx,

is solved by cuts: a direction v of large weighted variance is found, the weights are balanced
against all directions found so far, and the next direction is sought. No semidefinite program is
solved: a direction is a lower bound, a clipped matrix an upper bound, a mixture of directions a
bound on what any weights can reach, and `certificates` has the last word on all three.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from thresher.certificates import proves_lower_bound, proves_optimum, rounding_of_moment
from thresher.memory import require_memory
from thresher.solvers.ascent import ascend, column_starts, distinct
from thresher.solvers.eigen import Floats
from thresher.solvers.moment import SecondMoment, single_precision_error
from thresher.solvers.scaling import ScaledRows, scale_rows
from thresher.solvers.screening import Screen, screen_columns
from thresher.solvers.threads import one_blas_thread
from thresher.solvers.thresholding import (
    RITZ_DOUBT,
    ClipBound,
    best_clip,
    proven_upper,
    tighten,
)
from thresher.solvers.weights import Balance, balance, balance_to
from thresher.validation import (
    FloatArray,
    Rows,
    check_count,
    check_fraction,
    check_positive,
    check_radii,
    check_rows,
    is_sparse,
    sum_of_squares,
)

Status = Literal["tightest", "feasible", "infeasible", "undecided"]
N_COLUMN_STARTS, N_CUT_STARTS = 32, 4  # heuristic: where each round looks for its next directions
FAINT = 0.1  # of the variance: what columns of sparse rows may matter that are set aside
AIM = 0.92  # of a limit: what the weights are balanced to at first


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
    multiplier : (c, c) symmetric matrix that proves `variance_upper`, on `columns`
    factor : (d, k) H = factor·factorᵀ is the member of M that proves `optimum_lower`
    n_rounds : how often the weights were balanced
    columns : (c,) indices of the columns that the multiplier is about, or None for all d of them.
        In the others, which only wide sparse rows have, it is the second moment itself, and small
    """

    weights: FloatArray
    variance_lower: float
    variance_upper: float
    optimum_lower: float
    status: Status
    direction: FloatArray
    multiplier: FloatArray
    factor: FloatArray
    n_rounds: int
    columns: NDArray[np.intp] | None = None

    @property
    def witness(self) -> FloatArray:
        """The matrix that proves the status.

        The multiplier for "feasible", else the member of M behind `optimum_lower`.
        """
        return self.multiplier if self.status == "feasible" else self.factor @ self.factor.T


def remove_outliers(
    X: Rows,
    *,
    l2_radius: float,
    l1_radius: float,
    outlier_fraction: float,
    max_variance: float | None = None,
    tolerance: float = 0.3,
    search_gap: float = 0.05,
    max_rounds: int = 40,
    callback: Callable[[RemovalProgress], object] | None = None,
) -> OutlierRemoval:
    """Trust weights for rows, with a proof of how much variance they leave in any sparse direction.

    Finds q in [0,1]ⁿ with Σq ≥ (1−ξ)n that makes sup over H in M of (1/n) Σ q·xᵀHx small, where
    M = {H ⪰ 0, tr H ≤ r², Σ|H_ij| ≤ ρ²} (Algorithm 2).

    Parameters
    ----------
    X : (n, d) array or SciPy sparse matrix
    l2_radius, l1_radius : radii r and ρ of the directions searched
    outlier_fraction : ξ, the share of the rows' weight that may be removed, in [0, 1)
    max_variance : the paper's form: weights whose variance is at most this, removing about as
        little weight as possible. Without it, the least-variance form: the smallest variance
        that removing up to ξ allows
    tolerance : by how much, relatively, the proven variance of "tightest" weights can exceed what is
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
    rows = check_rows(X)
    r, rho = check_radii(l2_radius, l1_radius, rows.shape[1])
    fraction = check_fraction(outlier_fraction, "outlier_fraction")
    tolerance = check_positive(tolerance, "tolerance")
    limit = None if max_variance is None else check_positive(max_variance, "max_variance")
    max_rounds = check_count(max_rounds, "max_rounds")
    scaled = scale_rows(rows, fraction, l2_radius=r)
    gap = min(check_positive(search_gap, "search_gap"), tolerance)
    screen = screen_columns(scaled, l1_radius=rho / r, share=min(FAINT, gap / 2))
    scaled = replace(scaled, rows=screen.restrict(scaled.rows))
    d = scaled.rows.shape[1]
    require_memory(6 * 8 * d**2, f"the second moment of {d} features")
    unit = (r * scaled.scale) ** 2
    search = _Search(scaled, screen, rho / r, None if limit is None else limit / unit, gap)
    while not search.is_over() and search.n_rounds < max_rounds:
        search.balance()
        if callback is not None:
            callback(search.progress(unit))
    search.settle()
    with one_blas_thread():
        return search.certify(_Question(rows, r, fraction, limit, tolerance))


def trust_every_row(X: Rows, *, l2_radius: float) -> OutlierRemoval:
    """All the weight for every row: what Algorithm 2 gives when no variance is too much.

    The upper bound is the trivial one, r²·(1/n)Σ‖x‖²; the lower ones are zero.

    Examples
    --------
    >>> removal = trust_every_row(np.array([[3.0, 4.0], [0.0, 1.0]]), l2_radius=0.5)
    >>> removal.weights, removal.variance_upper, removal.status
    (array([1., 1.]), 3.25, 'feasible')
    """
    n, d = X.shape
    squares = sum_of_squares(X.data if is_sparse(X) else X)
    return OutlierRemoval(
        weights=np.ones(n),
        variance_lower=0.0,
        variance_upper=l2_radius**2 * squares / n,
        optimum_lower=0.0,
        status="feasible",
        direction=np.zeros(d),
        multiplier=np.zeros((0, 0)),
        factor=np.zeros((d, 0)),
        n_rounds=0,
        columns=np.zeros(0, dtype=np.intp),
    )


class _Search:
    """The cutting loop, on rows of ordinary scale and directions of l2 radius 1."""

    def __init__(
        self,
        scaled: ScaledRows,
        screen: Screen,
        l1_radius: float,
        limit: float | None,
        gap: float,
    ) -> None:
        self.scaled, self.screen, self.l1_radius, self.limit = scaled, screen, l1_radius, limit
        self.gap = gap
        single = l1_radius**2 * single_precision_error(scaled.rows) <= gap / 10
        self.moment = SecondMoment(scaled.rows, n_rows=scaled.n_rows, single_precision=single)
        d = scaled.rows.shape[1]
        self.cuts = np.zeros((0, d))
        self.scores: Floats = self.moment.squared_projections(self.cuts)
        self.mixture, self.optimum = np.zeros(0), 0.0
        self.n_rounds = 0
        self.best: tuple[float, FloatArray] = np.inf, self.moment.weights
        # Proofs are looser than the truth, so the weights aim below the limit.
        self.target = None if limit is None else AIM * limit
        self._look()

    # -- one round ---------------------------------------------------------------------------

    def _look(self) -> None:
        """Find directions of large variance under the current weights."""
        with one_blas_thread():
            self._find_directions()

    def _find_directions(self) -> None:
        single = self.moment.gram.astype(np.float32)  # looking costs half, and proves nothing
        again = self._standing(single)
        values, found = self._climb_many(single, again)
        self._climb_from(found[:1])
        if len(found) < N_COLUMN_STARTS // 2:
            # A few strong directions drew every start: look once more where they are not.
            used = (np.abs(found) > 0.1 * np.abs(found).max(axis=1, keepdims=True)).any(axis=0)
            single[used], single[:, used] = 0, 0
            elsewhere = self._climb_many(single, again[:0])
            values = np.concatenate([values, elsewhere[0]])
            found = np.concatenate([found, elsewhere[1]])
        self.found = found[values > (1 + self.gap / 2) * self.optimum]

    def _rough_products(self, single: Floats) -> Callable[[FloatArray], Floats]:
        """Products with the matrix, without the columns that were blanked out in `single`."""
        if self.moment.is_thin:
            visible = np.einsum("ii->i", single) > 0
            return lambda directions: self.moment.multiply(directions) * visible
        return lambda directions: directions.astype(np.float32) @ single

    def _standing(self, single: Floats) -> FloatArray:
        """The cuts that are worst under the current weights."""
        values = np.einsum("ij,ij->i", self._rough_products(single)(self.cuts), self.cuts)
        return self.cuts[np.argsort(-values, kind="stable")[:N_CUT_STARTS]]

    def _climb_many(self, single: Floats, starts: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Distinct directions reached from these starts and from promising columns, roughly."""
        rough = self._rough_products(single)

        def multiply(directions: FloatArray) -> FloatArray:
            return rough(directions).astype(np.float64, copy=False)

        starts = np.concatenate([column_starts(single, N_COLUMN_STARTS), starts])
        values, found = ascend(multiply, starts, self.l1_radius, precision=1e-2)
        chosen = distinct(found)
        return values[chosen], found[chosen]

    def _climb_from(self, starts: FloatArray) -> None:
        values, directions = ascend(self.moment.multiply, starts, self.l1_radius)
        self.variance, self.direction = float(values[0]), directions[0]
        self.clip: ClipBound | None = None
        if self.variance < self.best[0]:
            self.best = self.variance, self.moment.weights

    def balance(self) -> None:
        """Cut off the directions found, and move to the weights that balance all cuts."""
        directions = np.concatenate([self.direction[None], self.found])
        directions = directions[distinct(directions, max_cosine=0.98)]
        self.cuts = np.concatenate([self.cuts, directions])
        new_scores = self.moment.squared_projections(directions)
        self.scores = np.concatenate([self.scores, new_scores], axis=1)
        answer = self._balanced()
        if answer.bound > self.optimum:
            self.optimum, self.mixture = answer.bound, answer.mixture
        self.moment.reweight(answer.weights)
        self.n_rounds += 1
        self._look()

    def _balanced(self) -> Balance:
        game = (self.scores, self.scaled.required, self.scaled.n_rows)
        with one_blas_thread():
            answer = balance(*game, precision=self.gap / 10)
            if self.target is not None and answer.value < self.target:
                return balance_to(*game, target=self.target, answer=answer)
        return answer

    # -- when to stop ------------------------------------------------------------------------

    def is_over(self) -> bool:
        """Whether the status is settled, or no better weights are to be expected."""
        if self.limit is not None:
            if self.optimum > self.limit:
                return True
            if self.variance <= self.limit:
                upper = self._clipped().value
                if upper * (1 + RITZ_DOUBT) <= self.limit:
                    return True
                self.target = min(self.target or np.inf, 0.97 * self.limit * self.variance / upper)
        return self._is_tight() and self._still_tight_from_eigenvector()

    def _is_tight(self) -> bool:
        return self.variance <= (1 + self.gap) * self.optimum

    def _still_tight_from_eigenvector(self) -> bool:
        """One more start, from the eigenvector behind the upper bound, before stopping."""
        clip = self._clipped()
        before, direction = self.variance, self.direction
        self._climb_from(clip.eigenvector[None])
        if self.variance < before:
            self.variance, self.direction = before, direction
        self.clip = clip
        return self._is_tight()

    def _clipped(self) -> ClipBound:
        if self.clip is None:
            if self.l1_radius**2 * self.moment.error > self.gap / 10 * self.variance:
                self.moment.refresh()
            good_enough = 0.0 if self.limit is None else self.limit / (1 + RITZ_DOUBT)
            with one_blas_thread():  # threads that wait for each other cost more than they gain
                self.clip = best_clip(
                    self.moment.gram,
                    self.l1_radius,
                    good_enough=good_enough,
                    rest=self.screen.rest,
                )
        return self.clip

    def settle(self) -> None:
        """Go back to the best weights seen, if the last ones are worse and settle nothing."""
        variance, weights = self.best
        if self.limit is None and not self._is_tight() and variance < self.variance:
            self.moment.reweight(weights)
            self._look()

    def progress(self, unit: float) -> RemovalProgress:
        return RemovalProgress(
            self.n_rounds, len(self.cuts), self.variance * unit, self.optimum * unit
        )

    # -- what can be proven ------------------------------------------------------------------

    def certify(self, question: _Question) -> OutlierRemoval:
        """The answer, with every bound accepted by the independent checker."""
        l2_radius, n_features = question.l2_radius, question.rows.shape[1]
        clip, unit = self._clipped(), (l2_radius * self.scaled.scale) ** 2
        gram, weights = self.moment.gram, self.moment.weights
        # The checker forms the matrix anew and charges its own rounding.
        error = max(self.moment.error, rounding_of_moment(gram, self.scaled.n_rows))
        del self.moment  # its copy of the rows is not needed for the proofs
        mixed = self.cuts[: self.mixture.size] * np.sqrt(self.mixture)[:, None]
        factor = l2_radius * self.screen.extend(mixed, n_features).T
        optimum = question.proven_optimum(self.optimum * unit, factor, self.l1_radius)
        lower = _proven_lower(gram, self.direction, self.l1_radius, error)
        upper, multiplier = self._proven_upper(gram, error, clip, question.goal(optimum) / unit)
        return OutlierRemoval(
            weights=self.scaled.spread(weights),
            variance_lower=lower * unit,
            variance_upper=upper * unit,
            optimum_lower=optimum,
            status=question.status(upper * unit, optimum),
            direction=l2_radius * self.screen.extend(self.direction, n_features),
            multiplier=multiplier * self.scaled.scale**2,
            factor=factor,
            n_rounds=self.n_rounds,
            columns=self.screen.columns,
        )

    def _proven_upper(
        self, gram: FloatArray, error: float, clip: ClipBound, goal: float
    ) -> tuple[float, FloatArray]:
        """The upper bound of the clipped matrix; a closer one where only that would do."""
        errors = {"gram_error": error, "rest": self.screen.rest}
        multiplier = np.clip(gram, -clip.level, clip.level)
        upper = proven_upper(gram, multiplier, self.l1_radius, **errors)
        if not self.variance <= goal < upper:
            return upper, multiplier
        closer = tighten(gram, clip, self.l1_radius, target=goal, rest=self.screen.rest)
        if closer is None:
            return upper, multiplier
        tighter = proven_upper(gram, closer, self.l1_radius, **errors)
        return (tighter, closer) if tighter < upper else (upper, multiplier)


@dataclass(frozen=True)
class _Question:
    """What was asked, in the caller's units."""

    rows: Rows
    l2_radius: float
    fraction: float
    limit: float | None
    tolerance: float

    def goal(self, optimum: float) -> float:
        """The upper bound that would settle the status."""
        return (1 + self.tolerance) * optimum if self.limit is None else self.limit

    def proven_optimum(self, value: float, factor: FloatArray, l1_radius: float) -> float:
        """The bound on all admissible weights, or zero if it cannot be proven."""
        # The search may have worked in single precision; the proof does not.
        for claim in (value * (1 - 1e-5), value * (1 - 1e-3)):
            if proves_optimum(
                claim,
                self.rows,
                factor,
                l2_radius=self.l2_radius,
                l1_radius=self.l2_radius * l1_radius,
                outlier_fraction=self.fraction,
            ):
                return claim
        return 0.0

    def status(self, upper: float, optimum: float) -> Status:
        """What these bounds prove."""
        if self.limit is None:
            reachable = (1 + Fraction(self.tolerance)) * Fraction(optimum)
            return "tightest" if upper <= reachable else "undecided"
        if upper <= self.limit:
            return "feasible"
        return "infeasible" if optimum > self.limit else "undecided"


def _proven_lower(gram: FloatArray, direction: FloatArray, l1_radius: float, error: float) -> float:
    value = (
        float(direction @ gram @ direction) - 1.001 * error * float(np.abs(direction).sum()) ** 2
    )
    claim = value * (1 - 1e-9)
    proven = proves_lower_bound(
        claim, gram, direction, l2_radius=1.0, l1_radius=l1_radius, gram_error=error
    )
    return max(claim, 0.0) if proven else 0.0
