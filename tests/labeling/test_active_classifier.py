from __future__ import annotations

import inspect
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from labeling.pools import finish, make_pool
from thresher import ActiveClassifier, load_model, save_model
from thresher.errors import DoubtfulLabels, LearningStopped

X, LABELS = make_pool()


def learner_of(pool: Any = X, **options: Any) -> ActiveClassifier:
    return ActiveClassifier(pool, **{"label_budget": 40, "random_state": 0, **options})


# -- the surface ---------------------------------------------------------------------------------


def test_the_parameters_are_those_of_the_design() -> None:
    names = list(inspect.signature(ActiveClassifier).parameters)
    stated = ["pool", "noise_rate", "sparsity", "batch_size", "label_budget", "target_error"]
    assert names == [*stated, "initial_labels", "audit_fraction", "random_state"]


def test_a_finished_run_predicts_its_pool() -> None:
    learner = finish(learner_of(label_budget=80), LABELS)
    assert learner.stop_reason_ == "budget spent"
    assert learner.n_labels_ == 80
    assert learner.score(X, LABELS) > 0.95
    assert learner.classes_.tolist() == ["no", "yes"]


def test_coefficients_reproduce_the_scores_of_rows_that_are_not_clipped() -> None:
    learner = finish(learner_of(), LABELS)
    inside = X[np.abs(X).max(axis=1) < 1.5]
    by_hand = inside @ learner.coef_[0] + learner.intercept_[0]
    assert np.allclose(learner.decision_function(inside), by_hand)


def test_probabilities_agree_with_predictions() -> None:
    learner = finish(learner_of(), LABELS)
    chances = learner.predict_proba(X)
    assert np.allclose(chances.sum(axis=1), 1.0)
    assert np.array_equal(learner.classes_[chances.argmax(axis=1)], learner.predict(X))


def test_exports_predict_the_same(tmp_path: Path) -> None:
    learner = finish(learner_of(), LABELS)
    save_model(learner.to_model(), tmp_path / "model.json")
    assert np.array_equal(load_model(tmp_path / "model.json").predict(X), learner.predict(X))
    assert np.array_equal(learner.to_sklearn().predict(X), learner.predict(X))


def test_a_sparsity_limits_the_model() -> None:
    learner = finish(learner_of(sparsity=2), LABELS)
    assert set(learner.support_) <= {0, 1}


def test_a_sparse_pool_is_asked_about_like_a_dense_one() -> None:
    counts = sp.csr_array(np.maximum(np.round(2 * X), 0))
    labels = np.where(counts[:, [0]].toarray()[:, 0] > 0, 1, 0)
    learner = finish(learner_of(counts, label_budget=60), labels)
    assert sp.issparse(learner_of(counts).ask().X)
    assert learner.score(counts, labels) > 0.9


def test_the_index_of_a_data_frame_names_its_rows() -> None:
    frame = pd.DataFrame(X, columns=list("abcd"), index=[f"mail {i}" for i in range(len(X))])
    question = learner_of(frame).ask()
    assert question is not None
    assert list(question.X.index) == list(question.ids)
    learner = finish(learner_of(frame), dict(zip(frame.index, LABELS)))
    assert learner.to_model().feature_names == list("abcd")
    assert np.array_equal(learner.predict(frame), finish(learner_of(), LABELS).predict(X))


def test_a_polars_frame_has_row_numbers() -> None:
    question = learner_of(pl.DataFrame(X)).ask()
    assert question is not None
    assert np.array_equal(question.X.to_numpy(), X[question.ids])


# -- answers as people give them -----------------------------------------------------------------


def test_asking_again_returns_what_is_still_open() -> None:
    learner = learner_of()
    first = learner.ask()
    learner.tell([LABELS[i] for i in first.ids[3:6]], ids=first.ids[3:6])
    assert learner.ask().ids.tolist() == [*first.ids[:3], *first.ids[6:]]


def test_the_order_of_answers_does_not_matter() -> None:
    forward, backward = learner_of(), learner_of()
    finish(forward, LABELS)
    while (question := backward.ask()) is not None:
        for one in question.ids[::-1]:
            backward.tell([LABELS[one]], ids=[one])
    assert np.array_equal(forward.coef_, backward.coef_)


def test_a_skipped_row_costs_nothing_and_is_not_asked_about_again() -> None:
    learner, seen = learner_of(), []
    while (question := learner.ask()) is not None:
        seen += question.ids.tolist()
        learner.tell([None if i % 7 == 0 else LABELS[i] for i in question.ids])
    assert learner.n_labels_ == 40
    assert len(seen) > 40
    assert len(set(seen)) == len(seen)


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, pd.NaT])
def test_every_kind_of_missing_value_skips(missing: object) -> None:
    learner = learner_of(batch_size=1)
    learner.ask()
    learner.tell([missing])
    assert learner.n_labels_ == 0


def test_a_row_told_again_is_corrected() -> None:
    right, wrong = learner_of(), learner_of()
    first = wrong.ask().ids
    right.ask()
    right.tell(LABELS[first])
    wrong.tell(np.where(LABELS[first] == "yes", "no", "yes"))
    wrong.tell(LABELS[first], ids=first)
    assert np.array_equal(finish(right, LABELS).coef_, finish(wrong, LABELS).coef_)


def test_a_label_can_be_withdrawn() -> None:
    learner = finish(learner_of(), LABELS)
    first = learner_of().ask().ids[0]
    learner.tell([None], ids=[first])
    assert learner.n_labels_ == 39
    assert learner.ask() is not None  # the budget reaches for one more


def test_initial_labels_are_free_and_replace_the_random_start() -> None:
    known = {i: LABELS[i] for i in range(10)}
    learner = learner_of(initial_labels=known)
    assert learner.n_labels_ == 0
    assert learner.score(X, LABELS) > 0.5
    assert not set(finish(learner, LABELS)._transcript.asked()) & set(known)


@pytest.mark.parametrize("kind", ["series", "list"])
def test_initial_labels_come_in_any_form(kind: str) -> None:
    by_row = [LABELS[i] if i < 10 else None for i in range(len(X))]
    known: Any = pd.Series(by_row[:10]) if kind == "series" else by_row
    same = learner_of(initial_labels={i: LABELS[i] for i in range(10)})
    assert np.array_equal(learner_of(initial_labels=known).coef_, same.coef_)


def test_an_initial_label_can_be_corrected() -> None:
    learner = learner_of(initial_labels={0: "yes", 1: "no"})
    learner.tell(["no", "yes"], ids=[0, 1])
    assert learner._transcript.answers.by_row == {0: "no", 1: "yes"}


FRAME = pd.DataFrame(X, index=[f"mail {i}" for i in range(len(X))])
KNOWN = pd.Series(LABELS, index=FRAME.index)


@pytest.mark.parametrize("kind", ["series", "dict", "part of a series", "part of a dict"])
def test_labels_with_ids_of_their_own_go_by_these(kind: str) -> None:
    learner = learner_of(FRAME)
    asked = learner.ask().ids
    asked = asked[:4] if kind.startswith("part") else asked
    in_pool_order = KNOWN[KNOWN.index.isin(asked)]
    learner.tell(in_pool_order.to_dict() if kind.endswith("dict") else in_pool_order)
    answers = learner._transcript.answers.by_row
    assert len(answers) == len(asked)
    assert all(label == LABELS[row] for row, label in answers.items())


def test_a_series_goes_by_row_numbers_only_if_it_has_those_of_the_question() -> None:
    learner, labels = learner_of(), pd.Series(LABELS)
    asked = learner.ask().ids
    learner.tell(labels[labels.index.isin(asked)])
    others = labels[learner.ask().ids]
    learner.tell(others.set_axis([f"line {i}" for i in range(len(others))]))
    answers = learner._transcript.answers.by_row
    assert len(answers) == 20
    assert all(label == LABELS[row] for row, label in answers.items())


def test_a_series_can_be_told_for_some_ids() -> None:
    learner = learner_of(FRAME)
    asked = learner.ask().ids[:3]
    learner.tell(KNOWN[asked][::-1], ids=asked)
    learner.tell(pd.Series([None, None]), ids=asked[:2])
    answers = learner._transcript.answers.by_row
    rows = learner._pool.positions(asked)
    assert [answers[row] for row in rows] == [None, None, LABELS[rows[2]]]


@pytest.mark.parametrize("ids", [pd.date_range("2026-01-01", periods=120), np.arange(120) + 0.5])
def test_one_id_can_be_of_any_type(ids: Any) -> None:
    learner = learner_of(FRAME.set_axis(ids))
    learner.tell("yes", ids=learner.ask().ids[0])
    assert learner.n_labels_ == 1


def test_one_id_can_be_that_of_several_levels() -> None:
    learner = learner_of(FRAME.set_axis(pd.MultiIndex.from_product([range(12), range(10)])))
    learner.tell("yes", ids=learner.ask().ids[0])
    assert learner.n_labels_ == 1


def test_a_score_needs_the_labels_of_the_model() -> None:
    learner = finish(learner_of(), LABELS)
    with pytest.raises(ValueError, match="labels 'no' and 'yes', got 0"):
        learner.score(X, np.zeros(len(X), dtype=int))
    with pytest.raises(ValueError, match="one label for each row"):
        learner.score(X, LABELS[1:])


# -- misuse --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "ids", "error", "words"),
    [
        (["yes"], [10**6], ValueError, "no row with the id 1000000"),
        (["yes"], [[3]], ValueError, r"no row with the id \[3\]"),
        (["yes"], None, ValueError, "one entry for each of 10 rows, got 1"),
        (["yes", "no"], "same", ValueError, "given twice"),
        (["a", "b", "c"], "three", ValueError, "two kinds, got 'c'"),
        (["a", 1], "two", TypeError, "one type"),
        ([b"a"], "one", TypeError, r"labels\[0\] is b'a'"),
        ([float("inf")], "one", TypeError, r"labels\[0\] is inf"),
        ({"yes", "no"}, "two", TypeError, "in the order of the rows"),
        ({0: "yes", 1: "no"}, "two", ValueError, "pass labels alone"),
        ({10**6: "yes"}, None, ValueError, "labels go by their own ids"),
    ],
)
def test_a_bad_answer_changes_nothing(labels: Any, ids: Any, error: Any, words: str) -> None:
    learner = learner_of()
    asked = learner.ask().ids
    named = {"same": asked[[0, 0]], "three": asked[:3], "two": asked[:2], "one": asked[:1]}
    ids = named[ids] if isinstance(ids, str) else ids
    with pytest.raises(error, match=words):
        learner.tell(labels, ids=ids)
    assert learner.ask().ids.tolist() == asked.tolist()
    assert learner.n_labels_ == 0


def test_a_series_of_other_ids_is_refused() -> None:
    learner = learner_of(FRAME)
    learner.ask()
    with pytest.raises(ValueError, match=r"no row with the id 0 .*pass a list"):
        learner.tell(pd.Series(LABELS[:10]))
    assert learner.n_labels_ == 0


def test_one_row_can_be_answered_by_its_id_alone() -> None:
    learner = learner_of()
    learner.tell("yes", ids=learner.ask().ids[0])
    assert learner.n_labels_ == 1


def test_a_row_that_was_not_asked_about_is_refused() -> None:
    learner = learner_of()
    unasked = next(i for i in range(len(X)) if i not in learner.ask().ids)
    with pytest.raises(ValueError, match="was not asked about; all 0 earlier answers are kept"):
        learner.tell(["yes"], ids=[unasked])


def test_the_newest_class_is_the_one_that_is_named_as_new() -> None:
    learner = learner_of()
    asked = learner.ask().ids
    learner.tell(["yes", "no", "yes"], ids=asked[:3])
    with pytest.raises(ValueError, match="got 'maybe' besides 'yes' and 'no'"):
        learner.tell("maybe", ids=asked[0])


def test_a_mistyped_class_can_be_corrected() -> None:
    learner = learner_of()
    asked = learner.ask().ids
    learner.tell(["no", "yess"], ids=asked[:2])
    with pytest.raises(ValueError, match="got 'yes' besides 'no' and 'yess'"):
        learner.tell(["yes"], ids=asked[2:3])
    learner.tell([None], ids=asked[1:2])
    learner.tell(["yes"], ids=asked[2:3])
    assert learner.n_labels_ == 2


def test_telling_before_asking_says_what_to_do() -> None:
    with pytest.raises(LearningStopped, match="call ask first"):
        learner_of().tell(["yes"])


def test_without_labels_there_is_no_model() -> None:
    with pytest.raises(LearningStopped, match="there is no label yet"):
        learner_of().predict(X)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"noise_rate": 0.5}, "noise_rate"),
        ({"sparsity": "few"}, "sparsity"),
        ({"batch_size": 0}, "batch_size"),
        ({"label_budget": 0}, "label_budget"),
        ({"target_error": 0.0}, "target_error"),
        ({"audit_fraction": 1.0}, "audit_fraction"),
        ({"target_error": 0.1, "audit_fraction": 0}, "audit_fraction"),
        ({"initial_labels": {-1: "yes"}}, "no row with the id -1"),
        ({"initial_labels": ["yes"]}, "120 rows"),
    ],
)
def test_a_bad_parameter_is_named(options: Any, words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        learner_of(**options)


def test_a_pool_with_missing_entries_is_refused() -> None:
    with pytest.raises(ValueError, match=r"pool\[0, 0\] is nan"):
        learner_of(np.full((5, 2), np.nan))


def test_a_repeated_index_is_refused() -> None:
    with pytest.raises(ValueError, match="index of the pool must be unique, but 3 occurs"):
        learner_of(pd.DataFrame(X[:2], index=[3, 3]))


# -- one class, imbalance, and the end -----------------------------------------------------------


def test_one_class_alone_is_warned_about_and_gives_no_model() -> None:
    learner = learner_of(label_budget=90)
    with pytest.warns(DoubtfulLabels, match="all labels so far are 'no'"):
        finish(learner, ["no"] * len(X))
    assert learner.n_labels_ == 90
    with pytest.raises(LearningStopped, match="every label so far is 'no'"):
        learner.predict(X)


def test_a_small_class_is_looked_for() -> None:
    rng = np.random.default_rng(3)
    rows = rng.standard_normal((1000, 5))
    is_rare = rows[:, 0] > 1.7  # about 4%
    learner = learner_of(rows, label_budget=100)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DoubtfulLabels)
        finish(learner, is_rare.tolist())
    predicted = learner.predict(rows)
    balanced = (predicted[is_rare].mean() + (~predicted[~is_rare]).mean()) / 2
    assert balanced > 0.85


def test_a_small_class_that_stands_out_is_found_all_the_same() -> None:
    rng = np.random.default_rng(4)
    rows = rng.standard_normal((400, 5))
    is_rare = np.arange(400) < 16
    rows[is_rare] += 4.0
    learner = learner_of(rows, label_budget=200)
    assert learner.row_weights_[is_rare].max() < 0.5  # taken for planted rows
    with pytest.warns(DoubtfulLabels):
        finish(learner, is_rare.tolist())
    assert learner.score(rows, is_rare) > 0.97


def test_a_pool_is_exhausted_in_the_end() -> None:
    learner = finish(learner_of(X[:25], label_budget=None), LABELS)
    assert learner.stop_reason_ == "pool exhausted"


def test_a_target_is_met_only_with_the_interval_below_it() -> None:
    options = {"label_budget": None, "target_error": 0.12, "audit_fraction": 0.5, "sparsity": "all"}
    learner = finish(learner_of(**options), LABELS)
    assert learner.stop_reason_ == "target met"
    assert learner.error_estimate_.high <= 0.12


def test_luck_on_the_first_random_rows_does_not_meet_a_target() -> None:
    learner = finish(learner_of(label_budget=None, target_error=0.4), LABELS)
    assert learner.stop_reason_ == "target met" and learner.n_labels_ == 50


def test_without_budget_and_target_questions_end_when_nothing_changes() -> None:
    rows, labels = make_pool(400)
    learner = finish(learner_of(rows, label_budget=None, batch_size=25), labels)
    assert learner.stop_reason_ == "no longer changes"
    assert 100 <= learner.n_labels_ < 300


def test_rows_that_stand_out_are_not_asked_about() -> None:
    rows, labels = make_pool(600)
    rows[:30] = [5.0, 5.0, 5.0, -5.0]
    learner = finish(learner_of(rows, label_budget=100), labels)
    assert learner.row_weights_[:30].max() < 0.1
    assert min(learner._transcript.asked()) >= 30
