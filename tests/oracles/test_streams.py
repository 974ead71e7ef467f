"""A stream is read once, in order, and only as far as a request needs."""

import numpy as np
import pytest
import scipy.sparse as sp

from thresher.geometry import Band
from thresher.oracles import DrawRequest, InstanceSource, StreamPool

TABLE = np.random.default_rng(5).standard_normal((300, 3))
EVERYTHING = Band(normal=np.zeros(3), width=np.inf)
NARROW = Band(normal=np.array([1.0, 0.0, 0.0]), width=0.4)
INSIDE = np.flatnonzero(NARROW.admits(TABLE))


def _blocks(table, size):
    return (table[i : i + size] for i in range(0, len(table), size))


STREAMS = {
    "rows": lambda: iter(TABLE),
    "lists": lambda: iter(TABLE.tolist()),
    "blocks": lambda: _blocks(TABLE, 37),
    "one block": lambda: [TABLE],
    "sparse blocks": lambda: (sp.csr_array(block) for block in _blocks(TABLE, 37)),
    "mixed": lambda: iter([TABLE[0], TABLE[1:50], sp.csr_array(TABLE[50:90]), *TABLE[90:]]),
}


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("block_rows", [1, 10, 4096])
def test_a_stream_gives_the_rows_in_the_band_in_order(name, block_rows):
    stream = StreamPool(STREAMS[name](), block_rows=block_rows)
    first = stream.draw(DrawRequest(n_rows=20, band=NARROW))
    second = stream.draw(DrawRequest(n_rows=30, band=NARROW))
    ids = np.concatenate([first.ids, second.ids])
    X = [draw.X.toarray() if sp.issparse(draw.X) else draw.X for draw in (first, second)]
    assert np.array_equal(ids, INSIDE[:50])
    assert np.array_equal(np.concatenate(X), TABLE[ids])
    assert first.n_drawn == INSIDE[19] + 1
    assert first.n_drawn + second.n_drawn == stream.n_draws == INSIDE[49] + 1


def test_a_stream_ends_gracefully_and_stays_ended():
    stream = StreamPool(iter(TABLE))
    everything = stream.draw(DrawRequest(n_rows=1000, band=NARROW))
    assert (everything.n_rows, everything.n_drawn) == (INSIDE.size, 300)
    nothing = stream.draw(DrawRequest(n_rows=5, band=NARROW))
    assert (nothing.n_rows, nothing.n_drawn, nothing.X.shape) == (0, 0, (0, 3))


def test_single_rows_are_never_read_ahead():
    n_read = 0

    def rows():
        nonlocal n_read
        for row in TABLE:
            n_read += 1
            yield row

    stream = StreamPool(rows(), n_features=3)
    assert n_read == 0
    draw = stream.draw(DrawRequest(n_rows=12, band=NARROW))
    assert n_read == draw.n_drawn


def test_max_draws_is_kept_and_the_rest_comes_later():
    stream = StreamPool([TABLE])
    first = stream.draw(DrawRequest(n_rows=100, band=NARROW, max_draws=50))
    assert first.n_drawn == 50
    second = stream.draw(DrawRequest(n_rows=1000, band=NARROW))
    assert np.array_equal(np.concatenate([first.ids, second.ids]), INSIDE)


def test_a_band_may_change_between_requests():
    stream = StreamPool(iter(TABLE))
    stream.draw(DrawRequest(n_rows=10, band=EVERYTHING))
    draw = stream.draw(DrawRequest(n_rows=10, band=NARROW))
    assert np.array_equal(draw.ids, INSIDE[INSIDE >= 10][:10])


def test_a_stream_is_an_instance_source():
    assert isinstance(StreamPool(iter(TABLE)), InstanceSource)


def test_an_empty_stream_needs_to_be_told_its_length():
    with pytest.raises(ValueError, match="n_features"):
        StreamPool(iter([]))
    assert StreamPool([], n_features=3).draw(DrawRequest(2, EVERYTHING)).n_rows == 0


@pytest.mark.parametrize(
    ("bad", "named"),
    [([1.0, np.nan, 0.0], "item 3"), ([1.0, 2.0], "item 3"), (np.zeros((1, 1, 3)), "item 3")],
)
def test_a_bad_item_is_named_by_its_position(bad, named):
    stream = StreamPool([*TABLE[:3], bad])
    with pytest.raises(ValueError, match=named):
        stream.draw(DrawRequest(n_rows=4, band=EVERYTHING))


def test_a_bad_item_does_not_swallow_the_good_ones_before_it():
    stream = StreamPool([*TABLE[:3], [np.nan] * 3, *TABLE[3:6]], n_features=3)
    with pytest.raises(ValueError, match="item 3"):
        stream.draw(DrawRequest(n_rows=6, band=EVERYTHING))
    draw = stream.draw(DrawRequest(n_rows=6, band=EVERYTHING))
    assert np.array_equal(draw.X, TABLE[:6]) and np.array_equal(draw.ids, np.arange(6))


@pytest.mark.parametrize("bad", [5, None, 3.5])
def test_what_cannot_be_iterated_is_refused(bad):
    with pytest.raises(TypeError, match="iterable"):
        StreamPool(bad)


def test_a_stream_of_numbers_is_refused():
    with pytest.raises(ValueError, match="item 0"):
        StreamPool([1.0, 2.0])


def test_a_stream_of_words_is_refused():
    with pytest.raises(TypeError, match="item 0"):
        StreamPool([["a", "b"]])


def test_ids_begin_where_they_are_told_to():
    stream = StreamPool([[0.0, 1.0], [2.0, 3.0]], first_id=7)
    draw = stream.draw(DrawRequest(n_rows=5, band=Band(normal=np.zeros(2), width=np.inf)))
    assert draw.ids.tolist() == [7, 8] and stream.n_draws == 2


def test_a_first_id_must_not_be_negative():
    with pytest.raises(ValueError, match="first_id"):
        StreamPool([[0.0]], first_id=-1)
