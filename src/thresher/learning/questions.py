"""Which rows to ask about: those on whose side the halfspaces that are still possible disagree."""

from collections.abc import Generator

import numpy as np
from numpy.typing import NDArray

from thresher.learning.posterior import UNCERTAIN_FEATURES, Answers, SparsePosterior
from thresher.learning.samples import Pool, Sample
from thresher.learning.task import Phase
from thresher.oracles import LabelRequest
from thresher.validation import FloatArray

LEAST_WEIGHT = 0.5  # of Algorithm 2, for a row to be chosen by its margin


class Beliefs:
    """The answers of a run so far and what they say about the halfspace.

    Parameters
    ----------
    n_features : length of a row
    sparsity : maximum number of features of the halfspace
    reuse : whether answers of earlier phases count in a later one
    """

    def __init__(self, n_features: int, sparsity: int, reuse: bool) -> None:
        self._sparsity = sparsity
        self._reuse = reuse
        self._answers = self._none = Answers.none(n_features)
        self._posterior: SparsePosterior | None = None

    def can_choose(self, phase: Phase) -> bool:
        """Whether questions of a phase are chosen by their margins."""
        return phase.question_share < 1 and self._posterior is not None

    def ask(
        self, pool: Pool, weights: FloatArray, phase: Phase, rng: np.random.Generator
    ) -> Generator[LabelRequest, FloatArray, tuple[Sample, FloatArray] | None]:
        """Labels for rows close to the boundary, in rounds; None if no row is left to ask about.

        Departure: the paper draws a phase's questions by weight from the whole band, at once. Here
        each round draws them by weight from the `question_share` of the pool's weight with the
        smallest margins, measured in standard deviations of the posterior after the last round.
        """
        answers, posterior = self._earlier, self._posterior
        is_open = (weights >= LEAST_WEIGHT) & ~np.isin(pool.ids, self._answers.ids)
        chosen, labels = np.zeros(0, dtype=np.intp), np.zeros(0)
        while chosen.size < (phase.n_queries or 0) and is_open.any() and posterior is not None:
            n_wanted = min(phase.questions_per_round, (phase.n_queries or 0) - chosen.size)
            margins = posterior.scaled_margins(pool.X)
            new = _nearest(margins, weights, is_open, phase.question_share, n_wanted, rng)
            ids, X = pool.ids[new], pool.X[new]
            told = yield LabelRequest(ids, X, phase.index)
            answers = answers.with_more(ids, X, told, phase.dirty_share)
            posterior = posterior.given(answers)
            is_open[new] = False
            chosen, labels = np.append(chosen, new), np.append(labels, told)
        if chosen.size == 0:
            return None
        return Sample(pool.ids[chosen], pool.X[chosen], np.ones(chosen.size)), labels

    def refine(
        self, point: FloatArray, sample: Sample, labels: FloatArray, phase: Phase
    ) -> FloatArray:
        """A better candidate than the minimizer of the hinge loss, from all labels of the run.

        Departure: the paper cuts the minimizer to its largest entries (line 10). Here its
        `n_candidates` largest are the features of a posterior, whose largest mean coefficients,
        fitted again without the others, are the candidate. Without candidates the minimizer stays.
        """
        if phase.n_candidates == 0 or not point.any():
            return point
        new = (sample.ids, sample.X, labels, phase.dirty_share)
        answers = self._earlier.with_more(*new)
        self._answers = self._answers.with_more(*new)
        start, n_kept = point / phase.hinge_scale, UNCERTAIN_FEATURES * self._sparsity
        self._posterior = SparsePosterior.of(answers, start, phase.n_candidates, n_kept)
        refined = self._posterior.cut(answers, self._sparsity).vector(point.size)
        return refined if refined.any() else point

    @property
    def _earlier(self) -> Answers:
        return self._answers if self._reuse else self._none


def _nearest(
    margins: FloatArray,
    weights: FloatArray,
    is_open: NDArray[np.bool_],
    share: float,
    n_wanted: int,
    rng: np.random.Generator,
) -> NDArray[np.intp]:
    """Rows drawn by weight, each once, from the share of the weight with the smallest margins.

    If that share has no more rows than are wanted, those with the smallest margins.
    """
    order = np.argsort(margins, kind="stable")
    reach = int(np.searchsorted(np.cumsum(weights[order]), share * weights.sum())) + 1
    near = order[:reach][is_open[order[:reach]]]
    if near.size <= n_wanted:
        return order[is_open[order]][:n_wanted]
    p = weights[near] / weights[near].sum()
    return rng.choice(near, size=n_wanted, replace=False, p=p)
