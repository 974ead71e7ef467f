"""One number for each row of a table: how far it was trusted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from thresher.learning import PhaseOutcome
from thresher.validation import FloatArray


def trust_of_rows(phases: Sequence[PhaseOutcome], n_rows: int) -> FloatArray:
    """The mean weight with which a row counted in the phases that looked at it, from 0 to 1.

    The first phase looks at every row, later ones at those near the boundary. A row that every
    phase pruned counts 0, and so does, in a phase, one that was left out for its large loss.

    Examples
    --------
    >>> trust_of_rows([], 2)
    array([0., 0.])
    """
    total, n_looked = np.zeros(n_rows), np.zeros(n_rows)
    for outcome in phases:
        total[outcome.row_ids] += np.where(outcome.is_left_out, 0.0, outcome.row_weights)
        n_looked[outcome.row_ids] += 1
    return total / np.maximum(n_looked, 1)
