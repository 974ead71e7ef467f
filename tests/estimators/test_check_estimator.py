"""scikit-learn's own checks, without exceptions."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from estimators.small import QUICK
from thresher import HalfspaceClassifier, HalfspaceClassifierCV

FAST = {
    "in two phases": HalfspaceClassifier(schedule=QUICK),
    "chosen in two phases": HalfspaceClassifierCV((2,), cv=2, schedule=QUICK),
}
SLOW = {
    "default": HalfspaceClassifier(),
    "unscaled in two phases": HalfspaceClassifier(scale=False, schedule=QUICK),
    "all features": HalfspaceClassifier("all"),
    "no intercept": HalfspaceClassifier(fit_intercept=False),
    "unscaled": HalfspaceClassifier(scale=False),
    "neither": HalfspaceClassifier(fit_intercept=False, scale=False, noise_rate=0.2),
    "chosen": HalfspaceClassifierCV((1, 2), (0.0, 0.1), cv=2),
}
NOT_FOR_US = "check_array_api_input"  # skips itself unless SCIPY_ARRAY_API is set


def checks(estimators: dict[str, Any], **options: Any) -> list[Any]:
    """One parameter a check, named after the estimator and the check."""
    return [
        pytest.param(estimator, check, id=f"{name}-{check.func.__name__}", **options)
        for name, made in estimators.items()
        for estimator, check in estimator_checks_generator(made)
        if check.func.__name__ != NOT_FOR_US
    ]


# Tables of the checks can be too small or too strange for a certificate, or for the noise rate.
@pytest.mark.filterwarnings("ignore::thresher.errors.UncertifiedPhase")
@pytest.mark.filterwarnings("ignore::thresher.errors.DistrustedClass")
@pytest.mark.parametrize(
    ("estimator", "check"), [*checks(FAST), *checks(SLOW, marks=pytest.mark.slow)]
)
def test_the_contract_of_scikit_learn_is_kept(estimator: Any, check: Any) -> None:
    check(estimator)
