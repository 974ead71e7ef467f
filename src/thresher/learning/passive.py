"""The passive form (the corollary): every row comes with its label, and labels cost nothing."""

from collections.abc import Callable
from typing import Any

import numpy as np

from thresher.errors import LearningStopped
from thresher.learning.active import ActiveLearner
from thresher.learning.actively import learn_actively
from thresher.learning.algorithm import Schedule, complete, learn
from thresher.learning.history import History, PhaseOutcome
from thresher.learning.practical import PracticalSchedule
from thresher.learning.task import Task
from thresher.oracles import InstanceSource, LabeledStream, RevealsLabels, Table, WholeTable
from thresher.validation import FloatArray, check_labels, check_rows


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
    """Learn from labeled rows, some of them perhaps planted, and return the finished learner.

    Wherever Algorithm 1 draws an instance, a labeled one is drawn, so no label has to be bought. By
    default every row in the band counts with its weight, instead of a sample by weight (a
    departure: the sample exists to save labels, and here labels are free).

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


def learn_from_examples(
    examples: object,
    *,
    sparsity: int,
    noise_rate: float,
    target_error: float | None = None,
    schedule: Schedule | None = None,
    random_state: int | np.random.Generator | None = None,
) -> ActiveLearner:
    """Learn from a source of labeled examples (the corollary of the paper), and return the learner.

    Wherever Algorithm 1 draws an instance or asks for a label, EX is called: it gives a row with
    its label. Rows outside the band are rejected with their labels, so what learning costs is
    `n_draws_`, the number of labeled examples.

    Parameters
    ----------
    examples : a source with `draw(request)` and `reveal(ids)`, for instance a `MaliciousOracle`; or
        an iterable of pairs of a row and its label, -1 or +1
    sparsity, noise_rate, target_error, random_state : as in `ActiveLearner`
    schedule : if not given, `PracticalSchedule(use_every_row=True, reuse_labels=False)`: every
        example in the band counts with its weight

    Examples
    --------
    >>> from thresher.simulate import Gaussian, LabelFlip, MaliciousOracle, random_target
    >>> oracle = MaliciousOracle(distribution=Gaussian(20), target=random_target(20, 2, 0),
    ...                          noise_rate=0.02, adversary=LabelFlip(), random_state=0)
    >>> learner = learn_from_examples(oracle, sparsity=2, noise_rate=0.02, random_state=0)
    >>> oracle.error_rate(learner.halfspace_) < 0.02, learner.n_draws_ == oracle.n_draws
    (True, True)
    """
    source: Any = examples
    if not (isinstance(examples, InstanceSource) and isinstance(examples, RevealsLabels)):
        source = LabeledStream(source)
    if schedule is None:
        schedule = PracticalSchedule(use_every_row=True, reuse_labels=False)
    return learn_actively(
        source,
        source,
        sparsity=sparsity,
        noise_rate=noise_rate,
        target_error=target_error,
        schedule=schedule,
        random_state=random_state,
    )


def learn_from_table(
    rows: Table,
    labels: FloatArray,
    task: Task,
    schedule: Schedule,
    *,
    seed: int = 0,
    observe: Callable[[PhaseOutcome], object] | None = None,
) -> History:
    """The history of a run on a labeled table: the engine of `HalfspaceClassifier`.

    Every row of the band is drawn, in order, and nothing is copied that need not be.

    Parameters
    ----------
    rows : (n, d) array or CSR matrix, checked, or an object that makes parts of one when asked
    labels : (n,) of -1 and +1
    task, schedule : as in `learn`; a phase that asks for fewer rows than there are gets the first
    seed : random seed, for schedules that sample rows
    observe : called with the outcome of each phase; learning ends when it returns a true value

    Raises
    ------
    LearningStopped : the table has no usable row

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.standard_normal((2000, 30))
    >>> labels = np.where(rows[:, 3] - rows[:, 5] > 0, 1.0, -1.0)
    >>> task = Task(n_features=30, sparsity=2, noise_rate=0.02)
    >>> schedule = PracticalSchedule().for_table(2000, label_aware=True)
    >>> np.flatnonzero(learn_from_table(rows, labels, task, schedule)[-1].halfspace)
    array([3, 5])
    """
    run = learn(task, schedule, np.random.default_rng(seed), observe)
    history = complete(run, WholeTable(rows).draw, labels.__getitem__)
    if not history:
        raise LearningStopped(
            "every row of the table has an entry beyond the pruning radius: scale its columns to "
            "mean 0 and variance 1"
        )
    for outcome in history:
        outcome.warn_if_uncertified()
    return history
