"""The independent checkers: true claims pass, forged ones do not."""

from __future__ import annotations

import ast
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import thresher.certificates
from problems import planted_rows, random_gram, removal_problem
from thresher.certificates import (
    accepts_hinge,
    accepts_removal,
    accepts_worst_direction,
    largest_in_columns,
    proves_hinge_bound,
    proves_lower_bound,
    proves_optimum,
    proves_upper_bound,
    proves_weights,
    weighted_second_moment,
)
from thresher.outliers import OutlierRemoval, remove_outliers
from thresher.solvers import HingeMinimum, WorstDirection, minimize_hinge, worst_direction

UNIT = {"l2_radius": 1.0, "l1_radius": 1.5}
NO_NUMBERS = [math.nan, math.inf, -math.inf]


# -- the checkers take nobody's word ---------------------------------------------------------


def imported_packages(path: Path) -> set[str]:
    """The top-level packages that a file imports."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add("." if node.level else str(node.module))
    return {name.split(".")[0] or "." for name in names}


def test_the_checkers_import_nothing_but_numpy_and_the_standard_library() -> None:
    packages = imported_packages(Path(str(thresher.certificates.__file__)))
    assert packages - set(sys.stdlib_module_names) == {"numpy"}


def test_listing_imports_finds_those_inside_functions_and_relative_ones(tmp_path: Path) -> None:
    file = tmp_path / "module.py"
    file.write_text("from .a import b\ndef f():\n    import scipy.sparse\n", encoding="utf-8")
    assert imported_packages(file) == {".", "scipy"}


# -- single claims with known truth -----------------------------------------------------------


def test_the_upper_bound_of_a_diagonal_matrix_is_its_largest_entry() -> None:
    gram, zero = np.diag([1.0, 2.0, 4.0]), np.zeros((3, 3))
    assert proves_upper_bound(4.0 * (1 + 1e-12), gram, zero, **UNIT)
    assert not proves_upper_bound(4.0 * (1 - 1e-12), gram, zero, **UNIT)


def test_a_multiplier_that_is_the_matrix_itself_proves_its_largest_entry() -> None:
    gram = np.array([[1.0, 0.5], [0.5, 0.8]])
    radii = {"l2_radius": 1.0, "l1_radius": 1.0}
    assert proves_upper_bound(1.0 + 1e-14, gram, gram, **radii)
    assert not proves_upper_bound(1.0 - 1e-14, gram, gram, **radii)


def test_an_l2_radius_above_the_l1_radius_loosens_no_upper_bound() -> None:
    radii = {"l2_radius": 50.0, "l1_radius": 1.0}
    assert proves_upper_bound(1.0 + 1e-12, np.eye(3), np.zeros((3, 3)), **radii)
    assert not proves_upper_bound(1.0 - 1e-12, np.eye(3), np.zeros((3, 3)), **radii)


def test_a_zero_matrix_has_an_upper_bound_of_zero() -> None:
    zero = np.zeros((3, 3))
    assert proves_upper_bound(0.0, zero, zero, **UNIT)
    assert not proves_upper_bound(-1e-300, zero, zero, **UNIT)


def test_a_negative_upper_bound_is_never_proven_because_zero_belongs_to_the_region() -> None:
    assert not proves_upper_bound(-0.5, -np.eye(3), np.zeros((3, 3)), **UNIT)
    assert proves_upper_bound(0.0 + 1e-12, -np.eye(3), np.zeros((3, 3)), **UNIT)


def test_an_asymmetric_multiplier_proves_nothing() -> None:
    gram = np.array([[1.0, 0.5], [0.5, 1.0]])
    multiplier = np.array([[0.0, 0.0], [0.5, 0.0]])  # Cholesky would read only this half
    assert not proves_upper_bound(2.0, gram, multiplier, **UNIT)


@pytest.mark.parametrize("size", [1, 5, 40])
def test_a_multiplier_of_no_numbers_proves_nothing(size: int) -> None:
    for value in NO_NUMBERS:
        multiplier = np.full((size, size), value)
        assert not proves_upper_bound(1e9, np.eye(size), multiplier, **UNIT)


@pytest.mark.parametrize("size", [1, 5, 40])
def test_a_matrix_of_no_numbers_has_no_bounds(size: int) -> None:
    for value in NO_NUMBERS:
        gram, zero = np.full((size, size), value), np.zeros((size, size))
        assert not proves_upper_bound(1e9, gram, zero, **UNIT)
        assert not proves_lower_bound(1e-9, gram, np.ones(size), **UNIT)
        assert not proves_lower_bound(1e-9, gram, np.eye(size), **UNIT)


def test_an_infinite_upper_bound_needs_no_proof_and_no_other_limit_has_one() -> None:
    gram, zero = np.eye(2), np.zeros((2, 2))
    assert proves_upper_bound(math.inf, gram, zero, **UNIT)
    assert not proves_upper_bound(-math.inf, gram, zero, **UNIT)
    assert not proves_upper_bound(math.nan, gram, zero, **UNIT)


def test_an_error_of_the_matrix_is_charged_at_the_squared_l1_radius() -> None:
    gram, zero = np.eye(3), np.zeros((3, 3))
    charged = 1 + 0.01 * UNIT["l1_radius"] ** 2
    assert not proves_upper_bound(charged - 1e-9, gram, zero, gram_error=0.01, **UNIT)
    assert proves_upper_bound(charged + 1e-9, gram, zero, gram_error=0.01, **UNIT)


def test_entries_outside_of_a_block_are_charged_at_the_squared_l1_radius() -> None:
    block, zero = np.array([[2.0]]), np.zeros((1, 1))
    charged = 2 + 0.1 * UNIT["l1_radius"] ** 2
    assert not proves_upper_bound(charged - 1e-9, block, zero, rest=0.1, **UNIT)
    assert proves_upper_bound(charged + 1e-9, block, zero, rest=0.1, **UNIT)


def test_a_multiplier_larger_than_the_entries_outside_of_its_block_covers_them() -> None:
    block = np.array([[2.0, 0.5], [0.5, 0.5]])
    multiplier = np.clip(block, -0.5, 0.5)
    claim = 1.5 + 0.5 * UNIT["l1_radius"] ** 2 + 1e-9
    assert proves_upper_bound(claim, block, multiplier, rest=0.5, **UNIT)
    assert not proves_upper_bound(claim, block, multiplier, rest=0.51, **UNIT)


@pytest.mark.parametrize("value", NO_NUMBERS[:2])
def test_entries_of_no_number_outside_of_a_block_leave_nothing_proven(value: float) -> None:
    assert not proves_upper_bound(1e9, np.eye(2), np.zeros((2, 2)), rest=value, **UNIT)


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array, sp.csr_matrix])
def test_no_entry_of_a_second_moment_exceeds_the_bound_of_its_column(convert: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 12)) * (rng.random((50, 12)) < 0.3)
    weights = rng.random(50)
    gram = np.abs((X * weights[:, None]).T @ X / 50)
    bounds = largest_in_columns(convert(X), weights, n_rows=50)
    assert np.all(gram.max(axis=0) <= bounds)
    assert np.all(bounds <= largest_in_columns(convert(X), np.ones(50), n_rows=50))


def test_the_bound_of_a_column_is_attained_by_a_column_of_ones() -> None:
    X = np.array([[0.5, 0.0, 1.0], [1.0, 1.0, 1.0]])
    bounds = largest_in_columns(sp.csr_array(X), np.ones(2), n_rows=2)
    np.testing.assert_allclose(bounds, [0.75, 0.5, 1.0])


def test_an_error_of_the_matrix_lowers_what_a_direction_proves() -> None:
    gram, direction = np.eye(2), np.array([0.6, 0.8])
    assert proves_lower_bound(1 - 1e-9, gram, direction, **UNIT)
    charged = 1 - 0.01 * 1.4**2
    assert not proves_lower_bound(charged + 1e-9, gram, direction, gram_error=0.01, **UNIT)
    assert proves_lower_bound(charged - 1e-9, gram, direction, gram_error=0.01, **UNIT)


def test_a_direction_outside_the_balls_proves_what_it_proves_after_scaling() -> None:
    gram, direction = np.diag([4.0, 1.0]), np.array([100.0, 0.0])
    assert proves_lower_bound(4.0 * (1 - 1e-12), gram, direction, **UNIT)
    assert not proves_lower_bound(4.0 * (1 + 1e-12), gram, direction, **UNIT)


@pytest.mark.parametrize("size", [1e100, 1e160, 1e308, math.inf, math.nan])
def test_a_huge_direction_proves_no_huge_claim(size: float) -> None:
    direction = np.array([size, size])
    assert not proves_lower_bound(2.1, np.ones((2, 2)), direction, **UNIT)
    assert not proves_lower_bound(1e300, np.ones((2, 2)), direction, **UNIT)


def test_a_matrix_in_the_region_proves_its_inner_product() -> None:
    gram = np.eye(3)
    assert proves_lower_bound(1 - 1e-9, gram, np.eye(3) / 3, **UNIT)
    assert not proves_lower_bound(1 + 1e-9, gram, np.eye(3) / 3, **UNIT)


def test_an_indefinite_matrix_proves_nothing() -> None:
    gram = np.array([[0.0, 1.0], [1.0, 0.0]])
    within = {"l2_radius": 1.0, "l1_radius": 2.0}
    assert not proves_lower_bound(1.5, gram, gram, **within)  # its trace is 0, its l1 norm only 2
    assert proves_lower_bound(1 - 1e-9, gram, np.full((2, 2), 0.5), **within)


def test_an_asymmetric_lifted_matrix_proves_nothing() -> None:
    gram = np.ones((2, 2))
    lifted = np.array([[0.5, 0.9], [0.0, 0.5]])  # Cholesky would read only the harmless half
    assert not proves_lower_bound(0.5, gram, lifted, **UNIT)


def test_zero_is_a_lower_bound_of_everything_and_minus_infinity_too() -> None:
    gram, direction = -np.eye(2), np.ones(2)
    assert proves_lower_bound(0.0, gram, direction, **UNIT)
    assert proves_lower_bound(-math.inf, gram, direction, **UNIT)
    assert not proves_lower_bound(1e-300, gram, direction, **UNIT)


def test_the_last_row_counts_in_part_when_the_budget_is_no_whole_number() -> None:
    X, factor = np.ones((10, 1)), np.ones((1, 1))
    budget = {"l2_radius": 1.0, "l1_radius": 1.0, "outlier_fraction": 0.25}
    assert proves_optimum(0.75 * (1 - 1e-12), X, factor, **budget)
    assert not proves_optimum(0.75 * (1 + 1e-12), X, factor, **budget)  # 8 rows would give .8


def test_dense_and_sparse_rows_prove_the_same_optimum() -> None:
    X = planted_rows(n=50) * (np.random.default_rng(1).random((50, 30)) < 0.3)
    answer = remove_outliers(X, outlier_fraction=0.1, **UNIT)
    for rows in (X, sp.csr_array(X), sp.csr_matrix(X)):
        proof = {"outlier_fraction": 0.1, **UNIT}
        assert proves_optimum(answer.optimum_lower, rows, answer.factor, **proof)
        assert not proves_optimum(answer.optimum_lower * 1.01, rows, answer.factor, **proof)


def test_a_mixture_proves_no_more_than_its_place_in_the_region_allows() -> None:
    X, factor = np.eye(4), np.eye(4)  # H = I has trace 4 and proves 1/4 of what it shows
    budget = {"l2_radius": 1.0, "l1_radius": 2.0, "outlier_fraction": 0.0}
    assert proves_optimum(0.25 * (1 - 1e-12), X, factor, **budget)
    assert not proves_optimum(0.25 * (1 + 1e-12), X, factor, **budget)


def test_a_row_too_large_to_square_does_not_count_as_infinite() -> None:
    X = np.array([[1e160, 0.0]])
    factor = np.array([[1e-10, 0.0], [1e-300, 0.0]])  # a column of zeros: 0·inf is no number
    radii = {"l2_radius": 1e-10, "l1_radius": 1e-10, "outlier_fraction": 0.0}
    assert not proves_optimum(1e307, X, factor, **radii)
    assert not proves_optimum(math.inf, X, factor, **radii)
    assert proves_optimum(0.99e300, X, factor, **radii)


def test_huge_rows_that_cancel_prove_nothing() -> None:
    X = np.array([[1e200, -1e200]])
    factor = np.array([[1e150], [1e150]])
    assert not proves_optimum(1.0, X, factor, outlier_fraction=0.0, **UNIT)


@pytest.mark.parametrize("size", [1e160, 1e308, math.inf, math.nan])
def test_a_huge_factor_proves_no_huge_claim(size: float) -> None:
    X = np.ones((3, 2))
    for factor in (np.full((2, 1), size), np.full((2, 2), size)):
        assert not proves_optimum(2.1, X, factor, outlier_fraction=0.0, **UNIT)


def test_a_claim_of_no_number_is_never_proven() -> None:
    X, y, point = np.ones((4, 2)), np.ones(4), np.zeros(2)
    hinge = {"center": point, "hinge_scale": 1.0, "sample_weight": np.ones(4), **UNIT}
    for claim in (math.nan, math.inf):
        assert not proves_lower_bound(claim, np.eye(2), np.ones(2), **UNIT)
        assert not proves_optimum(claim, X, np.ones((2, 1)), outlier_fraction=0.0, **UNIT)
        assert not proves_hinge_bound(claim, X, y, np.ones(4), **hinge)


def test_weights_must_lie_between_zero_and_one() -> None:
    assert proves_weights(np.array([0.0, 1.0, 1.0]), 0.34)
    assert not proves_weights(np.array([-1e-12, 1.0, 1.0]), 0.34)
    assert not proves_weights(np.array([0.5, 1.0 + 1e-12, 1.0]), 0.34)
    assert not proves_weights(np.array([math.nan, 1.0, 1.0]), 0.34)


def test_weights_must_keep_the_required_sum() -> None:
    assert proves_weights(np.full(8, 0.75), 0.25)
    assert not proves_weights(np.full(8, 0.75 - 1e-12), 0.25)


@pytest.mark.parametrize("density", [0.03, 0.5])
def test_sparse_and_dense_rows_have_the_same_second_moment(density: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 20)) * (rng.random((60, 20)) < density)
    weights = rng.random(60)
    dense, error = weighted_second_moment(X, weights, n_rows=60)
    sparse, _ = weighted_second_moment(sp.csr_array(X), weights, n_rows=60)
    np.testing.assert_allclose(sparse, dense, rtol=0, atol=2 * error)


@cache
def wide_case() -> tuple[Any, OutlierRemoval]:
    """Sparse rows with faint columns, and an answer that set some of them aside."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 600)) * (rng.random((100, 600)) < 0.02)
    X[:, :30] = rng.standard_normal((100, 30))
    X[:, 550:] *= 1e-6
    rows = sp.csr_array(X)
    return rows, remove_outliers(rows, outlier_fraction=0.1, **UNIT)


def test_an_answer_on_some_columns_is_accepted() -> None:
    rows, answer = wide_case()
    assert answer.columns is not None
    assert answer.columns.size < 600
    assert accepts_removal(rows, answer, outlier_fraction=0.1, **UNIT)


@pytest.mark.parametrize(
    "forge",
    [
        lambda columns: np.concatenate([columns[:1], columns[:-1]]),  # one twice
        lambda columns: columns[::-1],
        lambda columns: np.concatenate([columns[:-1], [600]]),
        lambda columns: np.concatenate([[-1], columns[1:]]),
        lambda columns: np.concatenate([columns[1:], [599]]),  # a column that matters is left out
        lambda columns: columns[:0],
    ],
)
def test_an_answer_on_other_columns_than_it_says_is_refused(forge: Callable[..., Any]) -> None:
    rows, answer = wide_case()
    forged = replace(answer, columns=forge(answer.columns))
    assert not accepts_removal(rows, forged, outlier_fraction=0.1, **UNIT)


def test_a_block_that_leaves_out_what_matters_proves_nothing() -> None:
    rows, answer = wide_case()
    faint = replace(answer, columns=np.arange(550, 600), multiplier=np.zeros((50, 50)))
    assert not accepts_removal(rows, faint, outlier_fraction=0.1, **UNIT)


def test_the_second_moment_is_within_its_error_of_exact_arithmetic() -> None:
    rng = np.random.default_rng(0)
    X, weights = rng.integers(-(2**26), 2**26, (40, 5)), rng.integers(0, 2, 40)
    exact = (X * weights[:, None]).astype(object).T @ X.astype(object)
    gram, error = weighted_second_moment(X.astype(float), weights.astype(float), n_rows=40)
    assert np.abs(gram - (exact / 40).astype(float)).max() <= error
    assert error <= 1e-13 * gram.max()


# -- whole answers ----------------------------------------------------------------------------


@dataclass(frozen=True)
class DirectionCase:
    """An answer of `worst_direction` and an interval around the truth."""

    gram: np.ndarray
    radii: dict[str, float]
    answer: WorstDirection
    low: float
    high: float

    def accepts(self, answer: Any) -> bool:
        return accepts_worst_direction(self.gram, answer, **self.radii)


@dataclass(frozen=True)
class RemovalCase:
    """An answer of `remove_outliers` and an interval around the variance of its weights."""

    X: Any
    arguments: dict[str, Any]
    answer: OutlierRemoval
    low: float
    high: float

    def accepts(self, answer: Any) -> bool:
        return accepts_removal(self.X, answer, **self.arguments)

    @property
    def radii(self) -> dict[str, float]:
        return {name: self.arguments[name] for name in ("l2_radius", "l1_radius")}


@dataclass(frozen=True)
class HingeCase:
    """An answer of `minimize_hinge`, with a loss that is close to the least possible."""

    X: np.ndarray
    y: np.ndarray
    arguments: dict[str, Any]
    answer: HingeMinimum

    def accepts(self, answer: Any) -> bool:
        return accepts_hinge(self.X, self.y, answer, **self.arguments)


def nonzero_gram(seed: int) -> tuple[np.ndarray, dict[str, float]]:
    """The first of some random matrices with at least two features and a positive entry."""
    for offset in range(1000, 2000):
        gram, radii = random_gram(100 * seed + offset, max_features=20)
        if gram.shape[0] > 1 and np.diag(gram).max() > 0:
            return gram, radii
    raise AssertionError("no matrix found")


@cache
def direction_case(seed: int) -> DirectionCase:
    gram, radii = nonzero_gram(seed)
    answer = worst_direction(gram, **radii)
    tight = worst_direction(gram, tolerance=1e-5, **radii)
    return DirectionCase(gram, radii, answer, tight.lower, tight.upper)


@cache
def removal_case(seed: int) -> RemovalCase:
    for offset in range(2000, 3000):
        X, arguments = removal_problem(50 * seed + offset)
        if X.shape[0] >= 60 and 3 <= X.shape[1] <= 30 and abs(X).max() > 0:
            break
    arguments |= {"tolerance": 0.05, "outlier_fraction": max(arguments["outlier_fraction"], 0.02)}
    answer = remove_outliers(X, **arguments)
    gram = weighted_second_moment(X, answer.weights, n_rows=X.shape[0])[0]
    radii = {name: arguments[name] for name in ("l2_radius", "l1_radius")}
    tight = worst_direction(gram, tolerance=1e-4, **radii)
    return RemovalCase(X, arguments, answer, tight.lower, tight.upper)


@cache
def hinge_case(seed: int) -> HingeCase:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((80, 12))
    y = np.where(X[:, 0] + X[:, 1] >= 0, 1.0, -1.0)
    y[rng.random(80) < 0.15] *= -1
    arguments = {
        "center": np.zeros(12),
        "l2_radius": 1.0,
        "l1_radius": 1.4,
        "hinge_scale": 0.5,
        "sample_weight": np.ones(80),
    }
    return HingeCase(X, y, arguments, minimize_hinge(X, y, **arguments))


N_CASES = 20


@pytest.mark.parametrize("seed", range(5))
def test_the_answers_that_will_be_forged_are_accepted(seed: int) -> None:
    for case in (direction_case(seed), removal_case(seed), hinge_case(seed)):
        assert case.accepts(case.answer)


# -- forgeries: each is false, not only unproven ----------------------------------------------

Forgery = Callable[[np.random.Generator, int], bool]


def excess(rng: np.random.Generator) -> float:
    """By which factor a forger exaggerates: a thousandth more, up to a thousand times."""
    return 1 + 10.0 ** rng.uniform(-3, 3)


def symmetric(rng: np.random.Generator, size: int) -> np.ndarray:
    noise = rng.standard_normal((size, size))
    return noise + noise.T


def other_status(rng: np.random.Generator, status: str, statuses: list[str]) -> str:
    return str(rng.choice([s for s in [*statuses, "certified", "optimal"] if s != status]))


def raised_lower(rng: np.random.Generator, seed: int) -> bool:
    case = direction_case(seed)
    return case.accepts(replace(case.answer, lower=case.high * excess(rng)))


def lowered_upper(rng: np.random.Generator, seed: int) -> bool:
    case = direction_case(seed)
    return case.accepts(replace(case.answer, upper=case.low / excess(rng)))


def tampered_multiplier(rng: np.random.Generator, seed: int) -> bool:
    case = direction_case(seed)
    noise = symmetric(rng, len(case.gram)) * np.abs(case.gram).max() * 10.0 ** rng.uniform(-8, 0)
    multiplier = case.answer.multiplier + noise
    return case.accepts(replace(case.answer, upper=case.low / excess(rng), multiplier=multiplier))


def asymmetric_multiplier(rng: np.random.Generator, seed: int) -> bool:
    case = direction_case(seed)
    multiplier = np.array(case.answer.multiplier)
    multiplier[np.triu_indices_from(multiplier, 1)] *= rng.uniform(-1, 0.5)
    multiplier[0, -1] += np.abs(case.gram).max() * 1e-12
    return case.accepts(replace(case.answer, upper=case.low / excess(rng), multiplier=multiplier))


def asymmetric_lifted(rng: np.random.Generator, seed: int) -> bool:
    case = direction_case(seed)
    lifted = np.array(case.answer.lifted)
    upper_half = np.triu_indices_from(lifted, 1)
    lifted[upper_half] += np.sign(case.gram[upper_half]) * rng.uniform(0.1, 10) * lifted.max()
    lifted[0, -1] += lifted.max()
    return case.accepts(
        replace(case.answer, lower=case.high * excess(rng), direction=None, _lifted=lifted)
    )


def indefinite_lifted(rng: np.random.Generator, seed: int) -> bool:
    case = direction_case(seed)
    lifted = case.answer.lifted + symmetric(rng, len(case.gram)) * rng.uniform(0.1, 10)
    lifted -= np.eye(len(lifted)) * max(np.trace(lifted), 0) / len(lifted)
    return case.accepts(
        replace(case.answer, lower=case.high * excess(rng), direction=None, _lifted=lifted)
    )


def long_direction(rng: np.random.Generator, seed: int) -> bool:
    case = direction_case(seed)
    stretch = 10.0 ** rng.uniform(1, 250)
    direction = case.answer.lifted[case.answer.lifted.diagonal().argmax()]
    direction = direction / np.abs(direction).max() * stretch
    claim = min(case.high * stretch * excess(rng), 1e300)
    return case.accepts(replace(case.answer, lower=claim, direction=direction, _lifted=None))


def direction_without_number(rng: np.random.Generator, seed: int) -> bool:
    case = direction_case(seed)
    bad = float(rng.choice(NO_NUMBERS))
    field = str(rng.choice(["lower", "upper"]))
    if (field, bad) in {("lower", -math.inf), ("upper", math.inf)}:  # true, if useless
        bad = -bad
    return case.accepts(replace(case.answer, **{field: bad}))


def witness_without_number(rng: np.random.Generator, seed: int) -> bool:
    case = direction_case(seed)
    direction = np.ones(len(case.gram))
    direction[rng.integers(len(direction))] = rng.choice(NO_NUMBERS)
    return case.accepts(
        replace(case.answer, lower=case.high * excess(rng), direction=direction, _lifted=None)
    )


def false_direction_status(rng: np.random.Generator, seed: int) -> bool:
    case = direction_case(seed)
    status = other_status(rng, case.answer.status, ["converged", "undecided"])
    return case.accepts(replace(case.answer, status=status))  # type: ignore[arg-type]


def converged_from_afar(rng: np.random.Generator, seed: int) -> bool:
    case = direction_case(seed)
    return case.accepts(replace(case.answer, upper=case.answer.upper * (1.01 + rng.random())))


def raised_variance(rng: np.random.Generator, seed: int) -> bool:
    case = removal_case(seed)
    return case.accepts(replace(case.answer, variance_lower=case.high * excess(rng)))


def lowered_variance(rng: np.random.Generator, seed: int) -> bool:
    case = removal_case(seed)
    upper = case.low / excess(rng)
    status = "feasible" if "max_variance" in case.arguments else case.answer.status
    return case.accepts(replace(case.answer, variance_upper=upper, status=status))


def lowered_variance_with_another_multiplier(rng: np.random.Generator, seed: int) -> bool:
    case = removal_case(seed)
    size = np.abs(case.answer.multiplier).max() + case.high / case.radii["l1_radius"] ** 2
    noise = symmetric(rng, case.X.shape[1]) * size * 10.0 ** rng.uniform(-6, 0)
    return case.accepts(
        replace(
            case.answer,
            variance_upper=case.low / excess(rng),
            multiplier=case.answer.multiplier + noise,
        )
    )


def raised_optimum(rng: np.random.Generator, seed: int) -> bool:
    case = removal_case(seed)  # the weights at hand reach `high`, so the optimum is not above it
    return case.accepts(replace(case.answer, optimum_lower=case.high * excess(rng)))


def false_infeasibility(rng: np.random.Generator, seed: int) -> bool:
    case = removal_case(seed)
    limit = case.high * (1 + rng.random())  # the weights at hand meet it
    forged = replace(case.answer, optimum_lower=limit * excess(rng), status="infeasible")
    return accepts_removal(case.X, forged, **{**case.arguments, "max_variance": limit})


def false_feasibility(rng: np.random.Generator, seed: int) -> bool:
    case = removal_case(seed)
    limit = case.low * rng.uniform(0.1, 0.99)
    forged = replace(case.answer, variance_upper=limit * rng.random(), status="feasible")
    return accepts_removal(case.X, forged, **{**case.arguments, "max_variance": limit})


def raised_optimum_with_a_large_factor(rng: np.random.Generator, seed: int) -> bool:
    case = removal_case(seed)
    stretch = 10.0 ** rng.uniform(1, 200)
    claim = min(case.high * stretch, 1e300)
    return case.accepts(
        replace(case.answer, optimum_lower=claim, factor=case.answer.factor * stretch)
    )


def weights_beyond_one(rng: np.random.Generator, seed: int) -> bool:
    case = removal_case(seed)
    weights = case.answer.weights.copy()
    weights[rng.integers(weights.size)] = rng.choice([1.01, -0.01, 1e300, -math.inf, math.nan])
    return case.accepts(replace(case.answer, weights=weights))


def weights_beyond_budget(rng: np.random.Generator, seed: int) -> bool:
    case = removal_case(seed)
    kept = (1 - case.arguments["outlier_fraction"]) * rng.uniform(0.1, 0.999)
    weights = case.answer.weights * kept * case.X.shape[0] / case.answer.weights.sum()
    return case.accepts(replace(case.answer, weights=weights))


def weights_of_another_answer(rng: np.random.Generator, seed: int) -> bool:
    case = removal_case(seed)
    weights = np.minimum(case.answer.weights + rng.random(case.X.shape[0]), 1)
    gram = weighted_second_moment(case.X, weights, n_rows=case.X.shape[0])[0]
    true = worst_direction(gram, tolerance=1e-3, **case.radii)
    claim = min(case.answer.variance_upper, true.lower / excess(rng))
    return case.accepts(replace(case.answer, weights=weights, variance_upper=claim))


def false_removal_status(rng: np.random.Generator, seed: int) -> bool:
    case = removal_case(seed)
    statuses = ["tightest", "feasible", "infeasible", "undecided"]
    status = other_status(rng, case.answer.status, statuses)
    return case.accepts(replace(case.answer, status=status))  # type: ignore[arg-type]


def long_removal_direction(rng: np.random.Generator, seed: int) -> bool:
    case = removal_case(seed)
    stretch = 10.0 ** rng.uniform(1, 250)
    claim = min(case.high * stretch, 1e300)
    return case.accepts(
        replace(case.answer, variance_lower=claim, direction=case.answer.direction * stretch)
    )


def removal_without_number(rng: np.random.Generator, seed: int) -> bool:
    case = removal_case(seed)
    field = str(rng.choice(["variance_lower", "variance_upper", "optimum_lower"]))
    bad = -math.inf if field == "variance_upper" else math.inf
    return case.accepts(replace(case.answer, **{field: rng.choice([math.nan, bad])}))


def a_dirty_row_counted_whole(rng: np.random.Generator, seed: int) -> bool:
    """One feature: the optimum is known exactly, and the budget cuts a large row in two."""
    n = int(rng.integers(5, 60)) + seed
    n_dirty = int(rng.integers(1, n // 2))
    X = rng.uniform(0.5, 1, (n, 1))
    X[:n_dirty] *= 10.0 ** rng.integers(1, 150)
    fraction = (n_dirty - rng.uniform(0.05, 0.95)) / n
    scores = np.sort(np.square(X[:, 0]))
    rounded_up = float(scores[: n - n_dirty + 1].sum()) / n
    factor = np.ones((1, int(rng.integers(1, 3))))
    factor[:, 1:] = 0
    return proves_optimum(
        rounded_up, X, factor, l2_radius=1.0, l1_radius=1.0, outlier_fraction=fraction
    )


def raised_hinge_bound(rng: np.random.Generator, seed: int) -> bool:
    case = hinge_case(seed)
    claim = case.answer.loss + 10.0 ** rng.uniform(-6, 2)
    return case.accepts(replace(case.answer, lower_bound=claim))


def raised_hinge_bound_with_another_dual(rng: np.random.Generator, seed: int) -> bool:
    case = hinge_case(seed)
    dual = case.answer.dual + rng.standard_normal(case.y.size) * 10.0 ** rng.uniform(-3, 3)
    claim = case.answer.loss * (1 + 1e-6)
    return case.accepts(replace(case.answer, lower_bound=claim, dual=dual))


def lowered_hinge_loss(rng: np.random.Generator, seed: int) -> bool:
    case = hinge_case(seed)
    return case.accepts(replace(case.answer, loss=case.answer.loss * rng.uniform(0, 0.999)))


def hinge_point_outside(rng: np.random.Generator, seed: int) -> bool:
    case = hinge_case(seed)
    point = case.answer.point * (1 + 10.0 ** rng.uniform(-5, 3))
    point[0] += 1e-5
    l1_norm, l2_norm = np.abs(point).sum(), np.linalg.norm(point)
    if l1_norm <= 1.4 * (1 + 1e-6) and l2_norm <= 1 + 1e-6:
        point *= 1.001 * min(1.4 / l1_norm, 1 / l2_norm) + 1
    margins = case.y * (case.X @ point) / case.arguments["hinge_scale"]
    loss = float(np.maximum(1 - margins, 0).mean())
    close = loss - case.answer.lower_bound <= 1e-3
    status = "converged" if close else "undecided"
    return case.accepts(replace(case.answer, point=point, loss=loss, status=status))


def false_hinge_status(rng: np.random.Generator, seed: int) -> bool:
    case = hinge_case(seed)
    status = other_status(rng, case.answer.status, ["converged", "undecided"])
    return case.accepts(replace(case.answer, status=status))  # type: ignore[arg-type]


def hinge_without_number(rng: np.random.Generator, seed: int) -> bool:
    case = hinge_case(seed)
    field = str(rng.choice(["loss", "lower_bound"]))
    return case.accepts(replace(case.answer, **{field: rng.choice([math.nan, math.inf])}))


FORGERIES: list[Forgery] = [
    raised_lower,
    lowered_upper,
    tampered_multiplier,
    asymmetric_multiplier,
    asymmetric_lifted,
    indefinite_lifted,
    long_direction,
    direction_without_number,
    witness_without_number,
    false_direction_status,
    converged_from_afar,
    raised_variance,
    lowered_variance,
    lowered_variance_with_another_multiplier,
    raised_optimum,
    false_infeasibility,
    false_feasibility,
    raised_optimum_with_a_large_factor,
    weights_beyond_one,
    weights_beyond_budget,
    weights_of_another_answer,
    false_removal_status,
    long_removal_direction,
    removal_without_number,
    a_dirty_row_counted_whole,
    raised_hinge_bound,
    raised_hinge_bound_with_another_dual,
    lowered_hinge_loss,
    hinge_point_outside,
    false_hinge_status,
    hinge_without_number,
]


def accepted_forgeries(forge: Forgery, seeds: range) -> list[int]:
    """The seeds whose forgery was accepted."""
    return [seed for seed in seeds if forge(np.random.default_rng([seed, 7]), seed % N_CASES)]


def test_listing_accepted_forgeries_finds_an_accepted_one() -> None:
    def no_forgery(rng: np.random.Generator, seed: int) -> bool:  # noqa: ARG001
        return seed == 2

    assert accepted_forgeries(no_forgery, range(5)) == [2]


@pytest.mark.parametrize("forge", FORGERIES, ids=lambda forge: forge.__name__)
def test_forgeries_of_each_kind_are_refused(forge: Forgery) -> None:
    assert accepted_forgeries(forge, range(5)) == []


@pytest.mark.slow
@pytest.mark.parametrize("forge", FORGERIES, ids=lambda forge: forge.__name__)
def test_a_thousand_forgeries_are_refused(forge: Forgery) -> None:
    n_each = -(-1000 // len(FORGERIES))
    assert accepted_forgeries(forge, range(5, 5 + n_each)) == []


# -- sparse matrices ---------------------------------------------------------------------------


def sparse_pair(seed: int) -> tuple[sp.csr_array, sp.csr_array]:
    """The sparse second moment of scattered entries, and its clip."""
    rng = np.random.default_rng(seed)
    rows = np.where(rng.random((12, 40)) < 0.15, rng.standard_normal((12, 40)), 0.0)
    gram = sp.csr_array(rows.T @ rows / 12)
    multiplier = gram.copy()
    multiplier.data = np.clip(gram.data, -0.05, 0.05)
    return gram, multiplier


@pytest.mark.parametrize("seed", range(5))
def test_a_sparse_upper_bound_is_accepted_where_it_holds_and_nowhere_below(seed: int) -> None:
    gram, multiplier = sparse_pair(seed)
    radii = {"l2_radius": 1.0, "l1_radius": 2.0}
    remainder = (gram - multiplier).toarray()
    base, largest = 4 * 0.05, np.linalg.eigvalsh(remainder)[-1]
    without_signs = np.linalg.eigvalsh(np.abs(remainder))[-1]
    assert proves_upper_bound(base + 1.01 * without_signs, gram, multiplier, **radii)
    assert not proves_upper_bound(base + 0.999 * largest, gram, multiplier, **radii)
    assert not proves_upper_bound(0.999 * base, gram, multiplier, **radii)


def test_sparse_and_dense_matrices_prove_the_same_lower_bound() -> None:
    gram, _ = sparse_pair(0)
    radii = {"l2_radius": 1.0, "l1_radius": 1.0}
    direction = np.eye(40)[int(gram.diagonal().argmax())]
    value = float(gram.diagonal().max())
    for matrix in (gram, gram.toarray()):
        assert proves_lower_bound(value * (1 - 1e-12), matrix, direction, **radii)
        assert not proves_lower_bound(value * (1 + 1e-12), matrix, direction, **radii)


def test_sparse_matrices_that_are_not_symmetric_or_meet_dense_ones_prove_nothing() -> None:
    gram, multiplier = sparse_pair(0)
    radii = {"l2_radius": 1.0, "l1_radius": 2.0}
    claim = 1e6
    assert proves_upper_bound(claim, gram, multiplier, **radii)
    assert not proves_upper_bound(claim, sp.csr_array(sp.triu(gram)), multiplier, **radii)
    assert not proves_upper_bound(claim, gram, sp.csr_array(sp.triu(multiplier)), **radii)
    assert not proves_upper_bound(claim, gram.toarray(), multiplier, **radii)
    assert not proves_upper_bound(claim, gram, multiplier[:39, :39], **radii)
    spoiled = multiplier.copy()
    spoiled.data[0] = np.nan
    assert not proves_upper_bound(claim, gram, spoiled, **radii)


@pytest.mark.parametrize("seed", range(3))
def test_a_sparse_second_moment_is_the_dense_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = sp.csr_array(np.where(rng.random((30, 20)) < 0.2, rng.standard_normal((30, 20)), 0.0))
    weights = rng.random(30)
    dense, error = weighted_second_moment(rows, weights, n_rows=40)
    sparse, other = weighted_second_moment(rows, weights, n_rows=40, sparse=True)
    assert sp.issparse(sparse)
    np.testing.assert_allclose(sparse.toarray(), dense, rtol=0, atol=error + other)
