"""One-bit compressed sensing in closed form (Plan and Vershynin 2013)."""

from __future__ import annotations

import numpy as np

from thresher.geometry import support_l1_l2
from thresher.learning import Task
from thresher.rivals.methods.interface import Method, Source, unit
from thresher.rivals.methods.samples import average, draw_sample
from thresher.validation import FloatArray


def learn(source: Source, task: Task, _rng: np.random.Generator) -> FloatArray:
    """The approximately sparse direction that agrees best with the labels on average.

    w = argmax of mean(y·x)·w over ‖w‖₂ ≤ 1, ‖w‖₁ ≤ √s, which is the soft threshold S_t of the mean
    at the smallest level t with ‖w‖₁ ≤ √s·‖w‖₂, scaled to unit length. This is the convex program
    of "Robust 1-bit compressed sensing and sparse logistic regression: a convex programming
    approach", and there are no constants to choose.

    Parameters
    ----------
    source : where rows and labels come from
    task : `sparsity` is s; all of `label_budget` is spent

    Examples
    --------
    >>> from thresher.simulate import Gaussian, MaliciousOracle, random_target
    >>> source = MaliciousOracle(distribution=Gaussian(50), target=random_target(50, 3, 0),
    ...                          noise_rate=0.0, adversary=None, random_state=0)
    >>> task = Task(n_features=50, sparsity=3, noise_rate=0.0, label_budget=2000)
    >>> w = learn(source, task, np.random.default_rng(0))
    >>> source.error_rate(w) < 0.05, source.n_labels
    (True, 2000)
    """
    X, y = draw_sample(source, task)
    _, direction = support_l1_l2(
        average(y[:, None] * X), l2_radius=1.0, l1_radius=float(np.sqrt(task.sparsity))
    )
    return unit(direction)


METHODS = (
    Method(
        name="plan-vershynin",
        title="Plan–Vershynin 2013",
        learn=learn,
        is_active=False,
        is_sparse=True,
        claim="one-bit compressed sensing; labels may be flipped, rows may not be planted",
    ),
)
