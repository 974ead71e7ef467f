"""Blocks of consecutive draws of which an adversary owns a random share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.errors import AdversaryError
from thresher.geometry import Band
from thresher.simulate.conditional import Distribution, sample_in_band
from thresher.simulate.disagreement import classify
from thresher.simulate.views import Adversary, View
from thresher.validation import FloatArray, check_labels, check_rows

_DIRTY_ENTRIES_PER_BLOCK = 2**23  # 64 MB: an adversary builds whole rows, rejected ones too


@dataclass(frozen=True, eq=False)
class Block:
    """The kept rows of consecutive draws, in the order of the draws.

    Examples
    --------
    >>> block = Block(X=np.eye(2), labels=np.ones(2), is_clean=np.array([True, False]),
    ...               positions=np.array([3, 8]), n_drawn=10)
    >>> block.n_rows, block.first(1).n_drawn
    (2, 4)
    """

    X: FloatArray
    labels: FloatArray
    is_clean: NDArray[np.bool_]
    positions: NDArray[np.int64]  # which of the draws each kept row was
    n_drawn: int

    @property
    def n_rows(self) -> int:
        """How many rows were kept."""
        return int(self.labels.size)

    def first(self, n_rows: int) -> Block:
        """The block as if drawing had stopped with the `n_rows`-th kept row."""
        if self.n_rows < n_rows:
            return self
        return Block(
            X=self.X[:n_rows],
            labels=self.labels[:n_rows],
            is_clean=self.is_clean[:n_rows],
            positions=self.positions[:n_rows],
            n_drawn=int(self.positions[n_rows - 1]) + 1,
        )


class Mixture:
    """Clean rows with their true labels, and the adversary's rows, in random order.

    Clean and dirty rows have random streams of their own.

    Examples
    --------
    >>> from thresher.simulate import Gaussian
    >>> mixture = Mixture(Gaussian(2), np.array([1.0, 0.0]), 0.0, None, np.random.default_rng(0))
    >>> band = Band(normal=np.zeros(2), width=np.inf)
    >>> mixture.draw_block(3, view=None, band=band).n_rows
    3
    """

    def __init__(
        self,
        distribution: Distribution,
        target: FloatArray,
        noise_rate: float,
        adversary: Adversary | None,
        rng: np.random.Generator,
    ) -> None:
        self._distribution = distribution
        self._target = target
        self._noise_rate = noise_rate
        self._adversary = adversary
        self._rng, self._adversary_rng = rng.spawn(2)

    @property
    def max_block(self) -> int:
        """How many draws a block may hold so that its dirty rows fit in memory."""
        dirty_entries_per_draw = self._noise_rate * self._distribution.n_features
        return int(_DIRTY_ENTRIES_PER_BLOCK / max(dirty_entries_per_draw, 1e-9)) + 1

    def draw_block(self, n_drawn: int, view: View | None, band: Band) -> Block:
        """What is kept of `n_drawn` draws, each of them dirty with the noise rate.

        Draws are independent and the adversary does not know which of them are its own, so every
        order is equally likely: the kept rows get random positions among the draws.
        """
        n_dirty = int(self._rng.binomial(n_drawn, self._noise_rate))
        clean = sample_in_band(self._distribution, n_drawn - n_dirty, band, self._rng)
        dirty, dirty_labels = self._corrupt(n_dirty, view, band)
        n_clean, n_rows = clean.shape[0], clean.shape[0] + dirty.shape[0]
        slots = self._rng.permutation(n_rows)
        X, labels = np.empty((n_rows, band.normal.size)), np.empty(n_rows)
        X[slots[:n_clean]], X[slots[n_clean:]] = clean, dirty
        labels[slots[:n_clean]] = classify(clean, self._target)
        labels[slots[n_clean:]] = dirty_labels
        is_clean = np.ones(n_rows, dtype=np.bool_)
        is_clean[slots[n_clean:]] = False
        positions = np.sort(self._rng.choice(n_drawn, size=n_rows, replace=False))
        return Block(X=X, labels=labels, is_clean=is_clean, positions=positions, n_drawn=n_drawn)

    def _corrupt(self, n_rows: int, view: View | None, band: Band) -> tuple[FloatArray, FloatArray]:
        if n_rows == 0 or view is None or self._adversary is None:
            return np.zeros((0, band.normal.size)), np.zeros(0)
        answer = self._adversary.corrupt(n_rows, view, self._adversary_rng)
        X, y = check_corrupted(answer, n_rows, view.n_features, type(self._adversary).__name__)
        inside = band.admits(X)
        return X[inside], y[inside]


def check_corrupted(
    answer: Any, n_rows: int, n_features: int, name: str
) -> tuple[FloatArray, FloatArray]:
    """An adversary's rows and labels as dense arrays, or an error that names the adversary.

    Examples
    --------
    >>> check_corrupted((np.zeros((1, 2)), [0.5]), 1, 2, "Careless")
    Traceback (most recent call last):
    thresher.errors.AdversaryError: the adversary Careless ... y must be -1 or +1, but y[0] is 0.5
    """
    try:
        X, y = answer
        rows = check_rows(X, "X")
        labels = check_labels(y, "y", length=n_rows)
    except (TypeError, ValueError) as error:
        raise AdversaryError(name, str(error)) from error
    if rows.shape != (n_rows, n_features):
        raise AdversaryError(name, f"X must have shape {(n_rows, n_features)}, got {rows.shape}")
    dense: FloatArray = rows if isinstance(rows, np.ndarray) else rows.toarray()
    return dense, labels
