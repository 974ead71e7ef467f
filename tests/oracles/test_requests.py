"""The records that cross the seam refuse what would break a learner later."""

import numpy as np
import pytest
import scipy.sparse as sp

from thresher.geometry import Band
from thresher.oracles import Draw, DrawRequest

EVERYTHING = Band(normal=np.zeros(3), width=np.inf)


@pytest.mark.parametrize(
    ("changes", "error", "named"),
    [
        ({"n_rows": 0}, ValueError, "n_rows"),
        ({"n_rows": 2.5}, TypeError, "n_rows"),
        ({"n_rows": True}, TypeError, "n_rows"),
        ({"band": "wide"}, TypeError, "band"),
        ({"phase": 0}, ValueError, "phase"),
        ({"max_draws": 0}, ValueError, "max_draws"),
        ({"max_abs_entry": -1.0}, ValueError, "max_abs_entry"),
        ({"max_abs_entry": np.nan}, ValueError, "max_abs_entry"),
    ],
)
def test_a_request_names_the_field_that_is_wrong(changes, error, named):
    with pytest.raises(error, match=named):
        DrawRequest(**{"n_rows": 5, "band": EVERYTHING, **changes})


def test_a_request_for_rows_of_another_length_is_refused_by_name():
    with pytest.raises(ValueError, match="3 features, but the source has 4"):
        DrawRequest(n_rows=1, band=EVERYTHING).require_features(4)


def test_a_draw_may_be_empty_when_its_source_is():
    draw = Draw(ids=[], X=np.zeros((0, 3)), n_drawn=7)
    assert (draw.n_rows, draw.ids.dtype, draw.X.shape) == (0, np.int64, (0, 3))


def test_a_sparse_draw_stays_sparse():
    assert sp.issparse(Draw(ids=[1, 2], X=sp.csr_array(np.eye(2)), n_drawn=2).X)


@pytest.mark.parametrize(
    ("ids", "X", "n_drawn", "error"),
    [
        ([0], np.eye(2), 2, ValueError),
        ([0, 0], np.eye(2), 2, ValueError),
        ([0, 1], np.eye(2), 1, ValueError),
        ([0.0, 1.0], np.eye(2), 2, TypeError),
        (["a", "b"], np.eye(2), 2, TypeError),
        ([[0, 1]], np.eye(2), 2, ValueError),
        ([0, 1], np.full((2, 2), np.nan), 2, ValueError),
        ([0, 1], np.zeros(2), 2, ValueError),
    ],
)
def test_a_draw_that_contradicts_itself_is_refused(ids, X, n_drawn, error):
    with pytest.raises(error):
        Draw(ids=ids, X=X, n_drawn=n_drawn)
