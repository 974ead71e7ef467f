"""A consistent halfspace for a batch that happens to be clean (Kearns and Li 1988)."""

from __future__ import annotations

import numpy as np
import scipy

from thresher.learning import Task
from thresher.rivals.methods.method import (
    Method,
    Source,
    average,
    draw_signed,
    keep_largest,
    unit,
)
from thresher.rivals.worlds import FEW_PLANTED
from thresher.validation import FloatArray

N_BATCHES = 200  # at most
BATCH_FACTOR = 2.0  # constant of the batch size
DEFAULT_ERROR = 0.05  # if the task has no target error
HELD_SHARE = 0.25  # of the labels, to choose among the halfspaces
LEAST_BATCH = 2
CLEAN_BATCHES = 3  # expected number
SHRINKAGE = 0.9


def learn_consistent(source: Source, task: Task, rng: np.random.Generator) -> FloatArray:
    """Among halfspaces that are consistent with small batches, the best on held-out rows.

    Malicious noise spares a batch of m examples with probability (1 − η)ᵐ, so among enough batches
    one is clean, and what is consistent with it is good (Kearns and Li, "Learning in the Presence
    of Malicious Errors"). From a batch comes the w of least l1 norm with y·(w·x) ≥ 1, by a linear
    program; if there is none, the batch is dropped and the next is smaller. Some of the labels are
    held out to choose. If no batch has a consistent halfspace, the answer is the average of y·x.

    Unlike the original, batches are drawn from one sample of paid labels, which gives more of them
    for the same budget.
    """
    Z = draw_signed(source, task)
    n_held = int(HELD_SHARE * len(Z))
    held, paid = Z[:n_held], Z[n_held:]
    size = min(batch_size(task), len(paid))
    best, fewest_errors = average(paid), np.inf
    for _ in range(N_BATCHES):
        batch = paid[rng.choice(len(paid), size=size, replace=False)]
        candidate = consistent_halfspace(batch)
        if candidate is None:
            # Clean batches are consistent, so batches of this size have too many planted rows.
            size = max(int(SHRINKAGE * size), 1)
            continue
        n_errors = float(np.sum(held @ candidate <= 0))
        if n_errors < fewest_errors:
            best, fewest_errors = candidate, n_errors
        if task.noise_rate == 0 or size == len(paid):
            break  # another batch would give the same
    return unit(best)


def batch_size(task: Task) -> int:
    """The number m of examples in a batch.

    A constant times s·log(2d/s)/ε, but small enough that a few of the batches are clean: under
    noise this, and not ε, limits the answer.

    Examples
    --------
    >>> batch_size(Task(n_features=100, sparsity=5, noise_rate=0.0))
    738
    >>> batch_size(Task(n_features=100, sparsity=5, noise_rate=0.05))
    81
    """
    wanted = BATCH_FACTOR * task.sparsity * np.log(2 * task.n_features / task.sparsity)
    size = int(np.ceil(wanted / (task.target_error or DEFAULT_ERROR)))
    if task.noise_rate > 0:
        log_share = np.log(CLEAN_BATCHES / N_BATCHES)
        size = min(size, int(log_share / np.log1p(-task.noise_rate)))
    return max(size, LEAST_BATCH)


def consistent_halfspace(signed_rows: FloatArray) -> FloatArray | None:
    """The w of least l1 norm with w·z ≥ 1 for every row z = y·x, or None if there is none.

    Examples
    --------
    >>> consistent_halfspace(np.array([[2.0, 1.0], [2.0, -1.0]]))
    array([0.5, 0. ])
    >>> consistent_halfspace(np.array([[1.0, 0.0], [-1.0, 0.0]])) is None
    True
    """
    n, d = signed_rows.shape
    answer = scipy.optimize.linprog(
        np.ones(2 * d),
        A_ub=np.hstack([-signed_rows, signed_rows]),
        b_ub=-np.ones(n),
        method="highs",
    )
    return None if answer.x is None else answer.x[:d] - answer.x[d:]


METHODS = (
    Method(
        name="kearns-li-consistent",
        title="Kearns–Li 1988",
        learn=keep_largest(learn_consistent),
        needs_sparsity=True,
        claim="Ω(ε/d) malicious noise, any distribution",
        imports=("scipy.optimize",),
        world=FEW_PLANTED.at_most(0.047, beats="averaging-of-all-rows"),
    ),
)
