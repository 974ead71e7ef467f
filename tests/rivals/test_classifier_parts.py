"""Trimmed means, sets without the worst, and robust scales of columns."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from thresher.rivals.classifiers.linear import Standardization, n_planted
from thresher.rivals.classifiers.refitting import rows_without_worst
from thresher.rivals.classifiers.trimmed import best_offset, trimmed_column_means, trimmed_mean


def sparse_rows(seed: int, n_rows: int = 40, n_features: int = 7) -> np.ndarray:
    """Rows whose columns are zero in different shares of the rows, one of them always."""
    rng = np.random.default_rng(seed)
    density = np.linspace(0, 1, n_features)
    return rng.standard_normal((n_rows, n_features)) * (rng.random((n_rows, n_features)) < density)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), n_trimmed=st.integers(0, 19))
def test_a_trimmed_mean_is_the_mean_of_the_middle_values(seed: int, n_trimmed: int) -> None:
    X = sparse_rows(seed)
    factors = np.random.default_rng(seed).choice([-2.0, 0.0, 1.0], size=40)
    middle = np.sort(factors[:, None] * X, axis=0)[n_trimmed : 40 - n_trimmed]
    for rows in (X, sp.csr_array(X), sp.csr_matrix(X)):
        np.testing.assert_allclose(
            trimmed_column_means(rows, factors, n_trimmed), middle.mean(axis=0), atol=1e-12
        )
    assert trimmed_mean(factors, n_trimmed) == pytest.approx(
        np.sort(factors)[n_trimmed : 40 - n_trimmed].mean(), abs=1e-12
    )


def test_a_trimmed_mean_ignores_values_that_are_planted_at_one_end() -> None:
    X = np.zeros((100, 1))
    X[:5] = 1e6
    assert trimmed_column_means(X, np.ones(100), 5) == 0
    assert trimmed_column_means(X, np.ones(100), 4) > 1000


def test_the_worst_rows_go_and_the_others_keep_their_order() -> None:
    badness = np.array([1.0, 7.0, 3.0, 9.0, 2.0, 5.0])
    kept = rows_without_worst(badness, 2, np.array([1.0, 1.0, -1.0, -1.0, 1.0, -1.0]))
    np.testing.assert_array_equal(kept, [0, 2, 4, 5])


def test_at_least_half_of_each_class_stays() -> None:
    signs = np.array([1.0] * 3 + [-1.0] * 7)
    kept = rows_without_worst(np.where(signs > 0, 1.0, 0.0), 8, signs)
    assert np.sum(signs[kept] > 0) == 2
    assert np.sum(signs[kept] < 0) == 4


@pytest.mark.parametrize(("noise_rate", "n_rows", "expected"), [(0.07, 100, 7), (0.49, 3, 1)])
def test_the_number_of_planted_rows_is_rounded_up_and_stays_below_half(
    noise_rate: float, n_rows: int, expected: int
) -> None:
    assert n_planted(noise_rate, n_rows) == expected


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_no_other_offset_has_fewer_wrong_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.integers(-3, 4, size=12).astype(float)
    signs = rng.choice([-1.0, 1.0], size=12)

    def n_wrong(offset: float) -> int:
        return int(np.sum(np.where(scores + offset > 0, 1.0, -1.0) != signs))

    cuts = np.arange(-4, 4) + 0.5
    assert n_wrong(best_offset(scores, signs)) == min(n_wrong(cut) for cut in cuts)


def test_without_clipping_the_scale_is_the_standard_deviation() -> None:
    X = sparse_rows(1)[:, 1:]
    scaling = Standardization.of(X, clipped_fraction=0.0)
    np.testing.assert_allclose(scaling.scale, X.std(axis=0))


def test_sparse_rows_get_the_same_scale_where_most_of_a_column_is_zero() -> None:
    X = sparse_rows(2, n_rows=200)[:, :3]
    dense = Standardization.of(X, clipped_fraction=0.1)
    sparse = Standardization.of(sp.csr_array(X), clipped_fraction=0.1)
    np.testing.assert_allclose(sparse.scale, dense.scale)
    np.testing.assert_allclose(sparse.apply(sp.csr_array(X)).toarray(), dense.apply(X))


def test_planted_entries_do_not_set_the_scale() -> None:
    X = np.random.default_rng(0).standard_normal((1000, 1))
    clean = Standardization.of(X, clipped_fraction=0.1).scale
    X[:50] = 1e6
    assert Standardization.of(X, clipped_fraction=0.1).scale == pytest.approx(clean, rel=0.2)
    assert Standardization.of(X, clipped_fraction=0.0).scale > 1e5


def test_no_entry_of_a_clipped_column_exceeds_what_a_standard_deviation_allows() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 2))
    X[:4, 0] *= 1e6  # a heavy tail
    X[:, 1] = 1e-9 * X[:, 1] + (np.arange(400) < 4)  # almost constant
    for rows in (X, sp.csr_array(X)):
        scaled = Standardization.of(rows, clipped_fraction=0.1).apply(rows)
        assert 15 < abs(scaled).max() < 25  # √400 and the mean's own size


def test_without_clipping_every_entry_is_within_the_range() -> None:
    X = sparse_rows(4)
    X[0] = 1e9
    scaling = Standardization.of(X, clipped_fraction=0.0)
    np.testing.assert_array_equal(scaling.apply(X), (X - scaling.center) / scaling.scale)
    shifted = sp.csr_array(X + 1e6)  # sparse rows are not shifted
    plain = Standardization.of(shifted, clipped_fraction=0.0)
    np.testing.assert_array_equal(plain.apply(shifted).toarray(), shifted.toarray() / plain.scale)


def test_a_halfspace_of_scaled_rows_says_the_same_in_the_units_of_the_table() -> None:
    rng = np.random.default_rng(3)
    X = 5 + 3 * rng.standard_normal((30, 4))
    scaling = Standardization.of(X, clipped_fraction=0.0)
    weights, offset = scaling.undo(np.arange(4.0), 0.7)
    np.testing.assert_allclose(X @ weights + offset, scaling.apply(X) @ np.arange(4.0) + 0.7)


def test_a_constant_column_keeps_its_scale() -> None:
    np.testing.assert_array_equal(
        Standardization.of(np.full((5, 2), 0.1), clipped_fraction=0.2).scale, [1.0, 1.0]
    )
