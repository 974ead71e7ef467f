"""An attack that runs the learner's own outlier removal, and plants what keeps its weight.

It is here and not in `simulate` because it imports a part of the learner.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.random import Generator

from thresher.geometry import Band
from thresher.outliers import find_weights
from thresher.simulate.adversaries.adaptive import InBandMass
from thresher.simulate.adversaries.base import Adversary, Corrupted, View
from thresher.simulate.conditional import sample_in_band
from thresher.validation import FloatArray

MAX_POOL = 3000  # rows on which the removal is rehearsed
OUTLIER_MARGIN, MAX_OUTLIER_FRACTION = 1.5, 0.35  # those of the practical schedule
WEAKEST, STRONGEST = 0.5, 4.0  # strengths at the start, over that of the adversary
JITTER = 0.1  # standard deviation of the logarithm of a strength from one round to the next
SEARCH_GAP = 0.2  # as in the learner's phases


@dataclass(frozen=True)
class WeightOptimizer(InBandMass):
    """In-band mass whose strengths are bred against the learner's own weights.

    Before each phase it makes a pool like the one that the learner will see, lets the learner's
    outlier removal weigh it, and keeps the half of its rows that pull most, weight times strength.
    Their strengths, slightly changed, are the next generation. The generation with the largest
    pull in all is the one that is planted.

    Parameters
    ----------
    strength : c, around which the strengths of the first generation lie
    from_phase, support_restricted : as in `InBandMass`
    n_rounds : generations
    """

    strength: float = 2.0
    n_rounds: int = 6
    _plans: dict[bytes, FloatArray] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def corrupt(self, n_rows: int, view: View, rng: Generator) -> Corrupted:
        """Rows of the best generation, in the band, with fair labels."""
        if view.phase < self.from_phase or n_rows == 0:
            return super().corrupt(n_rows, view, rng)
        key = view.halfspace.tobytes() + view.phase.to_bytes(4, "little")
        if key not in self._plans:
            self._plans[key] = self._bred(view, rng)
        strengths = rng.choice(self._plans[key], size=n_rows)
        return self._planted(strengths, view, rng)

    def _planted(self, strengths: FloatArray, view: View, rng: Generator) -> Corrupted:
        """In-band mass of strength 1 with the error direction stretched row by row."""
        X, y = InBandMass(1.0, support_restricted=self.support_restricted).corrupt(
            strengths.size, view, rng
        )
        X -= np.outer(y * (strengths - 1), self.direction(view))
        return X, y

    def _bred(self, view: View, rng: Generator) -> FloatArray:
        """The strengths of the generation with the largest pull."""
        clean, fraction, share = self._rehearsal(view, rng)
        n_planted = max(round(share / (1 - share) * len(clean)), 2)
        strengths = self.strength * np.geomspace(WEAKEST, STRONGEST, n_planted)
        best, most = strengths, -math.inf
        for _ in range(self.n_rounds):
            planted, _ = self._planted(strengths, view, rng)
            weights = _weights(np.concatenate([clean, planted]), fraction, view)
            pulls = weights[len(clean) :] * strengths
            if pulls.sum() > most:
                best, most = strengths, float(pulls.sum())
            parents = strengths[np.argsort(-pulls, kind="stable")[: (n_planted + 1) // 2]]
            jitter = np.exp(JITTER * rng.standard_normal(2 * parents.size))
            strengths = (np.tile(parents, 2) * jitter)[:n_planted]
        return best

    def _rehearsal(self, view: View, rng: Generator) -> tuple[FloatArray, float, float]:
        """Clean rows of the band, the outlier fraction there, and the planted share."""
        n_rows = min(getattr(view.phase_record, "n_unlabeled", MAX_POOL), MAX_POOL)
        band = Band(view.halfspace, view.band_width)
        mass = max(len(sample_in_band(view.distribution, 1000, band, rng)), 10) / 1000
        clean = sample_in_band(view.distribution, math.ceil(n_rows / mass), band, rng)
        reached = view.noise_rate + (1 - view.noise_rate) * mass  # every planted row is in the band
        fraction = min(OUTLIER_MARGIN * view.noise_rate / reached, MAX_OUTLIER_FRACTION)
        return clean, fraction, view.noise_rate / reached


def _weights(rows: FloatArray, fraction: float, view: View) -> FloatArray:
    """The weights that the learner's removal would give these rows."""
    sparsity, later = np.count_nonzero(view.target), 1 if view.phase == 1 else 2
    l2 = getattr(view.phase_record, "l2_radius", 1.0)
    l1 = getattr(view.phase_record, "removal_l1_radius", math.sqrt(later * sparsity))
    return find_weights(
        rows, l2_radius=l2, l1_radius=l1, outlier_fraction=fraction, search_gap=SEARCH_GAP
    )


# Rehearsals take seconds, so these are not among the adversaries that suites and tests let every
# learner meet.
SLOW_ADVERSARIES: dict[str, Callable[..., Adversary]] = {"weight-optimizing": WeightOptimizer}
