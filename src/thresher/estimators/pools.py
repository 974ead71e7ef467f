"""Pools that do not fit into memory, as tables: a sample for a fit, scores block by block."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.estimators.columns import ColumnScaling
from thresher.oracles import LargePool
from thresher.oracles.large.engines import arrow
from thresher.validation import FloatArray

SAMPLE_ENTRIES = 2_500_000  # of the table that is fitted: a fit takes seconds, not hours


def in_memory(estimator: Any, X: Any, y: Any) -> tuple[Any, Any]:
    """The table that is fitted: what was given, or a uniform sample of a pool.

    Of a pool, `y` is the name of the label column. The estimator gets `sample_ids_`, the ids of the
    rows of the sample.
    """
    vars(estimator).pop("sample_ids_", None)
    if not isinstance(X, LargePool):
        return X, y
    if not isinstance(y, str):
        raise TypeError(f"y must be the name of the pool's label column, got {type(y).__name__}")
    ids = X.sample_ids(SAMPLE_ENTRIES)
    names = [name for name in X.feature_names if name != y]
    rows, labels = X.rows_of(ids, names), X.cells(y, ids)
    estimator.sample_ids_ = ids
    return (arrow().table(list(rows.T), names=names) if X.has_names else rows), labels


@dataclass(frozen=True, eq=False)
class Scores:
    """The scores of the rows of a block, summed column by column: no bit depends on the block.

    Examples
    --------
    >>> Scores(ColumnScaling.identity(2), np.array([2.0, 1.0]), 0.5)(0, [np.ones(1), np.ones(1)])
    array([3.5])
    """

    scaling: ColumnScaling
    weights: FloatArray
    offset: float

    def __call__(self, _first_id: int, columns: Sequence[NDArray[Any]]) -> FloatArray:
        scores = np.full(columns[0].size, self.offset)
        limit = self.scaling.reach
        parts = zip(columns, self.scaling.center, self.scaling.scale, self.weights)
        for column, center, scale, weight in parts:
            scaled = (column.astype(np.float64) - center) / scale
            scores += weight * np.clip(scaled, -limit, limit)
        return scores


def scores_of_pool(model: Any, pool: LargePool) -> FloatArray:
    """The score that a `HalfspaceModel` gives to each row of a pool; only its columns are read."""
    known = model.feature_names or list(map(str, range(model.n_features)))
    names = [known[j] for j in model.support]
    if not names:
        return np.full(pool.n_rows, model.offset)
    pool.require_columns(names, pool.column_names)
    scaling = ColumnScaling(model.center, model.scale, model.reach)
    task = Scores(scaling, model.weights, model.offset)
    jobs = ((block, task) for block in range(pool.n_blocks))
    return np.concatenate(list(pool.run(jobs, names)))
