"""The l1-l2 ball: optimality conditions first, then limits, corners and a cone solver."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from thresher.geometry import project_l1_l2, support_l1_l2
from thresher.geometry.balls import project_onto_unit_region

Radii = dict[str, float]

# Repeated values make ties, and ties at the largest entry are the corner of both formulas.
ordinary = st.floats(-1e3, 1e3).map(lambda x: x if abs(x) > 1e-9 else 0.0)
entries = ordinary | st.sampled_from([0.0, 1.0, -1.0, 2.0])
vectors = arrays(np.float64, st.integers(1, 12), elements=entries)
ratios = st.floats(0.1, 5) | st.sampled_from([0.5, 1.0, 2.0**0.5, 3.0**0.5, 2.0, 3.0])
sizes = st.sampled_from([2.0**-15, 0.3, 1.0, 7.0])
radii = st.builds(lambda r, ratio: {"l2_radius": r, "l1_radius": r * ratio}, sizes, ratios)


def is_inside(point: np.ndarray, radii: Radii) -> bool:
    """Whether a point lies in both balls, up to rounding."""
    return bool(
        np.linalg.norm(point) <= radii["l2_radius"] * (1 + 1e-12)
        and np.abs(point).sum() <= radii["l1_radius"] * (1 + 1e-12)
    )


def least_upper_bound(g: np.ndarray, radii: Radii) -> float:
    """The least of r‖S_t(g)‖₂ + ρt over many levels t, each of which bounds the support function.

    The function is convex in t and has its kinks at the entries, so each stretch between two
    entries is searched by golden section.
    """

    def bound(level: float) -> float:
        rest = np.maximum(np.abs(g) - level, 0)
        return radii["l2_radius"] * float(np.linalg.norm(rest)) + radii["l1_radius"] * level

    kinks = np.unique(np.append(np.abs(g), 0.0))
    best = min(bound(float(level)) for level in kinks)
    for low, high in pairwise(kinks):
        for _ in range(80):
            left, right = low + 0.382 * (high - low), low + 0.618 * (high - low)
            low, high = (low, right) if bound(left) <= bound(right) else (left, high)
        best = min(best, bound((low + high) / 2))
    return best


def test_being_inside_fails_for_points_just_outside() -> None:
    unit = {"l2_radius": 1.0, "l1_radius": 1.2}
    assert is_inside(np.array([0.6, 0.6]), unit)
    assert not is_inside(np.array([0.6, 0.6 + 1e-9]), unit)
    assert not is_inside(np.array([1.0 + 1e-9, 0.0]), unit)


# -- support function ------------------------------------------------------------------------


@given(g=vectors, radii=radii)
def test_the_support_point_lies_in_both_balls_and_attains_the_value(
    g: np.ndarray, radii: Radii
) -> None:
    value, point = support_l1_l2(g, **radii)
    assert is_inside(point, radii)
    assert value == pytest.approx(g @ point, rel=1e-12)


@given(g=vectors, radii=radii)
def test_the_support_value_is_its_least_upper_bound(g: np.ndarray, radii: Radii) -> None:
    value, _ = support_l1_l2(g, **radii)
    bound = least_upper_bound(g, radii)
    assert value <= bound * (1 + 1e-12)
    assert value >= bound * (1 - 1e-9)


def test_entries_tied_at_the_maximum_share_the_l1_radius() -> None:
    value, point = support_l1_l2([2.0, -2.0, 1.0], l2_radius=1.0, l1_radius=1.0)
    assert value == pytest.approx(2.0, rel=1e-15)
    assert np.abs(point).sum() <= 1.0


@pytest.mark.parametrize("power", range(20, 54))
def test_near_ties_do_not_understate_the_value(power: int) -> None:
    g = 1000 * np.array([1.0, 1 - 2.0**-power])
    value, _ = support_l1_l2(g, l2_radius=1.0, l1_radius=1.5)  # the l1 ball does not matter
    assert value == pytest.approx(float(np.linalg.norm(g)), rel=1e-12)


@pytest.mark.parametrize("rest", [0.1, 0.5, 0.99])
def test_a_level_below_the_entries_that_are_sorted_first_is_found(rest: float) -> None:
    # A thousand tied entries lie at the end of the hundred that are sorted first.
    g = np.r_[1.0, np.full(1000, rest)]
    value, _ = support_l1_l2(g, l2_radius=1.0, l1_radius=3.0)
    levels = np.linspace(0, 1, 20_001)
    bounds = [np.linalg.norm(np.maximum(g - t, 0)) + 3.0 * t for t in levels]
    assert value <= min(bounds) + 1e-9
    assert value == pytest.approx(min(bounds), rel=1e-4)


def test_ties_do_not_overstate_the_value() -> None:
    value, point = support_l1_l2(np.ones(4), l2_radius=1.0, l1_radius=1.5)
    assert value == pytest.approx(1.5, rel=1e-15)  # scaling to l2 norm 1 would give 2
    assert is_inside(point, {"l2_radius": 1.0, "l1_radius": 1.5})


def test_an_l1_radius_below_the_l2_radius_leaves_only_the_largest_entry() -> None:
    value, point = support_l1_l2([1.0, -5.0, 3.0], l2_radius=1.0, l1_radius=0.5)
    assert value == 2.5
    np.testing.assert_array_equal(point, [0.0, -0.5, 0.0])


def test_a_wide_l1_ball_leaves_the_l2_norm() -> None:
    g = np.array([3.0, -4.0])
    value, point = support_l1_l2(g, l2_radius=2.0, l1_radius=100.0)
    assert value == pytest.approx(10.0, rel=1e-15)
    np.testing.assert_allclose(point, [1.2, -1.6], rtol=1e-15)


def test_a_zero_vector_has_a_support_of_zero() -> None:
    value, point = support_l1_l2(np.zeros(3), l2_radius=1.0, l1_radius=1.5)
    assert value == 0
    assert is_inside(point, {"l2_radius": 1.0, "l1_radius": 1.5})


@given(
    batch=arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=8), elements=entries),
    radii=radii,
)
def test_a_batch_equals_its_single_vectors(batch: np.ndarray, radii: Radii) -> None:
    values, points = support_l1_l2(batch, **radii)
    singles = [support_l1_l2(row, **radii) for row in batch]
    np.testing.assert_allclose(values, [value for value, _ in singles], rtol=1e-14, atol=0)
    np.testing.assert_array_equal(points, [point for _, point in singles])


@given(g=vectors, radii=radii, power=st.integers(-30, 30))
def test_scaling_the_vector_scales_the_support(g: np.ndarray, radii: Radii, power: int) -> None:
    value, point = support_l1_l2(g, **radii)
    scaled_value, scaled_point = support_l1_l2(g * 2.0**power, **radii)
    assert scaled_value == value * 2.0**power
    np.testing.assert_array_equal(scaled_point, point)


@given(g=vectors, radii=radii, seed=st.integers(0, 99))
def test_permuting_and_negating_entries_leaves_the_support(
    g: np.ndarray, radii: Radii, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    order, signs = rng.permutation(g.size), rng.choice([-1.0, 1.0], g.size)
    value, _ = support_l1_l2(g, **radii)
    changed, _ = support_l1_l2((g * signs)[order], **radii)
    assert changed == pytest.approx(value, rel=1e-12)


# -- projection ------------------------------------------------------------------------------


def violation(v: np.ndarray, point: np.ndarray, radii: Radii) -> float:
    """By how much (v − p)·(z − p) ≤ 0 fails for the worst z of both balls; zero at the projection.

    The worst z is the support point of v − p.
    """
    value, _ = support_l1_l2(v - point, **radii)
    return float(value) - float((v - point) @ point)


@given(v=vectors, radii=radii)
def test_the_projection_satisfies_its_variational_inequality(v: np.ndarray, radii: Radii) -> None:
    point = project_l1_l2(v, **radii)
    assert is_inside(point, radii)
    scale = np.abs(v).max() * radii["l1_radius"]
    assert violation(v, point, radii) <= 1e-9 * max(scale, radii["l1_radius"] ** 2)


def test_the_variational_inequality_notices_a_point_that_is_not_the_closest() -> None:
    unit = {"l2_radius": 1.0, "l1_radius": 1.2}
    v = np.array([3.0, 2.0, 1.0])
    closest = project_l1_l2(v, **unit)
    assert violation(v, closest, unit) <= 1e-12
    assert violation(v, 0.999 * closest, unit) > 1e-4
    assert violation(v, v * (1.2 / 6.0), unit) > 1e-2


@pytest.mark.parametrize("seed", range(12))
def test_the_projection_is_that_of_a_cone_solver(seed: int) -> None:
    rng = np.random.default_rng(seed)
    v = rng.standard_normal(int(rng.integers(1, 15))) * 3
    r, rho = 1.0, float(rng.choice([0.5, 1.0, 1.5, 2.5]))
    z = cp.Variable(v.size)
    cp.Problem(
        cp.Minimize(cp.sum_squares(z - v)), [cp.norm(z, 2) <= r, cp.norm(z, 1) <= rho]
    ).solve(solver="CLARABEL")
    np.testing.assert_allclose(project_l1_l2(v, l2_radius=r, l1_radius=rho), z.value, atol=2e-4)


@given(v=vectors, radii=radii)
def test_projecting_twice_changes_nothing(v: np.ndarray, radii: Radii) -> None:
    once = project_l1_l2(v, **radii)
    np.testing.assert_allclose(
        project_l1_l2(once, **radii), once, rtol=1e-9, atol=1e-12 * radii["l2_radius"]
    )


@given(v=vectors, radii=radii)
def test_a_point_of_the_region_is_its_own_projection(v: np.ndarray, radii: Radii) -> None:
    size = max(np.linalg.norm(v) / radii["l2_radius"], np.abs(v).sum() / radii["l1_radius"])
    inside = v / max(size, 1.0) * (1 - 1e-9)
    np.testing.assert_array_equal(project_l1_l2(inside, **radii), inside)


@pytest.mark.parametrize("count", [2, 3, 5])
def test_tied_entries_stay_tied(count: int) -> None:
    point = project_l1_l2(np.full(count, 9.0), l2_radius=1.0, l1_radius=1.2)
    np.testing.assert_allclose(point, min(1.2 / count, 1 / np.sqrt(count)), rtol=1e-12)


def test_a_narrow_l1_ball_leaves_the_l1_projection() -> None:
    point = project_l1_l2([3.0, -2.5, 1.0], l2_radius=100.0, l1_radius=1.0)
    np.testing.assert_allclose(point, [0.75, -0.25, 0.0], rtol=1e-15)


def test_a_batch_of_projections_equals_single_ones() -> None:
    batch = np.random.default_rng(0).standard_normal((6, 9)) * 2
    radii = {"l2_radius": 1.0, "l1_radius": 1.7}
    singles = [project_l1_l2(row, **radii) for row in batch]
    np.testing.assert_array_equal(project_l1_l2(batch, **radii), singles)


def test_the_input_is_left_as_it_was() -> None:
    v = np.array([3.0, 4.0])
    for inside in (v, v / 100):
        before = inside.copy()
        project_l1_l2(inside, l2_radius=1.0, l1_radius=1.2)[0] = 7.0
        support_l1_l2(inside, l2_radius=1.0, l1_radius=1.2)
        np.testing.assert_array_equal(inside, before)


# -- hostile input ---------------------------------------------------------------------------

any_floats = st.floats(allow_nan=True, allow_infinity=True, width=64)


@given(
    v=arrays(np.float64, array_shapes(min_dims=0, max_dims=3, min_side=0), elements=any_floats)
    | arrays(np.float64, st.integers(1, 6), elements=st.floats(-1.7e308, 1.7e308)),
    l2_radius=any_floats | sizes,
    l1_radius=any_floats | sizes,
)
def test_hostile_input_gives_a_typed_error_or_a_point_of_the_region(
    v: np.ndarray, l2_radius: float, l1_radius: float
) -> None:
    radii: dict[str, Any] = {"l2_radius": l2_radius, "l1_radius": l1_radius}
    try:
        points = [project_l1_l2(v, **radii), support_l1_l2(v, **radii)[1]]
    except ValueError:
        return
    for batch in points:
        assert np.isfinite(batch).all()
        assert all(is_inside(point, radii) for point in np.atleast_2d(batch))


@pytest.mark.parametrize("size", [1e-300, 1e-160, 1e160, 1e300])
def test_vectors_of_any_size_have_a_support_and_a_projection(size: float) -> None:
    v = np.array([3.0, -2.0, 1.0, 1.0]) * size
    radii = {"l2_radius": 1.0, "l1_radius": 1.5}
    value, point = support_l1_l2(v, **radii)
    expected, _ = support_l1_l2(v / size, **radii)
    assert value == pytest.approx(expected * size, rel=1e-12)
    assert is_inside(point, radii)
    projected = project_l1_l2(v, **radii)
    assert is_inside(projected, radii)
    if size > 1:
        np.testing.assert_allclose(projected, point, atol=1e-9)
    else:
        np.testing.assert_array_equal(projected, v)


@pytest.mark.parametrize("function", [project_l1_l2, support_l1_l2])
@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"l2_radius": 0.0}, ValueError, "l2_radius must be greater than 0"),
        ({"l1_radius": -1.0}, ValueError, "l1_radius must be greater than 0"),
        ({"l1_radius": 1e-200}, ValueError, "l1_radius must lie between"),
        ({"l1_radius": "1"}, TypeError, "l1_radius must be a number"),
    ],
)
def test_bad_radii_are_named(function: Any, changed: Any, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        function([1.0, 2.0], **{"l2_radius": 1.0, "l1_radius": 1.0, **changed})


@pytest.mark.parametrize("function", [project_l1_l2, support_l1_l2])
@pytest.mark.parametrize(
    ("v", "error", "message"),
    [
        ([1.0, np.nan], ValueError, r"\[1\] is nan"),
        ([[1.0], [np.inf]], ValueError, r"\[1, 0\] is inf"),
        ([], ValueError, "is empty"),
        (np.zeros((2, 2, 2)), ValueError, "one or two dimensions"),
        (["a"], TypeError, "must hold real numbers"),
    ],
)
def test_bad_vectors_are_named(function: Any, v: object, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        function(v, l2_radius=1.0, l1_radius=1.0)


@pytest.mark.parametrize("l1_radius", [1 / 3, 1.0, 1.3, 1.6])
@pytest.mark.parametrize("v", [[-6.12e15, 0.0], [6e15, 6e15 - 1, 3.0], [1e150, 1e149, 1e150]])
def test_the_lean_projection_bears_very_long_vectors(v: list[float], l1_radius: float) -> None:
    vector = np.array(v)
    careful = project_l1_l2(vector, l2_radius=1.0, l1_radius=l1_radius)
    np.testing.assert_allclose(project_onto_unit_region(vector, l1_radius), careful, atol=1e-9)
