"""Hard thresholding: what is kept, what is not, and who wins a tie."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from thresher.geometry import hard_threshold

entries = st.floats(-1e3, 1e3) | st.sampled_from([0.0, 1.0, -1.0])
vectors = arrays(np.float64, st.integers(1, 8), elements=entries)


@given(v=vectors, n_nonzero=st.integers(1, 9))
def test_no_vector_with_as_few_entries_is_closer(v: np.ndarray, n_nonzero: int) -> None:
    distance = np.linalg.norm(v - hard_threshold(v, n_nonzero))
    for kept in combinations(range(v.size), min(n_nonzero, v.size)):
        other = np.zeros_like(v)
        other[list(kept)] = v[list(kept)]
        assert distance <= np.linalg.norm(v - other) * (1 + 1e-12)


@given(v=vectors, n_nonzero=st.integers(1, 9))
def test_kept_entries_are_unchanged_and_the_others_zero(v: np.ndarray, n_nonzero: int) -> None:
    sparse = hard_threshold(v, n_nonzero)
    assert np.count_nonzero(sparse) <= n_nonzero
    kept = sparse != 0
    np.testing.assert_array_equal(sparse[kept], v[kept])


def test_ties_go_to_the_lower_index() -> None:
    np.testing.assert_array_equal(hard_threshold([1.0, -1.0, 1.0], 2), [1.0, -1.0, 0.0])


def test_keeping_more_than_there_are_keeps_everything() -> None:
    np.testing.assert_array_equal(hard_threshold([1.0, 2.0], 5), [1.0, 2.0])


def test_a_batch_is_thresholded_row_by_row() -> None:
    batch = np.random.default_rng(0).standard_normal((5, 7))
    singles = [hard_threshold(row, 3) for row in batch]
    np.testing.assert_array_equal(hard_threshold(batch, 3), singles)


def test_the_input_is_left_as_it_was() -> None:
    v = np.array([1.0, 2.0, 3.0])
    hard_threshold(v, 1)
    np.testing.assert_array_equal(v, [1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("v", "n_nonzero", "error", "message"),
    [
        ([1.0, np.nan], 1, ValueError, r"v\[1\] is nan"),
        ([], 1, ValueError, "v is empty"),
        ([1.0], 0, ValueError, "n_nonzero must be at least 1"),
        ([1.0], -3, ValueError, "n_nonzero must be at least 1"),
        ([1.0], 1.0, TypeError, "n_nonzero must be an integer"),
        ([1.0], True, TypeError, "n_nonzero must be an integer"),
        ("abc", 1, TypeError, "v must hold real numbers"),
    ],
)
def test_bad_input_is_named(v: object, n_nonzero: int, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        hard_threshold(v, n_nonzero)


@given(
    v=arrays(
        np.float64,
        array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
        elements=st.floats(allow_nan=True, allow_infinity=True),
    ),
    n_nonzero=st.integers(-2, 5),
)
def test_hostile_input_gives_a_typed_error_or_a_sparse_vector(
    v: np.ndarray, n_nonzero: int
) -> None:
    try:
        sparse = hard_threshold(v, n_nonzero)
    except ValueError:
        return
    assert np.isfinite(sparse).all()
    assert (np.count_nonzero(np.atleast_2d(sparse), axis=1) <= n_nonzero).all()
