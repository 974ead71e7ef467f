"""How often two halfspaces disagree on a distribution: the error rate of one against the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thresher.simulate.conditional import (
    Distribution,
    chunk_sizes,
    has_independent_features,
    sample_features,
)
from thresher.validation import FloatArray, check_count, check_vector, generator_from


@dataclass(frozen=True)
class ErrorEstimate:
    """An error rate and how far off it typically is; the standard error of an exact rate is 0.

    Examples
    --------
    >>> ErrorEstimate(value=0.25, standard_error=0.0)
    ErrorEstimate(value=0.25, standard_error=0.0)
    """

    value: float
    standard_error: float


def classify(rows: FloatArray, halfspace: FloatArray) -> FloatArray:
    """The label -1 or +1 of each row; the boundary itself is positive.

    Examples
    --------
    >>> classify(np.array([[2.0], [-1.0], [0.0]]), np.array([1.0]))
    array([ 1., -1.,  1.])
    """
    return np.where(rows @ halfspace >= 0, 1.0, -1.0)


def angle_between(first: FloatArray, second: FloatArray) -> float:
    """The angle between two non-zero vectors, in [0, π].

    The arccosine loses half the digits of small angles; this form (Kahan's) does not.

    Examples
    --------
    >>> angle_between(np.array([1.0, 0.0]), np.array([1.0, 1e-12]))
    1e-12
    """
    u, v = first / np.linalg.norm(first), second / np.linalg.norm(second)
    return float(2 * np.arctan2(np.linalg.norm(u - v), np.linalg.norm(u + v)))


def check_halfspaces(w: object, target: object, n_features: int) -> tuple[FloatArray, FloatArray]:
    """Both vectors, checked; the target must not be zero, the other may be."""
    w, target = (
        check_vector(w, "w", length=n_features),
        check_vector(target, "target", length=n_features),
    )
    if not target.any():
        raise ValueError("target must not be the zero vector")
    return w, target


def estimate_disagreement(
    distribution: Distribution,
    w: FloatArray,
    target: FloatArray,
    *,
    n_rows: int,
    random_state: int | np.random.Generator,
) -> ErrorEstimate:
    """The share of sampled rows on which two halfspaces disagree, with its standard error.

    Only features that one of them uses are sampled when the features are independent. The standard
    error is √((p + 1/n)(1 − p + 1/n)/n), which stays positive when no disagreement was seen.

    Examples
    --------
    >>> from thresher.simulate import Laplace
    >>> w, target = np.array([1.0, 1.0]), np.array([1.0, 0.0])  # a quarter by symmetry
    >>> estimate = estimate_disagreement(Laplace(2), w, target, n_rows=10_000, random_state=0)
    >>> abs(estimate.value - 0.25) < 4 * estimate.standard_error
    True
    """
    check_count(n_rows, "n_rows")
    rng = generator_from(random_state)
    features = np.flatnonzero((w != 0) | (target != 0))
    is_cheap = has_independent_features(distribution)
    n_columns = features.size if is_cheap else distribution.n_features
    n_disagreements = 0
    for n_chunk in chunk_sizes(n_rows, n_columns):
        part = sample_features(distribution, n_chunk, features, rng)
        differ = classify(part, w[features]) != classify(part, target[features])
        n_disagreements += int(np.count_nonzero(differ))
    p, slack = n_disagreements / n_rows, 1 / n_rows
    standard_error = np.sqrt(min(p + slack, 1.0) * min(1 - p + slack, 1.0) / n_rows)
    return ErrorEstimate(value=p, standard_error=float(standard_error))
