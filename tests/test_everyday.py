"""Files as people have them go through `learn`, `predict` and `audit` without a script."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from everyday import FILES, LABEL, N_LEARNED, N_NEW, Everyday
from thresher.estimators import load_model
from thresher.table_files import LabeledTable, prepare_table

# What is done with columns that need something, by file; other columns are complete numbers.
DONE = {
    "missing-numbers.csv": {"age": "numbers; gaps", "visits": "numbers; gaps"},
    "missing-categories.csv": {"city": "6 columns"},
    "stray-texts.csv": {"visits": "numbers; gaps"},
    "semicolons-and-decimal-commas.csv": {"age": "numbers; gaps", "city": "5 columns"},
    "latin-1.csv": {"city": "5 columns"},
    "gzipped.csv.gz": {"city": "5 columns"},
    "standard-input.csv": {"city": "5 columns"},
    "categories-and-nulls.parquet": {
        "age": "numbers; gaps",
        "city": "6 columns",
        "joined": "days since 1970",
    },
    "dates.csv": {"joined": "days since 1970"},
    "ids.csv": {
        "city": "5 columns",
        "customer_id": "left out: looks like ids",
        "token": "left out: looks like ids",
    },
    "sentences.csv": {"review": "19 TF-IDF columns"},
    "rare-categories.csv": {"shop": "columns + 1 for"},
    "unseen-categories.csv": {"city": "5 columns"},
    "yes-and-no.csv": {"city": "5 columns", "member": "yes = 1, no = 0"},
    "thousands-and-percent.csv": {"city": "5 columns"},
    "quoted-newlines.csv": {"city": "5 columns"},
    "byte-order-mark.csv": {"city": "5 columns"},
    "empty-columns.csv": {
        "city": "5 columns",
        "fax": "left out: no values",
        "country": "left out: constant",
    },
    "duplicate-rows.csv": {"city": "5 columns"},
    "imbalance.csv": {"city": "5 columns"},
    "pipes-and-an-index.txt": {"(no name)": "left out: has no name", "city": "5 columns"},
    "other-columns.csv": {"city": "5 columns"},
}
N_ROWS = 200
REMARKS = {
    "semicolons-and-decimal-commas.csv": 'Read with separator ";", decimal comma.',
    "latin-1.csv": "Read with encoding cp1252.",
    "pipes-and-an-index.txt": 'Read with separator "|".',
}


def test_there_are_twenty_files() -> None:
    assert len(FILES) >= 20
    assert sorted(DONE) == sorted(file.name for file in FILES)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_every_column_becomes_what_it_is(file: Everyday, tmp_path: Path) -> None:
    path, frame = tmp_path / file.name, file.frame(N_ROWS, seed=0)
    file.write(frame, path)
    table = prepare_table(path, label=LABEL)
    assert table.preparation is not None
    columns = {column.name: column for column in table.preparation.columns}
    for name, done in DONE[file.name].items():
        assert done in columns.pop(name).done
    assert {column.kind for column in columns.values()} <= {"numbers"}
    assert not any(column.has_gaps for column in columns.values())
    assert table.remarks == ((REMARKS[file.name],) if file.name in REMARKS else ())
    assert np.isfinite(getattr(table.X, "data", table.X)).all()
    assert table.y is not None
    assert table.y.tolist() == frame[LABEL].tolist()
    assert_numbers_are_those_of_the_author(file, table)


def assert_numbers_are_those_of_the_author(file: Everyday, table: LabeledTable) -> None:
    cleaned = file.clean(file.frame(N_ROWS, seed=0))
    for name in set(file.numbers) - {"joined", "member"}:
        ours = table.X[:, [table.feature_names.index(name)]]
        numbers = cleaned[name].to_numpy(dtype=np.float64)
        filled = np.where(np.isnan(numbers), np.nanmedian(numbers), numbers)
        dense = ours if isinstance(ours, np.ndarray) else ours.toarray()
        np.testing.assert_allclose(dense[:, 0], filled)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::thresher.errors.DistrustedClass")
@pytest.mark.filterwarnings("ignore::thresher.errors.UncertifiedPhase")
@pytest.mark.parametrize("place", range(len(FILES)), ids=lambda place: FILES[place].name)
def test_the_error_is_within_a_point_of_a_pipeline_written_by_hand(
    place: int, tmp_path: Path, call_cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = FILES[place]
    learned, new = file.frame(N_LEARNED, 2 * place), file.frame(N_NEW, 2 * place + 1, is_new=True)
    (tmp_path / "new").mkdir()
    file.write(learned, tmp_path / file.name)
    file.write(new, tmp_path / "new" / file.name)

    def run(command: str, path: Path) -> str:
        source = str(path)
        if file.is_piped:
            content = io.TextIOWrapper(io.BytesIO(path.read_bytes()))
            monkeypatch.setattr(sys, "stdin", content)
            source = "-"
        done = call_cli(command.format(source, f"--label {LABEL}"), tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("learn {} {} --out model.json", tmp_path / file.name)
    printed = run("predict model.json {} {} --out answers.csv", tmp_path / "new" / file.name)
    by_hand = float(np.mean(file.predicted_by_hand(learned, new) != new[LABEL].to_numpy()))
    ours = float(re.search(r"error ([\d.]+)%", printed)[1]) / 100
    assert ours <= by_hand + 0.01
    model = load_model(tmp_path / "model.json")
    answers = [line.split(",")[2] for line in (tmp_path / "answers.csv").read_text().splitlines()]
    assert model.to_sklearn().predict(new).tolist() == answers[1:]
    run("audit {} {} --out rows.csv", tmp_path / file.name)
    assert len((tmp_path / "rows.csv").read_text().splitlines()) == len(learned) + 1
    print(f"{file.name}: by hand {by_hand:.2%}, thresher {ours:.2%}")
