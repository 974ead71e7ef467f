"""The checkers take every real dtype at its exact value, and refuse whatever else they get."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from thresher.certificates import (
    accepts_hinge,
    accepts_removal,
    accepts_worst_direction,
    proves_hinge_bound,
    proves_lower_bound,
    proves_optimum,
    proves_upper_bound,
    proves_weights,
)
from thresher.outliers import OutlierRemoval
from thresher.solvers import HingeMinimum, WorstDirection

REAL = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "longdouble"]
UNREAL = ["c8", "c16", "clongdouble", "O", "U8", "S8", "M8[s]", "m8[s]"]
RADII = {"l2_radius": 1.0, "l1_radius": 1.0}
HINGE: dict[str, Any] = {
    "rows": np.eye(2),
    "labels": np.ones(2),
    "center": np.zeros(2),
    "sample_weight": np.ones(2),
    "hinge_scale": 1.0,
    **RADII,
}
ROWS = np.eye(2)
DIRECTION = WorstDirection(1 - 1e-9, 1 + 1e-9, np.array([1.0, 0.0]), np.zeros((2, 2)), "converged")
REMOVAL = OutlierRemoval(
    weights=np.ones(2),
    variance_lower=0.5 - 1e-9,
    variance_upper=0.5 + 1e-9,
    optimum_lower=0.5 - 1e-9,
    status="tightest",
    direction=np.array([1.0, 0.0]),
    multiplier=np.zeros((2, 2)),
    factor=np.array([[1.0], [0.0]]),
    n_rounds=1,
    columns=np.array([0, 1]),
)
MINIMUM = HingeMinimum(np.array([1.0, 0.0]), 0.5, 0.5 - 1e-9, "converged", np.ones(2), 1)

# Each checker with a question whose arrays hold zeros and ones, and the names of these arrays.
TRUTHS: dict[str, tuple[Callable[..., bool], dict[str, Any], list[str]]] = {
    "upper": (
        proves_upper_bound,
        {"claim": 1 + 1e-9, "gram": np.eye(2), "multiplier": np.zeros((2, 2)), **RADII},
        ["gram", "multiplier"],
    ),
    "lower": (
        proves_lower_bound,
        {"claim": 1 - 1e-9, "gram": np.eye(2), "lifted": np.array([1.0, 0.0]), **RADII},
        ["gram", "lifted"],
    ),
    "lifted": (
        proves_lower_bound,
        {"claim": 1 - 1e-9, "gram": np.eye(2), "lifted": np.diag([1.0, 0.0]), **RADII},
        ["lifted"],
    ),
    "optimum": (
        proves_optimum,
        {"claim": 0.5 - 1e-9, "rows": ROWS, "factor": np.array([[1.0], [0.0]])}
        | {"outlier_fraction": 0.0, **RADII},
        ["rows", "factor"],
    ),
    "hinge bound": (
        proves_hinge_bound,
        {"claim": 0.5 - 1e-9, "dual": np.ones(2), **HINGE},
        ["rows", "labels", "dual", "center", "sample_weight"],
    ),
    "weights": (proves_weights, {"weights": np.ones(3), "outlier_fraction": 0.1}, ["weights"]),
    "worst direction": (
        accepts_worst_direction,
        {"gram": np.eye(2), "answer": DIRECTION, **RADII},
        ["gram", "answer.direction", "answer.multiplier"],
    ),
    "removal": (
        accepts_removal,
        {"rows": ROWS, "answer": REMOVAL, "outlier_fraction": 0.0, **RADII},
        ["rows"]
        + [
            f"answer.{name}" for name in ("weights", "direction", "multiplier", "factor", "columns")
        ],
    ),
    "hinge": (
        accepts_hinge,
        {"answer": MINIMUM, **HINGE},
        ["rows", "labels", "center", "sample_weight", "answer.point", "answer.dual"],
    ),
}
CASES = [(checker, name) for checker, (_, _, names) in TRUTHS.items() for name in names]


def with_array(question: dict[str, Any], name: str, change: Callable[[Any], Any]) -> dict[str, Any]:
    """The question, or the answer in it, with one of its arrays changed."""
    if not name.startswith("answer."):
        return question | {name: change(question[name])}
    answer, field = question["answer"], name.removeprefix("answer.")
    return question | {"answer": replace(answer, **{field: change(getattr(answer, field))})}


@pytest.mark.parametrize(("checker", "name"), CASES)
def test_truths_are_accepted_in_every_real_dtype(checker: str, name: str) -> None:
    check, question, _ = TRUTHS[checker]
    for dtype in REAL:
        assert check(**with_array(question, name, lambda values, to=dtype: values.astype(to)))


@pytest.mark.parametrize(("checker", "name"), CASES)
def test_what_is_not_real_is_refused(checker: str, name: str) -> None:
    check, question, _ = TRUTHS[checker]
    for dtype in UNREAL:
        spoiled = with_array(question, name, lambda values, to=dtype: values.astype(int).astype(to))
        assert not check(**spoiled)


@pytest.mark.parametrize(("checker", "name"), CASES)
def test_masked_entries_are_refused(checker: str, name: str) -> None:
    check, question, _ = TRUTHS[checker]
    masked = with_array(question, name, lambda values: np.ma.masked_array(values, True))
    assert not check(**masked)


@pytest.mark.parametrize(("checker", "name"), CASES)
def test_what_is_not_finite_is_refused(checker: str, name: str) -> None:
    check, question, _ = TRUTHS[checker]
    for value in (math.nan, math.inf, -math.inf):

        def spoil(values: Any, value: float = value) -> Any:
            values = values.astype(float)
            values.flat[0] = value
            return values

        assert not check(**with_array(question, name, spoil))


@pytest.mark.parametrize(("checker", "name"), CASES)
def test_arrays_of_another_shape_are_refused(checker: str, name: str) -> None:
    check, question, _ = TRUTHS[checker]
    shapes = [(2, 2, 2), ()] if name == "weights" else [(3,), (2, 2, 2), (), (0,), (0, 2)]
    for shape in shapes:
        assert not check(**with_array(question, name, lambda _, to=shape: np.ones(to)))


@pytest.mark.parametrize("value", [2**53 + 1, -(2**63)])
def test_integers_that_are_no_floats_are_refused(value: int) -> None:
    gram = np.array([[value]])
    assert not proves_upper_bound(1e30, gram, np.zeros((1, 1)), **RADII)
    assert proves_upper_bound(1e30, gram // 2**12, np.zeros((1, 1)), **RADII)


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 60, reason="long double is double here")
def test_long_doubles_that_are_no_floats_are_refused() -> None:
    gram = np.array([[1 + np.longdouble(2) ** -60]])
    assert not proves_upper_bound(2.0, gram, np.zeros((1, 1)), **RADII)
    assert not proves_upper_bound(1 + np.longdouble(2) ** -60, np.eye(1), np.zeros((1, 1)), **RADII)


@pytest.mark.parametrize("claim", [1 + 2j, np.complex128(2), "2", None, 10**400, 2**53 + 1])
def test_claims_that_are_no_floats_are_refused(claim: Any) -> None:
    assert not proves_upper_bound(claim, np.eye(2), np.zeros((2, 2)), **RADII)
    assert not proves_lower_bound(claim, -np.eye(2), np.ones(2), **RADII)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("l2_radius", 0.0),
        ("l2_radius", -1.0),
        ("l2_radius", 1e101),
        ("l1_radius", 1e-101),
        ("l1_radius", math.nan),
        ("gram_error", -1e-9),
        ("gram_error", math.nan),
        ("rest", -1e-9),
        ("rest", math.nan),
    ],
)
def test_numbers_out_of_range_are_refused(name: str, value: float) -> None:
    check, question, _ = TRUTHS["upper"]
    assert check(**question)
    assert not check(**question | {name: value})


@pytest.mark.parametrize("fraction", [-0.1, 1.0, 2.0, math.nan])
def test_fractions_out_of_range_are_refused(fraction: float) -> None:
    assert not proves_weights(np.ones(3), fraction)
    assert not proves_optimum(1e-9, ROWS, np.ones(2), outlier_fraction=fraction, **RADII)


@pytest.mark.parametrize("weights", [[0.0, 0.0], [-1.0, 3.0], [1e-200, 1e-200], [1e200, 1e200]])
def test_sample_weights_out_of_range_are_refused(weights: list[float]) -> None:
    check, question, _ = TRUTHS["hinge bound"]
    assert not check(**question | {"sample_weight": np.array(weights)})


def test_labels_beyond_one_are_refused() -> None:
    check, question, _ = TRUTHS["hinge bound"]
    assert not check(**question | {"labels": np.array([1.0, 2.0])})


@pytest.mark.parametrize("dtype", ["?", "i1", "i4", "i8", "u8", "f4", "f8", "longdouble"])
@pytest.mark.parametrize("container", [sp.csr_array, sp.csc_matrix, sp.coo_array, sp.lil_array])
def test_sparse_rows_of_every_dtype_are_read_as_dense_ones(container: Any, dtype: str) -> None:
    for checker in ("optimum", "hinge bound", "removal", "hinge"):
        check, question, _ = TRUTHS[checker]
        assert check(**question | {"rows": container(np.eye(2).astype(dtype))})


def test_sparse_complex_rows_are_refused() -> None:
    for checker in ("optimum", "hinge bound", "removal", "hinge"):
        check, question, _ = TRUTHS[checker]
        assert not check(**question | {"rows": sp.csr_array(np.eye(2, dtype=complex))})
