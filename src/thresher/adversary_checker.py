"""The checker of `thresher.adversary`: it accepts or refuses a bound on what an adversary hides.

NumPy and `thresher.certificates` only. It gets rows, labels, a point and a claimed bound, and
trusts nothing but the data: each part is computed anew, from above, with its rounding charged as
`thresher.certificates` describes. docs/adversary-bound.md has the derivation, in these letters.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Self

import numpy as np

from thresher.certificates import (
    EPS,
    INF,
    TINY,
    FloatArray,
    as_floats,
    as_number,
    as_radius,
    as_rows,
    blocks_of,
    demand,
    dense,
    proves_upper_bound,
    support_from_above,
    weighted_second_moment,
)

LEVELS = np.linspace(0.0, 1.0, 13)  # of a row's largest entry, at which its support is bounded


@np.errstate(all="ignore")
def accepts_adversary_bound(rows: Any, labels: Any, point: Any, bound: Any) -> bool:
    """Whether an `AdversaryBound` on these rows, labels and this point is proven, part by part.

    Accepted, it holds for every set of at most `bound.n_planted` rows, every u with ‖u‖₂ ≤ ‖v‖₂ (or
    any u if `bound.growth` is 0), ‖u−v‖₂ ≤ distance and ‖u−v‖₁ ≤ l1_ratio·distance, where v is the
    point: the clean rows' hinge losses at v, summed and divided by n, exceed those at u by at most
    `bound.value`; in the second form if (1/n)Σ (x·δ)² over clean rows is at most
    `bound.clean_variance` for every δ with ‖δ‖₂ ≤ 1 and ‖δ‖₁ ≤ l1_ratio.
    """
    try:
        table = Margins.of(rows, labels, point, bound).weighted(bound.weights)
        slack, slope = gap_at_most(table, bound.dual, bound.growth)
        planted = planted_at_most(table, bound.n_planted, bound.planted_proof)
        removed, fixed = removed_at_most(table, bound.removed_proof, bound.clean_variance)
        claims = [as_number(claim) for claim in (bound.gap, bound.planted, bound.removed)]
        return (
            slack + slope <= claims[0] * (1 - 2 * EPS)
            and planted <= claims[1]
            and removed <= claims[2]
            and sum(map(Fraction, claims)) <= as_number(bound.value)
            and slack + fixed <= as_number(bound.fixed) * (1 - 2 * EPS)
        )
    except (ValueError, TypeError, OverflowError):
        return False


@dataclass(frozen=True, eq=False)
class Margins:
    """A weighted table around a point, every number rounded to the safe side.

    With a = |x·(v−u)|/τ: a ≤ reach for every u that is meant; the hinge loss at v is at most
    `loss`, and `spare` is at most what the margin at v exceeds 1 by, so ℓ(u) − ℓ(v) ≤ (a − spare)₊.
    """

    rows: Any
    labels: FloatArray
    point: FloatArray
    excess: FloatArray  # 1 − y(x·v)/τ, and how far from it the exact number can lie
    doubt: FloatArray
    reach: FloatArray
    distance: float
    hinge_scale: float
    ratio: float
    weights: FloatArray  # q in [0, 1]

    @classmethod
    def of(cls, rows: Any, labels: Any, point: Any, claim: Any) -> Self:
        """For the distance, l1 ratio and hinge scale of a claim, with the weight 1 for each row."""
        rows, labels, point = (as_rows(rows), as_floats(labels, 1, -1.0, 1.0), as_floats(point, 1))
        (n, d), tau = rows.shape, as_radius(claim.hinge_scale)
        demand(n == labels.size, d == point.size, np.all(np.abs(labels) == 1))
        distance, ratio = as_radius(claim.distance), as_number(claim.l1_ratio, 1.0, 1e100)
        sizes = np.concatenate([abs(b) @ np.abs(point) for _, b in blocks_of(rows, 8 * d)])
        doubt = (d + 8) * (EPS + (EPS * sizes + TINY) / tau)
        excess = 1 - labels * np.ravel(rows @ point) / tau
        reach = distance * _supports(rows, ratio) / tau * (1 + 8 * EPS) + TINY
        demand(np.isfinite(doubt).all(), np.isfinite(excess).all(), np.isfinite(reach).all())
        return cls(rows, labels, point, excess, doubt, reach, distance, tau, ratio, np.ones(n))

    def weighted(self, weights: Any) -> Self:
        """The same table with other weights."""
        q = as_floats(weights, 1, 0.0, 1.0)
        demand(q.size == self.n_rows)
        return replace(self, weights=q)

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return int(self.labels.size)

    @property
    def loss(self) -> FloatArray:
        """At least the hinge loss of each row at v."""
        return np.maximum(self.excess + self.doubt, 0) * (1 + EPS)

    @property
    def spare(self) -> FloatArray:
        """At most what each row's margin at v exceeds 1 by."""
        return np.maximum(-self.excess - self.doubt, 0) * (1 - EPS)

    def mean(self, terms: FloatArray) -> float:
        """At least the sum of these terms over n; each may have lost TINY, or eight roundings."""
        n = self.n_rows
        return float(terms.sum()) / n * (1 + (n + 16) * EPS) + 2 * TINY


def _supports(rows: Any, ratio: float) -> FloatArray:
    """At least max x·δ over ‖δ‖₂ ≤ 1, ‖δ‖₁ ≤ ratio: ‖S_t(x)‖₂ + ratio·t is, for every t ≥ 0."""
    d, found = rows.shape[1], []
    ratio = min(ratio, math.sqrt(d) * (1 + EPS))
    for _, block in blocks_of(rows, 2 * rows.shape[1]):
        sizes = np.abs(dense(block))
        top, best = sizes.max(axis=1), np.full(len(sizes), INF)
        for level in LEVELS[:, None] * top:
            left = np.maximum(sizes - level[:, None], 0)
            best = np.minimum(best, np.sqrt(np.einsum("ij,ij->i", left, left)) + ratio * level)
        found.append(best * (1 + (d + 8) * EPS) + math.sqrt(d * TINY))
    return np.concatenate(found)


# -- the three parts ---------------------------------------------------------------------------


@np.errstate(all="ignore")
def gap_at_most(table: Margins, dual: Any, growth: float) -> tuple[float, float]:
    """Parts whose sum bounds F(v) − F(u), F = (1/n)Σ q·loss: one fixed, one of the distance.

    For any a with 0 ≤ a ≤ q, F(u) ≥ (1/n)Σ a(1 − y(x·u)/τ). Hence F(v) − F(u) is at most
    (1/n)Σ (qℓ(v) − a(1 − y(x·v)/τ)) + G·(u−v), G = (1/nτ)Σ ayx; and since v·(u−v) ≤ 0, G can
    be replaced by G − λv, λ ≥ 0 (`growth`).
    """
    q, n, excess, growth = table.weights, table.n_rows, table.excess, as_number(growth, 0, 1e100)
    demand(np.size(dual) == n)
    alpha = np.clip(as_floats(dual, 1), 0, 1) * q
    slack = np.where(excess > 0, (q - alpha) * excess, -alpha * excess) + q * table.doubt
    signed, d, ratio = alpha * table.labels, table.point.size, table.ratio
    pull = np.ravel(table.rows.T @ signed) / (n * table.hinge_scale)
    sizes = sum(abs(b).T @ alpha[part] for part, b in blocks_of(table.rows, 8 * d))
    errors = ((n + 8) * EPS * np.ravel(sizes) + n * TINY) / (n * table.hinge_scale)
    errors += 8 * EPS * (np.abs(pull) + growth * np.abs(table.point)) + TINY
    support = support_from_above(pull - growth * table.point, 1.0, ratio)
    support += min(ratio, math.sqrt(d)) * float(errors.max()) * (1 + 8 * EPS)
    return table.mean(slack), table.distance * support * (1 + 8 * EPS) + TINY


@np.errstate(all="ignore")
def planted_at_most(table: Margins, n_planted: int, proof: Any) -> float:
    """At least (1/n)Σ q(ℓ(u) − ℓ(v)) over any `n_planted` rows.

    ℓ(u) − ℓ(v) ≤ (a − h)₊, h the spare margin, and that is at most both reach − h and, for any
    level c > 0, (c − h)₊ + a²/(4·max(c, h)). The largest first terms are added up; the squares are
    bounded for all rows together, by the variance that the proof's multiplier proves.
    """
    q, k = table.weights, int(as_number(n_planted, 0))
    demand(k == n_planted)
    if k == 0:
        return 0.0
    sure, curvature = split(np.maximum(table.reach - table.spare, 0), table.spare, proof.level)
    largest = np.sort(q * sure)[::-1][:k]
    return table.mean(largest) + _spread_at_most(table, q * curvature, proof)


@np.errstate(all="ignore")
def removed_at_most(
    table: Margins, proof: Any, clean_variance: float | None
) -> tuple[float, float]:
    """At least (1/n)Σ (1−q)(ℓ(v) − ℓ(u)) over any clean rows, and its part without the distance.

    ℓ(v) − ℓ(u) ≤ min(ℓ(v), a), which is bounded as for planted rows, with h = 0. In the second form
    (1−q)a ≤ c(1−q)² + a²/(4c), and the clean rows' mean of a² is at most (distance/τ)² times
    their variance.
    """
    removed, level = (1 - table.weights) * (1 + EPS), _level(proof.level)
    caps = np.minimum(table.loss, table.reach)
    if clean_variance is None:
        sure, curvature = split(caps, np.zeros_like(caps), level)
        spread = _spread_at_most(table, removed * curvature, proof)
    else:
        sure = np.minimum(caps, level * removed) if level < INF else caps
        variance = as_number(clean_variance, 0.0, 1e100) / (4 * level)
        spread = (table.distance / table.hinge_scale) ** 2 * variance * (1 + 8 * EPS) + TINY
    is_fixed = sure >= table.loss
    return table.mean(removed * sure) + spread, table.mean(removed * sure * is_fixed)


def split(caps: FloatArray, spare: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """For each row o and s with (a − h)₊ ≤ o + s·a², if (a − h)₊ ≤ cap: see `planted_at_most`."""
    level = _level(level)
    room = np.maximum(level - spare, 0) * (1 + EPS)
    is_capped = caps <= room
    curvature = np.where(is_capped, 0.0, 0.25 / np.maximum(level, spare))
    return np.where(is_capped, caps, room) * (1 + EPS), curvature


def _spread_at_most(table: Margins, weights: FloatArray, proof: Any) -> float:
    """At least (1/n)Σ weights·a², as the multiplier of a proof proves it."""
    counts = np.flatnonzero(weights)
    if not counts.size:
        return 0.0
    n, variance = table.n_rows, as_number(proof.variance, 0.0, 1e200)
    gram, error = weighted_second_moment(table.rows[counts], weights[counts], n_rows=n)
    known = {"l2_radius": 1.0, "l1_radius": table.ratio, "gram_error": error}
    demand(proves_upper_bound(variance, gram, proof.multiplier, **known))
    lost = TINY * float(table.reach.max()) ** 2  # of weights that underflowed
    return (table.distance / table.hinge_scale) ** 2 * variance * (1 + 16 * EPS) + lost + TINY


def _level(value: Any) -> float:
    return INF if value == INF else as_radius(value)
