"""Groups of suspicious rows."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from thresher.auditing.suspects import find_groups

RNG = np.random.default_rng(0)
N, D = 600, 12
SIGNS = np.where(RNG.random(N) < 0.5, 1.0, -1.0)
CLASSES = ["no", "yes"]


def with_group(rows: np.ndarray, columns: list[int], shift: float) -> np.ndarray:
    X = np.random.default_rng(1).standard_normal((N, D))
    X[np.ix_(rows, columns)] += shift
    return X


def members(label: float, n_rows: int) -> np.ndarray:
    return np.flatnonzero(label == SIGNS)[:n_rows]


def test_the_features_of_a_group_are_found_with_their_means() -> None:
    rows = members(1.0, 30)
    X = with_group(rows, [2, 7], 6.0)
    (group,) = find_groups(X, X, SIGNS, CLASSES, rows)
    assert group.label == "yes"
    assert set(group.rows) == set(rows)
    assert {contrast.feature for contrast in group.contrasts[:2]} == {2, 7}
    first = group.contrasts[0]
    assert first.mean_here == np.mean(X[rows, first.feature])
    assert abs(first.mean_elsewhere) < 0.3
    assert group.ratio > 3


def test_find_groups_both_classes_are_told_apart() -> None:
    ours, others = members(1.0, 40), members(-1.0, 20)
    X = with_group(ours, [0], 7.0)
    X[others, 5] -= 7.0
    found = find_groups(X, X, SIGNS, CLASSES, np.concatenate([others, ours]))
    assert [(group.label, group.contrasts[0].feature) for group in found] == [("yes", 0), ("no", 5)]
    assert found[1].contrasts[0].loading < 0


def test_a_second_group_of_the_same_class_is_found() -> None:
    rows = members(1.0, 50)
    X = with_group(rows[:30], [3], 8.0)
    X[rows[30:], 9] += 8.0
    found = find_groups(X, X, SIGNS, CLASSES, rows)
    assert [group.contrasts[0].feature for group in found] == [3, 9]


def test_few_rows_are_no_group() -> None:
    rows = members(1.0, 4)
    X = with_group(rows, [2], 9.0)
    assert find_groups(X, X, SIGNS, CLASSES, rows) == ()


def test_sparse_rows_give_the_same_group() -> None:
    rows = members(1.0, 30)
    X = with_group(rows, [2, 7], 6.0)
    X[np.abs(X) < 0.5] = 0
    dense = find_groups(X, X, SIGNS, CLASSES, rows)
    csr = sp.csr_array(X)
    sparse = find_groups(csr, csr, SIGNS, CLASSES, rows)
    assert [c.feature for c in sparse[0].contrasts] == [c.feature for c in dense[0].contrasts]


def test_columns_of_largest_excess_are_looked_at_in_a_wide_table() -> None:
    rows = members(-1.0, 30)
    X = np.random.default_rng(2).standard_normal((N, 1000))
    X[rows, 777] += 6.0
    (group,) = find_groups(X, X, SIGNS, CLASSES, rows)
    assert group.contrasts[0].feature == 777
