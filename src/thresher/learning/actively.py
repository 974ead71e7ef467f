"""`learn_actively`: a whole run with every label from one source."""

import numpy as np

from thresher.learning.active import ActiveLearner
from thresher.learning.algorithm import Schedule
from thresher.oracles import Classes, LabelSource


def learn_actively(
    pool: object,
    label_source: LabelSource,
    *,
    sparsity: int,
    noise_rate: float,
    target_error: float | None = None,
    label_budget: int | None = None,
    schedule: Schedule | None = None,
    random_state: int | np.random.Generator | None = None,
    classes: Classes | None = None,
) -> ActiveLearner:
    """Learn with every label from a label source, and return the finished learner.

    Parameters
    ----------
    pool : as in `ActiveLearner`
    label_source : a callable `(ids, X)` that returns a label for each id, or an object with
        `reveal(ids)`
    sparsity, noise_rate, target_error, label_budget, schedule, random_state, classes : as in
        `ActiveLearner`

    Raises
    ------
    Whatever the label source raises, with the unfinished learner as its attribute `learner`;
    `LearningStopped`, caused by it, if it takes no attribute

    Examples
    --------
    >>> from thresher.simulate import Gaussian, MaliciousOracle, random_target
    >>> oracle = MaliciousOracle(distribution=Gaussian(50), target=random_target(50, 3, 0),
    ...                          noise_rate=0.0, adversary=None, random_state=0)
    >>> learner = learn_actively(oracle, oracle, sparsity=3, noise_rate=0.0, random_state=0)
    >>> oracle.error_rate(learner.halfspace_) < 0.01
    True
    """
    learner = ActiveLearner(
        pool,
        sparsity=sparsity,
        noise_rate=noise_rate,
        target_error=target_error,
        label_budget=label_budget,
        schedule=schedule,
        random_state=random_state,
        classes=classes,
    )
    return learner.learn_from(label_source)
