"""Linear models on scaled columns, fitted quickly, and the patterns that attacks take from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy.special import expit

from thresher.geometry import hard_threshold
from thresher.simulate.poisoning.clean_table import CleanTable, spread
from thresher.validation import FloatArray

RIDGE = 1e-3  # times the squared norm of the weights, against a mean loss per row
MAX_SUPPORT = 100  # columns that a planted row touches: few beside the words of a text table
_POWER_STEPS = 15


@dataclass(frozen=True, eq=False)
class LinearModel:
    """score = weights·z + intercept on a scaled row z.

    Examples
    --------
    >>> LinearModel(weights=np.array([1.0, -1.0]), intercept=0.5).scores(np.eye(2))
    array([ 1.5, -0.5])
    """

    weights: FloatArray
    intercept: float

    def scores(self, scaled: FloatArray) -> FloatArray:
        """The score of every scaled row."""
        return scaled @ self.weights + self.intercept

    @property
    def parameters(self) -> FloatArray:
        """Weights and intercept in one vector."""
        return np.append(self.weights, self.intercept)

    @classmethod
    def from_parameters(cls, parameters: FloatArray) -> LinearModel:
        """The model with these weights and, last, this intercept."""
        return cls(weights=parameters[:-1], intercept=float(parameters[-1]))


@dataclass(frozen=True, eq=False)
class Additions:
    """Scaled rows that were added to a table: each counts as often as it was copied."""

    scaled: FloatArray
    signs: FloatArray
    counts: FloatArray

    @classmethod
    def none(cls, n_features: int) -> Additions:
        """No rows yet."""
        return cls(scaled=np.zeros((0, n_features)), signs=np.zeros(0), counts=np.zeros(0))

    def joined(self, point: FloatArray, sign: float, count: int) -> Additions:
        """These rows and `count` copies of another point."""
        return Additions(
            scaled=np.vstack([self.scaled, point]),
            signs=np.append(self.signs, sign),
            counts=np.append(self.counts, float(count)),
        )


def logistic_loss(margins: FloatArray) -> FloatArray:
    """log(1 + exp(−margin)), without overflow."""
    return np.logaddexp(0.0, -margins)


def risk(model: LinearModel, table: CleanTable, added: Additions) -> tuple[float, FloatArray]:
    """The regularized mean logistic loss and its gradient in weights and, last, intercept.

    (Σ loss(y·score) over clean and added rows) / (n + n_added) + RIDGE·‖w‖²/2
    """
    n_all = table.n_rows + float(added.counts.sum())
    margins = table.signs * (table.scores(model.weights) + model.intercept)
    added_margins = added.signs * model.scores(added.scaled)
    slopes = -table.signs * expit(-margins) / n_all
    added_slopes = -added.signs * added.counts * expit(-added_margins) / n_all
    loss = logistic_loss(margins).sum() + added.counts @ logistic_loss(added_margins)
    gradient = table.combine(slopes) + added_slopes @ added.scaled + RIDGE * model.weights
    value = float(loss / n_all + RIDGE / 2 * (model.weights @ model.weights))
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
    added: Additions | None = None,
    start: LinearModel | None = None,
    *,
    max_steps: int = 50,
) -> LinearModel:
    """The model of least `risk`, or the best one found in `max_steps` steps from the start.

    Examples
    --------
    >>> table = CleanTable(rows=np.array([[0.0], [1.0]]), signs=np.array([-1.0, 1.0]))
    >>> bool(fit(table).weights[0] > 0)
    True
    """
    extra = Additions.none(table.n_features) if added is None else added
    first = np.zeros(table.n_features + 1) if start is None else start.parameters

    def value_and_gradient(parameters: FloatArray) -> tuple[float, FloatArray]:
        return risk(LinearModel.from_parameters(parameters), table, extra)

    best, _, _ = scipy.optimize.fmin_l_bfgs_b(value_and_gradient, first, maxiter=max_steps)
    return LinearModel.from_parameters(best)


@dataclass(frozen=True, eq=False)
class ScorePattern:
    """How clean rows move, in a few columns, when the score of a linear model changes.

    Attacks on an isotropic distribution move rows along the target w. The columns of a table are
    correlated, and a row moved along w leaves the clean rows at once, so that a classifier can
    tell it apart and is not harmed. What w is in whitened columns is Σw here.

    Parameters
    ----------
    features : the support: the columns that move most with the score
    along : their change, Σw/√(wᵀΣw), when the score grows by one standard deviation
    across : one standard deviation of their largest movement that has nothing to do with the
        score, signed so that it goes against the positive class
    scores : the score of every clean row, with mean 0 and standard deviation 1

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=(200, 4))
    >>> pattern = learned_pattern(CleanTable(rows=rows, signs=np.sign(rows[:, 2])))
    >>> pattern.features.size, bool(pattern.along[pattern.features == 2][0] > 0.9)
    (2, True)
    """

    features: NDArray[np.intp]
    along: FloatArray
    across: FloatArray
    scores: FloatArray


def learned_pattern(table: CleanTable) -> ScorePattern:
    """The pattern of a model fitted to the table, in half of its columns or `MAX_SUPPORT`."""
    scores = table.scores(fit(table).weights)
    scores = scores - scores.mean()
    scores /= scores.std() or 1.0
    together = table.combine(scores) / table.n_rows
    n_support = min(table.n_features, MAX_SUPPORT, max(2, table.n_features // 2))
    features = np.sort(np.argsort(-np.abs(together), kind="stable")[:n_support])
    along = together[features]
    across = _across(table, features, np.outer(scores, along))
    return ScorePattern(features=features, along=along, across=across, scores=scores)


def _across(table: CleanTable, features: NDArray[np.intp], explained: FloatArray) -> FloatArray:
    rest = table.scaled(features)
    rest = rest - rest.mean(axis=0) - explained
    variances, directions = np.linalg.eigh(rest.T @ rest / table.n_rows)
    across: FloatArray = np.sqrt(max(variances[-1], 0.0)) * directions[:, -1]
    return -across if table.signs @ (rest @ across) > 0 else across


def decoy_columns(
    table: CleanTable, support: NDArray[np.intp]
) -> tuple[NDArray[np.intp], FloatArray]:
    """Columns outside the support, and the sign in each that goes against the positive class.

    As many columns as the support has, if there are enough: those in which most rows deviate,
    because a wrong weight on a column does harm in the rows that use it.
    """
    uses = spread(table.rows, table.columns)
    uses[support] = 0.0
    decoys = np.flatnonzero(hard_threshold(uses, support.size))
    with_class = table.combine(table.signs - table.signs.mean())[decoys]
    return decoys, np.where(with_class > 0, -1.0, 1.0)
