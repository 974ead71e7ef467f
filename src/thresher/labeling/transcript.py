"""What was asked and answered so far: all that a run is, besides its pool and its seed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from thresher.labeling.answers import Answers


@dataclass(frozen=True)
class Batch:
    """Rows that were chosen together, in the order of the questions.

    Parameters
    ----------
    rows : their positions in the pool
    is_random : which of them were drawn at random among the trusted rows
    """

    rows: tuple[int, ...]
    is_random: tuple[bool, ...]


@dataclass(eq=False)
class Transcript:
    """The questions and answers of a run.

    What comes next is a function of the pool, the parameters and this record: no state is lost if
    a process is killed, and the budget has no influence on the order of the questions.

    Parameters
    ----------
    seed : of all that is random
    initial : rows whose labels were known before the first question
    batches : the rows asked about
    answers : the current answer to each row

    Examples
    --------
    >>> transcript = Transcript(seed=0, batches=[Batch((4, 7), (True, False))])
    >>> transcript.answers.update({7: "yes"})
    >>> transcript.pending(), transcript.n_labels
    ([4], 1)
    """

    seed: int
    initial: Sequence[int] = ()
    batches: list[Batch] = field(default_factory=list)
    answers: Answers = field(default_factory=Answers)

    def asked(self) -> Iterator[int]:
        """Every row that was asked about, in order."""
        for batch in self.batches:
            yield from batch.rows

    def pending(self) -> list[int]:
        """The rows of the last batch that are still without an answer."""
        last = self.batches[-1].rows if self.batches else ()
        return [row for row in last if row not in self.answers.by_row]

    @property
    def n_asked(self) -> int:
        """The number of rows asked about."""
        return sum(len(batch.rows) for batch in self.batches)

    @property
    def n_labels(self) -> int:
        """The number of labels that were bought: skipped rows and initial labels are free."""
        known = self.answers.by_row
        return sum(known.get(row) is not None for row in self.asked())

    def labeled_at_random(self) -> list[int]:
        """The labeled rows that were drawn at random, in the order of the questions."""
        chosen = [
            row
            for batch in self.batches
            for row, is_random in zip(batch.rows, batch.is_random)
            if is_random
        ]
        return [row for row in chosen if self.answers.by_row.get(row) is not None]
