"""The columns of a row that matter to the model."""

from typing import Any

import numpy as np

from thresher.estimators.columns import ColumnScaling
from thresher.estimators.model import HalfspaceModel
from thresher.label_sessions.pool import SessionPool
from thresher.validation import is_sparse


def columns_that_matter(
    model: HalfspaceModel | None, pool: SessionPool, position: int
) -> tuple[str, ...]:
    """The columns of the table that move the score of a row, the strongest first.

    Without a model, the columns as they come.
    """
    if model is None:
        return tuple(pool.cells(position)) if is_sparse(pool.X) else tuple(pool.columns)
    row: Any = pool.X[[position]][:, model.support]
    dense = row.toarray() if is_sparse(row) else row
    scaled = ColumnScaling(model.center, model.scale, model.reach).apply(dense)[0]
    moved: dict[str, float] = {}
    for feature, move in zip(model.support, np.abs(model.weights * scaled)):
        column = pool.column_of_feature[int(feature)]
        moved[column] = moved.get(column, 0.0) + float(move)
    return tuple(sorted((c for c in moved if moved[c] > 0), key=lambda c: (-moved[c], c)))
