"""`ActiveClassifier`: labels of a finite pool, bought where they tell most."""

from collections.abc import Mapping
from copy import copy
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from thresher.errors import DoubtfulLabels, LearningStopped, warn_caller
from thresher.estimators.model import HalfspaceModel
from thresher.labeling.answers import ids_and_labels, plain_labels
from thresher.labeling.capture import N_FIRST
from thresher.labeling.fitting import Fitting
from thresher.labeling.judging import ErrorEstimate, LabeledSample
from thresher.labeling.learned_model import LearnedModel
from thresher.labeling.near_copies import NearCopies
from thresher.labeling.parameters import Parameters
from thresher.labeling.pool import FinitePool, Question
from thresher.labeling.questions import Questioner
from thresher.labeling.run_file import load_run, save_run
from thresher.labeling.scaled_pool import ScaledPool
from thresher.labeling.transcript import Batch, Transcript
from thresher.labeling.trust import LEAST_TRUST, trust_in_labeled, trust_in_pool
from thresher.validation import FloatArray, seed_from
from thresher.wording import one_line

N_STEADY = 3  # batches that must change almost no prediction
STEADY = 0.002  # share of the predictions that may change
LEAST_FOR_TARGET = 50  # labels: a model of fewer is often worse than its luck on 20 random rows
LEAST_LABELS = 100  # before a run without a budget ends by itself, and between alarms


class ActiveClassifier:
    """A linear classifier that asks for the labels of a pool's most informative rows.

    Call `ask` for rows and `tell` their labels until `ask` returns None. Rows that stand out in the
    pool (Algorithm 2) are not asked about, and changed copies of other rows last. The first
    questions are random; then come the rows that the current model is least sure of, and a share of
    random ones, on which the model's error is estimated. A batch has only one of several rows that
    hardly differ. If the random labels have far more of a class than the model predicts, more of
    the next questions are random. Columns are scaled by medians and clipped, and there is an
    intercept.

    Parameters
    ----------
    pool : array, sparse matrix or data frame of shape (n, d). Of a pool larger than memory
        (`ParquetPool`, `DaskPool`), a uniform sample is asked about, by the ids that its rows have
        there
    noise_rate : largest share of planted rows to withstand, below 0.5
    sparsity : largest number of features in the model; "auto" or "all" for no limit
    batch_size : largest number of rows in a question
    label_budget : largest number of labels to ask for. The order of the questions does not depend
        on it: a run that is restored with a larger budget goes on where it ended
    target_error : stop when the upper end of the estimated error's interval is at most this, after
        50 labels at the earliest. It takes about 3.7/target_error random labels even if no
        prediction is wrong, so think of a larger `audit_fraction`
    initial_labels : labels that are known already: a dict from ids to labels, a pandas series, or
        one label for each row of the pool, None where it is unknown. They cost nothing, replace the
        first random questions, and do not count in `error_estimate_`
    audit_fraction : least share of random questions, the first ones included; 0 for none but the
        first ones
    random_state : integer seed, Generator, RandomState or None

    Attributes
    ----------
    classes_ : the two labels; the second is the positive class
    coef_, intercept_ : (1, n_features) and (1,) in the units of the columns of the pool
    support_ : indices of the features with a non-zero coefficient
    n_labels_ : number of labels bought so far; skipped rows and initial labels do not count
    error_estimate_ : (estimate, low, high): the error on random labels, with a 95% interval
    stop_reason_ : why `ask` returned None: "budget spent", "target met", "no longer changes" or
        "pool exhausted"; None while there are questions
    row_weights_ : (n,) the trust in each row of the pool, or of its sample, from 0 to 1
    pool_ids_ : (n,) the ids of these rows

    Notes
    -----
    The model is fitted to all labels, weighted by trust; from 60 labels on, then once more without
    those that a fit to the others contradicts most, up to 1.5 times the noise rate of each class.
    `error_estimate_` judges each random label by a fit without it (five folds), so it describes
    models with slightly fewer labels. It counts disagreements with the labels that were given,
    mistakes of the annotator included. Rows that were skipped do not count.

    Without a budget and a target, questions end when three batches have changed almost no
    prediction on the pool.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((1000, 10))
    >>> learner = ActiveClassifier(X, label_budget=100, random_state=0)
    >>> while (question := learner.ask()) is not None:
    ...     learner.tell(np.where(question.X[:, 3] + question.X[:, 5] > 0.5, "yes", "no"))
    >>> learner.stop_reason_, learner.n_labels_
    ('budget spent', 100)
    >>> learner.score(X, np.where(X[:, 3] + X[:, 5] > 0.5, "yes", "no")) > 0.95
    True
    """

    def __init__(
        self,
        pool: Any,
        *,
        noise_rate: float = 0.05,
        sparsity: int | str = "auto",
        batch_size: int = 10,
        label_budget: int | None = None,
        target_error: float | None = None,
        initial_labels: Any = None,
        audit_fraction: float = 0.1,
        random_state: Any = None,
    ) -> None:
        self._parameters = Parameters(
            noise_rate, sparsity, batch_size, label_budget, target_error, audit_fraction
        )
        self._pool = FinitePool.of(pool)
        rows, noise_rate = self._pool.rows, self._parameters.noise_rate
        self.row_weights_ = trust_in_pool(rows, ScaledPool.of(rows), noise_rate)
        self._is_trusted = self.row_weights_ > LEAST_TRUST
        self._scaled = ScaledPool.of(rows, places=np.flatnonzero(self._is_trusted))
        self._copies = NearCopies.of(rows, self._scaled.rows, noise_rate)
        self.stop_reason_: str | None = None
        self._transcript = Transcript(seed_from(random_state))
        self._learned: LearnedModel | None = None
        self._warned: set[str] = set()
        if initial_labels is not None:
            self._take_initial(initial_labels)

    def _take_initial(self, labels: Any) -> None:
        ids, labels = ids_and_labels(labels)
        rows = list(range(self._pool.n_rows)) if ids is None else self._pool.positions(ids)
        values = plain_labels(labels, len(rows), self._transcript.answers.kept)
        known = {row: value for row, value in zip(rows, values) if value is not None}
        self._transcript.answers.update(known)
        self._transcript.initial = sorted(known)

    # -- the conversation --------------------------------------------------------------------

    def ask(self) -> Question | None:
        """The rows whose labels are wanted next, or None when there is nothing more to ask.

        Asking again without answering returns the same rows.
        """
        self.stop_reason_ = self.reason_to_stop()
        if self.stop_reason_ is None and not self._transcript.pending():
            self._warn()
            if (batch := self.next_batch()).rows:
                self._transcript.batches.append(batch)
            else:
                self.stop_reason_ = "pool exhausted"
        return None if self.stop_reason_ else self._pool.question(self._open_rows())

    def tell(self, labels: Any, ids: Any = None) -> None:
        """Record the labels of the rows of the last question, or of any rows that were asked about.

        Parameters
        ----------
        labels : one for each row, of any two kinds (strings, numbers, booleans); None or NaN skips
            a row. In the order of the rows, or a dict from ids to labels. A pandas series goes by
            its index, if the pool has one or if that has the ids of these rows
        ids : which rows they belong to, one id or several in any order. A row that has an answer
            gets the new one. By default, the rows of the last question that are still without one

        Raises
        ------
        ValueError, TypeError : an id that was not asked about, a third kind of label, or a wrong
            number of labels. Then nothing is recorded
        """
        answers = self._transcript.answers
        rows, labels = self._rows_and_labels(labels, ids)
        values = plain_labels(labels, len(rows), answers.kept)
        answers.update(dict(zip(rows, values)))
        self._learned, self.stop_reason_ = None, None

    def _rows_and_labels(self, given: Any, ids: Any) -> tuple[list[int], Any]:
        """Positions in the pool, and the label of each in that order."""
        own_ids, labels = ids_and_labels(given)
        rows = self._open_rows() if ids is None else self._asked_rows(ids)
        if own_ids is not None and set(own_ids) == set(self._pool.ids[rows].tolist()):
            return self._asked_rows(own_ids), labels
        is_dict, kept = isinstance(given, Mapping), self._transcript.answers.kept
        if is_dict and ids is not None:
            raise ValueError(f"labels and ids have different ids: pass labels alone; {kept}")
        if is_dict or (own_ids is not None and ids is None and self._pool.has_index):
            try:
                return self._asked_rows(own_ids), labels
            except ValueError as error:
                hint = "labels go by their own ids; for the order of the question, pass a list"
                raise ValueError(f"{error} ({hint}; {kept})") from None
        if ids is None and not rows:
            raise LearningStopped("there is no question to answer: call ask first, or pass ids")
        return rows, labels

    def _asked_rows(self, ids: Any) -> list[int]:
        rows = self._pool.positions(self._pool.listed(ids))
        asked = {*self._transcript.asked(), *self._transcript.initial}
        for row in rows:
            if row not in asked:
                kept = self._transcript.answers.kept
                raise ValueError(f"id {self._pool.name_of(row)} was not asked about; {kept}")
        return rows

    def _open_rows(self) -> list[int]:
        """The pending rows, as far as the budget reaches."""
        pending, budget = self._transcript.pending(), self._parameters.label_budget
        return pending if budget is None else pending[: max(0, budget - self.n_labels_)]

    def next_batch(self) -> Batch:
        """The rows to ask about next, whatever the budget and whether earlier ones are answered.

        None are left at the end of the pool; see `reason_to_stop` for other reasons to stop.
        """
        size, share = self._parameters.batch_size, self._parameters.audit_fraction
        fitting = Fitting(noise_rate=self._parameters.noise_rate)
        trust, copies = self.row_weights_, self._copies
        questioner = Questioner(self._scaled, trust, copies, size, share, fitting)
        return questioner.next_batch(self._transcript)

    def with_transcript(self, transcript: Transcript, parameters: Parameters) -> Self:
        """A learner of the same pool with other questions and answers; the pool is shared.

        For who keeps the questions and answers: see `thresher.label_sessions`. The noise rate must
        be the same, because the trust in the pool depends on it.
        """
        other = copy(self)
        other._transcript, other._parameters = transcript, parameters
        other._learned, other.stop_reason_ = None, None
        return other

    # -- when to stop, and what to warn of ---------------------------------------------------

    def reason_to_stop(self) -> str | None:
        """Why there is no more to ask; None while there is, or may be."""
        budget, target = self._parameters.label_budget, self._parameters.target_error
        if budget is not None and self.n_labels_ >= budget:
            return "budget spent"
        if self._transcript.pending() or len(self._transcript.answers.classes) < 2:
            return None
        is_early = self.n_labels_ < LEAST_FOR_TARGET
        if target is not None and not is_early and self.error_estimate_.high <= target:
            return "target met"
        is_open = budget is None and target is None
        return "no longer changes" if is_open and self._is_steady() else None

    def _is_steady(self) -> bool:
        """Whether the last batches have changed almost no prediction on the pool."""
        if self.n_labels_ < LEAST_LABELS:
            return False
        recent = {row for batch in self._transcript.batches[-N_STEADY:] for row in batch.rows}
        labeled = self._transcript.answers.labeled
        places = [place for place, row in enumerate(labeled) if row in recent]
        return self._model.changed_by(places) <= STEADY

    def _warn(self) -> None:
        """Warn, once each, of answers of one class and of bought labels that do harm."""
        for kind, message in self.doubts().items():
            if kind not in self._warned:
                self._warned.add(kind)
                warn_caller(message, DoubtfulLabels)

    def doubts(self) -> dict[str, str]:
        """What looks wrong with the answers, by kind: only one class, or labels that do harm."""
        classes, n_labels = self._transcript.answers.classes, self.n_labels_
        found = {}
        if len(classes) == 1 and n_labels >= N_FIRST:
            found["one class"] = (
                f"all labels so far are {classes[0]!r}: random rows are asked about until another "
                "label occurs, half of them distrusted ones. If you know a row of the other "
                "class, pass it as initial_labels"
            )
        n_since = n_labels % LEAST_LABELS
        is_time = n_labels >= LEAST_LABELS and n_since < self._parameters.batch_size
        is_known = "disagreement" in self._warned  # and it takes ten fits
        if len(classes) == 2 and is_time and not is_known and self._model.sample.disagrees():
            found["disagreement"] = (
                "the labels of the rows that the model was least sure of make it worse on random "
                "rows: somebody may have planted rows where the questions are asked"
            )
        return found

    # -- the model ---------------------------------------------------------------------------

    @property
    def _model(self) -> LearnedModel:
        """The model of the current answers."""
        if self._learned is None:
            answers = self._transcript.answers
            answers.require_two_classes()
            labeled = answers.labeled
            signs = answers.signs(labeled)
            random = self._transcript.labeled_at_random()
            sample = LabeledSample(
                rows=self._scaled.rows[labeled],
                signs=signs,
                weights=trust_in_labeled(self.row_weights_, labeled, signs),
                random=[int(place) for place in np.searchsorted(labeled, random)],
            )
            asked = self._parameters
            fitting = Fitting(asked.max_features, self._transcript.seed, asked.noise_rate)
            names = self._pool.feature_names
            self._learned = LearnedModel(
                sample, fitting, self._scaled, answers.classes, self._is_trusted, names
            )
        return self._learned

    @property
    def pool_ids_(self) -> NDArray[Any]:
        """The ids of the rows that can be asked about."""
        return self._pool.ids

    def to_model(self, *, with_probabilities: bool = False) -> HalfspaceModel:
        """The current model alone, for `save_model`; with probabilities, it can predict them."""
        if not with_probabilities:
            return self._model.halfspace
        return replace(self._model.halfspace, probability_slope=self._model.slope)

    def to_sklearn(self) -> Any:
        """A plain scikit-learn pipeline with the same predictions, see `HalfspaceModel`."""
        return self.to_model().to_sklearn()

    def decision_function(self, X: Any) -> FloatArray:
        """A score for each row: positive for the second class."""
        return self._model.scores(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """The predicted label of each row."""
        return self.to_model().labels_of(self.decision_function(X))

    def predict_proba(self, X: Any) -> FloatArray:
        """The probabilities of the two classes, calibrated on held-out labels."""
        return self._model.probabilities(X)

    def label_probabilities(self) -> dict[Any, float]:
        """How probable each label given is, by id, to a model fitted without it.

        A label of small probability may be a mistake, or the row planted.
        """
        ids = self._pool.ids[self._transcript.answers.labeled].tolist()
        return dict(zip(ids, self._model.label_probabilities().tolist()))

    def score(self, X: Any, y: Any) -> float:
        """The share of rows whose label is predicted."""
        predicted, labels = self.predict(X), np.asarray(y)
        if labels.shape != predicted.shape:
            shapes = f"{predicted.shape}, got {labels.shape}"
            raise ValueError(f"y must have one label for each row of X: shape {shapes}")
        if labels.size and not set(labels.tolist()) & set(self._model.classes):
            first, second = self._model.classes
            got = one_line(repr(labels.tolist()[0]))
            raise ValueError(f"y must have the labels {first!r} and {second!r}, got {got}")
        return float(np.mean(predicted == labels))

    @property
    def classes_(self) -> NDArray[Any]:
        """The two labels; the second is the positive class."""
        return np.asarray(self._model.classes)

    @property
    def coef_(self) -> FloatArray:
        """(1, n_features) in the units of the columns of the pool."""
        model, coef = self.to_model(), np.zeros((1, self._pool.rows.shape[1]))
        coef[0, model.support] = model.weights / model.scale
        return coef

    @property
    def intercept_(self) -> FloatArray:
        """(1,) in the units of the columns of the pool."""
        model = self.to_model()
        return np.array([model.offset - model.weights @ (model.center / model.scale)])

    @property
    def support_(self) -> NDArray[np.intp]:
        """Indices of the features with a non-zero coefficient."""
        return self.to_model().support

    @property
    def n_labels_(self) -> int:
        """Number of labels bought so far."""
        return self._transcript.n_labels

    @property
    def error_estimate_(self) -> ErrorEstimate:
        """The error on random labels, each judged by a fit without it, with a 95% interval."""
        return self._model.error

    # -- saving and resuming -----------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write all questions and answers to a JSON file, atomically; the pool is not written."""
        save_run(path, self._transcript, self._parameters, self._pool.description)

    @classmethod
    def restore(cls, path: str | Path, pool: Any, label_budget: int | None = None) -> Self:
        """The learner as it was saved.

        Parameters
        ----------
        path : a file written by `save`
        pool : the same table
        label_budget : a new budget; the saved one by default

        Raises
        ------
        DamagedFile : the file was not written by `save`, or is damaged
        LearningStopped : the pool is not the one that the run was saved with
        """
        transcript, parameters, saved = load_run(path)
        if label_budget is not None:
            parameters = replace(parameters, label_budget=label_budget)
        learner = cls(pool, random_state=transcript.seed, **asdict(parameters))
        if learner._pool.description != saved:
            n_rows, n_columns = saved["n_rows"], saved["n_features"]
            raise LearningStopped(
                f"this is not the pool that {path} was saved with, which had {n_rows:,} rows and "
                f"{n_columns:,} columns: the shape or the entries differ. The file is unchanged; "
                "restore it with the same table"
            )
        learner._transcript = transcript
        return learner
