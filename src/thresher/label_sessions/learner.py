"""The learner of a session: what it asks next, and how good the model is, from the state alone."""

from collections.abc import Container
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

from thresher.estimators.model import HalfspaceModel, Label
from thresher.label_sessions.pool import SessionPool
from thresher.label_sessions.state import OTHER_CLASS, UNSURE, SessionState
from thresher.labeling import ActiveClassifier, ErrorEstimate
from thresher.labeling.answers import Answers
from thresher.labeling.transcript import Batch, Transcript


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The labels and questions of a session at one time, as the learner sees them.

    Parameters
    ----------
    learner : of the pool, with every question so far
    answered : the same with the questions that have a label, none of them pending
    n_labels : labels that were bought
    """

    learner: ActiveClassifier
    answered: ActiveClassifier
    n_labels: int

    @classmethod
    def of(cls, base: ActiveClassifier, pool: SessionPool, state: SessionState) -> Self:
        """The session as it stands."""
        place = pool.position_of
        batches = [
            Batch(tuple(place[one.row_id] for one in batch), tuple(one.is_random for one in batch))
            for batch in state.batches
        ]
        labels: dict[int, Label | None] = {place[row]: label for row, label in state.labels.items()}
        asked = {row for batch in batches for row in batch.rows}
        initial = sorted(labels.keys() - asked)
        seed, parameters = state.header["seed"], state.plan.parameters
        answers = Answers(labels)
        made = [
            base.with_transcript(Transcript(seed, initial, chosen, answers), parameters)
            for chosen in (batches, _answered(batches, labels))
        ]
        return cls(made[0], made[1], state.n_labels)

    @cached_property
    def has_model(self) -> bool:
        """Whether there are labels of both classes."""
        return len(self.learner._transcript.answers.classes) == 2

    @property
    def reason(self) -> str:
        """Why rows of the next batch are asked about that are not random."""
        return UNSURE if self.has_model else OTHER_CLASS

    def stop_reason(self) -> str | None:
        """Why there is no more to ask, apart from the budget and the end of the pool."""
        return self.answered.reason_to_stop()

    def next_batch(self) -> Batch:
        """The rows to ask about next."""
        return self.learner.next_batch()

    def error(self) -> ErrorEstimate | None:
        """The error of the model; None without a model."""
        return self.answered.error_estimate_ if self.has_model else None

    def doubts(self) -> list[str]:
        """What looks wrong with the labels."""
        return list(self.answered.doubts().values())

    def model(self, pool: SessionPool) -> HalfspaceModel:
        """The model of the labels, which knows how the columns of the table are prepared."""
        model = self.answered.to_model(with_probabilities=True)
        names, preparation = pool.feature_names, pool.preparation
        return replace(model, feature_names=names, preparation=preparation)


def _answered(batches: list[Batch], labels: Container[int]) -> list[Batch]:
    """The questions that have a label."""
    found = []
    for batch in batches:
        kept = [(row, r) for row, r in zip(batch.rows, batch.is_random) if row in labels]
        if kept:
            rows, is_random = zip(*kept)
            found.append(Batch(rows, is_random))
    return found
