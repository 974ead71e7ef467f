"""The laboratory's witness between the learner and the oracle: it sees what the learner may not."""

from __future__ import annotations

import time
from collections import Counter
from types import TracebackType

import numpy as np

from thresher.oracles import Draw, DrawRequest, IdArray
from thresher.simulate import MaliciousOracle
from thresher.validation import FloatArray


class Stopwatch:
    """Adds up the time spent inside its `with` blocks.

    Examples
    --------
    >>> clock = Stopwatch()
    >>> with clock:
    ...     pass
    >>> clock.seconds >= 0
    True
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._start = 0.0

    def __enter__(self) -> None:
        self._start = time.perf_counter()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.seconds += time.perf_counter() - self._start


class Witness:
    """The oracle as the learner meets it: rows and labels, and nothing about who made them.

    On the way it notes, for each phase, how many of the rows and of the bought labels are dirty,
    and how long the oracle itself took.

    Parameters
    ----------
    oracle : whose rows and labels are passed on unchanged

    Examples
    --------
    >>> from thresher.geometry import Band
    >>> from thresher.simulate import Gaussian, LabelFlip
    >>> witness = Witness(MaliciousOracle(distribution=Gaussian(2), target=[1.0, 0.0],
    ...                   noise_rate=0.5, adversary=LabelFlip(), random_state=0))
    >>> draw = witness.draw(DrawRequest(n_rows=1000, band=Band(np.zeros(2), np.inf)))
    >>> 0.4 < witness.dirty_rows(phase=1) < 0.6, witness.dirty_labels(phase=1) is None
    (True, True)
    """

    def __init__(self, oracle: MaliciousOracle) -> None:
        self.n_features = oracle.n_features
        self.clock = Stopwatch()
        self._oracle = oracle
        self._phase = 1
        self._widths: dict[int, float] = {}
        self._n_rows, self._n_dirty_rows = Counter[int](), Counter[int]()
        self._n_labels, self._n_dirty_labels = Counter[int](), Counter[int]()

    # -- what the learner calls --------------------------------------------------------------

    def draw(self, request: DrawRequest) -> Draw:
        """What the oracle draws."""
        with self.clock:
            draw = self._oracle.draw(request)
            self._phase = request.phase
            self._widths[request.phase] = float(request.band.width)
            self._n_rows[request.phase] += draw.n_rows
            self._n_dirty_rows[request.phase] += self._count_dirty(draw.ids)
        return draw

    def reveal(self, ids: IdArray) -> FloatArray:
        """What the oracle reveals."""
        with self.clock:
            labels = self._oracle.reveal(ids)
            self._n_labels[self._phase] += int(ids.size)
            self._n_dirty_labels[self._phase] += self._count_dirty(ids)
        return labels

    # -- what the laboratory asks ------------------------------------------------------------

    def band_width(self, *, phase: int) -> float:
        """The width of the band that rows were drawn in; infinite in the first phase."""
        return self._widths[phase]

    def dirty_rows(self, *, phase: int) -> float | None:
        """The dirty share of the rows drawn in the phase's band; None without rows."""
        return _share(self._n_dirty_rows[phase], self._n_rows[phase])

    def dirty_weight(self, ids: IdArray, weights: FloatArray) -> float | None:
        """The dirty share of the weight that these rows have; None without weight."""
        dirty = float(weights[~self._oracle.is_clean(ids)].sum())
        return _share(dirty, float(weights.sum()))

    def dirty_labels(self, *, phase: int | None = None) -> float | None:
        """The dirty share of the labels bought in the phase, or in all; None without labels."""
        if phase is None:
            return _share(self._n_dirty_labels.total(), self.n_queries)
        return _share(self._n_dirty_labels[phase], self._n_labels[phase])

    @property
    def n_queries(self) -> int:
        """How many labels were asked for, repetitions too."""
        return self._n_labels.total()

    def _count_dirty(self, ids: IdArray) -> int:
        return int(np.count_nonzero(~self._oracle.is_clean(ids)))


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None
