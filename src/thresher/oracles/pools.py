"""A table held in memory as a source of instances."""

from __future__ import annotations

import numpy as np

from thresher.oracles.requests import Draw, DrawRequest, IdArray
from thresher.validation import Rows, check_rows, generator_from

_ROWS_PER_BLOCK = 65_536  # bounds the temporary copies that sparse slices make


class ArrayPool:
    """A finite pool of rows: a NumPy array, a sparse matrix or a data frame.

    Departure: the paper draws from a distribution. Every request scans the pool in a fresh random
    order until it has found its rows, so it returns them uniformly without replacement. An id is a
    row number: a row that comes back in a later phase has the same id, and its label is paid once.

    Parameters
    ----------
    X : array, SciPy sparse matrix or data frame of shape (n, d), finite numbers
    random_state : seed or `np.random.Generator` of the scanning orders

    Examples
    --------
    >>> from thresher.geometry import Band
    >>> pool = ArrayPool([[0.1, 5.0], [2.0, 1.0], [-0.2, 3.0]], random_state=0)
    >>> band = Band(normal=np.array([1.0, 0.0]), width=0.5)
    >>> draw = pool.draw(DrawRequest(n_rows=5, band=band))
    >>> sorted(draw.ids.tolist()), draw.n_drawn
    ([0, 2], 3)
    """

    is_replayable = True  # a pool of the same table and seed draws the same rows again

    def __init__(self, X: object, *, random_state: int | np.random.Generator | None = None) -> None:
        self._rows: Rows = check_rows(X, "X")
        self._rng = generator_from(random_state)
        self.n_rows = int(self._rows.shape[0])
        self.n_features = int(self._rows.shape[1])

    def draw(self, request: DrawRequest) -> Draw:
        """Up to `request.n_rows` rows in the band; fewer when the pool holds no more of them.

        `n_drawn` counts the rows scanned up to the last one returned, or the whole pool.
        """
        request.require_features(self.n_features)
        before = self._rng.bit_generator.state
        try:
            order = self._rng.permutation(self.n_rows)[: request.max_draws]
            found = np.flatnonzero(self._admitted(request)[order])[: request.n_rows]
            n_drawn = int(found[-1]) + 1 if found.size == request.n_rows else order.size
            ids = order[found].astype(np.int64)
            return Draw(ids=ids, X=self._rows[ids], n_drawn=n_drawn)
        except BaseException:  # an interrupted draw did not happen: the next one scans as it would
            self._rng.bit_generator.state = before
            raise

    def take(self, ids: IdArray) -> Rows:
        """The rows of these ids."""
        return self._rows[ids]

    def _admitted(self, request: DrawRequest) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        if not request.band.normal.any():
            return np.ones(self.n_rows, dtype=np.bool_)
        starts = range(0, self.n_rows, _ROWS_PER_BLOCK)
        return np.concatenate(
            [request.band.admits(self._rows[i : i + _ROWS_PER_BLOCK]) for i in starts]
        )
