from __future__ import annotations

import numpy as np
import pytest

from thresher.labeling.capture import N_FIRST, fit_to_pool, overlooked_class
from thresher.labeling.fitting import Fitting
from thresher.labeling.judging import LabeledSample
from thresher.labeling.scaled_pool import ScaledPool

RNG = np.random.default_rng(0)
ROWS = RNG.standard_normal((600, 8))
SIGNS = np.where(ROWS[:, 0] > 0.7, 1.0, -1.0)
PLANTED = np.arange(40)  # in a corner of the negative side, labeled positive
ROWS[PLANTED, 0], SIGNS[PLANTED] = -2.0, 1.0
ROWS[PLANTED, 1:4] = 4.0
POOL = ScaledPool.of(ROWS)
IS_TRUSTED = np.ones(600, dtype=bool)
HONEST = np.setdiff1d(np.arange(600), PLANTED)


def sample(n_planted: int, n_random: int = 120) -> LabeledSample:
    """Random honest rows, planted ones, and negative ones that were bought."""
    random = HONEST[:n_random]
    bought = HONEST[n_random:][SIGNS[HONEST[n_random:]] < 0][:60]
    places = np.concatenate([random, PLANTED[:n_planted], bought])
    return LabeledSample(
        POOL.rows[places], SIGNS[places], np.ones(places.size), list(range(n_random))
    )


@pytest.mark.parametrize(
    ("predicted", "expected"), [(0.0, 1.0), (0.3, None), (0.4, None), (1.0, -1.0)]
)
def test_a_class_that_random_labels_have_and_the_model_lacks_is_overlooked(
    predicted: float, expected: float | None
) -> None:
    scores = np.where(np.arange(400) < 400 * predicted, 1.0, -1.0)
    assert overlooked_class(scores, np.repeat([1.0, -1.0], [8, 12])) == expected


def test_without_random_labels_no_class_is_overlooked() -> None:
    assert overlooked_class(-np.ones(10), np.zeros(0)) is None


def test_planted_rows_do_not_capture_a_model_that_knows_random_labels() -> None:
    captured, fitting = sample(n_planted=40), Fitting(noise_rate=0.0)
    heavy = LabeledSample(
        captured.rows,
        captured.signs,
        np.where(np.arange(captured.signs.size) < 120, 0.1, 1.0),  # so that the planted ones decide
        captured.random,
    )
    plain = heavy.fit(fitting).scores(POOL.rows[HONEST]) > 0
    fit, overlooks = fit_to_pool(heavy, fitting, POOL, IS_TRUSTED)
    guarded = fit.scores(POOL.rows[HONEST]) > 0
    assert overlooks
    positive = SIGNS[HONEST] > 0
    assert plain[positive].mean() < 0.3 < guarded[positive].mean()
    assert fit.scores(POOL.rows[PLANTED]).max() < 0


def test_a_model_that_overlooks_nothing_is_the_usual_fit() -> None:
    honest, fitting = sample(n_planted=0, n_random=200), Fitting(noise_rate=0.1)
    fit, overlooks = fit_to_pool(honest, fitting, POOL, IS_TRUSTED)
    assert not overlooks
    assert np.array_equal(fit.coef, honest.fit(fitting).coef)


def test_the_first_random_labels_decide_nothing() -> None:
    captured, fitting = sample(n_planted=40, n_random=N_FIRST), Fitting()
    fit, _ = fit_to_pool(captured, fitting, POOL, IS_TRUSTED)
    assert np.array_equal(fit.coef, captured.fit(fitting).coef)
