"""The lifted region: positive semidefinite, of bounded trace and l1 norm."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from thresher.geometry import LiftedRegion, project_l1_l2

REGION = LiftedRegion(l2_radius=1.0, l1_radius=1.5)
directions = arrays(np.float64, st.integers(1, 6), elements=st.floats(-1e3, 1e3))


@settings(max_examples=100, deadline=None)
@given(v=directions)
def test_every_direction_is_lifted_into_the_region(v: np.ndarray) -> None:
    assert REGION.contains(REGION.lift(v))


@settings(max_examples=100, deadline=None)
@given(v=directions)
def test_a_direction_of_both_balls_is_lifted_unscaled(v: np.ndarray) -> None:
    inside = 0.999 * project_l1_l2(v, l2_radius=1.0, l1_radius=1.5)
    np.testing.assert_array_equal(REGION.lift(inside), np.outer(inside, inside))


def test_the_region_is_convex() -> None:
    rng = np.random.default_rng(0)
    members = [REGION.lift(rng.standard_normal(5)) for _ in range(10)]
    assert REGION.contains(sum(rng.dirichlet(np.ones(10))[i] * members[i] for i in range(10)))


def test_a_trace_above_the_squared_l2_radius_is_outside() -> None:
    wide = LiftedRegion(l2_radius=1.0, l1_radius=10.0)
    assert wide.contains(np.eye(2) / 2)
    assert not wide.contains(np.eye(2) / 2 * (1 + 1e-6))


def test_an_l1_norm_above_the_squared_l1_radius_is_outside() -> None:
    assert REGION.contains(np.full((3, 3), 0.25))
    assert not REGION.contains(np.full((3, 3), 0.2501))


def test_an_indefinite_matrix_is_outside() -> None:
    assert not REGION.contains(np.array([[0.1, 0.2], [0.2, 0.1]]))
    assert not REGION.contains(-1e-6 * np.eye(2))


def test_scaling_leaves_a_member_as_it_is() -> None:
    member = np.eye(3) / 4
    np.testing.assert_array_equal(REGION.scale_into(member), member)


def test_scaling_brings_a_large_matrix_to_the_border() -> None:
    scaled = REGION.scale_into(np.full((3, 3), 100.0))
    assert REGION.contains(scaled)
    assert np.abs(scaled).sum() == pytest.approx(1.5**2)


@pytest.mark.parametrize("name", ["l2_radius", "l1_radius"])
def test_a_radius_that_is_not_positive_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} must be greater than 0"):
        LiftedRegion(**{"l2_radius": 1.0, "l1_radius": 1.0, name: 0.0})


def test_bad_matrices_are_named() -> None:
    with pytest.raises(ValueError, match="lifted must be symmetric"):
        REGION.contains([[0.0, 1.0], [0.0, 0.0]])
    with pytest.raises(ValueError, match="lifted must be a square matrix"):
        REGION.scale_into([[1.0, 2.0]])
    with pytest.raises(ValueError, match=r"direction\[0\] is nan"):
        REGION.lift([np.nan])
