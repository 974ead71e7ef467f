"""The band: which rows it admits."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from thresher.geometry import Band

ROWS = np.random.default_rng(0).standard_normal((50, 4))
NORMAL = np.array([0.5, -0.5, 0.5, 0.5])


def test_a_row_is_admitted_when_its_projection_is_at_most_the_width() -> None:
    admitted = Band(NORMAL, 0.4).admits(ROWS)
    np.testing.assert_array_equal(admitted, np.abs(ROWS @ NORMAL) <= 0.4)
    assert 0 < admitted.sum() < 50


def test_a_row_on_the_edge_is_admitted() -> None:
    assert Band(np.array([1.0, 0.0]), 0.5).admits([[0.5, 3.0], [-0.5, 3.0]]).all()


def test_a_zero_normal_admits_every_row() -> None:
    assert Band(np.zeros(4), 1e-9).admits(ROWS).all()


def test_an_infinite_width_admits_every_row() -> None:
    assert Band(NORMAL, np.inf).admits(ROWS * 1e300).all()


def test_negating_the_normal_changes_nothing() -> None:
    np.testing.assert_array_equal(Band(NORMAL, 0.4).admits(ROWS), Band(-NORMAL, 0.4).admits(ROWS))


def test_a_wider_band_admits_no_fewer_rows() -> None:
    narrow, wide = Band(NORMAL, 0.2).admits(ROWS), Band(NORMAL, 0.6).admits(ROWS)
    assert (wide | ~narrow).all()


def test_sparse_rows_are_admitted_like_dense_ones() -> None:
    band = Band(NORMAL, 0.4)
    np.testing.assert_array_equal(band.admits(sp.csr_array(ROWS)), band.admits(ROWS))


@pytest.mark.parametrize("width", [0.0, -1.0, np.nan])
def test_a_width_that_is_not_positive_is_refused(width: float) -> None:
    with pytest.raises(ValueError, match="width must be greater than 0"):
        Band(NORMAL, width)


def test_a_normal_of_no_numbers_is_refused() -> None:
    with pytest.raises(ValueError, match=r"normal\[1\] is nan"):
        Band(np.array([0.0, np.nan]), 1.0)


def test_rows_of_another_width_are_refused() -> None:
    with pytest.raises(ValueError, match="rows must have 4 features like the normal, got 3"):
        Band(NORMAL, 1.0).admits(ROWS[:, :3])


def test_rows_of_no_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match=r"rows\[0, 2\] is inf"):
        Band(NORMAL, 1.0).admits([[0.0, 0.0, np.inf, 0.0]])
