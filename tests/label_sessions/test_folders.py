"""Tests of sessions over a folder of files, which need not fit into memory."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from thresher import LabelSession
from thresher.errors import LearningStopped
from thresher.label_sessions import pool as pool_module

N_ROWS = 120
RNG = np.random.default_rng(0)
ROWS = RNG.standard_normal((N_ROWS, 3))
ANSWERS = np.where(ROWS[:, 0] > 0, "yes", "no")
OPTIONS = {"classes": ["no", "yes"], "label_budget": 20, "random_state": 0}


@pytest.fixture
def folder(tmp_path):
    columns = {f"f{j}": ROWS[:, j] for j in range(3)}
    columns |= {"answer": ANSWERS, "name": [f"r{i}" for i in range(N_ROWS)]}
    table = pa.table(columns)
    pq.write_table(table, tmp_path / "one.parquet")
    (tmp_path / "parts").mkdir()
    pq.write_table(table[:50], tmp_path / "parts" / "a.parquet", row_group_size=20)
    pq.write_table(table[50:], tmp_path / "parts" / "b.parquet", row_group_size=30)
    return tmp_path


def answered(session, truth=lambda row_id: ANSWERS[row_id]):
    while (question := session.next_question("ann", wait=True)) is not None:
        session.vote("ann", question.row_id, str(truth(question.row_id)))
    return session


def number(row_id):
    return int(row_id[1:])


@pytest.mark.parametrize("id_column", [None, "name"])
def test_a_folder_gives_the_model_of_the_same_rows_in_one_file(folder, id_column):
    truth = (lambda i: ANSWERS[i]) if id_column is None else (lambda i: ANSWERS[number(i)])
    models = []
    for name in ("one.parquet", "parts"):
        where = {"label": "answer", "id_column": id_column, **OPTIONS}
        with LabelSession.create(folder / f"session-{name}", folder / name, **where) as session:
            models.append(answered(session, truth).model())
    assert models[0].weights.tobytes() == models[1].weights.tobytes()
    assert models[0].feature_names == models[1].feature_names


def test_of_many_rows_a_sample_is_asked_about_and_found_again(folder, monkeypatch):
    monkeypatch.setattr(pool_module, "MOST_ROWS", 60)
    where = {"label": "answer", **OPTIONS}
    with LabelSession.create(folder / "session", folder / "parts", **where) as session:
        assert "a random sample of 60 of the " in session.pool.remark
        rows = session.pool.ids.tolist()
        row_id = session.next_question("ann").row_id
        assert session.pool.row(row_id)["f1"] == ROWS[row_id, 1]
        session.vote("ann", row_id, "yes")
    with LabelSession.open(folder / "session") as session:
        assert session.pool.ids.tolist() == rows and session.progress().n_labels == 1
        answered(session)


def test_a_folder_that_has_changed_is_refused(folder):
    LabelSession.create(folder / "session", folder / "parts", label="answer", **OPTIONS).close()
    pq.write_table(pq.read_table(folder / "one.parquet")[:10], folder / "parts" / "c.parquet")
    with pytest.raises(LearningStopped, match="this is not the pool of the session"):
        LabelSession.open(folder / "session")


@pytest.mark.parametrize("name", ["label", "id_column"])
def test_a_column_that_is_not_there_is_named(folder, name):
    with pytest.raises(ValueError, match="nope"):
        LabelSession.create(folder / "session", folder / "parts", **{name: "nope"}, **OPTIONS)
