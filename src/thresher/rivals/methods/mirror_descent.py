"""Stage-wise online mirror descent in one-sided bands: bounded noise, and a localized perceptron.

A stage moves the halfspace within a small region around its start, one label at a time. Each label
is that of a row just on the positive side of the current iterate. The stage ends with the sparse
average of its iterates; the next one has half the radius and half the band.
"""

import math
from dataclasses import dataclass

import numpy as np

from thresher.geometry import Band, hard_threshold
from thresher.geometry.balls import soft_threshold
from thresher.learning import PracticalSchedule, Task
from thresher.oracles import DrawRequest
from thresher.rivals.methods.method import (
    Method,
    Source,
    average,
    dense_rows,
    draw_labeled,
    unit,
)
from thresher.rivals.worlds import FLIPS
from thresher.validation import FloatArray

# The papers' constants are for proofs. Share, band and step were chosen among a few on clean and
# label-flipped runs (Gaussian, d = 200, s = 5, 1,000 labels, seeds 0 to 2); the rest by hand.
FIRST_LABEL_SHARE = 0.4  # of the budget, for the average from which the stages start
FIRST_RADIUS = 0.5
RADIUS_PER_ANGLE = 4.0  # last radius over the angle of the target error
BAND_PER_RADIUS = 0.5
STEP = 3.0  # over r·√(s/T), the order that the regret bound asks for
LABELS_PER_STAGE = 10  # at least, per feature that matters
TARGET_ERROR = 0.01  # when none is given
MAX_REQUESTS = 60  # for a row on the positive side, where half of them are
N_BISECTIONS = 30


@dataclass(frozen=True)
class Stage:
    """One stage: its region and its labels."""

    index: int
    radius: float
    l1_radius: float
    n_labels: int


def plan_stages(task: Task, n_labels: int) -> list[Stage]:
    """The stages that the target error needs and the labels pay for, each with half the radius.

    Examples
    --------
    >>> task = Task(n_features=200, sparsity=8, noise_rate=0.05)
    >>> [(stage.radius, stage.l1_radius, stage.n_labels) for stage in plan_stages(task, 600)]
    [(0.5, 2.0, 200), (0.25, 1.0, 200), (0.125, 0.5, 200)]
    """
    last_radius = RADIUS_PER_ANGLE * math.pi * (task.target_error or TARGET_ERROR)
    n_wanted = 1 + round(max(math.log2(FIRST_RADIUS / last_radius), 0.0))
    n_stages = min(n_wanted, n_labels // (LABELS_PER_STAGE * task.sparsity))
    radii = [FIRST_RADIUS / 2**k for k in range(n_stages)]
    return [
        Stage(k, r, math.sqrt(2 * task.sparsity) * r, n_labels // n_stages)
        for k, r in enumerate(radii, 1)
    ]


def learn_bounded_noise(source: Source, task: Task, _rng: np.random.Generator) -> FloatArray:
    """A sparse halfspace by mirror descent with gradients that allow for label noise.

    g = (−y/2 + (1/2 − η))·x on rows with 0 < ŵ·x ≤ b, where η is the task's noise rate: if each
    label is flipped with probability at most η, the mean of g points away from the target, even on
    rows that are classified correctly (Zhang, Shen and Awasthi 2020). See `descend` for the stages.
    """
    return _learn(source, task, drift=0.5 - task.noise_rate)


def learn_perceptron(source: Source, task: Task, _rng: np.random.Generator) -> FloatArray:
    """A sparse halfspace by perceptron updates in narrowing bands.

    g = −y·x where the iterate is wrong, else 0: on the positive side of the iterate this is
    (−y/2 + 1/2)·x, the gradient of bounded noise at rate 0 (Shen 2021, "On the power of localized
    Perceptron for label-optimal learning of halfspaces with adversarial noise"). Same stages; the
    noise rate is not used.
    """
    return _learn(source, task, drift=0.5)


def _learn(source: Source, task: Task, drift: float) -> FloatArray:
    """The halfspace after all stages, which start from the sparse average of y·x.

    Without a label budget, it buys the number of labels that Thresher would.
    """
    n_labels = task.label_budget or PracticalSchedule().n_labels(task)
    n_first = max(1, math.ceil(FIRST_LABEL_SHARE * n_labels))
    X, y = draw_labeled(source, task, n_first)
    halfspace = unit(hard_threshold(average(y[:, None] * dense_rows(X)), task.sparsity))
    for stage in plan_stages(task, n_labels - n_first):
        halfspace = unit(hard_threshold(descend(source, halfspace, stage, drift), task.sparsity))
    return halfspace


def descend(source: Source, start: FloatArray, stage: Stage, drift: float) -> FloatArray:
    """The average of the unit iterates of one stage of online mirror descent.

    w ← argmin over W of step·g·w + D(w, w_t), where D is the divergence of
    Φ(w) = ‖w − start‖²_p/(2(p−1)), p = ln(8d)/(ln(8d) − 1); W is the l2 ball of the stage's radius
    r around the start, and the l1 ball of √(2s)·r.

    Unlike in the paper, the point is projected onto the l1 ball exactly and then shrunk into the l2
    ball, because no closed form is known for both. It ends early if the source runs out of rows.

    Parameters
    ----------
    source : where rows and labels come from
    start : the halfspace before the stage
    stage : its radii, band and labels
    drift : added to −y/2 in the gradient
    """
    log_size = math.log(8 * start.size)
    p = log_size / (log_size - 1)
    step = STEP * stage.l1_radius / math.sqrt(2 * stage.n_labels)
    offset, total = np.zeros(start.size), start.copy()
    for _ in range(stage.n_labels):
        iterate = unit(start + offset)
        example = draw_positive(source, iterate, stage)
        if example is None:
            break
        row, label = example
        dual = dual_of(offset, p) - step * (drift - label / 2) * row
        offset = project(dual, p, l1_radius=stage.l1_radius, l2_radius=stage.radius)
        total += iterate
    return total


def draw_positive(
    source: Source, halfspace: FloatArray, stage: Stage
) -> tuple[FloatArray, float] | None:
    """A row with 0 < w·x ≤ b and its label, the only one paid; None if there is no such row."""
    band = Band(halfspace, BAND_PER_RADIUS * stage.radius)
    request = DrawRequest(n_rows=1, band=band, phase=stage.index + 1, phase_record=stage)
    for _ in range(MAX_REQUESTS):
        drawn = source.draw(request)
        if drawn.n_rows == 0:
            return None
        row = dense_rows(drawn.X)[0]
        if row @ halfspace > 0:
            return row, float(source.reveal(drawn.ids)[0])
    return None


def project(dual: FloatArray, p: float, *, l1_radius: float, l2_radius: float) -> FloatArray:
    """The primal point of a dual point, moved into the l1 ball and then shrunk into the l2 ball.

    In the l1 ball it is that of the soft-thresholded dual, at the least level that fits.

    Examples
    --------
    >>> project(np.array([3.0, -2.0, 0.5]), 1.5, l1_radius=1.0, l2_radius=0.9).round(3)
    array([ 0.847, -0.153,  0.   ])
    """
    point = primal_of(dual, p)
    if np.abs(point).sum() > l1_radius:
        low, high = 0.0, float(np.abs(dual).max())
        for _ in range(N_BISECTIONS):
            level = (low + high) / 2
            point = primal_of(soft_threshold(dual, level), p)
            low, high = (level, high) if np.abs(point).sum() > l1_radius else (low, level)
        point = primal_of(soft_threshold(dual, high), p)
    length = float(np.linalg.norm(point))
    return point if length <= l2_radius else point * (l2_radius / length)


def primal_of(dual: FloatArray, p: float) -> FloatArray:
    """The gradient of the conjugate of ‖u‖²_p/(2(p−1)), which is (p−1)‖θ‖²_q/2, 1/p + 1/q = 1."""
    q = p / (p - 1)
    length = float(np.linalg.norm(dual, q))
    if length == 0:
        return np.zeros_like(dual)
    return (p - 1) * length * np.sign(dual) * (np.abs(dual) / length) ** (q - 1)


def dual_of(point: FloatArray, p: float) -> FloatArray:
    """The gradient of ‖u‖²_p/(2(p−1)), the inverse of `primal_of`.

    Examples
    --------
    >>> dual_of(primal_of(np.array([3.0, -1.0]), 1.2), 1.2).round(6)
    array([ 3., -1.])
    """
    length = float(np.linalg.norm(point, p))
    if length == 0:
        return np.zeros_like(point)
    return length / (p - 1) * np.sign(point) * (np.abs(point) / length) ** (p - 1)


METHODS = (
    Method(
        name="zhang-shen-awasthi",
        title="Zhang–Shen–Awasthi 2020",
        learn=learn_bounded_noise,
        claim="bounded label noise below 1/2; no planted rows",
        world=FLIPS.at_most(0.196, beats="l1-logistic"),
    ),
    Method(
        name="localized-perceptron",
        title="Localized perceptron (Shen 2021)",
        learn=learn_perceptron,
        claim="adversarial label noise Ω(ε); no planted rows",
        world=FLIPS.at_most(0.047, beats="l1-logistic"),
    ),
)
