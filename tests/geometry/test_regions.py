"""The search region, two balls around one center, and the lifted region of matrices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from thresher.geometry import LiftedRegion, SearchRegion, project_l1_l2

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
