"""What the paper's lemmas speak of, measured phase by phase by somebody who knows the clean rows.

The rows of a phase, their weights and the labels that were fixed for them are watched from outside:
the learner sees neither the target nor who made a row.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thresher.experiments.simulation import (
    ObservedOracle,
    Stopwatch,
    answer_all,
    make_learner,
    make_world,
)
from thresher.experiments.spec import SimulationSpec
from thresher.geometry import support_l1_l2
from thresher.learning import Phase, PhaseOutcome
from thresher.oracles import Draw, DrawRequest
from thresher.simulate import MaliciousOracle
from thresher.solvers import worst_direction_of_rows
from thresher.validation import FloatArray

LEAST_C2 = 4.0  # the proof of Lemma 16 needs at least this
N_STEPS = 20  # of the search for the halfspace with the largest difference of losses
VARIANCE_TOLERANCE = 0.05  # between the proven bounds of a variance


@dataclass(frozen=True, kw_only=True)
class PhaseMeasures:
    """One phase of a run, each lemma's quantity beside its bound.

    Parameters
    ----------
    phase : number of the phase
    band_width : None in the first phase, which draws everywhere
    l2_radius, outlier_fraction : parameters of the phase (r, ξ)
    dirty_rows : dirty share of the rows drawn in the band
    dirty_rows_possible : the same if every dirty row was in the band, from the share of draws there
    dirty_weight : dirty share of the weights after outlier removal
    loss_difference : the largest |l(w;T_C) − l(w;p)| that was found over the search region; the
        true maximum can be larger
    loss_difference_at_target : the same at the target
    loss_bound : Proposition 31's bound on it, with C2 = 4 and the phase's own ξ, τ, b and r
    clean_variance : largest Σ xᵀHx/|T_C| over the clean rows, over b² + r²; Lemma 3 bounds it by
        2·C2. In the first phase b counts as 0
    clean_variance_over_r : the same over r², where clean Gaussian rows have 1 if they are many
    """

    phase: int
    band_width: float | None
    l2_radius: float
    outlier_fraction: float
    dirty_rows: float
    dirty_rows_possible: float
    dirty_weight: float
    loss_difference: float
    loss_difference_at_target: float
    loss_bound: float
    clean_variance: float
    clean_variance_over_r: float


class KeepingOracle(ObservedOracle):
    """An observed oracle that keeps the rows of each phase, so that they can be measured."""

    def __init__(self, oracle: MaliciousOracle) -> None:
        super().__init__(oracle)
        self.kept: dict[int, Draw] = {}

    def draw(self, request: DrawRequest) -> Draw:
        """What the oracle draws."""
        self.kept[request.phase] = super().draw(request)
        return self.kept[request.phase]


def measure_lemmas(spec: SimulationSpec, seed: int) -> list[PhaseMeasures]:
    """The measures of each phase of a run of Thresher, the run of `run_simulation`.

    Raises
    ------
    RuntimeError : the run failed

    Examples
    --------
    >>> spec = SimulationSpec(n_features=40, sparsity=2, noise_rate=0.05, label_budget=80,
    ...                       adversary="in-band-mass", schedule={"max_unlabeled": 4000})
    >>> first = measure_lemmas(spec, seed=0)[0]
    >>> first.phase, 0.03 < first.dirty_rows < 0.07, first.loss_difference < first.loss_bound
    (1, True, True)
    """
    oracle, rng = make_world(spec, seed)
    observed = KeepingOracle(oracle)
    learner, found = make_learner(spec, observed, rng), []
    centers = [np.zeros(spec.n_features)]

    def measure(outcome: PhaseOutcome) -> None:
        found.append(
            _measures(outcome, centers[-1], observed.kept.pop(outcome.phase.index), oracle)
        )
        centers.append(outcome.halfspace)

    message = answer_all(learner, observed, Stopwatch(), measure)
    if message:
        raise RuntimeError(message)
    return found


def _measures(
    outcome: PhaseOutcome, center: FloatArray, drawn: Draw, oracle: MaliciousOracle
) -> PhaseMeasures:
    phase, is_first = outcome.phase, outcome.phase.index == 1
    X = drawn.X[np.searchsorted(drawn.ids, outcome.row_ids)]
    is_clean, weights = oracle.is_clean(outcome.row_ids), outcome.row_weights
    losses = LossDifference(X, oracle.fixed_labels(outcome.row_ids), weights, is_clean, phase)
    starts = [center, outcome.halfspace, oracle.target]
    variance = worst_direction_of_rows(
        X[is_clean],
        l2_radius=phase.l2_radius,
        l1_radius=phase.removal_l1_radius,
        tolerance=VARIANCE_TOLERANCE,
    ).lower
    band = 0.0 if is_first else phase.band_width
    return PhaseMeasures(
        phase=phase.index,
        band_width=None if is_first else float(band),
        l2_radius=float(phase.l2_radius),
        outlier_fraction=float(phase.outlier_fraction),
        dirty_rows=float(np.mean(~oracle.is_clean(drawn.ids))),
        dirty_rows_possible=_possible_share(oracle.noise_rate, drawn),
        dirty_weight=float(weights[~is_clean].sum() / weights.sum()),
        loss_difference=max(losses.search(center, start) for start in starts),
        loss_difference_at_target=abs(losses.at(oracle.target)),
        loss_bound=loss_bound(phase, band),
        clean_variance=variance / (band**2 + phase.l2_radius**2),
        clean_variance_over_r=variance / phase.l2_radius**2,
    )


def _possible_share(noise_rate: float, drawn: Draw) -> float:
    """The dirty share of a band that every dirty draw has reached, by the share of draws in it."""
    return min(noise_rate * drawn.n_drawn / max(drawn.n_rows, 1), 1.0)


def loss_bound(phase: Phase, band: float) -> float:
    """The larger of the two bounds of Proposition 31 on the difference of the losses.

    2ξ(1 + √(10·C2)·z/τ) + √(10·C2·ξ)·z/τ and 2ξ + √(20·C2·ξ)·z/τ, with z² = b² + r².
    """
    xi, ratio = phase.outlier_fraction, math.hypot(band, phase.l2_radius) / phase.hinge_scale
    upper = 2 * xi * (1 + math.sqrt(10 * LEAST_C2) * ratio) + math.sqrt(10 * LEAST_C2 * xi) * ratio
    return max(upper, 2 * xi + math.sqrt(20 * LEAST_C2 * xi) * ratio)


@dataclass(frozen=True, eq=False)
class LossDifference:
    """l(w;p) − l(w;T_C): the reweighted hinge loss less that of the clean rows.

    Parameters
    ----------
    X, y : rows of the pool and the labels fixed for them
    weights : of the rows, after outlier removal
    is_clean : which of them are clean
    phase : its radii and its hinge scale
    """

    X: FloatArray
    y: FloatArray
    weights: FloatArray
    is_clean: NDArray[np.bool_]
    phase: Phase

    @property
    def region(self) -> dict[str, float]:
        """The radii of the search region."""
        return {"l2_radius": self.phase.l2_radius, "l1_radius": self.phase.l1_radius}

    @property
    def _shares(self) -> FloatArray:
        """p(x) − 1{x is clean}/|T_C|."""
        shares: FloatArray = self.weights / self.weights.sum() - self.is_clean / self.is_clean.sum()
        return shares

    def at(self, w: FloatArray) -> float:
        """The difference for one halfspace."""
        losses = np.maximum(0.0, 1 - self.y * (self.X @ w) / self.phase.hinge_scale)
        return float(self._shares @ losses)

    def search(self, center: FloatArray, start: FloatArray) -> float:
        """The largest absolute difference on two paths through the search region.

        Each step goes towards the point of the region that is farthest along the gradient, as
        Frank and Wolfe do, up for one path and down for the other. Neither needs to end at a
        maximum: the difference is not concave.
        """
        largest = 0.0
        for sign in (1.0, -1.0):
            w = center + shortened(start - center, self.region)
            for step in range(N_STEPS):
                largest = max(largest, abs(self.at(w)))
                _, towards = support_l1_l2(sign * self._gradient(w), **self.region)
                w = w + (center + towards - w) * 2 / (step + 2)
        return largest

    def _gradient(self, w: FloatArray) -> FloatArray:
        is_lossy = self.y * (self.X @ w) < self.phase.hinge_scale
        slopes = self._shares * self.y * is_lossy / self.phase.hinge_scale
        gradient: FloatArray = -(self.X.T @ slopes)
        return gradient


def shortened(direction: FloatArray, region: dict[str, float]) -> FloatArray:
    """The direction itself, shortened until both balls hold it."""
    l2, l1 = float(np.linalg.norm(direction)), float(np.abs(direction).sum())
    if l2 == 0:
        return direction
    return direction * min(1.0, region["l2_radius"] / l2, region["l1_radius"] / l1)
