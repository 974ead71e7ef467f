"""Attacks with fixed planted directions; they ignore the band and so aim at phase 1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from thresher.simulate.adversaries.base import (
    Corrupted,
    StrengthAdversary,
    View,
    decoy_direction,
    decoy_features,
    entry_radius,
    orthogonal_on_support,
    random_labels,
)
from thresher.validation import check_positive


@dataclass(frozen=True)
class OnSupportTilt(StrengthAdversary):
    """Rows that tilt the halfspace within its own features: y·x = c(u − w*)/√2 there.

    u is a unit vector orthogonal to w* on the same features; all other features look clean. Small
    strengths slip under every second-moment filter.

    Parameters
    ----------
    strength : c
    """

    strength: float = 4.0

    def corrupt(self, n_rows: int, view: View, rng: Generator) -> Corrupted:
        """Rows of the tilt, with fair labels."""
        y = random_labels(n_rows, rng)
        X = view.distribution.sample(n_rows, rng)
        u = orthogonal_on_support(view.target)
        features = np.flatnonzero(np.abs(u) + np.abs(view.target))
        X[:, features] = np.outer(y, self.strength * (u - view.target)[features] / np.sqrt(2))
        return X, y


@dataclass(frozen=True)
class LinfHijack(StrengthAdversary):
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

    def corrupt(self, n_rows: int, view: View, rng: Generator) -> Corrupted:
        """Rows of the hijack, with fair labels."""
        y = random_labels(n_rows, rng)
        X = view.distribution.sample(n_rows, rng)
        pattern = -np.sign(view.target)
        pattern[decoy_features(view.target)] = 1.0
        features = np.flatnonzero(pattern)
        X[:, features] = np.outer(y, self.strength * entry_radius(view) * pattern[features])
        return X, y


@dataclass(frozen=True)
class SparseSpike(StrengthAdversary):
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

    def corrupt(self, n_rows: int, view: View, rng: Generator) -> Corrupted:
        """Rows of the spike, with fair labels."""
        y = random_labels(n_rows, rng)
        X = view.distribution.sample(n_rows, rng)
        spike = self.amplitude(view) * (decoy_direction(view.target) - view.target) / np.sqrt(2)
        features = np.flatnonzero(spike)
        X[:, features] += np.outer(y, spike[features])
        return X, y


@dataclass(frozen=True)
class CleanLabel(StrengthAdversary):
    """Correctly labeled rows that point at decoys: x = c·y·v_J + 0.01·y·w*.

    The label is the true one, yet nearly all of the row is a decoy. All other features look clean.

    Parameters
    ----------
    strength : c
    """

    strength: float = 4.0

    def corrupt(self, n_rows: int, view: View, rng: Generator) -> Corrupted:
        """Correctly labeled rows, with fair labels."""
        y = random_labels(n_rows, rng)
        X = view.distribution.sample(n_rows, rng)
        pattern = self.strength * decoy_direction(view.target) + 0.01 * view.target
        features = np.flatnonzero(pattern)
        X[:, features] = np.outer(y, pattern[features])
        return X, y
