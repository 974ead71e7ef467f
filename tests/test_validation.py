"""Checks of what callers hand over: each names the parameter, the place and what is allowed."""

from __future__ import annotations

import tracemalloc
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
    check_noise_rate,
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
    generator_from,
    is_sparse,
    nonfinite_places,
    require_in_memory,
    seed_from,
    stack_rows,
    sum_of_squares,
    without_duplicates,
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


# -- limits ----------------------------------------------------------------------------------


def test_radii_may_differ_by_eight_powers_of_ten_and_no_more() -> None:
    assert check_radii(2.0, 2e8, 10**20) == (2.0, 2e8)
    assert check_radii(1.0, 1e-8, 3) == (1e-8, 1e-8)
    for rho in (np.nextafter(1e8, np.inf), np.nextafter(1e-8, 0)):
        with pytest.raises(ValueError, match="l1_radius must lie between 1e-8 and 1e8 times"):
            check_radii(1.0, rho, 3)
    assert check_radii(1e50, 3e50, 9) == (1e50, 3e50)  # only their quotient matters


def test_the_l1_radius_counts_up_to_the_root_of_the_features() -> None:
    assert check_radii(3.0, 100.0, 16) == (3.0, 12.0)
    assert check_radii(3.0, 11.0, 16) == (3.0, 11.0)


@pytest.mark.parametrize("value", [0, 0.0, 0.25, np.nextafter(0.5, 0)])
def test_noise_rates_below_one_half_pass(value: float) -> None:
    assert check_noise_rate(value) == value


@pytest.mark.parametrize("value", [-1e-300, 0.5, 0.75, 1])
def test_noise_rates_outside_are_refused_by_name(value: float) -> None:
    with pytest.raises(ValueError, match=r"^noise_rate must be at least 0 and below 0\.5, got"):
        check_noise_rate(value)
    with pytest.raises(ValueError, match=r"^rate must be"):
        check_noise_rate(value, "rate")


@pytest.mark.parametrize("value", [2, -1, 0.0, 1.0, "no", None])
def test_what_is_no_switch_is_named(value: object) -> None:
    with pytest.raises(TypeError, match="scale must be True or False, got"):
        check_switch(value, "scale")


def test_asymmetry_is_rounding_up_to_its_share_of_the_largest_entry() -> None:
    matrix = np.array([[4.0, 1.0], [1.0, 4.0]])
    for size in (1.0, 1e-200, 1e200):
        matrix[0, 1] = 1.0 + 3.9e-10
        symmetric = check_symmetric(size * matrix, "A")
        assert np.array_equal(symmetric, symmetric.T)
        assert symmetric[0, 1] == pytest.approx(size * (1 + 1.95e-10), rel=1e-14)
        matrix[0, 1] = 1.0 + 4.1e-10
        with pytest.raises(ValueError, match=r"A must be symmetric, but A\[0, 1\] is"):
            check_symmetric(size * matrix, "A")
    exact = np.array([[1.0, 1e-10], [0.0, 1.0]])  # as large as the limit, and not larger
    assert check_symmetric(exact, "A")[0, 1] == 5e-11


def test_an_empty_matrix_is_refused() -> None:
    with pytest.raises(ValueError, match="A is empty"):
        check_symmetric(np.zeros((0, 0)), "A")


def test_a_matrix_that_is_not_finite_is_named_where_it_is_not() -> None:
    with pytest.raises(ValueError, match=r"A must be finite, but A\[1, 0\] is nan"):
        check_symmetric([[1.0, 2.0], [np.nan, 1.0]], "A")


# -- arrays as they are --------------------------------------------------------------------


@pytest.mark.parametrize("order", ["C", "F"])
def test_squares_are_summed_whatever_the_order_in_memory(order: Any) -> None:
    array = np.array(np.arange(12.0).reshape(3, 4), order=order)
    assert sum_of_squares(array) == 506.0
    assert sum_of_squares(array[::2, ::3]) == 0 + 9 + 64 + 121
    assert not np.isfinite(sum_of_squares(np.full((2, 2), 1e200)))
    assert not np.isfinite(sum_of_squares(np.array([[1.0, np.nan]])[:, ::-1]))


@pytest.mark.parametrize("order", ["C", "F"])
def test_squares_are_summed_without_a_copy(order: Any) -> None:
    array = np.ones((100, 100), order=order)
    tracemalloc.start()
    assert sum_of_squares(array) == 10_000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < array.nbytes / 10


def test_places_that_are_not_finite_have_an_index_for_every_axis() -> None:
    array = np.ones((3, 2))
    assert [place.size for place in nonfinite_places(array)] == [0, 0]
    assert [place.size for place in nonfinite_places(array[0])] == [0]
    assert [place.size for place in nonfinite_places(np.full((2, 2), 1e200))] == [0, 0]
    array[2, 1] = array[1, 0] = -np.inf
    for rows in (array, array[:, ::-1][:, ::-1], sp.csr_array(array)):
        assert [place.tolist() for place in nonfinite_places(rows)] == [[1, 2], [0, 1]]
    first = sp.csr_array(np.array([[0.0, 0.0], [0.0, np.nan], [1.0, 0.0]]))
    assert [place.tolist() for place in nonfinite_places(first)] == [[1], [1]]


def test_rows_without_duplicates_are_not_copied() -> None:
    rows = sp.csr_array(np.eye(2))
    assert rows.has_canonical_format
    assert without_duplicates(rows) is rows
    twice = sp.csr_array((np.ones(2), np.array([1, 1]), np.array([0, 2])), shape=(1, 2))
    summed = without_duplicates(twice)
    assert (summed.nnz, summed[0, 1], twice.nnz) == (1, 2.0, 2)


def test_blocks_are_stacked_as_csr_if_one_is_sparse() -> None:
    dense, sparse = np.ones((2, 2)), sp.csr_array(np.eye(2))
    assert stack_rows([dense]) is dense
    assert stack_rows([sparse]) is sparse
    assert np.array_equal(stack_rows([dense, 2 * dense]), [[1, 1], [1, 1], [2, 2], [2, 2]])
    for blocks in ([dense, sparse], [sparse, dense], [sparse, sparse]):
        stacked = stack_rows(blocks)
        assert (stacked.format, stacked.shape) == ("csr", (4, 2))
        assert np.array_equal(
            stacked.toarray(), np.vstack([sp.csr_array(b).toarray() for b in blocks])
        )


# -- tables and random states ----------------------------------------------------------------


@pytest.mark.parametrize("names", [("collect",), ("collect_schema",), ()])
def test_a_table_is_lazy_only_if_it_has_both_ways_to_resolve_it(names: tuple[str, ...]) -> None:
    require_in_memory(type("Table", (), dict.fromkeys(names, print))())


class Recording(np.random.RandomState):
    """A random state that writes down the bounds it was asked for."""

    def randint(self, *bounds: Any, **_: Any) -> int:
        self.bounds = bounds
        return 7


def test_seeds_are_drawn_below_two_to_the_31_and_two_to_the_63(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    state = Recording(0)
    assert seed_from(state) == 7
    assert state.bounds == (2**31 - 1,)  # what scikit-learn draws
    monkeypatch.setattr(np.random, "randint", lambda *bounds: bounds[0])
    assert seed_from(None) == seed_from(np.random) == 2**31 - 1
    for seed in range(4):
        drawn = seed_from(np.random.default_rng(seed))
        assert drawn == int(np.random.default_rng(seed).integers(2**63))


@pytest.mark.parametrize("value", [True, np.bool_(False), 1.0, "7", [1]])
def test_what_is_no_random_state_is_named(value: object) -> None:
    for check in (seed_from, generator_from):
        with pytest.raises(TypeError, match=r"^random_state must be an integer, a Generator"):
            check(value)
        with pytest.raises(TypeError, match=r"^seed must be an integer, a Generator"):
            check(value, "seed")


def test_seeds_are_not_negative() -> None:
    assert seed_from(0) == 0
    assert seed_from(np.int64(3)) == 3
    assert generator_from(0).integers(2**40) == np.random.default_rng(0).integers(2**40)
    with pytest.raises(ValueError, match="random_state must be at least 0, got -1"):
        seed_from(-1)
    generator = np.random.default_rng(0)
    assert generator_from(generator) is generator


def test_counts_are_at_least_one_unless_another_minimum_is_given() -> None:
    assert check_count(1, "n") == 1
    with pytest.raises(ValueError, match="n must be at least 1, got 0"):
        check_count(0, "n")


@pytest.mark.parametrize("values", [["a", None], [1.0, "two"], [None, {}]])
def test_objects_that_are_no_numbers_are_named(values: list[object]) -> None:
    with pytest.raises(TypeError, match="x must hold numbers, got objects: "):
        check_vector(np.array(values, dtype=object), "x")


def test_the_smallest_matrix_has_one_entry() -> None:
    assert check_symmetric([[3]], "A").tolist() == [[3.0]]
