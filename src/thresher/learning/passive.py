"""The passive form (the corollary): every row comes with its label, and labels cost nothing."""

from __future__ import annotations

import numpy as np

from thresher.learning.active import ActiveLearner
from thresher.learning.algorithm import Schedule
from thresher.learning.practical import PracticalSchedule
from thresher.validation import check_labels, check_rows


def learn_passively(
    X: object,
    y: object,
    *,
    sparsity: int,
    noise_rate: float,
    target_error: float | None = None,
    schedule: Schedule | None = None,
    random_state: int | np.random.Generator | None = None,
) -> ActiveLearner:
    """The finished learner, from labeled rows of which somebody may have planted some.

    Whenever Algorithm 1 draws an instance, a labeled one is drawn, so no label has to be paid. By
    default every row in the band counts with its trust weight, instead of a sample by weight
    (a departure: the sample exists to save labels, and there are none to save).

    Parameters
    ----------
    X : (n, d) array, sparse matrix or data frame; features of mean 0 and variance 1
    y : (n,) labels of -1 and +1
    sparsity, noise_rate, target_error, random_state : as in `ActiveLearner`
    schedule : `PracticalSchedule().for_table(n)` if not given

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((2000, 30))
    >>> y = np.where(X[:, 3] - X[:, 5] > 0, 1, -1)
    >>> learner = learn_passively(X, y, sparsity=2, noise_rate=0.0, random_state=0)
    >>> np.sign(learner.halfspace_[[3, 5]])
    array([ 1., -1.])
    """
    rows = check_rows(X)
    labels = check_labels(y, "y", length=rows.shape[0])
    if schedule is None:
        schedule = PracticalSchedule().for_table(int(rows.shape[0]))
    learner = ActiveLearner(
        rows,
        sparsity=sparsity,
        noise_rate=noise_rate,
        target_error=target_error,
        schedule=schedule,
        random_state=random_state,
    )
    while (question := learner.ask()) is not None:
        learner.tell(labels[question.ids])
        del question  # its rows would be kept through the next phase
    return learner
