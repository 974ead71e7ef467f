"""Checks of what the estimators' constructors were given: a typed error names the parameter."""

from __future__ import annotations

import numpy as np

from thresher.learning import PracticalSchedule
from thresher.validation import check_count

ALL_FEATURES = "all"


def check_switch(value: object, name: str) -> bool:
    """The value as a truth value; numbers and text are refused, whatever they would mean."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def check_sparsity(value: object, n_features: int, name: str = "sparsity") -> int:
    """How many of the features may be used.

    Examples
    --------
    >>> check_sparsity("all", 30), check_sparsity(5, 30), check_sparsity(50, 30)
    (30, 5, 30)
    """
    if isinstance(value, str):
        if value != ALL_FEATURES:
            raise ValueError(f'{name} must be an integer or "all", got {value!r}')
        return n_features
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f'{name} must be an integer or "all", got {value!r}')
    return min(check_count(value, name), n_features)


def check_n_jobs(value: object) -> int | None:
    """How many processes, as joblib counts them: below zero means all but a few.

    Examples
    --------
    >>> check_n_jobs(None), check_n_jobs(2), check_n_jobs(-1)
    (None, 2, -1)
    """
    if value is None:
        return None
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"n_jobs must be an integer or None, got {value!r}")
    if value == 0:
        raise ValueError("n_jobs must be at least 1, or below 0 to leave processors free, got 0")
    return int(value)


# Two views of the rows take away what they suspect, and trust does not come back: each may take
# less, and phases may go on for longer.
LABEL_AWARE_SCHEDULE = PracticalSchedule(outlier_margin=1.0, max_dirty_share=0.5)


def check_schedule(value: object, *, label_aware: bool) -> PracticalSchedule:
    """The schedule, or the one that is used if none is given."""
    if value is None:
        return LABEL_AWARE_SCHEDULE if label_aware else PracticalSchedule()
    if not isinstance(value, PracticalSchedule):
        raise TypeError(f"schedule must be a PracticalSchedule or None, got {value!r}")
    return value
