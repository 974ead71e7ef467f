"""The rows of a phase: pruned (line 6), sampled by weight (line 8), labeled, and kept for later."""

from dataclasses import dataclass

import numpy as np

from thresher.geometry import Band
from thresher.oracles import Draw, IdArray
from thresher.solvers.scaling import largest_entries
from thresher.validation import FloatArray, Rows, stack_rows


@dataclass(frozen=True, eq=False)
class Pool:
    """The rows that outlier removal looks at, with their ids (the paper's T)."""

    ids: IdArray
    X: Rows

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return int(self.ids.size)


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows drawn with replacement: each distinct one with the number of times it was drawn."""

    ids: IdArray
    X: Rows
    counts: FloatArray


def prune(drawn: Draw, max_abs_entry: float) -> Pool:
    """The rows without an entry beyond the pruning radius (Algorithm 1, line 6).

    Examples
    --------
    >>> drawn = Draw(ids=[7, 8], X=[[0.5, 1.0], [40.0, 0.0]], n_drawn=2)
    >>> prune(drawn, max_abs_entry=5.0).ids
    array([7])
    """
    kept = np.flatnonzero(largest_entries(drawn.X) <= max_abs_entry) if drawn.n_rows else ()
    if len(kept) == drawn.n_rows:
        return Pool(drawn.ids, drawn.X)
    return Pool(drawn.ids[kept], drawn.X[kept])


def sample_by_weight(
    pool: Pool, weights: FloatArray, n_queries: int | None, rng: np.random.Generator
) -> Sample:
    """Rows drawn independently, with replacement, with probabilities proportional to weights.

    Algorithm 1, line 8.

    Departure: without a number of queries, every row of positive weight is returned with its weight
    as its count, for labels that cost nothing.

    Examples
    --------
    >>> pool = Pool(np.array([4, 5]), np.eye(2))
    >>> sample_by_weight(pool, np.array([0.0, 1.0]), 3, np.random.default_rng(0)).counts
    array([3.])
    """
    if n_queries is None:
        counts = weights
    elif n_queries < 2**62:
        counts = rng.multinomial(n_queries, weights / weights.sum()).astype(np.float64)
    else:
        raise ValueError(f"n_queries must be below 2**62, got {n_queries}")
    chosen = np.flatnonzero(counts)
    return Sample(pool.ids[chosen], pool.X[chosen], counts[chosen])


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
    return LabeledRows(
        stack_rows([part.X for part in parts]),
        np.concatenate([part.y for part in parts]),
        np.concatenate([part.weights for part in parts]),
        parts[-1].n_fresh,
        parts[-1].n_new,
    )
