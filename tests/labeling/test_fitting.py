from __future__ import annotations

import numpy as np
from sklearn.linear_model import LogisticRegression

from thresher.labeling.fitting import Fitting, most_contradicted, ridge

RNG = np.random.default_rng(0)


def test_left_out_scores_are_close_to_those_of_fits_without_the_row() -> None:
    rows = RNG.standard_normal((80, 4))
    signs = np.where(rows[:, 0] + 0.7 * RNG.standard_normal(80) > 0, 1.0, -1.0)
    found = ridge(rows, signs, np.ones(80))
    for left_out in (0, 17, int(np.argmin(signs * found.left_out))):
        others = np.delete(np.arange(80), left_out)
        exact = LogisticRegression(C=found.C).fit(rows[others], signs[others])
        score = exact.decision_function(rows[[left_out]])[0]
        assert abs(found.left_out[left_out] - score) < 0.05 * max(1.0, abs(score))


def test_a_class_loses_no_more_than_its_share() -> None:
    signs = np.repeat([1.0, -1.0], [90, 10])
    found = most_contradicted(np.full(100, -5.0), signs, share=0.15)
    assert found[signs > 0].sum() == 13
    assert found[signs < 0].sum() == 1


def test_labels_that_the_others_agree_with_are_kept() -> None:
    assert not most_contradicted(np.linspace(-1.9, 3, 50), np.ones(50), share=0.5).any()


def test_far_rows_with_wrong_labels_hardly_move_the_fit() -> None:
    rows = RNG.standard_normal((200, 3))
    signs = np.where(rows[:, 0] > 0, 1.0, -1.0)
    rows[:8, :2] += 4.0
    signs[:8] = -1.0
    naive, wary = (Fitting(noise_rate=rate).fit(rows, signs, np.ones(200)) for rate in (0.0, 0.1))
    tilt = [abs(fit.coef[1] / fit.coef[0]) for fit in (naive, wary)]
    assert tilt[1] < tilt[0] / 3


def test_far_rows_with_wrong_labels_do_not_flatten_the_fit() -> None:
    rows = RNG.standard_normal((300, 3))
    signs = np.where(rows[:, 0] + 0.2 * RNG.standard_normal(300) > 0, 1.0, -1.0)
    rows[:3], signs[:3] = (8.0, 0.0, 0.0), -1.0
    fits = [Fitting(noise_rate=0.1).fit(rows[n:], signs[n:], np.ones(300 - n)) for n in (0, 3)]
    assert abs(fits[0].coef[0] / fits[1].coef[0] - 1) < 0.1
