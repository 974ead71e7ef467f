"""A finite pool hands out its rows uniformly, with stable ids and an honest count."""

import numpy as np
import pytest
import scipy.sparse as sp

from thresher.geometry import Band
from thresher.oracles import ArrayPool, DrawRequest, InstanceSource, pools

TABLE = np.random.default_rng(3).standard_normal((200, 4))
TABLE[np.abs(TABLE) < 0.3] = 0.0
EVERYTHING = Band(normal=np.zeros(4), width=np.inf)
NARROW = Band(normal=np.array([0.6, 0.0, -0.8, 0.0]), width=0.5)
INSIDE = np.flatnonzero(NARROW.admits(TABLE))


def _frame(table):
    return pytest.importorskip("pandas").DataFrame(table)


CONTAINERS = [np.array, np.asfortranarray, sp.csr_array, sp.csc_matrix, sp.coo_array, _frame, list]


@pytest.mark.parametrize("container", CONTAINERS)
def test_the_container_of_a_table_does_not_change_what_is_drawn(container):
    plain = ArrayPool(TABLE, random_state=7).draw(DrawRequest(n_rows=20, band=NARROW))
    draw = ArrayPool(container(TABLE), random_state=7).draw(DrawRequest(n_rows=20, band=NARROW))
    X = draw.X.toarray() if sp.issparse(draw.X) else draw.X
    assert np.array_equal(draw.ids, plain.ids)
    assert np.array_equal(X, TABLE[draw.ids])
    assert draw.n_drawn == plain.n_drawn


def test_a_sparse_table_is_handed_out_sparse():
    draw = ArrayPool(sp.csr_array(TABLE)).draw(DrawRequest(n_rows=3, band=EVERYTHING))
    assert sp.issparse(draw.X) and draw.X.format == "csr"


def test_a_pool_is_an_instance_source():
    assert isinstance(ArrayPool(TABLE), InstanceSource)


def test_every_row_in_the_band_is_found_when_all_are_wanted():
    draw = ArrayPool(TABLE, random_state=0).draw(DrawRequest(n_rows=200, band=NARROW))
    assert np.array_equal(np.sort(draw.ids), INSIDE)
    assert draw.n_drawn == 200


def test_wanting_exactly_what_is_there_stops_at_the_last_row_found():
    draw = ArrayPool(TABLE, random_state=0).draw(DrawRequest(n_rows=INSIDE.size, band=NARROW))
    assert draw.n_rows == INSIDE.size
    assert draw.n_drawn <= 200


def test_a_band_that_admits_everything_costs_one_draw_a_row():
    assert ArrayPool(TABLE).draw(DrawRequest(n_rows=17, band=EVERYTHING)).n_drawn == 17


def test_rejected_rows_are_counted_as_draws():
    # A request for one row scans until the first hit: a negative hypergeometric count of mean
    # (200 + 1)/(m + 1) and standard deviation below that mean. 400 requests, 5 standard errors:
    # a false alarm in less than one of a million seeds.
    pool = ArrayPool(TABLE, random_state=1)
    counts = [pool.draw(DrawRequest(n_rows=1, band=NARROW)).n_drawn for _ in range(400)]
    mean = 201 / (INSIDE.size + 1)
    assert abs(np.mean(counts) - mean) < 5 * mean / np.sqrt(400)


def test_rows_are_chosen_uniformly():
    # 2,000 requests of 5 of m rows: a row is chosen Binomial(2000, 5/m) times; 5.5 standard
    # deviations for each of m < 200 rows alarm falsely with probability below 1e-5.
    pool = ArrayPool(TABLE, random_state=2)
    ids = [pool.draw(DrawRequest(n_rows=5, band=NARROW)).ids for _ in range(2000)]
    counts = np.bincount(np.concatenate(ids), minlength=200)[INSIDE]
    p = 5 / INSIDE.size
    assert np.abs(counts - 2000 * p).max() < 5.5 * np.sqrt(2000 * p * (1 - p))


def test_max_draws_is_kept():
    draw = ArrayPool(TABLE, random_state=0).draw(DrawRequest(50, NARROW, max_draws=20))
    assert draw.n_drawn <= 20 and draw.n_rows < 20
    assert NARROW.admits(draw.X).all()


def test_a_band_without_rows_gives_an_empty_draw_that_scanned_everything():
    table = np.ones((6, 4))
    draw = ArrayPool(table).draw(DrawRequest(3, Band(normal=np.eye(4)[0], width=0.5)))
    assert (draw.n_rows, draw.n_drawn, draw.X.shape) == (0, 6, (0, 4))


def test_a_row_keeps_its_id_over_requests():
    pool = ArrayPool(TABLE, random_state=0)
    for _ in range(3):
        draw = pool.draw(DrawRequest(n_rows=30, band=NARROW))
        assert np.array_equal(draw.X, TABLE[draw.ids])


def test_one_seed_gives_one_sequence_of_draws():
    def sequence(seed):
        pool = ArrayPool(TABLE, random_state=seed)
        draws = [pool.draw(DrawRequest(n_rows=10, band=NARROW)) for _ in range(3)]
        return np.concatenate([draw.ids for draw in draws])

    assert np.array_equal(sequence(5), sequence(5))
    assert not np.array_equal(sequence(5), sequence(6))


def test_blocks_do_not_change_the_answer(monkeypatch):
    whole = ArrayPool(TABLE, random_state=4).draw(DrawRequest(n_rows=9, band=NARROW))
    monkeypatch.setattr(pools, "_BLOCK_ENTRIES", 7 * 4)
    blocked = ArrayPool(TABLE, random_state=4).draw(DrawRequest(n_rows=9, band=NARROW))
    assert np.array_equal(whole.ids, blocked.ids)


def test_changing_a_draw_does_not_change_the_pool():
    table = TABLE.copy()
    ArrayPool(table).draw(DrawRequest(n_rows=200, band=EVERYTHING)).X[:] = 9.0
    assert np.array_equal(table, TABLE)


@pytest.mark.parametrize(
    ("table", "error"),
    [
        (np.zeros((0, 3)), ValueError),
        (np.zeros(3), ValueError),
        ([[1.0, np.nan]], ValueError),
        ([["a", "b"]], TypeError),
        ([[1.0], [1.0, 2.0]], ValueError),
        (sp.csr_array(np.array([[np.inf, 0.0]])), ValueError),
    ],
)
def test_a_table_that_is_no_table_of_numbers_is_refused(table, error):
    with pytest.raises(error):
        ArrayPool(table)


def test_a_request_about_other_features_is_refused():
    with pytest.raises(ValueError, match="features"):
        ArrayPool(TABLE).draw(DrawRequest(1, Band(normal=np.zeros(5), width=1.0)))


def test_an_interrupted_draw_leaves_the_order_of_the_next_as_it_was(monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    disturbed, undisturbed = (ArrayPool(TABLE, random_state=0) for _ in range(2))
    with monkeypatch.context() as patch:
        patch.setattr(pools, "_is_inside", interrupt)
        with pytest.raises(KeyboardInterrupt):
            disturbed.draw(DrawRequest(n_rows=5, band=NARROW))
    assert np.array_equal(
        disturbed.draw(DrawRequest(n_rows=5, band=NARROW)).ids,
        undisturbed.draw(DrawRequest(n_rows=5, band=NARROW)).ids,
    )


def test_rows_can_be_taken_by_their_ids():
    pool = ArrayPool(TABLE, random_state=0)
    draw = pool.draw(DrawRequest(n_rows=5, band=NARROW))
    assert np.array_equal(pool.take(draw.ids), draw.X)


def test_a_pool_that_does_not_reuse_rows_draws_each_once_and_runs_dry() -> None:
    pool = ArrayPool(np.eye(10), random_state=0, reuse_rows=False)
    request = DrawRequest(n_rows=4, band=Band(normal=np.zeros(10), width=np.inf))
    draws = [pool.draw(request) for _ in range(4)]
    assert [draw.n_rows for draw in draws] == [4, 4, 2, 0]
    assert sorted(np.concatenate([draw.ids for draw in draws]).tolist()) == list(range(10))


def test_a_row_that_a_band_rejected_counts_as_drawn() -> None:
    pool = ArrayPool(np.diag(np.arange(10.0)), random_state=0, reuse_rows=False)
    narrow = Band(normal=np.ones(10), width=3.5)
    assert sorted(pool.draw(DrawRequest(n_rows=9, band=narrow)).ids.tolist()) == [0, 1, 2, 3]
    everything = Band(normal=np.zeros(10), width=np.inf)
    assert pool.draw(DrawRequest(n_rows=9, band=everything)).n_rows == 0
