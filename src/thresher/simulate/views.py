"""What an adversary sees, and the one method it has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from thresher.simulate.conditional import Distribution
from thresher.validation import FloatArray


@dataclass(frozen=True, eq=False)
class View:
    """Everything there is to know at the moment of a draw; the paper's adversary sees it all.

    Parameters
    ----------
    target : the hidden halfspace, unit norm
    distribution : where clean rows come from
    noise_rate : probability that a draw is dirty
    n_features : length of a row
    halfspace : the learner's current halfspace; zeros before the first phase is over
    band_width : rows further than this from the current halfspace are rejected; `inf` in phase 1
    max_abs_entry : the learner drops rows with a larger entry; `inf` if it drops none
    phase : number of the phase, from 1
    phase_record : the learner's whole record of the phase, if it has one

    Examples
    --------
    >>> from thresher.simulate import Gaussian
    >>> target = np.array([0.6, 0.8, 0.0])
    >>> view = View(target=target, distribution=Gaussian(3), noise_rate=0.1, n_features=3,
    ...             halfspace=np.zeros(3), band_width=np.inf, max_abs_entry=np.inf, phase=1,
    ...             phase_record=None)
    >>> view.phase, view.noise_rate
    (1, 0.1)
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

    def corrupt(
        self, n_rows: int, view: View, rng: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        """Rows of shape (n_rows, view.n_features) and a label of -1 or +1 for each."""
        ...  # pragma: no cover
