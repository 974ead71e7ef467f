"""A whole table: its rows, its names, and the same by scikit-learn's own transformers."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from thresher import memory
from thresher.errors import NotEnoughMemory
from thresher.preparation import RawTexts, TablePreparation, columns_of

N_ROWS = 60


def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": np.where(np.arange(N_ROWS) % 7, rng.normal(40, 9, N_ROWS), np.nan),
            "nr": np.arange(N_ROWS),
            "city": [*N_ROWS // 3 * ["Bonn", "Köln", "Ulm"]],
            "sex": [*N_ROWS // 2 * ["f", "m"]],
            "visits": ["unknown", *(str(n) for n in rng.integers(0, 99, N_ROWS - 1))],
            "member": rng.choice(["yes", "no"], N_ROWS),
            "joined": pd.to_datetime(rng.integers(0, 999, N_ROWS), unit="D"),
            "note": [" ".join(rng.choice(["red", "hot", "old", "big"], 6)) for _ in range(N_ROWS)],
            "size": rng.normal(size=N_ROWS),
        }
    )


NEW = pd.DataFrame(
    {
        "size": [1.0, np.nan, 2.0],
        "note": ["red red cold", None, "big"],
        "extra": ["x", "y", "z"],
        "age": ["30", "old", None],
        "city": ["Rom", None, "Ulm"],
        "sex": ["m", "x", "f"],
        "visits": [3, 4, 5],
        "member": [True, None, "no"],
        "joined": ["1970-01-02", "1970-01-03 12:00", "soon"],
    }
)
NAMES = [
    *("age", "sex=m", "visits", "member", "joined", "size", "age is missing", "visits is missing"),
    *(
        "city=Bonn",
        "city=Köln",
        "city=Ulm",
        "note: 'big'",
        "note: 'hot'",
        "note: 'old'",
        "note: 'red'",
    ),
]


def rows_of(preparation: TablePreparation, table: Any) -> Any:
    raw = {column.name: column for column in columns_of(table, preparation.used_columns)}
    X = preparation.prepare(raw).X
    return X.toarray() if sp.issparse(X) else X


@pytest.fixture(scope="module")
def preparation() -> TablePreparation:
    return TablePreparation.for_frame(frame())


def test_features_are_named_after_columns_values_and_words(preparation: TablePreparation) -> None:
    assert preparation.feature_names == NAMES
    assert [column.name for column in preparation.left_out] == ["nr"]


def test_missing_stray_and_unseen_cells_are_filled_and_counted(
    preparation: TablePreparation,
) -> None:
    raw = {column.name: column for column in columns_of(NEW)}
    prepared = preparation.prepare(raw)
    age, sex, visits, member, joined, size, no_age, no_visits, bonn, köln, ulm, *words = (
        prepared.X.T.tolist()
    )
    median = {column.name: column.median for column in preparation.numbers}
    assert age == [30, median["age"], median["age"]]
    assert sex == [1, 0.5, 0]
    assert visits == [3, 4, 5]
    assert member == [1, median["member"], 0]
    assert joined == [1, 2.5, median["joined"]]
    assert size == [1, median["size"], 2]
    assert (no_age, no_visits) == ([0, 1, 1], [0, 0, 0])
    assert (bonn, köln, ulm) == (
        [0, 1, 0],
        [0, 0, 0],
        [0, 0, 1],
    )
    assert np.array(words).T.tolist() == [[0, 0, 0, 1], [0, 0, 0, 0], [1, 0, 0, 0]]
    assert prepared.filled.missing == {"age": 1, "member": 1, "size": 1, "city": 1, "note": 1}
    assert prepared.filled.stray == {"age": 1, "sex": 1, "joined": 1}
    assert prepared.filled.unseen == {"city": {"Rom": 1}}


@pytest.mark.parametrize("table", [frame(), NEW], ids=["learned", "new"])
def test_the_transformers_of_scikit_learn_do_the_same(
    preparation: TablePreparation, table: pd.DataFrame
) -> None:
    reader, transformer = preparation.to_sklearn()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = transformer.transform(reader.transform(table))
    np.testing.assert_array_equal(found, rows_of(preparation, table))
    assert clone(reader).transform(table).shape == reader.transform(table).shape


def test_every_library_of_data_frames_gives_the_same(preparation: TablePreparation) -> None:
    table = frame()
    expected = rows_of(preparation, table)
    arrow = pa.Table.from_pandas(table)
    for other in (pl.from_pandas(table), arrow, table.iloc[:, ::-1], table.convert_dtypes()):
        np.testing.assert_array_equal(rows_of(preparation, other), expected)


def test_a_frame_prepares_itself_as_its_file_does() -> None:
    cells = {name: [str(cell) for cell in column] for name, column in frame().items()}
    texts = TablePreparation.for_columns([RawTexts.of(*item) for item in cells.items()])
    typed = TablePreparation.for_frame(frame())
    assert texts.feature_names == typed.feature_names
    np.testing.assert_allclose(rows_of(texts, frame()), rows_of(typed, frame()))


def test_only_the_columns_of_wanted_features_are_kept(preparation: TablePreparation) -> None:
    few = preparation.restricted_to({"age is missing", "city=Ulm"})
    assert few.used_columns == ["age", "city"]
    assert few.feature_names == ["age", "age is missing", "city=Bonn", "city=Köln", "city=Ulm"]
    places = [NAMES.index(name) for name in few.feature_names]
    expected = rows_of(preparation, frame())[:, places]
    np.testing.assert_array_equal(rows_of(few, frame()), expected)


def test_a_large_table_with_words_is_sparse(
    preparation: TablePreparation, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = rows_of(preparation, frame())
    monkeypatch.setattr("thresher.preparation.table_preparation.MAX_DENSE", 60 * 15 - 1)
    raw = {column.name: column for column in columns_of(frame())}
    found = preparation.prepare(raw).X
    assert sp.issparse(found)
    np.testing.assert_array_equal(found.toarray(), expected)


def test_rows_that_do_not_fit_are_refused_before_they_are_made(
    preparation: TablePreparation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: 1000)
    with pytest.raises(NotEnoughMemory, match="60 × 15 prepared numbers"):
        rows_of(preparation, frame())


def test_what_is_no_data_frame_is_refused(preparation: TablePreparation) -> None:
    with pytest.raises(TypeError, match="X must be a data frame with named columns, got ndarray"):
        preparation.to_sklearn()[0].transform(np.eye(3))
    with pytest.raises(ValueError, match=r"X lacks 'age', 'sex', 'visits', .* and 2 more"):
        preparation.to_sklearn()[0].transform(pd.DataFrame({"city": ["Ulm"]}))
    with pytest.raises(TypeError, match="collect the lazy frame first"):
        columns_of(pl.from_pandas(frame()).lazy())


def test_only_complete_columns_can_be_converted() -> None:
    table = frame()
    complete = TablePreparation.for_frame(table[["size", "city", "nr"]]).for_complete_cells()
    assert complete.transform(np.array([[1.5, "Ulm"]], dtype=object)).tolist() == [[1.5, 0, 0, 1]]
    for name, what in {"age": "missing cells", "note": "words", "visits": "missing"}.items():
        words = f"no converter for the {what}.*column '{name}'.*without its preparation"
        with pytest.raises(ValueError, match=words):
            TablePreparation.for_frame(table[[name]]).for_complete_cells()
