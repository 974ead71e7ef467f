"""Plausibility: how probable the label of each row is to learners that need not be linear."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import QuantileTransformer

from thresher.validation import FloatArray, Rows, is_sparse

N_TREES, LEAF = 300, 3
MOST_SAMPLES = 10_000  # rows that a tree sees, and that the ranks of a column are taken from
N_LANDMARKS = 500  # rows that the kernel compares with
N_QUANTILES = 1000
RIDGE = 1.0
JITTER = 1e-8  # of the trace of K
LEAST = 1e-8  # a row that the fit follows as closely as this has no score of its own
BLOCK = 4096  # rows whose kernels are held at a time
SURE = 0.005  # a smaller probability counts as this one


def plausibility(rows: Rows, signs: FloatArray, weights: FloatArray) -> FloatArray:
    """The probability of its own label for each row, by fits that have not seen that row.

    A forest answers from the trees that were grown without the row. Ridge regression on a kernel of
    the columns' ranks has a closed form for leaving each row out. A logistic regression joins the
    two. A rare label is improbable a priori, so the answer is the larger of two probabilities: with
    the classes as frequent as they are, and equally frequent. There is one round only: leaving
    rows out and fitting again would confirm the mistakes of the first round.

    Parameters
    ----------
    rows : (n, d) array or CSR, without missing values
    signs : (n,) of labels, -1 or 1; both occur
    weights : (n,) of the rows, positive; trees ignore them, since a row of large weight would be
        in all of them

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.standard_normal((400, 3))
    >>> signs = np.where(np.linalg.norm(rows, axis=1) < 1.5, 1.0, -1.0)
    >>> signs[:20] *= -1  # flipped
    >>> found = plausibility(rows, signs, np.ones(400))
    >>> bool(np.median(found[:20]) < 0.2 < 0.8 < np.median(found[20:]))
    True
    """
    weights, rows = weights / weights.mean(), _single(rows)
    scores = np.column_stack([_forest_scores(rows, signs), _kernel_scores(rows, signs, weights)])
    scores /= np.maximum(scores.std(axis=0), np.finfo(np.float64).tiny)
    joined = LogisticRegression().fit(scores, signs, sample_weight=weights)
    log_odds: FloatArray = joined.decision_function(scores)
    prior = np.log(weights[signs > 0].sum() / weights[signs < 0].sum())
    likely: FloatArray = expit(np.maximum(signs * log_odds, signs * (log_odds - prior)))
    return likely


def _single(rows: Rows) -> Rows:
    """The rows within single precision, which is all that trees take."""
    most = float(np.finfo(np.float32).max)
    if not is_sparse(rows):
        return np.clip(rows, -most, most)
    return type(rows)((np.clip(rows.data, -most, most), rows.indices, rows.indptr), rows.shape)


def _forest_scores(rows: Rows, signs: FloatArray) -> FloatArray:
    """The log odds of a positive sign, by the trees that have not seen the row."""
    forest = RandomForestClassifier(
        N_TREES,
        min_samples_leaf=LEAF,
        oob_score=True,
        max_samples=min(MOST_SAMPLES, signs.size),
        random_state=0,
    ).fit(rows, signs)
    positive = np.clip(forest.oob_decision_function_[:, 1], SURE, 1 - SURE)
    scores: FloatArray = np.log(positive / (1 - positive))
    return scores


def _kernel_scores(rows: Rows, signs: FloatArray, weights: FloatArray) -> FloatArray:
    """The prediction for each row by kernel ridge regression on all others.

    With k_i the kernel between row i and the landmarks, and K that of the landmarks, the fit to all
    rows minimizes Σ w_i (y_i - k_i·β)² + λ β·Kβ, and predicts ŷ_i = k_i·β for row i (equal
    landmarks make K singular, so a multiple of the identity is added). With A = Σ w_i k_i k_iᵀ + λK
    and h_i = w_i k_i·A⁻¹k_i, the fit to the others predicts (ŷ_i - h_i y_i) / (1 - h_i).
    """
    order = np.random.default_rng(0).permutation(signs.size)
    ranks = QuantileTransformer(n_quantiles=min(N_QUANTILES, signs.size), subsample=None)
    ranks.fit(_dense(rows[order[:MOST_SAMPLES]]))
    landmarks = ranks.transform(_dense(rows[order[:N_LANDMARKS]]))
    spread = float(landmarks.var(axis=0).sum()) or 1.0

    def kernels() -> Iterator[tuple[slice, Any]]:
        for start in range(0, signs.size, BLOCK):
            block = slice(start, start + BLOCK)
            yield block, rbf_kernel(ranks.transform(_dense(rows[block])), landmarks, 1 / spread)

    own = rbf_kernel(landmarks, landmarks, 1 / spread)
    moment = RIDGE * own + JITTER * np.trace(own) * np.eye(own.shape[0])
    target, left_out = np.zeros(own.shape[0]), np.empty(signs.size)
    for block, kernel in kernels():
        weighted = weights[block, np.newaxis] * kernel
        moment += weighted.T @ kernel
        target += weighted.T @ signs[block]
    inverse = np.linalg.inv(moment)
    for block, kernel in kernels():
        leverage = weights[block] * ((kernel @ inverse) * kernel).sum(axis=1)
        fitted = kernel @ (inverse @ target)
        left_out[block] = (fitted - leverage * signs[block]) / np.maximum(1 - leverage, LEAST)
    return left_out


def _dense(rows: Rows) -> Any:
    return rows.toarray() if is_sparse(rows) else rows
