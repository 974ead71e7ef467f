"""Labels and votes as CSV files: what goes out, what comes in, and both ways."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from label_sessions.pools import X, answer, bits, make, truth
from thresher import LabelSession, load_model
from thresher.errors import UnreadableTable

pd = pytest.importorskip("pandas")


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def import_text(session: LabelSession, text: str, encoding: str = "utf-8"):
    path = session.folder / "known.csv"
    path.write_bytes(text.encode(encoding))
    return session.import_labels(path)


# -- out -------------------------------------------------------------------------------------------


def test_labels_are_written_in_the_order_of_the_rows(tmp_path: Path) -> None:
    with make(tmp_path / "s") as session:
        rows = answer(session, 6)
        assert session.export_labels(tmp_path / "labels.csv") == 6
    found = rows_of(tmp_path / "labels.csv")
    assert [int(one["row_id"]) for one in found] == sorted(rows)
    assert [one["label"] for one in found] == [truth(row) for row in sorted(rows)]
    assert {(one["source"], one["n_votes"], one["random"]) for one in found} == {
        ("votes", "1", "1")
    }


def test_votes_are_written_with_annotator_time_and_comment(tmp_path: Path) -> None:
    with make(tmp_path / "s") as session:
        row = session.next_question("ann").row_id
        session.vote("ann", row, "yes", comment='"quite", sure\nreally')
        session.vote("bob", row, "no")
        assert session.export_votes(tmp_path / "votes.csv") == 2
    one, other = rows_of(tmp_path / "votes.csv")
    assert (one["annotator"], one["label"], other["annotator"]) == ("ann", "yes", "bob")
    assert one["comment"] == '"quite", sure\nreally'
    assert one["at"].startswith("20") and one["at"].endswith("+00:00")


def test_a_retracted_vote_is_not_written(tmp_path: Path) -> None:
    with make(tmp_path / "s") as session:
        answer(session, 2)
        session.retract("ann")
        assert session.export_votes(tmp_path / "votes.csv") == 1
        assert session.export_labels(tmp_path / "labels.csv") == 1


@pytest.mark.parametrize(
    "text", ["=1+1", "+1+cmd|' /C calc'!A0", "@SUM(A1)", "-2+3", "\t=1", "＝1"]
)
def test_nothing_that_is_written_is_a_formula(text: str, tmp_path: Path) -> None:
    with make(tmp_path / "s", classes=[text, "plain"]) as session:
        row = session.next_question(text).row_id
        session.vote(text, row, text, comment=text)
        session.export_votes(tmp_path / "votes.csv")
        session.export_votes(tmp_path / "raw.csv", raw_csv=True)
    (safe,), (raw,) = rows_of(tmp_path / "votes.csv"), rows_of(tmp_path / "raw.csv")
    assert {safe[name] for name in ("annotator", "label", "comment")} == {f"'{text}"}
    assert raw["label"] == text


def test_the_model_is_written_as_everywhere(tmp_path: Path) -> None:
    with make(tmp_path / "s") as session:
        answer(session, 15)
        session.save_model(tmp_path / "model.json")
        expected = session.model()
    model = load_model(tmp_path / "model.json")
    assert np.array_equal(model.predict(X), expected.predict(X))
    assert np.array_equal(model.predict_proba(X), expected.predict_proba(X))
    assert model.feature_names == ["x0", "x1", "x2", "x3"]


# -- in --------------------------------------------------------------------------------------------


def test_an_import_twice_is_an_import_once(tmp_path: Path) -> None:
    with make(tmp_path / "s") as session:
        first = import_text(session, "row_id,label\n3,yes\n7,no\n")
        size = (session.folder / "journal.txt").stat().st_size
        second = import_text(session, "label,row_id,more\nno,7,x\nyes,3,y\n")
        assert (first.n_new, first.n_known, second.n_new, second.n_known) == (2, 0, 0, 2)
        assert (session.folder / "journal.txt").stat().st_size == size
        third = import_text(session, "row_id,label\n3,yes\n7,yes\n9,no\n")
        assert (third.n_new, third.n_changed, third.n_known) == (1, 1, 1)
        assert session._state.labels == {3: "yes", 7: "yes", 9: "no"}


def test_imported_labels_are_free_and_not_asked_about(tmp_path: Path) -> None:
    with make(tmp_path / "s", label_budget=10) as session:
        known = range(0, 100, 2)
        import_text(session, "row_id,label\n" + "".join(f"{i},{truth(i)}\n" for i in known))
        asked = answer(session, 10)
        assert not set(asked) & set(known)
        progress = session.progress()
        assert (progress.n_labels, progress.n_imported) == (10, 50)
        assert progress.stop_reason == "budget spent"


def test_a_vote_counts_more_than_an_import(tmp_path: Path) -> None:
    with make(tmp_path / "s") as session:
        (row,) = answer(session, 1)
        other = "no" if truth(row) == "yes" else "yes"
        import_text(session, f"row_id,label\n{row},{other}\n")
        assert session._state.labels == {row: truth(row)}
        session.retract("ann")
        assert session._state.labels == {row: other}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("\ufeffrow_id,label\n3,yes\n", id="byte order mark"),
        pytest.param("row_id,label\r\n3,yes\r\n", id="line ends of Windows"),
        pytest.param('"row_id","label"\n"3","yes"\n', id="quotes"),
        pytest.param("row_id,label\n3,yes\n5,\n", id="a row without a label"),
        pytest.param("row_id,label\n3,yes\n3,yes\n", id="the same row twice"),
        pytest.param("row_id,label\n3,yes", id="no line end"),
    ],
)
def test_a_file_as_other_programs_write_it_is_read(text: str, tmp_path: Path) -> None:
    with make(tmp_path / "s") as session:
        assert import_text(session, text).n_new == 1
        assert session._state.labels == {3: "yes"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,label\n3,yes\n", "has no column 'row_id'"),
        ("row_id,labels\n3,yes\n", "has no column 'label'; did you mean 'labels'"),
        ("", "has no column 'row_id'"),
        ("row_id,label\n3,yes\n4,maybe\n", "label 'maybe' in line 3; the labels are 'no', 'yes'"),
        ("row_id,label\n3,yes\n3,no\n", "two labels for row 3, in line 3"),
        ("row_id,label\n3,yes\n999,no\n", "no row with the id '999'"),
        ('row_id,label\n3,"yes\n', "is not a CSV file in UTF-8"),
        ("row_id,label\n3,yés\n", "is not a CSV file in UTF-8"),
    ],
)
def test_a_wrong_file_is_refused_as_a_whole(text: str, message: str, tmp_path: Path) -> None:
    with make(tmp_path / "s") as session:
        before = (session.folder / "journal.txt").read_bytes()
        with pytest.raises((UnreadableTable, ValueError), match=message):
            import_text(session, text, "latin-1" if "é" in text else "utf-8")
        assert (session.folder / "journal.txt").read_bytes() == before


# -- both ways -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "classes",
    [
        pytest.param(["no", "yes"], id="words"),
        pytest.param(["=no", "-yes"], id="formulas"),
        pytest.param(["'no", "'=yes"], id="quotes"),
        pytest.param(["=yes", "'=yes"], id="alike"),
        pytest.param(["''=yes", "'=yes"], id="more alike"),
        pytest.param(["nö,\n", 'y"es '], id="separators"),
        pytest.param([0, 1], id="integers"),
        pytest.param([-1, 1], id="signs"),
        pytest.param([0.5, 1e300], id="floats"),
        pytest.param([False, True], id="booleans"),
    ],
)
def test_exported_labels_are_imported_as_they_were(classes, tmp_path: Path) -> None:
    with make(tmp_path / "one", classes=classes) as one:
        for _ in range(8):
            row = one.next_question("ann").row_id
            one.vote("ann", row, classes[truth(row) == "yes"])
        one.export_labels(tmp_path / "labels.csv")
        labels = one._state.labels
        expected = bits(one)
    with make(tmp_path / "two", classes=classes) as two:
        two.import_labels(tmp_path / "labels.csv")
        assert two._state.labels == labels
        assert {type(label) for label in two._state.labels.values()} == {type(classes[0])}
        assert bits(two) == expected


def test_ids_of_any_kind_come_back(tmp_path: Path) -> None:
    ids = [f"={i}, 'x'" for i in range(len(X))]
    frame = pd.DataFrame(X, index=ids)
    for name in ("one", "two"):
        session = LabelSession.create(tmp_path / name, frame, classes=["no", "yes"], random_state=0)
        with session:
            if name == "one":
                rows = [session.next_question("ann").row_id]
                session.vote("ann", rows[0], "yes")
                session.export_labels(tmp_path / "labels.csv")
            else:
                session.import_labels(tmp_path / "labels.csv")
            assert session._state.labels == {rows[0]: "yes"}
    assert rows[0] in ids
