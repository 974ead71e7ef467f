"""Arrays of other libraries: worked on where they are, with the answers that NumPy's give."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from elsewhere import LIBRARIES, put, same_place
from thresher import arrays, remove_outliers
from thresher.arrays import DeviceRows, column_products, is_foreign, on_host, put_rows, to_host
from thresher.certificates import accepts_hinge, accepts_removal, accepts_worst_direction
from thresher.geometry import balls
from thresher.outliers import certify_weights, find_weights, trust_every_row
from thresher.solvers import minimize_hinge, moment, worst_direction, worst_direction_of_rows
from thresher.solvers.eigen import top_eigenpair
from thresher.streaming import StreamedRows

library = pytest.mark.parametrize("library", LIBRARIES)
BUDGET: dict[str, Any] = {"l2_radius": 1.0, "l1_radius": 2.0, "outlier_fraction": 0.06}


def rows_with_planted(n: int, d: int) -> np.ndarray:
    """Gaussian rows, one in twenty of which points the same way."""
    rows = np.random.default_rng(3).standard_normal((n, d))
    rows[: n // 20] = [3.0, -3.0] + [0.0] * (d - 2)
    return rows


# -- the three functions --------------------------------------------------------------------------


@library
@pytest.mark.parametrize(
    ("limit", "n_features"),
    [(None, 140), (2.0, 20), (0.5, 20)],
    ids=["tightest", "feasible", "infeasible"],
)
def test_outliers_are_removed_where_the_rows_are(
    library: str, limit: float | None, n_features: int
) -> None:
    rows = rows_with_planted(300, n_features)
    given = put(library, rows)
    answer = remove_outliers(given, max_variance=limit, **BUDGET)
    expected = remove_outliers(rows, max_variance=limit, **BUDGET)
    for array in (answer.weights, answer.direction, answer.multiplier, answer.factor):
        assert same_place(array, given)
    assert answer.status == expected.status
    # NumPy's search works in single precision, which shows in the weights of borderline rows.
    np.testing.assert_allclose(to_host(answer.weights), expected.weights, atol=1e-3)
    assert answer.variance_upper == pytest.approx(expected.variance_upper, rel=1e-3)
    assert accepts_removal(rows, on_host(answer), max_variance=limit, **BUDGET)


@library
def test_rows_out_of_scale_are_given_up_where_they_are(library: str) -> None:
    rows = rows_with_planted(60, 8)
    rows[7] = 1e12
    answer = remove_outliers(put(library, rows), **BUDGET)
    assert answer.status == "tightest"
    assert to_host(answer.weights)[7] == 0
    assert accepts_removal(rows, on_host(answer), **BUDGET)


@library
@pytest.mark.parametrize("n_features", [8, 40])
def test_rows_that_stay_on_the_host_are_streamed(library: str, n_features: int) -> None:
    rows = rows_with_planted(100, n_features)
    rows[7] = 1e12
    example = put(library, np.zeros(1))
    streamed = StreamedRows(rows, example, block_bytes=30 * 8 * n_features)
    answer = remove_outliers(streamed, **BUDGET)
    at_once = remove_outliers(put(library, rows), **BUDGET)
    assert same_place(answer.weights, example)
    assert answer.status == at_once.status
    np.testing.assert_allclose(to_host(answer.weights), to_host(at_once.weights), atol=1e-6)
    assert accepts_removal(rows, on_host(answer), **BUDGET)


@library
def test_streamed_rows_are_copied_in_blocks_that_cover_all(library: str) -> None:
    rows = rows_with_planted(10, 3)
    streamed = StreamedRows(rows, put(library, np.zeros(1)), block_bytes=4 * 24)
    blocks = [(part, to_host(block)) for part, block in streamed.blocks()]
    assert [len(block) for _, block in blocks] == [4, 4, 2]
    assert all(np.array_equal(rows[part], block) for part, block in blocks)
    places = np.array([9, 0, 4, 4, 2])
    chosen = np.concatenate([to_host(block) for _, block in streamed.blocks(places)])
    assert np.array_equal(chosen, rows[places])
    assert list(streamed.blocks(places[:0])) == []
    columns = put(library, np.eye(3))
    np.testing.assert_allclose(to_host(streamed @ columns), rows)


def test_streamed_rows_are_checked_as_others_are() -> None:
    rows = rows_with_planted(10, 3)
    rows[3, 2] = np.nan
    with pytest.raises(ValueError, match=r"X must be finite, but X\[3, 2\] is nan"):
        remove_outliers(StreamedRows(rows, put("array_api_strict", np.zeros(1))), **BUDGET)
    words = StreamedRows(np.array([["a"]]), put("array_api_strict", np.zeros(1)))
    with pytest.raises(TypeError, match="X must hold real numbers"):
        remove_outliers(words, **BUDGET)


@library
def test_weights_are_found_and_certified_where_the_rows_are(library: str) -> None:
    rows = rows_with_planted(100, 10)
    given = put(library, rows)
    weights = find_weights(given, **BUDGET)
    assert same_place(weights, given)
    answer = certify_weights(given, weights, **BUDGET)
    again = certify_weights(given, weights, directions=answer.factor, **BUDGET)
    assert again.variance_upper == pytest.approx(answer.variance_upper, rel=1e-6)
    assert accepts_removal(rows, on_host(again), **BUDGET)
    assert same_place(trust_every_row(given, l2_radius=1.0).weights, given)


@library
@pytest.mark.parametrize("tolerance", [0.3, 1e-2], ids=["clipping", "first-order"])
def test_the_worst_direction_is_found_where_the_matrix_is(library: str, tolerance: float) -> None:
    rows = rows_with_planted(60, 10)
    gram = rows.T @ rows / 60
    radii = {"l2_radius": 2.0, "l1_radius": 5.0}
    given = put(library, gram)
    answer = worst_direction(given, tolerance=tolerance, **radii)
    expected = worst_direction(gram, tolerance=tolerance, **radii)
    assert same_place(answer.multiplier, given)
    assert same_place(answer.lifted, given)
    assert answer.status == expected.status == "converged"
    assert answer.upper == pytest.approx(expected.upper, rel=1e-6)
    assert accepts_worst_direction(gram, on_host(answer), tolerance=tolerance, **radii)
    warm = worst_direction(given, tolerance=tolerance, warm_start=answer, **radii)
    assert warm.lower >= answer.lower * (1 - 1e-8)
    of_rows = worst_direction_of_rows(put(library, rows), tolerance=tolerance, **radii)
    assert of_rows.upper == pytest.approx(answer.upper, rel=1e-6)


@library
def test_the_hinge_is_minimized_where_the_rows_are(library: str) -> None:
    rng = np.random.default_rng(5)
    rows = rng.standard_normal((120, 12))
    labels = np.where(rows[:, 0] + 0.5 * rng.standard_normal(120) > 0, 1.0, -1.0)
    weights = rng.random(120) * (rng.random(120) > 0.1)
    problem: dict[str, Any] = {"l2_radius": 1.0, "l1_radius": 2.0, "hinge_scale": 0.5}
    given = put(library, rows)
    shared = {"center": np.zeros(12), "tolerance": 1e-4, **problem}
    answer = minimize_hinge(given, put(library, labels), sample_weight=weights, **shared)
    expected = minimize_hinge(rows, labels, sample_weight=weights, **shared)
    assert same_place(answer.point, given)
    assert same_place(answer.dual, given)
    assert answer.status == expected.status == "converged"
    np.testing.assert_allclose(to_host(answer.point), expected.point, atol=1e-9)
    probabilities = weights / weights.max()
    probabilities /= probabilities.sum()
    assert accepts_hinge(rows, labels, on_host(answer), sample_weight=probabilities, **shared)
    again = minimize_hinge(given, labels, sample_weight=weights, warm_start=answer, **shared)
    assert again.n_iterations <= answer.n_iterations


@library
def test_what_is_wrong_is_named_for_foreign_arrays_too(library: str) -> None:
    rows = rows_with_planted(20, 5)
    rows[3, 2] = np.nan
    with pytest.raises(ValueError, match=r"X must be finite, but X\[3, 2\] is nan"):
        remove_outliers(put(library, rows), **BUDGET)
    with pytest.raises(ValueError, match="X must have two dimensions"):
        remove_outliers(put(library, np.ones(3)), **BUDGET)
    with pytest.raises(ValueError, match="gram must be symmetric"):
        worst_direction(put(library, np.triu(np.ones((3, 3)))), l2_radius=1, l1_radius=1)
    with pytest.raises(ValueError, match=r"X\[0, 0\] has magnitude 1e\+150"):
        remove_outliers(put(library, np.full((20, 5), 1e150)), **BUDGET)
    with pytest.raises(ValueError, match=r"gram\[0, 0\] has magnitude 1e\+250"):
        worst_direction(put(library, np.full((3, 3), 1e250)), l2_radius=1, l1_radius=1)


def test_numbers_that_are_not_real_are_refused() -> None:
    strict = pytest.importorskip("array_api_strict")
    with pytest.raises(TypeError, match="X must hold real numbers"):
        remove_outliers(strict.asarray(np.ones((4, 2), dtype=complex)), **BUDGET)


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    given = put("array_api_strict", np.ones((3, 2)))
    monkeypatch.setitem(sys.modules, "array_api_compat", None)
    monkeypatch.setattr(arrays, "_namespaces", {})
    with pytest.raises(ImportError, match=r"pip install 'thresher\[gpu\]'"):
        arrays.namespace_of(given)


# -- their parts ----------------------------------------------------------------------------------


@library
def test_products_of_columns_are_symmetric_to_the_bit(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrays, "FEW_COLUMNS", 4)
    rows = rows_with_planted(30, 21)
    gram = to_host(column_products(put(library, rows)))
    np.testing.assert_allclose(gram, rows.T @ rows, atol=1e-12)
    assert np.array_equal(gram, gram.T)


@library
@pytest.mark.parametrize("l1_radius", [0.5, 1.5, 4.0, 9.0])
def test_the_farthest_points_of_a_region_are_found_on_a_device(
    library: str, l1_radius: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(balls, "FEW_ENTRIES", 0)
    vectors = np.random.default_rng(0).standard_normal((5, 30))
    vectors[0, 3], vectors[1, 3:7] = 50.0, 4.0
    points = balls.support_points(put(library, vectors), 2.0, 2 * l1_radius)
    expected = balls.support_points(vectors, 2.0, 2 * l1_radius)
    np.testing.assert_allclose(to_host(points), expected, atol=1e-12)


@library
def test_weights_are_the_same_wherever_they_are_balanced(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = put(library, rows_with_planted(60, 8))
    on_the_host = find_weights(given, **BUDGET)
    monkeypatch.setattr(moment, "FEW_ROWS", 0)
    elsewhere = find_weights(given, **BUDGET)
    np.testing.assert_allclose(to_host(elsewhere), to_host(on_the_host), atol=1e-9)


@library
def test_the_largest_eigenvalue_is_found_on_a_device(library: str) -> None:
    rows = rows_with_planted(300, 140)
    gram = rows.T @ rows / 300
    largest, vector = top_eigenpair(put(library, gram), n_steps=28)
    assert largest == pytest.approx(np.linalg.eigvalsh(gram)[-1], rel=1e-9)
    np.testing.assert_allclose(gram @ vector, largest * vector, atol=1e-6)
    assert top_eigenpair(put(library, 0 * gram))[0] == 0


@library
def test_rows_are_put_in_their_places(library: str) -> None:
    before, rows = np.arange(12.0).reshape(4, 3), -np.arange(9.0).reshape(3, 3)
    places, chosen = np.array([3, 1]), np.array([0, 2])
    after = to_host(put_rows(put(library, before), places, put(library, rows), chosen))
    assert np.array_equal(after, put_rows(before.copy(), places, rows, chosen))
    untouched = put_rows(put(library, before), places[:0], put(library, rows), chosen[:0])
    assert np.array_equal(to_host(untouched), before)


@library
def test_device_rows_are_rows_to_a_solver(library: str) -> None:
    rows = rows_with_planted(9, 5)
    given, v, w = DeviceRows(put(library, rows)), np.arange(5.0), np.arange(9.0)
    assert given.shape == given.T.T.shape == (9, 5)
    assert given.nbytes == rows.nbytes
    np.testing.assert_allclose(given @ v, rows @ v)
    np.testing.assert_allclose(given.T @ w, rows.T @ w)
    np.testing.assert_allclose(abs(given[2:99]).T @ w[2:], abs(rows[2:]).T @ w[2:])
    np.testing.assert_allclose(given[w > 4] @ v, rows[w > 4] @ v)
    places = np.ix_([1, 7], [0, 3])
    np.testing.assert_allclose(given[places] @ v[:2], rows[places] @ v[:2])
    np.testing.assert_allclose(given.squared_norms(), (rows**2).sum(axis=1))


def test_arrays_of_numpy_stay_themselves() -> None:
    rows = np.ones((3, 2))
    assert not is_foreign(rows)
    assert arrays.namespace_of(rows) is np
    assert to_host(rows) is rows
    assert arrays.like(rows, rows) is rows
