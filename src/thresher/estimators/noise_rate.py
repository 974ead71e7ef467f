"""`estimate_noise_rate`: the share of rows that visibly contradict the others."""

from typing import Any

from thresher.estimators.contradictions import NoiseRate
from thresher.estimators.halfspace import HalfspaceClassifier
from thresher.estimators.missing_values import MissingCells


def estimate_noise_rate(X: Any, y: Any, *, random_state: Any = 0) -> NoiseRate:
    """The share of rows that contradict the others, with an interval.

    A `HalfspaceClassifier` that withstands 40% of planted rows says which rows to trust, and
    penalized fits to trusted rows say on which side of the boundary held-out rows lie. Near the
    boundary, honest rows are often on the wrong side, and the farther away, the more rarely: a
    logistic curve fitted to rows near the boundary says how many to expect far away. Those in
    excess of that are counted. The interval covers three borders between near and far, and chance.

    Parameters
    ----------
    X, y : the table, as in `HalfspaceClassifier.fit`; `thresher.audit` also takes missing values
    random_state : as in `HalfspaceClassifier`

    Returns
    -------
    A record with `estimate`, `low`, `high` and `message`.

    Notes
    -----
    Only what is visible is counted. A flipped label near the boundary looks like an honest error,
    and a planted row among others of its class looks like one of them.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((1000, 5))
    >>> y = np.where(X[:, 0] + X[:, 1] > 0, "yes", "no")
    >>> X[:100], y[:100] = [3, 3, 0, 0, 0], "no"  # planted
    >>> found = estimate_noise_rate(X, y)
    >>> round(found.estimate, 2), found.low < 0.1 < found.high
    (0.1, True)
    """
    try:
        return NoiseRate.seen_by(HalfspaceClassifier(random_state=random_state), X, y)
    except MissingCells as error:
        raise ValueError(
            f"{error.args[0]}. estimate_noise_rate does not accept missing values. Fill them in "
            "with a SimpleImputer, or use thresher.audit(X, y).noise_rate, which accepts them"
        ) from None
