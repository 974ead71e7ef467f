"""The sparse direction of largest variance, bounded from both sides."""

from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from thresher.arrays import (
    diagonal,
    is_foreign,
    largest_magnitude,
    like,
    to_host,
    zeros,
)
from thresher.certificates import EPS, direction_status
from thresher.device_certificates import proves_lower_bound, proves_optimum, proves_upper_bound
from thresher.device_memory import require_memory_beside
from thresher.memory import require_memory
from thresher.solvers.ascent import ascend, column_starts
from thresher.solvers.eigen import top_eigenpairs
from thresher.solvers.moment import gram_of, weighted_rows
from thresher.solvers.scaling import power_of_two, scale_rows
from thresher.solvers.splitting import Bracket, close_bracket, improve, relative_gap
from thresher.solvers.threads import one_blas_thread
from thresher.solvers.thresholding import RITZ_DOUBT, best_clip, clipped, proven_upper
from thresher.validation import (
    FloatArray,
    Rows,
    check_count,
    check_positive,
    check_radii,
    check_rows,
    check_symmetric,
    check_weights,
)

N_STARTS = 12
LOOSE = 0.1  # a tolerance at which a rough look is enough
ONE_THREAD_SIZE = 500  # up to here an eigendecomposition is no slower with one thread
MAX_ENTRY, MAX_BOUND = 1e200, 1e280


@dataclass(frozen=True)
class WorstDirection:
    """Proven bounds on max⟨gram, H⟩ over the lifted region, and what proves them.

    Attributes
    ----------
    lower, upper : lower ≤ max⟨gram, H⟩ ≤ upper, both accepted by the independent checker
    direction : (d,) v such that H = vvᵀ attains `lower`, or None if H has a higher rank
    multiplier : (d, d) symmetric, proves `upper`
    status : "converged" if (upper − lower)/upper ≤ tolerance, else "undecided"
    """

    lower: float
    upper: float
    direction: FloatArray | None
    multiplier: FloatArray
    status: str
    _lifted: FloatArray | None = field(default=None, repr=False)

    @property
    def lifted(self) -> FloatArray:
        """The member of M that attains `lower`, a (d, d) matrix."""
        if self._lifted is not None:
            return self._lifted
        assert self.direction is not None
        return self.direction[:, None] * self.direction[None, :]

    @property
    def gap(self) -> float:
        """Relative distance of the bounds."""
        return relative_gap(self.lower, self.upper)


def worst_direction(
    gram: object,
    *,
    l2_radius: float,
    l1_radius: float,
    tolerance: float = 1e-3,
    warm_start: WorstDirection | None = None,
    max_iterations: int = 2000,
) -> WorstDirection:
    """How large the variance in a sparse direction can be, with proof from both sides.

    Bounds max⟨A,H⟩ over M = {H ⪰ 0, tr H ≤ r², Σ|H_ij| ≤ ρ²} (constraint 3 of Algorithm 2). A
    clipped eigenvalue above and a sparse ascent below come first; only if they are further apart
    than the tolerance does a first-order method close the gap.

    Parameters
    ----------
    gram : (d, d) symmetric matrix A. An array of CuPy or Torch is worked on where it is, and the
        arrays of the answer are of the same kind and in the same place
    l2_radius, l1_radius : radii r and ρ
    tolerance : relative gap (upper − lower)/upper to reach
    warm_start : an answer for a similar matrix of the same size, to start from
    max_iterations : steps of the first-order method after which the answer is given as it stands

    Examples
    --------
    >>> gram = np.diag([1.0, 2.0, 4.0])
    >>> answer = worst_direction(gram, l2_radius=1.0, l1_radius=1.5)
    >>> answer.status, round(answer.lower, 2), round(answer.upper, 2)
    ('converged', 4.0, 4.0)
    """
    matrix = check_symmetric(gram, "gram")
    r, rho = check_radii(l2_radius, l1_radius, matrix.shape[0])
    tolerance = check_positive(tolerance, "tolerance")
    max_iterations = check_count(max_iterations, "max_iterations", minimum=0)
    n_bytes = 8 * matrix.shape[0] ** 2
    require_memory_beside(matrix, 7 * n_bytes, f"the worst direction of a {matrix.shape} matrix")
    problem = _Problem.normalized(matrix, r, rho)
    bracket = _cheap_bracket(problem, tolerance)
    if warm_start is not None:
        bracket = problem.warmed(bracket, warm_start)
    if bracket.gap <= tolerance:
        upper = (
            problem.prove_upper(bracket, slack=2 * RITZ_DOUBT)
            if tolerance >= LOOSE and bracket.upper > 0
            else proven_upper(problem.gram, bracket.multiplier, problem.l1_radius)
        )
        answer = problem.certified(bracket, upper, tolerance)
        if answer.status == "converged":
            return answer
    threads = one_blas_thread() if matrix.shape[0] <= ONE_THREAD_SIZE else nullcontext()
    with threads, suppress(np.linalg.LinAlgError):  # then the cheap bounds stand
        bracket = close_bracket(
            problem.gram,
            bracket,
            problem.l1_radius,
            gap=0.98 * tolerance,
            max_iterations=max_iterations,
        )
    return problem.certified(bracket, problem.prove_upper(bracket, slack=1e-9), tolerance)


def worst_direction_of_rows(
    X: Rows,
    weights: object | None = None,
    *,
    l2_radius: float,
    l1_radius: float,
    tolerance: float = 1e-3,
    max_iterations: int = 2000,
) -> WorstDirection:
    """The same as `worst_direction`, from rows and their weights instead of a Gram matrix.

    The matrix is A = (1/n) Σ weights·xxᵀ. With fewer rows than features, A is not formed if the
    n×n matrix of inner products already proves the bound (it knows the trace constraint only).

    Parameters
    ----------
    X : (n, d) array or SciPy sparse matrix
    weights : (n,) not negative; ones if not given
    l2_radius, l1_radius, tolerance, max_iterations : as in `worst_direction`

    Examples
    --------
    >>> answer = worst_direction_of_rows(np.eye(3), l2_radius=1.0, l1_radius=1.0)
    >>> round(answer.upper, 3)
    0.333
    """
    rows = check_rows(X)
    n, d = rows.shape
    row_weights = check_weights(weights, "weights", length=n)
    r, rho = check_radii(l2_radius, l1_radius, d)
    check_positive(tolerance, "tolerance")
    halves = weighted_rows(rows, row_weights / n)
    scale_rows(halves, 0.0, l2_radius=r)  # refuses what cannot be squared
    if n < d and not is_foreign(rows):
        answer = _from_inner_products(halves, r, rho, tolerance)
        if answer.status == "converged":
            return answer
    require_memory_beside(rows, 8 * 8 * d**2, f"the second moment of {d} features")
    return worst_direction(
        gram_of(halves),
        l2_radius=r,
        l1_radius=rho,
        tolerance=tolerance,
        max_iterations=max_iterations,
    )


@dataclass(frozen=True)
class _Problem:
    """The problem over a matrix of ordinary entries and directions of l2 radius 1."""

    gram: FloatArray
    l1_radius: float
    l2_radius: float
    scale: float
    lost: FloatArray | float  # what underflows when the matrix is divided by the scale

    @classmethod
    def normalized(cls, gram: FloatArray, l2_radius: float, l1_radius: float) -> Self:
        largest = largest_magnitude(gram)
        if largest > MAX_ENTRY or 0 < largest < 1 / MAX_ENTRY:
            place = ", ".join(str(i) for i in np.argwhere(np.abs(to_host(gram)) == largest)[0])
            raise ValueError(
                f"gram[{place}] has magnitude {largest:g}, but the largest magnitude must lie "
                f"between {1 / MAX_ENTRY:g} and {MAX_ENTRY:g}; rescale gram"
            )
        if largest > 0 and not 1 / MAX_BOUND <= l2_radius**2 * largest <= MAX_BOUND:
            raise ValueError(
                f"l2_radius squared times the largest magnitude of gram must lie between "
                f"{1 / MAX_BOUND:g} and {MAX_BOUND:g}, got {l2_radius:g} squared times {largest:g}"
            )
        scale = power_of_two(largest)
        scaled = gram / scale
        lost = gram - scaled * scale if scale > 1 else 0.0
        if scale > 1 and largest_magnitude(lost) == 0:
            lost = 0.0
        return cls(scaled, l1_radius / l2_radius, l2_radius, scale, lost)

    def warmed(self, bracket: Bracket, answer: WorstDirection) -> Bracket:
        """The bracket, improved by the witnesses of an earlier answer; bounds are computed anew."""
        if answer.multiplier.shape != self.gram.shape:
            raise ValueError(
                f"warm_start must be for a matrix of shape {self.gram.shape}, "
                f"got one for {answer.multiplier.shape}"
            )
        lifted = answer.lifted / max(float(diagonal(answer.lifted).sum()), 1e-300)
        return improve(bracket, self.gram, lifted, answer.multiplier / self.scale, self.l1_radius)

    def prove_upper(self, bracket: Bracket, slack: float) -> float:
        """The bracket's upper bound, raised a little, if the checker accepts that.

        Else what it does accept.
        """
        claim = bracket.upper * (1 + slack) + 1e-300
        radii = {"l2_radius": 1.0, "l1_radius": self.l1_radius}
        if proves_upper_bound(claim, self.gram, bracket.multiplier, **radii):
            return claim
        return proven_upper(self.gram, bracket.multiplier, self.l1_radius)

    def certified(self, bracket: Bracket, upper: float, tolerance: float) -> WorstDirection:
        """The answer in the caller's units: a proven upper bound, and the lower one checked."""
        lower, witness = bracket.lower * (1 - 1e-9), bracket.lifted
        radii = {"l2_radius": 1.0, "l1_radius": self.l1_radius}
        if not proves_lower_bound(lower, self.gram, witness, **radii):
            lower, witness = 0.0, zeros(self.gram.shape[:1], self.gram)
        unit = self.l2_radius**2 * self.scale
        # What was lost adds at most this, and joins the multiplier.
        most = self.lost if isinstance(self.lost, float) else largest_magnitude(self.lost)
        doubt = (self.l1_radius * self.l2_radius) ** 2 * most * (1 + 1e-9)
        lower, upper = max(lower * unit - doubt, 0.0), upper * unit + doubt
        is_direction = witness.ndim == 1
        return WorstDirection(
            lower=lower,
            upper=upper,
            direction=self.l2_radius * witness if is_direction else None,
            multiplier=bracket.multiplier * self.scale + self.lost,
            status=direction_status(lower, upper, tolerance),
            _lifted=None if is_direction else self.l2_radius**2 * witness,
        )


def _cheap_bracket(problem: _Problem, tolerance: float) -> Bracket:
    """A clipped eigenvalue above (its Ritz value, not yet proven) and a sparse ascent below."""
    gram, precision = problem.gram, min(1e-2, tolerance / 30)
    n_starts = N_STARTS if tolerance < LOOSE else N_STARTS // 3

    def climb(starts: FloatArray) -> tuple[float, FloatArray]:
        values, found = ascend(lambda v: v @ gram, starts, problem.l1_radius, precision=precision)
        # Where no direction has a positive value, the zero matrix is best.
        if values[0] > 0:
            return float(values[0]), found[0, :]
        return 0.0, zeros(found.shape[1:], found)

    below = climb(column_starts(gram, n_starts))
    good_enough = below[0] / (1 + RITZ_DOUBT) / max(1 - tolerance, 1e-3)
    clip = best_clip(gram, problem.l1_radius, good_enough=good_enough)
    below = max(below, climb(like(clip.eigenvector[None], gram)), key=lambda found: found[0])
    multiplier = clipped(gram, clip.level)
    return Bracket(*below, max(clip.value, below[0]), multiplier)


def _from_inner_products(
    halves: Rows, l2_radius: float, l1_radius: float, tolerance: float
) -> WorstDirection:
    """Bounds from rows alone: A = halvesᵀ·halves has the eigenvalues of halves·halvesᵀ."""
    n, d = halves.shape
    require_memory(4 * 8 * n**2, f"the inner products of {n} rows")
    kernel = gram_of(halves.T)
    values, vectors = top_eigenpairs(kernel, 1)
    starts = np.concatenate([(vectors[:, -1] @ halves)[None], _largest_rows(halves, N_STARTS)])
    reached, directions = ascend(
        lambda v: (halves.T @ (halves @ v.T)).T,
        starts,
        l1_radius / l2_radius,
        precision=min(1e-3, tolerance / 10),
    )
    error = (d + 4) * EPS * float(np.abs(kernel).max())
    upper = (max(float(values[-1]), 0.0) * (1 + 1e-9) + n * error) * l2_radius**2
    # With no multiplier only the trace counts, and an l1 radius of √n·r lets the checker charge
    # the rounding of n×n entries.
    known = {"l2_radius": l2_radius, "l1_radius": np.sqrt(n) * l2_radius, "gram_error": error / 2}
    if not proves_upper_bound(upper, kernel, np.zeros_like(kernel), **known):
        upper = np.inf
    direction = l2_radius * directions[0]
    lower = max(float(reached[0]), 0.0) * l2_radius**2 * (1 - 1e-9)
    radii = {"l2_radius": l2_radius, "l1_radius": l1_radius}
    whole = halves * np.sqrt(n)
    if not proves_optimum(lower, whole, direction, outlier_fraction=0.0, **radii):
        lower = 0.0
    return WorstDirection(
        lower=lower,
        upper=upper,
        direction=direction,
        multiplier=np.broadcast_to(np.float64(0), (d, d)),
        status=direction_status(lower, upper, tolerance),
    )


def _largest_rows(rows: Rows, n_rows: int) -> FloatArray:
    sizes = np.asarray((rows * rows).sum(axis=1)).ravel()
    chosen = rows[np.argsort(-sizes, kind="stable")[:n_rows]]
    return np.asarray(chosen.toarray() if hasattr(chosen, "toarray") else chosen)
