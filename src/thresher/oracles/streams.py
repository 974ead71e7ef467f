"""Rows that arrive one after another as a source of instances."""

import sys
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from thresher.oracles.requests import Draw, DrawRequest, check_ids
from thresher.validation import (
    FloatArray,
    Rows,
    check_count,
    check_labels,
    check_rows,
    check_vector,
    stack_rows,
)


class StreamPool:
    """A stream of rows, or of blocks of rows, read only as far as a request needs.

    Rows outside the band are counted and forgotten. Ids count the drawn rows. A refused
    item, or an error of the stream itself, ends the request: what it had drawn by then is lost,
    what it had only read comes with the next request.

    Parameters
    ----------
    iterable : yields rows (one-dimensional) or blocks (two-dimensional, dense or sparse)
    n_features : length of a row; by default the first item is looked at
    block_rows : single rows are tested together in blocks of at most this many; a block is never
        larger than what the request still lacks, so a live stream is not read ahead
    first_id : id of the first row; a stream that goes on where another stopped must not repeat ids

    Raises
    ------
    ValueError : an item is not finite or has another length; the message gives its position

    Examples
    --------
    >>> from thresher.geometry import Band
    >>> stream = StreamPool([float(i), 1.0] for i in range(10))
    >>> everything = Band(normal=np.zeros(2), width=np.inf)
    >>> stream.draw(DrawRequest(n_rows=3, band=everything)).ids
    array([0, 1, 2])
    >>> narrow = Band(normal=np.array([1.0, 0.0]), width=4.0)
    >>> draw = stream.draw(DrawRequest(n_rows=5, band=narrow))
    >>> draw.ids, draw.n_drawn
    (array([3, 4]), 7)
    """

    def __init__(
        self,
        iterable: Iterable[Any],
        *,
        n_features: int | None = None,
        block_rows: int = 4096,
        first_id: int = 0,
    ) -> None:
        if not isinstance(iterable, Iterable):
            raise TypeError(
                f"iterable must yield rows or blocks of rows, got {type(iterable).__name__}"
            )
        self._block_rows = check_count(block_rows, "block_rows")
        self._first_id = check_count(first_id, "first_id", minimum=0)
        self._items = iter(iterable)
        self._n_items = 0
        self._pending: Rows | None = None  # read from the stream, not drawn yet
        self._width: int | None = (
            None if n_features is None else check_count(n_features, "n_features")
        )
        self.n_draws = 0
        if self._width is None:
            self._peek(1)
        if self._width is None:
            raise ValueError("the stream is empty; give n_features to allow that")
        self.n_features: int = self._width

    def draw(self, request: DrawRequest) -> Draw:
        """Up to `request.n_rows` rows in the band; fewer when the stream ends."""
        request.require_features(self.n_features)
        first, n_missing = self.n_draws, request.n_rows
        last = sys.maxsize if request.max_draws is None else first + request.max_draws
        ids, pieces = [np.zeros(0, dtype=np.int64)], []
        while n_missing and self.n_draws < last:
            n_allowed = last - self.n_draws
            pending = self._peek(min(n_missing, n_allowed))
            if pending is None:
                break
            block = pending[:n_allowed]
            found = np.flatnonzero(request.band.admits(block))[:n_missing]
            n_missing -= found.size
            ids.append(self._first_id + self.n_draws + found)
            pieces.append(block[found])
            self._advance(block.shape[0] if n_missing else int(found[-1]) + 1)
        X = stack_rows(pieces) if pieces else np.zeros((0, self.n_features))
        return Draw(ids=np.concatenate(ids), X=X, n_drawn=self.n_draws - first)

    def _peek(self, n_wanted: int) -> Rows | None:
        """The rows read but not drawn yet, at least one, or None at the end of the stream."""
        blocks: list[Rows] = [] if self._pending is None else [self._pending]
        n_missing = 0 if blocks else min(n_wanted, self._block_rows)
        try:
            while n_missing > 0:
                blocks.append(self._as_block(next(self._items)))
                n_missing -= blocks[-1].shape[0]
        except StopIteration:
            pass
        finally:  # a bad item must not swallow the good ones before it
            self._pending = stack_rows(blocks) if blocks else None
        return self._pending

    def _advance(self, n_used: int) -> None:
        self.n_draws += n_used
        pending: Any = self._pending
        self._pending = pending[n_used:] if n_used < pending.shape[0] else None

    def _as_block(self, item: Any) -> Rows:
        name = f"stream item {self._n_items}"
        self._n_items += 1
        is_row = not sp.issparse(item) and np.ndim(item) == 1
        block = check_rows([item] if is_row else item, name)
        if self._width is None:
            self._width = int(block.shape[1])
        if block.shape[1] != self._width:
            raise ValueError(f"{name} must have {self._width} features, got {block.shape[1]}")
        return block


class LabeledStream(StreamPool):
    """A stream of labeled rows, the paper's EX: rows are drawn, their labels kept until asked for.

    Parameters
    ----------
    pairs : yields pairs of a row (one-dimensional) and its label, -1 or +1
    n_features : length of a row; by default the first pair is looked at

    Examples
    --------
    >>> from thresher.geometry import Band
    >>> stream = LabeledStream(([float(i), 1.0], (-1.0) ** i) for i in range(10))
    >>> narrow = Band(normal=np.array([1.0, 0.0]), width=2.0)
    >>> draw = stream.draw(DrawRequest(n_rows=2, band=narrow))
    >>> draw.ids, stream.reveal(draw.ids)
    (array([0, 1]), array([ 1., -1.]))
    """

    def __init__(self, pairs: Iterable[Any], *, n_features: int | None = None) -> None:
        if not isinstance(pairs, Iterable):
            raise TypeError(f"pairs must yield rows with labels, got {type(pairs).__name__}")
        self._labels: list[float] = []
        super().__init__(self._rows_of(pairs), n_features=n_features)

    def reveal(self, ids: object) -> FloatArray:
        """The labels that came with these rows."""
        return np.array([self._labels[i] for i in check_ids(ids).tolist()])

    def _rows_of(self, pairs: Iterable[Any]) -> Iterator[FloatArray]:
        for place, pair in enumerate(pairs):
            try:
                row, label = pair
            except (TypeError, ValueError):
                raise ValueError(f"pair {place} must be a row and a label, got {pair!r}") from None
            self._labels.append(float(check_labels([label], f"label {place}", length=1)[0]))
            yield check_vector(row, f"row {place}")
