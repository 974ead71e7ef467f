"""A forest that says about each row only what trees say that have not seen it."""

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from thresher.auditing.suspects import Places
from thresher.validation import FloatArray, Rows, is_sparse

N_TREES = 100
MOST_PER_TREE = 5000  # rows


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
    >>> bool(((share > 0.5) == is_second).mean() > 0.9), bool(30 < n_trees.min())
    (True, True)
    """
    rng = np.random.default_rng(seed)
    single = rows.astype(np.float32)
    to_learn = sp.csc_matrix(single) if is_sparse(rows) else single
    to_ask = sp.csr_matrix(single) if is_sparse(rows) else single
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
