"""Outliers of the largest variance are deleted before averaging (Klivans, Long, Servedio 2009)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thresher.learning import Task
from thresher.rivals.methods.interface import Method, Source, unit
from thresher.rivals.methods.samples import KeepLargest, average, draw_sample
from thresher.solvers.eigen import top_eigenpairs
from thresher.validation import FloatArray, check_positive


@dataclass(frozen=True)
class KlivansLongServedio:
    """The mean of y·x over rows without those that stick out in a direction of large variance.

    While the largest eigenvalue of (1/|S|) Σ x·xᵀ is above a threshold, every row of S with
    (v·x)² above a threshold of its own is deleted, where v is the top eigenvector. Then
    w ∝ mean of y·x ("Learning Halfspaces with Malicious Noise", the algorithm for the uniform
    distribution). A planted direction below the eigenvalue's threshold passes.

    The paper's thresholds are meant for proofs. The practical ones here are what clean rows reach:
    `edge_factor`·(1 + √(d/|S|))², the largest eigenvalue of that many isotropic rows
    (Marchenko and Pastur), and `tail_factor`·log m, the largest of m squared normal numbers.

    Parameters
    ----------
    edge_factor : how far above clean rows the eigenvalue may be
    tail_factor : squared projections beyond so many times log m are deleted

    Examples
    --------
    >>> from thresher.simulate import FarClump, Gaussian, MaliciousOracle, random_target
    >>> source = MaliciousOracle(distribution=Gaussian(20), target=random_target(20, 3, 0),
    ...                          noise_rate=0.05, adversary=FarClump(strength=20.0),
    ...                          random_state=0)
    >>> task = Task(n_features=20, sparsity=3, noise_rate=0.05, label_budget=2000)
    >>> w = KlivansLongServedio()(source, task, np.random.default_rng(0))
    >>> source.error_rate(w) < 0.06
    True
    """

    edge_factor: float = 1.25
    tail_factor: float = 2.0

    def __post_init__(self) -> None:
        check_positive(self.edge_factor, "edge_factor")
        check_positive(self.tail_factor, "tail_factor")

    def __call__(self, source: Source, task: Task, _rng: np.random.Generator) -> FloatArray:
        """The halfspace, of unit length."""
        X, y = draw_sample(source, task)
        kept = self.rows_without_outliers(X)
        return unit(average(y[kept, None] * X[kept]))

    def rows_without_outliers(self, X: FloatArray) -> NDArray[np.intp]:
        """The rows that stay.

        Examples
        --------
        >>> X = np.random.default_rng(0).standard_normal((500, 5))
        >>> X[:10] += [9.0, 9.0, 0.0, 0.0, 0.0]
        >>> int(KlivansLongServedio().rows_without_outliers(X).min())
        10
        """
        kept = np.arange(len(X))
        max_square = self.tail_factor * np.log(max(len(X), 2))
        while kept.size:
            S = X[kept]
            values, vectors = top_eigenpairs(S.T @ S / kept.size, 1)
            edge = (1 + np.sqrt(X.shape[1] / kept.size)) ** 2
            is_fine = np.square(S @ vectors[:, -1]) <= max_square
            # Without an outlier to delete the loop cannot go on, whatever the eigenvalue.
            if values[-1] <= self.edge_factor * edge or is_fine.all():
                break
            kept = kept[is_fine]
        return kept


_CLAIM = "Ω(ε²/log(d/ε)) malicious noise, uniform on the ball"
METHODS = (
    Method(
        name="klivans-long-servedio",
        title="Klivans–Long–Servedio 2009",
        learn=KeepLargest(KlivansLongServedio()),
        is_active=False,
        is_sparse=True,
        claim=_CLAIM,
    ),
    Method(
        name="klivans-long-servedio-dense",
        title="Klivans–Long–Servedio 2009, dense as published",
        learn=KlivansLongServedio(),
        is_active=False,
        is_sparse=False,
        claim=_CLAIM,
    ),
)
