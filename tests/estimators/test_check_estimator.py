"""scikit-learn's own checks, without exceptions."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import estimator_checks_generator

from estimators.small import QUICK
from thresher import HalfspaceClassifier, HalfspaceClassifierCV, TrustedClassifier
from thresher.learning import PracticalSchedule

ONE_PHASE = PracticalSchedule(radius_per_angle=1e9)
# The other of the two checks of sparse rows fits the same rows in the other kind of container.
LONG = "check_estimator_sparse_matrix"
# Where the final model is chosen, the other one takes seconds as well.
LONGER = "check_estimator_sparse_array"
FAST = {
    "in two phases": HalfspaceClassifier(final_fit="hinge", schedule=QUICK),
    "chosen in a phase": HalfspaceClassifierCV((2,), final_fit="hinge", cv=2, schedule=ONE_PHASE),
    "trusted regression": TrustedClassifier(LogisticRegression(), schedule=ONE_PHASE),
}
SLOW = {
    "the better in a phase": HalfspaceClassifier(schedule=ONE_PHASE),
    "chosen in two phases": HalfspaceClassifierCV((2,), cv=2, schedule=QUICK),
    "default": HalfspaceClassifier(),
    "default choice": HalfspaceClassifierCV(),
    "trusted in a phase": TrustedClassifier(schedule=ONE_PHASE),
    "default trust": TrustedClassifier(),
    "default trust for a regression": TrustedClassifier(LogisticRegression()),
    "default trust for a forest": TrustedClassifier(RandomForestClassifier(5, random_state=0)),
    "unscaled in two phases": HalfspaceClassifier(scale=False, schedule=QUICK),
    "all features": HalfspaceClassifier("all"),
    "no intercept": HalfspaceClassifier(fit_intercept=False),
    "unscaled": HalfspaceClassifier(scale=False),
    "neither": HalfspaceClassifier(fit_intercept=False, scale=False, noise_rate=0.2),
    "chosen": HalfspaceClassifierCV((1, 2), (0.0, 0.1), cv=2),
}
# Forests draw rows by position, so that copies differ from weights: scikit-learn's own fail, too.
NOT_OF_FORESTS = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)
NOT_FOR_US = "check_array_api_input"  # skips itself unless SCIPY_ARRAY_API is set


def is_long(name: str, check: Any) -> bool:
    """Whether a check takes seconds."""
    long = (LONG,) if "phase" in name and "better" not in name else (LONG, LONGER)
    return check.func.__name__ in long


def checks(estimators: dict[str, Any], *, are_slow: bool = False) -> list[Any]:
    """One parameter a check, named after the estimator and the check."""
    return [
        pytest.param(
            estimator,
            check,
            id=f"{name}-{check.func.__name__}",
            marks=[pytest.mark.slow] if are_slow or is_long(name, check) else [],
        )
        for name, made in estimators.items()
        for estimator, check in estimator_checks_generator(made)
        if check.func.__name__ != NOT_FOR_US
        and not ("forest" in name and check.func.__name__ in NOT_OF_FORESTS)
    ]


# Tables of the checks can be too small or too strange for a certificate, or for the noise rate.
@pytest.mark.filterwarnings("ignore::thresher.errors.UncertifiedPhase")
@pytest.mark.filterwarnings("ignore::thresher.errors.DistrustedClass")
@pytest.mark.parametrize(("estimator", "check"), [*checks(FAST), *checks(SLOW, are_slow=True)])
def test_the_contract_of_scikit_learn_is_kept(estimator: Any, check: Any) -> None:
    check(estimator)
