"""What an adversary sees, the one method it has, and the parts that attacks are built from.

An attack whose direction changed from block to block would average itself away. So every direction
and decoy here is a function of the target (and a fixed seed), not of the random stream.
"""

from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from thresher.simulate.conditional import Distribution
from thresher.validation import FloatArray, check_positive

Corrupted: TypeAlias = tuple[FloatArray, FloatArray]  # rows and their labels

_DECOY_SEED = 20_200  # any fixed number; it only has to be the same at every call
_ROWS_TO_HIDE_AMONG = 10_000


@dataclass(frozen=True, eq=False)
class PastDraw:
    """The rows of an earlier request, as the learner got them, and what they are.

    Parameters
    ----------
    phase : number of the phase that drew them
    X, labels : the rows in the band and the labels fixed for them, read-only
    is_clean : which of them the distribution drew
    is_revealed : whose labels the learner has seen by now
    """

    phase: int
    X: FloatArray
    labels: FloatArray
    is_clean: NDArray[np.bool_]
    is_revealed: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class View:
    """Everything there is to know at the moment of a draw; the paper's adversary sees it all.

    Parameters
    ----------
    target : the hidden halfspace, unit norm
    distribution : where clean rows come from
    noise_rate : probability that a draw is dirty
    n_features : length of a row
    halfspace : the learner's current halfspace; zeros until the first phase ends
    band_width : rows farther than this from the current halfspace are rejected; `inf` in phase 1
    max_abs_entry : the learner drops rows with a larger entry; `inf` if it drops none
    phase : number of the phase, ≥ 1
    phase_record : the learner's whole record of the phase, if it has one
    past : one `PastDraw` for each earlier request. Rows take memory, so only an adversary with an
        attribute `remembers = True` is shown them; for others it is empty
    """

    target: FloatArray
    distribution: Distribution
    noise_rate: float
    n_features: int
    halfspace: FloatArray
    band_width: float
    max_abs_entry: float
    phase: int
    phase_record: object | None
    past: tuple[PastDraw, ...] = ()


@runtime_checkable
class Adversary(Protocol):
    """Anything that makes dirty rows when the oracle asks for them.

    Examples
    --------
    >>> class Mirror:
    ...     def corrupt(self, n_rows, view, rng):
    ...         rows = view.distribution.sample(n_rows, rng)
    ...         return rows, np.where(rows @ view.target >= 0, -1.0, 1.0)
    >>> isinstance(Mirror(), Adversary)
    True
    """

    def corrupt(self, n_rows: int, view: View, rng: Generator) -> Corrupted:
        """Rows of shape (n_rows, view.n_features) and a label of -1 or +1 for each."""
        ...  # pragma: no cover


def check_adversary(adversary: object) -> Adversary:
    """The adversary, or a `TypeError` if it is not an object with a `corrupt` method."""
    if isinstance(adversary, type) or not isinstance(adversary, Adversary):
        raise TypeError(
            f"adversary must be an object with corrupt(n_rows, view, rng), got {adversary!r}"
        )
    return adversary


@dataclass(frozen=True)
class StrengthAdversary:
    """Base of the adversaries that can be made stronger or weaker: a positive `strength`."""

    strength: float

    def __post_init__(self) -> None:
        check_positive(self.strength, "strength")


class PatternAdversary(StrengthAdversary):
    """Base of the attacks that plant one pattern, with the sign of a fair label, in clean rows."""

    def pattern(self, view: View) -> FloatArray:
        """The pattern of a positive row; where it is zero, rows stay clean."""
        raise NotImplementedError

    def planted(self, _clean: FloatArray, signed: FloatArray) -> FloatArray:
        """The entries on the pattern's features, from the clean ones and label·pattern."""
        return signed

    def corrupt(self, n_rows: int, view: View, rng: Generator) -> Corrupted:
        """Rows with the pattern, and fair labels."""
        y = random_labels(n_rows, rng)
        X = view.distribution.sample(n_rows, rng)
        pattern = self.pattern(view)
        features = np.flatnonzero(pattern)
        X[:, features] = self.planted(X[:, features], np.outer(y, pattern[features]))
        return X, y


def orthogonal_on_support(target: FloatArray) -> FloatArray:
    """A unit vector orthogonal to the target that uses only the target's features.

    For a target with a single feature, one that it does not use joins it. If there is only one
    feature in total, nothing is orthogonal and the answer is zero.

    Examples
    --------
    >>> u = orthogonal_on_support(np.array([0.6, 0.0, 0.8]))
    >>> np.abs(u).round(12)
    array([0.8, 0. , 0.6])
    """
    features = np.flatnonzero(target)
    if features.size == 1:
        features = np.append(features, decoy_features(target, n_decoys=1))
    rng = np.random.default_rng(_DECOY_SEED)
    direction = np.zeros_like(target)
    direction[features] = rng.standard_normal(features.size)
    direction -= float((direction @ target) / (target @ target)) * target
    return direction / np.linalg.norm(direction) if features.size > 1 else np.zeros_like(target)


def decoy_features(target: FloatArray, n_decoys: int | None = None) -> NDArray[np.intp]:
    """Features that the target does not use: by default as many as it uses, if there are enough.

    Examples
    --------
    >>> decoy_features(np.array([1.0, 1.0, 0.0, 0.0]))
    array([2, 3])
    """
    unused = np.flatnonzero(target == 0)
    wanted = np.flatnonzero(target).size if n_decoys is None else n_decoys
    rng = np.random.default_rng(_DECOY_SEED)
    return np.sort(rng.permutation(unused)[:wanted])


def decoy_direction(target: FloatArray) -> FloatArray:
    """The flat unit vector on the decoy features, 1_J/√|J|; zero if the target uses everything.

    Examples
    --------
    >>> decoy_direction(np.array([1.0, 0.0]))
    array([0., 1.])
    """
    direction, decoys = np.zeros_like(target), decoy_features(target)
    direction[decoys] = 1 / np.sqrt(max(decoys.size, 1))
    return direction


def random_labels(n_rows: int, rng: Generator) -> FloatArray:
    """Fair labels of -1 and +1."""
    return np.where(rng.integers(0, 2, size=n_rows) == 0, -1.0, 1.0)


def set_along(rows: FloatArray, direction: FloatArray, values: FloatArray) -> None:
    """Change the rows, in place, so that direction·x is the given value, and nothing else.

    x ← x + (value − direction·x)·direction/‖direction‖²

    Examples
    --------
    >>> rows = np.array([[5.0, 1.0]])
    >>> set_along(rows, np.array([2.0, 0.0]), np.array([3.0]))
    >>> rows
    array([[1.5, 1. ]])
    """
    features = np.flatnonzero(direction)
    part = direction[features]
    shift = (values - rows[:, features] @ part) / (part @ part)
    rows[:, features] += np.outer(shift, part)


def entry_radius(view: View) -> float:
    """The largest entry that is sure to pass: the pruning radius, or a finite substitute.

    A feature of an isotropic log-concave distribution exceeds t with probability at most
    exp(1 − t). So 1 + log(10,000·d) is about the largest entry of 10,000 clean rows, and the least
    radius that a learner who prunes could choose.
    """
    if np.isfinite(view.max_abs_entry):
        return view.max_abs_entry
    return float(1 + np.log(_ROWS_TO_HIDE_AMONG * view.n_features))


def place_in_band(rows: FloatArray, view: View, rng: Generator, inner_share: float = 1.0) -> None:
    """Move the rows, in place, along the current halfspace to a uniform position in its band.

    `inner_share` is the part of the band, around its middle, in which they end. Without a band
    (phase 1) nothing moves. The outermost billionth of the band stays free, so that
    rounding pushes no row out.
    """
    if np.isfinite(view.band_width) and view.halfspace.any():
        width = inner_share * view.band_width * (1 - 1e-9)
        places = rng.uniform(-width, width, size=rows.shape[0])
        set_along(rows, view.halfspace, np.asarray(places))
