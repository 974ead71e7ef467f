"""Attacks that do not look at the learner: wrong labels, and patterns that depend on the target.

They ignore the band, so those with a pattern aim at phase 1; `MovedIntoBand` moves their rows.
"""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from thresher.simulate.adversaries.base import (
    Corrupted,
    PatternAdversary,
    StrengthAdversary,
    View,
    decoy_direction,
    decoy_features,
    entry_radius,
    orthogonal_on_support,
)
from thresher.simulate.conditional import Distribution, chunk_sizes, sample_features, sample_n_given
from thresher.simulate.distributions import Gaussian, classify
from thresher.validation import FloatArray, check_count, check_positive

_NEAR = 0.25  # "near the boundary": about a fifth of clean rows are as near
_FAR = 1.25  # "far from it": about a fifth of clean rows are as far
_ANGLE_ROWS = 2**17  # standard error of the disagreement below 0.0014
_ANGLE_SEED = 0


@dataclass(frozen=True)
class LabelFlip:
    """Clean rows with the wrong label: y = −sign(w*·x).

    Parameters
    ----------
    where : "anywhere", or only "near" the boundary (|w*·x| ≤ 0.25) or "far" from it (≥ 1.25)
    """

    where: str = "anywhere"

    def __post_init__(self) -> None:
        if self.where not in ("anywhere", "near", "far"):
            raise ValueError(f'where must be "anywhere", "near" or "far", got {self.where!r}')

    def corrupt(self, n_rows: int, view: View, rng: Generator) -> Corrupted:
        """Clean rows, each with the label that the target would not give it."""
        features = np.flatnonzero(view.target)
        w = view.target[features]
        conditions = {
            "anywhere": lambda part: np.ones(part.shape[0], dtype=np.bool_),
            "near": lambda part: np.abs(part @ w) <= _NEAR,
            "far": lambda part: np.abs(part @ w) >= _FAR,
        }
        X = sample_n_given(view.distribution, n_rows, features, conditions[self.where], rng)
        return X, -classify(X, view.target)


@dataclass(frozen=True)
class KearnsLiPair:
    """Clean rows on which a second target disagrees with the true one, labeled by the second.

    x ~ D given sign(w*·x) ≠ sign(w'·x), y = sign(w'·x), where Pr(disagree) = η/(1−η). Then w* and
    w' explain the draws equally well, and no learner can do better than an error of η/(2(1−η)).
    """

    def second_target(self, view: View) -> FloatArray:
        """The other target w': the true one, turned within its own features.

        The angle is πη/(1−η) for the Gaussian, exactly; otherwise it is found by bisection on a
        fixed sample.
        """
        share = check_positive(view.noise_rate, "noise_rate") / (1 - view.noise_rate)
        if share >= 1:
            raise ValueError(f"noise_rate must be below 0.5 for a pair, got {view.noise_rate}")
        u = orthogonal_on_support(view.target)
        if not u.any():
            raise ValueError("a pair of targets needs at least two features")
        if isinstance(view.distribution, Gaussian):
            angle = np.pi * share
        else:
            angle = _angle_of_disagreement(view.distribution, view.target, u, share)
        turned: FloatArray = np.cos(angle) * view.target + np.sin(angle) * u
        return turned

    def corrupt(self, n_rows: int, view: View, rng: Generator) -> Corrupted:
        """Rows on which the two targets disagree, labeled by the second."""
        second = self.second_target(view)
        features = np.flatnonzero(np.abs(second) + np.abs(view.target))
        w, other = view.target[features], second[features]
        X = sample_n_given(
            view.distribution,
            n_rows,
            features,
            lambda part: classify(part, w) != classify(part, other),
            rng,
        )
        return X, -classify(X, view.target)


def _angle_of_disagreement(
    distribution: Distribution, target: FloatArray, orthogonal: FloatArray, share: float
) -> float:
    """The angle by which the target must turn to disagree with itself on a share of rows."""
    rng = np.random.default_rng(_ANGLE_SEED)
    features = np.flatnonzero(np.abs(target) + np.abs(orthogonal))
    plane = np.column_stack([target, orthogonal])[features]
    along, across = np.concatenate(
        [
            sample_features(distribution, n_chunk, features, rng) @ plane
            for n_chunk in chunk_sizes(_ANGLE_ROWS, distribution.n_features)
        ]
    ).T
    low, high = 0.0, np.pi
    for _ in range(30):
        angle = (low + high) / 2
        turned = np.cos(angle) * along + np.sin(angle) * across
        if np.mean((along >= 0) != (turned >= 0)) < share:
            low = angle
        else:
            high = angle
    return (low + high) / 2


@dataclass(frozen=True)
class FarClump(StrengthAdversary):
    """A clump far out on the negative side, labeled positive: x = −c·w* plus a little noise.

    Parameters
    ----------
    strength : c, cut so that the clump's center passes pruning
    noise_scale : standard deviation of the noise on every feature
    """

    strength: float = 4.0
    noise_scale: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.noise_scale >= 0:
            raise ValueError(f"noise_scale must be at least 0, got {self.noise_scale}")

    def corrupt(self, n_rows: int, view: View, rng: Generator) -> Corrupted:
        """Rows around −c·w*, all labeled +1."""
        X = self.noise_scale * rng.standard_normal((n_rows, view.n_features))
        X -= min(self.strength, strongest(view)) * view.target
        return X, np.ones(n_rows)


@dataclass(frozen=True)
class PointMass(StrengthAdversary):
    """One or two points in very many copies: −c·w* labeled +1, and c·w* labeled −1.

    Equal rows have equal scores, so a cut-off at a quantile removes all of them or none.

    Parameters
    ----------
    strength : c, cut so that the points pass pruning
    n_points : 1 or 2 distinct points
    """

    strength: float = 4.0
    n_points: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        if check_count(self.n_points, "n_points") > 2:
            raise ValueError(f"n_points must be 1 or 2, got {self.n_points}")

    def corrupt(self, n_rows: int, view: View, rng: Generator) -> Corrupted:
        """Copies of the points, each with the label the target would not give it."""
        y = np.where(rng.integers(0, self.n_points, size=n_rows) == 0, 1.0, -1.0)
        center = min(self.strength, strongest(view)) * view.target
        return -np.outer(y, center), y


def strongest(view: View) -> float:
    """The largest c for which c·w* passes pruning."""
    return entry_radius(view) / float(np.abs(view.target).max())


@dataclass(frozen=True)
class OnSupportTilt(PatternAdversary):
    """Rows that tilt the halfspace within its own features: y·x = c(u − w*)/√2 there.

    u is a unit vector orthogonal to w* on the same features; all other features look clean. Small
    strengths slip under every second-moment filter.

    Parameters
    ----------
    strength : c
    """

    strength: float = 4.0

    def pattern(self, view: View) -> FloatArray:
        """c(u − w*)/√2."""
        u = orthogonal_on_support(view.target)
        return self.strength * (u - view.target) / np.sqrt(2)


@dataclass(frozen=True)
class LinfHijack(PatternAdversary):
    """Every entry as large as pruning allows: x = cν·y·(1_J − sgn(w*)) on decoys J and support.

    All other features look clean. ν is the pruning radius, or 1 + log(10,000·d) when the
    learner does not prune: about the largest entry of clean log-concave rows.

    Parameters
    ----------
    strength : c, the fraction of the pruning radius, at most 1
    """

    strength: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.strength > 1:
            raise ValueError(
                f"strength must be at most 1, a fraction of the pruning radius; got {self.strength}"
            )

    def pattern(self, view: View) -> FloatArray:
        """cν·(1_J − sgn(w*))."""
        pattern = -np.sign(view.target)
        pattern[decoy_features(view.target)] = 1.0
        return self.strength * entry_radius(view) * pattern


@dataclass(frozen=True)
class SparseSpike(PatternAdversary):
    """A sparse spike near the limit of what a dense spectral filter can detect.

    y·x = a·(v_J − w*)/√2 + clean noise, a = √(κ√(d/n)/η), with v_J flat on the decoys. The dense
    limit is κ = 1; the attack is meant for n ≲ d.

    Parameters
    ----------
    strength : κ
    n_rows : n, the number of rows that a filter looks at; default: `n_unlabeled` of the learner's
        phase record, or else d
    """

    strength: float = 1.0
    n_rows: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n_rows is not None:
            check_positive(self.n_rows, "n_rows")

    def amplitude(self, view: View) -> float:
        """The length a of the spike, for the noise rate and the sizes in view."""
        n = self.n_rows or getattr(view.phase_record, "n_unlabeled", None) or view.n_features
        detectable = self.strength * np.sqrt(view.n_features / n)
        return float(np.sqrt(detectable / check_positive(view.noise_rate, "noise_rate")))

    def pattern(self, view: View) -> FloatArray:
        """a·(v_J − w*)/√2."""
        return self.amplitude(view) * (decoy_direction(view.target) - view.target) / np.sqrt(2)

    def planted(self, clean: FloatArray, signed: FloatArray) -> FloatArray:
        """The pattern on top of the clean entries."""
        return clean + signed


@dataclass(frozen=True)
class CleanLabel(PatternAdversary):
    """Correctly labeled rows that point at decoys: x = c·y·v_J + 0.01·y·w*.

    The label is the true one, yet nearly all of the row is a decoy. All other features look clean.

    Parameters
    ----------
    strength : c
    """

    strength: float = 4.0

    def pattern(self, view: View) -> FloatArray:
        """c·v_J + 0.01·w*."""
        return self.strength * decoy_direction(view.target) + 0.01 * view.target
