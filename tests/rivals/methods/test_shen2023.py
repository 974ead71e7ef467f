"""Phases whose rows are thinned by scores: planted mass is seen, a faint tilt is not."""

from __future__ import annotations

import numpy as np

from rivals.methods.measured import by_name, error_of
from thresher.rivals.methods.shen2023 import METHODS, score_weights
from thresher.simulate import LinfHijack, OnSupportTilt

METHOD = by_name(METHODS)["shen-2023"]


def test_planted_rows_that_show_in_the_variance_are_tolerated() -> None:
    assert error_of(METHOD, LinfHijack(), n_labels=1500) < 0.04


def test_many_rows_with_a_faint_tilt_pass_its_scores() -> None:
    assert error_of(METHOD, OnSupportTilt(2.0), noise_rate=0.15, n_labels=1500) > 0.12


def test_clean_isotropic_rows_keep_their_weight() -> None:
    rows = np.random.default_rng(0).standard_normal((2000, 100))
    np.testing.assert_array_equal(score_weights(rows, 0.1), np.ones(2000))


def test_two_planted_directions_are_both_seen() -> None:
    rows = np.random.default_rng(0).standard_normal((2000, 50))
    rows[:40] = 12 * np.eye(50)[0]
    rows[40:80] = -12 * np.eye(50)[1]
    weights = score_weights(rows, 0.08)
    assert weights[:80].max() < 0.2
    assert weights[80:].mean() > 0.97


def test_a_fraction_of_zero_takes_nothing() -> None:
    rows = np.random.default_rng(0).standard_normal((200, 5))
    rows[:20] *= 50
    np.testing.assert_array_equal(score_weights(rows, 0.0), np.ones(200))
