"""The paper's constants against values worked out by hand, and Gaussian ones against its lemmas."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from thresher.learning.constants import PaperConstants, smallest_band_factor

KAPPA = 1.1253517471925912e-07  # e⁻¹⁶
WORKED = PaperConstants(
    density_floor=0.36,
    least_angle_per_error=math.pi / 64,
    most_angle_per_error=math.pi,
    outside_factor=1.0,
    outside_decay=8.0,
    band_factor=16.0,
    variance_factor=4.0,
)
GAUSSIAN = PaperConstants.gaussian()


def g(t: float, c2: float, c3: float, c4: float) -> float:
    """The paper's g, written out term by term."""
    first, third = 2 * t * math.exp(-t), 16 * math.exp(-t)
    return c2 * (first + c3 * math.pi / 4 * math.exp(-c4 * t / (4 * math.pi)) + third)


def test_the_worked_example_has_the_hand_computed_constants() -> None:
    assert WORKED.loss_tolerance == pytest.approx(KAPPA, rel=1e-12)
    assert WORKED.max_band_width == 1.0
    assert WORKED.band_mass_factor == pytest.approx(0.08, rel=1e-12)


def test_the_nominal_outlier_fraction_is_c6() -> None:
    # 4/(c0·κ·c̄)·√(C2·c̄² + C2) = 4/(5.76·κ)·√1028; the 1 beside it is 1e-8 of it.
    c6 = KAPPA**2 / 16 * (1 + 4 / (5.76 * KAPPA) * math.sqrt(1028)) ** -2
    assert c6 == pytest.approx(2.021925e-32, rel=1e-6)
    assert WORKED.nominal_outlier_fraction == pytest.approx(c6, rel=1e-12)


def test_the_noise_per_error_is_c5() -> None:
    # c8/(2π)·c̄·c1·c6 = .08·16/(2·64)·c6
    expected = 0.01 * WORKED.nominal_outlier_fraction
    assert WORKED.noise_per_error == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("band_factor", "expected"), [(16.0, 0.72 / 9), (160.0, 0.72 / 90)])
def test_the_band_mass_falls_with_the_widest_band(band_factor: float, expected: float) -> None:
    constants = replace(WORKED, band_factor=band_factor)
    assert constants.band_mass_factor == pytest.approx(expected, rel=1e-12)


def test_the_band_mass_of_narrow_bands_is_twice_the_density_floor() -> None:
    # C1 = 1/16 < 1/9, so 2·c0/(9·C1) exceeds 2·c0. A small c2 admits such a small c̄.
    constants = replace(
        WORKED,
        least_angle_per_error=1e-4,
        most_angle_per_error=1e-4,
        outside_decay=26.0,
        band_factor=1.0,
    )
    assert constants.band_mass_factor == pytest.approx(0.72, rel=1e-12)


def test_the_band_mass_factor_never_promises_more_than_the_whole_mass() -> None:
    # 2·c0/(9·C1) = 20/(9·C1) exceeds 1/C1 here.
    constants = replace(WORKED, density_floor=10.0)
    assert constants.band_mass_factor * constants.max_band_width == pytest.approx(1.0)


@pytest.mark.parametrize("c3_c4", [(1.0, 1.0), (19.8, 5.75), (1.0, 8.0), (1e-9, 1.0), (5.0, 1e-3)])
def test_the_smallest_band_factor_is_admissible_and_nothing_below_it_is(
    c3_c4: tuple[float, float],
) -> None:
    c3, c4 = c3_c4
    t = smallest_band_factor(most_angle_per_error=math.pi, outside_factor=c3, outside_decay=c4)
    below = t * (1 - 1e-9)
    assert g(t, math.pi, c3, c4) <= math.pi / 256 * (1 + 1e-12)
    assert t >= 8 * math.pi / c4
    assert g(below, math.pi, c3, c4) > math.pi / 256 or below < 8 * math.pi / c4


def test_gaussian_constants_are_as_hopeless_as_known() -> None:
    assert GAUSSIAN.band_factor == pytest.approx(67, abs=0.5)
    assert GAUSSIAN.loss_tolerance == pytest.approx(1.1e-29, rel=0.05)
    assert GAUSSIAN.band_mass_factor == pytest.approx(0.021, abs=5e-4)
    assert GAUSSIAN.noise_per_error == pytest.approx(2e-120, rel=0.2)


def test_the_kindest_gaussian_choice_is_still_hopeless() -> None:
    t = smallest_band_factor(most_angle_per_error=math.pi, outside_factor=19.8, outside_decay=5.75)
    kindest = replace(GAUSSIAN, outside_factor=19.8, outside_decay=5.75, band_factor=t)
    assert t == pytest.approx(18, abs=0.5)
    assert kindest.noise_per_error == pytest.approx(4e-36, rel=0.2)


def test_the_gaussian_density_floor_holds_on_its_interval() -> None:
    assert GAUSSIAN.density_floor <= stats.norm.pdf(1 / 9)


@pytest.mark.parametrize("c3_c4", [(1.0, 1.0), (19.8, 5.75)])
@pytest.mark.parametrize("angle", [0.01, 0.1, 0.5, 1.0, 1.5])
def test_gaussian_error_outside_a_band_obeys_lemma_13(
    c3_c4: tuple[float, float], angle: float
) -> None:
    c3, c4 = c3_c4
    for width in 4 / c4 * angle * np.array([1.0, 1.5, 2.0, 4.0]):
        outside, _ = integrate.quad(
            lambda x: 2 * stats.norm.pdf(x) * stats.norm.sf(x / math.tan(angle)), width, width + 12
        )
        assert outside <= c3 * angle * math.exp(-c4 * width / (2 * angle))


@pytest.mark.parametrize("name", ["density_floor", "band_factor", "unlabeled_factor"])
@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, 1e-200, 1e200])
def test_a_constant_outside_its_range_is_refused_by_name(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=name):
        replace(WORKED, **{name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("band_factor", 3.0),  # 8π/c4 = π
        ("band_factor", 170.0),  # κ⁴ leaves the range of floats
        ("band_factor", 1e6),  # κ itself does
        ("variance_factor", 1.9),
        ("least_angle_per_error", 4.0),  # above c2
    ],
)
def test_a_constant_that_contradicts_the_others_is_refused_by_name(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=name):
        replace(WORKED, **{name: value})


@given(values=st.lists(st.floats(), min_size=7, max_size=7))
def test_any_floats_give_usable_constants_or_a_value_error(values: list[float]) -> None:
    names = list(vars(WORKED))[:7]
    try:
        constants = PaperConstants(**dict(zip(names, values)))
    except ValueError:
        return
    assert 0 < constants.nominal_outlier_fraction <= 0.5
    assert 0 < constants.band_mass_factor * constants.max_band_width <= 1 + 1e-12
