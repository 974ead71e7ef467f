"""Isotropic distributions with independent features, and how often two halfspaces disagree on them.

Mean zero, identity covariance. All but `StudentT` are log-concave, the family for which the paper's
guarantees hold.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from thresher.geometry import Band
from thresher.simulate.conditional import (
    Distribution,
    chunk_sizes,
    has_independent_features,
    sample_features,
    within_band,
)
from thresher.validation import (
    FloatArray,
    check_count,
    check_number,
    check_vector,
    generator_from,
)


@dataclass(frozen=True)
class ErrorEstimate:
    """An error rate and its standard error, which is 0 where the rate is exact."""

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
    """Both vectors, checked; only the target must not be zero."""
    normal = check_vector(target, "target", length=n_features)
    if not normal.any():
        raise ValueError("target must not be the zero vector")
    return check_vector(w, "w", length=n_features), normal


def estimate_disagreement(
    distribution: Distribution,
    w: FloatArray,
    target: FloatArray,
    *,
    n_rows: int,
    random_state: int | Generator,
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


@dataclass(frozen=True)
class _Product:
    """Rows with independent, identically distributed features of mean 0 and variance 1."""

    n_features: int

    def __post_init__(self) -> None:
        check_count(self.n_features, "n_features")

    def _entries(self, shape: tuple[int, int], rng: Generator) -> FloatArray:
        raise NotImplementedError

    def sample(self, n_rows: int, rng: Generator) -> FloatArray:
        """An array of `n_rows` independent rows, shape (n_rows, n_features)."""
        n_rows = check_count(n_rows, "n_rows", minimum=0)
        return self._entries((n_rows, self.n_features), generator_from(rng, "rng"))

    def sample_features(
        self, n_rows: int, features: NDArray[np.intp], rng: Generator
    ) -> FloatArray:
        """The given features of `n_rows` independent rows, without drawing the others."""
        return self._entries((n_rows, features.size), rng)

    def estimate_error(
        self,
        w: object,
        target: object,
        *,
        n_rows: int = 200_000,
        random_state: int | Generator = 0,
    ) -> ErrorEstimate:
        """How often `w` classifies a row unlike `target`, and the standard error of that number.

        Estimated from `n_rows` fresh rows (exact for the Gaussian). The default seed is fixed: the
        same halfspaces get the same number.
        """
        w, target = check_halfspaces(w, target, self.n_features)
        return estimate_disagreement(self, w, target, n_rows=n_rows, random_state=random_state)

    def error_rate(self, w: object, target: object, **options: Any) -> float:
        """The value of `estimate_error`, which takes the same parameters."""
        return self.estimate_error(w, target, **options).value


class Gaussian(_Product):
    """Standard normal rows: the same in every direction, which no other of these is.

    Examples
    --------
    >>> rows = Gaussian(3).sample(2, np.random.default_rng(0))
    >>> rows.shape
    (2, 3)
    >>> Gaussian(2).error_rate([1.0, 1.0], target=[1.0, 0.0])  # 45 of 180 degrees
    0.25
    """

    def _entries(self, shape: tuple[int, int], rng: Generator) -> FloatArray:
        return rng.standard_normal(shape)

    def sample_in_band(self, n_candidates: int, band: Band, rng: Generator) -> FloatArray:
        """Draw independent rows and keep those in the band.

        The projection on the normal is drawn first and decides; the rest of a row is drawn only if
        it is kept: x = z − (z·u)u + tu with u the unit normal, t and z standard normal.
        """
        length = float(np.linalg.norm(band.normal))
        if length == 0:
            return self.sample(n_candidates, rng)
        t = rng.standard_normal(n_candidates)
        t = t[np.abs(t) <= band.width / length]
        rows = rng.standard_normal((t.size, self.n_features))
        features = np.flatnonzero(band.normal)
        u = band.normal[features] / length
        rows[:, features] += np.outer(t - rows[:, features] @ u, u)
        return within_band(rows, band)

    def estimate_error(self, w: object, target: object, **_options: Any) -> ErrorEstimate:
        """The angle between them over π, exactly; nothing has to be sampled."""
        w, target = check_halfspaces(w, target, self.n_features)
        if not w.any():  # every row is called positive
            return ErrorEstimate(value=0.5, standard_error=0.0)
        return ErrorEstimate(value=angle_between(w, target) / np.pi, standard_error=0.0)


class Laplace(_Product):
    """Rows of double-exponential features, heavier in the tails than the Gaussian."""

    def _entries(self, shape: tuple[int, int], rng: Generator) -> FloatArray:
        return rng.laplace(scale=np.sqrt(0.5), size=shape)


class Logistic(_Product):
    """Rows of logistic features, between the Gaussian and the Laplace distribution."""

    def _entries(self, shape: tuple[int, int], rng: Generator) -> FloatArray:
        return rng.logistic(scale=np.sqrt(3) / np.pi, size=shape)


class Uniform(_Product):
    """Rows from the cube of side 2√3 around the origin: bounded features.

    Examples
    --------
    >>> bool(abs(Uniform(3).sample(9, np.random.default_rng(0))).max() <= 3**0.5)
    True
    """

    def _entries(self, shape: tuple[int, int], rng: Generator) -> FloatArray:
        return (rng.random(shape) - 0.5) * (2 * np.sqrt(3))


class Exponential(_Product):
    """Rows of one-sided exponential features moved to mean zero: not symmetric, all above -1.

    Examples
    --------
    >>> bool(Exponential(3).sample(9, np.random.default_rng(0)).min() >= -1)
    True
    """

    def _entries(self, shape: tuple[int, int], rng: Generator) -> FloatArray:
        return rng.standard_exponential(shape) - 1


@dataclass(frozen=True)
class StudentT(_Product):
    """Rows of Student-t features of variance 1: heavy tails, *not* log-concave.

    Outside the paper's guarantees; for seeing what happens there.

    Parameters
    ----------
    n_features : length of a row
    degrees_of_freedom : above 2, so that the variance exists; small means heavy tails

    Examples
    --------
    >>> rows = StudentT(1, degrees_of_freedom=3).sample(10_000, np.random.default_rng(0))
    >>> bool(abs(rows).max() > 10)
    True
    """

    degrees_of_freedom: float = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        if check_number(self.degrees_of_freedom, "degrees_of_freedom") <= 2:
            raise ValueError(
                "degrees_of_freedom must be greater than 2 for the variance to exist, "
                f"got {self.degrees_of_freedom}"
            )

    def _entries(self, shape: tuple[int, int], rng: Generator) -> FloatArray:
        nu = self.degrees_of_freedom
        return np.sqrt((nu - 2) / nu) * rng.standard_t(nu, size=shape)


# By the names of the command line.
DISTRIBUTIONS: dict[str, Callable[[int], _Product]] = {
    "gaussian": Gaussian,
    "laplace": Laplace,
    "logistic": Logistic,
    "uniform": Uniform,
    "exponential": Exponential,
    "student-t": StudentT,
    "student-t-3": partial(StudentT, degrees_of_freedom=3),
    "student-t-2.5": partial(StudentT, degrees_of_freedom=2.5),
    "student-t-2.1": partial(StudentT, degrees_of_freedom=2.1),
}
