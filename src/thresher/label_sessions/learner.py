"""The learner of a session: what it asks next, and how good the model is, from the state alone."""

from collections.abc import Container
from dataclasses import dataclass, replace
from typing import Self

from thresher.estimators.model import HalfspaceModel, Label
from thresher.label_sessions.pool import SessionPool
from thresher.label_sessions.state import OTHER_CLASS, UNSURE, RowId, SessionState
from thresher.labeling import ActiveClassifier, ErrorEstimate
from thresher.labeling.answers import Answers
from thresher.labeling.transcript import Batch, Transcript


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The labels and questions of a session at one time, as the learner sees them.

    Parameters
    ----------
    pool : of the session
    learner : of the pool, with every question so far
    answered : the same with the questions that have a label, none of them pending
    n_labels : labels that were bought
    n_classes : how many different labels there are
    """

    pool: SessionPool
    learner: ActiveClassifier
    answered: ActiveClassifier
    n_labels: int
    n_classes: int

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
        return cls(pool, made[0], made[1], state.n_labels, len(answers.classes))

    @property
    def has_model(self) -> bool:
        """Whether there are labels of both classes."""
        return self.n_classes == 2

    @property
    def reason(self) -> str:
        """Why rows of the next batch are asked about that are not random."""
        return UNSURE if self.has_model else OTHER_CLASS

    def stop_reason(self) -> str | None:
        """Why there is no more to ask, apart from the budget and the end of the pool."""
        return self.answered.reason_to_stop()

    def next_rows(self) -> tuple[list[RowId], list[bool]]:
        """The rows to ask about next, and which of them are random; none at the end."""
        batch = self.learner.next_batch()
        return self.pool.ids[list(batch.rows)].tolist(), list(batch.is_random)

    def error(self) -> ErrorEstimate | None:
        """The error of the model; None without a model."""
        return self.answered.error_estimate_ if self.has_model else None

    def doubts(self) -> list[str]:
        """What looks wrong with the labels."""
        return list(self.answered.doubts().values())

    def label_probabilities(self) -> dict[RowId, float]:
        """How probable each label is to a model that was fitted without it."""
        if not self.has_model:
            return {}
        found = self.answered.label_probabilities()
        return dict(zip(self.pool.ids[list(found)].tolist(), found.values()))

    def trust(self) -> dict[RowId, float]:
        """The trust in each row of the pool, from 0 to 1."""
        return dict(zip(self.pool.ids.tolist(), self.answered.row_weights_.tolist()))

    def model(self) -> HalfspaceModel:
        """The model of the labels, which knows how the columns of the table are prepared."""
        model = self.answered.to_model(with_probabilities=True)
        names, preparation = self.pool.feature_names, self.pool.preparation
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
