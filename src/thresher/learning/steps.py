"""The steps of a phase: what lines 5 and 7 to 10 do with the phase's numbers."""

import math
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from thresher.arrays import (
    DeviceRows,
    column_medians,
    largest_magnitude,
    like,
    namespace_of,
    take,
    to_host,
)
from thresher.geometry import Band, hard_threshold
from thresher.learning.questions import Beliefs
from thresher.learning.samples import LabeledRows, Pool, Sample, sample_by_weight
from thresher.learning.task import Phase
from thresher.oracles import DrawRequest, LabelRequest
from thresher.outliers import (
    OutlierRemoval,
    certify_weights,
    find_weights,
    remove_outliers,
    trust_every_row,
)
from thresher.solvers import HingeMinimum, minimize_hinge
from thresher.validation import FloatArray, Rows, is_sparse

SEARCH_GAP = 0.2  # at which no better weights are sought; calibrated: closer ones keep more dirt
ROUNDING = 1e-12  # of a sum of weights
ALMOST_ALL = 1 - 2.0**-40  # of the weight: an allowance must be below 1
SMALLEST_LIMIT = 1e-250  # on a variance: rows of zeros have none
MAX_TRIMS = 5  # heuristic: how often the rows to be left out of the hinge loss are chosen anew
COLUMNS_PER_BLOCK, ROWS_PER_BLOCK = 16, 512  # bound the temporary copies
LEAST_SHARE = 0.05  # of the largest mean square, added to all, so that rare entries stay small


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


@dataclass(frozen=True, eq=False)
class Judged:
    """A pool with the trust that each row keeps, and the labels of the rows that will be fitted.

    Parameters
    ----------
    pool : the rows that were judged
    removal : their weights, with the proof about them
    weight_allowance : the largest share of the rows' weight that these weights may have lost
    variance_allowance : the largest variance that they may leave
    sample, labels : the rows to fit, each with its count or weight, and their labels
    """

    pool: Pool
    removal: OutlierRemoval
    weight_allowance: float
    variance_allowance: float
    sample: Sample
    labels: FloatArray

    @classmethod
    def of(
        cls, pool: Pool, removal: OutlierRemoval, phase: Phase, sample: Sample, labels: FloatArray
    ) -> Self:
        """A pool judged by one removal, which keeps to the phase's own allowances."""
        allowed = variance_allowance(phase, removal)
        return cls(pool, removal, phase.outlier_fraction, allowed, sample, labels)


def variance_allowance(phase: Phase, removal: OutlierRemoval) -> float:
    """The phase's limit, or what it tolerates above the least variance of any weights."""
    if phase.max_variance is not None:
        return phase.max_variance
    return (1 + phase.variance_tolerance) * removal.optimum_lower


def weigh_then_label(
    pool: Pool, phase: Phase, rng: np.random.Generator, beliefs: Beliefs
) -> Generator[LabelRequest, FloatArray, Judged | None]:
    """Trust for the rows (line 7), then labels for a sample drawn by it (line 8); None if empty."""
    if pool.n_rows == 0:
        return None
    removal = _remove(pool.X, phase)
    if beliefs.can_choose(phase):
        asked = yield from beliefs.ask(pool, removal.weights, phase, rng)
        return None if asked is None else Judged.of(pool, removal, phase, *asked)
    sample = sample_by_weight(pool, removal.weights, phase.n_queries, rng)
    labels = yield LabelRequest(sample.ids, sample.X, phase.index)
    return Judged.of(pool, removal, phase, sample, labels)


def label_then_weigh(
    pool: Pool, phase: Phase, trust: FloatArray
) -> Generator[LabelRequest, FloatArray, Judged | None]:
    """Labels for every row, then trust with their help; None if no row keeps any.

    Departure: a row gets the smallest of the two weights that Algorithm 2 gives it, as it is and as
    seen from its class, and of the trust that earlier phases left it. Sparse rows, whose medians
    are about zero, are seen once. Each view takes at most the outlier fraction; together they take
    at most one such fraction per view, on top of what earlier phases took. The bounds are proven
    anew for these smallest weights, on the rows as they are, against that allowance.
    """
    if pool.n_rows == 0:
        return None
    labels = yield LabelRequest(pool.ids, pool.X, phase.index)
    removal = _remove(pool.X, phase)
    views = [removal.weights]
    if not is_sparse(pool.X):
        views.append(_weights(around_class_medians(pool.X, labels), phase))
    weights = np.minimum.reduce([trust, *views])
    if not weights.any():
        return None
    sample = Sample(pool.ids, pool.X, weights)
    if np.array_equal(weights, removal.weights):
        return Judged.of(pool, removal, phase, sample, labels)
    lost = 1 - float(trust.mean())
    weight_allowance = min(lost + len(views) * phase.outlier_fraction + ROUNDING, ALMOST_ALL)
    limit = max(variance_allowance(phase, removal), SMALLEST_LIMIT)
    allowed = replace(phase, outlier_fraction=weight_allowance, max_variance=limit)
    proven = _certify(pool.X, weights, allowed, removal.factor)
    return Judged(pool, proven, weight_allowance, limit, sample, labels)


def around_class_medians(rows: Rows, labels: FloatArray) -> Rows:
    """The rows less the median of their class, in columns of about the same mean square.

    Planted rows differ from the class that they are said to belong to more than from the table as a
    whole, and in columns of little variance as much as in others.

    Examples
    --------
    >>> rows = np.array([[1.0], [2.0], [3.0], [-1.0]])
    >>> around_class_medians(rows, np.array([1.0, 1.0, 1.0, -1.0])).round(2)
    array([[-1.38],
           [ 0.  ],
           [ 1.38],
           [ 0.  ]])
    """
    if isinstance(rows, DeviceRows):
        return _around_class_medians_elsewhere(rows, labels)
    centered, squares = np.empty_like(rows), np.empty(rows.shape[1])
    blocks = [slice(j, j + COLUMNS_PER_BLOCK) for j in range(0, squares.size, COLUMNS_PER_BLOCK)]
    for sign in np.unique(labels):
        chosen = np.flatnonzero(labels == sign)
        medians = np.concatenate([np.median(rows[chosen, b], axis=0) for b in blocks])
        for start in range(0, chosen.size, ROWS_PER_BLOCK):
            part = chosen[start : start + ROWS_PER_BLOCK]
            centered[part] = rows[part] - medians
    centered /= max(float(centered.max()), -float(centered.min())) or 1.0  # no square vanishes
    for block in blocks:
        squares[block] = np.square(centered[:, block]).mean(axis=0)
    centered /= np.sqrt(squares + LEAST_SHARE * (squares.max(initial=0.0) or 1.0))
    return centered


def _around_class_medians_elsewhere(rows: DeviceRows, labels: FloatArray) -> DeviceRows:
    """The same for rows on a device, which has room for copies."""
    table, xp = rows.array, namespace_of(rows.array)
    centered = table
    for sign in np.unique(labels):
        is_member = labels == sign
        medians = column_medians(take(table, np.flatnonzero(is_member)))
        other = table - like(medians, table)[None, :]
        centered = xp.where(like(is_member[:, None], table), other, centered)
    centered /= largest_magnitude(centered) or 1.0
    squares = to_host(xp.mean(xp.square(centered), axis=0))
    centered /= like(np.sqrt(squares + LEAST_SHARE * (squares.max() or 1.0)), table)[None, :]
    return DeviceRows(centered)


def _remove(rows: Rows, phase: Phase) -> OutlierRemoval:
    if phase.max_variance == math.inf:
        return trust_every_row(rows, l2_radius=phase.l2_radius)
    tolerance = phase.variance_tolerance
    return remove_outliers(rows, tolerance=tolerance, search_gap=_gap(phase), **_asked(phase))


def _weights(rows: Rows, phase: Phase) -> FloatArray:
    """The weights that `_remove` would give, without a proof about them."""
    if phase.max_variance == math.inf:
        return np.ones(rows.shape[0])
    return find_weights(rows, search_gap=_gap(phase), **_asked(phase))


def _asked(phase: Phase) -> dict[str, Any]:
    return {
        "l2_radius": phase.l2_radius,
        "l1_radius": phase.removal_l1_radius,
        "outlier_fraction": phase.outlier_fraction,
        "max_variance": phase.max_variance,
    }


def _gap(phase: Phase) -> float:
    return min(SEARCH_GAP, phase.variance_tolerance)


def _certify(
    rows: Rows, weights: FloatArray, phase: Phase, directions: FloatArray
) -> OutlierRemoval:
    """The proof about weights that no single removal has given."""
    if phase.max_variance == math.inf:
        return replace(trust_every_row(rows, l2_radius=phase.l2_radius), weights=weights)
    return certify_weights(rows, weights, directions=directions, **_asked(phase))


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
    costs = np.where(labeled.y > 0, phase.positive_weight, 1.0)
    return minimize_hinge(
        labeled.X,
        labeled.y,
        center=center,
        l2_radius=phase.l2_radius,
        l1_radius=phase.l1_radius,
        hinge_scale=phase.hinge_scale,
        sample_weight=costs * labeled.weights,
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
