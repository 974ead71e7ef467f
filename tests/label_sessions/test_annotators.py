"""Several annotators at once: who gets which row, leases, disputes, and votes from many threads."""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path

import pytest

from label_sessions.pools import X, answer, bits, make, truth
from thresher import LabelSession
from thresher.label_sessions.opening import read_folder


class Clock:
    """A time that moves when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def with_clock(session: LabelSession) -> Clock:
    clock = session._dispatcher.leases.clock = Clock()
    return clock


def test_annotators_get_different_rows(tmp_path: Path) -> None:
    with make(tmp_path / "s") as session:
        rows = [session.next_question(name).row_id for name in ("ann", "bob", "cid", "dan", "eve")]
        assert len(set(rows)) == 5
        again = [session.next_question(name).row_id for name in ("ann", "bob")]
        assert again == rows[:2]


def test_a_row_goes_to_as_many_annotators_as_votes_are_wanted(tmp_path: Path) -> None:
    with make(tmp_path / "s", votes_per_row=2) as session:
        ann, bob, cid = (session.next_question(name).row_id for name in ("ann", "bob", "cid"))
        assert ann == bob != cid
        session.vote("ann", ann, "yes")
        assert session.next_question("ann").row_id == cid  # which needs a second vote
        assert session.progress().n_labels == 1


def test_a_lease_that_has_ended_gives_the_row_to_somebody_else(tmp_path: Path) -> None:
    with make(tmp_path / "s", lease_seconds=60) as session:
        clock = with_clock(session)
        question = session.next_question("ann")
        assert question.lease_end == 1060
        clock.now = 1059.0
        assert session.next_question("bob").row_id != question.row_id
        clock.now = 1060.0
        assert session.next_question("cid").row_id == question.row_id


def test_a_vote_after_the_lease_is_kept(tmp_path: Path) -> None:
    with make(tmp_path / "s", lease_seconds=60) as session:
        clock = with_clock(session)
        row = session.next_question("ann").row_id
        clock.now += 100
        assert session.next_question("bob").row_id == row
        session.vote("bob", row, "no")
        session.vote("ann", row, "yes")
        state = read_folder(session.folder)
        assert [vote.annotator for vote in state.votes[row].values()] == ["bob", "ann"]
        assert state.labels == {row: "no"}
        assert session.progress().n_labels == 1


def test_no_row_is_begun_beyond_the_budget(tmp_path: Path) -> None:
    with make(tmp_path / "s", label_budget=3) as session:
        questions = [session.next_question(name) for name in ("ann", "bob", "cid", "dan")]
        assert [one is None for one in questions] == [False, False, False, True]
        n_asked = len(session._state.asked)
        for _ in range(3):
            assert session.next_question("dan") is None
            session.wait()
        assert len(session._state.asked) == n_asked
        for name, question in zip(("ann", "bob", "cid"), questions):
            session.vote(name, question.row_id, "yes")
        assert session.progress().stop_reason == "budget spent"


def test_the_majority_decides_when_it_is_certain(tmp_path: Path) -> None:
    with make(tmp_path / "s", votes_per_row=3, decision="majority") as session:
        row = session.next_question("ann").row_id
        for name, label, known in (
            ("ann", "yes", {}),
            ("bob", "no", {}),
            ("cid", "no", {row: "no"}),
        ):
            assert session.next_question(name).row_id == row
            session.vote(name, row, label)
            assert session._state.labels == known
        agreement = session.progress().agreement
        assert (agreement.n_pairs, agreement.share) == (3, pytest.approx(1 / 3))


def test_a_tie_is_for_the_owner_to_resolve(tmp_path: Path) -> None:
    with make(tmp_path / "s", votes_per_row=2, decision="majority") as session:
        row = session.next_question("ann").row_id
        for name, label in (("ann", "yes"), ("bob", "no")):
            assert session.next_question(name).row_id == row
            session.vote(name, row, label)
        assert session.progress().disputed == [row]
        (suspect,) = session.suspects()
        assert (suspect.row_id, suspect.reason) == (row, "the votes give no label")
        assert suspect.votes == {"ann": "yes", "bob": "no"}
        session.resolve(row, "no", request_id="r")
        assert (session.progress().disputed, session.progress().n_labels) == ([], 1)
        assert read_folder(session.folder).labels == {row: "no"}


def test_a_skipped_row_is_left_to_others(tmp_path: Path) -> None:
    with make(tmp_path / "s") as session:
        row = session.next_question("ann").row_id
        session.skip("ann", row)
        assert session.next_question("ann").row_id != row
        assert session.next_question("bob").row_id == row


def test_the_last_rows_that_one_skipped_are_left_to_others(tmp_path: Path) -> None:
    rows = X[:12]
    with LabelSession.create(tmp_path / "s", rows, random_state=0, noise_rate=0) as session:
        while (question := session.next_question("ann")) is not None:
            session.skip("ann", question.row_id)
        assert session.progress().stop_reason == "pool exhausted"
        answer(session, 12, "bob")
        assert session.next_question("bob") is None
        assert session.progress().n_labels == 12


def test_an_undone_row_comes_before_rows_that_others_have_begun(tmp_path: Path) -> None:
    with make(tmp_path / "s", votes_per_row=2) as session:
        first, second = answer(session, 2, "bob")
        assert answer(session, 2, "ann") == [first, second]
        third = answer(session, 1, "ann")[0]
        answer(session, 2, "bob")  # the third, and a fourth that needs a vote of ann
        assert session.retract("ann") == third
        assert session.next_question("ann").row_id == third


def test_an_undone_skip_begins_no_row_beyond_the_budget(tmp_path: Path) -> None:
    with make(tmp_path / "s", votes_per_row=2, label_budget=1) as session:
        row = session.next_question("ann").row_id
        session.skip("ann", row)
        (other,) = answer(session, 1, "ann")
        assert session.retract("ann") == other
        session.vote("bob", other, "yes")
        assert session.retract("ann") == row
        assert session.next_question("ann").row_id == other
        assert session.next_question("bob") is None


def test_a_plan_with_more_votes_opens_rows_again(tmp_path: Path) -> None:
    with make(tmp_path / "s") as session:
        rows = answer(session, 2)
        session.change_plan(votes_per_row=3, decision="majority")
        assert session.progress().n_labels == 0
        assert session.next_question("bob").row_id == rows[0]


def test_a_label_that_the_model_does_not_expect_is_a_suspect(tmp_path: Path) -> None:
    with make(tmp_path / "s", batch_size=20) as session:
        asked = []
        for _ in range(60):
            row = session.next_question("ann").row_id
            session.vote("ann", row, truth(row))
            asked.append(row)
        clearest = max(asked, key=lambda row: abs(X[row, 0] + X[row, 1]))
        session.vote("ann", clearest, "no" if truth(clearest) == "yes" else "yes")
        suspects = {one.row_id: one for one in session.suspects()}
        assert suspects[clearest].reason == "the model expects the other label"
        assert suspects[clearest].probability < 0.1


def vote_from_threads(folder: Path, n_votes: int) -> None:
    """Eight threads vote, each as somebody else; every vote that was acknowledged is there."""
    n_rows = n_votes // 2
    with make(folder, votes_per_row=2, label_budget=n_rows, batch_size=20) as session:
        receipts, errors = [], []

        def work(name: str) -> None:
            try:
                while (question := session.next_question(name)) is not None:
                    label = truth(question.row_id)
                    request = f"{name}-{question.row_id}"
                    receipt = session.vote(name, question.row_id, label, request_id=request)
                    receipts.append((name, receipt))
            except Exception as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=(f"ann{i}",)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        while (question := session.next_question("last")) is not None:  # rows that wait for a vote
            session.vote("last", question.row_id, truth(question.row_id))
        n_extra = session.progress("last").n_own_votes
        assert session.progress().stop_reason == "budget spent"
        assert (session.progress().n_labels, session.progress().n_votes) == (n_rows, n_votes)
        before = bits(session)
    assert len(receipts) + n_extra == n_votes
    assert len({receipt.line for _, receipt in receipts}) == len(receipts)
    state = read_folder(folder)
    for name, receipt in receipts:
        assert state.receipts[receipt.request_id] == receipt
        assert name in state.votes[receipt.row_id]
    assert set(Counter(len(by) for by in state.votes.values())) == {2}
    with LabelSession.open(folder, X) as session:
        assert bits(session) == before


def test_votes_of_eight_annotators_at_once_are_all_there(tmp_path: Path) -> None:
    vote_from_threads(tmp_path / "s", 80)


@pytest.mark.slow
def test_a_thousand_votes_of_eight_annotators_are_all_there(tmp_path: Path, monkeypatch) -> None:
    import numpy as np

    rows = np.random.default_rng(1).standard_normal((2000, 4))
    monkeypatch.setattr("label_sessions.pools.X", rows)
    monkeypatch.setitem(globals(), "X", rows)
    vote_from_threads(tmp_path / "s", 1000)
