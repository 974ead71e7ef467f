"""Thousands of false claims in every dtype, judged in exact rationals: no checker accepts one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import exact
from exact import WHOLE, Forger, is_beyond, rational, rationals, shifted
from thresher.certificates import (
    EPS,
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
from thresher.outliers import OutlierRemoval
from thresher.solvers import HingeMinimum, WorstDirection


def best_direction(matrix: exact.Matrix, r: Fraction, rho: Fraction) -> np.ndarray:
    """The direction of largest variance that is known, of l2 norm about r."""
    matrix = exact.symmetrized(matrix)
    best = max(exact.directions(matrix), key=lambda v: exact.variance_in(matrix, v, r, rho))
    direction = np.array([float(x) for x in best])
    return direction / np.linalg.norm(direction) * float(r)


# -- one forgery of each kind: None if it is not false, else whether it was accepted -----------


def forged_upper(forger: Forger) -> bool | None:
    d = forger.one_of(1, 2, 3)
    gram, (question, r, rho) = forger.symmetric(d), forger.radii()
    matrix = rationals(gram)
    error, rest = forger.one_of(0.0, 0.0, 0.1, 1e-12), forger.one_of(0.0, 0.0, 0.1, 1e-200)
    worse = [shifted(matrix, Fraction(error), Fraction(error) * k) for k in (0, 1)]
    truth = max(exact.variance_reached(one, r, rho) for one in worse)
    truth = max(truth, min(r, rho) ** 2 * Fraction(rest))
    claim = forger.beyond(truth, -1)
    level = np.abs(gram.astype(float)).max() * forger.rng.random()
    clipped = np.clip(gram.astype(float), -level, level)
    witness = forger.one_of(np.zeros((d, d), gram.dtype), gram, clipped, forger.numbers(d, d))
    if not is_beyond(claim, truth, -1):
        return None
    return proves_upper_bound(claim, gram, witness, gram_error=error, rest=rest, **question)


def forged_lower(forger: Forger) -> bool | None:
    d = forger.one_of(1, 2, 3)
    gram, (question, r, rho) = forger.symmetric(d), forger.radii()
    matrix, error = rationals(gram), forger.one_of(0.0, 0.0, 0.1, 1e-12, 1e-200)
    better = shifted(matrix, -Fraction(error), Fraction(0))
    truth = min(exact.variance_above(one, r, rho) for one in (matrix, better))
    claim, vector = forger.beyond(truth, 1), best_direction(matrix, r, rho)
    vector = vector * forger.one_of(1.0, 1.0, 1 + 1e-9, 1e-170, 1e150)
    outer = np.outer(vector, vector)
    witness = forger.one_of(vector, outer, forger.numbers(d), forger.symmetric(d))
    if not is_beyond(claim, truth, 1):
        return None
    return proves_lower_bound(claim, gram, witness, gram_error=error, **question)


def forged_optimum(forger: Forger) -> bool | None:
    n, d = forger.one_of(1, 2, 3, 6), forger.one_of(1, 1, 2)
    (rows, values), (question, r, rho) = forger.rows(n, d), forger.radii()
    fraction = forger.one_of(0.0, 0.1, 0.25, 1 / 3, 0.5, 0.9)
    truth = exact.optimum_above(values, Fraction(fraction), r, rho)
    claim, shape = forger.beyond(truth, 1), (d, forger.one_of(1, 2, 3))
    simple = question["l2_radius"] * forger.rng.choice([-1.0, 0.0, 1.0], shape)
    factor = forger.one_of(simple, forger.numbers(*shape))
    if not is_beyond(claim, truth, 1):
        return None
    return proves_optimum(claim, rows, factor, outlier_fraction=fraction, **question)


def hinge_question(forger: Forger, n: int, d: int) -> tuple[dict[str, Any], tuple[Any, ...]]:
    """A region, a scale and weights, and the same in exact numbers."""
    question, r, rho = forger.radii()
    center = forger.one_of(forger.numbers(d), np.zeros(d, np.int8))
    weights = forger.one_of(np.abs(forger.numbers(n)), np.ones(n, bool))
    scale = forger.one_of(1.0, 0.25, 1e-7, 1e50) if forger.is_hostile else 0.1 + r
    question |= {"center": center, "sample_weight": weights, "hinge_scale": float(scale)}
    return question, (rationals(weights), Fraction(float(scale)), (rationals(center), r, rho))


def forged_hinge_bound(forger: Forger) -> bool | None:
    n, d = forger.one_of(1, 2, 5), forger.one_of(1, 1, 2)
    (rows, values), (question, given) = forger.rows(n, d), hinge_question(forger, n, d)
    labels = forger.rng.choice([-1, 1], n).astype(forger.one_of("i1", "i8", "f2", "f8"))
    if min(given[0]) < 0 or not any(given[0]):
        return proves_hinge_bound(1e-300, rows, labels, np.ones(n), **question)
    truth = exact.least_hinge_above(values, rationals(labels), *given)
    claim = forger.beyond(truth, 1)
    guess = forger.rng.integers(0, 2, n).astype(forger.one_of(bool, float))
    dual = forger.one_of(guess, np.ones(n), forger.rng.random(n), forger.numbers(n))
    if not is_beyond(claim, truth, 1):
        return None
    return proves_hinge_bound(claim, rows, labels, dual, **question)


def forged_weights(forger: Forger) -> bool | None:
    rng, n = forger.rng, forger.one_of(1, 2, 7, 50, 1000)
    weights = np.minimum(rng.random(n) * forger.one_of(0.5, 1.0, 2.0), 1)
    weights = weights.astype(forger.one_of("f2", "f4", "f8", "longdouble"))
    kept = sum(rationals(weights)) / n
    fraction = min(max(float(1 - kept * (1 + Fraction(10.0 ** rng.uniform(-15, -1)))), 0.0), 0.99)
    if rng.random() < 0.2:
        weights[rng.integers(n)] = forger.one_of(1.01, 2.0, -1.0)
    short = sum(rationals(weights)) < (1 - Fraction(fraction)) * n * (1 - 8 * Fraction(EPS))
    outside = any(not 0 <= q <= 1 for q in rationals(weights))
    return proves_weights(weights, fraction) if short or outside else None


def forged_direction(forger: Forger) -> bool | None:
    d, rng = forger.one_of(1, 2, 3), forger.rng
    gram, (question, r, rho) = forger.symmetric(d), forger.radii()
    matrix = rationals(gram)
    low, high = exact.variance_reached(matrix, r, rho), exact.variance_above(matrix, r, rho)
    lower = forger.beyond(low * (1 - Fraction(10.0**-12)), forger.one_of(-1, 1))
    upper = forger.beyond(high * (1 + Fraction(10.0**-12)), forger.one_of(-1, 1))
    if not np.isfinite([lower, upper]).all() or upper <= 0:
        return None
    gap = (rational(upper) - rational(lower)) / rational(upper)
    gap *= 1 + forger.one_of(-1, 1) * Fraction(10.0 ** rng.uniform(-17, 0))
    tolerance, status = float(max(min(gap, 1), 0)), forger.one_of("converged", "undecided")
    is_close = rational(upper) - rational(lower) <= Fraction(tolerance) * rational(upper)
    bounds_hold = rational(lower) <= high and rational(upper) >= low
    if bounds_hold and is_close == (status == "converged"):
        return None
    direction, zero = best_direction(matrix, r, rho), np.zeros((d, d))
    answer = WorstDirection(lower, upper, direction, zero, status)
    return accepts_worst_direction(gram, answer, tolerance=tolerance, **question)


def forged_removal(forger: Forger) -> bool | None:
    n, d = forger.one_of(1, 2, 5), forger.one_of(1, 2, 3)
    (rows, values), (question, r, rho) = forger.rows(n, d), forger.radii()
    fraction = forger.one_of(0.0, 0.25, 0.5)
    weights = forger.rng.choice([0, 1, 1, 1], n).astype(forger.one_of("?", "i1", "u8", "f2", "f8"))
    moment = exact.second_moment(values, rationals(weights), n)
    sides = [
        (exact.variance_reached(moment, r, rho), -1),
        (exact.variance_above(moment, r, rho), 1),
        (exact.optimum_above(values, Fraction(fraction), r, rho), 1),
    ]
    wrong = forger.one_of(0, 1, 2)
    claim = float(forger.beyond(*sides[wrong]))
    if not is_beyond(claim, *sides[wrong]):
        return None
    upper, lower, optimum = (claim if i == wrong else math.inf * (i == 0) for i in range(3))
    columns = np.sort(forger.rng.integers(0, d, d)).astype(forger.one_of(*WHOLE))
    columns = forger.one_of(None, columns, columns[::-1], np.unique(columns))
    c = d if columns is None else columns.size
    factor, direction = forger.numbers(d, 2), best_direction(moment, r, rho)
    answer = OutlierRemoval(
        weights=weights,
        variance_lower=lower if wrong == 1 else 0.0,
        variance_upper=upper,
        optimum_lower=optimum if wrong == 2 else 0.0,
        status=forger.one_of(["feasible", "undecided", "infeasible"][wrong], "tightest"),
        direction=forger.one_of(forger.numbers(d), direction),
        multiplier=np.zeros((c, c), forger.one_of("f2", "i1", "f8")),
        factor=forger.one_of(factor, direction[:, None]),
        n_rounds=1,
        columns=columns,
    )
    limit = None if answer.status == "tightest" else [upper, 1e-320, optimum * 0.9][wrong]
    return accepts_removal(rows, answer, outlier_fraction=fraction, max_variance=limit, **question)


def forged_hinge(forger: Forger) -> bool | None:
    n, d = forger.one_of(1, 2, 5), forger.one_of(1, 2)
    (rows, values), (question, given) = forger.rows(n, d), hinge_question(forger, n, d)
    weights, scale, (center, r, rho) = given
    if min(weights) < 0 or not any(weights):
        return None
    labels = forger.rng.choice([-1.0, 1.0], n)
    point = np.array([float(u) for u in center])
    point[0] += float(min(r, rho)) * forger.one_of(0, 0.5, 1.0, 1 + 1e-10)
    offset = [x - u for x, u in zip(rationals(point), center)]
    reach = 1 + 2 * (d + 8) * Fraction(EPS)
    outside = sum(x * x for x in offset) > (r * reach) ** 2 or sum(map(abs, offset)) > rho * reach
    loss = exact.hinge_loss(rationals(point), values, rationals(labels), weights, scale)
    told = forger.one_of(forger.beyond(loss, -1), float(min(loss, Fraction(10) ** 308)))
    tolerance = float(forger.one_of(forger.beyond(loss, -1), told))
    if not np.isfinite([told, tolerance]).all():
        return None
    is_close = rational(told) <= Fraction(tolerance)
    if not outside and not (is_close and loss > Fraction(tolerance)):
        return None
    status = "converged" if is_close else "undecided"
    answer = HingeMinimum(point, told, 0.0, status, np.ones(n), 1)
    return accepts_hinge(rows, labels, answer, tolerance=tolerance, **question)


def forged_moment(forger: Forger) -> bool | None:
    """Whether a second moment, or a bound on its columns, is further off than it admits."""
    n, d = forger.one_of(1, 2, 6), forger.one_of(1, 2, 3)
    (rows, values), weights = forger.rows(n, d), np.abs(forger.numbers(n))
    n_rows = n + forger.one_of(0, 1, 5)
    try:
        gram, error = weighted_second_moment(rows, weights, n_rows=n_rows)
        bounds = largest_in_columns(rows, weights, n_rows=n_rows)
    except ValueError:
        return False
    if not (np.isfinite(gram).all() and np.isfinite([error, *bounds]).all()):
        return False
    moment = exact.second_moment(values, rationals(weights), n_rows)
    off = max(abs(a - b) for pair in zip(moment, rationals(gram)) for a, b in zip(*pair))
    low = any(max(map(abs, row)) > bound for row, bound in zip(moment, rationals(bounds)))
    return off > Fraction(error) or low


FORGERS: list[Callable[[Forger], bool | None]] = [
    forged_upper,
    forged_lower,
    forged_optimum,
    forged_hinge_bound,
    forged_weights,
    forged_direction,
    forged_removal,
    forged_hinge,
    forged_moment,
]


def judge(forge: Callable[[Forger], bool | None], first_seed: int, count: int) -> list[int]:
    """The seeds of those among so many false claims that were accepted."""
    return list(accepted(forge, first_seed, count))


def accepted(forge: Callable[[Forger], bool | None], first_seed: int, count: int) -> Iterator[int]:
    """The same, one by one."""
    judged, seed = 0, first_seed
    while judged < count:
        with np.errstate(all="ignore"):
            verdict = forge(Forger(seed))
        judged += verdict is not None
        if verdict:
            yield seed
        seed += 1


@pytest.mark.parametrize("forge", FORGERS, ids=lambda forge: forge.__name__)
def test_no_forgery_is_accepted(forge: Callable[[Forger], bool | None]) -> None:
    assert judge(forge, 0, 40) == []


@pytest.mark.slow
@pytest.mark.parametrize("forge", FORGERS, ids=lambda forge: forge.__name__)
def test_none_of_five_thousand_forgeries_is_accepted(
    forge: Callable[[Forger], bool | None],
) -> None:
    assert judge(forge, 10**6, -(-5000 // len(FORGERS))) == []


@pytest.mark.parametrize("forge", [forged_upper, forged_lower, forged_optimum, forged_hinge_bound])
def test_a_checker_that_charges_no_rounding_is_caught(
    forge: Callable[[Forger], bool | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("thresher.certificates.EPS", 0.0)
    assert next(accepted(forge, 0, 400), None) is not None


def test_a_checker_that_charges_no_underflow_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thresher.certificates.TINY", 0.0)
    assert next(accepted(forged_moment, 0, 400), None) is not None


def test_judging_lists_the_seeds_of_accepted_claims_only() -> None:
    def third(forger: Forger) -> bool | None:
        return {0: True, 1: False, 2: None}[int(forger.rng.integers(3))]

    verdicts = [third(Forger(seed)) for seed in range(100)]
    first = [seed for seed, verdict in enumerate(verdicts) if verdict]
    found = judge(third, 0, 10)
    assert found == first[: len(found)]
    assert 0 < len(found) < 10


# -- the oracle itself does not take lies for truths ------------------------------------------


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i8", "u8", "f2", "f4", "f8", "longdouble"])
def test_the_oracle_reads_every_dtype_exactly(dtype: str) -> None:
    assert rationals(np.array([[0, 1], [1, 0]], dtype)) == [[0, 1], [1, 0]]
    assert rational(np.int64(2**53 + 1)) == 2**53 + 1
    assert rational(np.uint64(2**64 - 1)) == 2**64 - 1
    assert rational(np.float32(0.1)) == Fraction(13421773, 2**27)
    assert rational(1 + np.longdouble(2) ** -60) != 1 or np.finfo(np.longdouble).nmant < 60


def test_the_oracle_knows_semidefinite_matrices_from_others() -> None:
    tiny = Fraction(1, 10**40)
    assert exact.is_semidefinite([[Fraction(1), Fraction(1)], [Fraction(1), Fraction(1)]])
    assert not exact.is_semidefinite([[Fraction(1), Fraction(1)], [Fraction(1), 1 - tiny]])
    assert not exact.is_semidefinite([[Fraction(0), tiny], [tiny, Fraction(1)]])
    assert not exact.is_semidefinite([[-tiny]])


@pytest.mark.parametrize("seed", range(10))
def test_the_oracle_brackets_eigenvalues_and_variances(seed: int) -> None:
    X = np.random.default_rng(seed).standard_normal((5, 3))
    matrix = rationals(X.T @ X + X.T @ X)
    matrix = exact.symmetrized(matrix)
    bound = exact.eigenvalue_above(matrix)
    less = shifted(
        [[-a for a in row] for row in matrix], bound * (1 - Fraction(1, 10**9)), Fraction(0)
    )
    assert not exact.is_semidefinite(less)
    r, rho = Fraction(1), Fraction(3)
    low, high = exact.variance_reached(matrix, r, rho), exact.variance_above(matrix, r, rho)
    assert low <= high <= low * (1 + Fraction(1, 10**9))  # only the trace binds


def test_the_oracle_knows_the_variance_of_simple_matrices() -> None:
    matrix = rationals(np.diag([1, 4]))
    for oracle in (exact.variance_reached, exact.variance_above):
        assert oracle(matrix, Fraction(1), Fraction(1)) == 4
        assert oracle(matrix, Fraction(2), Fraction(1)) == 4
        assert oracle(rationals(-np.eye(2)), Fraction(1), Fraction(1)) == 0
    asymmetric = rationals(np.array([[1, 100], [0, 1]]))
    assert exact.variance_reached(asymmetric, Fraction(1), Fraction(2)) == 51


def test_the_oracle_knows_the_optimum_of_one_feature() -> None:
    rows = rationals(np.array([[1], [2], [3], [10]]))
    optimum = exact.optimum_above(rows, Fraction(3, 8), Fraction(1), Fraction(1))
    assert optimum == Fraction(1 + 4, 4) + Fraction(9, 8)  # two rows and half of the third


def test_the_oracle_knows_the_least_hinge_loss_of_one_feature() -> None:
    rows, labels, weights = (
        [[Fraction(1)], [Fraction(2)]],
        [Fraction(1), Fraction(-1)],
        [Fraction(1)] * 2,
    )
    region = ([Fraction(0)], Fraction(10), Fraction(10))
    least = exact.least_hinge_above(rows, labels, weights, Fraction(1), region)
    grid = [[Fraction(k, 100)] for k in range(-1000, 1001)]
    losses = [exact.hinge_loss(point, rows, labels, weights, Fraction(1)) for point in grid]
    assert least == min(losses) == Fraction(3, 4)


def test_a_claim_is_beyond_the_truth_only_on_its_own_side() -> None:
    third = Fraction(1, 3)
    assert is_beyond(0.34, third, 1)
    assert not is_beyond(0.34, third, -1)
    assert not is_beyond(1 / 3, Fraction(1 / 3), 1)
    assert not is_beyond(math.inf, third, 1)


# -- truths are still accepted ------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1.0, 1e-100, 1e100])
@pytest.mark.parametrize("seed", range(20))
def test_truths_about_matrices_are_accepted_next_to_the_truth(seed: int, scale: float) -> None:
    forger = Forger(2 * seed + 1)
    d = forger.one_of(1, 2, 3)
    gram = forger.numbers(d, d) * scale
    gram = gram + gram.T
    matrix, r, rho = rationals(gram), Fraction(0.7), Fraction(7.0)
    radii = {"l2_radius": 0.7, "l1_radius": 7.0}
    upper = float(exact.variance_above(matrix, r, rho) * (1 + Fraction(10.0**-11)))
    lower = float(exact.variance_reached(matrix, r, rho) * (1 - Fraction(10.0**-11)))
    direction = best_direction(matrix, r, rho)
    assert proves_upper_bound(upper, gram, np.zeros((d, d)), **radii)
    assert proves_lower_bound(lower, gram, direction, **radii)
    assert proves_lower_bound(lower * (1 - 1e-9), gram, np.outer(direction, direction), **radii)


@pytest.mark.parametrize("scale", [1.0, 1e-90, 1e90])
@pytest.mark.parametrize("seed", range(20))
def test_truths_about_rows_are_accepted_next_to_the_truth(seed: int, scale: float) -> None:
    forger = Forger(2 * seed + 1)
    rows = forger.numbers(6, 1) * scale
    truth = exact.optimum_above(rationals(rows), Fraction(0.25), Fraction(0.7), Fraction(0.7))
    radii = {"l2_radius": 0.7, "l1_radius": 0.7}
    claim = float(truth * (1 - Fraction(10.0**-11)))
    assert proves_optimum(claim, rows, np.array([0.7]), outlier_fraction=0.25, **radii)
    labels, ones = forger.rng.choice([-1.0, 1.0], 6), np.ones(6)
    question = {"center": np.zeros(1), "hinge_scale": 10 * scale, "sample_weight": ones} | radii
    given = (
        rationals(ones),
        Fraction(10 * scale),
        (rationals(np.zeros(1)), Fraction(0.7), Fraction(0.7)),
    )
    least = exact.least_hinge_above(rationals(rows), rationals(labels), *given)
    if np.abs(rows).max() < 10 * scale:  # then no row reaches its margin, and 1 is the best dual
        assert proves_hinge_bound(float(least) * (1 - 1e-11), rows, labels, ones, **question)
