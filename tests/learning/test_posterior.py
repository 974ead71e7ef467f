"""Tests of the posterior of a sparse halfspace, and of the questions that it chooses."""

import numpy as np
import pytest
import scipy.sparse as sp

from runs import Table
from thresher.learning import PracticalSchedule, Task
from thresher.learning.posterior import Answers, SparsePosterior
from thresher.learning.questions import Beliefs, _nearest
from thresher.learning.samples import Pool, Sample
from thresher.learning.steps import weigh_then_label

TABLE = Table(n_rows=300, n_features=40, sparsity=3)
SUPPORT = np.flatnonzero(TABLE.target)


def answers(n=150, *, X=TABLE.X, y=TABLE.y, dirty_share=0.0):
    return Answers.none(40).with_more(np.arange(n), X[:n], y[:n], dirty_share)


def start(known):
    """The mean of y·x, which has every feature."""
    return np.asarray(known.X.T @ known.y).ravel() / known.y.size


def posterior(known, n_kept=9):
    return SparsePosterior.of(known, start(known), 30, n_kept)


def angle(vector):
    return np.arccos(vector @ TABLE.target / np.linalg.norm(vector))


def test_it_finds_the_features_and_comes_closer_than_their_means():
    known = answers()
    found = posterior(known).cut(known, 3)
    assert np.array_equal(found.features, SUPPORT)
    mean = np.where(TABLE.target != 0, start(known), 0)
    assert angle(found.vector(40)) < angle(mean) / 2


def test_its_margins_are_scores_in_standard_deviations():
    found = posterior(answers())
    part = TABLE.X[200:][:, found.features]
    spread = np.sqrt(np.diag(part @ found.covariance @ part.T))
    assert found.scaled_margins(TABLE.X[200:]) == pytest.approx(np.abs(part @ found.mean) / spread)


def test_its_covariance_is_that_of_laplace_at_a_maximum():
    """Without planted rows: the inverse of the curvature, and no slope that a step would follow."""
    known = answers(dirty_share=0.0)
    found = posterior(known)
    assert np.allclose(found.covariance, found.covariance.T)
    assert np.linalg.eigvalsh(found.covariance).min() > 0
    more = posterior(answers(300))
    assert np.diag(more.covariance).max() / (more.mean @ more.mean) < np.diag(
        found.covariance
    ).max() / (found.mean @ found.mean)


def test_a_smaller_number_of_labels_leaves_larger_doubts_along_unknown_directions():
    found = posterior(answers())
    sure = np.zeros((1, 40))
    sure[0, found.features] = found.mean
    unsure = np.zeros((1, 40))
    unsure[0, found.features] = np.linalg.eigh(found.covariance)[1][:, -1]
    assert found.scaled_margins(unsure) < found.scaled_margins(sure)


def test_planted_rows_that_contradict_it_lose_their_say():
    X, y = TABLE.X.copy(), TABLE.y.copy()
    X[:15] = 4 * TABLE.target
    y[:15] = -1.0
    errors = []
    for share in (0.0, 0.1):
        known = answers(X=X, y=y, dirty_share=share)
        found = SparsePosterior.of(known, start(answers()), 30, 9)
        errors.append(angle(found.cut(known, 3).vector(40)))
    assert errors[1] < 0.1 < errors[0]


def test_it_does_not_depend_on_the_signs_of_features_or_labels():
    known, signs = answers(), np.where(np.arange(40) % 2, -1.0, 1.0)
    found = posterior(known).vector(40)
    assert posterior(answers(X=TABLE.X * signs)).vector(40) == pytest.approx(found * signs)
    assert posterior(answers(y=-TABLE.y)).vector(40) == pytest.approx(-found)


def test_sparse_rows_give_the_same():
    known = answers(X=sp.csr_array(TABLE.X))
    assert posterior(known).vector(40) == pytest.approx(posterior(answers()).vector(40))
    margins = posterior(known).scaled_margins(sp.csr_array(TABLE.X))
    assert margins == pytest.approx(posterior(known).scaled_margins(TABLE.X))


@pytest.mark.parametrize("scale", [0.0, 1e-6, 1e-3, 15.0])
def test_strange_scales_give_finite_numbers(scale):
    found = posterior(answers(X=scale * TABLE.X))
    assert np.isfinite(found.mean).all() and np.isfinite(found.covariance).all()
    assert np.isfinite(found.scaled_margins(TABLE.X)).all()


def test_answers_of_one_class_or_contradictions_give_finite_numbers():
    for y in (np.ones(300), np.where(np.arange(300) % 2, 1.0, -1.0)):
        found = posterior(answers(X=np.repeat(TABLE.X[:150], 2, axis=0), y=y))
        assert np.isfinite(found.mean).all()


def test_an_id_is_an_answer_once():
    known = answers(10).with_more(np.array([9, 10]), TABLE.X[9:11], TABLE.y[9:11], 0.3)
    assert known.ids.tolist() == list(range(11))
    assert known.dirty_shares.tolist() == 10 * [0.0] + [0.3]


# Questions


def chosen(share, n_wanted, *, weights=None, is_open=None):
    margins = np.arange(10.0)
    weights = np.ones(10) if weights is None else weights
    is_open = np.ones(10, dtype=bool) if is_open is None else is_open
    return _nearest(margins, weights, is_open, share, n_wanted, np.random.default_rng(0))


def test_without_planted_rows_the_nearest_are_asked_about():
    assert chosen(0.0, 3).tolist() == [0, 1, 2]


def test_rows_are_drawn_once_from_the_share_that_is_near():
    drawn = np.concatenate([chosen(0.49, 2), chosen(0.49, 4)])
    assert drawn.max() <= 4 and np.unique(chosen(0.49, 4)).size == 4


def test_weight_decides_how_many_rows_are_near():
    weights = np.array([4.0, 4.0, *8 * [0.25]])
    assert set(chosen(0.5, 1, weights=weights).tolist()) <= {0, 1}


def test_rows_that_were_asked_about_are_passed_over():
    is_open = np.arange(10) > 3
    assert chosen(0.0, 2, is_open=is_open).tolist() == [4, 5]


TASK = Task(n_features=40, sparsity=3, noise_rate=0.0, label_budget=200)
SCHEDULE = PracticalSchedule(min_unlabeled=200, max_unlabeled=200)


def second_phase(beliefs, weights=None):
    """The requests of a phase that follows 100 answers, each answered, and what it returns."""
    first = SCHEDULE.next_phase(TASK, ())
    sample = Sample(np.arange(100), TABLE.X[:100], np.ones(100))
    beliefs.refine(start(answers(100)), sample, TABLE.y[:100], first)
    phase = SCHEDULE._questions(TASK, 2)
    phase = type(first)(**{**vars(first), **phase, "index": 2, "n_queries": 15})
    pool = Pool(np.arange(50, 300), TABLE.X[50:])
    rng, requests, labels = np.random.default_rng(0), [], None
    if weights is None:
        run = weigh_then_label(pool, phase, rng, beliefs)
    else:
        run = beliefs.ask(pool, weights, phase, rng)
    while True:
        try:
            requests.append(run.send(labels))
        except StopIteration as end:
            return requests, end.value
        labels = TABLE.y[requests[-1].ids]


def test_a_phase_asks_in_rounds_about_new_rows_near_the_boundary():
    requests, judged = second_phase(Beliefs(40, 3, reuse=True))
    assert [request.ids.size for request in requests] == [6, 6, 3]
    ids = np.concatenate([request.ids for request in requests])
    assert ids.min() >= 100 and np.unique(ids).size == 15
    assert np.array_equal(judged.sample.ids, ids) and np.array_equal(judged.labels, TABLE.y[ids])
    scores = np.abs(TABLE.X @ TABLE.target)
    assert np.median(scores[ids]) < np.median(scores[100:]) / 3


def test_later_rounds_know_the_earlier_answers():
    alone = second_phase(Beliefs(40, 3, reuse=True))[0]
    margins = posterior(answers(100)).scaled_margins(TABLE.X[100:])
    nearest = 100 + np.argsort(margins)[:15]
    assert set(alone[0].ids.tolist()) <= set(nearest.tolist())
    assert not set(np.concatenate([r.ids for r in alone]).tolist()) <= set(nearest.tolist())


def test_rows_that_lost_their_weight_are_not_asked_about():
    weights = np.where(np.arange(250) < 200, 0.4, 1.0)
    requests, _ = second_phase(Beliefs(40, 3, reuse=True), weights)
    assert all(request.ids.min() >= 250 for request in requests)


def test_a_phase_without_a_new_row_ends():
    requests, asked = second_phase(
        Beliefs(40, 3, reuse=True), np.where(np.arange(250) < 50, 1.0, 0.0)
    )
    assert requests == [] and asked is None


def test_without_reuse_only_the_answers_of_a_phase_count():
    first = SCHEDULE.next_phase(TASK, ())
    halfspaces = []
    for n_before, reuse in ((0, True), (100, False), (100, True)):
        beliefs = Beliefs(40, 3, reuse)
        for rows in (slice(0, n_before), slice(100, 150)):
            y, X, ids = TABLE.y[rows], TABLE.X[rows], np.arange(300)[rows]
            if y.size:
                sample = Sample(ids, X, np.ones(y.size))
                halfspaces.append(beliefs.refine(start(answers(100)), sample, y, first))
    alone, _, forgetful, _, remembering = halfspaces
    assert np.array_equal(alone, forgetful)
    assert angle(remembering) < angle(forgetful)
