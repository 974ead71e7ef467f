"""The cheapest robust peer: a coordinate-trimmed mean of y·x, then the largest entries."""

from __future__ import annotations

import numpy as np

from thresher.geometry import hard_threshold
from thresher.rivals.linear import LinearRival
from thresher.rivals.trimming import trimmed_column_means
from thresher.validation import FloatArray, Rows, check_count


class TrimmedMean(LinearRival):
    """A halfspace from the trimmed mean of y·x, of which only the largest entries are kept.

    w = H_s(trimmed mean of cᵢyᵢxᵢ), where cᵢ = n/(2·rows of the class of i), so that both classes
    count the same; the offset is the one with the fewest wrong rows. Each column loses its
    noise_rate·n largest and smallest values. It works when each planted row must show itself as an
    extreme of the columns it attacks; many planted rows of moderate size in the same columns pass.

    Parameters
    ----------
    sparsity : how many features are kept; more than there are means all
    noise_rate : share of rows that may be planted, at least 0 and below 0.5
    standardize : whether columns are put on one scale first; not needed for isotropic rows
    fit_intercept : whether the halfspace may have an offset

    Attributes
    ----------
    coef_, intercept_, classes_, n_features_in_ : as in scikit-learn's linear classifiers

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((500, 30))
    >>> y = np.where(X[:, 3] > X[:, 7], "yes", "no")
    >>> model = TrimmedMean(sparsity=2, noise_rate=0.05).fit(X, y)
    >>> np.flatnonzero(model.coef_)
    array([3, 7])
    """

    def __init__(
        self,
        sparsity: int = 10,
        noise_rate: float = 0.05,
        *,
        standardize: bool = True,
        fit_intercept: bool = True,
    ) -> None:
        self.sparsity = sparsity
        self.noise_rate = noise_rate
        self.standardize = standardize
        self.fit_intercept = fit_intercept

    def _learn(self, rows: Rows, signs: FloatArray) -> tuple[FloatArray, float]:
        sparsity = check_count(self.sparsity, "sparsity")
        n_trimmed = self._n_planted(signs.size)
        share = np.where(signs > 0, np.mean(signs > 0), np.mean(signs < 0))
        means = trimmed_column_means(rows, signs / (2 * share), n_trimmed)
        weights = hard_threshold(means, sparsity)
        offset = best_offset(rows @ weights, signs) if self.fit_intercept else 0.0
        return weights, offset


def best_offset(scores: FloatArray, signs: FloatArray) -> float:
    """The offset b for which sign(score + b) is wrong on the fewest rows.

    A planted row counts once, however far out it lies. Of equally good offsets it is the one next
    to zero, in the middle between two scores.

    Examples
    --------
    >>> best_offset(np.array([1.0, 2.0, 4.0, 9.0]), np.array([-1.0, -1.0, 1.0, 1.0]))
    -3.0
    """
    order = np.argsort(scores, kind="stable")
    ordered = scores[order]
    # errors[i]: the i lowest scores are called negative, the others positive.
    errors = np.concatenate([[0], np.cumsum(signs[order])]) + np.sum(signs < 0)
    edges = np.concatenate([[ordered[0] - 1], ordered, [ordered[-1] + 1]])
    cuts = (edges[:-1] + edges[1:]) / 2
    possible = np.concatenate([[True], ordered[1:] > ordered[:-1], [True]])
    best = np.flatnonzero(possible & (errors == errors[possible].min()))
    return -float(cuts[best[np.argmin(np.abs(cuts[best]))]])
