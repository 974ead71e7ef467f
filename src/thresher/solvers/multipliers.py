"""The method of multipliers for a mean hinge loss over a unit l2 ball and an l1 ball.

The loss Σ p·max(0, c − s·(x·v)) has a kink wherever a residual c − s·(x·v) vanishes. Around a
guess α⁰ of the dual vector it is replaced by the smooth loss

    Σ p · max over 0 ≤ α ≤ 1 of  α·residual − (μ/2)(α − α⁰)²,

whose maximiser α = clip(α⁰ + residual/μ, 0, 1) is a dual vector and so proves a lower bound. An
accelerated projected gradient descends on it; then α⁰ moves to α, and μ shrinks.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from thresher.arrays import DeviceRows
from thresher.geometry.balls import project_onto_unit_region, unit_support
from thresher.validation import FloatArray, Rows, is_sparse

WIDTH_FACTOR = 0.7  # on μ when the multipliers move; measured, and flat between 0.5 and 0.8
LEAST_WIDTH = 1e-12  # narrower, the smooth loss could not be told from the hinge
CURVATURE_FACTOR = 0.9  # on the curvature after every step, so that steps can grow again
LONGEST_STEP = 1e3  # in radii: a longer one would land on the same point of the region
EASE = 2.0  # the multipliers move once the smooth loss is within EASE smoothing errors of its least
ROUNDING = 1e-13  # relative: a smaller increase of the smooth loss is taken for rounding
CORE_WIDTHS = 1.0  # rows with a residual below this multiple of the kink's width may change roles
CORE_LEVEL = 0.6  # columns with a pull below this share of the soft threshold stay at zero


@dataclass(frozen=True)
class Place:
    """A point and its residuals, which are affine in it."""

    point: FloatArray
    residuals: FloatArray

    def beyond(self, previous: "Place", factor: float) -> "Place":
        """This place moved on, by a factor of the way that led here from the previous one."""
        return Place(
            self.point + factor * (self.point - previous.point),
            self.residuals + factor * (self.residuals - previous.residuals),
        )


@dataclass(frozen=True)
class Tangent:
    """What a dual vector α knows: its pull g = Σ pαs·x, the bound it proves, and σ(g)."""

    dual: FloatArray
    pull: FloatArray
    support: float
    level: float  # the t at which r‖S_t(g)‖₂ + ρt attains σ(g)
    bound: float


@dataclass(frozen=True)
class HingeProblem:
    """Minimise Σ p·max(0, c − s·(x·v)) − g⁰·v + f⁰ over ‖v‖₂ ≤ 1 and ‖v‖₁ ≤ l1_radius.

    The linear part g⁰, f⁰ stands for rows whose dual entry is known to be 1.
    """

    rows: Rows
    slopes: FloatArray  # s
    offsets: FloatArray  # c
    probabilities: FloatArray  # p
    l1_radius: float
    fixed_pull: FloatArray  # g⁰
    fixed_loss: float = 0.0  # f⁰

    def place(self, point: FloatArray) -> Place:
        return Place(point, self.offsets - self.slopes * (self.rows @ point))

    def loss(self, place: Place) -> float:
        hinge = float(self.probabilities @ np.maximum(place.residuals, 0))
        return hinge + self.fixed_loss - float(self.fixed_pull @ place.point)

    def pull(self, dual: FloatArray) -> FloatArray:
        result: FloatArray = self.rows.T @ (self.probabilities * self.slopes * dual)
        return result

    def tangent(self, dual: FloatArray) -> Tangent:
        pull = self.pull(dual) + self.fixed_pull
        support, level = unit_support(pull, self.l1_radius)
        constant = float(self.probabilities @ (dual * self.offsets)) + self.fixed_loss
        return Tangent(dual, pull, support, level, constant - support)

    @cached_property
    def max_curvature(self) -> float:
        """Σ ps²‖x‖², which bounds μ times the second derivatives of the smooth loss."""
        if isinstance(self.rows, DeviceRows):
            squares = self.rows.squared_norms()
        elif is_sparse(self.rows):
            squares = np.asarray(self.rows.multiply(self.rows).sum(axis=1)).ravel()
        else:
            squares = np.einsum("ij,ij->i", self.rows, self.rows)
        return float((self.probabilities * self.slopes**2) @ squares)


@dataclass(frozen=True)
class Multipliers:
    """The guess α⁰ of the dual vector and the width μ of the smoothed kink."""

    guess: FloatArray
    width: float

    def dual(self, residuals: FloatArray) -> FloatArray:
        shifted = self.guess + residuals * (1 / self.width)
        result: FloatArray = np.minimum(np.maximum(shifted, 0, out=shifted), 1, out=shifted)
        return result

    def smooth_loss(self, problem: HingeProblem, place: Place, dual: FloatArray) -> float:
        moved = dual - self.guess
        values = dual * place.residuals - (self.width / 2) * moved * moved
        linear = problem.fixed_loss - float(problem.fixed_pull @ place.point)
        return float(problem.probabilities @ values) + linear


class Descent:
    """A descent on one problem, which remembers the best point and the best dual vector it saw."""

    def __init__(
        self, problem: HingeProblem, place: Place, tangent: Tangent, multipliers: Multipliers
    ) -> None:
        self.problem = problem
        self.best_place, self.best_loss = place, problem.loss(place)
        self.best_tangent = tangent
        self.n_iterations = 0
        self._max_curvature = problem.max_curvature
        self.restart(multipliers, curvature=0.0)

    @property
    def gap(self) -> float:
        """How far the best loss may still be from the minimum of this problem."""
        return self.best_loss - self.best_tangent.bound

    def restart(self, multipliers: Multipliers, curvature: float) -> None:
        """Go on from the best place without momentum."""
        self.multipliers, self.curvature = multipliers, curvature
        self._here = self._ahead = self.best_place
        self._momentum = 1.0

    def offer(self, place: Place, tangent: Tangent) -> None:
        """Remember the place, the tangent, or both, if they are the best so far."""
        loss = self.problem.loss(place)
        if loss < self.best_loss:
            self.best_place, self.best_loss = place, loss
        if tangent.bound > self.best_tangent.bound:
            self.best_tangent = tangent

    def run(self, *, target: float, max_iterations: int) -> None:
        """Descend until the gap is at most the target or the iterations are used up."""
        for _ in range(max_iterations):
            if self.gap <= target:
                return
            self._step(target)
            self.n_iterations += 1

    def _step(self, target: float) -> None:
        ahead, problem = self._ahead, self.problem
        tangent = problem.tangent(self.multipliers.dual(ahead.residuals))
        landing = self._land(tangent)
        self.offer(landing, tangent)
        unsmoothed = np.maximum(ahead.residuals, 0) - tangent.dual * ahead.residuals
        smoothing_error = float(problem.probabilities @ unsmoothed)
        suboptimality = tangent.support - float(tangent.pull @ ahead.point)
        # The gap at this place is the sum of the two: work on the one that keeps it open.
        if suboptimality < EASE * smoothing_error and smoothing_error > target / 10:
            width = max(WIDTH_FACTOR * self.multipliers.width, LEAST_WIDTH)
            self.multipliers = Multipliers(tangent.dual, width)
            self._ahead, self._momentum = landing, 1.0
        else:
            self._extrapolate(landing)
        self._here = landing
        self.curvature *= CURVATURE_FACTOR

    def _land(self, tangent: Tangent) -> Place:
        """The end of a projected gradient step, with the curvature found by doubling it."""
        ahead, pull, problem = self._ahead, tangent.pull, self.problem
        slope = math.sqrt(pull @ pull)
        ceiling = self._max_curvature / self.multipliers.width
        # Without a curvature yet, the first trial step is as long as the radius.
        curvature = max(self.curvature or slope, slope / LONGEST_STEP, 1e-300)
        before = self.multipliers.smooth_loss(problem, ahead, tangent.dual)
        while True:
            step = ahead.point + pull * (1 / curvature)
            landing = problem.place(project_onto_unit_region(step, problem.l1_radius))
            moved = landing.point - ahead.point
            promised = before - float(pull @ moved) + curvature / 2 * float(moved @ moved)
            dual = self.multipliers.dual(landing.residuals)
            after = self.multipliers.smooth_loss(problem, landing, dual)
            if after <= promised + ROUNDING * abs(before) or curvature >= ceiling:
                self.curvature = curvature
                return landing
            curvature *= 2

    def _extrapolate(self, landing: Place) -> None:
        """Nesterov's momentum, dropped whenever it points uphill (O'Donoghue and Candès 2015)."""
        here, ahead, momentum = self._here, self._ahead, self._momentum
        if (ahead.point - landing.point) @ (landing.point - here.point) > 0:
            self._ahead, self._momentum = landing, 1.0
        else:
            self._momentum = (1 + math.sqrt(1 + 4 * momentum * momentum)) / 2
            self._ahead = landing.beyond(here, (momentum - 1) / self._momentum)


def descend_on_core(descent: Descent, target: float, max_iterations: int) -> None:
    """Descend on the rows near the kink and the columns near the soft threshold only.

    Every other row keeps its dual entry, 0 or 1, and every other column its zero. Whether that
    was right shows in the gap of the whole problem, which is computed anew.
    """
    whole, tangent = descent.problem, descent.best_tangent
    residuals, width = descent.best_place.residuals, descent.multipliers.width
    near = (np.abs(residuals) < CORE_WIDTHS * width) & (whole.probabilities > 0)
    columns = np.flatnonzero(np.abs(tangent.pull) >= CORE_LEVEL * tangent.level)
    settled = np.where(~near & (residuals > 0), 1.0, 0.0)
    rows = np.flatnonzero(near)
    picked = whole.rows[rows][:, columns] if is_sparse(whole.rows) else None
    part = HingeProblem(
        whole.rows[np.ix_(rows, columns)] if picked is None else picked,
        whole.slopes[rows],
        whole.offsets[rows],
        whole.probabilities[rows],
        whole.l1_radius,
        fixed_pull=whole.pull(settled)[columns],
        fixed_loss=float(whole.probabilities @ (settled * whole.offsets)),
    )
    core = Descent(
        part,
        part.place(descent.best_place.point[columns]),
        part.tangent(tangent.dual[rows]),
        Multipliers(descent.multipliers.guess[rows], width),
    )
    core.curvature = descent.curvature
    core.run(target=target, max_iterations=max_iterations)
    _adopt(descent, core, rows, columns, settled)


def _adopt(
    descent: Descent,
    core: Descent,
    rows: NDArray[np.intp],
    columns: NDArray[np.intp],
    settled: FloatArray,
) -> None:
    point, dual, guess = np.zeros(descent.best_place.point.size), settled.copy(), settled.copy()
    point[columns] = core.best_place.point
    dual[rows] = core.best_tangent.dual
    guess[rows] = core.multipliers.guess
    descent.offer(descent.problem.place(point), descent.problem.tangent(dual))
    descent.n_iterations += core.n_iterations
    descent.restart(Multipliers(guess, core.multipliers.width), core.curvature)
