"""The hidden halfspace that a simulation sets out to learn."""

from __future__ import annotations

import numpy as np

from thresher.validation import FloatArray, check_count, generator_from


def random_target(
    n_features: int, sparsity: int, random_state: int | np.random.Generator | None = None
) -> FloatArray:
    """A random unit vector with exactly `sparsity` non-zero entries, none of them very weak.

    The support is uniform, signs are fair, and magnitudes are uniform in [0.5, 1.5] before the
    vector is normalised.

    Parameters
    ----------
    n_features : length of the vector
    sparsity : number of non-zero entries, from 1 to `n_features`
    random_state : seed or `np.random.Generator`

    Examples
    --------
    >>> target = random_target(100, 5, random_state=0)
    >>> int(np.count_nonzero(target)), round(float(np.linalg.norm(target)), 12)
    (5, 1.0)
    """
    n_features = check_count(n_features, "n_features")
    sparsity = check_count(sparsity, "sparsity")
    if sparsity > n_features:
        raise ValueError(f"sparsity must be at most n_features = {n_features}, got {sparsity}")
    rng = generator_from(random_state)
    support = rng.choice(n_features, size=sparsity, replace=False)
    target = np.zeros(n_features)
    target[support] = rng.choice([-1.0, 1.0], size=sparsity) * rng.uniform(0.5, 1.5, size=sparsity)
    return target / np.linalg.norm(target)
