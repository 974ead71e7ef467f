"""Linear models on scaled columns, fitted quickly.

A model is one vector, its weights and, last, its intercept: score = weights·z + intercept on a
scaled row z.
"""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import scipy
from scipy.special import expit

from thresher.simulate.poisoning.clean_table import CleanTable
from thresher.validation import FloatArray

RIDGE = 1e-3  # times the squared norm of the weights, against a mean loss per row
_POWER_STEPS = 15

# A scaled row that was added to a table, its sign, and how often it was copied.
Addition: TypeAlias = tuple[FloatArray, float, int]


def logistic_loss(margins: FloatArray) -> FloatArray:
    """log(1 + exp(−margin)), without overflow."""
    return np.logaddexp(0.0, -margins)


def risk(
    model: FloatArray, table: CleanTable, added: Sequence[Addition]
) -> tuple[float, FloatArray]:
    """The regularized mean logistic loss and its gradient in weights and, last, intercept.

    (Σ loss(y·score) over clean and added rows) / (n + n_added) + RIDGE·‖w‖²/2
    """
    weights, margins = model[:-1], table.margins(model)
    points = np.reshape([point for point, _, _ in added], (-1, table.n_features))
    signs = np.array([sign for _, sign, _ in added])
    counts = np.array([float(count) for _, _, count in added])
    n_all = table.n_rows + float(counts.sum())
    added_margins = signs * (points @ weights + model[-1])
    slopes = -table.signs * expit(-margins) / n_all
    added_slopes = -signs * counts * expit(-added_margins) / n_all
    loss = logistic_loss(margins).sum() + counts @ logistic_loss(added_margins)
    gradient = table.combine(slopes) + added_slopes @ points + RIDGE * weights
    value = float(loss / n_all + RIDGE / 2 * (weights @ weights))
    return value, np.append(gradient, slopes.sum() + added_slopes.sum())


def smoothness(table: CleanTable) -> float:
    """A bound on how fast the gradient of `risk` changes: λmax(ZᵀZ/n)/4 + RIDGE, nearly.

    By power iteration, which falls a little short: good enough for the length of a step.
    """
    direction, largest = np.ones(table.n_features + 1), 0.0
    for _ in range(_POWER_STEPS):
        direction /= np.linalg.norm(direction)
        scores = (table.scores(direction[:-1]) + direction[-1]) / table.n_rows
        direction = np.append(table.combine(scores), scores.sum())
        largest = float(np.linalg.norm(direction))
    return largest / 4 + RIDGE


def fit(
    table: CleanTable,
    added: Sequence[Addition] = (),
    start: FloatArray | None = None,
    *,
    max_steps: int = 50,
) -> FloatArray:
    """The model of least `risk`, or the best one found in `max_steps` steps from the start.

    Examples
    --------
    >>> table = CleanTable(rows=np.array([[0.0], [1.0]]), signs=np.array([-1.0, 1.0]))
    >>> bool(fit(table)[0] > 0)
    True
    """
    first = np.zeros(table.n_features + 1) if start is None else start
    best: FloatArray
    best, _, _ = scipy.optimize.fmin_l_bfgs_b(risk, first, args=(table, added), maxiter=max_steps)
    return best
