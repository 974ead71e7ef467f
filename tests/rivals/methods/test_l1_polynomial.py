"""L1 regression: it bears wrong labels, and rows of great leverage take it over."""

from __future__ import annotations

import numpy as np
import pytest

from rivals.methods.measured import by_name, error_of
from thresher.errors import LearningStopped
from thresher.rivals.methods.l1_polynomial import (
    METHODS,
    L1Polynomial,
    least_absolute_errors,
    monomials,
)
from thresher.simulate import LabelFlip, LinfHijack

NAMED = by_name(METHODS)


@pytest.mark.parametrize("name", NAMED)
def test_wrong_labels_are_borne(name: str) -> None:
    assert error_of(NAMED[name], LabelFlip(), noise_rate=0.1) < 0.06


@pytest.mark.parametrize("name", NAMED)
def test_planted_rows_of_great_leverage_take_it_over(name: str) -> None:
    assert error_of(NAMED[name], LinfHijack()) > 0.15


def test_no_other_coefficients_have_a_smaller_error() -> None:
    rng = np.random.default_rng(0)
    A, y = rng.standard_normal((60, 4)), rng.choice([-1.0, 1.0], size=60)
    found = least_absolute_errors(A, y)
    others = found + rng.standard_normal((500, 4)) * 10.0 ** rng.uniform(-4, 1, size=(500, 1))
    assert np.abs(y - others @ A.T).sum(axis=1).min() >= np.abs(y - A @ found).sum() - 1e-9


def test_coefficients_that_fit_exactly_are_found() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 3))
    truth = rng.standard_normal(10)
    y = monomials(X, 2) @ truth
    y[:20] += 5.0  # a fifth of the labels is wrong
    np.testing.assert_allclose(least_absolute_errors(monomials(X, 2), y), truth, atol=1e-8)


def test_a_program_that_is_not_solved_stops_the_method() -> None:
    with pytest.raises(LearningStopped, match="linear program"):
        least_absolute_errors(np.full((3, 1), 1e100), np.ones(3))


def test_degrees_beyond_two_are_refused() -> None:
    with pytest.raises(ValueError, match="degree must be 1 or 2, got 3"):
        L1Polynomial(degree=3)
