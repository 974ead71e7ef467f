"""Small pools with known labels, and annotators for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from thresher import LabelSession

X = np.random.default_rng(0).standard_normal((150, 4))


def truth(row: Any) -> str:
    return "yes" if X[row, 0] + X[row, 1] > 0 else "no"


def make(folder: Path, **options: Any) -> LabelSession:
    """A session on these rows."""
    given = {"batch_size": 10, "classes": ["no", "yes"], "random_state": 0, **options}
    return LabelSession.create(folder, X, **given)


def answer(session: LabelSession, n_rows: int, annotator: str = "ann") -> list[Any]:
    """Answer truly; the rows that were asked about."""
    rows = []
    for _ in range(n_rows):
        question = session.next_question(annotator)
        assert question is not None
        session.vote(annotator, question.row_id, truth(question.row_id))
        rows.append(question.row_id)
    return rows


def bits(session: LabelSession) -> tuple[bytes, float]:
    """The model, to be compared exactly."""
    model = session._dispatcher.snapshot().answered.to_model()
    return model.weights.tobytes(), model.offset
