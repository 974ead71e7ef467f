"""Any table of floats and any band give a draw that keeps its promises, or a typed error."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from thresher.geometry import Band
from thresher.oracles import ArrayPool, DrawRequest, StreamPool

ANY_TABLE = hnp.arrays(np.float64, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5))
SANE = st.floats(-1e3, 1e3)


@st.composite
def sane_worlds(draw):
    n_features = draw(st.integers(1, 4))
    table = draw(hnp.arrays(np.float64, (draw(st.integers(1, 30)), n_features), elements=SANE))
    normal = draw(hnp.arrays(np.float64, n_features, elements=st.floats(-1, 1)))
    request = DrawRequest(
        n_rows=draw(st.integers(1, 40)),
        band=Band(normal=normal, width=draw(st.floats(0.01, 1e3) | st.just(np.inf))),
        max_draws=draw(st.none() | st.integers(1, 40)),
    )
    return table, request


def assert_keeps_its_promises(draw, table, request):
    assert np.array_equal(draw.X, table[draw.ids])
    assert request.band.admits(table)[draw.ids].all()
    assert draw.n_rows <= min(request.n_rows, draw.n_drawn)
    assert draw.n_drawn <= min(request.max_draws or len(table), len(table))


@given(sane_worlds(), st.integers(0, 2**32))
def test_a_pool_keeps_its_promises(world, seed):
    table, request = world
    draw = ArrayPool(table, random_state=seed).draw(request)
    assert_keeps_its_promises(draw, table, request)
    if request.max_draws is None:
        assert draw.n_rows == min(request.n_rows, request.band.admits(table).sum())


@given(sane_worlds(), st.integers(1, 8))
def test_a_stream_keeps_its_promises_in_order(world, block_rows):
    table, request = world
    draw = StreamPool(iter(table), block_rows=block_rows).draw(request)
    assert_keeps_its_promises(draw, table, request)
    inside = np.flatnonzero(request.band.admits(table)[: request.max_draws])
    assert np.array_equal(draw.ids, inside[: request.n_rows])


@given(ANY_TABLE, st.floats(1e-300, 1e300))
def test_any_array_is_drawn_from_or_refused(table, width):
    try:
        pool = ArrayPool(table, random_state=0)
    except (TypeError, ValueError):
        assert table.ndim != 2 or table.size == 0 or not np.isfinite(table).all()
        return
    request = DrawRequest(n_rows=3, band=Band(normal=np.ones(pool.n_features), width=width))
    assert_keeps_its_promises(pool.draw(request), table, request)
