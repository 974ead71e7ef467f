from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from labeling.pools import make_pool
from thresher.labeling import capture
from thresher.labeling.capture import N_FIRST
from thresher.labeling.fitting import Fitting
from thresher.labeling.near_copies import NearCopies
from thresher.labeling.questions import Questioner
from thresher.labeling.scaled_pool import ScaledPool
from thresher.labeling.transcript import Transcript

X, LABELS = make_pool(400)
POOL = ScaledPool.of(X)
NO_COPIES = np.zeros(400, dtype=bool)


def run(questioner: Questioner, n_questions: int) -> Transcript:
    transcript = Transcript(seed=0)
    while transcript.n_asked < n_questions:
        batch = questioner.next_batch(transcript)
        transcript.batches.append(batch)
        transcript.answers.update({row: str(LABELS[row]) for row in batch.rows})
    return transcript


def questioner(batch_size: int = 10, audit_fraction: float = 0.1) -> Questioner:
    copies = NearCopies(NO_COPIES, NO_COPIES)
    return Questioner(POOL, np.ones(400), copies, batch_size, audit_fraction, Fitting())


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


def test_of_rows_with_equal_scores_the_longer_is_closer_to_the_boundary() -> None:
    pool = ScaledPool.of(np.array([[0.0, 0.0], [0.0, 2.0], [2.0, 0.0], [2.0, 2.0]]))
    assert np.allclose(pool.lengths, np.sqrt(1 + np.square(pool.rows).sum(axis=1)))


def test_the_longest_fifth_of_the_rows_are_not_preferred_for_their_length() -> None:
    lengths = POOL.lengths
    longest = np.sqrt(1 + np.square(POOL.rows).sum(axis=1)) >= lengths.max()
    assert 0.19 <= longest.mean() <= 0.21 and np.ptp(lengths[longest]) == 0


def test_a_pool_can_be_scaled_by_some_of_its_rows() -> None:
    rows = np.vstack([X, np.full((100, X.shape[1]), 50.0)])
    pool = ScaledPool.of(rows, places=np.arange(400))
    assert np.allclose(pool.rows[:400], POOL.rows)
    assert pool.rows[400:].min() > 0


def test_almost_empty_rows_are_not_the_ones_to_ask_about() -> None:
    rng = np.random.default_rng(0)
    dense = rng.poisson(0.5, size=(300, 20)).astype(float)
    dense[:100, 1:] = 0.0
    labels = dense[:, :5].sum(axis=1) > dense[:, 5:10].sum(axis=1) + 0.5
    pool = ScaledPool.of(sp.csr_array(dense))
    asker = Questioner(
        pool, np.ones(300), NearCopies(NO_COPIES[:300], NO_COPIES[:300]), 10, 0.0, Fitting()
    )
    transcript = Transcript(seed=0)
    for _ in range(6):
        transcript.batches.append(batch := asker.next_batch(transcript))
        transcript.answers.update({row: bool(labels[row]) for row in batch.rows})
    later = [row for batch in transcript.batches[2:] for row in batch.rows]
    assert np.mean(np.array(later) < 100) < 0.2


def test_a_part_of_a_batch_is_random_while_a_class_is_overlooked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    transcript = run(questioner(audit_fraction=0.0), 60)
    assert not any(questioner(audit_fraction=0.0).next_batch(transcript).is_random)
    monkeypatch.setattr(capture, "overlooked_class", lambda *_: 1.0)
    assert sum(questioner(audit_fraction=0.0).next_batch(transcript).is_random) == 3
    assert sum(questioner(audit_fraction=0.9).next_batch(transcript).is_random) > 3


def test_near_copies_are_asked_about_once_a_quarter_of_the_other_rows_was() -> None:
    is_copy = np.arange(400) < 40
    asker = Questioner(POOL, np.ones(400), NearCopies(NO_COPIES, is_copy), 10, 0.1, Fitting())
    rows = np.array(list(run(asker, 400).asked()))
    assert not is_copy[rows[:90]].any()
    assert np.flatnonzero(is_copy[rows])[0] < 200 and rows.size == 400


def test_changed_copies_alone_are_asked_about_last() -> None:
    is_copy = np.arange(400) < 40
    asker = Questioner(POOL, np.ones(400), NearCopies(is_copy, NO_COPIES), 10, 0.1, Fitting())
    rows = np.array(list(run(asker, 400).asked()))
    assert not is_copy[rows[:350]].any()
    assert rows.size == 400


def test_near_copies_are_asked_about_while_only_one_class_is_known() -> None:
    asker = Questioner(
        POOL, np.ones(400), NearCopies(NO_COPIES, np.arange(400) < 200), 10, 0.1, Fitting()
    )
    transcript = Transcript(seed=0)
    for _ in range(3):
        transcript.batches.append(batch := asker.next_batch(transcript))
        transcript.answers.update(dict.fromkeys(batch.rows, "no"))
    are_copies = [row < 200 for row in transcript.batches[2].rows]
    assert sum(are_copies) == 5
    assert list(transcript.batches[2].is_random) == [not is_copy for is_copy in are_copies]


def test_near_copies_are_not_kept_back_when_other_rows_are_known_already() -> None:
    is_copy = np.arange(400) >= 360
    asker = Questioner(POOL, np.ones(400), NearCopies(NO_COPIES, is_copy), 10, 0.1, Fitting())
    transcript = Transcript(seed=0, initial=list(range(350)))
    transcript.answers.update({row: str(LABELS[row]) for row in range(350)})
    while (batch := asker.next_batch(transcript)).rows:
        transcript.batches.append(batch)
        transcript.answers.update({row: str(LABELS[row]) for row in batch.rows})
    assert sorted(transcript.asked()) == list(range(350, 400))
