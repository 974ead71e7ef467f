"""Certified hinge minimisation: proofs first, then limits, invariances and references."""

from __future__ import annotations

import signal
from dataclasses import replace
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from thresher.certificates import accepts_hinge, proves_hinge_bound
from thresher.geometry import project_l1_l2, support_l1_l2
from thresher.geometry.balls import project_onto_unit_region, unit_support
from thresher.solvers.hinge import HingeMinimum, minimize_hinge

Problem = tuple[Any, np.ndarray, dict[str, Any]]


def random_problem(seed: int) -> Problem:
    """Rows of many shapes and kinds, in the region and at the scale of one of 15 phases."""
    rng = np.random.default_rng(seed)
    m, d = int(rng.choice([1, 2, 5, 20, 60, 150])), int(rng.choice([1, 2, 7, 30, 100]))
    X = rng.standard_normal((m, d))
    kind = seed % 5
    if kind == 1:
        X *= rng.random((m, d)) < 0.2
    elif kind == 2:
        X = X[rng.integers(0, m, m)]
    elif kind == 3:
        X = rng.laplace(size=(m, d))
    target = rng.standard_normal(d) * (rng.random(d) < 0.3)
    y = np.where(X @ target >= 0, 1.0, -1.0)  # separable, and all equal where the target is 0
    y[rng.random(m) < rng.choice([0.0, 0.1, 0.5])] *= -1
    radius = 2.0 ** -(seed % 15 + 1)
    center = target / max(np.linalg.norm(target), 1.0) if rng.random() < 0.5 else np.zeros(d)
    arguments = {
        "center": center,
        "l2_radius": radius,
        "l1_radius": radius * rng.choice([0.5, 1.0, 1.5, (d / 3 + 1) ** 0.5, 2 * d**0.5]),
        "hinge_scale": radius * rng.choice([0.25, 1.0, 4.0]),
        "sample_weight": None if rng.random() < 0.5 else rng.random(m) * (rng.random(m) < 0.8),
    }
    if arguments["sample_weight"] is not None:
        arguments["sample_weight"][0] = 1.0
    return (sp.csr_array(X) if rng.random() < 0.3 else X), y, arguments


def noisy_problem(n_rows: int = 200, n_features: int = 40, seed: int = 0) -> Problem:
    """Gaussian rows, a target of 4 features and 10 % flipped labels: the loss stays above 0."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features))
    y = np.where(X[:, :4].sum(axis=1) >= 0, 1.0, -1.0)
    y[rng.random(n_rows) < 0.1] *= -1
    region = {"center": np.zeros(n_features), "l2_radius": 1.0, "l1_radius": 2.0}
    return X, y, {**region, "hinge_scale": 0.5, "sample_weight": None}


def accepts(X: Any, y: Any, answer: Any, *, tolerance: float = 1e-3, **arguments: Any) -> bool:
    """Whether the independent checker accepts the whole answer."""
    if arguments.get("sample_weight") is None:
        arguments["sample_weight"] = np.ones(X.shape[0])
    return accepts_hinge(X, y, answer, tolerance=tolerance, **arguments)


def reference_minimum(X: Any, y: np.ndarray, arguments: dict[str, Any]) -> float:
    """The minimum by a generic cone solver, on the problem divided by the l2 radius."""
    X = X.toarray() if sp.issparse(X) else X
    radius, scale = arguments["l2_radius"], arguments["hinge_scale"]
    weights = arguments["sample_weight"]
    weights = np.ones(y.size) if weights is None else weights
    offset = cp.Variable(X.shape[1])
    margins = y * (X @ arguments["center"]) / scale + (y[:, None] * X * radius / scale) @ offset
    ratio = arguments["l1_radius"] / radius
    problem = cp.Problem(
        cp.Minimize((weights / weights.sum()) @ cp.pos(1 - margins)),
        [cp.norm(offset, 2) <= 1, cp.norm(offset, 1) <= ratio],
    )
    return float(problem.solve(solver="CLARABEL"))


def check_random_problem(seed: int) -> None:
    X, y, arguments = random_problem(seed)
    answer = minimize_hinge(X, y, **arguments)
    assert answer.status == "converged"
    assert accepts(X, y, answer, **arguments)
    assert np.all((answer.dual >= 0) & (answer.dual <= 1))


@pytest.mark.parametrize("seed", range(60))
def test_every_answer_to_a_random_problem_is_proven(seed: int) -> None:
    check_random_problem(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60, 360))
def test_every_answer_to_three_hundred_random_problems_is_proven(seed: int) -> None:
    check_random_problem(seed)


@pytest.mark.parametrize("seed", range(12))
def test_the_minimum_of_a_cone_solver_lies_in_the_certified_interval(seed: int) -> None:
    X, y, arguments = random_problem(seed)
    answer = minimize_hinge(X, y, **arguments)
    minimum = reference_minimum(X, y, arguments)
    assert answer.lower_bound - 1e-6 <= minimum <= answer.loss + 1e-6


def test_a_tighter_tolerance_gives_a_tighter_proof() -> None:
    X, y, arguments = noisy_problem()
    answer = minimize_hinge(X, y, tolerance=1e-7, **arguments)
    assert answer.status == "converged"
    assert answer.gap <= 1e-7
    assert accepts(X, y, answer, tolerance=1e-7, **arguments)
    assert abs(answer.loss - reference_minimum(X, y, arguments)) < 1e-6


def forgeries(answer: HingeMinimum, X: Any, y: Any, arguments: dict[str, Any]) -> list[Any]:
    """Answers that differ from a true one in a single respect."""
    center, radius = arguments["center"], arguments["l2_radius"]
    beyond = center + 1.01 * radius * np.eye(center.size)[0]
    hinge = np.maximum(1 - y * (X @ beyond) / arguments["hinge_scale"], 0)
    other = "undecided" if answer.status == "converged" else "converged"
    return [
        replace(answer, lower_bound=answer.lower_bound + 1e-3),
        replace(answer, lower_bound=float("nan")),
        replace(answer, loss=answer.loss - 1e-4),
        replace(answer, point=beyond, loss=float(hinge.mean())),
        replace(answer, status=other),
    ]


@pytest.mark.parametrize("seed", range(20))
def test_forged_answers_are_refused(seed: int) -> None:
    X, y, arguments = noisy_problem(seed=seed)
    answer = minimize_hinge(X, y, **arguments)
    assert accepts(X, y, answer, **arguments)
    for forged in forgeries(answer, X, y, arguments):
        assert not accepts(X, y, forged, **arguments)


def test_a_random_dual_vector_does_not_prove_the_bound() -> None:
    X, y, arguments = noisy_problem()
    answer = minimize_hinge(X, y, **arguments)
    random = np.random.default_rng(1).random(y.size)
    proof = {**arguments, "sample_weight": np.ones(y.size)}
    assert proves_hinge_bound(answer.lower_bound, X, y, answer.dual, **proof)
    assert not proves_hinge_bound(answer.lower_bound, X, y, random, **proof)


def test_weights_mean_the_same_as_repeated_rows() -> None:
    X, y, arguments = noisy_problem(n_rows=60)
    counts = np.random.default_rng(1).integers(0, 4, y.size)
    repeated = minimize_hinge(X.repeat(counts, axis=0), y.repeat(counts), **arguments)
    arguments["sample_weight"] = counts
    weighted = minimize_hinge(X, y, **arguments)
    assert weighted.lower_bound <= repeated.loss
    assert repeated.lower_bound <= weighted.loss
    np.testing.assert_allclose(
        np.average(np.maximum(1 - y * (X @ repeated.point) / 0.5, 0), weights=counts),
        repeated.loss,
    )


def test_rows_without_weight_do_not_matter_whatever_they_hold() -> None:
    X, y, arguments = noisy_problem()
    expected = minimize_hinge(X, y, **arguments)
    arguments["sample_weight"] = np.append(np.ones(y.size), 0.0)
    with_junk = minimize_hinge(
        np.vstack([X, np.full(X.shape[1], 1e300)]), np.append(y, 1.0), **arguments
    )
    assert with_junk.loss == pytest.approx(expected.loss, abs=1e-12)
    assert with_junk.dual[-1] == 0


def test_dense_and_sparse_rows_give_the_same_answer() -> None:
    X, y, arguments = noisy_problem()
    X *= np.random.default_rng(1).random(X.shape) < 0.3
    dense, sparse = (
        minimize_hinge(X, y, **arguments),
        minimize_hinge(sp.csr_array(X), y, **arguments),
    )
    assert sparse.loss == pytest.approx(dense.loss, abs=1e-9)
    assert sparse.lower_bound == pytest.approx(dense.lower_bound, abs=1e-9)


def test_a_matrix_of_the_old_sparse_interface_is_accepted() -> None:
    X, y, arguments = noisy_problem()
    assert minimize_hinge(sp.csr_matrix(X), y, **arguments).status == "converged"


def assert_same_minimum(first: HingeMinimum, second: HingeMinimum) -> None:
    assert first.lower_bound <= second.loss
    assert second.lower_bound <= first.loss
    assert abs(first.loss - second.loss) <= 1e-3


def test_comparing_minima_fails_on_different_ones() -> None:
    X, y, arguments = noisy_problem()
    answer = minimize_hinge(X, y, **arguments)
    with pytest.raises(AssertionError):
        assert_same_minimum(
            answer, replace(answer, loss=answer.loss + 1, lower_bound=answer.loss + 0.9)
        )


def test_permuting_features_permutes_the_answer() -> None:
    X, y, arguments = noisy_problem()
    order = np.random.default_rng(1).permutation(X.shape[1])
    answer, permuted = (
        minimize_hinge(X, y, **arguments),
        minimize_hinge(X[:, order], y, **arguments),
    )
    assert_same_minimum(answer, permuted)
    np.testing.assert_allclose(permuted.point, answer.point[order], atol=1e-6)


def test_negating_features_and_flipping_labels_negates_nothing_but_signs() -> None:
    X, y, arguments = noisy_problem()
    signs = np.random.default_rng(1).choice([-1.0, 1.0], X.shape[1])
    answer = minimize_hinge(X, y, **arguments)
    negated = minimize_hinge(X * signs, y, **arguments)
    flipped = minimize_hinge(X, -y, **arguments)
    assert negated.loss == pytest.approx(answer.loss, abs=1e-9)
    np.testing.assert_allclose(negated.point, answer.point * signs, atol=1e-9)
    np.testing.assert_allclose(flipped.point, -answer.point, atol=1e-9)


@pytest.mark.parametrize("phase", range(1, 16))
def test_shrinking_radii_and_scale_together_changes_nothing_around_the_origin(phase: int) -> None:
    X, y, arguments = noisy_problem()
    expected = minimize_hinge(X, y, **arguments)
    shrink = 2.0**-phase
    for name in ("l2_radius", "l1_radius", "hinge_scale"):
        arguments[name] *= shrink
    answer = minimize_hinge(X, y, **arguments)
    assert answer.loss == expected.loss
    np.testing.assert_array_equal(answer.point, expected.point * shrink)


def test_the_same_problem_gives_the_same_bits() -> None:
    X, y, arguments = noisy_problem()
    first, second = minimize_hinge(X, y, **arguments), minimize_hinge(X, y, **arguments)
    assert first.point.tobytes() == second.point.tobytes()
    assert first.dual.tobytes() == second.dual.tobytes()


def test_solving_again_from_the_answer_takes_no_more_iterations() -> None:
    X, y, arguments = noisy_problem()
    first = minimize_hinge(X, y, **arguments)
    again = minimize_hinge(X, y, warm_start=first, **arguments)
    assert again.n_iterations <= first.n_iterations / 10
    assert accepts(X, y, again, **arguments)


def test_a_warm_start_from_another_problem_is_proven_as_well() -> None:
    X, y, arguments = noisy_problem()
    other = minimize_hinge(*noisy_problem(n_rows=50, seed=3)[:2], **arguments)
    arguments["l2_radius"], arguments["l1_radius"] = 0.3, 0.5
    for warm in (
        other,
        replace(other, point=np.full(X.shape[1], 1e308), dual=np.full(y.size, 9.0)),
    ):
        answer = minimize_hinge(X, y, warm_start=warm, **arguments)
        assert answer.status == "converged"
        assert accepts(X, y, answer, **arguments)


def test_a_warm_start_must_be_an_answer_with_as_many_features() -> None:
    X, y, arguments = noisy_problem()
    answer = minimize_hinge(X, y, **arguments)
    with pytest.raises(TypeError, match="warm_start must be a HingeMinimum"):
        minimize_hinge(X, y, warm_start=answer.point, **arguments)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"warm_start\.point must have length 40"):
        minimize_hinge(X, y, warm_start=replace(answer, point=answer.point[:3]), **arguments)


def test_without_iterations_the_answer_is_undecided_and_proven() -> None:
    X, y, arguments = noisy_problem()
    for max_iterations in (0, 1, 5):
        answer = minimize_hinge(X, y, max_iterations=max_iterations, **arguments)
        assert answer.status == "undecided"
        assert answer.n_iterations == max_iterations
        assert accepts(X, y, answer, **arguments)


def test_a_tolerance_below_rounding_ends_undecided() -> None:
    X, y, arguments = noisy_problem(n_rows=40, n_features=5)
    answer = minimize_hinge(X, y, tolerance=1e-300, max_iterations=500, **arguments)
    assert answer.status == "undecided"
    assert 0 <= answer.gap < 1e-6
    assert accepts(X, y, answer, tolerance=1e-300, **arguments)


def test_rows_of_zeros_lose_exactly_one() -> None:
    answer = minimize_hinge(
        np.zeros((3, 2)), [1, -1, 1], center=[1, 0], l2_radius=1, l1_radius=1, hinge_scale=1
    )
    assert (answer.loss, answer.status) == (1.0, "converged")
    assert answer.lower_bound == pytest.approx(1.0, abs=1e-8)


def test_one_row_is_moved_by_the_support_function() -> None:
    x = np.array([3.0, -1.0, 0.5])
    value, _ = support_l1_l2(x, l2_radius=0.1, l1_radius=0.12)
    answer = minimize_hinge(
        x[None],
        [1],
        center=np.zeros(3),
        l2_radius=0.1,
        l1_radius=0.12,
        hinge_scale=1,
        tolerance=1e-8,
    )
    assert answer.status == "converged"
    assert answer.loss == pytest.approx(1 - value, abs=1e-8)


def test_separable_rows_lose_nothing() -> None:
    X, _, arguments = noisy_problem()
    y = np.where(X[:, 0] >= 0, 1.0, -1.0)
    X[:, 0] = y * np.maximum(np.abs(X[:, 0]), 0.1)
    arguments["hinge_scale"] = 0.05
    answer = minimize_hinge(X, y, **arguments)
    assert answer.status == "converged"
    assert answer.loss <= 1e-3
    assert answer.lower_bound == 0


def test_a_radius_below_the_rounding_of_the_center_stays_inside() -> None:
    X, y, arguments = noisy_problem()
    arguments |= {"center": np.full(X.shape[1], 1e10 / 3), "l2_radius": 1e-5, "l1_radius": 2e-5}
    answer = minimize_hinge(X, y, max_iterations=200, **arguments)
    offset = answer.point - arguments["center"]
    assert np.linalg.norm(offset) <= 1e-5 * (1 + 1e-9)
    assert np.abs(offset).sum() <= 2e-5 * (1 + 1e-9)


def test_an_interrupt_gets_through() -> None:
    X, y, arguments = noisy_problem(n_rows=500, n_features=100)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    previous = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            minimize_hinge(X, y, tolerance=1e-300, max_iterations=10**7, **arguments)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


@pytest.mark.parametrize(
    ("name", "value", "error", "message"),
    [
        ("X", [[1.0, np.nan], [0.0, 1.0]], ValueError, r"X\[0, 1\] is nan"),
        ("X", [[1.0, 2.0], [-np.inf, 1.0]], ValueError, r"X\[1, 0\] is -inf"),
        ("X", np.zeros((0, 2)), ValueError, "X is empty"),
        ("X", [1.0, 2.0], ValueError, "X must have two dimensions"),
        ("X", [["a", "b"], ["c", "d"]], TypeError, "X must hold real numbers"),
        ("X", [[1e300, 1.0], [0.0, 1.0]], ValueError, "X is too large"),
        ("y", [1.0, 0.0], ValueError, r"y\[1\] is 0"),
        ("y", [1.0], ValueError, "y must have length 2"),
        ("center", [0.0], ValueError, "center must have length 2"),
        ("center", [0.0, np.nan], ValueError, r"center\[1\] is nan"),
        ("l2_radius", 0.0, ValueError, "l2_radius must be greater than 0"),
        ("l1_radius", -1.0, ValueError, "l1_radius must be greater than 0"),
        ("l1_radius", "wide", TypeError, "l1_radius must be a number"),
        ("hinge_scale", 0.0, ValueError, "hinge_scale must be greater than 0"),
        ("hinge_scale", np.inf, ValueError, "hinge_scale must be finite"),
        ("sample_weight", [1.0, -1.0], ValueError, r"sample_weight\[1\] is -1"),
        ("sample_weight", [0.0, 0.0], ValueError, "sample_weight must not be all zero"),
        ("sample_weight", [1.0], ValueError, "sample_weight must have length 2"),
        ("tolerance", 0.0, ValueError, "tolerance must be greater than 0"),
        ("tolerance", None, TypeError, "tolerance must be a number"),
        ("max_iterations", -1, ValueError, "max_iterations must be at least 0"),
        ("max_iterations", 1.5, TypeError, "max_iterations must be an integer"),
    ],
)
def test_bad_input_is_named(name: str, value: object, error: type, message: str) -> None:
    arguments: dict[str, Any] = {
        "X": [[1.0, 2.0], [3.0, 4.0]],
        "y": [1, -1],
        "center": [0, 0],
        "l2_radius": 1.0,
        "l1_radius": 1.0,
        "hinge_scale": 1.0,
    }
    with pytest.raises(error, match=message):
        minimize_hinge(**{**arguments, name: value})


any_floats = st.floats(allow_nan=True, allow_infinity=True, width=64)
positive = st.one_of(any_floats, st.floats(1e-6, 1e6), st.sampled_from([1.0, 0.25, 2.0**-15]))


@given(data=st.data())
def test_hostile_input_gives_a_typed_error_or_a_proven_answer(data: st.DataObject) -> None:
    shape = data.draw(array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=5))
    entries = data.draw(st.sampled_from([any_floats, st.floats(-1e3, 1e3), st.floats(-1e99, 1e99)]))
    X = data.draw(arrays(np.float64, shape, elements=entries))
    m, d = (*shape, 1)[:2]
    arguments = {
        "center": data.draw(arrays(np.float64, d, elements=entries)),
        "l2_radius": data.draw(positive),
        "l1_radius": data.draw(positive),
        "hinge_scale": data.draw(positive),
        "sample_weight": data.draw(
            st.none() | arrays(np.float64, m, elements=st.floats(0, 1e300) | any_floats)
        ),
        "tolerance": data.draw(st.just(1e-3) | positive),
    }
    y = data.draw(arrays(np.float64, m, elements=st.sampled_from([-1.0, 1.0])))
    try:
        answer = minimize_hinge(X, y, max_iterations=200, **arguments)
    except (ValueError, TypeError):
        return
    if arguments["sample_weight"] is not None:
        arguments["sample_weight"] = arguments["sample_weight"] / arguments["sample_weight"].max()
    assert np.isfinite(answer.point).all()
    assert np.isfinite(answer.loss)
    assert accepts(X, y, answer, **arguments)


@given(
    v=arrays(
        np.float64, st.integers(1, 8), elements=st.floats(-1e3, 1e3) | st.sampled_from([1, -1])
    ),
    l1_radius=st.floats(0.01, 10) | st.sampled_from([1.0, 2.0**0.5, 3.0**0.5, 2.0]),
)
def test_the_lean_kernels_agree_with_the_public_geometry(v: np.ndarray, l1_radius: float) -> None:
    expected = project_l1_l2(v, l2_radius=1.0, l1_radius=l1_radius)
    np.testing.assert_allclose(project_onto_unit_region(v, l1_radius), expected, atol=1e-9)
    value, _ = support_l1_l2(v, l2_radius=1.0, l1_radius=l1_radius)
    support, _ = unit_support(v, l1_radius)
    assert value * (1 - 1e-12) - 1e-150 <= support <= value * (1 + 1e-7) + 1e-12
