"""The minimum of a hinge loss around the current halfspace, with a proof of how good it is."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.arrays import DeviceRows, is_foreign, like
from thresher.certificates import hinge_loss
from thresher.device_certificates import proves_hinge_bound
from thresher.geometry.balls import project_onto_unit_region
from thresher.geometry.regions import SearchRegion
from thresher.solvers.multipliers import Descent, HingeProblem, Multipliers, descend_on_core
from thresher.solvers.threads import one_blas_thread
from thresher.validation import (
    FloatArray,
    Rows,
    check_count,
    check_labels,
    check_positive,
    check_radius,
    check_rows,
    check_vector,
    check_weights,
    is_sparse,
)

INITIAL_WIDTH = 1.0  # of the smoothed kink, in units of the loss
CORE_GAP = 7.0  # tolerances: from here on, rows and columns keep their roles, as a rule
CORE_PATIENCE = 5  # the core gets this multiple of the iterations before it, or of 20
SAFETY = 0.8  # of the tolerance is aimed at, and leaves the rest to the rounding of the proof
FARTHEST = 1e3  # radii: a warm start beyond is moved closer before it is projected
LARGEST = 1e100  # margins whose squares can be summed
LARGE_BYTES = 2**26  # of rows, which are then not copied to leave some of them out


@dataclass(frozen=True)
class HingeMinimum:
    """A point of the search region, its loss, and a proven lower bound on every other loss.

    Attributes
    ----------
    point : array of shape (d,), in the search region
    loss : weighted mean hinge loss of the point
    lower_bound : no point of the region has a loss below this
    status : "converged" if loss − lower_bound is at most the tolerance, even in exact arithmetic,
        else "undecided"
    dual : array of shape (m,) in [0, 1], the proof of `lower_bound`
    n_iterations : gradient steps taken
    """

    point: FloatArray
    loss: float
    lower_bound: float
    status: str
    dual: FloatArray
    n_iterations: int

    @property
    def gap(self) -> float:
        """How much smaller the minimum can be than the loss."""
        return self.loss - self.lower_bound


@dataclass(frozen=True)
class _Task:
    """The caller's problem, checked: rows, labels, weights of sum 1, region and scale."""

    rows: Rows
    labels: FloatArray
    probabilities: FloatArray
    region: SearchRegion
    hinge_scale: float
    tolerance: float


def minimize_hinge(
    X: object,
    y: object,
    *,
    center: object,
    l2_radius: float,
    l1_radius: float,
    hinge_scale: float,
    sample_weight: object = None,
    tolerance: float = 1e-3,
    warm_start: HingeMinimum | None = None,
    max_iterations: int = 10_000,
) -> HingeMinimum:
    """A point near the center whose hinge loss is provably within a tolerance of the least.

    min over w of Σ p·max(0, 1 − y(x·w)/τ), ‖w − u‖₂ ≤ r, ‖w − u‖₁ ≤ ρ, with weights p of sum 1.
    This is Algorithm 1, line 9. With z = y·x/τ and c = 1 − z·u, any α in [0, 1] proves the lower
    bound Σ pαc − max of (Σ pαz)·v over the region; `certificates.proves_hinge_bound` has accepted
    the one that is returned.

    Parameters
    ----------
    X : array or SciPy sparse matrix of shape (m, d). With an array of CuPy or Torch, products are
        taken where it is, and the arrays of the answer are of the same kind and in the same place
    y : array of shape (m,) of -1 and +1
    center : array of shape (d,), u
    l2_radius, l1_radius : r and ρ, both positive
    hinge_scale : τ, positive
    sample_weight : array of shape (m,), not negative; equal weights if None
    tolerance : largest gap of a converged answer, absolute, in units of the mean hinge loss
    warm_start : an answer to a similar problem with the same number of features
    max_iterations : gradient steps after which the answer is "undecided"

    Examples
    --------
    >>> X = [[2.0, 0.0], [1.0, 1.0], [-2.0, 1.0], [-1.0, -1.0]]
    >>> found = minimize_hinge(X, [1, 1, -1, -1], center=[0, 0], l2_radius=1, l1_radius=1,
    ...                        hinge_scale=2)
    >>> found.status, found.point.round(2), round(found.loss, 2)
    ('converged', array([1., 0.]), 0.25)
    """
    given = check_rows(X, "X")
    rows = DeviceRows(given) if is_foreign(given) else given
    weights = check_weights(sample_weight, "sample_weight", length=rows.shape[0])
    weights = weights / weights.max()
    task = _Task(
        rows,
        check_labels(y, "y", length=rows.shape[0]),
        weights / weights.sum(),
        SearchRegion(check_vector(center, "center", length=rows.shape[1]), l2_radius, l1_radius),
        check_radius(hinge_scale, "hinge_scale"),
        check_positive(tolerance, "tolerance"),
    )
    max_iterations = check_count(max_iterations, "max_iterations", minimum=0)
    with one_blas_thread():
        descent = _start(task, warm_start)
        _solve(descent, task.tolerance, max_iterations)
        found = _certified(task, descent)
    return replace(found, point=like(found.point, given), dual=like(found.dual, given))


def _start(task: _Task, warm_start: HingeMinimum | None) -> Descent:
    """A descent on the problem with radius 1 around the origin, without the rows of weight 0."""
    kept = _rows_to_keep(task)
    problem = _normalized(task, kept)
    point, dual = _first_guess(task, warm_start)
    dual = dual[kept]
    multipliers = Multipliers(dual, INITIAL_WIDTH)
    return Descent(problem, problem.place(point), problem.tangent(dual), multipliers)


def _rows_to_keep(task: _Task) -> NDArray[np.bool_]:
    """The rows that count; all of them where a copy of most would cost too much memory."""
    counts = task.probabilities > 0
    is_large = not is_sparse(task.rows) and task.rows.nbytes > LARGE_BYTES
    return np.ones_like(counts) if is_large and 2 * counts.sum() > counts.size else counts


def _normalized(task: _Task, kept: NDArray[np.bool_]) -> HingeProblem:
    region, rows = task.region, task.rows if kept.all() else task.rows[kept]
    slopes = task.labels[kept] * (region.l2_radius / task.hinge_scale)
    with np.errstate(over="ignore", invalid="ignore"):
        offsets = 1 - task.labels[kept] * (rows @ region.center) / task.hinge_scale
        problem = HingeProblem(
            rows,
            slopes,
            offsets,
            task.probabilities[kept],
            min(region.l1_radius / region.l2_radius, 2 * rows.shape[1] ** 0.5),
            fixed_pull=np.zeros(rows.shape[1]),
        )
        largest = max(float(np.abs(offsets).max()), problem.max_curvature**0.5)
    if not largest <= LARGEST:  # also refuses NaN
        raise ValueError(
            f"X is too large for this center, l2_radius and hinge_scale: the margins "
            f"y(x·w)/hinge_scale reach {largest:.3g} and must stay below {LARGEST:g}"
        )
    return problem


def _first_guess(task: _Task, warm_start: HingeMinimum | None) -> tuple[FloatArray, FloatArray]:
    (m, d), region = task.rows.shape, task.region
    if warm_start is None:
        return np.zeros(d), np.zeros(m)
    if not isinstance(warm_start, HingeMinimum):
        raise TypeError(f"warm_start must be a HingeMinimum, got {type(warm_start).__name__}")
    point = check_vector(warm_start.point, "warm_start.point", length=d)
    with np.errstate(over="ignore"):
        offset = np.clip((point - region.center) / region.l2_radius, -FARTHEST, FARTHEST)
    offset = project_onto_unit_region(offset, region.l1_radius / region.l2_radius)
    dual = np.clip(check_vector(warm_start.dual, "warm_start.dual"), 0, 1)
    return offset, dual if dual.size == m else np.zeros(m)


def _solve(descent: Descent, tolerance: float, max_iterations: int) -> None:
    """All rows and columns until their roles are clear, then the core, then all to be sure."""
    target = SAFETY * tolerance
    descent.run(target=CORE_GAP * tolerance, max_iterations=max_iterations)
    if descent.gap <= target:
        return
    left = max_iterations - descent.n_iterations
    descend_on_core(descent, target, min(left, CORE_PATIENCE * max(descent.n_iterations, 20)))
    descent.run(target=target, max_iterations=max_iterations - descent.n_iterations)


def _certified(task: _Task, descent: Descent) -> HingeMinimum:
    """The answer in the caller's units, with a bound that the independent checker accepted."""
    problem, kept = descent.problem, _rows_to_keep(task)
    point = _point_inside(task.region, descent.best_place.point)
    margins = task.labels[kept] * (problem.rows @ point) / task.hinge_scale
    loss = float(np.average(np.maximum(1 - margins, 0), weights=problem.probabilities))
    dual = np.zeros(kept.size)
    dual[kept] = descent.best_tangent.dual
    lower_bound = _proven(task, descent, dual)
    proven = hinge_loss(task.rows, task.labels, point, task.hinge_scale, task.probabilities)[1]
    is_close = max(loss, proven) - lower_bound <= task.tolerance
    status = "converged" if is_close else "undecided"
    return HingeMinimum(point, loss, lower_bound, status, dual, descent.n_iterations)


def _point_inside(region: SearchRegion, offset: FloatArray) -> FloatArray:
    """center + r·offset, rounded toward the center where rounding would leave the region."""
    l2_norm, l1_norm = float(np.linalg.norm(offset)), float(np.abs(offset).sum())
    excess = max(1.0, l2_norm, l1_norm * (region.l2_radius / region.l1_radius))
    step = (region.l2_radius / excess) * offset
    point = region.center + step
    outside = np.abs(point - region.center) > np.abs(step)
    point[outside] = np.nextafter(point[outside], region.center[outside])
    return point


def _proven(task: _Task, descent: Descent, dual: FloatArray) -> float:
    """The bound less the smallest allowance for rounding that the checker asks for; 0 if none."""
    problem, tangent = descent.problem, descent.best_tangent
    magnitude = float(problem.probabilities @ np.abs(problem.offsets)) + tangent.support
    bound, allowance = tangent.bound, 1e-6 * task.tolerance + 1e-12 * magnitude
    asked: dict[str, Any] = {**vars(task.region), "hinge_scale": task.hinge_scale}
    asked["sample_weight"] = task.probabilities
    while bound > allowance:
        if proves_hinge_bound(bound - allowance, task.rows, task.labels, dual, **asked):
            return bound - allowance
        allowance *= 100
    return 0.0
