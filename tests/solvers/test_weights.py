"""Balanced weights: both sides of the game are checked against a linear program."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import linprog

from thresher.solvers.weights import Balance, balance, balance_to, keep_smallest, project_simplex


def random_game(seed: int) -> tuple[np.ndarray, float, int]:
    """Scores of rows on a few directions, the sum the weights must keep, and the rows."""
    rng = np.random.default_rng(seed)
    m, k = int(rng.choice([1, 2, 8, 50])), int(rng.choice([1, 2, 5]))
    scores = np.square(rng.standard_normal((m, k)))
    if seed % 3 == 1:
        scores = scores[rng.integers(0, m, m)]  # ties
    elif seed % 3 == 2:
        scores[: 1 + m // 10, 0] *= 1e4  # a planted direction
    return scores, m * float(rng.uniform(0.5, 1)), m + int(rng.integers(0, 3))


def exact_value(scores: np.ndarray, required: float, n_rows: int) -> float:
    """The value of the game by HiGHS: minimize t over weights with every mean score at most t."""
    m, k = scores.shape
    size = float(np.median(scores)) or 1.0  # the solver's tolerances are absolute
    answer = linprog(
        np.append(np.zeros(m), 1.0),
        A_ub=np.block(
            [[scores.T / size / n_rows, -np.ones((k, 1))], [-np.ones((1, m)), np.zeros((1, 1))]]
        ),
        b_ub=np.append(np.zeros(k), -required),
        bounds=[(0, 1)] * m + [(None, None)],
        method="highs",
    )
    assert answer.status == 0
    return float(answer.fun) * size


def keeps_its_promises(answer: Balance, scores: np.ndarray, required: float, n_rows: int) -> bool:
    """Whether the weights are admissible and both numbers are what weights and mixture give."""
    in_range = bool(((answer.weights >= 0) & (answer.weights <= 1)).all())
    enough = answer.weights.sum() >= required * (1 - 1e-12)
    value = (answer.weights @ scores).max() / n_rows
    mixed = np.sort(scores @ answer.mixture)
    whole = min(int(required), mixed.size - 1)
    bound = (mixed[:whole].sum() + (required - whole) * mixed[whole]) / n_rows
    is_mixture = answer.mixture.min() >= 0 and abs(answer.mixture.sum() - 1) <= 1e-9
    close = np.allclose([answer.value, answer.bound], [value, bound], rtol=1e-9, atol=0)
    return bool(in_range and enough and is_mixture and close)


@pytest.mark.parametrize("seed", range(30))
def test_the_value_of_the_game_lies_between_bound_and_value(seed: int) -> None:
    game = random_game(seed)
    answer = balance(*game, precision=0.01)
    exact = exact_value(*game)
    assert answer.bound <= exact * (1 + 1e-7)
    assert exact <= answer.value * (1 + 1e-7)


@pytest.mark.parametrize("seed", range(30))
def test_weights_and_mixture_keep_their_promises(seed: int) -> None:
    game = random_game(seed)
    assert keeps_its_promises(balance(*game, precision=0.01), *game)


def test_a_broken_promise_is_noticed() -> None:
    game = random_game(3)
    answer = balance(*game, precision=0.01)
    assert keeps_its_promises(answer, *game)
    changes: list[dict[str, Any]] = [
        {"weights": answer.weights * 0.99},
        {"weights": answer.weights + 0.01},
        {"value": answer.value * 0.99},
        {"bound": answer.bound * 1.01},
        {"mixture": answer.mixture * 1.01},
    ]
    for change in changes:
        assert not keeps_its_promises(replace(answer, **change), *game)


@pytest.mark.parametrize("seed", range(30))
def test_most_games_are_solved_to_a_few_percent(seed: int) -> None:
    answer = balance(*random_game(seed), precision=0.01)
    assert answer.value <= 1.05 * answer.bound


@pytest.mark.parametrize("seed", range(10))
def test_rows_with_equal_scores_get_equal_weights(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = np.square(rng.standard_normal((20, 3))).repeat(3, axis=0)
    weights = balance(scores, 50.0, 60, precision=0.01).weights.reshape(20, 3)
    assert np.ptp(weights, axis=1).max() == 0


def test_scores_of_zero_leave_nothing_to_balance() -> None:
    answer = balance(np.zeros((5, 2)), 4.0, 5, precision=0.01)
    assert (answer.value, answer.bound) == (0.0, 0.0)
    assert answer.weights.sum() >= 4.0


def test_one_direction_is_solved_by_sorting() -> None:
    scores = np.arange(1.0, 11.0)[:, None]
    answer = balance(scores, 7.5, 10, precision=1e-9)
    assert answer.value == pytest.approx((28 + 4) / 10, rel=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_a_target_takes_away_as_little_as_it_needs(seed: int) -> None:
    scores, required, n_rows = random_game(seed)
    answer = balance(scores, required, n_rows, precision=0.01)
    everything = scores.sum(axis=0).max() / n_rows
    target = (answer.value + everything) / 2
    relaxed = balance_to(scores, required, n_rows, target=target, answer=answer)
    assert relaxed.weights.sum() >= answer.weights.sum() * (1 - 1e-9)
    assert relaxed.value <= max(target, answer.value)
    assert relaxed.bound == answer.bound


# -- keeping the smallest --------------------------------------------------------------------

scores_strategy = arrays(
    np.float64,
    st.integers(1, 15),
    elements=st.floats(1e-6, 100) | st.sampled_from([0.0, 1.0, 2.0]),
)


@given(mixed=scores_strategy, share=st.floats(0.05, 1), width=st.none() | st.floats(1e-6, 10))
def test_kept_weights_are_admissible(mixed: np.ndarray, share: float, width: float | None) -> None:
    required = share * mixed.size
    weights, _, _ = keep_smallest(mixed, required, width)
    assert weights.min() >= 0
    assert weights.max() <= 1
    assert weights.sum() >= required * (1 - mixed.size * 2.0**-52)


@given(mixed=scores_strategy, share=st.floats(0.05, 1), width=st.none() | st.floats(1e-6, 10))
def test_smaller_scores_get_larger_weights_and_equal_ones_the_same(
    mixed: np.ndarray, share: float, width: float | None
) -> None:
    weights, _, _ = keep_smallest(mixed, share * mixed.size, width)
    order = np.argsort(mixed, kind="stable")
    assert (np.diff(weights[order]) <= 0).all()
    for value in np.unique(mixed):
        assert np.ptp(weights[mixed == value]) == 0


@given(mixed=scores_strategy, share=st.floats(0.05, 1), width=st.none() | st.floats(1e-6, 10))
def test_no_admissible_weights_have_a_smaller_sum_than_the_least(
    mixed: np.ndarray, share: float, width: float | None
) -> None:
    weights, _, least = keep_smallest(mixed, share * mixed.size, width)
    assert least <= weights @ mixed * (1 + 1e-12) + 1e-300


def test_a_sharp_cut_attains_the_least_sum() -> None:
    mixed = np.array([3.0, 1.0, 2.0, 2.0])
    weights, cutoff, least = keep_smallest(mixed, 2.5, None)
    np.testing.assert_allclose(weights, [0.0, 1.0, 0.75, 0.75])
    assert (cutoff, least) == (2.0, 4.0)


@given(v=arrays(np.float64, st.integers(1, 8), elements=st.floats(-1e3, 1e3)))
def test_the_projection_on_the_simplex_satisfies_its_variational_inequality(v: np.ndarray) -> None:
    point = project_simplex(v)
    assert point.min() >= 0
    assert point.sum() == pytest.approx(1, rel=1e-9)
    rounding = 1e-11 * (1 + np.abs(v).max())
    assert (v - point).max() <= (v - point) @ point + rounding  # the worst vertex
