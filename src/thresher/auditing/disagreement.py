"""Labels that disagree with models which have not seen them."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import expit, logit
from scipy.stats import rankdata
from sklearn.ensemble import IsolationForest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedGroupKFold

from thresher.auditing.forest import held_out_share
from thresher.auditing.suspects import Places
from thresher.estimators.trust import weighted_error
from thresher.validation import FloatArray, Rows, is_sparse

N_FOLDS = 5
N_ISOLATING = 100  # trees that say how unusual a row is
INVERSE_PENALTY = 0.3  # C of the logistic regression: columns are scaled
MOST_CERTAIN = 12.0  # log odds
CORE = 0.9  # of each class, that models learn from: the least unusual rows
LEAST_WEIGHT = 1e-3  # of the other rows, so that no fold loses a class
PROBABLE = 0.5  # from there on, a label is rather wrong than right
MIN_LEAF = 3  # rows that are alike, in trees that say which are
MIN_ALIKE = 10  # rows that are probably wrong, from which on others are compared with them
# Of the fit below, in rows: what an assumed wrong label costs, and a coefficient's square.
COST_OF_WRONG, COST_OF_STEEPNESS, COST_OF_SIGNS = 20.0, 0.01, 1.0
STEEPEST, STRONGEST, RAREST = 10.0, 6.0, -9.0


@dataclass(frozen=True, eq=False)
class WrongLabels:
    """How likely each label is wrong, given what models say that have not seen it.

    Parameters
    ----------
    probability : (n,) for each row
    evidence : by how much the log-likelihood of all labels grows when some may be wrong
    """

    probability: FloatArray
    evidence: float

    def in_order_of(self, alike: FloatArray) -> "WrongLabels":
        """What exceeds ½ shrinks in rows that are unlike others with wrong labels.

        Planted rows are often alike, so those that are come first.
        """
        beyond = np.maximum(self.probability - PROBABLE, 0.0)
        return replace(self, probability=self.probability - (1 - alike) ** 2 * beyond)


@dataclass(frozen=True, eq=False)
class View:
    """What one kind of model says about rows that it has not seen.

    Parameters
    ----------
    name : of the model
    scores : (n,) log odds of the second label
    error : share of the labels that it does not predict; equal rows count as one
    trusted_error : the same, and rows count by their trust
    by_scores : wrong labels, as the scores alone tell them
    by_signs : wrong labels, as the scores, lost trust and unusual rows together tell them
    """

    name: str
    scores: FloatArray
    error: float
    trusted_error: float
    by_scores: WrongLabels
    by_signs: WrongLabels

    @property
    def honest_error(self) -> float:
        """The error without the labels that are probably wrong."""
        return max(self.error - float(self.by_scores.probability.mean()), 0.0)

    def in_order_of(self, alike: FloatArray) -> "View":
        """The view in which wrong labels are the more probable, the more the rows are alike."""
        by_scores, by_signs = (part.in_order_of(alike) for part in (self.by_scores, self.by_signs))
        return replace(self, by_scores=by_scores, by_signs=by_signs)


def look_at_labels(
    rows: Rows, signs: FloatArray, trust: FloatArray, groups: Places, seed: int
) -> tuple[View, ...]:
    """What a linear model and a forest say about the labels of rows that they have not seen.

    Both learn from the trusted rows, without the most unusual tenth of each class: those are what
    an attacker would use to make a model agree with the rows planted there.

    Parameters
    ----------
    rows : (n, d) scaled columns
    signs : (n,) -1 or +1
    trust : (n,) how much each row counts in learning
    groups : (n,) equal rows have the same number; they are held out together
    seed : of the folds and the forests
    """
    odd = _oddness(rows, signs, seed)
    once = 1 / np.bincount(groups)[groups]
    weights = np.maximum(trust * (odd < CORE), LEAST_WEIGHT)
    gate = np.column_stack([-np.log1p(-odd) / np.log(signs.size + 1), 1 - trust])
    views = []
    for name, scores in _held_out(rows, signs, weights, groups, seed):
        is_wrong = (scores > 0) != (signs > 0)
        view = View(
            name,
            scores,
            error=weighted_error(is_wrong, signs, once),
            trusted_error=weighted_error(is_wrong, signs, trust * once),
            by_scores=wrong_labels(scores, signs, gate[:, :0], once),
            by_signs=wrong_labels(scores, signs, gate, once),
        )
        views.append(view)
    alike = _alike(rows, signs, max(views, key=lambda view: view.by_signs.evidence), seed)
    return tuple(view.in_order_of(alike) for view in views)


def _alike(rows: Rows, signs: FloatArray, view: View, seed: int) -> FloatArray:
    """How much each row is like those whose labels are probably wrong, by trees that have not seen
    it; 1 for all where there are few such rows."""
    is_wrong = view.by_signs.probability > PROBABLE
    if is_wrong.sum() < MIN_ALIKE:
        return np.ones(signs.size)
    labels = signs[:, np.newaxis]
    labeled = (sp if is_sparse(rows) else np).hstack([rows, labels])
    each = np.arange(signs.size)  # copies of a row with a wrong label are alike
    once = np.ones(signs.size)
    return held_out_share(labeled, is_wrong, once, each, seed=seed, min_leaf=MIN_LEAF)[0]


def _oddness(rows: Rows, signs: FloatArray, seed: int) -> FloatArray:
    """The rank of each row within its class by how unusual it is, from 0 to 1."""
    forest = IsolationForest(n_estimators=N_ISOLATING, random_state=seed).fit(rows)
    scores, odd = -forest.score_samples(rows), np.empty(signs.size)
    for sign in (-1.0, 1.0):
        own = signs == sign
        odd[own] = rankdata(scores[own]) / (own.sum() + 1)
    return odd


def _held_out(
    rows: Rows, signs: FloatArray, weights: FloatArray, groups: Places, seed: int
) -> Iterator[tuple[str, FloatArray]]:
    folds = StratifiedGroupKFold(_n_folds(signs, groups), shuffle=True, random_state=seed)
    splits = list(folds.split(signs[:, np.newaxis], signs, groups))
    yield "linear model", _linear_scores(rows, signs, weights, splits)
    share, n_trees = held_out_share(rows, signs > 0, weights, groups, seed=seed)
    yield "forest", logit((n_trees * share + 0.5) / (n_trees + 1))


def _n_folds(signs: FloatArray, groups: Places) -> int:
    rarest = min(np.unique(groups[signs == sign]).size for sign in (-1.0, 1.0))
    return max(2, min(N_FOLDS, rarest))


def _linear_scores(rows: Rows, signs: Any, weights: FloatArray, splits: Any) -> FloatArray:
    scores, model = np.zeros(signs.size), LogisticRegression(C=INVERSE_PENALTY, max_iter=500)
    for train, test in splits:
        if np.unique(signs[train]).size == 2:
            model.fit(rows[train], signs[train], sample_weight=weights[train])
            scores[test] = model.decision_function(rows[test])
    return np.clip(scores, -MOST_CERTAIN, MOST_CERTAIN)


def wrong_labels(
    scores: FloatArray, signs: FloatArray, gate: FloatArray, counts: FloatArray
) -> WrongLabels:
    """How likely each label is wrong, given held-out scores.

    The true label is the second one with probability p = 1/(1 + exp(−a·score − b)). The label in
    the table is wrong with probability f = 1/(1 + exp(−c − gate·d)), where c depends on the true
    label. All of it is fitted to the labels in the table. Labels that contradict large scores more
    often than a logistic curve allows make f large; near the boundary, where both labels occur
    naturally, nothing is learned about f.

    Parameters
    ----------
    scores : (n,) log odds of the second class
    signs : (n,) of -1 and +1
    gate : (n, k) signs of a wrong label, from 0 to 1
    counts : (n,) how much each row counts

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.normal(0, 3, 1000)
    >>> signs = np.where(rng.random(1000) < expit(scores), 1.0, -1.0)
    >>> surest = np.argsort(-np.abs(scores))[:20]
    >>> nothing, counts = np.zeros((1000, 0)), np.ones(1000)
    >>> int((wrong_labels(scores, signs, nothing, counts).probability > 0.5).sum())
    0
    >>> signs[surest] *= -1
    >>> found = wrong_labels(scores, signs, nothing, counts)
    >>> bool(found.probability[surest].min() > 0.9)
    True
    """
    is_up, n_gates = signs > 0, gate.shape[1]

    def parts(values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The probability of the second label before and after some became wrong, and of wrong."""
        slope, offset, from_down, from_up = values[:4]
        true_up = expit(slope * scores + offset)
        wrong_up = (1 - true_up) * expit(from_down + gate @ values[4:])
        wrong_down = true_up * expit(from_up + gate @ values[4:])
        wrong = np.where(is_up, wrong_up, wrong_down)
        right = np.where(is_up, true_up - wrong_down, 1 - true_up - wrong_up)
        return wrong, np.maximum(wrong + right, 1e-12)

    def loss(values: FloatArray) -> float:
        _, seen = parts(values)
        assumed = expit(values[2] + gate @ values[4:]) + expit(values[3] + gate @ values[4:])
        return float(
            -counts @ np.log(seen)
            + COST_OF_WRONG * (counts @ assumed) / signs.size
            + COST_OF_STEEPNESS * values[0] ** 2
            + COST_OF_SIGNS * values[4:] @ values[4:]
        )

    start = np.r_[0.5, 0.0, -3.0, -3.0, np.zeros(n_gates)]
    bounds = [(0, STEEPEST), (None, None), *[(RAREST, 0)] * 2, *[(0, STRONGEST)] * n_gates]
    found = minimize(loss, start, method="L-BFGS-B", bounds=bounds)
    wrong, seen = parts(found.x)
    fixed = [*bounds[:2], (RAREST, RAREST), (RAREST, RAREST), *[(0, 0)] * n_gates]
    start = np.r_[found.x[:2], RAREST, RAREST, np.zeros(n_gates)]
    without = minimize(loss, start, method="L-BFGS-B", bounds=fixed)
    return WrongLabels(wrong / seen, float(without.fun - found.fun))
