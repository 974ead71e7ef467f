"""A proof about the adversary: what planted rows can hide from a halfspace, whichever they are.

For rows, labels, a point v and any weights q: whichever k rows were planted, no u near v has a mean
hinge loss on the clean rows that is lower by more than `AdversaryBound.value`. Nothing is assumed
about the rows. docs/adversary-bound.md derives it; `thresher.adversary_checker` has accepted every
bound that is returned.
"""

import math
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
from scipy.optimize import minimize_scalar

from thresher.adversary_checker import (
    Margins,
    accepts_adversary_bound,
    gap_at_most,
    planted_at_most,
    removed_at_most,
    split,
)
from thresher.certificates import weighted_second_moment
from thresher.solvers import HingeMinimum, minimize_hinge
from thresher.solvers.thresholding import best_clip, proven_upper
from thresher.validation import FloatArray, Rows, stack_rows

MAX_COLUMNS = 1500  # with more, rows are bounded one by one: no d×d matrix is formed
STEP = 1.6  # from one level to the next
MOST_LEVELS = 12
N_GROWTHS = 7  # tried for one gap
LOSS_TOLERANCE = 1e-3
CUSHION = 1 + 1e-9  # for a checker whose sums are rounded in another order


@dataclass(frozen=True, eq=False)
class Proof:
    """How a sum over rows was bounded.

    Parameters
    ----------
    level : changes of the loss up to here are added up row by row; infinity: all are
    variance, multiplier : beyond it, a bound on squares in any direction, and what proves it
    """

    level: float = math.inf
    variance: float = 0.0
    multiplier: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))


@dataclass(frozen=True, eq=False, kw_only=True)
class AdversaryBound:
    """How much lower the clean rows' mean hinge loss can be at another halfspace, and the proof.

    Parameters
    ----------
    value : the bound; sums over clean rows are divided by the number of all rows
    fixed : the part of it that does not shrink with the distance
    trivial : what holds for the same distance whatever the rows are; for comparison, not checked
    loss : mean hinge loss of all rows at the point; for comparison, not checked
    n_rows, n_planted : rows in all, and how many of them may be planted
    distance, l1_ratio : the other halfspaces u: ‖u−v‖₂ ≤ distance, ‖u−v‖₁ ≤ l1_ratio·distance
    hinge_scale : τ of the hinge loss max(0, 1 − y(x·u)/τ)
    clean_variance : the variance that clean rows are assumed to have at most (second form), or None
    gap, planted, removed : parts of `value`: for the weighted rows' loss not being least at the
        point, for planted rows that kept weight, for clean rows that lost it
    weights, dual, growth, planted_proof, removed_proof : the proof
    """

    n_rows: int
    n_planted: int
    distance: float
    l1_ratio: float
    hinge_scale: float
    clean_variance: float | None
    weights: FloatArray
    value: float = math.inf
    fixed: float = math.inf
    trivial: float = math.inf
    loss: float = math.inf
    gap: float = math.inf
    planted: float = math.inf
    removed: float = math.inf
    dual: FloatArray = field(default_factory=lambda: np.zeros(0))
    growth: float = 0.0
    planted_proof: Proof = field(default_factory=Proof)
    removed_proof: Proof = field(default_factory=Proof)

    def at(self, distance: float) -> float:
        """The bound for halfspaces within a shorter distance: a straight line from `fixed`."""
        if not 0 <= distance <= self.distance:
            raise ValueError(f"distance must be between 0 and {self.distance:g}, got {distance:g}")
        share = distance / self.distance
        return self.fixed + (self.value - self.fixed) * share

    @property
    def per_clean_row(self) -> float:
        """The bound for the mean over clean rows alone."""
        return self.value * self.n_rows / max(self.n_rows - self.n_planted, 1)

    @property
    def is_useful(self) -> bool:
        """Whether it says more than what is true of any rows."""
        return self.value < self.trivial

    def sentence(self) -> str:
        """The bound in words, or that nothing useful is proven."""
        whichever = f"Whichever {self.n_planted:,} of these {self.n_rows:,} rows were planted"
        assumed = ""
        if self.clean_variance is not None:
            assumed = (
                f", if clean rows have a variance of at most {self.clean_variance:.3g} in every "
                "direction of few features"
            )
        if not self.is_useful:
            return (
                f"{whichever}: nothing useful is proven about other halfspaces within distance "
                f"{self.distance:g} of this one{assumed}."
            )
        return (
            f"{whichever if self.n_planted else 'If no row is planted'}, no halfspace within "
            f"distance {self.distance:g} of this one and with no more features has a mean hinge "
            f"loss on the clean rows that is lower by more than {self.per_clean_row:.2g}{assumed} "
            f"(margin {self.hinge_scale:g}; the mean hinge loss of this one, on all rows, is "
            f"{self.loss:.2g})."
        )


def bound_adversary(
    rows: Rows,
    labels: FloatArray,
    point: FloatArray,
    *,
    weights: FloatArray,
    n_planted: int,
    hinge_scale: float,
    distance: float,
    l1_ratio: float,
    clean_variance: float | None = None,
) -> AdversaryBound:
    """A proven bound on what planted rows can hide, from weights that any method may have chosen.

    Parameters
    ----------
    rows, labels : (n, d) array or CSR matrix, and (n,) of -1 and +1
    point : (d,) v
    weights : (n,) q in [0, 1], or several such rows to choose the best of
    n_planted : the largest number of planted rows
    hinge_scale, distance, l1_ratio, clean_variance : as in `AdversaryBound`

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows, point = rng.standard_normal((1000, 5)), np.eye(5)[0]
    >>> bound = bound_adversary(rows, np.sign(rows[:, 0]), point, weights=np.ones(1000),
    ...     n_planted=10, hinge_scale=0.5, distance=0.2, l1_ratio=2.0)
    >>> round(bound.loss, 2), round(bound.value, 2), round(bound.at(0.1), 2)
    (0.18, 0.02, 0.01)
    """
    several = np.atleast_2d(weights)
    asked = AdversaryBound(
        n_rows=int(labels.size),
        n_planted=n_planted,
        distance=distance,
        l1_ratio=l1_ratio,
        hinge_scale=hinge_scale,
        clean_variance=clean_variance,
        weights=several[0],
    )
    table = Margins.of(rows, labels, point, asked)
    tried = (_proven(table.weighted(q), replace(asked, weights=q)) for q in several)
    best = min(tried, key=lambda bound: bound.value)
    proven = replace(best, trivial=_trivial(table), loss=float(table.loss.mean()))
    is_accepted = accepts_adversary_bound(rows, labels, point, proven)
    return proven if is_accepted else replace(proven, value=math.inf)


def _proven(table: Margins, asked: AdversaryBound) -> AdversaryBound:
    n_planted, variance = asked.n_planted, asked.clean_variance
    dual, growth = _dual_and_growth(table)
    slack, slope = gap_at_most(table, dual, growth)
    planted_proof = _Levels.of_planted(table, n_planted).best() if n_planted else Proof()
    levels = _Levels.of_removed(table)
    removed_proof = levels.best() if variance is None else levels.best_for(variance)
    removed, fixed = removed_at_most(table, removed_proof, variance)
    gap, removed = (slack + slope) * CUSHION, removed * CUSHION
    planted = planted_at_most(table, n_planted, planted_proof) * CUSHION
    return replace(
        asked,
        value=(gap + planted + removed) * CUSHION,
        fixed=(slack + fixed) * CUSHION,
        gap=gap,
        planted=planted,
        removed=removed,
        dual=dual,
        growth=growth,
        planted_proof=planted_proof,
        removed_proof=removed_proof,
    )


def _trivial(table: Margins) -> float:
    """The bound without any weight: what no row's loss can do."""
    table = table.weighted(np.zeros(table.n_rows))
    return removed_at_most(table, _Levels.of_removed(table).best(), None)[0]


def _dual_and_growth(table: Margins) -> tuple[FloatArray, float]:
    """Multipliers that make the proven gap small: of the rows, and of ‖u‖ ≤ ‖v‖.

    A row −τv of weight λn charges λ(1 + v·u) for growth, and makes the solver find both.
    """
    n, found = table.n_rows, {}
    rows = stack_rows([table.rows, -table.hinge_scale * table.point[None]])
    labels = np.append(table.labels, 1.0)
    last: HingeMinimum | None = None

    def gap(growth: float) -> float:
        nonlocal last
        total, dual = np.append(table.weights, growth * n), np.zeros(n)
        if total.any():
            last = minimize_hinge(
                rows,
                labels,
                center=table.point,
                l2_radius=table.distance,
                l1_radius=table.distance * table.ratio,
                hinge_scale=table.hinge_scale,
                sample_weight=total,
                tolerance=LOSS_TOLERANCE * n / total.sum(),
                warm_start=last,
            )
            dual = last.dual[:-1]
        value = sum(gap_at_most(table, dual, growth))
        found[value] = dual, growth
        return value

    gap(0.0)
    active = table.weights * table.labels * (table.excess > 0)
    along = float(active @ (table.rows @ table.point)) / (n * table.hinge_scale)
    if along > 0 and (length := float(table.point @ table.point)) > 0:
        most = 1.5 * along / length
        minimize_scalar(gap, bounds=(0, most), method="bounded", options={"maxiter": N_GROWTHS})
    return found[min(found)]


@dataclass(frozen=True, eq=False)
class _Levels:
    """The search for the level of a proof, over levels that grow geometrically."""

    table: Margins
    weights: FloatArray
    caps: FloatArray
    spare: FloatArray
    most: int

    @classmethod
    def of_planted(cls, table: Margins, n_planted: int) -> Self:
        """For planted rows: their losses may rise."""
        changes = np.maximum(table.reach - table.spare, 0)
        return cls(table, table.weights, changes, table.spare, n_planted)

    @classmethod
    def of_removed(cls, table: Margins) -> Self:
        """For removed rows: their losses may fall, to zero at most."""
        caps = np.minimum(table.loss, table.reach)
        return cls(table, 1 - table.weights, caps, np.zeros_like(caps), table.n_rows)

    def best(self) -> Proof:
        """The level with the least bound; infinity if no variance makes it smaller."""
        positive = self.caps[(self.caps > 0) & (self.weights > 0)]
        if self.table.point.size > MAX_COLUMNS or not positive.size:
            return Proof()
        top, bounds = float(positive.max()), []
        for j in range(MOST_LEVELS + 1):
            bounds.append(self._bound(top * STEP**-j))
            if j > 1 and bounds[j] > bounds[j - 1]:
                break
        least = min(bounds)
        is_better = least < self._sure(math.inf)[0]
        return self._proof(top * STEP ** -bounds.index(least)) if is_better else Proof()

    def best_for(self, variance: float) -> Proof:
        """The best level where the squares of clean rows are assumed to be bounded."""
        unit = variance * (self.table.distance / self.table.hinge_scale) ** 2

        def bound(level: float) -> float:
            sure = self.weights * np.minimum(self.caps, level * self.weights)
            return float(sure.mean()) + unit / (4 * level)

        levels = np.geomspace(1e-3, 1e3, 61) * max(float(self.caps.max()), 1e-6)
        level = float(min(levels, key=bound))
        is_better = bound(level) < float((self.weights * self.caps).mean())
        return Proof(level) if is_better else Proof()

    def _sure(self, level: float) -> tuple[float, FloatArray]:
        sure, curvature = split(self.caps, self.spare, level)
        largest = np.sort(self.weights * sure)[::-1][: self.most]
        return float(largest.sum()) / self.table.n_rows, self.weights * curvature

    def _moment(self, weights: FloatArray) -> tuple[FloatArray, float]:
        counts = np.flatnonzero(weights)
        rows, n = self.table.rows[counts], self.table.n_rows
        return weighted_second_moment(rows, weights[counts], n_rows=n)

    def _bound(self, level: float) -> float:
        sure, weights = self._sure(level)
        if not weights.any():
            return sure
        value = best_clip(self._moment(weights)[0], self.table.ratio).value
        return sure + value * (self.table.distance / self.table.hinge_scale) ** 2

    def _proof(self, level: float) -> Proof:
        weights = self._sure(level)[1]
        if not weights.any():
            return Proof(level)
        gram, error = self._moment(weights)
        clip = best_clip(gram, self.table.ratio).level
        multiplier = np.clip(gram, -clip, clip)
        variance = proven_upper(gram, multiplier, self.table.ratio, gram_error=error)
        return Proof(level, variance, multiplier) if variance < math.inf else Proof()
