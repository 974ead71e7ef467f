"""The checkers on a device accept what the checker of the host accepts, and refuse forgeries."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from elsewhere import LIBRARIES, put
from thresher import certificates, remove_outliers
from thresher.arrays import DeviceRows, namespace_of, on_host
from thresher.device_certificates import (
    proves_hinge_bound,
    proves_lower_bound,
    proves_optimum,
    proves_upper_bound,
)

library = pytest.mark.parametrize("library", LIBRARIES)
UNIT = {"l2_radius": 1.0, "l1_radius": 1.5}


def some_gram(d: int = 12) -> np.ndarray:
    rows = np.random.default_rng(1).standard_normal((40, d))
    return rows.T @ rows / 40


@library
@pytest.mark.parametrize("level", [0.0, 0.2, 10.0])
def test_an_upper_bound_is_accepted_as_on_the_host(library: str, level: float) -> None:
    gram = some_gram()
    multiplier = np.clip(gram, -level, level)
    top = max(np.linalg.eigvalsh(gram - multiplier)[-1], 0.0)
    exact = top + 1.5**2 * np.abs(multiplier).max()
    arrays = put(library, gram), put(library, multiplier)
    for share, holds in ((1 + 1e-9, True), (1 - 1e-9, False), (np.inf, True), (0.5, False)):
        assert proves_upper_bound(exact * share, *arrays, **UNIT) is holds
        assert certificates.proves_upper_bound(exact * share, gram, multiplier, **UNIT) is holds
    error = 1e-3
    assert not proves_upper_bound(exact * (1 + 1e-9), *arrays, gram_error=error, **UNIT)
    assert proves_upper_bound(exact * (1 + 1e-9) + 2.25 * error, *arrays, gram_error=error, **UNIT)


@library
def test_what_is_no_symmetric_matrix_proves_no_upper_bound(library: str) -> None:
    gram = some_gram()
    good = put(library, np.zeros_like(gram))
    assert proves_upper_bound(1e3, put(library, gram), good, **UNIT)
    assert not proves_upper_bound(1e3, put(library, np.triu(gram)), good, **UNIT)
    assert not proves_upper_bound(1e3, put(library, gram), put(library, np.triu(gram)), **UNIT)
    assert not proves_upper_bound(1e3, put(library, gram), good[:5, :5], **UNIT)
    assert not proves_upper_bound(1e3, put(library, gram * np.nan), good, **UNIT)
    assert not proves_upper_bound(np.nan, put(library, gram), good, **UNIT)
    assert not proves_upper_bound(1e3, put(library, gram), good, rest=1.0, **UNIT)


def test_a_factor_that_the_library_made_up_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Libraries for GPUs may return something, and say nothing, where Cholesky fails."""
    gram = put("array_api_strict", some_gram())
    xp = namespace_of(gram)
    monkeypatch.setattr(
        xp.linalg, "cholesky", lambda matrix: 0 * matrix + xp.eye(12, device=matrix.device)
    )
    assert not proves_upper_bound(100.0, gram, 0 * gram, **UNIT)


@library
def test_a_lower_bound_is_accepted_as_on_the_host(library: str) -> None:
    gram, v = some_gram(), np.zeros(12)
    v[:2] = 0.6
    given = put(library, gram)
    for witness in (v, np.outer(v, v)):
        exact = v @ gram @ v
        for share, holds in ((1 - 1e-6, True), (1 + 1e-6, False), (0.0, True)):
            claim = exact * share
            assert proves_lower_bound(claim, given, put(library, witness), **UNIT) is holds
            assert certificates.proves_lower_bound(claim, gram, witness, **UNIT) is holds
    far = put(library, 100 * v)  # is scaled into the region first
    assert not proves_lower_bound(2 * exact, given, far, **UNIT)
    assert not proves_lower_bound(0.1, given, put(library, -np.eye(12)), **UNIT)
    assert not proves_lower_bound(0.1, given, put(library, np.triu(np.ones((12, 12)))), **UNIT)


@library
def test_an_optimum_is_accepted_as_on_the_host(library: str) -> None:
    rows = np.random.default_rng(2).standard_normal((50, 12))
    factor = np.zeros((12, 2))
    factor[0, 0] = factor[1, 1] = 0.5
    budget = {"outlier_fraction": 0.13, **UNIT}
    scores = np.sort(((rows @ factor) ** 2).sum(axis=1))
    exact = (scores[:43].sum() + 0.5 * scores[43]) / 50
    given = put(library, rows), put(library, factor)
    for share, holds in ((1 - 1e-9, True), (1 + 1e-9, False), (0.0, True)):
        assert proves_optimum(exact * share, *given, **budget) is holds
        assert certificates.proves_optimum(exact * share, rows, factor, **budget) is holds
    assert not proves_optimum(exact, given[0], put(library, 0 * factor), **budget)


@library
def test_rows_whose_squares_are_no_numbers_count_for_nothing(library: str) -> None:
    rows = np.ones((4, 2))
    rows[0], rows[1] = 1e200, 1e-200
    factor = put(library, [0.5, 0.5])
    budget = {"outlier_fraction": 0.0, **UNIT}
    assert proves_optimum(0.49, put(library, rows), factor, **budget)
    assert not proves_optimum(0.51, put(library, rows), factor, **budget)


@library
def test_a_hinge_bound_is_accepted_as_on_the_host(library: str) -> None:
    rows = np.random.default_rng(4).standard_normal((30, 4))
    labels, dual = np.sign(rows[:, 0]), np.full(30, 0.3)
    asked: dict[str, Any] = {"center": np.zeros(4), "hinge_scale": 2.0, **UNIT}
    asked["sample_weight"] = np.full(30, 1 / 30)
    given = DeviceRows(put(library, rows))
    for claim in np.linspace(0.0, 0.3, 31):
        expected = certificates.proves_hinge_bound(claim, rows, labels, dual, **asked)
        assert proves_hinge_bound(claim, given, labels, dual, **asked) is expected
    assert not proves_hinge_bound(0.3, given, labels, dual[:-1], **asked)


@library
def test_a_forged_answer_from_a_device_is_refused(library: str) -> None:
    rows = np.random.default_rng(0).standard_normal((200, 20))
    rows[:10] = [4.0, 4.0] + [0.0] * 18
    budget = {"l2_radius": 1.0, "l1_radius": 2.0, "outlier_fraction": 0.06}
    answer = remove_outliers(put(library, rows), **budget)
    assert certificates.accepts_removal(rows, on_host(answer), **budget)
    xp = namespace_of(answer.weights)
    for forged in (
        replace(answer, weights=0 * answer.weights + 1),
        replace(answer, weights=0 * answer.weights),
        replace(answer, multiplier=0 * answer.multiplier),
        replace(answer, direction=0 * answer.direction),
        replace(answer, factor=0 * answer.factor),
        replace(answer, variance_upper=0.99 * answer.variance_lower),
        replace(answer, variance_lower=1.01 * answer.variance_upper),
        replace(answer, optimum_lower=1.01 * answer.optimum_lower),
        replace(answer, status="undecided"),
        replace(answer, weights=xp.astype(answer.weights, xp.float32) * 1.01),
    ):
        assert not certificates.accepts_removal(rows, on_host(forged), **budget)
