"""The steps of a phase, each a call of one solver with the phase's numbers."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from thresher.geometry import Band, hard_threshold
from thresher.learning.centering import around_class_medians
from thresher.learning.examples import LabeledRows
from thresher.learning.phase import Phase
from thresher.learning.sampling import Pool
from thresher.oracles import DrawRequest
from thresher.outliers import OutlierRemoval, remove_outliers, trust_every_row
from thresher.solvers import HingeMinimum, minimize_hinge
from thresher.validation import FloatArray, Rows, is_sparse

MAX_TRIMS = 5  # heuristic: how often the rows to be left out of the hinge loss are chosen anew


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
    return _remove(pool.X, phase)


def remove_by_class(
    pool: Pool, labels: FloatArray, phase: Phase, trust: FloatArray
) -> OutlierRemoval:
    """Trust weights for the pool, from its rows as they are and as seen from their classes.

    Departure: a row gets the smallest of the two weights that Algorithm 2 gives it and of the trust
    that earlier phases left to it. The bounds are those of the second view alone: of them, the
    upper one holds for smaller weights, too. Sparse rows, whose medians are about zero, are seen
    once.
    """
    removal = _remove(pool.X, phase)
    weights = np.minimum(removal.weights, trust)
    if not is_sparse(pool.X):
        removal = _remove(around_class_medians(pool.X, labels), phase)
        weights = np.minimum(weights, removal.weights)
    return replace(removal, weights=weights)


def _remove(rows: Rows, phase: Phase) -> OutlierRemoval:
    if phase.max_variance == math.inf:
        return trust_every_row(rows, l2_radius=phase.l2_radius)
    return remove_outliers(
        rows,
        l2_radius=phase.l2_radius,
        l1_radius=phase.removal_l1_radius,
        outlier_fraction=phase.outlier_fraction,
        max_variance=phase.max_variance,
        tolerance=phase.variance_tolerance,
    )


def fit(labeled: LabeledRows, phase: Phase, center: FloatArray) -> tuple[HingeMinimum, LabeledRows]:
    """The candidate, a point near the current halfspace of almost least hinge loss (line 9).

    And the rows with the weights that it is about.

    Departure: with a share to be trimmed, the rows on which the candidate has its largest losses
    are left out, and the loss is minimized again, until they are the same as before.
    """
    minimum, fitted = _minimum(labeled, phase, center), labeled
    for _ in range(MAX_TRIMS if phase.trimmed_share > 0 else 0):
        weights = _without_largest_losses(labeled, minimum.point, phase.trimmed_share)
        if np.array_equal(weights, fitted.weights):
            break
        fitted = replace(labeled, weights=weights)
        minimum = _minimum(fitted, phase, center, minimum)
    return minimum, fitted


def _without_largest_losses(labeled: LabeledRows, point: FloatArray, share: float) -> FloatArray:
    """The weights, with zeros for the rows of the largest losses that hold this share of the rows.

    Rows on the right side of the boundary are never left out, and never more than half of a class.
    """
    margins = labeled.y * (labeled.X @ point)
    order = np.argsort(margins, kind="stable")
    sorted_weights = labeled.weights[order]
    is_dropped = (np.cumsum(sorted_weights) <= share * labeled.n_rows) & (margins[order] < 0)
    for sign in (-1, 1):
        own = np.where(labeled.y[order] == sign, sorted_weights, 0.0)
        is_dropped &= (own == 0) | (np.cumsum(own) <= own.sum() / 2)
    weights = labeled.weights.copy()
    weights[order[is_dropped]] = 0
    return weights


def _minimum(
    labeled: LabeledRows, phase: Phase, center: FloatArray, warm_start: HingeMinimum | None = None
) -> HingeMinimum:
    return minimize_hinge(
        labeled.X,
        labeled.y,
        center=center,
        l2_radius=phase.l2_radius,
        l1_radius=phase.l1_radius,
        hinge_scale=phase.hinge_scale,
        sample_weight=labeled.weights,
        tolerance=phase.loss_tolerance,
        warm_start=warm_start,
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
