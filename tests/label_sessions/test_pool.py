"""The pool of a session: files, frames and arrays, as cells and as numbers, and in samples."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from thresher import LabelSession
from thresher.errors import LearningStopped
from thresher.label_sessions import pool as module
from thresher.label_sessions.pool import SessionPool, Source

pd = pytest.importorskip("pandas")

FRAME = pd.DataFrame(
    {
        "name": [f"mail {i} about \x1b many things" for i in range(60)],
        "size": [float(i % 7) if i % 5 else None for i in range(60)],
        "kind": ["a", "b", "c"] * 20,
        "known": ["ham", "spam"] * 30,
    }
)


def pool_of(table, **options) -> SessionPool:
    return SessionPool.of(Source(table, **options), seed=0)


def written(folder: Path, suffix: str) -> Path:
    path = folder / f"pool{suffix}"
    if suffix == ".csv":
        FRAME.to_csv(path, index=False)
    else:
        FRAME.to_parquet(path, index=False)
    return path


def test_the_cells_of_a_frame_are_shown_as_they_are() -> None:
    pool = pool_of(FRAME, label="known")
    assert pool.columns == ["name", "size", "kind"]
    assert pool.row(7) == {"name": "mail 7 about \x1b many things", "size": 0.0, "kind": "b"}
    assert pool.row(5)["size"] is None
    assert pool.X.shape == (60, len(pool.feature_names))
    assert set(pool.column_of_feature) <= {"name", "size", "kind"}


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_frames_of_other_libraries_are_pools(library: str) -> None:
    loaded = pytest.importorskip(library)
    frame = loaded.from_pandas(FRAME) if library == "polars" else loaded.table(FRAME)
    pool, same = pool_of(frame, label="known"), pool_of(FRAME, label="known")
    assert [pool.row(row) for row in (5, 7)] == [same.row(row) for row in (5, 7)]
    assert np.array_equal(pool.X, same.X)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_the_cells_of_a_file_are_shown_as_they_are(suffix: str, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    pool = pool_of(written(tmp_path, suffix), label="known")
    assert pool.columns == ["name", "size", "kind"]
    shown = pool.row(8)
    assert (shown["name"], shown["kind"]) == ("mail 8 about \x1b many things", "c")
    assert float(shown["size"]) == 1.0
    assert pool.row(5)["size"] is None


def test_a_session_of_a_file_finds_it_again_and_refuses_another(tmp_path: Path) -> None:
    path = written(tmp_path, ".csv")
    with LabelSession.create(tmp_path / "s", path, label="known", random_state=0) as session:
        row = session.next_question("ann").row_id
        session.vote("ann", row, "ham")
    with LabelSession.open(tmp_path / "s") as session:
        assert session.progress().n_labels == 1
    path.write_text(path.read_text().replace("mail 3 ", "mail 4 "))
    with pytest.raises(LearningStopped, match="not the pool"):
        LabelSession.open(tmp_path / "s")


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_ids_come_from_their_column(suffix: str, tmp_path: Path) -> None:
    pool = pool_of(written(tmp_path, suffix), id_column="name")
    assert pool.row("mail 8 about \x1b many things")["kind"] == "c"
    assert pool.ids[0] == "mail 0 about \x1b many things"
    with pytest.raises(ValueError, match="ids of the rows must be unique"):
        pool_of(written(tmp_path, suffix), id_column="kind")


def test_the_index_of_a_frame_gives_the_ids() -> None:
    numbers = pd.DataFrame(np.eye(3), index=[30, 10, 20], columns=["a", "b", "c"])
    assert pool_of(numbers).row(10) == {"a": 0.0, "b": 1.0, "c": 0.0}
    with pytest.raises(TypeError, match="integers or strings, got"):
        pool_of(numbers.set_index(pd.Index([0.5, 1.5, 2.5])))
    with pytest.raises(ValueError, match="unique"):
        pool_of(numbers.set_index(pd.Index([1, 1, 2])))


def test_a_sparse_row_is_shown_without_its_zeros() -> None:
    rows = sp.csr_array(np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]]))
    pool = pool_of(rows)
    assert pool.row(1) == {"x0": 1.0, "x2": 3.0}
    assert pool.columns == ["x0", "x1", "x2"]


@pytest.mark.parametrize(
    "change",
    [
        lambda frame: frame.assign(size=frame["size"].replace(3.0, 4.0)),
        lambda frame: frame.assign(kind=frame["kind"].replace("a", "x")),
        lambda frame: frame.rename(columns={"kind": "sort"}),
        lambda frame: frame.iloc[::-1],
        lambda frame: frame.iloc[:-1],
    ],
)
def test_another_table_has_another_fingerprint(change) -> None:
    assert pool_of(FRAME).fingerprint == pool_of(FRAME.copy()).fingerprint
    assert pool_of(FRAME).fingerprint != pool_of(change(FRAME)).fingerprint


# -- long pools ------------------------------------------------------------------------------------


def test_of_a_long_pool_a_sample_is_asked_about(monkeypatch) -> None:
    monkeypatch.setattr(module, "MOST_ROWS", 20)
    rows = np.arange(100.0)[:, None] + np.array([[0.0, 0.5]])
    pool = pool_of(rows)
    assert (pool.n_rows, len(pool.ids), pool.X.shape) == (100, 20, (20, 2))
    assert np.array_equal(pool.X[:, 0], pool.ids)
    assert pool.row(int(pool.ids[3])) == {"x0": float(pool.ids[3]), "x1": pool.ids[3] + 0.5}
    assert np.array_equal(pool.ids, pool_of(rows).ids)
    other = SessionPool.of(Source(rows), seed=1)
    assert not np.array_equal(pool.ids, other.ids)
    assert pool.fingerprint == other.fingerprint
    assert "a random sample of 20 of the 100 rows" in pool.remark


def test_a_session_says_that_it_looks_at_a_sample(tmp_path, monkeypatch) -> None:
    with LabelSession.create(tmp_path / "one", np.eye(30), noise_rate=0) as session:
        assert session.messages == ()
    monkeypatch.setattr(module, "MOST_ROWS", 20)
    with LabelSession.create(tmp_path / "two", np.eye(30), noise_rate=0) as session:
        assert session.messages == (session.pool.remark,)


@pytest.mark.parametrize("suffix", ["memory", ".csv", ".parquet"])
def test_an_import_reaches_rows_outside_the_sample(suffix, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(module, "MOST_ROWS", 40)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((200, 3)), columns=["a", "b", "c"])
    table = frame
    if suffix != "memory":
        table = tmp_path / f"pool{suffix}"
        (frame.to_csv if suffix == ".csv" else frame.to_parquet)(table, index=False)
    known = {row: "yes" if frame["a"][row] > 0 else "no" for row in range(0, 200, 10)}
    (tmp_path / "known.csv").write_text(
        "row_id,label\n" + "".join(f"{row},{label}\n" for row, label in known.items())
    )
    session = LabelSession.create(tmp_path / "s", table, classes=["no", "yes"], random_state=0)
    with session:
        session.next_question("ann")
        session.wait()
        session.import_labels(tmp_path / "known.csv")
        for _ in range(12):  # also rows that are chosen after the pool was read again
            question = session.next_question("ann")
            value = frame["a"][question.row_id]
            assert float(question.values["a"]) == pytest.approx(value)
            session.vote("ann", question.row_id, "yes" if value > 0 else "no")
        assert session._state.labels.keys() >= known.keys()
        before = session._dispatcher.snapshot().answered.to_model()
    with LabelSession.open(tmp_path / "s", table) as session:
        after = session._dispatcher.snapshot().answered.to_model()
    assert before.weights.tobytes() == after.weights.tobytes()
