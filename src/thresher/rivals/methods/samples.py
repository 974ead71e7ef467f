"""The labeled sample of a passive method, and the step that makes a dense answer sparse."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thresher.errors import LearningStopped
from thresher.geometry import hard_threshold
from thresher.learning import Task
from thresher.rivals.methods.interface import Learn, Source, draw_labeled, unit
from thresher.validation import FloatArray, is_sparse

MIN_LABELS, LABELS_PER_FEATURE = 4000, 10
LARGEST_ENTRY = 1e100  # squares of larger entries overflow, and no honest row has them


def n_labels(task: Task) -> int:
    """How many labels a passive method buys: its budget, or what a dense average needs.

    Without a budget these are 4,000 or ten for each feature, whichever is more: the average of so
    many rows has an error of about 0.1 in all directions together.

    Examples
    --------
    >>> n_labels(Task(n_features=50, sparsity=5, noise_rate=0.0, label_budget=300))
    300
    >>> n_labels(Task(n_features=800, sparsity=5, noise_rate=0.0))
    8000
    """
    if task.label_budget is not None:
        return task.label_budget
    return max(MIN_LABELS, LABELS_PER_FEATURE * task.n_features)


def draw_sample(source: Source, task: Task) -> tuple[FloatArray, FloatArray]:
    """Dense rows with their labels, as many as the task's budget pays for, and at least one.

    Raises
    ------
    LearningStopped : the source has no row

    Examples
    --------
    >>> from thresher.simulate import Gaussian, MaliciousOracle, random_target
    >>> source = MaliciousOracle(distribution=Gaussian(5), target=random_target(5, 2, 0),
    ...                          noise_rate=0.0, adversary=None, random_state=0)
    >>> task = Task(n_features=5, sparsity=2, noise_rate=0.0, label_budget=7)
    >>> X, y = draw_sample(source, task)
    >>> X.shape, source.n_labels
    ((7, 5), 7)
    """
    rows, labels = draw_labeled(source, task, n_labels(task))
    if len(labels) == 0:
        raise LearningStopped("the source gave no row to learn from")
    dense = rows.toarray() if is_sparse(rows) else np.asarray(rows, dtype=np.float64)
    return np.clip(dense, -LARGEST_ENTRY, LARGEST_ENTRY), labels


def average(signed_rows: FloatArray) -> FloatArray:
    """The mean of the rows; zeros if there is none.

    Examples
    --------
    >>> average(np.array([[1.0, 2.0], [3.0, 2.0]])), average(np.zeros((0, 2)))
    (array([2., 2.]), array([0., 0.]))
    """
    mean: FloatArray = signed_rows.sum(axis=0) / max(len(signed_rows), 1)
    return mean


@dataclass(frozen=True)
class KeepLargest:
    """A dense method, of whose halfspace only the task's number of largest entries is kept.

    Methods older than attribute-efficiency answer with a dense vector, whose error is that of d
    features even if s matter. This last step lets them use the sparsity that Thresher is told, so
    that a comparison is about robustness.

    Parameters
    ----------
    learn : the dense method

    Examples
    --------
    >>> learn = KeepLargest(lambda source, task, rng: np.array([0.1, -3.0, 4.0]))
    >>> learn(None, Task(n_features=3, sparsity=2, noise_rate=0.0), None)
    array([ 0. , -0.6,  0.8])
    """

    learn: Learn

    def __call__(self, source: Source, task: Task, rng: np.random.Generator) -> FloatArray:
        """The halfspace, of unit length."""
        return unit(hard_threshold(self.learn(source, task, rng), task.sparsity))
