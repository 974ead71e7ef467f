"""Forests: what trees say about rows that they have not seen, and how soon they isolate a row."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier, ExtraTreeRegressor

from thresher.auditing.suspects import Places
from thresher.validation import FloatArray, Rows, is_sparse

N_TREES = 80
MOST_PER_TREE = 5000  # rows
N_ISOLATED = 256  # rows of a tree that isolates them


def held_out_share(
    rows: Rows,
    is_second: NDArray[np.bool_],
    weights: FloatArray,
    groups: Places,
    *,
    seed: int,
    min_leaf: int = 1,
) -> tuple[FloatArray, Places]:
    """(n,) the probability of the second class, by trees that have not seen the row, and how many.

    Each tree learns from half of the groups, at random, and speaks about the others.

    Parameters
    ----------
    rows : (n, d)
    is_second : (n,) the class of each row
    weights : (n,) how much each row counts in learning, from 0 to 1
    groups : (n,) equal rows have the same number, and are seen together
    seed : of the trees
    min_leaf : rows in a leaf, at least

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=(200, 2))
    >>> is_second = rows[:, 0] > 0
    >>> share, n_trees = held_out_share(rows, is_second, np.ones(200), np.arange(200), seed=0)
    >>> bool(((share > 0.5) == is_second).mean() > 0.9), bool(n_trees.min() > 20)
    (True, True)
    """
    rng = np.random.default_rng(seed)
    to_learn, to_ask = _for_trees(rows)
    n_groups = int(groups.max()) + 1
    n_seen = min(-(-n_groups // 2), MOST_PER_TREE)
    total, n_trees = np.zeros(groups.size), np.zeros(groups.size, dtype=np.intp)
    for number in rng.integers(2**31, size=N_TREES):
        is_seen = np.zeros(n_groups, dtype=bool)
        is_seen[rng.permutation(n_groups)[:n_seen]] = True
        seen = is_seen[groups]
        # A row is drawn as often as it counts: a leaf of rows with little weight would count fully.
        drawn = seen & (rng.random(groups.size) < weights)
        if np.unique(is_second[drawn]).size < 2:
            continue
        tree = DecisionTreeClassifier(
            max_features="sqrt", min_samples_leaf=min_leaf, random_state=int(number)
        )
        tree.fit(to_learn, is_second, sample_weight=drawn.astype(float), check_input=False)
        total += np.where(seen, 0.0, tree.predict_proba(to_ask, check_input=False)[:, 1])
        n_trees += ~seen
    return total / np.maximum(n_trees, 1), n_trees


def isolation_depth(rows: Rows, seed: int) -> FloatArray:
    """(n,) after how many random splits a row is alone, on average: unusual rows are so sooner.

    As in an isolation forest (Liu, Ting and Zhou, 2008), with what is to come in each leaf.

    Examples
    --------
    >>> rows = np.append(np.random.default_rng(0).normal(size=(200, 2)), [[9.0, 9.0]], axis=0)
    >>> int(np.argmin(isolation_depth(rows, 0)))
    200
    """
    rng, (to_learn, to_ask) = np.random.default_rng(seed), _for_trees(rows)
    n_rows, n_drawn = rows.shape[0], min(N_ISOLATED, rows.shape[0])
    depth = np.zeros(n_rows)
    for number in rng.integers(2**31, size=N_TREES):
        drawn = np.zeros(n_rows)
        drawn[rng.permutation(n_rows)[:n_drawn]] = 1.0
        tree = ExtraTreeRegressor(
            max_features=1, max_depth=int(np.ceil(np.log2(n_drawn))), random_state=int(number)
        )
        tree.fit(to_learn, rng.random(n_rows), sample_weight=drawn, check_input=False)
        leaves = tree.tree_
        depths = leaves.compute_node_depths() + _more_splits(leaves.n_node_samples)
        depth += depths[leaves.apply(to_ask)]
    return depth / N_TREES


def _more_splits(sizes: NDArray[np.intp]) -> FloatArray:
    """How many more splits isolate one of so many rows, on average."""
    n = np.maximum(sizes, 2).astype(np.float64)
    splits = 2 * (np.log(n - 1) + np.euler_gamma) - 2 * (n - 1) / n
    return np.where(sizes > 2, splits, (sizes == 2).astype(np.float64))


def _for_trees(rows: Rows) -> tuple[Any, Any]:
    """The rows as trees learn from them, and as they are asked about them."""
    single = rows.astype(np.float32)
    return (sp.csc_matrix(single), sp.csr_matrix(single)) if is_sparse(rows) else (single, single)
