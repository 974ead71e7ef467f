"""A session as a program uses it: questions, votes, undo, stopping and resuming."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from label_sessions.pools import X, answer, bits, make, truth
from thresher import ActiveClassifier, LabelSession
from thresher.errors import LearningStopped, NotSaved, SessionStopped
from thresher.label_sessions.disk import SystemFile
from thresher.label_sessions.opening import read_folder
from thresher.label_sessions.state import SessionState


@pytest.fixture
def session(tmp_path: Path) -> Iterator[LabelSession]:
    with make(tmp_path / "s", label_budget=30) as session:
        yield session


# -- the model -------------------------------------------------------------------------------------


def test_the_model_is_that_of_the_same_labels_in_python(session: LabelSession) -> None:
    rows = answer(session, 30)
    assert session.next_question("ann") is None
    known = {row: truth(row) for row in rows}
    learner = ActiveClassifier(X, initial_labels=known, random_state=0)
    theirs = learner.to_model()
    assert bits(session) == (theirs.weights.tobytes(), theirs.offset)


def test_the_model_does_not_depend_on_the_order_of_the_votes(tmp_path: Path) -> None:
    with make(tmp_path / "one", batch_size=30) as one, make(tmp_path / "two", batch_size=30) as two:
        for session in (one, two):
            session.next_question("ann")
        rows = list(one._state.asked)
        for session, order in ((one, rows), (two, rows[::-1])):
            for row in order:
                session.vote("ann", row, truth(row))
        assert bits(one) == bits(two)


def test_without_labels_of_both_classes_there_is_no_model(session: LabelSession) -> None:
    with pytest.raises(LearningStopped, match="no label yet"):
        session.model()
    assert session.suspects() == []


def test_the_questions_do_not_depend_on_how_fast_the_answers_come(tmp_path: Path) -> None:
    with make(tmp_path / "one") as one, make(tmp_path / "two") as two:
        rows = answer(one, 30)
        slowly = []
        for _ in range(30):
            slowly += answer(two, 1)
            two.wait()
    assert rows == slowly


# -- questions -------------------------------------------------------------------------------------


def test_a_question_stays_until_it_is_answered(session: LabelSession) -> None:
    first, again = session.next_question("ann"), session.next_question("ann")
    assert first.row_id == again.row_id
    assert first.values == dict(zip(["x0", "x1", "x2", "x3"], X[first.row_id].tolist()))
    assert session.pool.columns == ["x0", "x1", "x2", "x3"]


def test_the_reason_of_a_question_is_given(session: LabelSession) -> None:
    reasons = []
    for _ in range(30):
        question = session.next_question("ann")
        reasons.append((question.is_random, question.reason))
        session.vote("ann", question.row_id, truth(question.row_id))
    assert reasons[0] == (True, "random: measures the error")
    assert (False, "the model is least sure here") in reasons


def test_the_columns_that_matter_come_first(session: LabelSession) -> None:
    answer(session, 12)
    session.wait()
    question = session.next_question("ann")
    model = session._dispatcher.refitter.model
    scaled = np.clip((X[question.row_id] - model.center) / model.scale, -model.reach, model.reach)
    order = np.argsort(-np.abs(model.weights * scaled))
    assert question.columns == tuple(f"x{j}" for j in order)


def test_without_waiting_there_may_be_no_question_yet(session: LabelSession) -> None:
    assert session.next_question("ann", wait=False) is None
    assert session.progress().refitting
    session.wait()
    assert session.next_question("ann", wait=False) is not None


def test_a_skipped_row_is_not_asked_about_again(session: LabelSession) -> None:
    skipped = session.next_question("ann").row_id
    session.skip("ann", skipped)
    assert skipped not in answer(session, 30)
    progress = session.progress()
    assert (progress.n_labels, progress.n_skipped, progress.n_votes) == (30, 1, 30)


# -- answers ---------------------------------------------------------------------------------------


def test_a_retracted_row_is_asked_about_again(session: LabelSession) -> None:
    last = answer(session, 3)[-1]
    assert session.retract("ann") == last
    assert session.progress().n_labels == 2
    assert session.next_question("ann").row_id == last


def test_a_retracted_correction_gives_the_earlier_vote_back(session: LabelSession) -> None:
    (row,) = answer(session, 1)
    wrong = "no" if truth(row) == "yes" else "yes"
    session.vote("ann", row, wrong)
    assert session._state.labels == {row: wrong}
    assert session.retract("ann") == row
    assert session._state.labels == {row: truth(row)}


def test_a_retracted_skip_opens_the_row(session: LabelSession) -> None:
    row = session.next_question("ann").row_id
    session.skip("ann", row)
    assert session.retract("ann") == row
    assert session.next_question("ann").row_id == row


def test_only_ones_own_answers_are_retracted(session: LabelSession) -> None:
    answer(session, 2)
    assert session.retract("bob") is None
    assert session.progress().n_labels == 2


def test_a_repeated_request_changes_nothing(session: LabelSession) -> None:
    row = session.next_question("ann").row_id
    first = session.vote("ann", row, "yes", request_id="a", comment="sure")
    session.wait()
    size = (session.folder / "journal.txt").stat().st_size
    assert session.vote("ann", row, "yes", request_id="a", comment="sure") == first
    assert session.skip("ann", session.next_question("ann").row_id, request_id="b").line > 0
    assert session.retract("ann", request_id="c") is not None
    size = (session.folder / "journal.txt").stat().st_size
    assert session.retract("ann", request_id="c") is not None
    assert (session.folder / "journal.txt").stat().st_size == size
    assert session.progress().n_labels == 1


def test_a_request_id_is_for_one_thing(session: LabelSession) -> None:
    row = session.next_question("ann").row_id
    session.vote("ann", row, "yes", request_id="a")
    for again in (
        lambda: session.vote("ann", row, "no", request_id="a"),
        lambda: session.vote("bob", row, "yes", request_id="a"),
        lambda: session.skip("ann", row, request_id="a"),
        lambda: session.note("ann", "text", row, request_id="a"),
    ):
        with pytest.raises(ValueError, match="'a' was used for something else"):
            again()


def test_a_request_is_known_after_a_restart(tmp_path: Path) -> None:
    with make(tmp_path / "s") as session:
        row = session.next_question("ann").row_id
        first = session.vote("ann", row, "yes", request_id="a")
    with LabelSession.open(tmp_path / "s", X) as session:
        assert session.vote("ann", row, "yes", request_id="a") == first
        assert session.progress().n_votes == 1


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("ann", 10**6, "yes"), ValueError, "no row with the id 1000000"),
        (("ann", "0", "yes"), ValueError, "no row with the id '0'"),
        (("ann", None, "maybe"), ValueError, "label must be 'no' or 'yes', got 'maybe'"),
        (("ann", None, 1), TypeError, "of one type"),
        (("ann", None, None), TypeError, "skip the row"),
        (("", None, "yes"), ValueError, "1 to 100 characters"),
        ((7, None, "yes"), TypeError, "annotator must be a string"),
    ],
)
def test_a_wrong_vote_is_refused_and_nothing_recorded(arguments, error, message, session) -> None:
    row = session.next_question("ann").row_id
    session.wait()
    before = (session.folder / "journal.txt").read_bytes()
    annotator, given, label = arguments
    with pytest.raises(error, match=message):
        session.vote(annotator, row if given is None else given, label)
    assert (session.folder / "journal.txt").read_bytes() == before


def test_a_row_that_was_not_asked_about_is_refused(session: LabelSession) -> None:
    asked = session.next_question("ann").row_id
    other = next(row for row in range(len(X)) if row not in session._state.asked)
    assert asked != other
    with pytest.raises(ValueError, match=f"row {other} was not asked about"):
        session.vote("ann", other, "yes")


def test_too_long_a_comment_is_refused(session: LabelSession) -> None:
    row = session.next_question("ann").row_id
    with pytest.raises(ValueError, match="at most 10,000 characters"):
        session.vote("ann", row, "yes", comment="x" * 10_001)


def test_labels_need_not_be_known_before(tmp_path: Path) -> None:
    with make(tmp_path / "s", classes=None) as session:
        assert session.classes == []
        for label in (1, 0, 1):
            session.vote("ann", session.next_question("ann").row_id, label)
        assert session.classes == [0, 1]
        with pytest.raises(ValueError, match="label must be 0 or 1, got 2"):
            session.vote("ann", session.next_question("ann").row_id, 2)


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        (["a"], "2 rows"),
        (["a", "a"], "two different"),
        (["a", 1], "one type"),
        ([None, "a"], "None"),
    ],
)
def test_classes_must_be_two_labels(classes, message, tmp_path: Path) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        make(tmp_path / "s", classes=classes)
    assert not (tmp_path / "s").exists()


# -- stopping --------------------------------------------------------------------------------------


def test_the_budget_ends_a_session_and_a_larger_one_continues_it(session: LabelSession) -> None:
    answer(session, 30)
    assert session.next_question("ann") is None
    assert session.progress().stop_reason == "budget spent"
    session.change_plan(label_budget=32)
    answer(session, 2)
    assert session.next_question("ann") is None
    with pytest.raises(ValueError, match="noise_rate cannot be changed"):
        session.change_plan(noise_rate=0.1)


def test_the_last_labels_are_judged_too(session: LabelSession) -> None:
    answer(session, 30)
    session.wait()
    progress = session.progress()
    assert progress.history[-1].n_labels == 30
    assert 0 <= progress.error_estimate.low <= progress.error_estimate.high <= 1
    n_lines = session._state.n_lines
    session.next_question("ann")
    session.wait()
    assert session._state.n_lines == n_lines


def test_a_session_without_a_second_class_ends_quietly(tmp_path: Path) -> None:
    with make(tmp_path / "s", label_budget=5) as session:
        for _ in range(5):
            session.vote("ann", session.next_question("ann").row_id, "yes")
        session.wait()
        n_models = []
        for _ in range(3):
            assert session.next_question("ann") is None
            session.wait()
            events = session._ledger._journal.read_again()
            models = [event for event in events if event["event"] == "model"]
            assert models[-1]["n_labels"] == 5
            n_models.append(len(models))
        assert n_models[1] == n_models[2]  # nothing is fitted again and again


def test_every_row_of_a_small_pool_is_asked_about_once(tmp_path: Path) -> None:
    rows = X[:23]
    with LabelSession.create(tmp_path / "s", rows, random_state=0, noise_rate=0) as session:
        asked = answer(session, 23)
        assert session.next_question("ann") is None
        assert session.progress().stop_reason == "pool exhausted"
        session.wait()
        assert session.progress().history[-1].n_labels == 23
        assert session.retract("ann") == asked[-1]
        assert session.progress().stop_reason is None
        assert session.next_question("ann").row_id == asked[-1]
    assert sorted(asked) == [*range(23)]


def test_the_target_ends_a_session(tmp_path: Path) -> None:
    with make(tmp_path / "s", target_error=0.3) as session:
        n_rows = 0
        while (question := session.next_question("ann")) is not None:
            session.vote("ann", question.row_id, truth(question.row_id))
            n_rows += 1
        assert session.progress().stop_reason == "target met"
        assert n_rows < 100


# -- resuming --------------------------------------------------------------------------------------


def test_a_resumed_session_asks_the_same_rows_and_gives_the_same_bits(tmp_path: Path) -> None:
    with make(tmp_path / "s") as session:
        answer(session, 25)
        question, before = session.next_question("ann"), bits(session)
    with LabelSession.open(tmp_path / "s", X) as session:
        assert session.next_question("ann").row_id == question.row_id
        assert bits(session) == before


def test_recorded_questions_are_not_computed_again(tmp_path: Path, monkeypatch) -> None:
    with make(tmp_path / "s") as session:
        answer(session, 10)
        session.wait()
        asked = list(session._state.asked)

    def fail(*_: object) -> None:
        raise AssertionError("a question was computed again")

    monkeypatch.setattr(ActiveClassifier, "next_batch", fail)
    with LabelSession.open(tmp_path / "s", X) as session:
        assert list(session._state.asked) == asked
        assert session.next_question("ann", wait=False).row_id in asked


def test_another_pool_is_refused(tmp_path: Path) -> None:
    make(tmp_path / "s").close()
    with pytest.raises(LearningStopped, match=r"not the pool .* 150 rows"):
        LabelSession.open(tmp_path / "s", X + 1)
    with pytest.raises(ValueError, match="pool must be given"):
        LabelSession.open(tmp_path / "s")
    LabelSession.open(tmp_path / "s", X).close()


def test_a_folder_has_one_session(tmp_path: Path) -> None:
    make(tmp_path / "s").close()
    with pytest.raises(FileExistsError, match="there is a labeling session"):
        make(tmp_path / "s")
    with pytest.raises(FileNotFoundError, match="there is no labeling session"):
        LabelSession.open(tmp_path / "t", X)


def test_a_closed_session_refuses_everything(session: LabelSession) -> None:
    row = session.next_question("ann").row_id
    session.close()
    session.close()
    for call in (
        lambda: session.next_question("ann"),
        lambda: session.vote("ann", row, "yes"),
        lambda: session.note("ann", "text"),
    ):
        with pytest.raises(LearningStopped, match="the session is closed"):
            call()


def test_a_torn_line_is_mentioned(tmp_path: Path) -> None:
    with make(tmp_path / "s") as session:
        assert session.messages == ()
        answer(session, 2)
    with (tmp_path / "s" / "journal.txt").open("ab") as file:
        file.write(b"abc")
    with LabelSession.open(tmp_path / "s", X) as session:
        assert "was torn (3 bytes)" in session.messages[0]
        assert session.progress().n_labels == 2


# -- a disk that fails -----------------------------------------------------------------------------


def test_a_full_disk_costs_one_answer_and_the_session_goes_on(session, monkeypatch) -> None:
    answer(session, 2)
    session.wait()
    row = session.next_question("ann").row_id
    works = SystemFile.write

    def write_half(file: SystemFile, data: bytes) -> None:
        works(file, data[: len(data) // 2])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(SystemFile, "write", write_half)
    with pytest.raises(NotSaved, match="No space left on device"):
        session.vote("ann", row, "yes", request_id="a")
    monkeypatch.undo()
    assert session.progress().n_labels == 2
    session.vote("ann", row, "yes", request_id="a")
    assert len(read_folder(session.folder).labels) == 3


def test_a_failing_disk_stops_the_session_which_can_be_opened_again(tmp_path, monkeypatch) -> None:
    with make(tmp_path / "s") as session:
        answer(session, 2)
        session.wait()
        row = session.next_question("ann").row_id

        def fail(_: SystemFile) -> None:
            raise OSError(5, "Input/output error")

        monkeypatch.setattr(SystemFile, "sync", fail)
        with pytest.raises(SessionStopped, match="are safe"):
            session.vote("ann", row, "yes")
        monkeypatch.undo()
        with pytest.raises(SessionStopped):
            session.vote("ann", row, "yes")
    with LabelSession.open(tmp_path / "s", X) as session:
        assert session.progress().n_labels == 2


def test_an_interrupt_between_disk_and_memory_loses_nothing(session, monkeypatch) -> None:
    answer(session, 2)
    session.wait()
    row = session.next_question("ann").row_id
    session.wait()

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(SessionState, "apply", interrupt)
    with pytest.raises(KeyboardInterrupt):
        session.vote("ann", row, "yes")
    monkeypatch.undo()
    session.note("ann", "still here")
    assert session.progress().n_labels == 3
    assert read_folder(session.folder).labels == session._state.labels


def test_an_error_of_a_refit_is_raised_and_the_votes_stay(session, monkeypatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("no luck")

    monkeypatch.setattr(ActiveClassifier, "next_batch", fail)
    with pytest.raises(LearningStopped, match=r"cannot be fitted: no luck\. All votes are safe"):
        session.next_question("ann")
    monkeypatch.undo()
    answer(session, 3)


def test_progress_counts_what_there_is(session: LabelSession) -> None:
    answer(session, 6)
    session.wait()
    progress = session.progress("ann")
    assert (progress.n_labels, progress.n_own_votes, progress.label_budget) == (6, 6, 30)
    assert session.progress("bob").n_own_votes == 0
    assert [one.n_labels for one in progress.history] == sorted(
        one.n_labels for one in progress.history
    )
    assert progress.agreement.share is None


def test_what_is_written_can_be_read_while_the_session_is_open(session: LabelSession) -> None:
    rows = answer(session, 4)
    assert read_folder(session.folder).labels == {row: truth(row) for row in rows}


def test_labels_of_any_kind_come_back_as_they_were(tmp_path: Path) -> None:
    for name, classes in {"bool": [False, True], "float": [0.5, 1.5], "int": [0, 1]}.items():
        with make(tmp_path / name, classes=classes) as session:
            for label in np.array(classes):
                session.vote("ann", session.next_question("ann").row_id, label)
        kinds = {type(label) for label in read_folder(tmp_path / name).labels.values()}
        assert kinds == {type(classes[0])}


def test_a_numpy_integer_is_a_row_id_too(session: LabelSession) -> None:
    row = session.next_question("ann").row_id
    receipt = session.vote("ann", np.int64(row), "yes")
    assert (receipt.row_id, type(receipt.row_id)) == (row, int)
    assert read_folder(session.folder).labels == {row: "yes"}


def test_a_repeated_request_does_not_take_the_next_row_away(session: LabelSession) -> None:
    first = session.next_question("ann").row_id
    session.vote("ann", first, "yes", request_id="a")
    second = session.next_question("ann").row_id
    session.vote("ann", first, "yes", request_id="a")
    assert session.next_question("bob").row_id != second
    assert session.next_question("ann").row_id == second
