"""The search region: two balls around one center."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from thresher.geometry import SearchRegion, project_l1_l2

CENTER = np.array([0.6, -0.8, 0.0])
REGION = SearchRegion(center=CENTER, l2_radius=0.5, l1_radius=0.6)
points = arrays(np.float64, 3, elements=st.floats(-10, 10))


def test_the_center_belongs_to_the_region() -> None:
    assert REGION.contains(CENTER)


def test_both_balls_bind() -> None:
    assert REGION.contains(CENTER + np.array([0.3, 0.3, 0.0]))
    assert not REGION.contains(CENTER + np.array([0.51, 0.0, 0.0]))  # outside the l2 ball only
    assert not REGION.contains(CENTER + np.array([0.31, 0.0, 0.31]))  # outside the l1 ball only


@settings(max_examples=100, deadline=None)
@given(point=points)
def test_a_projection_belongs_to_the_region(point: np.ndarray) -> None:
    assert REGION.contains(REGION.project(point))


@settings(max_examples=100, deadline=None)
@given(point=points, seed=st.integers(0, 99))
def test_no_other_point_of_the_region_is_closer(point: np.ndarray, seed: int) -> None:
    closest = np.linalg.norm(point - REGION.project(point))
    other = REGION.project(np.random.default_rng(seed).standard_normal(3) * 3)
    assert closest <= np.linalg.norm(point - other) + 1e-9


def test_around_the_origin_it_is_the_projection_on_both_balls() -> None:
    v = np.array([3.0, 1.0, -2.0])
    region = SearchRegion(center=np.zeros(3), l2_radius=1.0, l1_radius=1.4)
    np.testing.assert_array_equal(region.project(v), project_l1_l2(v, l2_radius=1.0, l1_radius=1.4))


def test_moving_center_and_point_together_moves_the_projection() -> None:
    shift, point = np.array([1.0, 2.0, 4.0]), np.array([3.0, 1.0, -2.0])
    moved = SearchRegion(center=CENTER + shift, l2_radius=0.5, l1_radius=0.6)
    np.testing.assert_allclose(
        moved.project(point + shift), REGION.project(point) + shift, atol=1e-14
    )


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


@pytest.mark.parametrize("method", ["contains", "project"])
def test_a_point_of_another_length_is_refused(method: str) -> None:
    with pytest.raises(ValueError, match="point must have length 3, got 2"):
        getattr(REGION, method)([1.0, 2.0])
