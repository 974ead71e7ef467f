from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from thresher.labeling.fitting import Fitting, LinearFit
from thresher.labeling.judging import LabeledSample, exact_interval

RNG = np.random.default_rng(0)


def sample(n_rows: int = 60, n_random: int = 30) -> LabeledSample:
    rows = RNG.standard_normal((n_rows, 3))
    signs = np.where(rows[:, 0] > 0, 1.0, -1.0)
    return LabeledSample(rows, signs, np.ones(n_rows), list(range(n_random)))


@pytest.mark.parametrize(("n_wrong", "n_labels"), [(0, 20), (3, 50), (50, 50)])
def test_the_interval_is_that_of_clopper_and_pearson(n_wrong: int, n_labels: int) -> None:
    found = exact_interval(n_wrong, n_labels)
    exact = binomtest(n_wrong, n_labels).proportion_ci(method="exact")
    assert np.allclose(found[1:], (exact.low, exact.high))


def test_no_row_enters_the_fit_that_judges_it() -> None:
    judged = sample()
    fitted: list[set[bytes]] = []

    class Spy(Fitting):
        def fit(self, rows: Any, *_: Any) -> LinearFit:
            fitted.append({row.tobytes() for row in rows})
            return LinearFit(np.ones(3), 0.0)

    judged.error(Spy())
    random = {row.tobytes() for row in judged.rows[:30]}
    held_out = [random - one for one in fitted]
    assert set().union(*held_out) == random
    assert sum(map(len, held_out)) == 30


def test_the_error_of_labels_without_a_rule_is_about_a_half() -> None:
    judged = sample(n_rows=200, n_random=150)
    coins = np.where(RNG.random(200) < 0.5, 1.0, -1.0)
    lost = LabeledSample(judged.rows, coins, judged.weights, judged.random)
    assert lost.error(Fitting()).low > 0.3
    assert judged.error(Fitting()).high < 0.15


def test_labels_that_turn_the_boundary_around_raise_an_alarm() -> None:
    honest = sample(n_rows=120, n_random=60)
    signs = honest.signs.copy()
    signs[60:] *= -1
    signs[60:] = np.where(honest.rows[60:, 1] > 0, signs[60:], -honest.signs[60:])
    assert LabeledSample(honest.rows, signs, 3 * honest.weights, honest.random).disagrees()


def test_harmless_labels_raise_no_alarm() -> None:
    assert not sample().disagrees()


def test_a_sample_of_one_class_but_for_the_judge_is_still_judged() -> None:
    one = sample(n_rows=10, n_random=10)
    signs = np.array([1.0] + [-1.0] * 9)
    estimate = LabeledSample(one.rows, signs, one.weights, one.random).error(Fitting())
    assert 0 <= estimate.low <= estimate.estimate <= estimate.high <= 1
