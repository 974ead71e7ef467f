"""Turning what a caller has into an instance source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Any

import numpy as np
import scipy.sparse as sp

from thresher.oracles.pools import ArrayPool
from thresher.oracles.sources import InstanceSource
from thresher.oracles.streams import StreamPool


def as_instance_source(
    pool: object, *, random_state: int | np.random.Generator | None = None, first_id: int = 0
) -> InstanceSource:
    """An instance source over whatever holds the rows.

    An instance source is passed through; an array, a nested list, a sparse matrix or a data frame
    becomes an `ArrayPool`; any other iterable becomes a `StreamPool`.

    Parameters
    ----------
    pool : the rows, or where they come from
    random_state : seed of the scanning order, used when an `ArrayPool` is made
    first_id : where ids begin, used when a `StreamPool` is made

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
        rows: Iterable[Any] = pool
        return StreamPool(rows, first_id=first_id)
    raise TypeError(
        "pool must be an array, a sparse matrix, a data frame, an iterator of rows or an object "
        f"with n_features and draw(request), got {type(pool).__name__}"
    )
