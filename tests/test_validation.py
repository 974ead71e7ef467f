"""Checks of what callers hand over: each names the parameter, the place and what is allowed."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from thresher import ActiveLearner, HalfspaceClassifier, remove_outliers
from thresher.oracles import Draw, reveal_labels
from thresher.simulate import poison
from thresher.validation import (
    check_count,
    check_fraction,
    check_labels,
    check_number,
    check_positive,
    check_radii,
    check_radius,
    check_rows,
    check_switch,
    check_symmetric,
    check_vector,
    check_vectors,
    check_weights,
    is_sparse,
)

# -- numbers ---------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [2, 2.0, np.float32(2), np.int64(2), Fraction(4, 2)])
def test_anything_that_is_a_real_number_becomes_a_float(value: object) -> None:
    number = check_number(value, "x")
    assert (type(number), number) == (float, 2.0)


@pytest.mark.parametrize("value", [True, np.bool_(True), "2", None, 2j, [2], Decimal(2)])
def test_what_is_no_real_number_is_named_with_its_type(value: object) -> None:
    with pytest.raises(
        TypeError, match=f"x must be a number, got .* of type {type(value).__name__}"
    ):
        check_number(value, "x")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 10**400])
def test_numbers_that_are_not_finite_are_refused(value: object) -> None:
    with pytest.raises(ValueError, match="x must be finite, got"):
        check_number(value, "x")


@pytest.mark.parametrize("value", [0, 0.0, -0.0, -3])
def test_a_positive_number_is_above_zero(value: float) -> None:
    with pytest.raises(ValueError, match="x must be greater than 0, got"):
        check_positive(value, "x")


@pytest.mark.parametrize("value", [1e-101, 1e101])
def test_a_radius_can_be_squared(value: float) -> None:
    with pytest.raises(ValueError, match="x must lie between 1e-100 and 1e100, got"):
        check_radius(value, "x")


@pytest.mark.parametrize("value", [1e-100, 1.0, 1e100])
def test_radii_between_the_limits_pass(value: float) -> None:
    assert check_radius(value, "x") == value


def test_radii_too_far_apart_are_refused() -> None:
    assert check_radii(1.0, 1e8, 4) == (1.0, 2.0)
    for l1_radius in (1e-9, 1e9):
        with pytest.raises(ValueError, match="l1_radius must lie between 1e-8 and 1e8 times"):
            check_radii(1.0, l1_radius, 4)


def test_an_l2_radius_above_the_l1_radius_means_no_more_than_that() -> None:
    assert check_radii(3.0, 1.0, 4) == (1.0, 1.0)


def test_an_l1_radius_means_no_more_than_the_root_of_the_features_times_the_l2_radius() -> None:
    assert check_radii(3.0, 1e4, 4) == (3.0, 6.0)


@pytest.mark.parametrize("value", [0, 0.5, 1 - 2.0**-53])
def test_fractions_below_one_pass(value: float) -> None:
    assert check_fraction(value, "x") == value


@pytest.mark.parametrize("value", [-1e-300, 1.0, 2])
def test_fractions_outside_are_refused(value: float) -> None:
    with pytest.raises(ValueError, match="x must be at least 0 and below 1, got"):
        check_fraction(value, "x")


def test_a_count_is_an_integer_of_at_least_the_minimum() -> None:
    assert check_count(np.int32(3), "x") == 3
    assert check_count(0, "x", minimum=0) == 0
    with pytest.raises(ValueError, match="x must be at least 2, got 1"):
        check_count(1, "x", minimum=2)


@pytest.mark.parametrize("value", [1.0, True, "1", None])
def test_what_is_no_integer_is_named_with_its_type(value: object) -> None:
    with pytest.raises(TypeError, match=f"x must be an integer, .* of type {type(value).__name__}"):
        check_count(value, "x")


@pytest.mark.parametrize("kind", [int, bool, np.int64, np.uint8, np.bool_])
def test_a_switch_takes_zero_and_one_of_any_integer_type(kind: Any) -> None:
    assert [check_switch(kind(value), "scale") for value in (0, 1)] == [False, True]


# -- vectors ---------------------------------------------------------------------------------


def test_lists_become_float_vectors() -> None:
    vector = check_vector([1, True, 2.5], "v")
    assert vector.dtype == np.float64
    np.testing.assert_array_equal(vector, [1.0, 1.0, 2.5])


def test_objects_that_are_numbers_become_floats() -> None:
    np.testing.assert_array_equal(check_vector([Fraction(1, 2), 10**20], "v"), [0.5, 1e20])


@pytest.mark.parametrize("check", [check_vector, check_vectors])
@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        ([0.0, 1.0, np.nan, np.inf], ValueError, r"v must be finite, but v\[2\] is nan"),
        ([1.0, -np.inf], ValueError, r"v must be finite, but v\[1\] is -inf"),
        ([1.7e308, 1.7e308, np.nan], ValueError, r"v\[2\] is nan"),
        ([], ValueError, "v is empty"),
        (["a"], TypeError, "v must hold real numbers, got dtype <U1"),
        ([1j], TypeError, "v must hold real numbers, got dtype complex128"),
        ([object()], TypeError, "v must hold numbers, got objects"),
        ([[1.0], [1.0, 2.0]], ValueError, "v is not a rectangular array of numbers"),
        (np.array(["2020-01-01"], dtype="datetime64[D]"), TypeError, "v must hold real numbers"),
    ],
)
def test_bad_vectors_are_named(check: Any, values: object, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        check(values, "v")


def test_numbers_whose_sum_overflows_are_finite() -> None:
    np.testing.assert_array_equal(check_vector([1.7e308, 1.7e308], "v"), [1.7e308, 1.7e308])


def test_a_vector_has_one_dimension_and_the_length_asked_for() -> None:
    with pytest.raises(ValueError, match=r"v must have one dimension, got shape \(1, 2\)"):
        check_vector([[1.0, 2.0]], "v")
    with pytest.raises(ValueError, match="v must have length 3, got 2"):
        check_vector([1.0, 2.0], "v", length=3)


def test_vectors_have_one_or_two_dimensions() -> None:
    assert check_vectors([1.0, 2.0], "v").shape == (2,)
    assert check_vectors([[1.0, 2.0]], "v").shape == (1, 2)
    for values in (3.0, np.zeros((1, 1, 1))):
        with pytest.raises(ValueError, match="v must have one or two dimensions, got shape"):
            check_vectors(values, "v")


# -- rows ------------------------------------------------------------------------------------


def test_dense_rows_become_a_float_array() -> None:
    rows = check_rows([[1, 2], [3, 4]])
    assert (rows.dtype, rows.shape) == (np.float64, (2, 2))


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_matrix, sp.coo_array, sp.lil_matrix])
def test_sparse_rows_become_csr(kind: Any) -> None:
    rows = check_rows(kind(np.eye(3, dtype=np.int8)))
    assert is_sparse(rows)
    assert (rows.format, rows.dtype) == ("csr", np.float64)


def test_repeated_entries_of_sparse_rows_are_summed_in_a_copy() -> None:
    doubled = sp.csr_array((np.ones(2), np.zeros(2, dtype=int), np.array([0, 2])), shape=(1, 1))
    assert check_rows(doubled).data.tolist() == [2.0]
    assert doubled.nnz == 2


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_the_first_bad_entry_of_sparse_rows_is_named(value: float) -> None:
    X = np.zeros((5, 4))
    X[0, 1], X[3, 2], X[4, 0] = 1.0, value, np.nan
    with pytest.raises(ValueError, match=rf"X must be finite, but X\[3, 2\] is {value}"):
        check_rows(sp.csr_array(X))


def test_the_first_bad_entry_of_dense_rows_is_named() -> None:
    X = np.zeros((5, 4))
    X[3, 2] = X[4, 0] = np.nan
    with pytest.raises(ValueError, match=r"table must be finite, but table\[3, 2\] is nan"):
        check_rows(X, "table")


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_empty_rows_are_refused(shape: tuple[int, int]) -> None:
    for rows in (np.zeros(shape), sp.csr_array(shape)):
        with pytest.raises(ValueError, match="X is empty, with shape"):
            check_rows(rows)


@pytest.mark.parametrize("values", [3.0, [1.0], np.zeros((1, 1, 1)), None])
def test_rows_have_two_dimensions(values: object) -> None:
    with pytest.raises(ValueError, match="X must have two dimensions"):
        check_rows(values)


@pytest.mark.parametrize("values", [[["a"]], np.array([[1j]]), sp.csr_array([[1j]])])
def test_rows_hold_real_numbers(values: object) -> None:
    with pytest.raises(TypeError, match="X must hold real numbers, got dtype"):
        check_rows(values)


# -- labels, weights, symmetric matrices -----------------------------------------------------


def test_labels_are_minus_one_or_one() -> None:
    np.testing.assert_array_equal(check_labels([1, -1], "y", length=2), [1.0, -1.0])
    for bad in (0, 2, 0.5):
        with pytest.raises(ValueError, match=rf"y must be -1 or \+1, but y\[1\] is {bad}"):
            check_labels([1, bad, 0], "y", length=3)


def test_missing_weights_are_ones() -> None:
    np.testing.assert_array_equal(check_weights(None, "w", length=3), np.ones(3))


def test_weights_are_not_negative_and_not_all_zero() -> None:
    np.testing.assert_array_equal(check_weights([0, 2], "w", length=2), [0.0, 2.0])
    with pytest.raises(ValueError, match=r"w must not be negative, but w\[1\] is -1"):
        check_weights([0, -1, -2], "w", length=3)
    with pytest.raises(ValueError, match="w must not be all zero"):
        check_weights([0, 0], "w", length=2)
    with pytest.raises(ValueError, match="w must have length 3, got 2"):
        check_weights([1, 1], "w", length=3)


def test_asymmetry_is_named_where_it_is_worst() -> None:
    matrix = np.eye(3)
    matrix[0, 1], matrix[0, 2] = 1e-3, 1.0
    with pytest.raises(ValueError, match=r"A\[0, 2\] is 1.0 and A\[2, 0\] is 0.0"):
        check_symmetric(matrix, "A")


def test_rounding_asymmetry_is_averaged_away() -> None:
    matrix = np.array([[1.0, 0.5], [0.5 + 1e-14, 1.0]])
    checked = check_symmetric(matrix, "A")
    np.testing.assert_array_equal(checked, checked.T)
    np.testing.assert_allclose(checked, matrix, rtol=1e-13)


def test_huge_asymmetric_matrices_do_not_overflow() -> None:
    with pytest.raises(ValueError, match="A must be symmetric"):
        check_symmetric([[0.0, 1.7e308], [-1.7e308, 0.0]], "A")


@pytest.mark.parametrize("shape", [(2,), (2, 3), (1, 2, 2)])
def test_a_symmetric_matrix_is_square(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="A must be a square matrix, got shape"):
        check_symmetric(np.zeros(shape), "A")


HIDDEN = np.ma.array(np.eye(3), mask=[[0, 0, 0], [0, 0, 1], [0, 0, 0]])
HIDDEN_LABELS = np.ma.array([1, -1, 1], mask=[0, 1, 0])
RADII = {"l2_radius": 1.0, "l1_radius": 2.0}
MASKED = {
    "rows": lambda: check_rows(HIDDEN),
    "a list of rows": lambda: check_rows([HIDDEN[1], HIDDEN[0]]),
    "a vector": lambda: check_vector(HIDDEN_LABELS, "y"),
    "labels in a list": lambda: check_vector([1, np.ma.masked], "labels"),
    "a matrix": lambda: check_symmetric(HIDDEN, "gram"),
    "outlier removal": lambda: remove_outliers(HIDDEN, outlier_fraction=0.1, **RADII),
    "a table": lambda: HalfspaceClassifier().fit(HIDDEN, [1, -1, 1]),
    "labels of a table": lambda: HalfspaceClassifier().fit(np.eye(3), HIDDEN_LABELS),
    "a pool": lambda: ActiveLearner(HIDDEN, sparsity=1, noise_rate=0.0),
    "a stream": lambda: ActiveLearner(iter([HIDDEN[1]]), sparsity=1, noise_rate=0.0),
    "a draw": lambda: Draw(ids=[0, 1, 2], X=HIDDEN, n_drawn=3),
    "ids": lambda: Draw(ids=HIDDEN_LABELS, X=np.eye(3), n_drawn=3),
    "answers": lambda: reveal_labels(lambda *_: HIDDEN_LABELS, [0, 1, 2], np.eye(3)),
    "poison": lambda: poison(np.eye(3), HIDDEN_LABELS, attack="far-clump", fraction=0.3),
}


@pytest.mark.parametrize("name", MASKED)
def test_masked_entries_are_refused_by_name(name):
    with pytest.raises(ValueError, match=r"(X|y|gram|labels|ids|stream item 0)\[.*\] is masked"):
        MASKED[name]()


def test_masked_labels_are_refused_by_tell_and_nothing_is_recorded():
    learner = ActiveLearner(np.eye(30), sparsity=1, noise_rate=0.0, label_budget=9, random_state=0)
    n_asked = len(learner.ask().ids)
    with pytest.raises(ValueError, match=r"labels\[0\] is masked"):
        learner.tell(np.ma.masked_all(n_asked, dtype=float))
    assert learner.n_labels_ == 0


def test_a_mask_over_nothing_is_allowed():
    assert check_rows(np.ma.array(np.eye(2))).shape == (2, 2)
