"""Tables as sources of instances, and the source for whatever a caller has."""

from collections.abc import Iterable, Iterator, Mapping, Set
from itertools import chain, islice
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from thresher.geometry import Band
from thresher.oracles.requests import Draw, DrawRequest, IdArray
from thresher.oracles.sources import InstanceSource
from thresher.oracles.streams import StreamPool
from thresher.validation import Rows, check_rows, check_switch, generator_from

_BLOCK_ENTRIES = 2**22  # bounds the temporary copies


class ArrayPool:
    """A finite pool of rows: a NumPy array, a sparse matrix or a data frame.

    Departure: the paper draws from a distribution. Every request scans the pool in a fresh random
    order until it has found its rows, so it returns them uniformly without replacement, and the
    same rows come back in later phases. An id is a row number: a row that comes back has the same
    id, and its label is paid once.

    Parameters
    ----------
    X : array, SciPy sparse matrix or data frame of shape (n, d), finite numbers
    random_state : seed or `np.random.Generator` of the scanning orders
    reuse_rows : let later requests draw the same rows again; without it every row is drawn once,
        whether a band rejects it or not, until none is left

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

    def __init__(
        self,
        X: object,
        *,
        random_state: int | np.random.Generator | None = None,
        reuse_rows: bool = True,
    ) -> None:
        self._rows: Rows = check_rows(X, "X")
        self._rng = generator_from(random_state)
        self.n_rows = int(self._rows.shape[0])
        self.n_features = int(self._rows.shape[1])
        self._reuse_rows = check_switch(reuse_rows, "reuse_rows")
        self._is_used = np.zeros(self.n_rows, dtype=np.bool_)

    def draw(self, request: DrawRequest) -> Draw:
        """Up to `request.n_rows` rows in the band; fewer when the pool holds no more of them.

        `n_drawn` counts the rows scanned up to the last one returned, or the whole pool.
        """
        request.require_features(self.n_features)
        before = self._rng.bit_generator.state
        try:
            order = self._rng.permutation(self.n_rows)
            order = order[~self._is_used[order]][: request.max_draws]
            found = np.flatnonzero(_is_inside(self._rows, request.band)[order])[: request.n_rows]
            n_drawn = int(found[-1]) + 1 if found.size == request.n_rows else order.size
            ids = order[found].astype(np.int64)
            draw = Draw(ids=ids, X=self._rows[ids], n_drawn=n_drawn)
        except BaseException:  # an interrupted draw did not happen: the next one scans as it would
            self._rng.bit_generator.state = before
            raise
        self._is_used[order[: 0 if self._reuse_rows else n_drawn]] = True
        return draw

    def take(self, ids: IdArray) -> Rows:
        """The rows of these ids."""
        return self._rows[ids]


class Table(Protocol):
    """Rows by their positions: an array, a CSR matrix, or what makes such rows when asked."""

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and of features."""

    def __getitem__(self, positions: Any, /) -> Rows:
        """The rows at these positions, an array of indices or a slice."""


class WholeTable:
    """A table whose every row in the band is drawn, in order: for rows that come with labels.

    Nothing is checked or copied; a draw of all rows is the table itself.

    Examples
    --------
    >>> from thresher.geometry import Band
    >>> table = WholeTable(np.array([[0.1, 5.0], [2.0, 1.0], [-0.2, 3.0]]))
    >>> band = Band(normal=np.array([1.0, 0.0]), width=0.5)
    >>> table.draw(DrawRequest(n_rows=5, band=band)).ids
    array([0, 2])
    """

    def __init__(self, rows: Table) -> None:
        self._rows = rows
        self.n_features = int(rows.shape[1])

    def draw(self, request: DrawRequest) -> Draw:
        """The first `request.n_rows` rows in the band; the whole table counts as drawn."""
        n_rows = self._rows.shape[0]
        ids = np.flatnonzero(_is_inside(self._rows, request.band))[: request.n_rows]
        X = self._rows[:] if ids.size == n_rows else self._rows[ids]
        return Draw(ids=ids, X=X, n_drawn=n_rows)


def _is_inside(rows: Table, band: Band) -> NDArray[np.bool_]:
    """Which rows lie in the band, looking at no more than a block of a large table at a time."""
    n_rows, n_features = rows.shape
    if not band.normal.any():
        return np.ones(n_rows, dtype=np.bool_)
    step = max(1, _BLOCK_ENTRIES // n_features)
    return np.concatenate([band.admits(rows[i : i + step]) for i in range(0, n_rows, step)])


def as_instance_source(
    pool: object,
    *,
    random_state: int | np.random.Generator | None = None,
    first_id: int = 0,
    n_features: int | None = None,
) -> InstanceSource:
    """An instance source over whatever holds the rows.

    An instance source is passed through; an array, a nested list, a sparse matrix or a data frame
    becomes an `ArrayPool`; any other iterable becomes a `StreamPool`.

    Parameters
    ----------
    pool : the rows, or where they come from
    random_state : seed of the scanning order, used when an `ArrayPool` is made
    first_id : where ids begin, used when a `StreamPool` is made
    n_features : length of a row of an iterator that may have ended; otherwise its first row tells

    Raises
    ------
    TypeError : none of these

    Examples
    --------
    >>> type(as_instance_source([[1.0, 2.0], [3.0, 4.0]])).__name__
    'ArrayPool'
    >>> type(as_instance_source(row for row in [[1.0, 2.0]])).__name__
    'StreamPool'
    """
    # Classes have the attributes of their instances, so they would pass for sources.
    if isinstance(pool, InstanceSource) and not isinstance(pool, type):
        return pool
    if sp.issparse(pool) or hasattr(pool, "__array__") or isinstance(pool, (list, tuple)):
        return ArrayPool(pool, random_state=random_state)
    if isinstance(pool, Iterable) and not isinstance(pool, (str, bytes, Mapping, Set)):
        rows: Iterator[Any] = iter(pool)
        first = list(islice(rows, 1))
        if not first and n_features is not None:
            return StreamPool((), first_id=first_id, n_features=n_features)
        return StreamPool(chain(first, rows), first_id=first_id)
    raise TypeError(
        "pool must be an array, a sparse matrix, a data frame, an iterator of rows or an object "
        f"with n_features and draw(request), got {type(pool).__name__}"
    )
