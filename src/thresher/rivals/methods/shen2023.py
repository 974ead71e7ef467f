"""Halfspaces under malicious noise in nearly linear time (Shen 2023): scores instead of a game.

The phases are those of Awasthi, Balcan and Long, with another removal of outliers: matrix
multiplicative weights maintain a density matrix over all directions of large variance, and rows
lose weight by their score under it.
"""

from dataclasses import dataclass, replace

import numpy as np

from thresher.learning import Phase, Task
from thresher.oracles import Draw, DrawRequest, IdArray
from thresher.rivals.methods.method import Method, Source, dense_rows
from thresher.rivals.methods.phase_loop import AWASTHI_BALCAN_LONG, PhaseLoop
from thresher.rivals.worlds import DENSE_TILT
from thresher.solvers.eigen import largest_eigenvalue
from thresher.validation import FloatArray, Rows

# Set by hand. On Gaussian rows, d = 100, rates of 1 and 30 and a margin of 1.3 gave nearly the same
# errors, except for a rate of 1 under rows planted in the band (.06 instead of .05).
EDGE_MARGIN = 1.1  # over the largest eigenvalue of clean isotropic rows
RATE = 10.0  # of the exponential: how far the largest directions outweigh the others
MAX_ROUNDS = 20

LOOP = PhaseLoop(replace(AWASTHI_BALCAN_LONG.schedule, remove_outliers=False), is_dense=True)


def learn(source: Source, task: Task, rng: np.random.Generator) -> FloatArray:
    """A dense halfspace from phases whose rows are thinned by their scores.

    The loop is that of Awasthi, Balcan and Long without its own removal. Its source keeps each row
    with probability equal to its weight, so that a uniform sample of what is left is the paper's
    sample by weight.
    """
    return LOOP(ThinnedSource(source, rng), task, rng)


@dataclass(frozen=True, eq=False)
class ThinnedSource:
    """A source that keeps each row with probability equal to its weight."""

    source: Source
    rng: np.random.Generator

    def draw(self, request: DrawRequest, /) -> Draw:
        """The rows of the band that stay."""
        drawn = self.source.draw(request)
        phase = request.phase_record
        if drawn.n_rows == 0 or not isinstance(phase, Phase):
            return drawn
        phase = LOOP.schedule.after_draw(phase, drawn) or phase
        weights = score_weights(drawn.X, phase.outlier_fraction)
        stays = np.flatnonzero(self.rng.random(drawn.n_rows) < weights)
        return Draw(ids=drawn.ids[stays], X=drawn.X[stays], n_drawn=drawn.n_drawn)

    def reveal(self, ids: IdArray, /) -> FloatArray:
        """The labels of these draws."""
        return self.source.reveal(ids)


def score_weights(rows: Rows, outlier_fraction: float) -> FloatArray:
    """Weights under which no direction has more variance than clean isotropic rows would show.

    With M the weighted second moment of a round, U = exp(rate·ΣM/‖M‖)/trace over the rounds so far
    and scores τ = xᵀUx. Rows lose weight in proportion to the excess of their score over its
    (1 − outlier fraction) quantile. It ends when ‖M‖ is below the Marchenko–Pastur edge
    (1 + √(d/n))², or that fraction of the weight is gone.

    Unlike in the paper, the exponential is formed from eigenvectors, not from a sketch of random
    projections: the scores are those that the sketch approximates, but take longer.

    Parameters
    ----------
    rows : (n, d) array or CSR
    outlier_fraction : fraction of the weight that may go; the last round may exceed it

    Examples
    --------
    >>> rows = np.random.default_rng(0).standard_normal((500, 20))
    >>> rows[:20] = [6.0, 6.0] + [0.0] * 18  # twenty copies of one planted row
    >>> weights = score_weights(rows, outlier_fraction=0.05)
    >>> bool(weights[:20].max() < 0.1), bool(weights[20:].mean() > 0.98)
    (True, True)
    """
    rows = dense_rows(rows)
    n, d = rows.shape
    edge = EDGE_MARGIN * (1 + np.sqrt(d / n)) ** 2
    weights, gains = np.ones(n), np.zeros((d, d))
    for _ in range(MAX_ROUNDS):
        moment = (rows * weights[:, None]).T @ rows / n
        top = largest_eigenvalue(moment)
        if top <= edge or weights.mean() <= 1 - outlier_fraction:
            break
        gains += moment / top
        scores = np.square(rows @ density_factor(RATE * gains)).sum(axis=1)
        weights = weights * (1 - relative_excess(scores, weights, outlier_fraction))
    return weights


def density_factor(gains: FloatArray) -> FloatArray:
    """A matrix F with FFᵀ = exp(gains)/trace(exp(gains)).

    Examples
    --------
    >>> np.square(density_factor(np.diag([0.0, np.log(3)]))).sum(axis=1).round(3)
    array([0.25, 0.75])
    """
    values, vectors = np.linalg.eigh(gains)
    masses = np.exp(values - values[-1])
    return vectors * np.sqrt(masses / masses.sum())


def relative_excess(scores: FloatArray, weights: FloatArray, fraction: float) -> FloatArray:
    """The excess of each score over the (1 − fraction) quantile, scaled so that the largest is 1.

    Rows without weight do not count; their excess is 0.

    Examples
    --------
    >>> relative_excess(np.array([1.0, 9.0, 2.0, 5.0]), np.array([1.0, 0.0, 1.0, 1.0]), 0.4)
    array([0., 0., 0., 1.])
    """
    alive = weights > 0
    cut = np.quantile(scores[alive], 1 - fraction)
    excess = np.where(alive, np.maximum(scores - cut, 0.0), 0.0)
    largest = float(excess.max())
    return excess / largest if largest > 0 else excess


METHODS = (
    Method(
        name="shen-2023",
        title="Shen 2023",
        learn=learn,
        claim="Ω(ε) malicious noise, in nearly linear time",
        world=DENSE_TILT.at_most(0.007, beats="klivans-long-servedio"),
    ),
)
