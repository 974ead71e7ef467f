"""Halfspaces under malicious noise in nearly linear time (Shen 2023): scores instead of a game.

The phases are those of Awasthi, Balcan and Long. What differs is how a pool's outliers lose their
weight: every direction of large variance is looked at together, through one density matrix that
matrix multiplicative weights maintain, and rows lose weight by their score under it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from thresher.learning import Phase, Task
from thresher.oracles import Draw, DrawRequest, IdArray
from thresher.rivals.methods.method import Method, Source, dense_rows
from thresher.rivals.methods.phase_loop import AWASTHI_BALCAN_LONG, PhaseLoop
from thresher.solvers.eigen import largest_eigenvalue
from thresher.validation import FloatArray, Rows

# Set by hand. On Gaussian rows, d = 100, rates of 1 and 30 and a margin of 1.3 gave much the same
# errors, but for a rate of 1 under rows planted in the band (.06 instead of .05).
EDGE_MARGIN = 1.1  # of the largest eigenvalue that clean isotropic rows may show
RATE = 10.0  # of the exponential: how much the largest directions count more than the others
MAX_ROUNDS = 20

LOOP = PhaseLoop(replace(AWASTHI_BALCAN_LONG.schedule, remove_outliers=False), is_dense=True)


def learn(source: Source, task: Task, rng: np.random.Generator) -> FloatArray:
    """A dense halfspace from phases whose rows were thinned by their scores.

    The loop is that of Awasthi, Balcan and Long without its own removal; the rows it gets have
    been kept with probability equal to their weight, which makes a uniform sample of them the
    sample by weight of the paper.

    Parameters
    ----------
    source : where rows and labels come from
    task : `noise_rate` sets how much weight may go; without `label_budget`, as many labels as
        Thresher would pay for a halfspace of d features
    rng : decides which rows stay and which are labeled

    Examples
    --------
    >>> from thresher.simulate import Gaussian, LinfHijack, MaliciousOracle, random_target
    >>> source = MaliciousOracle(distribution=Gaussian(20), target=random_target(20, 3, 0),
    ...                          noise_rate=0.05, adversary=LinfHijack(), random_state=0)
    >>> task = Task(n_features=20, sparsity=3, noise_rate=0.05, label_budget=1000)
    >>> w = learn(source, task, np.random.default_rng(0))
    >>> source.error_rate(w) < 0.05, source.n_labels <= 1000
    (True, True)
    """
    return LOOP(ThinnedSource(source, rng), task, rng)


@dataclass(frozen=True, eq=False)
class ThinnedSource:
    """A source whose rows come back with a probability equal to the trust that scores leave them.

    Parameters
    ----------
    source : where rows and labels come from
    rng : decides which rows stay
    """

    source: Source
    rng: np.random.Generator

    def draw(self, request: DrawRequest, /) -> Draw:
        """Those rows of the band that stay; the outlier fraction is the schedule's."""
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
    and scores τ = xᵀUx. Rows lose weight in proportion to how far their score lies above that of
    the row at which the outlier fraction of the rows begins. It ends when ‖M‖ is below the
    Marchenko–Pastur edge (1 + √(d/n))², or the fraction of the weight is gone.

    Not as in the paper: the exponential is formed from eigenvectors, not from a sketch of random
    projections. The scores are the ones that the sketch approximates; the time is not.

    Parameters
    ----------
    rows : (n, d) array or CSR
    outlier_fraction : the share of the weight that may go; the last round may exceed it

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
    """How far each score lies above the (1 − fraction) quantile, 1 for the largest that counts.

    Rows without weight do not count; theirs is 0.

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
        is_active=True,
        claim="Ω(ε) malicious noise, in nearly linear time",
    ),
)
