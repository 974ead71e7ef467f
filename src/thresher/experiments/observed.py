"""The oracle as a learner meets it, observed: what was dirty, what it cost, how long it took."""

from __future__ import annotations

import time
from collections import Counter

import numpy as np

from thresher.errors import BudgetExceeded
from thresher.oracles import Draw, DrawRequest, IdArray
from thresher.simulate import MaliciousOracle
from thresher.validation import FloatArray


class Stopwatch:
    """Adds up the time spent inside its `with` blocks."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._start = 0.0

    def __enter__(self) -> None:
        self._start = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self.seconds += time.perf_counter() - self._start


class ObservedOracle:
    """Passes the oracle's rows and labels on to a learner, and hides who made them.

    For each phase it counts the dirty rows and the dirty labels, and it measures the time that the
    oracle itself takes.

    Parameters
    ----------
    oracle : its rows and labels are passed on unchanged
    label_budget : maximum number of distinct labels; None for no limit

    Raises
    ------
    BudgetExceeded : a request exceeds the budget; none of its labels is paid

    Examples
    --------
    >>> from thresher.geometry import Band
    >>> from thresher.simulate import Gaussian, LabelFlip
    >>> oracle = MaliciousOracle(distribution=Gaussian(2), target=[1.0, 0.0], noise_rate=0.5,
    ...                          adversary=LabelFlip(), random_state=0)
    >>> observed = ObservedOracle(oracle, label_budget=1)
    >>> draw = observed.draw(DrawRequest(n_rows=1000, band=Band(np.zeros(2), np.inf)))
    >>> 0.4 < observed.dirty_rows(phase=1) < 0.6
    True
    >>> observed.reveal(draw.ids[:2])
    Traceback (most recent call last):
    thresher.errors.BudgetExceeded: 2 labels are needed, but the budget has only 1 left; ...
    """

    def __init__(self, oracle: MaliciousOracle, label_budget: int | None = None) -> None:
        self.n_features = oracle.n_features
        self.clock = Stopwatch()
        self._oracle, self._label_budget = oracle, label_budget
        self._paid: set[int] = set()
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
        """What the oracle reveals, within the budget."""
        if self._label_budget is not None:
            self._pay(ids, self._label_budget)
        with self.clock:
            labels = self._oracle.reveal(ids)
            self._n_labels[self._phase] += int(ids.size)
            self._n_dirty_labels[self._phase] += self._count_dirty(ids)
        return labels

    def _pay(self, ids: IdArray, budget: int) -> None:
        n_paid, wanted = len(self._paid), self._paid.union(np.asarray(ids).tolist())
        if len(wanted) > budget:
            raise BudgetExceeded(
                "labels",
                n_asked=len(wanted) - n_paid,
                n_left=budget - n_paid,
                kept=f"{n_paid} labels were paid",
            )
        self._paid = wanted

    # -- what the experiment asks ------------------------------------------------------------

    def band_width(self, *, phase: int) -> float:
        """The width of the band that rows were drawn in; infinite in the first phase."""
        return self._widths[phase]

    def dirty_rows(self, *, phase: int) -> float | None:
        """The dirty share of the rows drawn in the phase's band; None without rows."""
        return _share(self._n_dirty_rows[phase], self._n_rows[phase])

    def dirty_weight(self, ids: IdArray, weights: FloatArray) -> float | None:
        """The dirty share of the weight of these rows; None without weight."""
        dirty = float(weights[~self._oracle.is_clean(ids)].sum())
        return _share(dirty, float(weights.sum()))

    def dirty_labels(self, *, phase: int | None = None) -> float | None:
        """The dirty share of the labels bought in a phase, or in all phases; None without any."""
        if phase is None:
            return _share(self._n_dirty_labels.total(), self.n_queries)
        return _share(self._n_dirty_labels[phase], self._n_labels[phase])

    @property
    def n_queries(self) -> int:
        """The number of labels requested, counting repetitions."""
        return self._n_labels.total()

    def _count_dirty(self, ids: IdArray) -> int:
        return int(np.count_nonzero(~self._oracle.is_clean(ids)))


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None
