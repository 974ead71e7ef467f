"""Attacks that a sound learner shrugs off: controls, and the far clump that filters stop."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thresher.simulate.adversaries.directions import entry_radius, on_support
from thresher.simulate.conditional import sample_n_given
from thresher.simulate.disagreement import classify
from thresher.simulate.views import View
from thresher.validation import FloatArray, check_count, check_positive

_NEAR = 0.25  # "near the boundary": about a fifth of clean rows are as near
_FAR = 1.25  # "far from it": about a fifth of clean rows are as far


@dataclass(frozen=True)
class LabelFlip:
    """Clean rows with the wrong label: y = −sign(w*·x).

    Parameters
    ----------
    where : "anywhere", or only "near" the boundary (|w*·x| ≤ 0.25) or "far" from it (≥ 1.25)

    Examples
    --------
    >>> LabelFlip(where="near")
    LabelFlip(where='near')
    """

    where: str = "anywhere"

    def __post_init__(self) -> None:
        if self.where not in ("anywhere", "near", "far"):
            raise ValueError(f'where must be "anywhere", "near" or "far", got {self.where!r}')

    def corrupt(
        self, n_rows: int, view: View, rng: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        """Clean rows, each with the label that the target would not give it."""
        features = on_support(view.target)
        w = view.target[features]
        conditions = {
            "anywhere": lambda part: np.ones(part.shape[0], dtype=np.bool_),
            "near": lambda part: np.abs(part @ w) <= _NEAR,
            "far": lambda part: np.abs(part @ w) >= _FAR,
        }
        X = sample_n_given(view.distribution, n_rows, features, conditions[self.where], rng)
        return X, -classify(X, view.target)


@dataclass(frozen=True)
class FarClump:
    """A clump far out on the negative side, labeled positive: x = −c·w* plus a little noise.

    Parameters
    ----------
    strength : c, cut so that the clump's center passes pruning
    noise_scale : standard deviation of the noise on every feature

    Examples
    --------
    >>> FarClump(strength=8.0)
    FarClump(strength=8.0, noise_scale=0.1)
    """

    strength: float = 4.0
    noise_scale: float = 0.1

    def __post_init__(self) -> None:
        check_positive(self.strength, "strength")
        if not self.noise_scale >= 0:
            raise ValueError(f"noise_scale must be at least 0, got {self.noise_scale}")

    def corrupt(
        self, n_rows: int, view: View, rng: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        """Rows around −c·w*, all labeled +1."""
        X = self.noise_scale * rng.standard_normal((n_rows, view.n_features))
        X -= min(self.strength, strongest(view)) * view.target
        return X, np.ones(n_rows)


@dataclass(frozen=True)
class PointMass:
    """One or two points in very many copies: −c·w* labeled +1, and c·w* labeled −1.

    Equal rows have equal scores, so a cut-off at a quantile removes all of them or none.

    Parameters
    ----------
    strength : c, cut so that the points pass pruning
    n_points : 1 or 2 distinct points

    Examples
    --------
    >>> PointMass(n_points=1)
    PointMass(strength=4.0, n_points=1)
    """

    strength: float = 4.0
    n_points: int = 2

    def __post_init__(self) -> None:
        check_positive(self.strength, "strength")
        if check_count(self.n_points, "n_points") > 2:
            raise ValueError(f"n_points must be 1 or 2, got {self.n_points}")

    def corrupt(
        self, n_rows: int, view: View, rng: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        """Copies of the points, each with the label the target would not give it."""
        y = np.where(rng.integers(0, self.n_points, size=n_rows) == 0, 1.0, -1.0)
        center = min(self.strength, strongest(view)) * view.target
        return -np.outer(y, center), y


def strongest(view: View) -> float:
    """The largest c for which c·w* passes pruning."""
    return entry_radius(view) / float(np.abs(view.target).max())
