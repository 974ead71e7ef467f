from __future__ import annotations

import numpy as np
import pytest

from labeling.pools import make_pool
from thresher.labeling.questions import N_FIRST, Questioner
from thresher.labeling.scaled_pool import ScaledPool
from thresher.labeling.transcript import Transcript

X, LABELS = make_pool(400)
POOL = ScaledPool.of(X)


def run(questioner: Questioner, n_questions: int) -> Transcript:
    transcript = Transcript(seed=0)
    while transcript.n_asked < n_questions:
        batch = questioner.next_batch(transcript)
        transcript.batches.append(batch)
        transcript.answers.update({row: str(LABELS[row]) for row in batch.rows})
    return transcript


def questioner(batch_size: int = 10, audit_fraction: float = 0.1) -> Questioner:
    return Questioner(POOL, np.ones(400), batch_size, audit_fraction)


def test_later_questions_are_close_to_the_boundary() -> None:
    batches = run(questioner(audit_fraction=0.0), 120).batches
    distance = np.abs(X[:, 0] - X[:, 1] - 0.2)
    first, last = (np.median(distance[list(batch.rows)]) for batch in (batches[0], batches[7]))
    assert last < first / 3


@pytest.mark.parametrize("fraction", [0.0, 0.1, 0.5])
def test_the_share_of_random_questions_is_kept(fraction: float) -> None:
    transcript = run(questioner(audit_fraction=fraction), 200)
    n_random = sum(sum(batch.is_random) for batch in transcript.batches)
    assert n_random == max(N_FIRST, round(200 * fraction))


def test_a_large_batch_does_not_make_a_large_random_start() -> None:
    transcript = run(questioner(batch_size=50), 60)
    assert [len(batch.rows) for batch in transcript.batches] == [N_FIRST, 50]


def test_no_row_is_chosen_twice() -> None:
    rows = list(run(questioner(batch_size=37), 400).asked())
    assert sorted(rows) == list(range(400))
