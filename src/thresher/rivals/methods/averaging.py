"""Averaging of y·x, after rows that are too much alike were deleted (Kalai et al. 2005)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thresher.learning import Task
from thresher.rivals.methods.interface import Method, Source, unit
from thresher.rivals.methods.samples import KeepLargest, average, draw_sample
from thresher.validation import FloatArray, check_positive

_BLOCK = 1024  # rows whose correlations with all others are held at a time


@dataclass(frozen=True)
class Averaging:
    """The mean of y·x over rows of which no two are nearly parallel.

    On the sphere in many dimensions independent rows are nearly orthogonal, so of two rows with
    |cos| > C·√(log m / d) at least one is planted, and both go: no planted row takes more than one
    clean row along (Kalai, Klivans, Mansour and Servedio, "Agnostically Learning Halfspaces",
    section on malicious noise). Many planted rows that are alike in a few features only stay.

    Parameters
    ----------
    correlation_factor : C. At the default of 2 about one pair of m clean rows is that much alike,
        and an infinite one deletes nothing

    Examples
    --------
    >>> from thresher.simulate import Gaussian, MaliciousOracle, random_target
    >>> source = MaliciousOracle(distribution=Gaussian(20), target=random_target(20, 3, 0),
    ...                          noise_rate=0.0, adversary=None, random_state=0)
    >>> task = Task(n_features=20, sparsity=3, noise_rate=0.0, label_budget=2000)
    >>> w = Averaging()(source, task, np.random.default_rng(0))
    >>> source.error_rate(w) < 0.06, source.n_labels
    (True, 2000)
    """

    correlation_factor: float = 2.0

    def __post_init__(self) -> None:
        if self.correlation_factor != np.inf:
            check_positive(self.correlation_factor, "correlation_factor")

    def __call__(self, source: Source, task: Task, _rng: np.random.Generator) -> FloatArray:
        """The halfspace, of unit length."""
        X, y = draw_sample(source, task)
        limit = self.correlation_factor * np.sqrt(np.log(max(len(y), 2)) / task.n_features)
        kept = rows_unlike_others(X, limit) if limit < 1 else np.arange(len(y))
        return unit(average(y[kept, None] * X[kept]))


def rows_unlike_others(X: FloatArray, max_cosine: float) -> NDArray[np.intp]:
    """The rows that stay when pairs whose angle is too small, or too near to π, go.

    Pairs are taken in the order of the rows, and a row that is gone makes no further pair.

    Parameters
    ----------
    X : (n, d) rows; their lengths do not matter
    max_cosine : the largest |cos| of two rows that both stay

    Examples
    --------
    >>> rows_unlike_others(np.array([[1.0, 0.0], [0.0, 1.0], [-2.0, 0.1], [3.0, 0.0]]), 0.9)
    array([1, 3])
    """
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    directions = (X / np.where(lengths > 0, lengths, 1)).astype(np.float32)
    stays = np.ones(len(X), dtype=np.bool_)
    for start in range(0, len(X), _BLOCK):
        cosines = np.abs(directions[start : start + _BLOCK] @ directions[start:].T)
        alike = np.triu(cosines > max_cosine, k=1)
        for i in np.flatnonzero(alike.any(axis=1)):
            partners = start + np.flatnonzero(alike[i])
            partners = partners[stays[partners]]
            if stays[start + i] and partners.size:
                stays[[start + i, partners[0]]] = False
    return np.flatnonzero(stays)


_CLAIM = "Ω(ε/d^¼) malicious noise, uniform on the sphere"
METHODS = (
    Method(
        name="averaging",
        title="Averaging, Kalai et al. 2005",
        learn=KeepLargest(Averaging()),
        is_active=False,
        is_sparse=True,
        claim=_CLAIM,
    ),
    Method(
        name="averaging-dense",
        title="Averaging, dense as published, Kalai et al. 2005",
        learn=Averaging(),
        is_active=False,
        is_sparse=False,
        claim=_CLAIM,
    ),
    Method(
        name="averaging-of-all-rows",
        title="Averaging without deletion",
        learn=KeepLargest(Averaging(correlation_factor=np.inf)),
        is_active=False,
        is_sparse=True,
        claim="label noise, uniform on the sphere",
    ),
)
