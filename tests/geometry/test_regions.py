"""The band of rows, the search region of halfspaces, and the lifted region of matrices."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from thresher.geometry import Band, LiftedRegion, SearchRegion, project_l1_l2

CENTER = np.array([0.6, -0.8, 0.0])
REGION = SearchRegion(center=CENTER, l2_radius=0.5, l1_radius=0.6)


def test_the_center_belongs_to_the_region() -> None:
    assert REGION.contains(CENTER)


def test_both_balls_bind() -> None:
    assert REGION.contains(CENTER + np.array([0.3, 0.3, 0.0]))
    assert not REGION.contains(CENTER + np.array([0.51, 0.0, 0.0]))  # outside the l2 ball only
    assert not REGION.contains(CENTER + np.array([0.31, 0.0, 0.31]))  # outside the l1 ball only


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"center": [np.nan]}, r"center\[0\] is nan"),
        ({"center": []}, "center is empty"),
        ({"l2_radius": 0.0}, "l2_radius must be greater than 0"),
        ({"l1_radius": -2.0}, "l1_radius must be greater than 0"),
    ],
)
def test_bad_input_is_named(changed: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SearchRegion(**{"center": CENTER, "l2_radius": 1.0, "l1_radius": 1.0, **changed})  # type: ignore[arg-type]


def test_a_point_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="point must have length 3, got 2"):
        REGION.contains([1.0, 2.0])


# The lifted region

LIFTED = LiftedRegion(l2_radius=1.0, l1_radius=1.5)
directions = arrays(np.float64, st.integers(1, 6), elements=st.floats(-1e3, 1e3))


def lifted(v: np.ndarray) -> np.ndarray:
    inside = project_l1_l2(v, l2_radius=1.0, l1_radius=1.5)
    return np.outer(inside, inside)


@given(v=directions)
def test_every_direction_of_both_balls_is_lifted_into_the_region(v: np.ndarray) -> None:
    assert LIFTED.contains(lifted(v))


def test_the_region_is_convex() -> None:
    rng = np.random.default_rng(0)
    members = [lifted(rng.standard_normal(5)) for _ in range(10)]
    assert LIFTED.contains(sum(rng.dirichlet(np.ones(10))[i] * members[i] for i in range(10)))


def test_a_trace_above_the_squared_l2_radius_is_outside() -> None:
    wide = LiftedRegion(l2_radius=1.0, l1_radius=10.0)
    assert wide.contains(np.eye(2) / 2)
    assert not wide.contains(np.eye(2) / 2 * (1 + 1e-6))


def test_an_l1_norm_above_the_squared_l1_radius_is_outside() -> None:
    assert LIFTED.contains(np.full((3, 3), 0.25))
    assert not LIFTED.contains(np.full((3, 3), 0.2501))


def test_an_indefinite_matrix_is_outside() -> None:
    assert not LIFTED.contains(np.array([[0.1, 0.2], [0.2, 0.1]]))
    assert not LIFTED.contains(-1e-6 * np.eye(2))


@pytest.mark.parametrize("name", ["l2_radius", "l1_radius"])
def test_a_radius_that_is_not_positive_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} must be greater than 0"):
        LiftedRegion(**{"l2_radius": 1.0, "l1_radius": 1.0, name: 0.0})


def test_bad_matrices_are_named() -> None:
    with pytest.raises(ValueError, match="lifted must be symmetric"):
        LIFTED.contains([[0.0, 1.0], [0.0, 0.0]])
    with pytest.raises(ValueError, match="lifted must be a square matrix"):
        LIFTED.contains([[1.0, 2.0]])


# The band

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
