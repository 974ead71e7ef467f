"""Labels that were paid for, kept so that later phases can use those that fall in their band."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from thresher.geometry import Band
from thresher.learning.sampling import Sample
from thresher.validation import FloatArray, Rows, is_sparse


@dataclass(frozen=True, eq=False)
class LabeledRows:
    """Rows with labels and the weight that each carries in the hinge loss.

    Parameters
    ----------
    X, y, weights : rows, labels of -1 and +1, and how often each row was drawn
    n_fresh : how many of them, at the end, belong to the current phase
    n_new : how many of those had never been asked for before
    """

    X: Rows
    y: FloatArray
    weights: FloatArray
    n_fresh: int
    n_new: int = 0

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return int(self.y.size)

    @property
    def mean_direction(self) -> FloatArray:
        """The weighted mean of y·x."""
        signed = self.y * self.weights / self.weights.sum()
        return np.asarray(self.X.T @ signed).ravel()

    def fresh_error(self, halfspace: FloatArray) -> float:
        """Share of the current phase's draws that a halfspace gets wrong; NaN for the zero one."""
        if not halfspace.any():
            return float("nan")
        fresh = slice(self.n_rows - self.n_fresh, None)
        wrong = np.sign(self.X[fresh] @ halfspace) != self.y[fresh]
        return float(np.average(wrong, weights=self.weights[fresh]))


class ExampleStore:
    """Every labeled sample of a run, phase by phase.

    Departure: the paper fits each phase to its own labels alone. With `reuse`, labels of earlier
    phases whose rows lie in the current band count again, each with the count it was drawn with:
    its phase's trust weights have already decided how often that was.
    """

    def __init__(self, reuse: bool) -> None:
        self._reuse = reuse
        self._earlier: list[LabeledRows] = []
        self._asked: set[int] = set()

    def add(self, sample: Sample, labels: FloatArray, band: Band) -> LabeledRows:
        """Keep a labeled sample; return the rows to fit, earlier ones in the band first."""
        n_before = len(self._asked)
        self._asked.update(sample.ids.tolist())
        n_new = len(self._asked) - n_before
        fresh = LabeledRows(sample.X, labels, sample.counts, labels.size, n_new)
        reused = [self._inside(rows, band) for rows in self._earlier]
        if self._reuse:
            self._earlier.append(fresh)
        return _stack([rows for rows in reused if rows.n_rows] + [fresh])

    @staticmethod
    def _inside(rows: LabeledRows, band: Band) -> LabeledRows:
        kept = np.flatnonzero(band.admits(rows.X))
        return LabeledRows(rows.X[kept], rows.y[kept], rows.weights[kept], n_fresh=0, n_new=0)


def _stack(parts: list[LabeledRows]) -> LabeledRows:
    """Several sets of labeled rows as one; the last is the fresh one."""
    if len(parts) == 1:
        return parts[0]
    rows: Rows = (sp.vstack if is_sparse(parts[0].X) else np.concatenate)([p.X for p in parts])
    return LabeledRows(
        rows.tocsr() if is_sparse(rows) else rows,
        np.concatenate([part.y for part in parts]),
        np.concatenate([part.weights for part in parts]),
        parts[-1].n_fresh,
        parts[-1].n_new,
    )
