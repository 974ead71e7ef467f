"""Averaging: copies of a planted row are deleted, and planted rows unlike each other are not."""

from __future__ import annotations

import numpy as np
import pytest

from rivals.methods.measured import by_name, error_of
from thresher.rivals.methods.averaging import METHODS, Averaging, rows_unlike_others
from thresher.simulate import LabelFlip, LinfHijack, OnSupportTilt

NAMED = by_name(METHODS)
ALL_ROWS = NAMED["averaging-of-all-rows"]


def test_wrong_labels_are_borne() -> None:
    assert error_of(NAMED["averaging"], LabelFlip(), n_labels=1500) < 0.03


def test_planted_rows_that_are_alike_are_deleted() -> None:
    assert error_of(NAMED["averaging"], LinfHijack(), n_labels=1500) < 0.03


def test_without_deletion_planted_rows_take_the_average_over() -> None:
    assert error_of(ALL_ROWS, LinfHijack(), n_labels=1500) > 0.4


def test_planted_rows_that_are_alike_in_few_features_tilt_the_average() -> None:
    assert error_of(NAMED["averaging"], OnSupportTilt(4.0), noise_rate=0.1, n_labels=1500) > 0.12


def test_a_dense_average_pays_for_every_feature() -> None:
    dense, sparse = (error_of(NAMED[name]) for name in ("averaging-dense", "averaging"))
    assert dense > 2 * sparse


def test_nearly_all_clean_rows_stay() -> None:
    X = np.random.default_rng(0).standard_normal((1000, 50))
    limit = Averaging().correlation_factor * np.sqrt(np.log(1000) / 50)
    assert rows_unlike_others(X, float(limit)).size >= 990


def test_no_two_rows_that_stay_are_alike() -> None:
    X = np.random.default_rng(0).standard_normal((1500, 8))
    stay = X[rows_unlike_others(X, 0.8)]
    directions = stay / np.linalg.norm(stay, axis=1, keepdims=True)
    cosines = np.abs(directions @ directions.T) - np.eye(len(stay))
    assert 0 < len(stay) < 1500
    assert cosines.max() <= 0.8 + 1e-6


def test_a_planted_row_takes_one_clean_row_along() -> None:
    clean = np.eye(5)
    planted = np.ones((1, 5))
    assert rows_unlike_others(np.vstack([clean, planted]), 0.4).size == 4


def test_a_factor_must_be_positive() -> None:
    with pytest.raises(ValueError, match="correlation_factor"):
        Averaging(correlation_factor=0.0)
