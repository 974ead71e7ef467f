"""Ask/tell: the learner names the rows whose labels it wants and takes them in any order."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from thresher.errors import BudgetExceeded, LearningStopped
from thresher.learning.algorithm import Schedule, check_schedule, learn_in_turn, with_rows
from thresher.learning.doubts import warn_if_unscaled, warn_of_one_class, warn_of_pruned
from thresher.learning.history import History, PhaseOutcome
from thresher.learning.journal import Journal, RunFile
from thresher.learning.practical import PracticalSchedule
from thresher.learning.recording import RecordedSource, carrier_of, check_answer, unanswered
from thresher.learning.task import Task
from thresher.oracles import (
    Classes,
    LabelRequest,
    LabelSource,
    as_instance_source,
    check_classes,
    reveal_labels,
    signs_of,
)
from thresher.validation import FloatArray, seed_from


class ActiveLearner:
    """Learns a sparse halfspace by asking for few labels, from a pool that may be poisoned.

    Call `ask` for rows and `tell` their labels until `ask` returns None. You can pass labels in
    parts and in any order. Every label is kept, no id is asked for twice, and a bad answer changes
    nothing. `save` and `restore` continue a run in another process.

    Parameters
    ----------
    pool : array, sparse matrix, data frame, iterator of rows, or any `InstanceSource`
    sparsity : maximum number of features of the halfspace
    noise_rate : share of planted rows to tolerate, below 0.5
    target_error : error at which learning stops; by default 1%, or a fifth of the noise rate if
        that is larger
    label_budget : maximum number of distinct labels, never exceeded. With a target error, only what
        that error needs is spent; without one, the whole budget. By default the practical schedule
        spends three times the labels that any method needs, and with noise up to ten times
    schedule : `PracticalSchedule()` if not given; `TheorySchedule(...)` for the paper's constants
    random_state : integer seed or `np.random.Generator`
    classes : the two labels that will be told, the negative one first; -1 and +1 if not given

    Attributes
    ----------
    halfspace_ : (d,) the current halfspace, unit norm once a phase is over, zeros before
    n_labels_ : number of distinct ids labeled so far
    n_draws_ : instances drawn, including those outside the band
    n_queries_ : rows drawn by weight, including repetitions
    phases_ : one `PhaseOutcome` for each finished phase
    stop_reason_ : why `ask` returned None: "budget spent", "no usable rows" or "schedule finished";
        None while there are questions

    Notes
    -----
    Made for the paper's world: a stream or a large pool of rows with mean 0 and variance 1 in every
    direction, and a boundary through the origin. For real pools use `ActiveClassifier`, which
    scales columns and fits an intercept. A pool that is not scaled is warned about
    (`UnsuitablePool`), and so are answers of one class only (`DoubtfulLabels`).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((4000, 30))
    >>> learner = ActiveLearner(X, sparsity=2, noise_rate=0.0, label_budget=120, random_state=0)
    >>> while (question := learner.ask()) is not None:
    ...     learner.tell(np.where(question.X[:, 3] + question.X[:, 5] > 0, 1, -1))
    >>> np.flatnonzero(learner.halfspace_), learner.n_labels_ <= 120
    (array([3, 5]), True)
    """

    def __init__(
        self,
        pool: object,
        *,
        sparsity: int,
        noise_rate: float,
        target_error: float | None = None,
        label_budget: int | None = None,
        schedule: Schedule | None = None,
        random_state: int | np.random.Generator | None = None,
        classes: Classes | None = None,
    ) -> None:
        seed = seed_from(random_state)
        self._source = as_instance_source(pool, random_state=seed)
        self._task = Task(
            n_features=self._source.n_features,
            sparsity=sparsity,
            noise_rate=noise_rate,
            target_error=target_error,
            label_budget=label_budget,
        )
        self._schedule = PracticalSchedule() if schedule is None else check_schedule(schedule)
        self._classes = check_classes(classes)
        self._journal = Journal(seed=seed)
        self._draws = RecordedSource(self._source, self._journal)
        self._file: RunFile | None = None  # last read or written
        self._phases: list[PhaseOutcome] = []
        self._n_reported = 0
        self._is_scale_checked = False
        self._rewind()

    # -- the conversation --------------------------------------------------------------------

    def ask(self) -> LabelRequest | None:
        """The rows whose labels are wanted next, or None when learning is over.

        Asking again without answering returns the same rows. Drawing and solving happen here; an
        interrupt or an error in the pool loses nothing, and the next `ask` continues.

        Raises
        ------
        BudgetExceeded : the schedule wants more labels than `label_budget` leaves
        LearningStopped : the pool gave no usable row in the first phase
        """
        try:
            return self._next_question()
        except KeyboardInterrupt:  # it may have struck between any two steps
            self._rewind()
            raise

    def tell(self, labels: object, ids: object | None = None) -> None:
        """Record labels for the rows of the last question, or for some of its ids.

        Parameters
        ----------
        labels : one label for each id: -1 or +1, or one of the two `classes`
        ids : which rows they belong to; all of the last question, in its order, if not given

        Raises
        ------
        ValueError : wrong number of labels, a label of neither class, an id that was not asked for,
            or a label that contradicts an earlier one. Then nothing is recorded, and all earlier
            labels are kept
        """
        request = self._request
        if request is None:
            what = "learning is over" if self._is_over else "call ask first"
            raise LearningStopped(f"there is no question to answer: {what}")
        known = self._journal.labels
        signs = labels if self._classes is None else signs_of(labels, self._classes)
        known.update(check_answer(signs, ids, request, known))

    def learn_from(self, label_source: LabelSource) -> Self:
        """Get every label it still needs from a label source, and return this learner, finished.

        If the source or the pool fails, the error carries this learner as its attribute `learner`.
        All labels so far are kept, and calling again continues from there. An error that takes no
        attribute becomes the cause of one that does: a `LearningStopped`, or the built-in type of
        an interrupt or exit.
        """
        try:
            while (question := self.ask()) is not None:
                answers = reveal_labels(label_source, question.ids, question.X, self._classes)
                self._journal.labels.update(zip(question.ids.tolist(), answers.tolist()))
        except BaseException as error:
            if self._is_carried_by(error):
                raise
            carrier = carrier_of(error)
            self._is_carried_by(carrier)
            raise carrier from error
        return self

    # -- what is known so far ----------------------------------------------------------------

    @property
    def halfspace_(self) -> FloatArray:
        """The halfspace of the last finished phase; zeros before."""
        return (
            self._phases[-1].halfspace.copy() if self._phases else np.zeros(self._task.n_features)
        )

    @property
    def phases_(self) -> History:
        """One outcome for each finished phase."""
        return tuple(self._phases)

    @property
    def n_labels_(self) -> int:
        """Number of distinct ids labeled so far."""
        return len(self._journal.labels)

    @property
    def n_draws_(self) -> int:
        """Instances drawn so far, including those outside the band."""
        return self._journal.n_drawn

    @property
    def n_queries_(self) -> int:
        """Rows drawn by weight in finished phases, including repetitions."""
        return sum(outcome.n_queries for outcome in self._phases)

    @property
    def stop_reason_(self) -> str | None:
        """Why learning is over; None while it is not."""
        if not self._is_over:
            return None
        budget = self._task.label_budget
        if budget is not None and self.n_labels_ >= budget:
            return "budget spent"
        is_last_used = self._draws.n_answered == self._n_observed
        return "schedule finished" if is_last_used else "no usable rows"

    # -- saving and resuming -----------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write everything needed to continue later to one NPZ file (no pickles, atomic).

        Several processes can continue one run on the same table in one file: labels that others
        have saved there since this learner last read or wrote it stay in the file, and `restore`
        finds the labels of all. Any other file is replaced.
        """
        if self._file is None or self._file.place != Path(path).absolute():
            self._file = RunFile(path)
        self._file.save(self._journal, self._task, self._schedule, self._classes)

    @classmethod
    def restore(
        cls,
        path: str | Path,
        pool: object,
        *,
        schedule: Schedule | None = None,
        label_budget: int | None = None,
    ) -> Self:
        """The learner as it was saved, rebuilt by replaying the recorded answers.

        Parameters
        ----------
        path : a file written by `save`
        pool : the same table, or a source that continues to deliver rows; a stream may have ended
        schedule : needed only if the run used a custom schedule
        label_budget : a new budget; the saved one by default. What a smaller one has paid for stays
            as it was planned, and the phases of a larger one follow it

        Raises
        ------
        DamagedFile : the file was not written by `save`, or is damaged
        LearningStopped : the pool is not the one that the run was saved with
        """
        file = RunFile(path)
        saved = file.load()
        if schedule is None and saved.schedule is None:
            raise ValueError(f"{path} was saved with a custom schedule: pass it as schedule")
        seed, n_drawn = saved.journal.seed, saved.journal.n_drawn
        learner = cls(
            as_instance_source(
                pool, random_state=seed, first_id=n_drawn, n_features=saved.task.n_features
            ),
            sparsity=saved.task.sparsity,
            noise_rate=saved.task.noise_rate,
            target_error=saved.task.target_error,
            label_budget=saved.task.label_budget if label_budget is None else label_budget,
            schedule=schedule if schedule is not None else saved.schedule,
            random_state=seed,
            classes=saved.classes,
        )
        if learner._task.n_features != saved.task.n_features:
            raise ValueError(
                f"pool must have {saved.task.n_features} features like the saved run, "
                f"got {learner._task.n_features}"
            )
        learner._file, learner._journal = file, saved.journal
        if learner._plans_by_budget and learner._task != saved.task:
            saved.journal.budgets.append(saved.task.label_budget)
        learner._draws = RecordedSource(learner._source, saved.journal)
        learner._rewind()
        with suppress(BudgetExceeded):  # the next ask says so again
            learner.ask()
        return learner

    # -- inside ------------------------------------------------------------------------------

    def _rewind(self) -> None:
        """Restart the engine; replaying the recorded answers brings it back to where it was."""
        rng = np.random.default_rng(self._journal.seed)
        tasks = [replace(self._task, label_budget=b) for b in self._journal.budgets]
        # A run that was planned for more labels than its budget is now goes on as planned.
        if not tasks or self._task.label_budget not in self._journal.budgets:
            tasks.append(self._task)
        run = learn_in_turn(tasks, self._schedule, rng, observe=self._observe)
        self._run = with_rows(run, self._draws.draw)
        self._request: LabelRequest | None = None
        self._is_started = self._is_over = False
        self._n_observed = 0
        self._draws.rewind()

    def _next_question(self) -> LabelRequest | None:
        if not self._is_started:
            self._send(None)
        while (request := self._request) is not None:
            missing = unanswered(request, self._journal.labels)
            if missing.size:
                self._refuse_overspending(missing.size)
                return LabelRequest(request.ids[missing], request.X[missing], request.phase)
            self._send(np.array([self._journal.labels[i] for i in request.ids.tolist()]))
        if not self._phases:
            raise LearningStopped(
                "the pool has no usable row: it is empty, or every row has an entry beyond the "
                f"pruning radius; {self.n_draws_} draws are kept. Scale the features to mean 0 and "
                "variance 1"
            )
        return None

    def _send(self, labels: FloatArray | None) -> None:
        try:
            self._request = self._run.send(labels)  # type: ignore[arg-type] # None starts it
        except StopIteration:
            self._request, self._is_over = None, True
        except BaseException:  # a generator does not survive an error in one of its steps
            self._rewind()
            raise
        self._is_started = True
        self._warn_of_phases()

    def _observe(self, outcome: PhaseOutcome) -> None:
        # After a rewind, an outcome takes the place of its equal.
        self._phases[self._n_observed : self._n_observed + 1] = [outcome]
        self._n_observed += 1

    def _warn_of_phases(self) -> None:
        # Not where the outcome is observed: a warning that is made an error would end the engine.
        if self._request is not None and not self._is_scale_checked:
            self._is_scale_checked = True
            warn_if_unscaled(self._request.X)
        while self._n_reported < len(self._phases):
            self._n_reported += 1
            outcome = self._phases[self._n_reported - 1]
            if self._n_reported == 1:
                warn_of_pruned(outcome)
                warn_of_one_class(self._journal.labels)
            outcome.warn_if_uncertified()

    @property
    def _plans_by_budget(self) -> bool:
        """Whether the size of a phase depends on the budget."""
        return isinstance(self._schedule, PracticalSchedule)

    def _is_carried_by(self, error: Any) -> bool:
        """Whether the error took this learner as an attribute; some errors are frozen."""
        try:
            error.learner = self
            error.add_note(
                f"{self.n_labels_} labels and {len(self._phases)} phases are kept in this error's "
                "`learner`: call its learn_from(label_source) to continue, or its save(path)"
            )
            return error.learner is self
        except Exception:
            return False

    def _refuse_overspending(self, n_wanted: int) -> None:
        budget = self._task.label_budget
        if budget is not None and n_wanted + self.n_labels_ > budget:
            raise BudgetExceeded(
                "labels",
                n_asked=n_wanted,
                n_left=max(0, budget - self.n_labels_),
                kept=f"{self.n_labels_} labels and {len(self._phases)} phases are kept",
            )
