"""Warnings that point at the code which called Thresher, however deep they arise."""

from __future__ import annotations

import sys
import warnings

from thresher.errors import UncertifiedPhase
from thresher.learning.history import PhaseOutcome

INSIDE = ("thresher", "sklearn", "joblib")  # packages between a user's call and our own code


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn, as of the line that called Thresher.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_caller("the pool is small", UserWarning)
    >>> print(caught[0].message)
    the pool is small
    """
    warnings.warn(message, category, stacklevel=_level_of_caller())


def warn_if_uncertified(outcome: PhaseOutcome) -> None:
    """Say so if a solver did not reach what it was asked for."""
    if not outcome.is_certified:
        warn_caller(
            f"phase {outcome.phase.index}: outlier removal is {outcome.removal_status}, "
            f"hinge minimization is {outcome.loss_status}; phases_ has the bounds",
            UncertifiedPhase,
        )


def _level_of_caller() -> int:
    """The stack level of the code that called Thresher, for a warning of the calling function."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and _is_inside(frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    return level


def _is_inside(module: str) -> bool:
    return module.split(".")[0] in INSIDE
