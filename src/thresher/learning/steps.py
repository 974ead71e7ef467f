"""The steps of a phase, each a call of one solver with the phase's numbers."""

from __future__ import annotations

import numpy as np

from thresher.geometry import Band, hard_threshold
from thresher.learning.examples import LabeledRows
from thresher.learning.phase import Phase
from thresher.learning.sampling import Pool
from thresher.oracles import DrawRequest
from thresher.outliers import OutlierRemoval, remove_outliers
from thresher.solvers import HingeMinimum, minimize_hinge
from thresher.validation import FloatArray


def draw_request(phase: Phase, band: Band) -> DrawRequest:
    """What line 5 asks of the source: rows in the band, at most as many draws as it may take."""
    return DrawRequest(
        n_rows=phase.n_unlabeled,
        band=band,
        max_abs_entry=phase.max_abs_entry,
        phase=phase.index,
        phase_record=phase,
        max_draws=phase.max_draws,
    )


def remove(pool: Pool, phase: Phase) -> OutlierRemoval:
    """Trust weights for the pool (line 7, Algorithm 2)."""
    return remove_outliers(
        pool.X,
        l2_radius=phase.l2_radius,
        l1_radius=phase.removal_l1_radius,
        outlier_fraction=phase.outlier_fraction,
        max_variance=phase.max_variance,
        tolerance=phase.variance_tolerance,
    )


def fit(labeled: LabeledRows, phase: Phase, center: FloatArray) -> HingeMinimum:
    """The candidate: a point near the current halfspace of almost least hinge loss (line 9)."""
    return minimize_hinge(
        labeled.X,
        labeled.y,
        center=center,
        l2_radius=phase.l2_radius,
        l1_radius=phase.l1_radius,
        hinge_scale=phase.hinge_scale,
        sample_weight=labeled.weights,
        tolerance=phase.loss_tolerance,
    )


def sparse_unit(point: FloatArray, sparsity: int, *, fallback: FloatArray) -> FloatArray:
    """The point cut to its largest entries, at unit length (line 10).

    Departure: the paper divides by the length without asking whether it is zero, which labels that
    contradict each other can bring about. The mean direction of the labeled rows then stands in,
    and the first feature if that vanishes too.
    """
    for vector in (point, fallback):
        cut = hard_threshold(vector, sparsity)
        length = float(np.linalg.norm(cut))
        if length > 0:
            return cut / length
    return np.eye(1, point.size)[0]
