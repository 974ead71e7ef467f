"""Random sequences of everything that people do: what is in memory is what the journal says."""

from __future__ import annotations

import random
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from label_sessions.pools import X, bits, make, truth
from thresher import LabelSession
from thresher.label_sessions.opening import read_folder
from thresher.label_sessions.state import SessionState

NAMES = ("ann", "bob", "cid")


def described(state: SessionState) -> dict[str, Any]:
    """All that a state knows, without the order of its sets."""
    return {**asdict(state), "header": None}


def do_something(session: LabelSession, rng: random.Random, known: list[str]) -> None:
    """One action of somebody; appends the request of a vote to `known`."""
    name, what = rng.choice(NAMES), rng.random()
    if what < 0.15:
        session.retract(name)
    elif what < 0.2 and session._state.asked:
        session.resolve(rng.choice([*session._state.asked]), rng.choice(["no", "yes"]))
    elif what < 0.25:
        session.note(name, "a note")
    elif what < 0.35 and session._state.paid:
        row = rng.choice(sorted(session._state.paid))  # a correction, or a vote not asked for
        session.vote(name, row, rng.choice(["no", "yes"]))
    elif (question := session.next_question(name)) is not None:
        if what < 0.45:
            session.skip(name, question.row_id)
        else:
            request = f"{name}-{question.row_id}-{len(known)}"
            for _ in range(rng.choice([1, 1, 2])):  # the network repeats some requests
                session.vote(name, question.row_id, truth(question.row_id), request_id=request)
            known.append(request)


def run(folder: Path, seed: int, n_actions: int) -> None:
    rng, known = random.Random(seed), list[str]()
    plan = {
        "votes_per_row": rng.choice([1, 2, 3]),
        "decision": rng.choice(["first", "majority"]),
        "label_budget": rng.choice([None, 8, 20]),
    }
    session = make(folder, **plan)
    try:
        for _ in range(n_actions):
            do_something(session, rng, known)
            if rng.random() < 0.08:
                session.close()
                session = LabelSession.open(folder, X)
        session.wait()
        assert described(read_folder(folder)) == described(session._state)
        assert set(known) <= set(session._state.receipts)
        budget = plan["label_budget"]
        assert budget is None or len(session._state.paid) <= budget
        rows = [one.row_id for batch in session._state.batches for one in batch]
        assert len(rows) == len(set(rows))
        if len(set(session._state.labels.values())) == 2:
            before = bits(session)
            session.close()
            session = LabelSession.open(folder, X)
            assert bits(session) == before
    finally:
        session.close()


@pytest.mark.parametrize("seed", range(4))
def test_what_is_in_memory_is_what_the_journal_says(seed: int, tmp_path: Path) -> None:
    run(tmp_path / "s", seed, 30)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 200))
def test_what_is_in_memory_is_what_the_journal_says_in_longer_sequences(seed, tmp_path) -> None:
    run(tmp_path / "s", seed, 60)
