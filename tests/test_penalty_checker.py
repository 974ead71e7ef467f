"""The checker of penalized fits: its gap is never below the true one, whatever it is given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize

from thresher.penalty_checker import relative_gap

PENALTIES = ["L1", "L2"]


def problem(seed: int, penalty: str, *, has_intercept: bool = True) -> dict[str, Any]:
    """A random table with weights, some of which are zero, and a weight of the loss."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((int(rng.integers(5, 40)), int(rng.integers(1, 6))))
    signs = np.sign(rows[:, 0] + rng.standard_normal(len(rows)))
    return {
        "rows": rows,
        "signs": signs,
        "weights": rng.random(len(rows)) * (rng.random(len(rows)) < 0.9),
        "penalty": penalty,
        "C": float(10.0 ** rng.uniform(-2, 2)),
        "intercept_entry": 10.0 if has_intercept else 0.0,
    }


def objective(given: dict[str, Any], coef: np.ndarray, beta: float) -> float:
    """The penalized loss, written down once more."""
    margins = given["signs"] * (given["rows"] @ coef + given["intercept_entry"] * beta)
    vector, weights = np.append(coef, beta), given["C"] * given["weights"]
    if given["penalty"] == "L1":
        return float(np.abs(vector).sum() + weights @ np.logaddexp(0, -margins))
    return float(vector @ vector / 2 + weights @ np.maximum(0, 1 - margins) ** 2)


def minimum(given: dict[str, Any]) -> tuple[np.ndarray, float]:
    """The best model that a general solver finds: the true minimum is not larger."""
    n_features = given["rows"].shape[1]
    free = 1 if given["intercept_entry"] else 0

    def signed(parts: np.ndarray) -> tuple[np.ndarray, float]:
        vector = parts[: parts.size // 2] - parts[parts.size // 2 :]
        return vector[:n_features], float(vector[n_features]) if free else 0.0

    start = np.full(2 * (n_features + free), 0.1)
    found = minimize(
        lambda parts: objective(given, *signed(parts)), start, bounds=[(0, None)] * start.size
    )
    return signed(found.x)


def gap_of(given: dict[str, Any], coef: np.ndarray, beta: float) -> float:
    return relative_gap(**given, coef=coef, offset=given["intercept_entry"] * beta)


@pytest.mark.parametrize("has_intercept", [True, False])
@pytest.mark.parametrize("penalty", PENALTIES)
def test_the_gap_is_never_below_the_true_one(penalty: str, has_intercept: bool) -> None:
    for seed in range(12):
        given = problem(seed, penalty, has_intercept=has_intercept)
        best = minimum(given)
        least = objective(given, *best)
        rng = np.random.default_rng(seed)
        for spread in (0.0, 0.01, 1.0):
            coef = best[0] + spread * rng.standard_normal(best[0].size)
            beta = best[1] + spread / 10 * rng.standard_normal() * has_intercept
            value = objective(given, coef, beta)
            assert gap_of(given, coef, beta) >= (value - least) / value - 1e-12


@pytest.mark.parametrize("penalty", PENALTIES)
def test_the_gap_of_the_minimum_is_small(penalty: str) -> None:
    gaps = [gap_of(given, *minimum(given)) for given in (problem(s, penalty) for s in range(5))]
    assert np.median(gaps) < 1e-3


@pytest.mark.parametrize("penalty", PENALTIES)
def test_a_forged_model_has_a_large_gap(penalty: str) -> None:
    given = problem(3, penalty) | {"C": 10.0}
    coef, beta = minimum(given)
    assert gap_of(given, -coef, beta) > 0.3
    assert gap_of(given, 10 * coef, beta) > 0.3


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", ["coef", "offset", "weights", "rows", "C"])
def test_a_number_that_is_not_finite_proves_nothing(place: str, value: float, penalty: str) -> None:
    given = problem(0, penalty)
    given["coef"] = np.ones(given["rows"].shape[1])
    given["offset"] = 1.0
    changed = np.array(given[place], dtype=float)
    changed.flat[0] = value
    given[place] = float(changed) if changed.ndim == 0 else changed
    assert relative_gap(**given) == np.inf


@pytest.mark.parametrize("penalty", PENALTIES)
def test_a_negative_weight_proves_nothing(penalty: str) -> None:
    given = problem(0, penalty)
    given["weights"][0] = -1.0
    assert gap_of(given, *minimum(problem(0, penalty))) == np.inf


def test_an_intercept_in_a_model_without_one_proves_nothing() -> None:
    given = problem(0, "L1", has_intercept=False)
    assert relative_gap(**given, coef=np.zeros(given["rows"].shape[1]), offset=1.0) == np.inf


@pytest.mark.parametrize("penalty", PENALTIES)
def test_sparse_rows_have_the_gap_of_dense_ones(penalty: str) -> None:
    given = problem(1, penalty)
    coef, beta = minimum(given)
    dense = gap_of(given, coef, beta)
    assert gap_of(given | {"rows": sp.csr_array(given["rows"])}, coef, beta) == pytest.approx(dense)


@pytest.mark.parametrize("penalty", PENALTIES)
def test_a_row_without_weight_does_not_matter(penalty: str) -> None:
    given = problem(2, penalty)
    coef, beta = minimum(given)
    more = given | {
        "rows": np.vstack([given["rows"], np.full((1, given["rows"].shape[1]), 1e6)]),
        "signs": np.append(given["signs"], -1.0),
        "weights": np.append(given["weights"], 0.0),
    }
    assert gap_of(more, coef, beta) == pytest.approx(gap_of(given, coef, beta), abs=1e-12)
