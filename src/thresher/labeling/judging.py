"""How good the model is, judged on random labels that did not help to fit it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta, binom
from sklearn.linear_model import LogisticRegression

from thresher.estimators.folds import usual_folds
from thresher.labeling.fitting import Fitting, LinearFit
from thresher.validation import FloatArray, Rows

Places = NDArray[np.intp]

LEVEL = 0.95  # of the interval
N_FOLDS = 5  # of the random labels
LONGER = 0.2  # times its length: by as much, an interval may be longer to allow for planted rows
DOUBT = 0.01  # level of the sign test for an alarm
SLOPES = (1e-3, 1e3)  # of probabilities


class ErrorEstimate(NamedTuple):
    """The estimated error of the model, and the ends of a 95% confidence interval.

    Examples
    --------
    >>> estimate = exact_interval(n_wrong=0, n_labels=50)
    >>> estimate.estimate, round(estimate.high, 3)
    (0.0, 0.071)
    """

    estimate: float
    low: float
    high: float

    def allowing_for(self, noise_rate: float) -> Self:
        """With a lower end for the case that wrong labels are those of planted rows.

        They count as errors of the model, and new rows have none of them.

        Examples
        --------
        >>> estimate = exact_interval(n_wrong=5, n_labels=20)
        >>> [round(end, 3) for end in estimate.allowing_for(0.05)]
        [0.25, 0.037, 0.491]
        """
        most = LONGER * (self.high - self.low)
        return self._replace(low=max(0.0, self.low - min(noise_rate, most)))


def exact_interval(n_wrong: int, n_labels: int) -> ErrorEstimate:
    """The share of wrong labels with the interval of Clopper and Pearson.

    Examples
    --------
    >>> exact_interval(n_wrong=0, n_labels=0)
    ErrorEstimate(estimate=nan, low=0.0, high=1.0)
    """
    if n_labels == 0:
        return ErrorEstimate(float("nan"), 0.0, 1.0)
    tail, n_right = (1 - LEVEL) / 2, n_labels - n_wrong
    low = float(beta.ppf(tail, n_wrong, n_right + 1)) if n_wrong else 0.0
    high = float(beta.ppf(1 - tail, n_wrong + 1, n_right)) if n_right else 1.0
    return ErrorEstimate(n_wrong / n_labels, low, high)


@dataclass(frozen=True, eq=False)
class LabeledSample:
    """The labeled rows of a pool.

    Parameters
    ----------
    rows : (m, d) scaled
    signs : (m,) of -1 and +1
    weights : (m,) the trust in each row
    random : places of the rows that were drawn at random, in the order of the questions
    """

    rows: Rows
    signs: FloatArray
    weights: FloatArray
    random: Sequence[int]

    @property
    def has_both_classes(self) -> bool:
        """Whether there is a label of each class."""
        return bool((self.signs > 0).any() and (self.signs < 0).any())

    def take(self, places: Places) -> Self:
        """Some of the rows; which of them were random is not kept."""
        return type(self)(self.rows[places], self.signs[places], self.weights[places], ())

    def without(self, places: Sequence[int] | Places) -> Self:
        """The other rows."""
        return self.take(np.setdiff1d(np.arange(self.signs.size), places))

    def fit(self, fitting: Fitting) -> LinearFit:
        """The model of these rows."""
        return fitting.fit(self.rows, self.signs, self.weights)

    def error(self, fitting: Fitting) -> ErrorEstimate:
        """The error of the model on random rows, each judged by a fit without it.

        The random rows are split into five parts. Those of one part are judged by the model that
        all other labels give, so that no row enters the fit that it judges. The interval is that of
        Clopper and Pearson; its lower end allows for planted rows among the random ones.
        """
        n_wrong = 0
        for held_out in self._parts_of_random():
            n_wrong += int(self.take(held_out)._is_wrong(self.without(held_out), fitting).sum())
        return exact_interval(n_wrong, len(self.random)).allowing_for(fitting.noise_rate)

    def _parts_of_random(self) -> list[Places]:
        random = np.asarray(self.random, dtype=np.intp)
        parts = [random[start::N_FOLDS] for start in range(N_FOLDS)]
        return [part for part in parts if part.size]

    def _is_wrong(self, others: Self, fitting: Fitting) -> NDArray[np.bool_]:
        """Which of these rows a model of the others gets wrong."""
        if others.has_both_classes:
            positive = others.fit(fitting).scores(self.rows) > 0
        else:
            positive = np.full(self.signs.size, bool(others.signs.sum() > 0))
        return positive != (self.signs > 0)

    def slope(self, fitting: Fitting) -> float:
        """What scores are multiplied with to be the log-odds of the second class.

        Fitted to the scores of held-out rows. Rows that were bought near the boundary do no harm
        here: among rows of equal score, they are as random as any.
        """
        scores = self.held_out_scores(fitting)
        if not scores.any():
            return 1.0
        unit = float(np.abs(scores).mean())
        model = LogisticRegression(C=10.0, fit_intercept=False)
        model.fit(scores[:, np.newaxis] / unit, self.signs, self.weights)
        return float(np.clip(model.coef_[0, 0] / unit, *SLOPES))

    def held_out_scores(self, fitting: Fitting) -> FloatArray:
        """The score of each row under a fit without its fold."""
        scores = np.zeros(self.signs.size)
        for fold in usual_folds(self.signs, 0):
            fit = self.take(fold.train).fit(fitting)
            scores[fold.test] = fit.scores(self.rows[fold.test])
        return scores

    def disagrees(self) -> bool:
        """Whether bought labels make models clearly worse on random rows than no bought labels.

        An adversary who plants rows where the questions are asked does that. Random rows are
        compared in pairs, each held out of both fits (sign test).
        """
        n_worse = n_better = 0
        for held_out in self._parts_of_random():
            judges = self.take(held_out)
            rest = np.setdiff1d(self.random, held_out)
            with_bought = judges._is_wrong(self.without(held_out), Fitting())
            random_alone = judges._is_wrong(self.take(rest), Fitting())
            n_worse += int((with_bought & ~random_alone).sum())
            n_better += int((random_alone & ~with_bought).sum())
        return float(binom.cdf(n_better, n_better + n_worse, 0.5)) < DOUBT
