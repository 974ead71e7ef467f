"""A consistent halfspace for a batch that happens to be clean (Kearns and Li 1988)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from thresher.learning import Task
from thresher.rivals.methods.method import KeepLargest, Method, Source, average, draw_sample, unit
from thresher.rivals.worlds import FEW_PLANTED
from thresher.validation import FloatArray, check_count, check_fraction, check_positive

_LEAST_BATCH = 2
_CLEAN_BATCHES = 3  # expected number of clean batches
_SHRINKAGE = 0.9


@dataclass(frozen=True)
class KearnsLi:
    """Among halfspaces that are consistent with small batches, the best on held-out rows.

    Malicious noise spares a batch of m examples with probability (1 − η)ᵐ, so among enough batches
    one is clean, and what is consistent with it is good (Kearns and Li, "Learning in the Presence
    of Malicious Errors"). From a batch comes the w of least l1 norm with y·(w·x) ≥ 1, by a linear
    program; if there is none, the batch is dropped and the next is smaller. Some of the labels are
    held out to choose. If no batch has a consistent halfspace, the answer is the average of y·x.

    m is `batch_factor`·s·log(2d/s)/ε, but small enough that a few of the `n_batches` are clean:
    under noise this, and not ε, limits the answer. Unlike the original, batches are drawn from one
    sample of paid labels, which gives more of them for the same budget.

    Parameters
    ----------
    n_batches : largest number of batches to try
    batch_factor : constant of m
    default_error : ε, if the task has no target error
    validation_fraction : fraction of the labels held out to choose

    Examples
    --------
    >>> from thresher.experiments import SimulationSpec, run_simulation
    >>> spec = SimulationSpec(n_features=30, sparsity=3, label_budget=500,
    ...                       method="kearns-li-consistent")
    >>> run_simulation(spec, seed=0).error < 0.05
    True
    """

    n_batches: int = 200
    batch_factor: float = 2.0
    default_error: float = 0.05
    validation_fraction: float = 0.25

    def __post_init__(self) -> None:
        check_count(self.n_batches, "n_batches")
        check_positive(self.batch_factor, "batch_factor")
        check_positive(self.default_error, "default_error")
        check_fraction(self.validation_fraction, "validation_fraction")

    def __call__(self, source: Source, task: Task, rng: np.random.Generator) -> FloatArray:
        """The halfspace, of unit length."""
        X, y = draw_sample(source, task)
        n_held = int(self.validation_fraction * len(y))
        Z = y[:, None] * X
        held, paid = Z[:n_held], Z[n_held:]
        size = min(self.batch_size(task), len(paid))
        best, fewest_errors = average(paid), np.inf
        for _ in range(self.n_batches):
            batch = paid[rng.choice(len(paid), size=size, replace=False)]
            candidate = consistent_halfspace(batch)
            if candidate is None:
                # Clean batches are consistent, so batches of this size have too many planted rows.
                size = max(int(_SHRINKAGE * size), 1)
                continue
            n_errors = float(np.sum(held @ candidate <= 0))
            if n_errors < fewest_errors:
                best, fewest_errors = candidate, n_errors
            if task.noise_rate == 0 or size == len(paid):
                break  # another batch would give the same
        return unit(best)

    def batch_size(self, task: Task) -> int:
        """The number m of examples in a batch.

        Examples
        --------
        >>> KearnsLi().batch_size(Task(n_features=100, sparsity=5, noise_rate=0.0))
        738
        >>> KearnsLi().batch_size(Task(n_features=100, sparsity=5, noise_rate=0.05))
        81
        """
        error = task.target_error or self.default_error
        wanted = self.batch_factor * task.sparsity * np.log(2 * task.n_features / task.sparsity)
        size = int(np.ceil(wanted / error))
        if task.noise_rate > 0:
            log_share = np.log(min(_CLEAN_BATCHES / self.n_batches, 0.5))
            size = min(size, int(log_share / np.log1p(-task.noise_rate)))
        return max(size, _LEAST_BATCH)


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
        learn=KeepLargest(KearnsLi()),
        is_sparse=True,
        claim="Ω(ε/d) malicious noise, any distribution",
        imports=("scipy.optimize",),
        world=FEW_PLANTED.at_most(0.04, beats="averaging-of-all-rows"),
    ),
)
