"""Tests of runs that go on with a larger budget, and of what a learner says about its pool."""

import warnings

import numpy as np
import pytest

from thresher.errors import BudgetExceeded, DoubtfulLabels, UnsuitablePool
from thresher.learning import ActiveLearner, PracticalSchedule, learn_actively

SMALL = PracticalSchedule(min_unlabeled=200, max_unlabeled=400)
ROWS = np.random.default_rng(5).standard_normal((3000, 12))
LABELS = np.where(ROWS[:, 2] - ROWS[:, 7] > 0, 1, -1)
OPTIONS = {"sparsity": 2, "noise_rate": 0.02, "schedule": SMALL, "random_state": 3}


def answer(learner, n_questions=None):
    """Answer questions, all by default; the ids that were asked for."""
    asked = []
    while (n_questions is None or len(asked) < n_questions) and (question := learner.ask()):
        asked.append(question.ids)
        learner.tell(LABELS[question.ids])
    return np.concatenate([np.zeros(0, dtype=int), *asked])


def saved(tmp_path, learner):
    learner.save(tmp_path / "run.npz")
    return tmp_path / "run.npz"


@pytest.mark.parametrize("n_questions", [0, 1, 2, None])
@pytest.mark.parametrize("larger", [90, 200])
def test_a_larger_budget_continues_at_any_point(tmp_path, n_questions, larger):
    learner = ActiveLearner(ROWS, label_budget=60, **OPTIONS)
    paid = answer(learner, n_questions)
    again = ActiveLearner.restore(saved(tmp_path, learner), ROWS, label_budget=larger)
    assert again.n_labels_ == paid.size
    later = answer(again)
    assert np.intersect1d(paid, later).size == 0
    assert 60 < again.n_labels_ <= larger
    assert len(again.phases_) > len(learner.phases_)
    assert again.stop_reason_ in ("budget spent", "schedule finished")


def test_phases_of_the_smaller_budget_stay_as_they_were(tmp_path):
    learner = ActiveLearner(ROWS, label_budget=60, **OPTIONS)
    answer(learner)
    again = ActiveLearner.restore(saved(tmp_path, learner), ROWS, label_budget=150)
    answer(again)
    for before, after in zip(learner.phases_, again.phases_):
        assert np.array_equal(before.halfspace, after.halfspace)


def test_a_budget_can_be_raised_again_and_again(tmp_path):
    learner, asked = ActiveLearner(ROWS, label_budget=30, **OPTIONS), []
    for budget in (60, 120, 240):
        asked.append(answer(learner))
        learner = ActiveLearner.restore(saved(tmp_path, learner), ROWS, label_budget=budget)
    asked = np.concatenate([*asked, answer(learner)])
    assert np.unique(asked).size == asked.size == learner.n_labels_ <= 240
    assert np.flatnonzero(learner.halfspace_).tolist() == [2, 7]
    again = ActiveLearner.restore(saved(tmp_path, learner), ROWS)
    assert again.ask() is None and np.array_equal(again.halfspace_, learner.halfspace_)


def test_a_smaller_budget_is_kept_to(tmp_path):
    learner = ActiveLearner(ROWS, label_budget=100, **OPTIONS)
    paid = answer(learner, 1)
    path = saved(tmp_path, learner)
    poor = ActiveLearner.restore(path, ROWS, label_budget=paid.size)
    with pytest.raises(BudgetExceeded, match="Continue with a larger budget"):
        poor.ask()
    rich = ActiveLearner.restore(saved(tmp_path, poor), ROWS, label_budget=100)
    answer(rich)
    answer(learner)
    assert np.array_equal(rich.halfspace_, learner.halfspace_)


def test_without_questions_there_is_no_reason_to_stop():
    learner = ActiveLearner(ROWS, label_budget=60, **OPTIONS)
    assert learner.stop_reason_ is None
    answer(learner, 1)
    assert learner.stop_reason_ is None
    answer(learner)
    assert learner.stop_reason_ == (
        "budget spent" if learner.n_labels_ == 60 else "schedule finished"
    )


def test_a_stream_that_ran_dry_is_a_reason():
    learner = ActiveLearner(iter(ROWS[:200]), label_budget=60, **OPTIONS)
    answer(learner)
    assert learner.stop_reason_ == "no usable rows" and len(learner.phases_) == 1


@pytest.mark.parametrize("factor", [100.0, 0.01])
def test_a_pool_that_is_not_scaled_is_warned_about_once(factor):
    learner = ActiveLearner(factor * ROWS, label_budget=20, **OPTIONS)
    if factor > 1:
        learner = ActiveLearner(np.clip(factor * ROWS, -9, 9), label_budget=20, **OPTIONS)
    with pytest.warns(UnsuitablePool, match="root mean square of about") as caught:
        learner.ask()
        learner.ask()
    assert len(caught) == 1


def test_rows_that_are_pruned_are_warned_about():
    rows = ROWS.copy()
    rows[::10, 3] = 1e4
    learner = ActiveLearner(rows, label_budget=30, **OPTIONS)
    with pytest.warns(UnsuitablePool, match=r"pruned \d+ of 200 rows: they have an entry beyond"):
        answer(learner, 1)
        learner.ask()


def test_answers_of_one_class_are_warned_about():
    learner = ActiveLearner(ROWS, label_budget=60, **OPTIONS)
    learner.tell(np.ones(learner.ask().ids.size))
    with pytest.warns(DoubtfulLabels, match="of one class"):
        learner.ask()


def test_a_usual_pool_is_not_warned_about():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        answer(ActiveLearner(ROWS, label_budget=60, **OPTIONS))


def test_labels_of_two_kinds(tmp_path):
    names = np.where(LABELS > 0, "spam", "ham")
    classes = ("ham", "spam")
    plain = learn_actively(ROWS, lambda ids, _: LABELS[ids], label_budget=60, **OPTIONS)
    named = learn_actively(
        ROWS, lambda ids, _: names[ids], label_budget=60, classes=classes, **OPTIONS
    )
    assert np.array_equal(plain.halfspace_, named.halfspace_)
    told = ActiveLearner(ROWS, label_budget=60, classes=classes, **OPTIONS)
    told.tell(names[told.ask().ids])
    told = ActiveLearner.restore(saved(tmp_path, told), ROWS)
    with pytest.raises(ValueError, match="labels must be 'ham' or 'spam', but labels"):
        told.tell(np.ones(told.ask().ids.size))
    while (question := told.ask()) is not None:
        told.tell(names[question.ids])
    assert np.array_equal(told.halfspace_, plain.halfspace_)


@pytest.mark.parametrize("classes", [(1,), ("a", "a"), (1, float("nan")), (None, 1), (1, 2, 3)])
def test_classes_must_be_two_labels(classes):
    with pytest.raises(ValueError, match="classes must be two different labels"):
        ActiveLearner(ROWS, classes=classes, **OPTIONS)
