"""A session as a program uses it: questions, votes, undo, and resuming."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from thresher import ActiveClassifier, LabelSession

X = np.random.default_rng(0).standard_normal((150, 4))


def truth(row: int) -> str:
    return "yes" if X[row, 0] + X[row, 1] > 0 else "no"


@pytest.fixture
def session(tmp_path: Path) -> Iterator[LabelSession]:
    made = LabelSession.create(tmp_path / "s", X, label_budget=40, batch_size=4, random_state=0)
    with made as session:
        yield session


def answer(session: LabelSession, n_rows: int, annotator: str = "ann") -> list[int]:
    rows = []
    for _ in range(n_rows):
        question = session.next_question(annotator)
        assert question is not None
        session.vote(annotator, question.row_id, truth(question.row_id))
        rows.append(question.row_id)
    return rows


def test_the_model_is_that_of_the_same_labels_in_python(session: LabelSession) -> None:
    rows = answer(session, 40)
    assert session.next_question("ann") is None
    assert session.progress().stop_reason == "budget spent"
    known = {row: truth(row) for row in rows}
    learner = ActiveClassifier(X, initial_labels=known, random_state=0)
    ours, theirs = session.model(), learner.to_model()
    assert (ours.weights.tobytes(), ours.offset) == (theirs.weights.tobytes(), theirs.offset)


def test_a_question_stays_until_it_is_answered(session: LabelSession) -> None:
    first = session.next_question("ann")
    again = session.next_question("ann")
    assert first is not None and again is not None
    assert first.row_id == again.row_id
    assert first.values == dict(zip(["x0", "x1", "x2", "x3"], X[int(first.row_id)].tolist()))


def test_a_resumed_session_asks_the_same_rows_and_gives_the_same_bits(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    with LabelSession.create(folder, X, batch_size=4, random_state=0) as session:
        answer(session, 25)
        question, before = session.next_question("ann"), session.model()
    with LabelSession.open(folder, X) as session:
        after = session.model()
        assert session.next_question("ann").row_id == question.row_id
    assert (before.weights.tobytes(), before.offset) == (after.weights.tobytes(), after.offset)


def test_a_retracted_row_is_asked_about_again(session: LabelSession) -> None:
    last = answer(session, 3)[-1]
    assert session.retract("ann") == last
    assert session.progress().n_labels == 2
    assert session.next_question("ann").row_id == last


def test_a_repeated_request_changes_nothing(session: LabelSession) -> None:
    row = session.next_question("ann").row_id
    first = session.vote("ann", row, "yes", request_id="a")
    size = (session.folder / "journal.txt").stat().st_size
    assert session.vote("ann", row, "yes", request_id="a") == first
    assert (session.folder / "journal.txt").stat().st_size == size
    with pytest.raises(ValueError, match="used for something else"):
        session.vote("ann", row, "no", request_id="a")
