"""Pruning (line 6) and random sampling by weight (line 8)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thresher.oracles import Draw, IdArray
from thresher.solvers.scaling import largest_entries
from thresher.validation import FloatArray, Rows


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
    if drawn.n_rows == 0:
        return Pool(drawn.ids, drawn.X)
    kept = np.flatnonzero(largest_entries(drawn.X) <= max_abs_entry)
    if kept.size == drawn.n_rows:
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
