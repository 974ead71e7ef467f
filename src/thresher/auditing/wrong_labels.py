"""How likely each label is wrong, by the scores of models that have not seen it."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from thresher.validation import FloatArray

PROBABLE = 0.5  # from there on, a label is rather wrong than right
# In rows: what an assumed wrong label costs, and a coefficient's square.
COST_OF_WRONG, COST_OF_STEEPNESS, COST_OF_SIGNS = 20.0, 0.01, 1.0
STEEPEST, STRONGEST, RAREST = 10.0, 6.0, -9.0
ALIKE_COUNTS = 2.0  # times as much as the probability of a wrong label, in the order of rows
LEAST_SEEN = 1e-12  # probability of any label


@dataclass(frozen=True, eq=False)
class WrongLabels:
    """How likely each label is wrong, given what models say that have not seen it.

    Parameters
    ----------
    probability : (n,) for each row
    evidence : (n,) by how much the log-likelihood of all labels grows when some may be wrong
    """

    probability: FloatArray
    evidence: FloatArray

    def in_order_of(self, alike: FloatArray) -> "WrongLabels":
        """What exceeds ½ is larger in rows that are like others whose labels are probably wrong.

        Planted rows are often alike, so those that are come first. A row that is rather like them
        than like other rows joins them.

        Parameters
        ----------
        alike : (n,) how much each row is like those, from 0 to 1; up to ½ it says nothing
        """
        is_wrong = (self.probability >= PROBABLE) | (alike >= PROBABLE)
        likeness = np.maximum(alike - PROBABLE, 0.0) / (1 - PROBABLE)
        both = (self.probability + ALIKE_COUNTS * likeness) / (1 + ALIKE_COUNTS)
        beyond = PROBABLE + (1 - PROBABLE) * (1 - (1 - both) ** 2)
        return replace(self, probability=np.where(is_wrong, beyond, self.probability))

    def with_evidence(self, places: NDArray[np.bool_], own: "WrongLabels") -> "WrongLabels":
        """The same with the evidence that was found in some rows alone, for those rows."""
        evidence = self.evidence.copy()
        evidence[places] = own.evidence
        return replace(self, evidence=evidence)


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
    curve, n_gates = _Curve(scores, signs, gate, counts), gate.shape[1]
    start = np.r_[0.5, 0.0, -3.0, -3.0, np.zeros(n_gates)]
    bounds = [(0, STEEPEST), (None, None), *[(RAREST, 0)] * 2, *[(0, STRONGEST)] * n_gates]
    found = minimize(curve.loss, start, jac=True, method="L-BFGS-B", bounds=bounds)
    fixed = [*bounds[:2], (RAREST, RAREST), (RAREST, RAREST), *[(0, 0)] * n_gates]
    start = np.r_[found.x[:2], RAREST, RAREST, np.zeros(n_gates)]
    without = minimize(curve.loss, start, jac=True, method="L-BFGS-B", bounds=fixed)
    return WrongLabels(curve.wrong(found.x), np.full(signs.size, without.fun - found.fun))


@dataclass(frozen=True, eq=False)
class _Curve:
    """The fit of `wrong_labels`; `values` are a, b, c for the first and the second label, and d."""

    scores: FloatArray
    signs: FloatArray
    gate: FloatArray
    counts: FloatArray

    def _chances(self, values: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """That the true label is the second; that a first, and that a second one became wrong."""
        by_gate = self.gate @ values[4:]
        up = expit(values[0] * self.scores + values[1])
        return up, expit(values[2] + by_gate), expit(values[3] + by_gate)

    def _seen(self, values: FloatArray) -> FloatArray:
        up, from_down, from_up = self._chances(values)
        second = up * (1 - from_up) + (1 - up) * from_down
        return np.maximum(np.where(self.signs > 0, second, 1 - second), LEAST_SEEN)

    def wrong(self, values: FloatArray) -> FloatArray:
        """How likely the label in the table is wrong."""
        up, from_down, from_up = self._chances(values)
        both = np.where(self.signs > 0, (1 - up) * from_down, up * from_up)
        return np.asarray(both / self._seen(values))

    def loss(self, values: FloatArray) -> tuple[float, FloatArray]:
        """The negative log-likelihood of the labels, with what the values cost; its gradient."""
        up, from_down, from_up = self._chances(values)
        seen, slope, squares = self._seen(values), values[0], values[4:]
        cost = COST_OF_WRONG / self.signs.size * self.counts
        total = -self.counts @ np.log(seen) + cost @ (from_down + from_up)
        total += COST_OF_STEEPNESS * slope**2 + COST_OF_SIGNS * squares @ squares
        by_second = -self.counts * self.signs / seen
        by_odds = by_second * (1 - from_up - from_down) * up * (1 - up)
        by_down = (by_second * (1 - up) + cost) * from_down * (1 - from_down)
        by_up = (cost - by_second * up) * from_up * (1 - from_up)
        by_gate = self.gate.T @ (by_down + by_up) + 2 * COST_OF_SIGNS * squares
        first = by_odds @ self.scores + 2 * COST_OF_STEEPNESS * slope
        return float(total), np.r_[first, by_odds.sum(), by_down.sum(), by_up.sum(), by_gate]
