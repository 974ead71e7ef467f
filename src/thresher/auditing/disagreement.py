"""Labels that disagree with models which have not seen them."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import logit
from scipy.stats import rankdata
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedGroupKFold

from thresher.auditing.forest import held_out_share, isolation_depth
from thresher.auditing.suspects import Places
from thresher.auditing.wrong_labels import PROBABLE, WrongLabels, wrong_labels
from thresher.estimators.trust import weighted_error
from thresher.validation import FloatArray, Rows, is_sparse

N_FOLDS = 5
INVERSE_PENALTY = 0.3  # C of the logistic regression: columns are scaled
MOST_CERTAIN = 12.0  # log odds
CORE = 0.9  # of each class, that models learn from: the least unusual rows
LEAST_WEIGHT = 1e-3  # of the other rows, so that no fold loses a class
MIN_LEAF = 3  # rows that are alike, in trees that say which are
MIN_ALIKE = 10  # rows that are probably wrong, from which on others are compared with them


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
        """The view in which rows with wrong labels come first if they are alike."""
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
    clearest = max(views, key=lambda view: view.by_signs.evidence[0])
    is_wrong = clearest.by_signs.probability > PROBABLE
    alike = _alike(rows, signs, is_wrong, seed)
    views = [view.in_order_of(alike) for view in views]
    other = alike < PROBABLE
    if alike[is_wrong].sum() <= PROBABLE * is_wrong.sum() or np.unique(signs[other]).size < 2:
        return tuple(views)
    return tuple(_apart(view, other, signs, gate, once) for view in views)


def _apart(
    view: View, other: NDArray[np.bool_], signs: FloatArray, gate: FloatArray, once: FloatArray
) -> View:
    """The view in which the evidence against these rows does not come from the rest."""
    scores, signs, gate, once = view.scores[other], signs[other], gate[other], once[other]
    by_scores = wrong_labels(scores, signs, gate[:, :0], once)
    by_signs = wrong_labels(scores, signs, gate, once)
    return replace(
        view,
        by_scores=view.by_scores.with_evidence(other, by_scores),
        by_signs=view.by_signs.with_evidence(other, by_signs),
    )


def _alike(rows: Rows, signs: FloatArray, is_wrong: NDArray[np.bool_], seed: int) -> FloatArray:
    """How much each row is like those whose labels are probably wrong, from 0 to 1, by trees that
    have not seen it; 0 for all where there are few such rows."""
    if is_wrong.sum() < MIN_ALIKE:
        return np.zeros(signs.size)
    labels = signs[:, np.newaxis]
    labeled = (sp if is_sparse(rows) else np).hstack([rows, labels])
    each = np.arange(signs.size)  # copies of a row with a wrong label are alike
    once = np.ones(signs.size)
    return held_out_share(labeled, is_wrong, once, each, seed=seed, min_leaf=MIN_LEAF)[0]


def _oddness(rows: Rows, signs: FloatArray, seed: int) -> FloatArray:
    """The rank of each row within its class by how unusual it is, from 0 to 1."""
    scores, odd = -isolation_depth(rows, seed), np.empty(signs.size)
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
