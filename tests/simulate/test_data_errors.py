"""Plain data errors: each is what it says, in as many rows as asked, and nothing else changes."""

import numpy as np
import pytest
import scipy.sparse as sp

from thresher.simulate import DATA_ERRORS, SpoiledTable, spoil

N, D = 200, 6
every_error = pytest.mark.parametrize("error", DATA_ERRORS)
in_place = pytest.mark.parametrize("error", [e for e in DATA_ERRORS if e != "repeated-rows"])


def make_table(sparse: bool = False):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D))
    X[:, 4] = np.where(X[:, 4] > 0.5, X[:, 4], 0.0)
    X[:, 5] = 0.0
    X[:2, 5] = 3.0  # too rare to be spoiled in six rows
    y = np.where(X[:, 0] > 0, "spam", "ham")
    return (sp.csr_array(X) if sparse else X), y


def dense(X):
    return X.toarray() if sp.issparse(X) else np.asarray(X)


def spoiled(error, *, sparse=False, **options) -> SpoiledTable:
    return spoil(*make_table(sparse), error=error, random_state=0, **options)


@in_place
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("fraction", "n_spoiled"), [(0.03, 6), (0.1, 20)])
def test_as_many_rows_as_asked_are_wrong_and_only_there(error, sparse, fraction, n_spoiled):
    X, y = make_table()
    table = spoiled(error, sparse=sparse, fraction=fraction)
    differs = dense(table.X) != X
    assert sp.issparse(table.X) is sparse
    assert np.array_equal(differs.any(axis=1), table.is_spoiled)
    assert table.is_spoiled.sum() == n_spoiled
    assert set(np.flatnonzero(differs.any(axis=0))) <= set(table.columns.tolist())
    assert np.array_equal(table.y, y) and np.array_equal(table.origins, np.arange(N))


@pytest.mark.parametrize("sparse", [False, True])
def test_a_wrong_unit_multiplies_one_column_by_a_thousand(sparse):
    table, (X, _) = spoiled("wrong-unit", sparse=sparse), make_table()
    (column,) = table.columns
    assert np.allclose(dense(table.X)[table.is_spoiled, column], 1000 * X[table.is_spoiled, column])


@pytest.mark.parametrize("sparse", [False, True])
def test_a_stuck_sensor_reads_the_same_in_consecutive_rows(sparse):
    table = spoiled("stuck-sensor", sparse=sparse)
    assert (dense(table.X)[table.is_spoiled][:, table.columns] == -999).all()
    assert np.ptp(np.flatnonzero(table.is_spoiled)) == 5


@pytest.mark.parametrize("sparse", [False, True])
def test_swapped_columns_are_each_others(sparse):
    table, (X, _) = spoiled("swapped-columns", sparse=sparse), make_table()
    first, second = table.columns
    there = np.flatnonzero(table.is_spoiled)
    assert np.array_equal(dense(table.X)[there][:, [first, second]], X[there][:, [second, first]])


@pytest.mark.parametrize("sparse", [False, True])
def test_shifted_cells_are_those_of_the_column_to_the_left(sparse):
    table, (X, _) = spoiled("shifted-cells", sparse=sparse), make_table()
    there, columns = np.flatnonzero(table.is_spoiled), table.columns
    assert np.array_equal(dense(table.X)[there][:, columns[1:]], X[there][:, columns[:-1]])
    assert (dense(table.X)[there, columns[0]] == 0).all()


@pytest.mark.parametrize("sparse", [False, True])
def test_repeated_rows_stand_twice_with_their_labels(sparse):
    table, (X, y) = spoiled("repeated-rows", sparse=sparse), make_table()
    assert np.array_equal(dense(table.X), X[table.origins])
    assert np.array_equal(table.y, y[table.origins])
    counts = np.bincount(table.origins, minlength=N)
    assert counts.min() == 1 and counts.sum() == N + 6
    assert np.array_equal(table.is_spoiled, counts[table.origins] == 2)


@every_error
def test_one_seed_gives_the_same_table_and_another_seed_another(error):
    X, y = make_table()
    first, again, other = (spoil(X, y, error=error, random_state=seed).X for seed in (3, 3, 4))
    assert np.array_equal(first, again)
    assert first.shape != other.shape or not np.array_equal(first, other)


@every_error
def test_what_was_handed_over_is_left_as_it_was(error):
    X, y = make_table()
    spoil(X, y, error=error, random_state=0)
    assert np.array_equal(X, make_table()[0])


@every_error
def test_a_frame_stays_one(error):
    pandas = pytest.importorskip("pandas")
    X, y = make_table()
    frame = pandas.DataFrame(X, columns=list("abcdef"))
    table = spoil(frame, pandas.Series(y), error=error, random_state=0)
    assert isinstance(table.X, pandas.DataFrame) and list(table.X.columns) == list("abcdef")
    assert np.array_equal(table.X, spoiled(error).X) and len(table.y) == len(table.X)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"error": "typo"}, ValueError, "error must be one of wrong-unit, .*got 'typo'"),
        ({"error": None}, ValueError, "error must be one of"),
        ({"fraction": 1.0}, ValueError, "fraction must be at least 0 and below 1"),
        ({"fraction": 0.001}, ValueError, "fraction must reach one of 200 rows, got 0.001"),
        ({"y": ["a"]}, ValueError, "y must hold one label for each of 200 rows, got 1"),
        ({"X": np.ones((N, 1))}, ValueError, "'swapped-columns' needs .* two columns, got one"),
        ({"X": np.full((N, 2), np.nan)}, ValueError, "X must be finite"),
        (
            {"X": np.ones((N, 2), dtype=np.uint8), "error": "stuck-sensor"},
            ValueError,
            "type of X has no room for the wrong values; convert X to floats",
        ),
    ],
)
def test_misuse_is_named(changes, error, message):
    X, y = make_table()
    arguments = {"X": X, "y": y, "error": "swapped-columns", "random_state": 0, **changes}
    with pytest.raises(error, match=message):
        spoil(**arguments)
