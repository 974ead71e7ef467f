"""Attacks that watch the learner and follow its band."""

from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np
from numpy.random import Generator

from thresher.simulate.adversaries.base import (
    Adversary,
    Corrupted,
    PatternAdversary,
    StrengthAdversary,
    View,
    check_adversary,
    decoy_direction,
    orthogonal_on_support,
    place_in_band,
    random_labels,
    set_along,
)
from thresher.simulate.distributions import classify
from thresher.validation import FloatArray, check_count


@dataclass(frozen=True)
class InBandMass(StrengthAdversary):
    """Every dirty row inside the band, against the learner's own error direction.

    x = −y·c·v + t·w + noise, with v ∝ w* − (w*·w)w, t uniform in ±b, and noise that looks
    clean in all directions but v and w. In phase 1 there is no w yet and v = w*.

    Parameters
    ----------
    strength : c; about 2 is stealthy and the worst
    from_phase : before this phase the rows are clean, with their true labels
    support_restricted : keep v on the target's features (still orthogonal to w)
    """

    strength: float = 3.0
    from_phase: int = 1
    support_restricted: bool = False
    inner_share: ClassVar[float] = 1.0  # of the band, around its middle, that gets the rows

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count(self.from_phase, "from_phase")

    def direction(self, view: View) -> FloatArray:
        """The learner's error direction v, orthogonal to its halfspace."""
        w = view.halfspace.copy()
        if self.support_restricted:
            w[view.target == 0] = 0.0
        error = view.target - (view.target @ w) * w / (w @ w) if w.any() else view.target
        length = float(np.linalg.norm(error))
        # A learner that is right leaves no error to aim at; any direction on the support will do.
        return error / length if length > 1e-9 else orthogonal_on_support(view.target)

    def corrupt(self, n_rows: int, view: View, rng: Generator) -> Corrupted:
        """Rows in the band with fair labels, or clean ones before the attack starts."""
        X = view.distribution.sample(n_rows, rng)
        if view.phase < self.from_phase:
            return X, classify(X, view.target)
        y = random_labels(n_rows, rng)
        v = self.direction(view)
        if v.any():
            set_along(X, v, -self.strength * y)
        place_in_band(X, view, rng, self.inner_share)  # v is orthogonal: its component stays
        return X, y


@dataclass(frozen=True)
class QueryFollower(InBandMass):
    """Every dirty row where the next questions will be: on the learner's boundary itself.

    Like `InBandMass`, but |t| ≤ b/50. A learner that asks about the rows closest to its boundary
    meets these rows first, all of them with the wrong label, and a learner that narrows its band
    keeps all of them while it loses clean ones.

    Parameters
    ----------
    strength : c; 1 looks like a clean row, 2 is worse and still stealthy
    from_phase, support_restricted : as in `InBandMass`
    """

    inner_share: ClassVar[float] = 0.02


@dataclass(frozen=True)
class PlantedFeatures(PatternAdversary):
    """False features inside the band: x = y·c·1_J/√s projected off w, plus clean-looking noise.

    Parameters
    ----------
    strength : c
    """

    strength: float = 3.0

    def pattern(self, view: View) -> FloatArray:
        """c·1_J/√s."""
        return self.strength * decoy_direction(view.target)

    def planted(self, clean: FloatArray, signed: FloatArray) -> FloatArray:
        """The pattern on top of the clean entries."""
        return clean + signed

    def corrupt(self, n_rows: int, view: View, rng: Generator) -> Corrupted:
        """Rows that make the decoys look informative, with fair labels."""
        X, y = super().corrupt(n_rows, view, rng)
        place_in_band(X, view, rng)
        return X, y


@dataclass(frozen=True)
class MovedIntoBand:
    """Another adversary's rows, moved into the learner's band.

    The component along the current halfspace is replaced by a uniform draw in ±b; all else stays.
    Without it, attacks that ignore the band are rejected almost entirely after phase 1.

    Parameters
    ----------
    adversary : whose rows are moved

    Examples
    --------
    >>> from thresher.simulate import OnSupportTilt
    >>> MovedIntoBand(OnSupportTilt())
    MovedIntoBand(adversary=OnSupportTilt(strength=4.0))
    """

    adversary: Adversary

    def __post_init__(self) -> None:
        check_adversary(self.adversary)

    @property
    def strength(self) -> float:
        """The other adversary's strength; an `AttributeError` if it has none."""
        strength: float = cast(Any, self.adversary).strength
        return strength

    def corrupt(self, n_rows: int, view: View, rng: Generator) -> Corrupted:
        """The other adversary's rows inside the band, with the labels it chose."""
        X, y = cast(Any, self.adversary).corrupt(n_rows, view, rng)
        dense = X.toarray() if hasattr(X, "toarray") else X
        moved: FloatArray = np.array(dense, dtype=np.float64)
        place_in_band(moved, view, rng)
        return moved, y
