"""Clean rows with wrong labels: flips, which a sound learner withstands, and what none can."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from thresher.simulate.adversaries.base import (
    Corrupted,
    View,
    orthogonal_on_support,
)
from thresher.simulate.conditional import Distribution, chunk_sizes, sample_features, sample_n_given
from thresher.simulate.distributions import Gaussian, classify
from thresher.validation import FloatArray, check_positive

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
