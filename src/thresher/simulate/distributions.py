"""Isotropic distributions with independent features: mean zero, identity covariance.

All but `StudentT` are log-concave, the family for which the paper's guarantees hold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from thresher.geometry import Band
from thresher.simulate.conditional import within_band
from thresher.simulate.disagreement import (
    ErrorEstimate,
    angle_between,
    check_halfspaces,
    estimate_disagreement,
)
from thresher.validation import FloatArray, check_count, check_number, generator_from


@dataclass(frozen=True)
class _Product:
    """Rows with independent, identically distributed features of mean 0 and variance 1."""

    n_features: int
    is_log_concave: ClassVar[bool] = True
    is_symmetric: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_count(self.n_features, "n_features")

    def _entries(self, shape: tuple[int, int], rng: np.random.Generator) -> FloatArray:
        raise NotImplementedError

    def sample(self, n_rows: int, rng: np.random.Generator) -> FloatArray:
        """An array of `n_rows` independent rows, shape (n_rows, n_features)."""
        n_rows = check_count(n_rows, "n_rows", minimum=0)
        return self._entries((n_rows, self.n_features), generator_from(rng, "rng"))

    def sample_features(
        self, n_rows: int, features: NDArray[np.intp], rng: np.random.Generator
    ) -> FloatArray:
        """The given features of `n_rows` independent rows, without drawing the others."""
        return self._entries((n_rows, features.size), rng)

    def estimate_error(
        self,
        w: object,
        target: object,
        *,
        n_rows: int = 200_000,
        random_state: int | np.random.Generator = 0,
    ) -> ErrorEstimate:
        """How often `w` classifies a row unlike `target`, and the standard error of that number.

        Estimated from `n_rows` fresh rows (exact for the Gaussian). The default seed is fixed, so
        that the same halfspaces get the same number.
        """
        w, target = check_halfspaces(w, target, self.n_features)
        return estimate_disagreement(self, w, target, n_rows=n_rows, random_state=random_state)

    def error_rate(
        self,
        w: object,
        target: object,
        *,
        n_rows: int = 200_000,
        random_state: int | np.random.Generator = 0,
    ) -> float:
        """How often `w` classifies a row unlike `target`; `estimate_error` says how precisely."""
        return self.estimate_error(w, target, n_rows=n_rows, random_state=random_state).value


class Gaussian(_Product):
    """Standard normal rows; the only one of these that looks the same in every direction.

    Examples
    --------
    >>> rows = Gaussian(3).sample(2, np.random.default_rng(0))
    >>> rows.shape
    (2, 3)
    >>> Gaussian(2).error_rate([1.0, 1.0], target=[1.0, 0.0])  # 45 of 180 degrees
    0.25
    """

    def _entries(self, shape: tuple[int, int], rng: np.random.Generator) -> FloatArray:
        return rng.standard_normal(shape)

    def sample_in_band(self, n_candidates: int, band: Band, rng: np.random.Generator) -> FloatArray:
        """Those of a number of independent rows that lie in the band.

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

    def estimate_error(
        self,
        w: object,
        target: object,
        *,
        n_rows: int = 200_000,  # noqa: ARG002 - nothing has to be sampled
        random_state: int | np.random.Generator = 0,  # noqa: ARG002
    ) -> ErrorEstimate:
        """How often `w` classifies a row unlike `target`: their angle over π, exactly."""
        w, target = check_halfspaces(w, target, self.n_features)
        if not w.any():  # every row is called positive
            return ErrorEstimate(value=0.5, standard_error=0.0)
        return ErrorEstimate(value=angle_between(w, target) / np.pi, standard_error=0.0)


class Laplace(_Product):
    """Rows of double-exponential features, heavier in the tails than the Gaussian.

    Examples
    --------
    >>> Laplace(3).sample(2, np.random.default_rng(0)).shape
    (2, 3)
    """

    def _entries(self, shape: tuple[int, int], rng: np.random.Generator) -> FloatArray:
        return rng.laplace(scale=np.sqrt(0.5), size=shape)


class Logistic(_Product):
    """Rows of logistic features, between the Gaussian and the Laplace distribution.

    Examples
    --------
    >>> Logistic(3).sample(2, np.random.default_rng(0)).shape
    (2, 3)
    """

    def _entries(self, shape: tuple[int, int], rng: np.random.Generator) -> FloatArray:
        return rng.logistic(scale=np.sqrt(3) / np.pi, size=shape)


class Uniform(_Product):
    """Rows from the cube of side 2√3 around the origin: bounded features.

    Examples
    --------
    >>> bool(abs(Uniform(3).sample(9, np.random.default_rng(0))).max() <= 3**0.5)
    True
    """

    def _entries(self, shape: tuple[int, int], rng: np.random.Generator) -> FloatArray:
        entries = rng.random(shape)
        entries -= 0.5
        entries *= 2 * np.sqrt(3)
        return entries


class Exponential(_Product):
    """Rows of one-sided exponential features moved to mean zero: not symmetric, all above -1.

    Examples
    --------
    >>> bool(Exponential(3).sample(9, np.random.default_rng(0)).min() >= -1)
    True
    """

    is_symmetric: ClassVar[bool] = False

    def _entries(self, shape: tuple[int, int], rng: np.random.Generator) -> FloatArray:
        entries = rng.standard_exponential(shape)
        entries -= 1
        return entries


@dataclass(frozen=True)
class StudentT(_Product):
    """Rows of Student-t features of variance 1: heavy tails, *not* log-concave.

    Outside what the paper promises; there to see what happens then.

    Parameters
    ----------
    n_features : length of a row
    degrees_of_freedom : above 2, so that the variance exists; small means heavy tails

    Examples
    --------
    >>> StudentT(3).is_log_concave, StudentT(3, degrees_of_freedom=5).degrees_of_freedom
    (False, 5)
    """

    degrees_of_freedom: float = 4
    is_log_concave: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if check_number(self.degrees_of_freedom, "degrees_of_freedom") <= 2:
            raise ValueError(
                "degrees_of_freedom must be greater than 2 for the variance to exist, "
                f"got {self.degrees_of_freedom}"
            )

    def _entries(self, shape: tuple[int, int], rng: np.random.Generator) -> FloatArray:
        nu = self.degrees_of_freedom
        entries: FloatArray = rng.standard_t(nu, size=shape)
        entries *= np.sqrt((nu - 2) / nu)
        return entries
